/* SPDX-License-Identifier: Apache-2.0 */
/* A socket of ours in the place of the caller's. Everything that the caller did with its own before
 * it was connected is done to this one: options, flags, duplicates, registrations with epoll. */
#include "network.h"
#include "../../base/io.h"
#include "../../sys/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72
#endif

enum {
	OPTION = 64,
	FDS_MOST = 4096,
	RELATIVES_MOST = 64,
	COPIES_MOST = 16,
	POLLS_MOST = 16,
	INFO = 65536
};

struct option {
	int level, name;
};

/* Not among them: what says where packets go, and what needs rights. */
static const struct option options[] = {
	{SOL_SOCKET, SO_KEEPALIVE},
	{SOL_SOCKET, SO_REUSEADDR},
	{SOL_SOCKET, SO_OOBINLINE},
	{SOL_SOCKET, SO_LINGER},
	{SOL_SOCKET, SO_RCVLOWAT},
	{SOL_SOCKET, SO_RCVTIMEO},
	{SOL_SOCKET, SO_SNDTIMEO},
	{SOL_SOCKET, SO_PRIORITY},
	{SOL_SOCKET, SO_TIMESTAMP},
	{SOL_SOCKET, SO_ZEROCOPY},
	{IPPROTO_TCP, TCP_NODELAY},
	{IPPROTO_TCP, TCP_KEEPIDLE},
	{IPPROTO_TCP, TCP_KEEPINTVL},
	{IPPROTO_TCP, TCP_KEEPCNT},
	{IPPROTO_TCP, TCP_USER_TIMEOUT},
	{IPPROTO_TCP, TCP_SYNCNT},
	{IPPROTO_TCP, TCP_LINGER2},
	{IPPROTO_TCP, TCP_CORK},
	{IPPROTO_TCP, TCP_NOTSENT_LOWAT},
	{IPPROTO_TCP, TCP_CONGESTION},
	{IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS},
	{IPPROTO_IP, IP_TOS},
	{IPPROTO_IP, IP_TTL},
	{IPPROTO_IP, IP_MTU_DISCOVER},
	{IPPROTO_IP, IP_RECVERR},
	{IPPROTO_IPV6, IPV6_V6ONLY},
	{IPPROTO_IPV6, IPV6_TCLASS},
	{IPPROTO_IPV6, IPV6_UNICAST_HOPS},
};

enum { OPTIONS = ELEMENTS(options), SNDBUF_LOCK = 1, RCVBUF_LOCK = 2 };

struct value {
	char data[OPTION];
	socklen_t length; /* 0: there is none */
};

static void read_option(int fd, size_t index, struct value *ret_value)
{
	memset(ret_value->data, 0, sizeof(ret_value->data));
	ret_value->length = sizeof(ret_value->data);
	if (getsockopt(fd, options[index].level, options[index].name, ret_value->data,
		       &ret_value->length) < 0)
		ret_value->length = 0;
}

/* What a socket of the host has before anything is set: the same for all of a family. */
static const struct value *defaults_of(int fd, int family)
{
	static struct value values[2][OPTIONS];
	static bool known[2];
	int which = family == AF_INET6;

	for (size_t i = 0; i < OPTIONS && !known[which]; i++)
		read_option(fd, i, &values[which][i]);
	known[which] = true;
	return values[which];
}

static void copy_buffer_size(int from, int to, int which)
{
	int size = socket_option(from, which, 0) / 2; /* the kernel doubles what is set */

	(void)setsockopt(to, SOL_SOCKET, which, &size, sizeof(size));
}

void copy_options(int from, int to, int family)
{
	/* Which buffers have a size that was set; before Linux 5.17 nobody knows. */
	int locked = socket_option(from, SO_BUF_LOCK, 0);
	const struct value *defaults = defaults_of(to, family);
	struct value value;

	for (size_t i = 0; i < OPTIONS; i++) {
		if (defaults[i].length == 0)
			continue;
		read_option(from, i, &value);
		if (value.length == defaults[i].length &&
		    memcmp(value.data, defaults[i].data, value.length) != 0)
			(void)setsockopt(to, options[i].level, options[i].name, value.data,
					 value.length);
	}
	if (locked & SNDBUF_LOCK)
		copy_buffer_size(from, to, SO_SNDBUF);
	if (locked & RCVBUF_LOCK)
		copy_buffer_size(from, to, SO_RCVBUF);
}

/* Where the caller's table holds its socket, and what it waits with. */
struct places {
	int copies[COPIES_MOST]; /* the number itself first */
	size_t copy_count;
	int polls[POLLS_MOST]; /* fds of epoll */
	size_t poll_count;
};

/* False where there is no such fd. */
static bool look_at(int fds, const char *name, const char *own, struct places *places)
{
	char link[64];
	ssize_t length = readlinkat(fds, name, link, sizeof(link) - 1);

	if (length < 0)
		return false;
	link[length] = '\0';
	if (strcmp(link, own) == 0 && places->copy_count < COPIES_MOST)
		places->copies[places->copy_count++] = atoi(name);
	else if (strcmp(link, "anon_inode:[eventpoll]") == 0 && places->poll_count < POLLS_MOST)
		places->polls[places->poll_count++] = atoi(name);
	return true;
}

/* To list a table costs more than all else here, and numbers are given out from 0 on: where the
 * directory's size says how many there are (since Linux 6.2), they are tried in turn. False if they
 * are not all found like that. */
static bool try_numbers(int fds, int number, const char *own, struct places *places)
{
	enum { HOLES_MOST = 8 };
	char name[16];
	struct stat st;
	off_t left;

	if (fstat(fds, &st) < 0 || st.st_size == 0 || st.st_size > FDS_MOST)
		return false;
	left = st.st_size;
	for (int fd = 0; left > 0 && fd < st.st_size + HOLES_MOST; fd++) {
		snprintf(name, sizeof(name), "%d", fd);
		left -= fd == number || look_at(fds, name, own, places);
	}
	return left == 0;
}

static void list_numbers(const char *path, int number, const char *own, struct places *places)
{
	DIR *fds = opendir(path);
	struct dirent *entry;
	int seen = 0;

	while (fds && seen++ < FDS_MOST && (entry = readdir(fds)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != number)
			(void)look_at(dirfd(fds), entry->d_name, own, places);
	if (fds)
		closedir(fds);
}

static void find_places(pid_t tid, int number, ino_t inode, struct places *ret_places)
{
	const struct places none = {.copies = {number}, .copy_count = 1};
	_cleanup_close_ int fds = -1;
	char path[64], own[64];

	*ret_places = none;
	snprintf(path, sizeof(path), "/proc/%d/fd", tid);
	snprintf(own, sizeof(own), "socket:[%llu]", (unsigned long long)inode);
	fds = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fds < 0 || try_numbers(fds, number, own, ret_places))
		return;
	*ret_places = none;
	list_numbers(path, number, own, ret_places);
}

static bool holds(const char *pid, int number, const char *own)
{
	char path[64], link[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%.20s/fd/%d", pid, number);
	length = readlink(path, link, sizeof(link) - 1);
	link[MAX(length, 0)] = '\0';
	return strcmp(link, own) == 0;
}

/* Most callers come again: what is known of the last one is kept. */
static const char *parent_of(pid_t tid)
{
	static pid_t last;
	static char parent[32];
	char path[64], text[1024], *rest;

	if (tid == last)
		return parent;
	last = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	if (proc_read(path, text, sizeof(text)) < 0 || !(rest = strrchr(text, ')')) ||
	    sscanf(rest, ") %*c %31s", parent) != 1)
		return NULL;
	last = tid;
	return parent;
}

bool is_shared(pid_t tid, pid_t init, int number, int copy)
{
	char path[64], text[4096], own[64], *rest, *child;
	const char *parent = parent_of(tid);
	struct stat st;
	int seen = 0;

	if (fstat(copy, &st) < 0)
		return false;
	snprintf(own, sizeof(own), "socket:[%llu]", (unsigned long long)st.st_ino);
	if (parent && atoi(parent) != init && holds(parent, number, own))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", tid, tid);
	if (proc_read(path, text, sizeof(text)) < 0)
		return false;
	for (rest = text; (child = strsep(&rest, " ")) && seen < RELATIVES_MOST;)
		if (*child && ++seen && holds(child, number, own))
			return true;
	return false;
}

struct registration {
	int poll; /* our copy of the fd of epoll */
	int number;
	struct epoll_event event;
};

/* The lines of /proc/PID/fdinfo/EPOLL: "tfd: 5 events: 19 data: 5 pos:0 ino:2f sdev:9". */
static size_t find_registrations(pid_t tid, const struct places *places, ino_t inode,
				 struct registration *found, size_t most)
{
	size_t count = 0;

	for (size_t p = 0; p < places->poll_count; p++) {
		_cleanup_free_ char *text = NULL;
		char path[64], *rest, *line;

		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, places->polls[p]);
		if (read_file(AT_FDCWD, path, INFO, &text, NULL) < 0)
			continue;
		rest = text;
		while ((line = strsep(&rest, "\n")) && count < most) {
			unsigned long long data, target;
			unsigned events;
			int number;

			if (sscanf(line, "tfd: %d events: %x data: %llx pos:%*d ino:%llx", &number,
				   &events, &data, &target) != 4 ||
			    target != inode)
				continue;
			found[count] = (struct registration){
				.poll = caller_fd(tid, places->polls[p]),
				.number = number,
				.event = {.events = events, .data.u64 = data}};
			count += found[count].poll >= 0;
		}
	}
	return count;
}

/* The kernel knows a registration by the file and the number that it had with whoever registered
 * it. A child has a table of its own, in which the socket can have the caller's number. */
static void register_again(const struct registration *registrations, size_t count, int socket)
{
	struct kernel_clone child = {0};
	pid_t pid = sys_clone_any(&child);

	if (pid == 0) {
		for (size_t i = 0; i < count; i++) {
			int poll = fcntl(registrations[i].poll, F_DUPFD_CLOEXEC,
					 registrations[i].number + 1);
			int from = fcntl(socket, F_DUPFD_CLOEXEC, registrations[i].number + 1);
			struct epoll_event event = registrations[i].event;

			if (poll >= 0 && from >= 0 && dup2(from, registrations[i].number) >= 0)
				(void)epoll_ctl(poll, EPOLL_CTL_ADD, registrations[i].number,
						&event);
		}
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
}

/* The flags of the number itself; -1 where there is no such fd. */
static int fd_flags(pid_t tid, int number)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", tid, number);
	return (int)proc_number(path, "flags", 8);
}

int hand_in(struct observer *observer, const struct seccomp_notif *call, int number, int *copy,
	    int socket)
{
	struct registration registrations[POLLS_MOST];
	struct places places;
	struct stat st;
	size_t count;
	int r = 0;

	if (fstat(*copy, &st) < 0)
		return -errno;
	find_places((pid_t)call->pid, number, st.st_ino, &places);
	count = find_registrations((pid_t)call->pid, &places, st.st_ino, registrations,
				   ELEMENTS(registrations));
	fcntl(socket, F_SETFL, fcntl(*copy, F_GETFL));
	close_copy(copy); /* its registrations end with it */
	for (size_t i = 0; i < places.copy_count; i++) {
		int flags = fd_flags((pid_t)call->pid, places.copies[i]);
		/* In doubt it is not for others. */
		int inserted = insert_fd(observer, call, socket, places.copies[i],
					 flags < 0 || flags & O_CLOEXEC);

		if (i == 0)
			r = inserted;
	}
	if (r == 0 && count > 0)
		register_again(registrations, count, socket);
	for (size_t i = 0; i < count; i++)
		close(registrations[i].poll);
	return r;
}
