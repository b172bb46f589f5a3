/* SPDX-License-Identifier: Apache-2.0 */
/* A policy shown to people and programs. */
#pragma once

#include "../../src/decide/policy.h"
#include <jansson.h>

/* Much as it would be written, with where each rule comes from. */
void policy_print(const struct policy *policy);
/* Caller releases. */
json_t *policy_object(const struct policy *policy);

/* policy_show_rules.c */
void policy_print_rules(const struct policy *policy);
json_t *policy_rule_object(const struct rule *rule);
json_t *policy_sets_object(const struct policy *policy);

void policy_print_condition(int depth, const char *key, const struct condition *condition);
json_t *policy_condition_object(const struct condition *condition);

/* policy_show_routes.c */
void policy_print_routes(const struct routing *routing);
void policy_put_routes(json_t *object, const struct routing *routing);

/* policy_show_notify.c */
void policy_print_notify(const struct notify *notify);
json_t *policy_notify_object(const struct notify *notify);

/* policy_show_trust.c */
void policy_print_trust(const struct policy *policy);
json_t *policy_trust_object(const struct policy *policy);

/* Text in quotes that is YAML whatever it holds; a list of such; a comment on where it comes from.
 */
void policy_print_quoted(const char *text);
void policy_print_list(const char *indent, const char *key, const struct list *list);
void policy_print_origin(const char *file, int line);
