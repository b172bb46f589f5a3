/* SPDX-License-Identifier: Apache-2.0 */
/* Between learn.c and doubt.c: a command whose effect on variables is looked at. */
#pragma once

#include "scope.h"

struct learning {
	struct arena *arena;
	struct scope *scope;
	const struct command *command;
	size_t order;
};

/* learn.c: the name has a value that is not known. */
struct write *learn_doubt(const struct learning *learning, const char *name, size_t length);

/* doubt.c: the names that arithmetic in the text assigns to. */
void doubt_names(const struct learning *learning, const char *text, size_t length);
/* Those that the command's words assign to while they are expanded. */
void doubt_expansions(const struct learning *learning);
/* A text that the command runs in the same shell, now or at any time. */
void doubt_text(const struct learning *learning, const char *text, bool any_time);
