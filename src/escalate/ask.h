/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a person, with everything needed to answer it, and the answer. */
#pragma once

#include "../assess/assess.h"
#include "../base/buffer.h"
#include "../base/list.h"

enum ask_kind { ASK_BEFORE, ASK_RETRY };
enum answer_kind { ANSWER_NOBODY, ANSWER_APPROVE, ANSWER_DENY, ANSWER_ABORT };
enum answer_scope { SCOPE_ONCE, SCOPE_SESSION, SCOPE_TIME, SCOPE_ALWAYS };

struct ask {
	enum ask_kind kind;
	const char *command, *cwd, *agent, *session, *tool, *call_id, *turn, *reason;
	const char *why;
	const char *retry_reason;
	const struct assessment *assessment;
	const struct list *refused;
	const struct list *grants;
	const char *covers;
	const char *always_rule, *always_file;
	const char *never_rule;
	bool may_unsandbox;
	bool starts_again;
};

struct answer {
	enum answer_kind kind;
	enum answer_scope scope;
	uint64_t seconds;
	bool unsandboxed;
	char *reason, *by;
};
void answer_done(struct answer *answer);
int ask_terminal(const struct ask *ask, struct answer *ret_answer, struct error **ret_error);
