/* SPDX-License-Identifier: Apache-2.0 */
/* Cleanup attributes and the few macros every room uses. */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f)	__attribute__((cleanup(f)))
#define _printf_(a, b)	__attribute__((format(printf, a, b)))
#define _unused_	__attribute__((unused))
#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b)	((a) < (b) ? (a) : (b))
#define MAX(a, b)	((a) > (b) ? (a) : (b))

/* Hands over ownership: the variable is emptied, so its cleanup does nothing. */
#define STEAL(pointer)                          \
	({                                      \
		__auto_type stolen = (pointer); \
		(pointer) = NULL;               \
		stolen;                         \
	})
#define STEAL_FD(fd)               \
	({                         \
		int stolen = (fd); \
		(fd) = -1;         \
		stolen;            \
	})

static inline void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

#define _cleanup_free_	_cleanup_(free_pointer)
#define _cleanup_close_ _cleanup_(close_fd)
