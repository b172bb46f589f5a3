/* SPDX-License-Identifier: Apache-2.0 */
/* What a command goes on to run: the command behind its wrappers, the text that it hands to a
 * shell, the commands among its words. */
#pragma once

#include "plan.h"

/* Adds the wrappers in argv to those that the command has and finds its own place behind them. */
void unwrap_names(struct arena *arena, struct plan *plan, struct command *command);
/* The shell text that the command runs, or NULL; *ret_remote is set where that is on another
 * machine. Says in the plan where the text is known only when it runs. */
const char *unwrap_text(struct arena *arena, struct plan *plan, const struct command *command,
			bool *ret_remote);
/* The text that a shell reads from its standard input where the command before it prints it, or
 * NULL. Says in the plan that such a shell runs what it is handed. */
const char *unwrap_input(struct arena *arena, struct plan *plan, const struct command *command,
			 const struct command *before);
/* The next command among the words of the command (find -exec), from word *at on; false at the end.
 */
bool unwrap_words(struct arena *arena, const struct command *command, size_t *at,
		  struct command *ret_inner);
