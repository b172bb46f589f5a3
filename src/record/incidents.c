/* SPDX-License-Identifier: Apache-2.0 */
/* An agent goes into safe mode and out of it: what counts against it, its incidents, and what
 * people say to them. */
#include "incidents_parts.h"
#include "../base/units.h"
#include "../request/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What an agent can make large must not become too large to be read again: half of what is read. */
enum { COUNTED_MOST = 256, FACTS_MOST = 256, INCIDENT_MOST = AGENT_FILE_MOST / 2 };

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void put_now(json_t *object, const char *key)
{
	char now[TIME_TEXT];

	time_text(now);
	json_put_text(object, key, now);
}

/* The mode as it is, under the lock; a new object where there is none yet. */
static int begin(const char *state, const char *agent, struct agent_files *files, json_t **ret_mode,
		 struct agent_mode *ret_before, struct error **ret_error)
{
	int r = agent_files_open(state, agent, files, ret_error);

	if (r == 0)
		r = agent_file_read(files->directory, MODE, ret_mode, ret_error);
	if (r == 0)
		r = mode_of_json(*ret_mode, ret_before, ret_error);
	if (r == 0 && !*ret_mode)
		*ret_mode = json_object();
	return r;
}

int mode_check_token(const struct agent_mode *mode, const char *agent, int64_t issued,
		     struct error **ret_error)
{
	if (!mode->safe && issued > mode->voided)
		return 0;
	fail(ret_error, E_REJECTED, "refused: no token of agent %s from before its incident holds",
	     agent);
	return mode->safe
		       ? error_hint(ret_error, "`ward incidents show %s` says why", mode->incident)
		       : error_hint(ret_error, "a person makes a new one: ward token mint");
}

/* -- What counts against it ---------------------------------------------------------------------
 */

/* Those that are no older, without this one. A clock that was set back keeps them. */
static json_t *recent(const json_t *mode, json_int_t since, const char *run, const char *object)
{
	json_t *kept = json_array(), *entry;
	size_t i, skip, count = json_array_size(json_object_get(mode, "medium"));

	skip = count > COUNTED_MOST ? count - COUNTED_MOST : 0;
	json_array_foreach (json_object_get(mode, "medium"), i, entry) {
		const char *its_run = text_of(entry, "run"), *its_object = text_of(entry, "object");

		if (i < skip || json_integer_value(json_object_get(entry, "time")) < since ||
		    (its_run && its_object && strcmp(its_run, run) == 0 &&
		     strcmp(its_object, object) == 0))
			continue;
		json_array_append(kept, entry);
	}
	return kept;
}

int mode_count(const char *state, const char *agent, const char *run, const char *object,
	       uint64_t within_ns, uint64_t *ret_count, struct error **ret_error)
{
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	json_int_t now = (json_int_t)time(NULL);
	json_t *mode = NULL, *medium;
	struct agent_mode before;
	int r = begin(state, agent, &files, &mode, &before, ret_error);

	if (r == 0) {
		medium = recent(mode, now - (json_int_t)(within_ns / 1000000000), run, object);
		json_array_append_new(medium,
				      json_pack("{s:I, s:o, s:o}", "time", now, "run",
						json_text(run), "object", json_text(object)));
		*ret_count = json_array_size(medium);
		json_put(mode, "medium", medium);
		r = agent_file_write(files.directory, MODE, mode, DURABLE_LATER, ret_error);
	}
	json_decref(mode);
	return r;
}

/* -- One incident --------------------------------------------------------------------------------
 */

static void file_name(const char *id, char ret_name[static ID_TEXT + 8])
{
	snprintf(ret_name, ID_TEXT + 8, "%s.json", id);
}

static json_t *make_incident(const char *agent, const char *run, const char *id)
{
	json_t *incident = json_object();

	json_put_text(incident, "id", id);
	json_put_text(incident, "agent", agent);
	json_put_text(incident, "state", "open");
	put_now(incident, "opened");
	json_put_text(incident, "run", run);
	json_put(incident, "violations", json_array());
	json_put(incident, "answers", json_array());
	json_put(incident, "closed", json_null());
	json_put(incident, "by", json_null());
	json_put(incident, "note", json_null());
	return incident;
}

static json_t *list_of(json_t *incident, const char *key)
{
	json_t *list = json_object_get(incident, key);

	if (!json_is_array(list))
		json_put(incident, key, list = json_array());
	return list;
}

static bool has_room(const json_t *incident, const json_t *value)
{
	return json_dumpb(incident, NULL, 0, JSON_INDENT(1)) +
		       json_dumpb(value, NULL, 0, JSON_INDENT(1) | JSON_ENCODE_ANY) <=
	       INCIDENT_MOST;
}

static void append(json_t *incident, const char *key, json_t *value)
{
	json_t *list = list_of(incident, key);

	if (json_array_size(list) >= FACTS_MOST || !has_room(incident, value)) {
		json_put(incident, "more",
			 json_integer(json_integer_value(json_object_get(incident, "more")) + 1));
		json_decref(value);
	} else if (json_array_append_new(list, value) < 0) {
		abort();
	}
}

/* The incident is there before the mode that names it. */
int incident_open(const char *state, const char *agent, const char *run, json_t *violation,
		  struct agent_mode *ret_mode, bool *ret_new, struct error **ret_error)
{
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	json_t *mode = NULL, *incident = NULL;
	char id[ID_TEXT], name[ID_TEXT + 8];
	struct agent_mode before;
	int r = begin(state, agent, &files, &mode, &before, ret_error);

	if (r == 0) {
		if (before.safe)
			memcpy(id, before.incident, ID_TEXT);
		else
			id_make(id);
		file_name(id, name);
		if (before.safe)
			r = agent_file_read(files.incidents, name, &incident, ret_error);
	}
	if (r == 0) {
		*ret_new = !incident;
		if (!incident)
			incident = make_incident(agent, run, id);
		append(incident, "violations", json_incref(violation));
		r = agent_file_write(files.incidents, name, incident, DURABLE_LATER, ret_error);
	}
	if (r == 0) {
		json_put_text(mode, "mode", "safe");
		json_put_text(mode, "incident", id);
		json_put_count(mode, "freezes", before.freezes + 1);
		/* A clock that was set back makes no token good again. */
		json_put(mode, "voided",
			 json_integer(MAX((json_int_t)time(NULL), (json_int_t)before.voided)));
		r = agent_file_write(files.directory, MODE, mode, DURABLE_LATER, ret_error);
	}
	if (r == 0)
		r = mode_of_json(mode, ret_mode, ret_error);
	json_decref(incident);
	json_decref(mode);
	return r;
}

int mode_sync(const char *state, const char *agent, struct error **ret_error)
{
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	json_t *mode = NULL;
	struct agent_mode before;
	int r = begin(state, agent, &files, &mode, &before, ret_error);

	if (r == 0)
		r = agent_file_write(files.directory, MODE, mode, DURABLE_NOW, ret_error);
	json_decref(mode);
	return r;
}

static char *unsettled_file(const char *state, const char *agent)
{
	_cleanup_free_ char *place = agent_place(state, agent);
	char *path;

	if (asprintf(&path, "%s/unsettled", place) < 0)
		abort();
	return path;
}

void mode_leave_unsettled(const char *state, const char *agent, const char *run)
{
	_cleanup_free_ char *place = agent_place(state, agent), *to = unsettled_file(state, agent),
			    *from = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&from, "%s/holders/%s", place, run) < 0)
		abort();
	if (rename(from, to) == 0 || agent_place_make(state, agent, /* ret_error= */ NULL) < 0)
		return;
	/* One that had not begun has none: a name alone takes no room either, mostly. */
	fd = open(to, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int mode_settle(const char *state, const char *agent, struct error **ret_error)
{
	_cleanup_free_ char *path = unsettled_file(state, agent);
	struct agent_mode mode;
	json_t *violation;
	bool new;
	int r;

	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(ret_error, E_ENGINE, errno, "cannot read %s", path);
	violation = json_object();
	json_put_text(violation, "violation", "unsettled");
	json_put_text(violation, "severity", "high");
	json_put_text(violation, "object", "what could not be written when it was tried");
	r = incident_open(state, agent, /* run= */ NULL, violation, &mode, &new, ret_error);
	json_decref(violation);
	if (r == 0)
		r = mode_sync(state, agent, ret_error);
	if (r < 0) {
		(void)error_wrap(ret_error, "agent %s is to be put in safe mode", agent);
		return r;
	}
	(void)unlink(path);
	return 0;
}

/* Reads it, has it changed, and writes it. */
static int change(const char *state, const char *agent, const char *id,
		  int (*make)(json_t *incident, void *data, struct error **ret_error), void *data,
		  struct error **ret_error)
{
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	json_t *incident = NULL;
	char name[ID_TEXT + 8];
	int r = agent_files_open(state, agent, &files, ret_error);

	file_name(id, name);
	if (r == 0)
		r = agent_file_read(files.incidents, name, &incident, ret_error);
	if (r == 0 && !incident)
		r = fail(ret_error, E_NOT_FOUND, "there is no incident %s", id);
	if (r == 0)
		r = make(incident, data, ret_error);
	if (r == 0)
		r = agent_file_write(files.incidents, name, incident, DURABLE_NOW, ret_error);
	json_decref(incident);
	return r;
}

struct fact {
	const char *key; /* of a list; NULL: members that are new */
	json_t *value;
};

static int put_fact(json_t *incident, void *data, struct error **ret_error)
{
	struct fact *fact = data;

	const char *name;
	json_t *member;

	(void)ret_error;
	if (fact->key) {
		append(incident, fact->key, json_incref(fact->value));
		return 0;
	}
	json_object_foreach (fact->value, name, member)
		if (json_object_get(incident, name))
			continue;
		else if (has_room(incident, member))
			json_put(incident, name, json_incref(member));
		else
			json_array_append_new(list_of(incident, "left_out"), json_string(name));
	return 0;
}

static int add_fact(const char *state, const char *agent, const char *id, struct fact *fact,
		    struct error **ret_error)
{
	int r = change(state, agent, id, put_fact, fact, ret_error);

	json_decref(fact->value);
	return r;
}

int incident_add(const char *state, const char *agent, const char *id, json_t *members,
		 struct error **ret_error)
{
	return add_fact(state, agent, id, &(struct fact){NULL, members}, ret_error);
}

int incident_append(const char *state, const char *agent, const char *id, const char *key,
		    json_t *value, struct error **ret_error)
{
	return add_fact(state, agent, id, &(struct fact){key, value}, ret_error);
}

int incident_read(const char *state, const char *agent, const char *id, json_t **ret_incident,
		  struct error **ret_error)
{
	_cleanup_free_ char *place = agent_place(state, agent), *path = NULL;
	int r;

	if (asprintf(&path, "%s/incidents/%s.json", place, id) < 0)
		abort();
	r = agent_file_read(AT_FDCWD, path, ret_incident, ret_error);
	return r == 0 && !*ret_incident
		       ? fail(ret_error, E_NOT_FOUND, "there is no incident %s", id)
		       : r;
}

/* -- What people say -----------------------------------------------------------------------------
 */

static const char *const words[] = {
	[INCIDENT_WAIT] = "wait", [INCIDENT_RESUME] = "resume", [INCIDENT_KILL] = "kill"};

static bool is_closed(const json_t *incident)
{
	const char *state = text_of(incident, "state");

	return state && strcmp(state, "closed") == 0;
}

static int put_answer(json_t *incident, void *data, struct error **ret_error)
{
	if (is_closed(incident))
		return fail(ret_error, E_USAGE, "the incident %s is closed",
			    text_of(incident, "id"));
	append(incident, "answers", json_incref(data));
	return 0;
}

int incident_answer(const char *state, const char *agent, const char *id, enum incident_word word,
		    const char *by, struct error **ret_error)
{
	struct agent_mode mode;
	json_t *answer;
	int r = mode_read(state, agent, &mode, ret_error);

	if (r < 0)
		return r;
	answer = json_object();
	json_put_text(answer, "answer", words[word]);
	json_put_text(answer, "by", by);
	json_put_count(answer, "freezes", mode.freezes);
	put_now(answer, "time");
	r = change(state, agent, id, put_answer, answer, ret_error);
	json_decref(answer);
	return r;
}

enum incident_word incident_word(const json_t *incident, uint64_t freezes)
{
	json_t *answers = json_object_get(incident, "answers");
	size_t count = json_array_size(answers);
	const json_t *last = count ? json_array_get(answers, count - 1) : NULL;
	const char *answer = text_of(last, "answer");
	json_int_t to = json_integer_value(json_object_get(last, "freezes"));

	/* One that was given before they stood still is to others. */
	if (answer && to >= 0 && (uint64_t)to >= freezes)
		return strcmp(answer, words[INCIDENT_RESUME]) == 0 ? INCIDENT_RESUME
								   : INCIDENT_KILL;
	return is_closed(incident) ? INCIDENT_KILL : INCIDENT_WAIT;
}

static void put_end(json_t *incident, const char *by, const char *note)
{
	json_put_text(incident, "state", "closed");
	put_now(incident, "closed");
	json_put_text(incident, "by", by);
	json_put_text(incident, "note", note);
}

/* The mode comes last: one that was closed, but whose mode still names it, is closed anew. */
int incident_close(const char *state, const char *agent, const char *id, const char *by,
		   const char *note, struct error **ret_error)
{
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	json_t *mode = NULL, *incident = NULL;
	char name[ID_TEXT + 8];
	struct agent_mode before;
	bool is_open = false;
	int r = begin(state, agent, &files, &mode, &before, ret_error);

	file_name(id, name);
	if (r == 0) {
		is_open = strcmp(before.incident, id) == 0;
		r = agent_file_read(files.incidents, name, &incident, ret_error);
	}
	if (r == 0 && !incident)
		r = fail(ret_error, E_NOT_FOUND, "there is no incident %s", id);
	if (r == 0 && is_closed(incident) && !is_open)
		r = fail(ret_error, E_USAGE, "the incident %s is closed", id);
	if (r == 0) {
		put_end(incident, by, note);
		r = agent_file_write(files.incidents, name, incident, DURABLE_NOW, ret_error);
	}
	if (r == 0 && is_open) {
		json_put_text(mode, "mode", "normal");
		json_put(mode, "incident", json_null());
		json_put(mode, "medium", json_array());
		(void)unlinkat(files.directory, "refused", 0);
		r = agent_file_write(files.directory, MODE, mode, DURABLE_NOW, ret_error);
	}
	json_decref(incident);
	json_decref(mode);
	return r;
}
