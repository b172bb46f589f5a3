/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on what the shell grammar and its library may do in one parse. */
#pragma once

#include <stddef.h>

struct scanner_guard {
	size_t steps;	  /* characters that the scanner may still look at */
	size_t memory;	  /* bytes that it may hold at once */
	size_t used;	  /* of them */
	size_t cancelled; /* a cancellation flag of the library: not 0 once the parse is to end */
};

/* Of the parse that this thread is at. */
extern _Thread_local struct scanner_guard scanner_guard;

/* An allocator for ts_set_allocator(). */
void *scanner_malloc(size_t size);
void *scanner_calloc(size_t count, size_t size);
void *scanner_realloc(void *pointer, size_t size);
void scanner_free(void *pointer);
/* Whatever is left of it. No parser and no tree of this thread may still be in use. */
void scanner_free_all(void);
