/* SPDX-License-Identifier: Apache-2.0 */
/* Inside ward policy: commands held against the policy in force; nothing is run. */
#pragma once

#include "../../src/assess/assess.h"
#include "../../src/decide/policy.h"

/* What would be decided about one command. */
struct tried {
	enum verdict_kind kind;
	enum class class;
	enum risk risk;
	enum level level;
	char *source, *rule, *reason; /* rule: "file:line"; each may be NULL */
};

/* script: shell text; NULL: argv is meant. */
int policy_try(const struct policy_places *places, const char *script, const struct list *argv,
	       struct tried *ret_tried, struct error **ret_error);
void tried_done(struct tried *tried);
#define _cleanup_tried_ _cleanup_(tried_done)

/* The examples beside the rules of a file, also of rules inside of others; place is the line of the
 * rule. Stops at the first negative answer and returns it. */
int policy_examples(const char *file,
		    int (*visit)(void *data, const char *file, int rule_line, int line,
				 const char *example, bool matches),
		    void *data, struct error **ret_error);

/* Tests in files, and the examples beside rules where no file is named. Negative, or the exit
 * status: 0 all hold, 1 one does not. */
int policy_test(const struct policy_places *places, char *const *files, size_t count, bool json,
		struct error **ret_error);
/* A command, or a rule by its place "file:line" where script is NULL and there is one word. */
int policy_explain(const struct policy_places *places, const char *script, char *const *words,
		   size_t count, bool json, struct error **ret_error);
