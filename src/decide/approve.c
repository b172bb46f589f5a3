/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of the approval policies. */
#include "approve.h"
#include "../base/macro.h"

#include <string.h>

const char *verdict_name(enum verdict_kind kind)
{
	static const char *const names[] = {"allow", "ask", "deny"};

	return names[kind];
}

static const struct {
	enum verdict_kind unopposed; /* nothing speaks against it */
	enum verdict_kind opposed;   /* class ask, or a rule that says ask */
	bool missing, unsandboxed;   /* may be asked after a denial */
} matrix[] = {
	[APPROVAL_NEVER] = {VERDICT_ALLOW, VERDICT_DENY, false, false},
	[APPROVAL_ON_FAILURE] = {VERDICT_ALLOW, VERDICT_ASK, true, true},
	[APPROVAL_ON_REQUEST] = {VERDICT_ASK, VERDICT_ASK, true, false},
	[APPROVAL_UNLESS_TRUSTED] = {VERDICT_ASK, VERDICT_ASK, true, true},
};

struct ruling approve_first(enum approval approval, const struct standing *standing)
{
	bool allowed = standing->has_rule && standing->rule == VERDICT_ALLOW;
	bool opposed = standing->class == CLASS_ASK || standing->wants_approval ||
		       standing->locked || (standing->has_rule && standing->rule == VERDICT_ASK);

	if (standing->has_rule && standing->rule == VERDICT_DENY)
		return (struct ruling){VERDICT_DENY, "rule"};
	/* Only a person's own rule makes it anything else. */
	if (standing->class == CLASS_FORBIDDEN && !allowed)
		return (struct ruling){VERDICT_DENY, "rule"};
	if (standing->refused)
		return (struct ruling){VERDICT_DENY, "cache"};
	/* A yes covers this only if it named it. */
	if (standing->wants_more && !standing->more_approved)
		return (struct ruling){approval == APPROVAL_NEVER ? VERDICT_DENY : VERDICT_ASK,
				       "default"};
	if (allowed)
		return (struct ruling){VERDICT_ALLOW, "rule"};
	if (standing->approved)
		return (struct ruling){VERDICT_ALLOW, "cache"};
	/* A rule that asks, and a caller that wants to be asked for, mean it. */
	if (standing->trusted && !standing->wants_approval && !standing->has_rule)
		return (struct ruling){VERDICT_ALLOW, "trust"};
	if (standing->vouched)
		return (struct ruling){VERDICT_ALLOW, "caller"};
	if (opposed)
		return (struct ruling){matrix[approval].opposed, standing->has_rule ? "rule"
								 : standing->locked ? "trust"
										    : "default"};
	if (approval == APPROVAL_ON_REQUEST && (standing->only_reads || standing->none_by_policy))
		return (struct ruling){VERDICT_ALLOW, "default"};
	return (struct ruling){matrix[approval].unopposed, "default"};
}

bool approve_missing(enum approval approval)
{
	return matrix[approval].missing;
}

bool approve_unsandboxed(enum approval approval, enum preference preference)
{
	return preference != PREFERENCE_REQUIRE && matrix[approval].unsandboxed;
}

enum level approve_next(enum approval approval, enum preference preference, enum escalation most,
			bool apart, enum level level)
{
	if (level == LEVEL_RESTRICTED && apart && most >= ESCALATION_CONTAINER &&
	    approve_missing(approval))
		return LEVEL_CONTAINER;
	if (level != LEVEL_NONE && most >= ESCALATION_UNSANDBOXED &&
	    approve_unsandboxed(approval, preference))
		return LEVEL_NONE;
	return level;
}

/* never > unless-trusted > on-request > on-failure in what needs a yes or is refused. Except that
 * under never nobody is asked about a command that nothing speaks against: where such a command
 * would have been asked about, never lets more through. */
bool approval_is_stricter(enum approval wanted, enum approval now)
{
	static const int order[] = {
		[APPROVAL_ON_FAILURE] = 0,
		[APPROVAL_ON_REQUEST] = 1,
		[APPROVAL_UNLESS_TRUSTED] = 2,
		[APPROVAL_NEVER] = 3,
	};

	if (wanted == APPROVAL_NEVER && now != APPROVAL_ON_FAILURE)
		return now == APPROVAL_NEVER;
	return order[wanted] >= order[now];
}
