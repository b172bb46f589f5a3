/* SPDX-License-Identifier: Apache-2.0 */
/* The list of strings. */
#include "list.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void list_take(struct list *list, char *text)
{
	if (list->count + 2 > list->room) {
		list->room = MAX(list->room * 2, (size_t)8);
		list->items = reallocarray(list->items, list->room, sizeof(char *));
		if (!list->items)
			abort();
	}
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
}

void list_add(struct list *list, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	list_take(list, copy);
}

void list_add_printf(struct list *list, const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	list_take(list, text);
}

bool list_has(const struct list *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

void list_done(struct list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct list){0};
}
