/* SPDX-License-Identifier: Apache-2.0 */
/* What tickets leave behind has an end: in time, in number and in size. */
#include "../base/io.h"
#include "ticket_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	OVER_MOST = 200,   /* that are over and still there, once somebody had the time to look */
	FRESH_MOST = 5000, /* and before that */
	NAMES_MOST = 10000,
	FRESH_SECONDS = 3600,
	REST_SECONDS = 600, /* after that one that was not made to its end is none */
	PAUSE_SECONDS = 10, /* between two that nobody asked for */
};
#define SIZE_MOST ((off_t)256 << 20) /* of what they wrote, all of them together */

/* One that is over. */
struct over {
	const char *id;
	time_t since;
	off_t size;
};

static bool is_old(const struct stat *st, time_t seconds)
{
	return st->st_mtime + seconds < time(NULL);
}

static off_t size_of(int directory)
{
	static const char *const names[] = {"stdout", "stderr", "notices", "result.json",
					    "request.json"};
	off_t size = 0;
	struct stat st;

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (fstatat(directory, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			size += st.st_size;
	return size;
}

/* Whether it is over, and nobody has it in hand. */
static bool is_over(const char *state, const char *id, struct over *ret_over)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	struct stat st;

	if (ticket_open(state, id, &ticket, NULL) < 0 || ticket_is_locked(&ticket) ||
	    ticket_word(&ticket) == WAITING || ticket_word(&ticket) == RUNNING ||
	    fstatat(ticket.directory, "state.json", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_over = (struct over){id, st.st_mtime, size_of(ticket.directory)};
	return true;
}

static int by_end(const void *one, const void *other)
{
	const struct over *a = one, *b = other;

	return a->since != b->since ? (a->since < b->since) - (a->since > b->since)
				    : strcmp(b->id, a->id);
}

static void remove_over(const char *state, const char *id)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;

	if (ticket_open(state, id, &ticket, NULL) < 0 ||
	    ticket_lock(&ticket) < 0) /* somebody starts it again */
		return;
	ticket_clear(state, &ticket);
	(void)remove_tree(ticket.tickets, id);
}

/* Those that ended last are kept: whoever waits for one comes soon after its end, however long ago
 * it began. */
static void sweep_over(const char *state, struct over *overs, size_t count)
{
	time_t now = time(NULL);
	off_t size = 0;

	if (count > 0)
		qsort(overs, count, sizeof(*overs), by_end);
	for (size_t i = 0; i < count; i++) {
		time_t age = now - overs[i].since;

		size += overs[i].size;
		if (age > TICKET_PATIENCE_SECONDS || size > SIZE_MOST || i >= FRESH_MOST ||
		    (i >= OVER_MOST && age > FRESH_SECONDS))
			remove_over(state, overs[i].id);
	}
}

/* Whoever made it is gone: he held its lock before there was anything in it to be kept secret. */
static bool is_forsaken(int tickets, const char *name)
{
	struct ticket ticket = TICKET_NONE;
	bool forsaken = false;

	ticket.directory = openat(tickets, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ticket.directory >= 0)
		ticket.lock = openat(ticket.directory, "lock",
				     O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (ticket.lock >= 0)
		forsaken = !ticket_is_locked(&ticket) && faccessat(ticket.directory, "request.json",
								   F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	ticket_close(&ticket);
	return forsaken;
}

void sweep_new(int tickets, const char *id)
{
	char name[ID_TEXT + 8];

	snprintf(name, sizeof(name), ".new-%s", id);
	if (!is_forsaken(tickets, name))
		return;
	(void)remove_tree(tickets, name);
	open_remove(tickets, id);
}

/* What never became a ticket, or is none any more. */
static void sweep_rest(const char *state, int tickets, const char *name)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	bool new = strncmp(name, ".new-", 5) == 0;
	struct stat st;

	if (new &&is_forsaken(tickets, name))
		(void)remove_tree(tickets, name);
	if (fstatat(tickets, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_old(&st, new ? REST_SECONDS : TICKET_PATIENCE_SECONDS))
		return;
	if (new || ticket_open(state, name, &ticket, NULL) < 0)
		(void)remove_tree(tickets, name);
}

struct sweep {
	const char *state;
	int tickets;
};

static void sweep_other(void *data, const char *name)
{
	const struct sweep *sweep = data;

	if (strncmp(name, ".new-", 5) == 0)
		sweep_rest(sweep->state, sweep->tickets, name);
}

void ticket_sweep(const char *state)
{
	_cleanup_close_ int tickets = -1;
	_cleanup_list_ struct list ids = {0};
	_cleanup_free_ struct over *overs = NULL;
	size_t count = 0;

	if (tickets_open(state, /* make= */ false, &tickets) < 0 ||
	    id_list(tickets, NAMES_MOST, sweep_other, &(struct sweep){state, tickets}, &ids) < 0)
		return;
	overs = calloc(ids.count + 1, sizeof(*overs));
	if (!overs)
		abort();
	for (size_t i = 0; i < ids.count; i++) {
		sweep_rest(state, tickets, ids.items[i]);
		if (is_over(state, ids.items[i], &overs[count]))
			count++;
	}
	sweep_over(state, overs, count);
}

void ticket_sweep_sometimes(const char *state)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int mark = -1;
	struct stat st;

	if (asprintf(&path, "%s/tickets.swept", state) < 0)
		abort();
	if (lstat(path, &st) == 0 && !is_old(&st, PAUSE_SECONDS) && st.st_mtime <= time(NULL))
		return;
	mark = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		    0600);
	if (mark >= 0)
		(void)futimens(mark, NULL);
	ticket_sweep(state);
}
