/* SPDX-License-Identifier: Apache-2.0 */
/* All incidents there are, and what people said no to. */
#include "incidents_parts.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../request/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { LISTED_MOST = 10000, REFUSED_MOST = 4 * 1024 * 1024 };

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static int by_name(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static void sort(struct list *names)
{
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), by_name);
}

/* One that cannot be read hides no other: *failed has the first. */
static int each_of(int incidents, int (*each)(json_t *incident, void *data), void *data,
		   struct error **failed)
{
	_cleanup_list_ struct list names = {0};
	DIR *listing = fdopendir(dup(incidents));
	struct dirent *entry;
	int r = 0;

	for (int i = 0; listing && i < LISTED_MOST && (entry = readdir(listing)); i++)
		if (entry->d_name[0] != '.')
			list_add(&names, entry->d_name);
	if (listing)
		closedir(listing);
	sort(&names);
	for (size_t i = 0; i < names.count && r == 0; i++) {
		json_t *incident = NULL;

		if (agent_file_read(incidents, names.items[i], &incident,
				    *failed ? NULL : failed) == 0 &&
		    incident)
			r = each(incident, data);
		json_decref(incident);
	}
	return r;
}

/* An agent is known here by the name of its directory, "ci%40one". What cannot be settled now is
 * by whoever starts the agent. */
static void settle(const char *state, const char *name)
{
	_cleanup_buffer_ struct buffer agent = {0};

	for (const char *c = name; *c; c++) {
		unsigned byte;

		if (*c == '%' && sscanf(c + 1, "%2X", &byte) == 1 && byte && c[1] && c[2]) {
			buffer_add_char(&agent, (char)byte);
			c += 2;
		} else {
			buffer_add_char(&agent, *c);
		}
	}
	(void)mode_settle(state, buffer_text(&agent), /* ret_error= */ NULL);
}

int incidents_each(const char *state, int (*each)(json_t *incident, void *data), void *data,
		   struct error **ret_error)
{
	_cleanup_free_ char *place = agent_place(state, "");
	_cleanup_list_ struct list agents = {0};
	_cleanup_error_ struct error *failed = NULL;
	DIR *listing = opendir(place);
	struct dirent *entry;
	int r = 0;

	if (!listing)
		return errno == ENOENT
			       ? 0
			       : fail_errno(ret_error, E_ENGINE, errno, "cannot read %s", place);
	while ((entry = readdir(listing)))
		if (entry->d_name[0] != '.')
			list_add(&agents, entry->d_name);
	sort(&agents);
	for (size_t i = 0; i < agents.count && r == 0; i++) {
		_cleanup_free_ char *path = NULL;
		_cleanup_close_ int incidents = -1;

		settle(state, agents.items[i]);
		if (asprintf(&path, "%s/incidents", agents.items[i]) < 0)
			abort();
		incidents = openat(dirfd(listing), path,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (incidents >= 0)
			r = each_of(incidents, each, data, &failed);
	}
	closedir(listing);
	if (r != 0 || !failed)
		return r;
	if (ret_error)
		*ret_error = STEAL(failed);
	return -E_ENGINE;
}

struct search {
	const char *id;
	json_t *found;
	size_t count;
};

static int compare(json_t *incident, void *data)
{
	struct search *search = data;
	const char *id = text_of(incident, "id");

	if (id && strncmp(id, search->id, strlen(search->id)) == 0 && search->count++ == 0)
		search->found = json_incref(incident);
	return 0;
}

int incident_find(const char *state, const char *id, json_t **ret_incident,
		  struct error **ret_error)
{
	struct search search = {.id = id};
	int r = incidents_each(state, compare, &search, ret_error);

	/* What else there is and cannot be read is no reason to leave this one open. */
	if (search.count == 1 && *id) {
		if (r < 0 && ret_error)
			error_free(STEAL(*ret_error));
		*ret_incident = search.found;
		return 0;
	}
	json_decref(search.found);
	if (r < 0)
		return r;
	if (search.count > 1) {
		fail(ret_error, E_USAGE, "'%s' begins the ids of several incidents", id);
		return error_hint(ret_error, "give more of the id");
	}
	fail(ret_error, E_NOT_FOUND, "there is no incident '%s'", id);
	return error_hint(ret_error, "`ward incidents list --all` lists them");
}

/* -- What people said no to ----------------------------------------------------------------------
 */

int refused_note(const char *state, const char *agent, const char *run, const char *operation,
		 const char *object, struct error **ret_error)
{
	_cleanup_agent_files_ struct agent_files files = AGENT_FILES_NONE;
	_cleanup_buffer_ struct buffer bytes = {0};
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	char now[TIME_TEXT];
	json_t *line;
	int r = agent_files_open(state, agent, &files, ret_error);

	if (r < 0)
		return r;
	line = json_object();
	json_put_text(line, "run", run);
	json_put_text(line, "operation", operation);
	json_put_text(line, "object", object);
	time_text(now);
	json_put_text(line, "time", now);
	/* Between two ends of lines: half a one that somebody left behind spoils only itself. */
	buffer_add_char(&bytes, '\n');
	text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	buffer_printf(&bytes, "%s\n", text ? text : "");
	fd = openat(files.directory, "refused",
		    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || !text || (r = write_all(fd, bytes.data, bytes.length)) < 0)
		return fail_errno(ret_error, E_ENGINE, r < 0 ? -r : errno,
				  "remembering a no to agent %s", agent);
	return 0;
}

int refused_load(const char *state, const char *agent, const char *run, struct list *ret_targets,
		 struct error **ret_error)
{
	_cleanup_free_ char *place = agent_place(state, agent), *path = NULL, *text = NULL;
	char *rest, *line;
	size_t length = 0;
	int r;

	if (asprintf(&path, "%s/refused", place) < 0)
		abort();
	r = read_file(AT_FDCWD, path, REFUSED_MOST, &text, &length);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "cannot read %s", path);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		json_t *object = json_loads(line, 0, NULL);
		const char *its_run = text_of(object, "run");

		/* A last line without its end was being written when its writer was killed. */
		if (its_run && strcmp(its_run, run) != 0 && text_of(object, "operation") &&
		    text_of(object, "object"))
			list_add_printf(ret_targets, "%s %s", text_of(object, "operation"),
					text_of(object, "object"));
		json_decref(object);
	}
	return 0;
}
