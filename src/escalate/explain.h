/* SPDX-License-Identifier: Apache-2.0 */
/* What became of an attempt, in words for a person: what was refused, and the way on. */
#pragma once

#include "../request/result.h"

/* Refusals that are no person's no: each as "OPERATION OBJECT", and what it was by. */
struct unsaid {
	struct list what, why;
};
void unsaid_add(struct unsaid *unsaid, const char *operation, const char *object, const char *why);

/* Lines for what the sandbox refused, and where the command failed the error that names it. never:
 * what no flag and no grant opens, as absolute paths and patterns. */
void explain_denials(const struct request *request, const struct list *never,
		     const struct unsaid *unsaid, struct result *result,
		     const struct attempt *attempt, struct list *notices);
/* Notes the answer beside each refusal that one of the permissions would lift, all of them where
 * that is to run without the sandbox. why: what the answer is by, noted in unsaid; NULL: a person.
 */
void explain_mark(struct attempt *attempt, const struct list *never, const struct list *permissions,
		  const char *answer, const char *why, struct unsaid *unsaid);
/* What an attempt would have needed, as permissions "OPERATION RESOURCE", each once; only what ward
 * itself refused and can grant. *ret_refused: all that it refused, in words. Returns how many of
 * these no permission could lift, short of running without the sandbox. */
int explain_missing(const struct attempt *attempt, const struct list *never,
		    struct list *ret_missing, struct list *ret_refused);
