/* SPDX-License-Identifier: Apache-2.0 */
/* Questions and answers as files: how they are named, read, put there and removed. */
#include "../base/io.h"
#include "queue_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { FILE_MOST = 16 << 20 };

int asks_open(const char *state, bool make, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int r = 0;

	if (asprintf(&path, "%s/asks", state) < 0)
		abort();
	if (make)
		r = make_directories(path, 0700);
	*ret_fd = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0)
		return r < 0 ? r : -errno;
	/* Whoever else could change names in it could put another question under one. */
	if (fstat(*ret_fd, &st) == 0 && st.st_uid == geteuid() &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	close_fd(ret_fd);
	return -EPERM;
}

void asks_name(const char *id, const char *part, char name[static ASKS_NAME])
{
	snprintf(name, ASKS_NAME, "%s%s", id, part);
}

/* Of all that the question says, and of the number that no other has. Caller frees. */
char *asks_hash(json_t *ask, const char *nonce)
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

static int open_wake(int directory, const char *id, int *ret_wake)
{
	char name[ASKS_NAME];
	struct stat st;

	asks_name(id, ".wake", name);
	if (mkfifoat(directory, name, 0600) < 0 && errno != EEXIST)
		return -errno;
	*ret_wake = openat(directory, name, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_wake < 0)
		return -errno;
	return fstat(*ret_wake, &st) < 0 || !S_ISFIFO(st.st_mode) ? -EEXIST : 0;
}

/* Whole or not at all, and nobody sees it before it is locked. */
int asks_put(int directory, const char *id, json_t *entry, int *ret_lock, int *ret_wake)
{
	_cleanup_free_ char *text = json_dumps(entry, JSON_COMPACT);
	char new[ASKS_NAME];
	int r = text ? 0 : -ENOMEM;

	asks_name(id, ".new", new);
	*ret_lock = *ret_wake = -1;
	if (r == 0)
		r = open_wake(directory, id, ret_wake);
	(void)unlinkat(directory, new, 0); /* of one who was killed here */
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

int asks_put_file(int directory, const char *path, json_t *object, int *ret_fd)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	_cleanup_close_ int fd = openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	char self[64];
	int r = fd < 0 ? -errno : text ? write_all(fd, text, strlen(text)) : -ENOMEM;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (r == 0 &&
	    (fsync(fd) < 0 || linkat(AT_FDCWD, self, directory, path, AT_SYMLINK_FOLLOW) < 0))
		r = -errno;
	if (r == 0 && ret_fd)
		*ret_fd = STEAL_FD(fd);
	return r;
}

int asks_put_part(int directory, const char *id, const char *part, json_t *object)
{
	char name[ASKS_NAME];

	asks_name(id, part, name);
	return asks_put_file(directory, name, object, /* ret_fd= */ NULL);
}

bool asks_has_answer(int directory, json_t *entry)
{
	char name[ASKS_NAME];

	asks_name(json_string_value(json_object_get(entry, "id")), ".answer", name);
	return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* By its mode, which whoever gave it can see as long as he has it open. */
static const mode_t taken = S_IRUSR;

void asks_mark_taken(int directory, const char *name)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	fd = openat(directory, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		(void)!fchmod(fd, taken);
}

bool asks_is_taken(int answer)
{
	struct stat st;

	return fstat(answer, &st) == 0 && (st.st_mode & 07777) == taken;
}

bool asks_is_withdrawn(int directory, const char *id)
{
	char name[ASKS_NAME];
	json_t *object;
	bool withdrawn;

	asks_name(id, ".answer", name);
	object = asks_read(directory, name);
	withdrawn = json_is_true(json_object_get(object, "withdrawn"));
	json_decref(object);
	return withdrawn;
}

bool asks_close(int directory, json_t *entry)
{
	json_t *object = json_pack("{s:b}", "withdrawn", true);
	int r = asks_put_part(directory, json_string_value(json_object_get(entry, "id")), ".answer",
			      object);

	json_decref(object);
	return r == 0;
}

void asks_remove(int directory, const char *id)
{
	static const char *const parts[] = {"", ".answer", ".seen", ".wake"};
	char name[ASKS_NAME];

	/* First, because whoever voted takes votes without a question for ones that nobody saw;
	 * and again, because somebody may have voted meanwhile. */
	votes_remove(directory, id);
	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		asks_name(id, parts[i], name);
		(void)unlinkat(directory, name, 0);
	}
	votes_remove(directory, id);
}

json_t *asks_read(int directory, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;

	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    read_file(directory, name, FILE_MOST, &text, &length) < 0)
		return NULL;
	return json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
}

bool asks_defers(json_t *object)
{
	const char *word =
		json_string_value(json_object_get(json_object_get(object, "answer"), "answer"));

	return word && strcmp(word, "defer") == 0;
}

/* To this question and to no other. */
bool asks_is_bound(json_t *object, json_t *entry)
{
	return json_equal(json_object_get(object, "nonce"), json_object_get(entry, "nonce")) &&
	       json_equal(json_object_get(object, "hash"), json_object_get(entry, "hash"));
}
