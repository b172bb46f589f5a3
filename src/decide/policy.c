/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force: its files found, read, believed or not, and brought together. */
#include "index.h"
#include "load.h"
#include "merge.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <jansson.h>
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

/* What can be done about what a file that may only narrow says in vain. Caller frees. */
static char *remedy_for(const struct policy_places *places, enum place place)
{
	char *remedy;
	int r;

	if (place == PLACE_PROJECT)
		r = asprintf(&remedy, "to believe the file: ward policy trust %s",
			     places->workspace);
	else if (place == PLACE_SESSION)
		r = asprintf(&remedy, "whoever owns the configuration can register it in full");
	else
		r = asprintf(&remedy, "to believe the file, own it alone and keep it outside the "
				      "workspace (for a project: ward policy trust DIR)");
	if (r < 0)
		abort();
	return remedy;
}

static int load_source(struct loading *loading, enum place place, struct source *source,
		       const char *remedy)
{
	const struct policy_places *places = loading->places;
	const struct sets_places sets = {
		.home = places->home, .config_home = places->config_home, .uid = places->uid};
	struct layer *layer = source->layer;
	int r = lint_sets(layer, &sets, loading->ret_error);

	if (r < 0)
		return r;
	layer->trusted = source->trusted;
	layer->names_callers = source->trusted && (place == PLACE_SYSTEM || place == PLACE_USER);
	layer->of_system = source->trusted && place == PLACE_SYSTEM;
	loading->narrowed |= !layer->trusted;
	if (layer->trusted)
		merge_settings(loading->trusted, layer);
	merge_layer(loading->policy, layer, ++loading->layers, remedy);
	return 0;
}

static bool is_word(const json_t *word, const char *one, const char *other)
{
	const char *text = json_string_value(word);

	return text && (strcmp(text, one) == 0 || strcmp(text, other) == 0);
}

/* As record/session_policy.c writes it. A part that is missing or is something else is not taken
 * for nothing: what it was to narrow would be open. */
static bool is_registered(const json_t *object)
{
	const json_t *policy = json_object_get(object, "policy");
	const json_t *timeout = json_object_get(object, "timeout");

	return (json_is_string(policy) || json_is_null(policy)) &&
	       json_is_boolean(json_object_get(object, "trusted")) &&
	       is_word(json_object_get(object, "asks"), "queued", "sync") &&
	       is_word(json_object_get(object, "default"), "allow", "deny") &&
	       json_is_integer(timeout) && json_integer_value(timeout) >= 0 &&
	       json_integer_value(timeout) <= SESSION_ASKS_SECONDS;
}

/* What was registered for the session is wrapped up with how its questions are handled. 1 with the
 * text in its place, 0 where there is none. */
static int unwrap(struct loading *loading, struct source *source)
{
	json_t *object = json_loadb(source->text, source->length, JSON_REJECT_DUPLICATES, NULL);
	const char *policy = json_string_value(json_object_get(object, "policy"));
	const char *asks = json_string_value(json_object_get(object, "asks"));
	const char *otherwise = json_string_value(json_object_get(object, "default"));
	json_int_t timeout = json_integer_value(json_object_get(object, "timeout"));

	if (!is_registered(object)) {
		json_decref(object);
		fail(loading->ret_error, E_POLICY, "what was registered for the session is broken");
		error_place(loading->ret_error, source->path, 0, 0);
		return error_hint(loading->ret_error, "register it again, or remove it");
	}
	loading->policy->asks = (struct session_asks){
		.registered = true,
		.queued = strcmp(asks, "queued") == 0,
		.allows = strcmp(otherwise, "allow") == 0,
		.timeout_ns = (uint64_t)timeout * 1000000000,
	};
	source->trusted = json_is_true(json_object_get(object, "trusted"));
	free(source->text);
	source->text = policy ? strdup(policy) : NULL;
	source->length = policy ? strlen(policy) : 0;
	json_decref(object);
	return policy != NULL;
}

static int load_session(struct loading *loading, const char *path)
{
	const struct policy_places *places = loading->places;
	_cleanup_free_ char *remedy = remedy_for(places, PLACE_SESSION);
	_cleanup_sources_ struct sources sources = {.items = calloc(1, sizeof(struct source)),
						    .count = 1};
	struct source *source = sources.items;
	int r;

	if (!source || !(source->path = strdup(path)))
		abort();
	r = place_read(places, PLACE_SESSION, /* included= */ false, path, &source->stamp,
		       &source->trusted, &source->text, &source->length, loading->ret_error);
	if (r < 0)
		return r;
	add_stamp(loading->policy, source->stamp);
	source->stamp.path = NULL;
	if (r == 0 || (r = unwrap(loading, source)) <= 0)
		return r;
	r = layer_parse(source->text, source->length, path, places->walls, places->home,
			&source->layer, loading->ret_error);
	if (r == 0 && source->layer->includes.count) {
		fail(loading->ret_error, E_POLICY,
		     "what is registered for a session cannot include files");
		error_place(loading->ret_error, path, source->layer->include_lines[0], 1);
		r = error_hint(loading->ret_error, "register it with their rules in it");
	}
	return r < 0 ? r : load_source(loading, PLACE_SESSION, source, remedy);
}

static int load_place(struct loading *loading, enum place place, const char *path)
{
	_cleanup_free_ char *text = NULL, *remedy = NULL;
	_cleanup_sources_ struct sources sources = {0};
	struct stamp stamp = {0};
	bool trusted = false;
	size_t length;
	int r = sources_read(loading->places, place, path, &sources, &stamp, loading->ret_error);

	if (r < 0)
		return r;
	if (sources.count == 0) {
		add_stamp(loading->policy, stamp);
		return 0;
	}
	remedy = remedy_for(loading->places, place);
	if (place == PLACE_PROJECT) {
		/* It is believed as a whole, or not at all. */
		text = sources_text(&sources, &length);
		r = look_for_trust(loading, text, length, &trusted);
	}
	for (size_t i = 0; r >= 0 && i < sources.count; i++) {
		struct source *source = &sources.items[i];

		if (place == PLACE_PROJECT)
			source->trusted = trusted;
		add_stamp(loading->policy, source->stamp);
		source->stamp.path = NULL;
		r = load_source(loading, place, source, remedy);
	}
	return r;
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
	case PLACE_SESSION:
		return absolute(places->session);
	default:
		return absolute(places->extra);
	}
}

void policy_paths(const struct policy_places *places, struct list *paths)
{
	for (enum place place = PLACE_SYSTEM; place <= PLACE_SESSION; place++) {
		char *path = path_of(places, place);

		if (path)
			list_take(paths, path);
	}
}

static int load_layers(struct loading *loading)
{
	int r = 0;

	for (enum place place = PLACE_SYSTEM; place <= PLACE_SESSION && r == 0; place++) {
		_cleanup_free_ char *path = path_of(loading->places, place);

		if (path)
			r = place == PLACE_SESSION ? load_session(loading, path)
						   : load_place(loading, place, path);
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
	policy_index_make(policy);
	if (!places->brief) {
		lint_rules(policy);
		lint_routing(policy);
	}
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
	list_done(&sandbox->container);
	list_done(&sandbox->require);
	list_done(&sandbox->allow_calls);
	list_done(&sandbox->deny_calls);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	sandbox_done(&policy->sandbox);
	tiers_done(&policy->tiers);
	trust_rules_done(&policy->trust);
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
	for (size_t i = 0; i < policy->set_count; i++)
		rule_set_done(&policy->sets[i]);
	policy_index_free(policy->index);
	free(policy->sets);
	free(policy->callers);
	for (size_t i = 0; i < policy->listener_count; i++)
		listener_rule_done(&policy->listeners[i]);
	free(policy->listeners);
	routing_done(&policy->routing);
	assessor_done(&policy->assessor);
	notify_done(&policy->notify);
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

/* What is odd about files by themselves, whoever they belong to. Takes what is in the layers. */
static int lint_alone(struct layer **layers, size_t count, const struct sets_places *sets,
		      struct list *warnings, struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = merge_begin(/* home= */ NULL);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = lint_sets(layers[i], sets, ret_error);
		layers[i]->trusted = layers[i]->names_callers = layers[i]->of_system = true;
		if (r == 0)
			merge_layer(policy, layers[i], (int)i + 1, "");
	}
	if (r < 0)
		return r;
	merge_end(policy);
	policy_index_make(policy);
	lint_rules(policy);
	lint_routing(policy);
	for (size_t i = 0; warnings && i < policy->warnings.count; i++)
		list_add(warnings, policy->warnings.items[i]);
	return 0;
}

int policy_parse(const char *text, size_t length, const char *name, const struct list *walls,
		 struct list *warnings, struct error **ret_error)
{
	struct layer *layer = NULL;
	int r = layer_parse(text, length, name, walls, /* home= */ "/home/user", &layer, ret_error);

	if (r == 0)
		r = lint_alone(&layer, 1, /* sets= */ NULL, warnings, ret_error);
	layer_free(layer);
	return r;
}

int policy_check_file(const char *path, const struct list *walls, struct list *warnings,
		      struct error **ret_error)
{
	struct policy_places places = {
		.workspace = "/", .uid = geteuid(), .walls = walls, .home = getenv("HOME")};
	const struct sets_places sets = {
		.home = getenv("HOME"), .config_home = getenv("XDG_CONFIG_HOME"), .uid = geteuid()};
	_cleanup_sources_ struct sources sources = {0};
	struct layer **layers;
	struct stamp stamp = {0};
	int r = sources_read(&places, PLACE_EXTRA, path, &sources, &stamp, ret_error);

	if (r < 0)
		return r;
	layers = calloc(sources.count + 1, sizeof(struct layer *));
	if (!layers)
		abort();
	for (size_t i = 0; i < sources.count; i++)
		layers[i] = sources.items[i].layer;
	r = lint_alone(layers, sources.count, &sets, warnings, ret_error);
	free(layers);
	return r;
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
