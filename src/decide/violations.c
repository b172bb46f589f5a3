/* SPDX-License-Identifier: Apache-2.0 */
/* What counts, and how much: tables and comparisons, no state. */
#include "violations.h"
#include "../request/text_json.h"

#include <stdio.h>
#include <string.h>

const char *severity_name(enum severity severity)
{
	return severity == SEVERITY_HIGH ? "high" : "medium";
}

static const struct {
	const char *operation, *kind;
	enum severity severity;
} operations[] = {
	{"read", "filesystem_access", SEVERITY_HIGH},
	{"write", "filesystem_access", SEVERITY_HIGH},
	{"delete", "filesystem_access", SEVERITY_HIGH},
	{"connect", "network_policy", SEVERITY_MEDIUM},
	{"bind", "network_policy", SEVERITY_MEDIUM},
	{"host-loopback", "network_policy", SEVERITY_MEDIUM},
	{"http", "network_policy", SEVERITY_MEDIUM},
	{"limit", "resource_limit", SEVERITY_MEDIUM},
};

void violation_make(const char *why, const char *operation, const char *object, const char *rule,
		    struct violation *ret_violation)
{
	*ret_violation = (struct violation){.why = why,
					    .kind = "permission_denied",
					    .severity = SEVERITY_HIGH,
					    .operation = operation,
					    .object = object,
					    .rule = rule};
	for (size_t i = 0; operation && i < ELEMENTS(operations); i++)
		if (strcmp(operations[i].operation, operation) == 0) {
			ret_violation->kind = operations[i].kind;
			ret_violation->severity = operations[i].severity;
		}
}

/* Said by a policy or a flag, not built in: "deny: WHAT WAS SAID". */
static bool is_denied_by(const char *text, const struct file_rules *rules)
{
	const char *said = strncmp(text, "deny: ", 6) == 0 ? text + 6 : NULL;

	for (size_t i = 0; said && i < rules->count; i++) {
		const struct file_rule *rule = &rules->items[i];

		if (rule->access == ACCESS_DENY && rule->weight == WEIGHT_SAID && rule->said &&
		    strcmp(rule->said, said) == 0)
			return true;
	}
	return false;
}

const char *violation_why(const struct denial *denial, const struct file_rules *rules,
			  const struct list *refused)
{
	_cleanup_free_ char *target = NULL;
	const char *rule = denial->rule ? denial->rule : "";

	if ((strcmp(denial->operation, "exec") == 0 && strncmp(rule, "deny: ", 6) == 0) ||
	    (strcmp(denial->operation, "connect") == 0 &&
	     strncmp(rule, "denied by the list of hosts", 27) == 0) ||
	    is_denied_by(rule, rules))
		return "rule";
	if (asprintf(&target, "%s %s", denial->operation, denial->object) < 0)
		abort();
	return list_has(refused, target) ? "refused" : NULL;
}

bool violation_is_limit(enum run_limit limit, const struct request *request)
{
	switch (limit) {
	case LIMIT_NONE:
		return false;
	case LIMIT_TIME:
		return !request->limits.time_ns;
	case LIMIT_IDLE:
		return !request->limits.idle_ns;
	default:
		return true;
	}
}

json_t *violation_to_json(const struct violation *violation)
{
	json_t *object = json_object();

	json_put_text(object, "violation", violation->why);
	json_put_text(object, "what", violation->kind);
	json_put_text(object, "severity", severity_name(violation->severity));
	json_put_text(object, "operation", violation->operation);
	json_put_text(object, "object", violation->object);
	json_put_text(object, "rule", violation->rule);
	return object;
}
