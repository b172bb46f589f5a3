/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of ward trust share. */
#pragma once

#include "../../src/decide/policy.h"
#include <jansson.h>

struct trust_call {
	char *state;
	struct policy *policy;
	bool json;
	const char *why;
};

/* trust_learn.c: proposals of all agents, or of one; and a person's yes to one of them. */
int trust_list_proposals(const struct trust_call *call, const char *id, struct error **ret_error);
int trust_accept_proposal(const struct trust_call *call, const char *id, struct error **ret_error);

/* trust_show.c: scores, with what they unlock. */
int trust_show_agent(const struct trust_call *call, const char *agent, struct error **ret_error);
int trust_show_all(const struct trust_call *call, struct error **ret_error);
