/* SPDX-License-Identifier: Apache-2.0 */
/* What goes on record about a run, as the bodies of audit records. */
#pragma once

#include "../request/result.h"
#include <jansson.h>

/* What the flow knows of a run besides its request. Borrowed; members may be NULL. */
struct event_run {
	const struct request *request;
	const struct result *result;
	const struct list *argv; /* what is really executed */
	const char *session;
	enum level level;
	const struct list *policy; /* the files in force; empty: the built-in policy alone */
	const char *rule;	   /* the one behind the verdict, "file:line" */
	const char *does;	   /* what it is like, for questions about the like */
};

/* Each gives a new object. */
json_t *event_start(const struct event_run *run);
/* A question, and what was answered. domains: the hosts that code may reach, NULL where it is none.
 */
json_t *event_ask(const struct event_run *run, const char *kind, const char *why,
		  const struct list *refused, const struct list *grants);
json_t *event_answer(const char *answer, const char *scope, const char *by, const char *reason,
		     const struct list *grants, const char *grant, const struct list *domains);
/* One more attempt, with what it was given. */
json_t *event_retry(unsigned attempt, enum level level, const struct list *grants);
