/* SPDX-License-Identifier: Apache-2.0 */
/* Files that commands could put there, or change: what lies so is no program to be believed, or to
 * be started outside the sandbox. */
#include "policy.h"
#include "../base/path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool opens(const struct policy *policy, const struct request *request, const char *rule,
		  const char *real)
{
	_cleanup_free_ char *pattern = path_resolve(request->workspace, policy->home, rule),
			    *fixed = path_fixed_part(pattern);
	char place[PATH_MAX];

	return path_is_under(real, realpath(fixed, place) ? place : fixed);
}

static bool any_opens(const struct policy *policy, const struct request *request,
		      const struct list *rules, const char *real)
{
	for (size_t i = 0; i < rules->count; i++)
		if (opens(policy, request, rules->items[i], real))
			return true;
	return false;
}

static bool sandbox_opens(const struct policy *policy, const struct request *request,
			  const struct sandbox_policy *sandbox, const char *real)
{
	return any_opens(policy, request, &sandbox->write, real) ||
	       any_opens(policy, request, &sandbox->make, real);
}

/* What comes with a yes to a command. */
static bool rule_opens(const struct policy *policy, const struct request *request,
		       const struct rule *rule, const char *real)
{
	for (size_t i = 0; i < rule->permissions.count; i++) {
		const char *permission = rule->permissions.items[i];

		if (strncmp(permission, "write ", 6) == 0 &&
		    opens(policy, request, permission + 6, real))
			return true;
	}
	return false;
}

bool policy_exposes(const struct policy *policy, const struct request *request, const char *path)
{
	char real[PATH_MAX];

	if (path[0] != '/' || !realpath(path, real))
		return false;
	if (path_is_under(real, request->workspace) || path_is_under(real, "/tmp") ||
	    (request->bound && path_is_under(real, request->bound)) ||
	    any_opens(policy, request, &request->write, real) ||
	    any_opens(policy, request, &request->make, real) ||
	    sandbox_opens(policy, request, &policy->sandbox, real))
		return true;
	for (size_t i = 0; i < policy->profile_count; i++)
		if (sandbox_opens(policy, request, &policy->profiles[i].sandbox, real))
			return true;
	for (size_t i = 0; i < policy->rule_count; i++)
		if (rule_opens(policy, request, &policy->rules[i], real))
			return true;
	return false;
}
