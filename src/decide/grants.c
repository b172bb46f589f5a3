/* SPDX-License-Identifier: Apache-2.0 */
/* Grants on disk: STATE/sessions/ID/grants, one JSON object a line; a line {"revoked": ID} takes
 * one back. Only ever appended to, so that a kill half way loses nothing but its own line. */
#include "grants.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../request/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

enum { FILE_MOST = 4 * 1024 * 1024 };

#define FILE_NAME "grants"

void grant_done(struct grant *grant)
{
	char *texts[] = {grant->id, grant->session, grant->key,	   grant->covers,
			 grant->by, grant->reason,  grant->command};

	for (size_t i = 0; i < ELEMENTS(texts); i++)
		free(texts[i]);
	list_done(&grant->permissions);
	list_done(&grant->reasons);
	*grant = (struct grant){0};
}

void grants_done(struct grants *grants)
{
	for (size_t i = 0; i < grants->count; i++)
		grant_done(&grants->items[i]);
	free(grants->items);
	*grants = (struct grants){0};
}

static struct grant *add(struct grants *grants)
{
	if (grants->count == grants->room) {
		grants->room = MAX(grants->room * 2, (size_t)8);
		grants->items = reallocarray(grants->items, grants->room, sizeof(*grants->items));
	}
	if (!grants->items)
		abort();
	grants->items[grants->count] = (struct grant){0};
	return &grants->items[grants->count++];
}

static void drop(struct grants *grants, size_t at)
{
	grant_done(&grants->items[at]);
	memmove(&grants->items[at], &grants->items[at + 1],
		(--grants->count - at) * sizeof(*grants->items));
}

/* -- One grant as a line ------------------------------------------------------------------------
 */

static json_t *list_value(const struct list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_text(list->items[i]));
	return array;
}

json_t *grant_to_json(const struct grant *grant)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:I, s:I}", "id",
			 json_text(grant->id), "session", json_text(grant->session), "key",
			 json_text(grant->key), "covers", json_text(grant->covers), "refusal",
			 grant->refusal, "permissions", list_value(&grant->permissions), "reasons",
			 list_value(&grant->reasons), "by", json_text(grant->by), "reason",
			 json_text(grant->reason), "command", json_text(grant->command), "made",
			 (json_int_t)grant->made, "expires", (json_int_t)grant->expires);
}

static char *text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? strdup(text) : NULL;
}

static void list_of(const json_t *object, const char *member, struct list *list)
{
	json_t *item;
	size_t i;

	json_array_foreach (json_object_get(object, member), i, item)
		if (json_is_string(item))
			list_add(list, json_string_value(item));
}

static bool from_json(const json_t *object, struct grant *ret_grant)
{
	*ret_grant = (struct grant){
		.id = text_of(object, "id"),
		.session = text_of(object, "session"),
		.key = text_of(object, "key"),
		.covers = text_of(object, "covers"),
		.refusal = json_is_true(json_object_get(object, "refusal")),
		.by = text_of(object, "by"),
		.reason = text_of(object, "reason"),
		.command = text_of(object, "command"),
		.made = json_integer_value(json_object_get(object, "made")),
		.expires = json_integer_value(json_object_get(object, "expires")),
	};
	list_of(object, "permissions", &ret_grant->permissions);
	list_of(object, "reasons", &ret_grant->reasons);
	return ret_grant->id && ret_grant->key && ret_grant->session;
}

/* -- Files ---------------------------------------------------------------------------------------
 */

static void take_line(struct grants *grants, const char *line, size_t length)
{
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *revoked = json_string_value(json_object_get(object, "revoked"));
	struct grant grant = {0};

	if (revoked) {
		for (size_t i = grants->count; i > 0; i--)
			if (strcmp(grants->items[i - 1].id, revoked) == 0)
				drop(grants, i - 1);
	} else if (object && from_json(object, &grant)) {
		*add(grants) = grant;
		grant = (struct grant){0};
	}
	grant_done(&grant);
	json_decref(object);
}

static int load_file(int directory, const char *path, struct grants *grants,
		     struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = read_file(directory, path, FILE_MOST, &text, &length);
	int64_t now = time(NULL);

	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0) {
		fail_errno(ret_error, E_ENGINE, -r, "reading the session's answers, %s", path);
		return error_hint(ret_error,
				  "`ward session end` ends the session and forgets them");
	}
	/* A last line without its end was being written when its writer was killed. */
	for (char *line = text, *end; (end = memchr(line, '\n', length - (size_t)(line - text)));
	     line = end + 1)
		take_line(grants, line, (size_t)(end - line));
	for (size_t i = grants->count; i > 0; i--)
		if (grants->items[i - 1].expires && grants->items[i - 1].expires <= now)
			drop(grants, i - 1);
	return 0;
}

char *grants_file(const char *state, const char *session)
{
	char *path;

	if (asprintf(&path, "%s/sessions/%s/" FILE_NAME, state, session) < 0)
		abort();
	return path;
}

int grants_load(const char *state, const char *session, struct grants *ret_grants,
		struct error **ret_error)
{
	_cleanup_free_ char *path = grants_file(state, session);
	int r;

	*ret_grants = (struct grants){0};
	r = load_file(AT_FDCWD, path, ret_grants, ret_error);
	if (r < 0)
		grants_done(ret_grants);
	return r;
}

int grants_load_all(const char *state, struct grants *ret_grants, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *entry;
	DIR *directory;
	int r = 0;

	*ret_grants = (struct grants){0};
	if (asprintf(&path, "%s/sessions", state) < 0)
		abort();
	directory = opendir(path);
	while (r == 0 && directory && (entry = readdir(directory))) {
		_cleanup_free_ char *file = NULL;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&file, "%s/" FILE_NAME, entry->d_name) < 0)
			abort();
		r = load_file(dirfd(directory), file, ret_grants, ret_error);
	}
	if (directory)
		closedir(directory);
	if (r < 0)
		grants_done(ret_grants);
	return r;
}

static int append(const char *state, const char *session, json_t *object, struct error **ret_error)
{
	_cleanup_free_ char *path = grants_file(state, session), *text = NULL;
	_cleanup_buffer_ struct buffer line = {0};
	_cleanup_close_ int fd = -1;
	char last = '\n';
	off_t end;
	int r;

	text = json_dumps(object, JSON_COMPACT);
	if (!text)
		abort();
	fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "remembering the answer in %s", path);
	end = lseek(fd, 0, SEEK_END);
	if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
		buffer_add_char(&line, '\n'); /* what a killed writer left */
	buffer_printf(&line, "%s\n", text);
	r = write_all(fd, line.data, line.length);
	if (r < 0) {
		(void)!ftruncate(fd, end);
		return fail_errno(ret_error, E_ENGINE, -r, "remembering the answer in %s", path);
	}
	return 0;
}

int grants_add(const char *state, struct grant *grant, struct error **ret_error)
{
	char id[ID_TEXT];
	json_t *object;
	int r;

	if (!grant->id) {
		id_make(id);
		grant->id = strdup(id);
	}
	grant->made = time(NULL);
	object = grant_to_json(grant);
	r = append(state, grant->session, object, ret_error);
	json_decref(object);
	return r;
}

int grants_find(const char *state, const char *id, struct grant *ret_grant,
		struct error **ret_error)
{
	struct grants grants;
	struct grant *found = NULL;
	int r = grants_load_all(state, &grants, ret_error);

	if (r < 0)
		return r;
	for (size_t i = 0; i < grants.count && r == 0; i++) {
		if (strncmp(grants.items[i].id, id, strlen(id)) != 0)
			continue;
		if (found) {
			fail(ret_error, E_USAGE, "'%s' begins the ids of several grants", id);
			r = error_hint(ret_error, "give more of the id");
		}
		found = &grants.items[i];
	}
	if (r == 0 && (!found || !id[0])) {
		fail(ret_error, E_NOT_FOUND, "there is no grant '%s'", id);
		r = error_hint(ret_error, "`ward grants` lists them");
	}
	if (r == 0) {
		*ret_grant = *found;
		*found = (struct grant){0};
	}
	grants_done(&grants);
	return r;
}

int grants_revoke(const char *state, const struct grant *grant, struct error **ret_error)
{
	json_t *object = json_pack("{s:s}", "revoked", grant->id);
	int r = append(state, grant->session, object, ret_error);

	json_decref(object);
	return r;
}

bool grant_covers(const struct grant *grant, const char *key, const struct assessment *assessment)
{
	if (strcmp(grant->key, key) != 0)
		return false;
	if (grant->refusal)
		return true;
	for (const char **reason = assessment->reasons; *reason; reason++)
		if (!list_has(&grant->reasons, *reason))
			return false;
	return true;
}
