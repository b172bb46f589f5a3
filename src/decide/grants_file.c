/* SPDX-License-Identifier: Apache-2.0 */
/* Grants on disk: STATE/sessions/ID/grants, one JSON object a line; a line {"revoked": ID} takes
 * one back, {"used": ID, "run": RUN} counts. Only ever appended to, so that a kill half way loses
 * nothing but its own line. */
#include "grants_parts.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "grants_index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum { FILE_MOST = 256 * 1024 * 1024, LINE_MOST = 1024 * 1024 };

#define FILE_NAME "grants"

/* What lines say that are no grants, until all are read. */
struct notes {
	struct note {
		char *id, *run; /* run: NULL where it was revoked */
		int64_t time;
	} * items;
	size_t count, room;
};

static void add_note(struct notes *notes, const char *id, const char *run, int64_t when)
{
	if (notes->count == notes->room) {
		notes->room = MAX(notes->room * 2, (size_t)16);
		notes->items = reallocarray(notes->items, notes->room, sizeof(*notes->items));
		if (!notes->items)
			abort();
	}
	notes->items[notes->count++] = (struct note){strdup(id), run ? strdup(run) : NULL, when};
}

static int by_id(const void *one, const void *other)
{
	return strcmp(((const struct note *)one)->id, ((const struct note *)other)->id);
}

static void notes_done(struct notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		free(notes->items[i].id);
		free(notes->items[i].run);
	}
	free(notes->items);
}

static bool is_wanted(const struct grants_wanted *wanted, const struct grant *grant)
{
	if (!wanted)
		return true;
	if (!grant->refusal && (!grant->agent != !wanted->agent ||
				(grant->agent && strcmp(grant->agent, wanted->agent) != 0)))
		return false;
	return strcmp(grant->key, wanted->key) == 0 || strcmp(grant->key, wanted->exact) == 0;
}

static void take_line(const struct grants_wanted *wanted, struct grants *grants,
		      struct notes *notes, const char *line, size_t length)
{
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const char *revoked = json_string_value(json_object_get(object, "revoked"));
	const char *used = json_string_value(json_object_get(object, "used"));
	const char *run = json_string_value(json_object_get(object, "run"));
	struct grant grant = {0};

	if (revoked) {
		add_note(notes, revoked, NULL, 0);
	} else if (used && run) {
		add_note(notes, used, run, json_integer_value(json_object_get(object, "time")));
	} else if (object && grant_from_json(object, &grant) && is_wanted(wanted, &grant)) {
		*grants_add_empty(grants) = grant;
		grant = (struct grant){0};
	}
	grant_done(&grant);
	json_decref(object);
}

static void take_lines(const struct grants_wanted *wanted, struct grants *grants,
		       struct notes *notes, const char *text, size_t length)
{
	/* A last line without its end was being written when its writer was killed. */
	for (const char *line = text, *end;
	     (end = memchr(line, '\n', length - (size_t)(line - text))); line = end + 1)
		take_line(wanted, grants, notes, line, (size_t)(end - line));
}

/* Of whoever may still hold what it has used up. */
static const char any_run[] = "*";

/* Whatever became of the clock: a yes for a time gets no more of it, and a no is not cut short. */
static bool has_ended(const struct grant *grant, const struct moment *now, bool by_wall)
{
	if (by_wall)
		return now->wall >= grant->expires.wall;
	return grant->refusal ? moment_has_surely_come(&grant->expires, now)
			      : moment_has_come(&grant->expires, now);
}

/* Counts its uses; false where it was revoked, has expired or is used up. */
static bool holds(struct grant *grant, const struct notes *notes, const char *run,
		  const struct moment *now, const struct grants_wanted *wanted)
{
	const struct note sought = {.id = grant->id};
	const struct note *note =
		notes->count ? bsearch(&sought, notes->items, notes->count, sizeof(sought), by_id)
			     : NULL;
	const struct note *end = note ? notes->items + notes->count : NULL;
	bool own = false;

	while (note && note > notes->items && strcmp(note[-1].id, grant->id) == 0)
		note--;
	for (; note && note < end && strcmp(note->id, grant->id) == 0; note++) {
		if (!note->run && wanted && wanted->taken_back)
			continue;
		if (!note->run)
			return false;
		grant->used++;
		grant->last = MAX(grant->last, note->time);
		own |= run && (run == any_run || strcmp(note->run, run) == 0);
	}
	if (grant->expires.wall && has_ended(grant, now, wanted && wanted->by_wall))
		return false;
	return !grant->uses || grant->used < grant->uses || own;
}

static void settle(struct grants *grants, size_t from, struct notes *notes, const char *run,
		   const struct grants_wanted *wanted)
{
	struct moment now;
	size_t kept = from;

	moment_now(&now);
	if (notes->count)
		qsort(notes->items, notes->count, sizeof(*notes->items), by_id);
	for (size_t i = from; i < grants->count; i++)
		if (holds(&grants->items[i], notes, run, &now, wanted))
			grants->items[kept++] = grants->items[i];
		else
			grant_done(&grants->items[i]);
	grants->count = kept;
}

/* The line at an offset that the index gave. */
static int read_line(int fd, uint64_t offset, struct buffer *ret_line)
{
	char piece[1024], *end = NULL;

	ret_line->length = 0;
	while (!end && ret_line->length < LINE_MOST) {
		ssize_t got = pread(fd, piece, sizeof(piece), (off_t)(offset + ret_line->length));

		if (got <= 0)
			return got < 0 ? -errno : -EBADMSG;
		end = memchr(piece, '\n', (size_t)got);
		buffer_add(ret_line, piece, end ? (size_t)(end - piece) : (size_t)got);
	}
	return end ? 0 : -EBADMSG;
}

/* What the index knows, and what came since. 1: there is none, all has to be read. */
static int load_by_index(int fd, const char *path, off_t size, const struct grants_wanted *wanted,
			 struct grants *grants, struct notes *notes)
{
	const char *keys[] = {wanted->key, wanted->exact};
	_cleanup_free_ uint64_t *offsets = NULL;
	_cleanup_free_ char *tail = NULL;
	_cleanup_buffer_ struct buffer line = {0};
	off_t covered;
	ssize_t count = grants_index_find(path, size, keys, ELEMENTS(keys), &offsets, &covered);
	ssize_t got;
	int r = 0;

	if (count < 0)
		return 1;
	for (ssize_t i = 0; i < count && r == 0; i++) {
		r = read_line(fd, offsets[i], &line);
		if (r == 0)
			take_line(wanted, grants, notes, line.data, line.length);
	}
	if (r < 0 || covered == size)
		return r;
	tail = malloc((size_t)(size - covered));
	if (!tail)
		abort();
	got = pread(fd, tail, (size_t)(size - covered), covered);
	if (got < 0)
		return -errno;
	take_lines(wanted, grants, notes, tail, (size_t)got);
	return 0;
}

static int load_whole(int directory, const char *path, const struct grants_wanted *wanted,
		      struct grants *grants, struct notes *notes)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	int r = read_file(directory, path, FILE_MOST, &text, &length);

	if (r == 0)
		take_lines(wanted, grants, notes, text, length);
	return r;
}

static int load_file(int directory, const char *path, const struct grants_wanted *wanted,
		     const char *run, struct grants *grants, struct error **ret_error)
{
	struct notes notes = {0};
	size_t from = grants->count;
	struct stat st;
	int r = 1;

	if (wanted && stat(path, &st) == 0 && st.st_size >= GRANTS_INDEX_FROM) {
		_cleanup_close_ int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			r = load_by_index(fd, path, st.st_size, wanted, grants, &notes);
	}
	if (r == 1)
		r = load_whole(directory, path, wanted, grants, &notes);
	if (r == -ENOENT || r == -ENOTDIR)
		r = 0;
	settle(grants, from, &notes, run, wanted);
	notes_done(&notes);
	if (r == 0)
		return 0;
	fail_errno(ret_error, E_ENGINE, -r, "reading the session's answers, %s", path);
	return error_hint(ret_error, "`ward session end` ends the session and forgets them");
}

char *grants_file(const char *state, const char *session)
{
	char *path;

	if (asprintf(&path, "%s/sessions/%s/" FILE_NAME, state, session) < 0)
		abort();
	return path;
}

int grants_load(const char *state, const char *session, const struct grants_wanted *wanted,
		struct grants *ret_grants, struct error **ret_error)
{
	_cleanup_free_ char *path = grants_file(state, session);
	int r;

	*ret_grants = (struct grants){0};
	r = load_file(AT_FDCWD, path, wanted, wanted ? wanted->run : NULL, ret_grants, ret_error);
	if (r < 0)
		grants_done(ret_grants);
	return r;
}

int grants_load_all(const char *state, bool spent, struct grants *ret_grants,
		    struct error **ret_error)
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
		r = load_file(dirfd(directory), file, /* wanted= */ NULL, spent ? any_run : NULL,
			      ret_grants, ret_error);
	}
	if (directory)
		closedir(directory);
	if (r < 0)
		grants_done(ret_grants);
	return r;
}

/* The session's file, locked until the fd is closed. */
static int open_locked(const char *path, struct error **ret_error)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX) == 0)
		return fd;
	fail_errno(ret_error, E_ENGINE, errno, "remembering the answer in %s", path);
	close_fd(&fd);
	return -E_ENGINE;
}

/* Lines with their ends, all of them or none. */
static int append(int fd, const char *path, const struct buffer *lines, uint64_t *ret_length,
		  struct error **ret_error)
{
	_cleanup_buffer_ struct buffer text = {0};
	off_t end = lseek(fd, 0, SEEK_END);
	char last = '\n';
	int r;

	if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
		buffer_add_char(&text, '\n'); /* what a killed writer left */
	buffer_add(&text, lines->data, lines->length);
	r = write_all(fd, text.data, text.length);
	if (r < 0) {
		(void)!ftruncate(fd, end);
		return fail_errno(ret_error, E_ENGINE, -r, "remembering the answer in %s", path);
	}
	grants_index_extend(path, fd, end + (off_t)text.length);
	if (ret_length)
		*ret_length = (uint64_t)end + text.length;
	return 0;
}

/* Takes ownership of the object. */
static void add_object(struct buffer *lines, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);

	if (!text)
		abort();
	buffer_printf(lines, "%s\n", text);
	json_decref(object);
}

int grants_add(const char *state, struct grant *grant, struct error **ret_error)
{
	_cleanup_free_ char *path = grants_file(state, grant->session);
	_cleanup_buffer_ struct buffer line = {0};
	_cleanup_close_ int fd = -1;
	char id[ID_TEXT];

	if (!grant->id) {
		id_make(id);
		grant->id = strdup(id);
	}
	grant->made = time(NULL);
	add_object(&line, grant_to_json(grant));
	fd = open_locked(path, ret_error);
	return fd < 0 ? fd : append(fd, path, &line, NULL, ret_error);
}

int grants_revoke(const char *state, const char *session, const struct grants *grants,
		  uint64_t *ret_length, struct error **ret_error)
{
	_cleanup_free_ char *path = grants_file(state, session);
	_cleanup_buffer_ struct buffer lines = {0};
	_cleanup_close_ int fd = -1;
	int r;

	for (size_t i = 0; i < grants->count; i++)
		if (strcmp(grants->items[i].session, session) == 0)
			add_object(&lines, json_pack("{s:s, s:s}", "revoked", grants->items[i].id,
						     "key", grants->items[i].key));
	fd = open_locked(path, ret_error);
	r = fd < 0 ? fd : append(fd, path, &lines, ret_length, ret_error);
	/* What was taken back stays so, whatever becomes of the machine. */
	if (r == 0 && fdatasync(fd) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "taking it back in %s", path);
	return r;
}

int grants_use(const char *state, const struct grant *grant, const char *run,
	       struct error **ret_error)
{
	_cleanup_free_ char *path = grants_file(state, grant->session);
	_cleanup_buffer_ struct buffer line = {0};
	_cleanup_close_ int fd = open_locked(path, ret_error);
	const struct grants_wanted wanted = {
		.key = grant->key, .exact = grant->key, .agent = grant->agent};
	struct grants now = {0};
	size_t at;
	int r = fd < 0 ? fd : 0;

	/* What others have used since it was read counts: nobody can now. */
	if (r == 0 && grant->uses) {
		r = load_file(AT_FDCWD, path, &wanted, /* run= */ NULL, &now, ret_error);
		if (r == 0 && grants_find(&now, grant->id, &at, NULL) < 0)
			r = 1;
		grants_done(&now);
	}
	if (r != 0)
		return r;
	add_object(&line, json_pack("{s:s, s:s, s:s, s:I}", "used", grant->id, "key", grant->key,
				    "run", run, "time", (json_int_t)time(NULL)));
	r = append(fd, path, &line, NULL, ret_error);
	if (r == 0 && grant->uses && fdatasync(fd) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "counting a use in %s", path);
	return r;
}
