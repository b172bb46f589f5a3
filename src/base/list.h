/* SPDX-License-Identifier: Apache-2.0 */
/* A list of strings that is always NULL-terminated, so that it can be an argv. */
#pragma once

#include "macro.h"
#include <stdbool.h>

struct list {
	char **items; /* NULL while empty */
	size_t count, room;
};

void list_add(struct list *list, const char *text);
void list_add_printf(struct list *list, const char *format, ...) _printf_(2, 3);
/* Takes ownership of text. */
void list_take(struct list *list, char *text);
bool list_has(const struct list *list, const char *text);
void list_done(struct list *list);
#define _cleanup_list_ _cleanup_(list_done)
