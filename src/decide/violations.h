/* SPDX-License-Identifier: Apache-2.0 */
/* Violations: what of all that is refused counts against an agent under trust, and how much. A
 * stray write that the sandbox stopped is a denial and no violation. */
#pragma once

#include "../base/access.h"
#include "../base/list.h"
#include "../request/result.h"
#include <stdbool.h>

enum severity { SEVERITY_MEDIUM, SEVERITY_HIGH };
const char *severity_name(enum severity severity);

/* Borrowed. */
struct violation {
	const char *why;  /* rule, token, refused, limit */
	const char *kind; /* permission_denied, filesystem_access, network_policy, resource_limit */
	enum severity severity;
	const char *operation; /* of the permission vocabulary; NULL: none */
	const char *object;    /* counts once a run */
	const char *rule;      /* what refused it; NULL: nothing did */
};

/* Why a refusal counts: an explicit rule denies it, or a person has said no to it in an earlier run
 * ("OPERATION OBJECT" each). NULL where it does not. */
const char *violation_why(const struct denial *denial, const struct file_rules *rules,
			  const struct list *refused);
/* How much it counts: what is about files and permissions is high, what is about the network or
 * resources medium. */
void violation_make(const char *why, const char *operation, const char *object, const char *rule,
		    struct violation *ret_violation);
/* Time that a request bounds itself is its own affair: to run out of it is no violation. */
bool violation_is_limit(enum run_limit limit, const struct request *request);
/* As a new object. */
json_t *violation_to_json(const struct violation *violation);
