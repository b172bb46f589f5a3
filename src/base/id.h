/* SPDX-License-Identifier: Apache-2.0 */
/* Names for runs: unique, and in the order of time when sorted as text. */
#pragma once

#include "list.h"
#include <stdbool.h>

enum { ID_TEXT = 27 };
/* 26 characters of base 32: 48 bits of milliseconds, 80 random bits. */
void id_make(char text[static ID_TEXT]);
/* True if the text, which may be NULL, has the form of one: no other name, and no path. */
bool id_is_one(const char *text);
/* Those among the first so many names of a directory, in their order; other, where there is one,
 * hears of the rest. 0 or -errno. */
int id_list(int directory, int most, void (*other)(void *data, const char *name), void *data,
	    struct list *ret_ids);
