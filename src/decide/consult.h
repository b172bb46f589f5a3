/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules of the policy say of a whole request. */
#pragma once

#include "approve.h"
#include "decide.h"
#include "policy.h"

/* The rules that speak of it, found once. */
struct consulted {
	struct circumstances circumstances;
	const struct rule **matches; /* for each command of the plan, or NULL */
	const struct rule *exact;    /* for the whole of it, or NULL */
	enum preference sandbox;     /* what they want of it */
	bool unsandboxed, container; /* and all of them let it be there, by name */
	const struct rule *required; /* the one that wants the sandbox, or NULL */
};

void consult(const struct matter *matter, struct consulted *ret_consulted);
void consult_done(struct consulted *consulted);

/* The strongest word about it as it stands or about any of its commands. An allow for a command
 * counts for the whole only where every command has one. */
void consult_rules(const struct matter *matter, const struct consulted *consulted,
		   struct standing *standing, const struct rule **ret_rule);
/* Permissions that come with the rules of the plan's commands, and with that for the whole. */
void consult_permissions(const struct matter *matter, const struct consulted *consulted,
			 struct list *permissions);
