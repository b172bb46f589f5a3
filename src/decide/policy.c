/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force: its files found, read, believed or not, and brought together. */
#include "merge.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <stdio.h>
#include <string.h>

struct loading {
	const struct policy_places *places;
	struct policy *policy, *trusted; /* with all layers; with those only whose word counts */
	bool narrowed;			 /* some layer is not trusted */
	int layers;
	struct error **ret_error;
};

static void add_stamp(struct policy *policy, struct stamp stamp)
{
	policy->stamps =
		reallocarray(policy->stamps, policy->stamp_count + 1, sizeof(*policy->stamps));
	if (!policy->stamps || !stamp.path)
		abort();
	policy->stamps[policy->stamp_count++] = stamp;
}

static int look_for_trust(struct loading *loading, const char *text, size_t length,
			  bool *ret_trusted)
{
	const struct policy_places *places = loading->places;
	struct stamp stamp;
	int r;

	if (!places->state)
		return 0;
	r = trust_look(places->state, places->uid, places->workspace, text, length, &stamp,
		       ret_trusted, loading->ret_error);
	if (r == 0)
		add_stamp(loading->policy, stamp);
	return r;
}

static int load_layer(struct loading *loading, enum place place, const char *path)
{
	const struct policy_places *places = loading->places;
	const struct sets_places sets = {
		.home = places->home, .config_home = places->config_home, .uid = places->uid};
	_cleanup_free_ char *text = NULL, *remedy = NULL;
	struct layer *layer;
	struct stamp stamp;
	size_t length;
	bool trusted = false;
	int r = place_read(places, place, path, &stamp, &trusted, &text, &length,
			   loading->ret_error);

	if (r < 0)
		return r;
	add_stamp(loading->policy, stamp);
	if (r == 0)
		return 0;
	if (place == PLACE_PROJECT)
		r = look_for_trust(loading, text, length, &trusted);
	if (r >= 0)
		r = layer_parse(text, length, path, places->walls, places->home, &layer,
				loading->ret_error);
	if (r < 0)
		return r;
	r = lint_sets(layer, &sets, loading->ret_error);
	if (r < 0) {
		layer_free(layer);
		return r;
	}
	layer->trusted = trusted;
	layer->names_callers = place == PLACE_SYSTEM || place == PLACE_USER;
	loading->narrowed |= !trusted;
	if (trusted)
		merge_settings(loading->trusted, layer);
	if (place == PLACE_PROJECT)
		r = asprintf(&remedy, "to believe the file: ward policy trust %s",
			     places->workspace);
	else
		r = asprintf(&remedy, "to believe the file, own it alone and keep it outside the "
				      "workspace (for a project: ward policy trust DIR)");
	if (r < 0)
		abort();
	merge_layer(loading->policy, layer, ++loading->layers, remedy);
	layer_free(layer);
	return 0;
}

/* Caller frees; NULL where there is no such place. */
static char *user_file(const struct policy_places *places)
{
	if (places->config_home && places->config_home[0] == '/')
		return path_resolve(places->config_home, NULL, "ward/ward.yaml");
	if (places->home && places->home[0] == '/')
		return path_resolve(places->home, NULL, ".config/ward/ward.yaml");
	return NULL;
}

/* Not normalised: that could lead elsewhere where there are links. Caller frees. */
static char *absolute(const char *path)
{
	_cleanup_free_ char *cwd = NULL;
	char *result;

	if (!path)
		return NULL;
	cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	if (asprintf(&result, "%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path) < 0)
		abort();
	return result;
}

/* The path of a layer, or NULL where there is none. Caller frees. */
static char *path_of(const struct policy_places *places, enum place place)
{
	switch (place) {
	case PLACE_SYSTEM:
		return absolute(places->system ? places->system : "/etc/ward/ward.yaml");
	case PLACE_USER:
		return user_file(places);
	case PLACE_PROJECT:
		return path_resolve(places->workspace, NULL, PROJECT_FILE);
	default:
		return absolute(places->extra);
	}
}

void policy_paths(const struct policy_places *places, struct list *paths)
{
	for (enum place place = PLACE_SYSTEM; place <= PLACE_EXTRA; place++) {
		char *path = path_of(places, place);

		if (path)
			list_take(paths, path);
	}
}

static int load_layers(struct loading *loading)
{
	int r = 0;

	for (enum place place = PLACE_SYSTEM; place <= PLACE_EXTRA && r == 0; place++) {
		_cleanup_free_ char *path = path_of(loading->places, place);

		if (path)
			r = load_layer(loading, place, path);
	}
	return r;
}

int policy_load(const struct policy_places *places, struct policy **ret_policy,
		struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = merge_begin(places->home);
	_cleanup_policy_ struct policy *trusted = merge_begin(places->home);
	struct loading loading = {
		.places = places, .policy = policy, .trusted = trusted, .ret_error = ret_error};
	int r = profiles_merge(places->profile, policy, ret_error);

	policy->uid = places->uid;
	if (r == 0)
		r = profiles_merge(places->profile, trusted, ret_error);
	if (r == 0)
		r = load_layers(&loading);
	if (r < 0)
		return r;
	merge_end(policy);
	if (loading.narrowed) {
		merge_end(trusted);
		merge_clamp(policy, trusted);
	}
	lint_rules(policy);
	*ret_policy = STEAL(policy);
	return 0;
}

static void sandbox_done(struct sandbox_policy *sandbox)
{
	list_done(&sandbox->read);
	list_done(&sandbox->write);
	list_done(&sandbox->read_only);
	list_done(&sandbox->make);
	list_done(&sandbox->hold);
	list_done(&sandbox->deny);
	list_done(&sandbox->allow_hosts);
	list_done(&sandbox->deny_hosts);
	list_done(&sandbox->publish);
	list_done(&sandbox->sockets);
	list_done(&sandbox->keep_env);
	list_done(&sandbox->set_env);
	list_done(&sandbox->require);
	list_done(&sandbox->allow_calls);
	list_done(&sandbox->deny_calls);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	sandbox_done(&policy->sandbox);
	for (size_t i = 0; i < policy->profile_count; i++) {
		sandbox_done(&policy->profiles[i].sandbox);
		free(policy->profiles[i].name);
		free(policy->profiles[i].file);
	}
	for (size_t i = 0; i < policy->rule_count; i++)
		rule_done(&policy->rules[i]);
	for (size_t i = 0; i < policy->stamp_count; i++)
		free(policy->stamps[i].path);
	for (size_t i = 0; i < policy->caller_count; i++)
		caller_rule_done(&policy->callers[i]);
	free(policy->callers);
	free(policy->profiles);
	free(policy->rules);
	free(policy->stamps);
	free(policy->home);
	list_done(&policy->warnings);
	list_done(&policy->ignored);
	list_done(&policy->files);
	free(policy);
}

bool policy_is_current(const struct policy *policy)
{
	for (size_t i = 0; i < policy->stamp_count; i++)
		if (!stamp_is_current(&policy->stamps[i]))
			return false;
	return true;
}

bool policy_same_files(const struct policy *one, const struct policy *other)
{
	if (one->stamp_count != other->stamp_count)
		return false;
	for (size_t i = 0; i < one->stamp_count; i++)
		if (!one->stamps[i].is_trust && !stamp_is_same(&one->stamps[i], &other->stamps[i]))
			return false;
	return true;
}

static int parse_alone(const char *text, size_t length, const char *name, const struct list *walls,
		       const struct sets_places *sets, struct list *warnings,
		       struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	struct layer *layer = NULL;
	int r = layer_parse(text, length, name, walls, /* home= */ "/home/user", &layer, ret_error);

	if (r == 0)
		r = lint_sets(layer, sets, ret_error);
	if (r < 0) {
		layer_free(layer);
		return r;
	}
	policy = merge_begin(/* home= */ NULL);
	layer->trusted = layer->names_callers = true;
	merge_layer(policy, layer, 1, "");
	layer_free(layer);
	merge_end(policy);
	lint_rules(policy);
	for (size_t i = 0; warnings && i < policy->warnings.count; i++)
		list_add(warnings, policy->warnings.items[i]);
	return 0;
}

int policy_parse(const char *text, size_t length, const char *name, const struct list *walls,
		 struct list *warnings, struct error **ret_error)
{
	return parse_alone(text, length, name, walls, /* sets= */ NULL, warnings, ret_error);
}

int policy_check_file(const char *path, const struct list *walls, struct list *warnings,
		      struct error **ret_error)
{
	struct policy_places places = {.workspace = "/", .uid = geteuid()};
	const struct sets_places sets = {
		.home = getenv("HOME"), .config_home = getenv("XDG_CONFIG_HOME"), .uid = geteuid()};
	_cleanup_free_ char *text = NULL;
	struct stamp stamp = {0};
	size_t length;
	bool trusted;
	int r = place_read(&places, PLACE_EXTRA, path, &stamp, &trusted, &text, &length, ret_error);

	free(stamp.path);
	return r < 0 ? r : parse_alone(text, length, path, walls, &sets, warnings, ret_error);
}

int policy_profile(const struct policy *policy, const char *name, const struct sandbox_policy **ret,
		   struct error **ret_error)
{
	_cleanup_buffer_ struct buffer known = {0};

	for (size_t i = 0; i < policy->profile_count; i++) {
		if (strcmp(policy->profiles[i].name, name) == 0) {
			*ret = &policy->profiles[i].sandbox;
			return 0;
		}
		buffer_printf(&known, "%s%s", i ? ", " : "", policy->profiles[i].name);
	}
	fail(ret_error, E_USAGE, "there is no profile '%s'", name);
	return error_hint(ret_error, "there are: %s", buffer_text(&known));
}

const struct rule *policy_match(const struct policy *policy, const struct command *command,
				size_t first)
{
	const struct rule *best = NULL;

	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];

		if (best && (rule->kind < best->kind ||
			     (rule->kind == best->kind && rule->layer <= best->layer)))
			continue;
		if (rule_matches(rule, command, first, policy->home))
			best = rule;
	}
	return best;
}

bool policy_match_is_certain(const struct policy *policy, const struct rule *rule,
			     const struct command *command, size_t first)
{
	struct match_how how = {.home = policy->home, .generous = rule->kind != VERDICT_ALLOW};

	return rule->compiled && pattern_matches(rule->compiled, command, first, &how);
}
