/* SPDX-License-Identifier: Apache-2.0 */
/* A ticket as it lies on disk: opened with care, locked, and changed only in whole steps. */
#include "../base/io.h"
#include "../base/units.h"
#include "../request/text_json.h"
#include "ticket_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MOST = 64 << 20 };

static const char *const words[] = {
	[WAITING] = "waiting",	   [RUNNING] = "running", [DONE] = "done",
	[DENIED] = "denied",	   [EXPIRED] = "expired", [LOST] = "lost",
	[CANCELLED] = "cancelled",
};

/* Whoever else could change names in it could give us another's request. */
static bool is_ours(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int tickets_open(const char *state, bool make, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	int r = 0;

	if (asprintf(&path, "%s/tickets", state) < 0)
		abort();
	if (make)
		r = make_directories(path, 0700);
	if (r < 0)
		return r;
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0)
		return -errno;
	if (is_ours(*ret_fd))
		return 0;
	close_fd(ret_fd);
	return -EPERM;
}

static int fail_unknown(const char *id, struct error **ret_error)
{
	fail(ret_error, E_NOT_FOUND, "there is no ticket '%s'", id);
	return error_hint(ret_error, "`ward wait --list` lists them");
}

static int fail_damaged(const char *id, struct error **ret_error)
{
	fail(ret_error, E_INPUT, "the ticket %s is damaged, or not ours", id);
	return error_hint(ret_error, "what lies in STATE/tickets/%s was not left there by ward",
			  id);
}

int ticket_open(const char *state, const char *id, struct ticket *ret_ticket,
		struct error **ret_error)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	int r = id_is_one(id) ? tickets_open(state, /* make= */ false, &ticket.tickets) : -ENOENT;

	if (r == -ENOENT)
		return fail_unknown(id, ret_error);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "opening %s/tickets", state);
	memcpy(ticket.id, id, ID_TEXT);
	ticket.directory =
		openat(ticket.tickets, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ticket.directory < 0)
		return errno == ENOENT ? fail_unknown(id, ret_error) : fail_damaged(id, ret_error);
	if (is_ours(ticket.directory))
		ticket.lock = openat(ticket.directory, "lock",
				     O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ticket.lock < 0)
		return fail_damaged(id, ret_error);
	r = ticket_read(&ticket, ret_error);
	if (r < 0)
		return r;
	*ret_ticket = ticket;
	ticket = TICKET_NONE;
	return 0;
}

void ticket_close(struct ticket *ticket)
{
	close_fd(&ticket->tickets);
	close_fd(&ticket->directory);
	close_fd(&ticket->lock);
	json_decref(ticket->state);
	ticket->state = NULL;
}

int ticket_lock(struct ticket *ticket)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(ticket->lock, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

bool ticket_is_locked(const struct ticket *ticket)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(ticket->lock, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

json_t *ticket_load(int directory, const char *name)
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;

	/* Not a pipe that nobody writes to, nor anything a link leads to. */
	if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || read_file(directory, name, FILE_MOST, &text, &length) < 0)
		return NULL;
	return json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
}

enum ticket_word ticket_word(const struct ticket *ticket)
{
	const char *word = json_string_value(json_object_get(ticket->state, "state"));

	for (size_t i = 0; word && i < ELEMENTS(words); i++)
		if (strcmp(word, words[i]) == 0)
			return (enum ticket_word)i;
	return LOST; /* ticket_read lets nothing else in */
}

const char *ticket_word_name(enum ticket_word word)
{
	return words[word];
}

static bool is_state(json_t *object, const char *id)
{
	const char *ticket = json_string_value(json_object_get(object, "ticket"));
	const char *word = json_string_value(json_object_get(object, "state"));
	bool known = false;

	for (size_t i = 0; word && i < ELEMENTS(words); i++)
		known |= strcmp(word, words[i]) == 0;
	return known && ticket && strcmp(ticket, id) == 0 &&
	       id_is_one(json_string_value(json_object_get(object, "ask"))) &&
	       json_is_integer(json_object_get(object, "owner")) &&
	       json_integer_value(json_object_get(object, "owner")) == (json_int_t)geteuid() &&
	       json_is_integer(json_object_get(object, "end"));
}

int ticket_read(struct ticket *ticket, struct error **ret_error)
{
	json_t *object = ticket_load(ticket->directory, "state.json");

	if (!is_state(object, ticket->id)) {
		json_decref(object);
		return fail_damaged(ticket->id, ret_error);
	}
	json_decref(ticket->state);
	ticket->state = object;
	return 0;
}

/* The old one stands until the new one is on disk under its name. */
int ticket_write(int directory, const char *name, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(15));
	_cleanup_close_ int fd = -1;
	char new[64];
	int r = text ? 0 : -ENOMEM;

	snprintf(new, sizeof(new), "%s.new", name);
	if (r == 0 && unlinkat(directory, new, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0 && (fd = openat(directory, new,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0)
		r = write_all(fd, text, strlen(text));
	if (r == 0 && (fsync(fd) < 0 || renameat(directory, new, directory, name) < 0 ||
		       fsync(directory) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(directory, new, 0);
	return r;
}

int ticket_set(struct ticket *ticket, enum ticket_word word, const char *key, json_t *value)
{
	json_t *next = json_copy(ticket->state);
	char now[TIME_TEXT];
	int r;

	if (!next)
		abort();
	time_text(now);
	json_put_text(next, "state", words[word]);
	json_put_text(next, "changed", now);
	if (value)
		json_put(next, key, value);
	r = ticket_write(ticket->directory, "state.json", next);
	if (r < 0) {
		json_decref(next);
		return r;
	}
	json_decref(ticket->state);
	ticket->state = next;
	/* Whoever watches all of them sees it there. */
	(void)utimensat(ticket->tickets, ticket->id, NULL, AT_SYMLINK_NOFOLLOW);
	return 0;
}
