/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of blocks, handed out from the front. */
#include "arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 16 * 1024, ALIGNMENT = 16 };

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(ALIGNMENT) unsigned char data[];
};

struct arena {
	struct block *first;
};

struct arena *arena_new(void)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		abort();
	return arena;
}

void arena_free(struct arena *arena)
{
	struct block *block, *next;

	if (!arena)
		return;
	for (block = arena->first; block; block = next) {
		next = block->next;
		free(block);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct block *block = arena->first;
	void *result;

	if (size > SIZE_MAX / 2)
		abort();
	size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (!block || block->size - block->used < size) {
		size_t room = MAX(size, (size_t)BLOCK);

		block = malloc(sizeof(*block) + room);
		if (!block)
			abort();
		block->used = 0;
		block->size = room;
		block->next = arena->first;
		arena->first = block;
	}
	result = block->data + block->used;
	block->used += size;
	/* Not the whole block at once: most of one is never used, and touched it would take a page
	 * of memory. */
	return memset(result, 0, size);
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_alloc(arena, length + 1);

	memcpy(copy, text, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	return arena_strdup(arena, text);
}
