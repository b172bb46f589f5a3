/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that lives exactly as long as one request: many small allocations, one free. */
#pragma once

#include "macro.h"

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *arena);
/* Zeroed, aligned for anything; never NULL (out of memory aborts). */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...) _printf_(2, 3);

#define arena_new_array(arena, type, count) ((type *)arena_alloc(arena, sizeof(type) * (count)))

static inline void arena_freep(struct arena **arena)
{
	arena_free(*arena);
}
#define _cleanup_arena_ _cleanup_(arena_freep)
