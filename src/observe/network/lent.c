/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that came of a permission which can end. Of a socket that was handed in no copy is
 * kept: its peer would never hear that the program has closed it. It is registered with an epoll of
 * its own instead, which holds nothing and knows as long as anybody has it open. When its
 * permission ends it is found among the fds of the sandbox's processes and shut down; one that
 * cannot be found (it may be under way in a message) ends the run. */
#include "network.h"
#include "../../base/io.h"
#include "../../base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum {
	ROUNDS = 20,
	PAUSE_MS = 5,
	PROCESSES_MOST = 4096,
	FDS_MOST = 65536,
	INFO_MOST = 4 * 1024 * 1024,
	CHILDREN = 65536,
	SWEPT_FROM = 64,
	CLOCK_EVERY = 256,
};

/* How much of a processor the search may take: behind enough descriptors a connection would outlive
 * its permission for as long as they are looked at, and nobody would be served. */
static const uint64_t search_ns = 500000000;

enum lent_kind { LENT_STREAM, LENT_UNIX, LENT_JOINED, LENT_DATAGRAMS };

struct lent {
	struct lent *next;
	enum lent_kind kind;
	uint64_t number; /* of its registration; of the pair in the pump */
	struct target target;
	struct in6_addr address; /* that it was connected to */
	char *path;		 /* LENT_UNIX */
	ino_t inode;
	struct sockaddr_storage inside; /* LENT_DATAGRAMS */
	bool recalled, is_open;
};

static struct lent *add(struct observer *observer, enum lent_kind kind)
{
	struct lent *lent = calloc(1, sizeof(*lent));

	if (!lent)
		abort();
	*lent = (struct lent){.next = observer->lent, .kind = kind, .number = ++observer->lents};
	observer->lent = lent;
	observer->lent_count++;
	return lent;
}

static void drop(struct observer *observer, struct lent **link)
{
	struct lent *lent = *link;

	*link = lent->next;
	observer->lent_count--;
	free(lent->path);
	free(lent);
}

void lent_done(struct observer *observer)
{
	while (observer->lent)
		drop(observer, &observer->lent);
	close_fd(&observer->lent_epoll);
}

/* Which of them are open, by anybody: "tfd: 5 events: 0 data: 1f pos:0 ino:2f sdev:9". */
static void look_which_are_open(struct observer *observer)
{
	_cleanup_free_ char *text = NULL;
	char path[64], *rest, *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", observer->lent_epoll);
	/* What cannot be told counts as open. */
	if (read_file(AT_FDCWD, path, INFO_MOST, &text, NULL) < 0)
		return;
	for (struct lent *lent = observer->lent; lent; lent = lent->next)
		lent->is_open = lent->kind == LENT_JOINED || lent->kind == LENT_DATAGRAMS;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		unsigned long long number;
		struct lent *lent = observer->lent;

		if (sscanf(line, "tfd: %*d events: %*x data: %llx", &number) != 1)
			continue;
		while (lent && lent->number != number)
			lent = lent->next;
		if (lent)
			lent->is_open = true;
	}
}

static void sweep(struct observer *observer)
{
	look_which_are_open(observer);
	for (struct lent **link = &observer->lent; *link;)
		if ((*link)->is_open)
			link = &(*link)->next;
		else
			drop(observer, link);
}

/* -errno where nobody could take it back. */
static int lend(struct observer *observer, struct lent *lent, int fd)
{
	struct epoll_event event = {.data.u64 = lent->number};
	struct stat st;

	if (observer->lent_epoll < 0)
		observer->lent_epoll = epoll_create1(EPOLL_CLOEXEC);
	lent->is_open = true;
	if (fstat(fd, &st) < 0 || epoll_ctl(observer->lent_epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int errnum = errno;

		drop(observer, &observer->lent);
		return -errnum;
	}
	lent->inode = st.st_ino;
	if (observer->lent_count >= SWEPT_FROM &&
	    (observer->lent_count & (observer->lent_count - 1)) == 0)
		sweep(observer);
	return 0;
}

int lent_stream(struct observer *observer, const struct target *target,
		const struct in6_addr *address, int fd)
{
	struct lent *lent;

	if (!observer->terms.ending)
		return 0;
	lent = add(observer, LENT_STREAM);
	lent->target = *target;
	lent->address = *address;
	return lend(observer, lent, fd);
}

int lent_socket(struct observer *observer, const char *path, int fd)
{
	struct lent *lent;

	if (!observer->terms.ending)
		return 0;
	lent = add(observer, LENT_UNIX);
	lent->path = strdup(path);
	return lend(observer, lent, fd);
}

/* What the pump carries to one target has one number. */
static struct lent *carried(struct observer *observer, enum lent_kind kind,
			    const struct target *target, const struct in6_addr *address)
{
	struct lent *lent;

	for (lent = observer->lent; lent; lent = lent->next)
		if (lent->kind == kind && strcmp(lent->target.object, target->object) == 0 &&
		    IN6_ARE_ADDR_EQUAL(&lent->address, address))
			return lent;
	lent = add(observer, kind);
	lent->target = *target;
	lent->address = *address;
	return lent;
}

uint64_t lent_joined(struct observer *observer, const struct target *target,
		     const struct in6_addr *address)
{
	return observer->terms.ending ? carried(observer, LENT_JOINED, target, address)->number : 0;
}

void lent_datagrams(struct observer *observer, const struct target *target,
		    const struct in6_addr *address, const struct sockaddr_storage *inside)
{
	if (observer->terms.ending)
		carried(observer, LENT_DATAGRAMS, target, address)->inside = *inside;
}

static bool may_stay(const struct observer *observer, const struct lent *lent)
{
	if (lent->kind == LENT_UNIX)
		return list_has(observer->observed->sockets, lent->path) ||
		       list_has(&observer->permitted_sockets, lent->path);
	return network_may_reach(observer, &lent->target, &lent->address);
}

/* --- among the sandbox's processes --- */

/* Init adopts every orphan: all that came of the command hangs below it, by any of its threads. */
static size_t find_processes(pid_t init, pid_t *pids)
{
	size_t count = 0;
	pid_t parent = init;

	for (size_t next = 0;; parent = pids[next++]) {
		char path[64];
		struct dirent *entry;
		DIR *tasks;

		snprintf(path, sizeof(path), "/proc/%d/task", parent);
		tasks = opendir(path);
		while (tasks && (entry = readdir(tasks))) {
			_cleanup_free_ char *children = NULL;

			snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", parent,
				 entry->d_name);
			if (entry->d_name[0] == '.' ||
			    read_file(AT_FDCWD, path, CHILDREN, &children, NULL) < 0)
				continue;
			for (char *at = children, *end;
			     strtol(at, &end, 10) > 0 && count < PROCESSES_MOST; at = end)
				pids[count++] = (pid_t)strtol(at, NULL, 10);
		}
		if (tasks)
			closedir(tasks);
		if (next == count)
			break;
	}
	return count;
}

static bool is_recalled(const struct observer *observer, unsigned long long inode)
{
	for (const struct lent *lent = observer->lent; lent; lent = lent->next)
		if (lent->recalled && lent->inode == inode)
			return true;
	return false;
}

/* False when the time is over. */
static bool shut_down_in(const struct observer *observer, pid_t pid, uint64_t until)
{
	char path[64], link[64];
	struct dirent *entry;
	bool in_time = own_cpu_ns() < until;
	int seen = 0;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	while (fds && in_time && seen++ < FDS_MOST && (entry = readdir(fds))) {
		ssize_t length = readlinkat(dirfd(fds), entry->d_name, link, sizeof(link) - 1);
		unsigned long long inode;
		struct stat st;
		int copy;

		in_time = seen % CLOCK_EVERY != 0 || own_cpu_ns() < until;
		link[MAX(length, 0)] = '\0';
		if (sscanf(link, "socket:[%llu]", &inode) != 1 || !is_recalled(observer, inode))
			continue;
		copy = caller_fd(pid, atoi(entry->d_name));
		/* The number may have become another process's meanwhile. */
		if (copy >= 0 && fstat(copy, &st) == 0 && S_ISSOCK(st.st_mode) &&
		    is_recalled(observer, st.st_ino))
			(void)shutdown(copy, SHUT_RDWR);
		close_copy(&copy);
	}
	if (fds)
		closedir(fds);
	return in_time;
}

/* True if some of them are open, and not shut down. */
static bool are_some_left(struct observer *observer)
{
	size_t room = observer->lent_count + 1;
	struct epoll_event *events = calloc(room, sizeof(*events));
	int count = events ? epoll_wait(observer->lent_epoll, events, (int)room, 0) : 0;
	bool left = false;

	look_which_are_open(observer);
	for (int i = 0; i < count; i++)
		for (struct lent *lent = observer->lent; lent; lent = lent->next)
			if (lent->number == events[i].data.u64 && events[i].events & EPOLLHUP)
				lent->is_open = false;
	for (const struct lent *lent = observer->lent; lent; lent = lent->next)
		left |= lent->recalled && lent->is_open &&
			(lent->kind == LENT_STREAM || lent->kind == LENT_UNIX);
	free(events);
	return left;
}

static bool shut_down_all(struct observer *observer)
{
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
	pid_t *pids = calloc(PROCESSES_MOST, sizeof(*pids));
	const uint64_t until = own_cpu_ns() + search_ns;
	bool left = pids != NULL, in_time = true;

	for (int round = 0; round < ROUNDS && left && in_time; round++) {
		size_t count;

		if (round > 0)
			nanosleep(&pause, NULL);
		count = find_processes(observer->observed->init, pids);
		for (size_t i = 0; i < count && in_time; i++)
			in_time = shut_down_in(observer, pids[i], until);
		left = are_some_left(observer);
	}
	left |= !pids;
	free(pids);
	return !left;
}

bool lent_recall(struct observer *observer)
{
	bool sockets = false, done = true;

	for (struct lent *lent = observer->lent; lent; lent = lent->next) {
		lent->recalled = !may_stay(observer, lent);
		if (!lent->recalled)
			continue;
		if (lent->kind == LENT_JOINED)
			relay_part(observer->relay, lent->number);
		else if (lent->kind == LENT_DATAGRAMS)
			relay_forget(observer->relay, (struct sockaddr *)&lent->inside);
		else
			sockets = true;
		if (lent->kind == LENT_UNIX)
			waiting_end(observer, lent->inode);
	}
	if (sockets)
		done = shut_down_all(observer);
	for (struct lent **link = &observer->lent; *link;)
		if ((*link)->recalled)
			drop(observer, link);
		else
			link = &(*link)->next;
	return done;
}
