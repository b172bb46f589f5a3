/* SPDX-License-Identifier: Apache-2.0 */
/* Which tickets are open, without a look at those that are over: .open/ID beside them. A name is
 * there before its ticket is, and goes when that is over; whoever was killed in between leaves one
 * too many, never one too few. */
#include "../base/io.h"
#include "ticket_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define OPEN_NAMES ".open"

enum { NAMES_MOST = 10000, REST_SECONDS = 600 };

static int put_name(int names, const char *id)
{
	_cleanup_close_ int fd =
		openat(names, id, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

static bool is_open(const char *state, const char *id)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;

	return ticket_open(state, id, &ticket, NULL) == 0 &&
	       (ticket_word(&ticket) == WAITING || ticket_word(&ticket) == RUNNING);
}

/* For tickets from before there were such names. Whole or not at all: nobody makes a ticket before
 * the directory has its name. */
static int make_names(const char *state, int tickets)
{
	_cleanup_list_ struct list ids = {0};
	_cleanup_close_ int names = -1;
	char id[ID_TEXT], new[ID_TEXT + 8];
	int r = id_list(tickets, NAMES_MOST, NULL, NULL, &ids);

	id_make(id);
	snprintf(new, sizeof(new), ".new-%s", id);
	if (r == 0 &&
	    (mkdirat(tickets, new, 0700) < 0 ||
	     (names = openat(tickets, new, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0))
		r = -errno;
	for (size_t i = 0; r == 0 && i < ids.count; i++)
		if (is_open(state, ids.items[i]))
			r = put_name(names, ids.items[i]);
	if (r == 0 && fsync(names) < 0)
		r = -errno;
	if (r == 0 && renameat2(tickets, new, tickets, OPEN_NAMES, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r < 0)
		(void)remove_tree(tickets, new);
	return r == -EEXIST ? 0 : r; /* somebody else was faster */
}

static int open_names(const char *state, int tickets, int *ret_names)
{
	int r = 0;

	for (int i = 0; i < 2 && r == 0; i++) {
		*ret_names = openat(tickets, OPEN_NAMES,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (*ret_names >= 0)
			return 0;
		r = errno == ENOENT && i == 0 ? make_names(state, tickets) : -errno;
	}
	return r;
}

int open_add(const char *state, int tickets, const char *id)
{
	_cleanup_close_ int names = -1;
	int r = open_names(state, tickets, &names);

	if (r == 0)
		r = put_name(names, id);
	return r == 0 && fsync(names) < 0 ? -errno : r;
}

void open_remove(int tickets, const char *id)
{
	char name[ID_TEXT + sizeof(OPEN_NAMES)];

	snprintf(name, sizeof(name), OPEN_NAMES "/%s", id);
	(void)unlinkat(tickets, name, 0);
}

void open_forget(int tickets, const char *id)
{
	char name[ID_TEXT + sizeof(OPEN_NAMES)];
	struct stat st;

	snprintf(name, sizeof(name), OPEN_NAMES "/%s", id);
	if (fstatat(tickets, id, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT &&
	    fstatat(tickets, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_mtime + REST_SECONDS < time(NULL))
		(void)unlinkat(tickets, name, 0);
}

int open_list(const char *state, int tickets, struct list *ret_ids)
{
	_cleanup_close_ int names = -1;
	int r = open_names(state, tickets, &names);

	return r < 0 ? r : id_list(names, NAMES_MOST, NULL, NULL, ret_ids);
}
