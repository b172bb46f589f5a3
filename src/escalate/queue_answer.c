/* SPDX-License-Identifier: Apache-2.0 */
/* The side of those who answer: which questions stand, and what is said to one. */
#include "../base/io.h"
#include "../base/units.h"
#include "../request/text_json.h"
#include "ask_json.h"
#include "queue_parts.h"
#include "route.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum { ENTRIES_MOST = 10000, REST_SECONDS = 60 };

/* By whoever asked, or by a ticket. */
static bool is_waited_for(int directory, int fd, json_t *entry)
{
	const char *ticket = json_string_value(json_object_get(entry, "ticket"));
	char path[ASKS_NAME + 32];

	if (!ticket || !id_is_one(ticket) || !json_is_true(json_object_get(entry, "lasts")))
		return flock(fd, LOCK_SH | LOCK_NB) < 0;
	snprintf(path, sizeof(path), "../tickets/%s/state.json", ticket);
	return faccessat(directory, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Of a ticket: its answer is there, and its keeper is yet to come. */
static bool is_answered(int directory, json_t *entry)
{
	char name[ASKS_NAME];
	json_t *object;
	bool answered;

	if (!json_is_true(json_object_get(entry, "lasts")) ||
	    !json_string_value(json_object_get(entry, "id")))
		return false;
	asks_name(json_string_value(json_object_get(entry, "id")), ".answer", name);
	object = asks_read(directory, name);
	answered = object && asks_is_bound(object, entry) && !asks_defers(object);
	json_decref(object);
	return answered;
}

static void add_progress(int directory, json_t *entry)
{
	_cleanup_turn_ struct turn turn = {0};

	if (!asks_route(entry))
		return;
	votes_turn(directory, entry, &turn);
	json_object_set_new(entry, "progress", turn_to_json(asks_route(entry), &turn));
}

bool queue_is_same(json_t *one, json_t *other)
{
	json_t *a = json_copy(one), *b = json_copy(other);
	bool same;

	json_object_del(a, "progress");
	json_object_del(b, "progress");
	json_object_del(a, "also");
	json_object_del(b, "also");
	same = json_equal(a, b);
	json_decref(a);
	json_decref(b);
	return same;
}

/* The question, if whoever asked still waits; else what is left of it is removed. */
static json_t *look(int directory, const char *id)
{
	/* Anything may lie there under such a name; nothing may keep us waiting. */
	_cleanup_close_ int fd =
		openat(directory, id, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	json_t *entry;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return NULL;
	entry = asks_read(directory, id);
	if (!is_waited_for(directory, fd, entry)) {
		asks_remove(directory, id);
		json_decref(entry);
		return NULL;
	}
	if (entry &&
	    (!json_string_value(json_object_get(entry, "id")) ||
	     strcmp(json_string_value(json_object_get(entry, "id")), id) != 0 ||
	     !json_is_object(json_object_get(entry, "ask")) || is_answered(directory, entry))) {
		json_decref(entry);
		entry = NULL;
	}
	add_progress(directory, entry);
	return entry;
}

/* Parts of a question whose asker was killed before it stood. */
static void remove_rest(void *data, const char *name)
{
	int directory = *(int *)data;
	_cleanup_free_ char *id = strndup(name, ID_TEXT - 1);
	struct stat st;

	if (id_is_one(id) && faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_mtime + REST_SECONDS < time(NULL)) {
		(void)unlinkat(directory, name, 0);
		votes_remove(directory, id);
	}
}

/* All that stand, also those that are one question to a person. */
static int list_all(const char *state, json_t *entries, struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	_cleanup_list_ struct list ids = {0};
	int r = asks_open(state, /* make= */ false, &directory);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = id_list(directory, ENTRIES_MOST, remove_rest, &directory, &ids);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "looking into %s/asks", state);
	for (size_t i = 0; i < ids.count; i++) {
		json_t *entry = look(directory, ids.items[i]);

		if (entry)
			json_array_append_new(entries, entry);
	}
	alike_mark(entries);
	return 0;
}

static int list_each(const char *state, bool hidden, void (*show)(void *data, json_t *entry),
		     void *data, struct error **ret_error)
{
	json_t *entries = json_array(), *entry;
	int r = list_all(state, entries, ret_error);
	size_t i;

	json_array_foreach (entries, i, entry)
		if (!alike_take_hidden(entry) || hidden)
			show(data, entry);
	json_decref(entries);
	return r;
}

int queue_list(const char *state, void (*show)(void *data, json_t *entry), void *data,
	       struct error **ret_error)
{
	return list_each(state, /* hidden= */ false, show, data, ret_error);
}

struct found {
	const char *id;
	json_t *entry;
	unsigned count;
};

static void note_found(void *data, json_t *entry)
{
	struct found *found = data;
	const char *id = json_string_value(json_object_get(entry, "id"));

	if (strncmp(id, found->id, strlen(found->id)) != 0)
		return;
	found->count++;
	json_decref(found->entry);
	found->entry = json_incref(entry);
}

int queue_find(const char *state, const char *id, size_t least, json_t **ret_entry,
	       struct error **ret_error)
{
	struct found found = {.id = id};
	int r = list_each(state, /* hidden= */ true, note_found, &found, ret_error);

	if (r == 0 && found.count == 1 && *id && strlen(id) >= least) {
		*ret_entry = found.entry;
		return 0;
	}
	json_decref(found.entry);
	if (r < 0)
		return r;
	if (found.count == 1 && *id) {
		fail(ret_error, E_INPUT, "what is asked next may begin with '%s', too", id);
		return error_hint(ret_error, "give the whole id, or %zu characters of it", least);
	}
	if (found.count > 1)
		fail(ret_error, E_INPUT, "%u questions begin with '%s'", found.count, id);
	else
		fail(ret_error, E_INPUT, "no question '%s' waits for an answer", id);
	return error_hint(ret_error, "`ward pending` lists them");
}

int queue_get(const char *state, const char *id, json_t **ret_entry, struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	json_t *entry = NULL;

	if (id_is_one(id) && asks_open(state, /* make= */ false, &directory) == 0)
		entry = look(directory, id);
	if (!entry)
		return fail(ret_error, E_NOT_FOUND, "no question '%s' waits for an answer", id);
	*ret_entry = entry;
	return 0;
}

/* The file of an answer, on disk and without a name. */
static int write_answer(int directory, json_t *object, int *ret_fd)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	_cleanup_close_ int fd = openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : text ? write_all(fd, text, strlen(text)) : -ENOMEM;

	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		*ret_fd = STEAL_FD(fd);
	return r;
}

/* Whoever gives the file its name has answered. */
static int name_answer(int directory, const char *id, int fd)
{
	char name[ASKS_NAME], path[64];

	asks_name(id, ".answer", name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static void wake(int directory, const char *id)
{
	char name[ASKS_NAME];
	struct stat st;
	int fd;

	asks_name(id, ".wake", name);
	fd = openat(directory, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) /* and no name of a file */
		(void)!write(fd, "", 1);
	close_fd(&fd);
}

/* Whoever waited may have gone between our last look and the answer's name: then nobody took it,
 * and it is taken back. Whoever takes it says so before he removes the question. */
static bool came_too_late(int directory, const char *id, int fd)
{
	char name[ASKS_NAME];

	if (faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || asks_is_taken(fd))
		return false;
	asks_name(id, ".answer", name);
	(void)unlinkat(directory, name, 0);
	return true;
}

static int fail_late(const char *id, struct error **ret_error)
{
	return fail(ret_error, E_INPUT, "nobody waits for an answer to %s any more", id);
}

/* There is an answer already; or whoever waited has closed it, because he goes. */
static int fail_answered(int directory, const char *id, struct error **ret_error)
{
	char name[ASKS_NAME], when[TIME_TEXT] = "";
	const char *what, *who;
	json_t *object, *answer;
	struct stat st;
	int r;

	if (asks_is_withdrawn(directory, id))
		return fail_late(id, ret_error);
	asks_name(id, ".answer", name);
	object = asks_read(directory, name);
	answer = json_object_get(object, "answer");
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		time_text_of(&st.st_mtim, when);
	what = json_string_value(json_object_get(answer, "answer"));
	who = json_string_value(json_object_get(answer, "by"));
	if (what && who && *when)
		r = fail(ret_error, E_INPUT, "%s was answered already: %.200s by %.200s, at %s", id,
			 what, who, when);
	else
		r = fail(ret_error, E_INPUT, "%s was answered already%s", id,
			 object ? ", by those who were to say yes" : "");
	json_decref(object);
	return r;
}

/* The last look comes when all that takes time is done. */
static int stands_still(int directory, json_t *entry, struct error **ret_error)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	json_t *now = look(directory, id);
	bool stands = now && queue_is_same(now, entry);

	json_decref(now);
	return stands ? 0 : fail_late(id, ret_error);
}

/* The first who answers so has answered. */
static int give(int directory, json_t *entry, json_t *answer, enum answer_kind kind,
		struct error **ret_error)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	_cleanup_close_ int fd = -1;
	json_t *object = json_pack("{s:O, s:O, s:O}", "nonce", json_object_get(entry, "nonce"),
				   "hash", json_object_get(entry, "hash"), "answer", answer);
	int r = write_answer(directory, object, &fd);

	json_decref(object);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "answering %s", id);
	r = stands_still(directory, entry, ret_error);
	if (r < 0)
		return r;
	if (kind == ANSWER_DEFER && json_is_true(json_object_get(entry, "lasts")))
		return fail(ret_error, E_INPUT, "%s was deferred already, as ticket %s", id,
			    json_string_value(json_object_get(entry, "ticket")));
	r = name_answer(directory, id, fd);
	if (r == -EEXIST)
		return fail_answered(directory, id, ret_error);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "answering %s", id);
	return came_too_late(directory, id, fd) ? fail_late(id, ret_error) : 0;
}

/* Of several who must say yes, one says it; anybody of them may say no for all. */
static int give_routed(int directory, json_t *entry, json_t *answer, enum answer_kind kind,
		       const struct approver_id *who, struct error **ret_error)
{
	int r;

	if (kind != ANSWER_APPROVE) {
		r = votes_check_no(entry, who, ret_error);
		return r < 0 ? r : give(directory, entry, answer, kind, ret_error);
	}
	r = stands_still(directory, entry, ret_error);
	if (r == 0 && asks_has_answer(directory, entry))
		r = fail_answered(directory, json_string_value(json_object_get(entry, "id")),
				  ret_error);
	return r < 0 ? r : votes_cast(directory, entry, answer, who, ret_error);
}

static int answer_one(const char *state, json_t *entry, json_t *answer,
		      const struct approver_id *who, struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	_cleanup_answer_ struct answer checked = {0};
	json_t *said = json_copy(answer);
	int r;

	json_put(said, "by", json_text(who->by));
	r = answer_from_json(said, json_object_get(entry, "ask"), &checked, ret_error);
	if (r == 0 && (r = asks_open(state, /* make= */ false, &directory)) < 0)
		r = fail_errno(ret_error, E_ENGINE, -r, "opening %s/asks", state);
	if (r == 0)
		r = asks_route(entry)
			    ? give_routed(directory, entry, said, checked.kind, who, ret_error)
			    : give(directory, entry, said, checked.kind, ret_error);
	if (r == 0)
		wake(directory, json_string_value(json_object_get(entry, "id")));
	json_decref(said);
	return r;
}

int queue_answer(const char *state, json_t *entry, json_t *answer, const struct approver_id *who,
		 struct error **ret_error)
{
	/* Whom it goes to besides: those that the answer names, else those that the question, as it
	 * was shown, did. */
	json_t *also = json_object_get(answer, "also") ? json_object_get(answer, "also")
						       : json_object_get(entry, "also");
	json_t *own = json_copy(entry), *said = json_copy(answer);
	int r;

	json_object_del(own, "also");
	json_object_del(said, "also");
	r = answer_one(state, own, said, who, ret_error);
	if (r == 0)
		alike_answer(state, own, said, who, also);
	json_decref(own);
	json_decref(said);
	return r;
}

/* Whoever waited has all votes, and removes them: first they go, then the question, the answer
 * last. So this is asked after the votes were counted. */
static bool is_being_removed(const char *state, json_t *entry)
{
	_cleanup_close_ int directory = -1;

	return asks_open(state, /* make= */ false, &directory) < 0 ||
	       asks_has_answer(directory, entry) ||
	       faccessat(directory, json_string_value(json_object_get(entry, "id")), F_OK,
			 AT_SYMLINK_NOFOLLOW) < 0;
}

json_t *queue_progress(const char *state, json_t *entry)
{
	json_t *now = NULL, *progress;
	const char *word;

	if (!asks_route(entry) ||
	    queue_get(state, json_string_value(json_object_get(entry, "id")), &now, NULL) < 0)
		return NULL;
	progress = json_incref(json_object_get(now, "progress"));
	word = json_string_value(json_object_get(progress, "state"));
	if (word && strcmp(word, "open") == 0 && is_being_removed(state, entry)) {
		json_decref(progress);
		progress = NULL;
	}
	json_decref(now);
	return progress;
}

bool queue_may_approve(const char *state, json_t *entry, const struct approver_id *who)
{
	_cleanup_close_ int directory = -1;
	_cleanup_turn_ struct turn turn = {0};

	if (!asks_route(entry))
		return true;
	if (asks_open(state, /* make= */ false, &directory) < 0)
		return false;
	votes_turn(directory, entry, &turn);
	return route_voter(asks_route(entry), &turn, who->way, NULL);
}
