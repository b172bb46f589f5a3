/* SPDX-License-Identifier: Apache-2.0 */
/* What each file is to become. */
#include "setup.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* Made by the build from data/. */
static const char plugin[] =
#include <opencode-data.h>
	;
static const char starter[] =
#include <starter-data.h>
	;

bool setup_changes(const struct setup_change *change)
{
	if (!change->before || !change->after)
		return change->before || change->after;
	return strcmp(change->before, change->after) != 0;
}

void setup_change_done(struct setup_change *change)
{
	free(change->path);
	free(change->target);
	free(change->before);
	free(change->after);
	free(change->backup);
	free(change->switched);
	*change = (struct setup_change){0};
}

/* --- OpenCode's plugin ------------------------------------------------------------------------ */

static char *make_plugin(const char *program)
{
	static const char mark[] = "\"@WARD@\"";
	const char *at = strstr(plugin, mark);
	json_t *name = json_string(program);
	_cleanup_free_ char *quoted = json_dumps(name, JSON_ENCODE_ANY);
	struct buffer text = {0};

	if (!quoted)
		abort();
	buffer_add(&text, plugin, (size_t)(at - plugin));
	buffer_add_text(&text, quoted);
	buffer_add_text(&text, at + strlen(mark));
	json_decref(name);
	return buffer_steal(&text);
}

/* By its first line, so that an older one counts too. */
static bool is_own_plugin(const char *text)
{
	return text && strncmp(text, plugin, strcspn(plugin, "\n") + 1) == 0;
}

static int plan_plugin(const struct setup_place *place, bool removes, struct setup_change *change,
		       struct error **ret_error)
{
	change->own = is_own_plugin(change->before);
	if (change->before && !change->own) {
		if (removes) {
			change->after = strdup(change->before);
			return 0;
		}
		fail(ret_error, E_INPUT, "%s is there, and is not ward's", change->path);
		return error_hint(ret_error, "give it another name");
	}
	change->after = removes ? NULL : make_plugin(place->program);
	return 0;
}

/* --- settings --------------------------------------------------------------------------------- */

/* What a person would have to write where ward cannot. */
static int by_hand(const struct setup_agent *agent, const struct setup_place *place,
		   struct error **ret_error)
{
	_cleanup_free_ char *text = NULL, *line = NULL;
	json_t *object;

	if (setup_add(agent->shape, "{}", place->command, &text, NULL) < 0)
		return -E_INPUT;
	object = json_loads(text, 0, NULL);
	line = json_dumps(object, 0);
	json_decref(object);
	return error_hint(ret_error, "add it by hand: %s", line);
}

static int plan_settings(const struct setup_agent *agent, const struct setup_place *place,
			 bool removes, const char *backup, struct setup_change *change,
			 struct error **ret_error)
{
	const char *text = change->before ? change->before : "";
	int r = setup_check(text, strlen(text), change->path, ret_error);

	if (r < 0 && removes && !strstr(text, "ward")) {
		/* Whatever is wrong with it, ward is not in it. */
		error_free(STEAL(*ret_error));
		change->after = strdup(text);
		return 0;
	}
	if (r < 0)
		return removes ? error_hint(ret_error, "take it out by hand")
			       : by_hand(agent, place, ret_error);
	change->own = setup_is_there(agent->shape, text);
	if (removes && !change->before)
		return 0;
	r = removes ? setup_remove(agent->shape, text, backup, &change->after, ret_error)
		    : setup_add(agent->shape, text, place->command, &change->after, ret_error);
	if (r < 0) {
		error_wrap(ret_error, "%s", change->path);
		return removes ? r : by_hand(agent, place, ret_error);
	}
	if (removes) {
		change->restored =
			backup && change->own && change->after && setup_same(change->after, backup);
		return 0;
	}
	change->keeps = change->before && !change->own;
	change->switched = setup_switched_off(agent->shape, change->after);
	return 0;
}

int setup_plan(const struct setup_agent *agent, const struct setup_place *place, bool removes,
	       struct setup_change *ret_change, struct error **ret_error)
{
	_cleanup_(setup_change_done) struct setup_change change = {
		.path = setup_path(agent, place)};
	_cleanup_(setup_file_done) struct setup_file file = {.directory = -1};
	int r = setup_open(place, change.path, /* makes= */ false, &file, ret_error);

	if (r < 0)
		return r;
	change.target = strdup(file.target);
	change.before = STEAL(file.text);
	r = agent->shape ? plan_settings(agent, place, removes, file.backup, &change, ret_error)
			 : plan_plugin(place, removes, &change, ret_error);
	if (r < 0)
		return r;
	if ((file.backup || change.keeps) &&
	    asprintf(&change.backup, "%.*s%s", (int)(path_last(file.target) - file.target),
		     file.target, file.backup_name) < 0)
		abort();
	*ret_change = change;
	change = (struct setup_change){0};
	return 0;
}

/* --- the project's policy --------------------------------------------------------------------- */

int setup_plan_policy(const struct setup_place *place, bool removes,
		      struct setup_change *ret_change, struct error **ret_error)
{
	_cleanup_(setup_change_done) struct setup_change change = {
		.path = path_resolve(place->project, NULL, ".ward.yaml")};
	_cleanup_(setup_file_done) struct setup_file file = {.directory = -1};
	int r = setup_open(place, change.path, /* makes= */ false, &file, ret_error);

	if (r < 0)
		return r;
	change.target = strdup(file.target);
	change.before = STEAL(file.text);
	change.own = change.before && strcmp(change.before, starter) == 0;
	if (removes && !change.own && change.before)
		change.after = strdup(change.before);
	else if (!removes)
		change.after = strdup(change.before ? change.before : starter);
	*ret_change = change;
	change = (struct setup_change){0};
	return 0;
}
