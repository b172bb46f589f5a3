/* SPDX-License-Identifier: Apache-2.0 */
/* Agents that call ward themselves: what such a call may say, and the line that says it. */
#pragma once

#include "../base/list.h"
#include "../parse/plan.h"
#include <stdbool.h>

struct ward_call {
	bool widens; /* ward is called for more than the policy gives, or for its answers */
	char *line;  /* owned; the plan is one call of this ward that gives nothing more, and here
			it is as ward writes it, with who asks and where; NULL: it is something
			else */
	bool same;   /* the text says just that already */
};

/* text: what the plan was made of; limits: those that the policy sets; program: this ward. */
void ward_call_read(const struct plan *plan, const char *text, const struct request *request,
		    const struct limits *limits, const char *program, struct ward_call *ret_call);
void ward_call_done(struct ward_call *call);

/* A line for any shell that runs `ward run` for whoever asks, where he asks; words: the rest of it.
 * asked: the question that was put, or NULL. Caller frees. */
char *ward_line(const char *program, const struct request *request, const char *asked,
		const struct list *words);
/* One command and nothing around it, each word quoted where it must be. Caller frees. */
char *ward_words(const struct command *command);
