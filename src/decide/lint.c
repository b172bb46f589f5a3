/* SPDX-License-Identifier: Apache-2.0 */
/* Names and permissions that cannot do what their writer hoped for; lint_rules.c has the rules. */
#include "layer.h"
#include "../base/hosts.h"
#include "../base/path.h"

#include <string.h>

static bool path_is_denied(const char *home, const char *pattern, const char *path)
{
	/* Both as seen from some workspace. */
	_cleanup_free_ char *denied =
		path_resolve("/workspace", home ? home : "/home/user", pattern);
	_cleanup_free_ char *wanted = path_resolve("/workspace", home ? home : "/home/user", path);

	return strcmp(denied, wanted) == 0 || path_matches(denied, wanted, NULL);
}

void lint_permissions(struct policy *policy, const struct rule *rule)
{
	for (size_t i = 0; i < rule->permissions.count; i++) {
		const char *text = rule->permissions.items[i];
		size_t length = strcspn(text, " ");
		const char *resource = text + length + strspn(text + length, " ");
		bool path = parse_word_in("read write delete exec", text, length);
		const struct list *denied =
			path ? &policy->sandbox.deny : &policy->sandbox.deny_hosts;

		if (!path && !parse_word_in("connect", text, length))
			continue;
		for (size_t k = 0; k < denied->count; k++) {
			if (path ? !path_is_denied(policy->home, denied->items[k], resource)
				 : !host_pattern_covers(denied->items[k], resource))
				continue;
			list_add_printf(&policy->warnings,
					"%s:%d:1: the rule for '%s' permits '%s', but the sandbox "
					"denies %s",
					rule->file, rule->line, rule->pattern, text,
					denied->items[k]);
			break;
		}
	}
}

/* A set that is to be closed and is not known would stay open. */
static int refuse_unknown(const struct layer *layer, const struct setting *setting,
			  struct error **ret_error)
{
	fail(ret_error, E_POLICY, "there is no set of hosts called '%s'", setting->text);
	error_place(ret_error, layer->file, setting->line, setting->column);
	error_hint(ret_error, "`ward policy sets` lists them; sets.yaml has those of your own");
	return -E_POLICY;
}

static void warn_unknown(struct layer *layer, const char *name, int line, int column)
{
	list_add_printf(&layer->warnings,
			"%s:%d:%d: there is no set of hosts called '%s'; it means nothing",
			layer->file, line, column, name);
}

int lint_sets(struct layer *layer, const struct sets_places *places, struct error **ret_error)
{
	static const char connect[] = "connect ";

	for (size_t i = 0; i < layer->count; i++) {
		const struct setting *setting = &layer->settings[i];

		if ((setting->kind != SET_ALLOW_HOST && setting->kind != SET_DENY_HOST) ||
		    !sets_is_name(setting->text) || sets_is_known(setting->text, places))
			continue;
		if (setting->kind == SET_DENY_HOST)
			return refuse_unknown(layer, setting, ret_error);
		warn_unknown(layer, setting->text, setting->line, setting->column);
	}
	for (size_t i = 0; i < layer->rule_count; i++)
		for (size_t k = 0; k < layer->rules[i].permissions.count; k++) {
			const char *text = layer->rules[i].permissions.items[k];
			const char *name = text + strlen(connect);

			if (strncmp(text, connect, strlen(connect)) == 0 && sets_is_name(name) &&
			    !sets_is_known(name, places))
				warn_unknown(layer, name, layer->rules[i].line, 1);
		}
	return 0;
}
