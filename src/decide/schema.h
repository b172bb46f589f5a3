/* SPDX-License-Identifier: Apache-2.0 */
/* Every key that a policy file may hold, in one table: the reader goes by it, and a test holds
 * docs/policy.md to it. A new key is a line there and a function that reads its value. */
#pragma once

#include "layer.h"

struct reading;
struct node;

enum section {
	SECTION_TOP,
	SECTION_SANDBOX, /* and each profile */
	SECTION_FILES,
	SECTION_NETWORK,
	SECTION_LIMITS,
	SECTION_ENVIRONMENT,
	SECTION_SYSCALLS,
	SECTION_CONTAINER,
	SECTION_RULE,
	SECTION_SET,  /* an entry of rules that holds rules */
	SECTION_WHEN, /* and unless */
	SECTION_PROGRAM,
	SECTION_TRUST,
	SECTION_TRUST_POINTS,
	SECTION_TRUST_THRESHOLD,
	SECTION_TRUST_VIOLATIONS,
	SECTION_TRUST_LEARN,
	SECTION_TIERS,
	SECTION_CALLER,
	SECTION_LISTENER,
	SECTION_ROUTE,
	SECTION_ROUTE_WHEN,
	SECTION_STEP,
	SECTION_ASSESSOR,
	SECTION_NOTIFY,
	SECTION_CHANNEL,
	SECTIONS,
};

struct schema_key {
	const char *name;
	const char *type, *otherwise; /* what its value is, and what holds without it */
	int (*read)(struct reading *reading, const struct node *node, enum setting_kind kind);
	enum setting_kind kind;
};

struct schema_section {
	const char *path; /* as the documentation calls it: "sandbox.files"; "": the file itself */
	const char *name; /* as messages do */
	const struct schema_key *keys; /* at most 32 */
	size_t count;
};

extern const struct schema_section policy_schema[SECTIONS];
