/* SPDX-License-Identifier: Apache-2.0 */
/* ID is the question, locked by whoever waits; ID.answer the answer, made by the first who gives
 * one; ID.wake a pipe that tells of it. All three go with the one who waits, or with the next who
 * looks. */
#include "queue.h"
#include "../base/id.h"
#include "../base/io.h"
#include "../base/units.h"
#include "ask_json.h"
#include "terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define WATCHED ".watched"

enum {
	FILE_MOST = 16 << 20,
	ENTRIES_MOST = 10000,
	GLANCE_MS = 100,
	REST_SECONDS = 60,
	NAME_ROOM = ID_TEXT + 16
};

static int open_directory(const char *state, bool make, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	int r = 0;

	if (asprintf(&path, "%s/asks", state) < 0)
		abort();
	if (make)
		r = make_directories(path, 0700);
	*ret_fd = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r < 0 ? r : *ret_fd < 0 ? -errno : 0;
}

static void name_of(const char *id, const char *part, char name[static NAME_ROOM])
{
	snprintf(name, NAME_ROOM, "%s%s", id, part);
}

static bool is_id(const char *text)
{
	return strlen(text) == ID_TEXT - 1 &&
	       strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz") == ID_TEXT - 1;
}

/* Of all that the question says, and of the number that no other has. Caller frees. */
static char *hash_of(json_t *ask, const char *nonce)
{
	_cleanup_free_ char *text = json_dumps(ask, JSON_COMPACT | JSON_SORT_KEYS);
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;
	char *hex = malloc(2 * sizeof(hash) + 1);

	if (!text || !hex)
		abort();
	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const unsigned char *)nonce, strlen(nonce) + 1);
	crypto_hash_sha256_update(&state, (const unsigned char *)text, strlen(text));
	crypto_hash_sha256_final(&state, hash);
	return sodium_bin2hex(hex, 2 * sizeof(hash) + 1, hash, sizeof(hash));
}

static json_t *make_entry(const struct queue *queue, json_t *ask)
{
	char now[TIME_TEXT], until[TIME_TEXT], nonce[ID_TEXT];
	_cleanup_free_ char *hash = NULL;
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)(queue->patience_ns / 1000000000);
	time_text(now);
	time_text_of(&end, until);
	if (!queue->patience_ns) /* as long as somebody watches */
		until[0] = '\0';
	id_make(nonce);
	hash = hash_of(ask, nonce);
	return json_pack("{s:O, s:s, s:s, s:s, s:s, s:s, s:O}", "id", json_object_get(ask, "id"),
			 "run", queue->run ? queue->run : "", "since", now, "until", until, "nonce",
			 nonce, "hash", hash, "ask", ask);
}

/* Whole or not at all, and nobody sees it before it is locked. */
static int put_entry(int directory, const char *id, json_t *entry, int *ret_lock, int *ret_wake)
{
	_cleanup_free_ char *text = json_dumps(entry, JSON_COMPACT);
	char wake[NAME_ROOM], new[NAME_ROOM];
	int r = text ? 0 : -ENOMEM;

	name_of(id, ".wake", wake);
	name_of(id, ".new", new);
	*ret_lock = *ret_wake = -1;
	if (r == 0 && mkfifoat(directory, wake, 0600) < 0)
		r = -errno;
	if (r == 0 &&
	    (*ret_wake = openat(directory, wake, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)) < 0)
		r = -errno;
	if (r == 0 &&
	    (*ret_lock = openat(directory, new,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0 && flock(*ret_lock, LOCK_EX | LOCK_NB) < 0)
		r = -errno;
	if (r == 0)
		r = write_all(*ret_lock, text, strlen(text));
	if (r == 0 && (fsync(*ret_lock) < 0 || renameat(directory, new, directory, id) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(directory, new, 0);
	return r;
}

static void remove_entry(int directory, const char *id)
{
	static const char *const parts[] = {"", ".answer", ".wake"};
	char name[NAME_ROOM];

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		name_of(id, parts[i], name);
		(void)unlinkat(directory, name, 0);
	}
}

static json_t *read_object(int directory, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    read_file(directory, name, FILE_MOST, &text, &length) < 0)
		return NULL;
	return json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
}

/* True if there is one, and it is to this very question. What is not is removed, whatever it is: it
 * would stand in the way of one that is, and the question stands. */
static bool take_answer(int directory, json_t *entry, struct answer *ret_answer)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	char name[NAME_ROOM];
	json_t *object;
	bool holds;

	name_of(id, ".answer", name);
	if (faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	object = read_object(directory, name);
	holds = json_equal(json_object_get(object, "nonce"), json_object_get(entry, "nonce")) &&
		json_equal(json_object_get(object, "hash"), json_object_get(entry, "hash")) &&
		answer_from_json(json_object_get(object, "answer"), json_object_get(entry, "ask"),
				 ret_answer, NULL) == 0;
	if (!holds && unlinkat(directory, name, 0) < 0)
		(void)unlinkat(directory, name, AT_REMOVEDIR);
	json_decref(object);
	return holds;
}

static void wait_a_moment(int wake, const struct meanwhile *meanwhile)
{
	struct pollfd fds[] = {{wake, POLLIN, 0}, {meanwhile ? meanwhile->fd : -1, POLLIN, 0}};
	char data[64];

	if (poll(fds, ELEMENTS(fds), GLANCE_MS) <= 0)
		return;
	if (fds[0].revents)
		(void)!read(wake, data, sizeof(data));
	if (fds[1].revents)
		meanwhile->serve(meanwhile->data);
}

/* Somebody holds the lock that says so. */
static bool is_watched(const char *state)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&path, "%s/asks/" WATCHED, state) < 0)
		abort();
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* To ask is not to take it: others ask at the same time. */
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int queue_watch(const char *state, int *ret_fd, struct error **ret_error)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	_cleanup_close_ int directory = -1;
	int r = open_directory(state, /* make= */ true, &directory), fd = -1;

	if (r == 0 &&
	    (fd = openat(directory, WATCHED,
			 O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0 && fcntl(fd, F_OFD_SETLK, &lock) < 0)
		r = -errno;
	if (r < 0) {
		close_fd(&fd);
		return fail_errno(ret_error, E_ENGINE, -r, "watching %s/asks", state);
	}
	*ret_fd = fd;
	return 0;
}

static bool is_over(const struct queue *queue, uint64_t since)
{
	return queue->patience_ns ? monotonic_ns() >= since + queue->patience_ns
				  : !is_watched(queue->state);
}

static int put(void *data, const struct ask *ask, struct answer *ret_answer,
	       struct error **ret_error)
{
	struct queue *queue = data;
	const struct meanwhile *meanwhile = ask->meanwhile;
	uint64_t since = monotonic_ns();
	_cleanup_close_ int directory = -1, lock = -1, wake = -1;
	json_t *question, *entry;
	char id[ID_TEXT];
	int r;

	*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
	id_make(id);
	question = ask_to_json(ask, id);
	entry = make_entry(queue, question);
	r = open_directory(queue->state, /* make= */ true, &directory);
	if (r == 0)
		r = put_entry(directory, id, entry, &lock, &wake);
	while (r == 0 && !take_answer(directory, entry, ret_answer)) {
		if (meanwhile && meanwhile->obsolete(meanwhile->data))
			break;
		if (told_to_stop() || is_over(queue, since))
			break;
		wait_a_moment(wake, meanwhile);
	}
	if (directory >= 0)
		remove_entry(directory, id);
	json_decref(question);
	json_decref(entry);
	if (r == 0)
		return 0;
	fail_errno(ret_error, E_ENGINE, -r, "putting a question into %s/asks", queue->state);
	return error_hint(ret_error, "it must be writable, and its disk not full");
}

static bool is_there(void *data)
{
	const struct queue *queue = data;

	return queue->patience_ns > 0 || is_watched(queue->state);
}

static void tell(void *data, const char *text)
{
	(void)data;
	(void)text; /* nobody looks: it is among the warnings of the result as well */
}

struct approver queue_approver(struct queue *queue)
{
	return (struct approver){is_there, put, tell, queue};
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
	if (flock(fd, LOCK_SH | LOCK_NB) == 0) {
		remove_entry(directory, id);
		return NULL;
	}
	entry = read_object(directory, id);
	if (entry && (!json_string_value(json_object_get(entry, "id")) ||
		      strcmp(json_string_value(json_object_get(entry, "id")), id) != 0 ||
		      !json_is_object(json_object_get(entry, "ask")))) {
		json_decref(entry);
		entry = NULL;
	}
	return entry;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Parts of a question whose asker was killed before it stood. */
static void remove_rest(int directory, const char *name)
{
	_cleanup_free_ char *id = strndup(name, ID_TEXT - 1);
	struct stat st;

	if (id && is_id(id) && faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	    fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_mtime + REST_SECONDS < time(NULL))
		(void)unlinkat(directory, name, 0);
}

static int list_ids(int directory, struct list *ret_ids)
{
	int copy = fcntl(directory, F_DUPFD_CLOEXEC, 3);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!entries) {
		close_fd(&copy);
		return -errno;
	}
	for (int i = 0; i < ENTRIES_MOST && (entry = readdir(entries)); i++)
		if (is_id(entry->d_name))
			list_add(ret_ids, entry->d_name);
		else
			remove_rest(directory, entry->d_name);
	closedir(entries);
	if (ret_ids->count)
		qsort(ret_ids->items, ret_ids->count, sizeof(*ret_ids->items), compare);
	return 0;
}

int queue_list(const char *state, void (*show)(void *data, json_t *entry), void *data,
	       struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	_cleanup_list_ struct list ids = {0};
	int r = open_directory(state, /* make= */ false, &directory);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = list_ids(directory, &ids);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "looking into %s/asks", state);
	for (size_t i = 0; i < ids.count; i++) {
		json_t *entry = look(directory, ids.items[i]);

		if (entry)
			show(data, entry);
		json_decref(entry);
	}
	return 0;
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
	int r = queue_list(state, note_found, &found, ret_error);

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

/* Whoever makes the file has answered; it is whole when it has its name. */
static int put_answer(int directory, const char *id, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	_cleanup_close_ int fd = openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	char name[NAME_ROOM], path[64];
	int r = fd < 0 ? -errno : text ? write_all(fd, text, strlen(text)) : -ENOMEM;

	name_of(id, ".answer", name);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 &&
	    (fsync(fd) < 0 || linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0))
		r = -errno;
	return r;
}

static void wake(int directory, const char *id)
{
	char name[NAME_ROOM];
	struct stat st;
	int fd;

	name_of(id, ".wake", name);
	fd = openat(directory, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) /* and no name of a file */
		(void)!write(fd, "", 1);
	close_fd(&fd);
}

int queue_answer(const char *state, json_t *entry, json_t *answer, struct error **ret_error)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	_cleanup_close_ int directory = -1;
	_cleanup_answer_ struct answer checked = {0};
	json_t *object, *now;
	int r = answer_from_json(answer, json_object_get(entry, "ask"), &checked, ret_error);

	if (r < 0)
		return r;
	r = open_directory(state, /* make= */ false, &directory);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "opening %s/asks", state);
	now = look(directory, id);
	if (!now || !json_equal(now, entry)) {
		json_decref(now);
		return fail(ret_error, E_INPUT, "nobody waits for an answer to %s any more", id);
	}
	json_decref(now);
	object = json_pack("{s:O, s:O, s:O}", "nonce", json_object_get(entry, "nonce"), "hash",
			   json_object_get(entry, "hash"), "answer", answer);
	r = put_answer(directory, id, object);
	json_decref(object);
	if (r == -EEXIST)
		return fail(ret_error, E_INPUT, "%s was answered already", id);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "answering %s", id);
	wake(directory, id);
	return 0;
}
