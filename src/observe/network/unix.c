/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of AF_UNIX: the sandbox's own are free, the host's are named one by one. */
#include "network.h"
#include "../../base/own_sockets.h"
#include "../../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { BOUND_MOST = 500 };

static const char rule_unix[] = "default: no sockets of the host";
static const char rule_own[] = "never: ward's own sockets";

/* Services that the C library asks for hosts, users and groups before it looks into its files, and
 * does well without. No program chose to, so that a refusal would tell nobody anything; and they
 * would look up names that nobody allowed. */
static const char *const name_services[] = {
	"/run/nscd",		/* unscd too */
	"/run/nslcd",		/* LDAP */
	"/var/lib/sss/pipes",	/* sssd */
	"/run/systemd/resolve", /* nss-resolve */
	"/run/systemd/userdb",	/* nss-systemd */
	"/run/systemd/machine", /* nss-mymachines */
	"/run/avahi-daemon",	/* nss-mdns */
};

static bool is_name_service(const char *path)
{
	for (size_t i = 0; i < ELEMENTS(name_services); i++) {
		if (path_is_under(path, name_services[i]))
			return true;
	}
	return false;
}

/* Remembered by an open fd: without it the number of a socket that was removed could come again, as
 * one of the host's. */
static void remember_bound(struct observer *observer, int directory, const char *name)
{
	struct bound bound = {.fd = openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
	struct stat st;

	if (bound.fd < 0 || fstat(bound.fd, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		close_fd(&bound.fd);
		return;
	}
	bound.device = st.st_dev;
	bound.inode = st.st_ino;
	if (observer->bound_count == BOUND_MOST) {
		close_fd(&observer->bound[0].fd);
		memmove(observer->bound, observer->bound + 1,
			(BOUND_MOST - 1) * sizeof(*observer->bound));
		observer->bound_count--;
	}
	if (!observer->bound)
		observer->bound = calloc(BOUND_MOST, sizeof(*observer->bound));
	if (!observer->bound)
		abort();
	observer->bound[observer->bound_count++] = bound;
}

/* The session's own /tmp and shared memory: what is there was made inside. A workspace below /tmp
 * is not part of it. */
static bool is_private(const struct observer *observer, const char *path)
{
	const struct area *area = areas_find(observer->observed->areas, path);

	return (path_is_under(path, "/dev/shm") && !observer->observed->alone) ||
	       (area && area->rule && strcmp(area->rule, AREA_PRIVATE) == 0);
}

static bool was_bound_inside(const struct observer *observer, const struct stat *st)
{
	for (size_t i = 0; i < observer->bound_count; i++)
		if (observer->bound[i].device == st->st_dev &&
		    observer->bound[i].inode == st->st_ino)
			return true;
	return false;
}

/* The host's socket at that path, if the permissions name it: an O_PATH fd; -1 none there, -2 there
 * and not allowed, -3 one of ward's own, which no permission opens: behind it a command's own
 * questions are answered. */
static int allowed_host_socket(const struct observer *observer, const char *path,
			       char real[static PATH_MAX])
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	char link[64];
	struct stat st;
	ssize_t length;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return -1;
	/* By the name of what was opened: the way to it may have changed since. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, real, PATH_MAX - 1);
	real[MAX(length, 0)] = '\0';
	if (real[0] != '/') /* by a number, and that one of ours */
		return -1;
	if (!(observer->observed->unchecked & CHECK_BIT(CHECK_NEVER)) && is_own_socket(real, &st))
		return -3;
	for (size_t i = 0; i < observer->observed->sockets->count; i++)
		if (strcmp(observer->observed->sockets->items[i], real) == 0)
			return STEAL_FD(fd);
	if (list_has(&observer->permitted_sockets, real))
		return STEAL_FD(fd);
	return -2;
}

/* Takes ownership of fd. */
void connect_unix(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, int fd, const struct sockaddr_un *address,
		  socklen_t length)
{
	char path[sizeof(address->sun_path) + 1] = "", real[PATH_MAX];
	struct found found = {.fd = -1};
	int r, host;

	if (length <= offsetof(struct sockaddr_un, sun_path) || address->sun_path[0] == '\0') {
		/* An abstract name is one of the socket's own network namespace. */
		if (observer->observed->own_network ||
		    length <= offsetof(struct sockaddr_un, sun_path)) {
			perform_connect(observer, call, fd, -1, (const struct sockaddr *)address,
					length);
			return;
		}
		path[0] = '@';
		memcpy(path + 1, address->sun_path + 1,
		       MIN(length - offsetof(struct sockaddr_un, sun_path), sizeof(path) - 1) - 1);
		refuse(observer, call, trap, "unix", path, rule_unix, EACCES);
		close_copy(&fd);
		return;
	}
	memcpy(path, address->sun_path, length - offsetof(struct sockaddr_un, sun_path));
	r = caller_find(observer->observed->root, (pid_t)call->pid, AT_FDCWD, path, true, &found);
	if (r == 0 && !still_waiting(observer, call->id)) {
		close(found.fd);
		close_copy(&fd);
		return;
	}
	if (r == 0 && found.exists && S_ISSOCK(found.st.st_mode) &&
	    (is_private(observer, found.path) || was_bound_inside(observer, &found.st))) {
		witness_tell(observer, (pid_t)call->pid, "unix", found.path);
		perform_connect(observer, call, fd, found.fd, (const struct sockaddr *)address,
				length);
		return;
	}
	/* Hidden directories make a host's socket look absent; it is asked for by its name all the
	 * same. */
	host = allowed_host_socket(observer, path[0] == '/' ? path : found.path, real);
	if (host >= 0 && lent_socket(observer, real, fd) < 0) {
		close_fd(&host);
		answer(observer, call->id, ENOMEM);
	} else if (host >= 0) {
		terms_use_socket(observer, real, call->id);
		witness_tell(observer, (pid_t)call->pid, "unix", real);
		close_fd(&found.fd);
		perform_connect(observer, call, fd, host, (const struct sockaddr *)address, length);
		return;
	} else if (host == -3)
		refuse(observer, call, trap, "unix", real, rule_own, EACCES);
	else if (host == -2 && is_name_service(real))
		answer(observer, call->id, ENOENT); /* as if it did not run */
	else if (host == -2 &&
		 wish_add(observer, call, trap,
			  &(struct wish){.operation = "unix", .object = real, .protocol = "unix"},
			  rule_unix))
		; /* it waits for an answer */
	else if (host == -2)
		refuse(observer, call, trap, "unix", real, rule_unix, EACCES);
	else
		answer(observer, call->id, r < 0 ? -r : found.exists ? ECONNREFUSED : ENOENT);
	close_fd(&found.fd);
	close_copy(&fd);
}

void bind_unix(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	       int fd, const struct sockaddr_un *address, socklen_t length)
{
	char path[sizeof(address->sun_path) + 1] = "";
	struct sockaddr_un by_name = {.sun_family = AF_UNIX};
	enum judgement judgement;
	_cleanup_close_ int host = -1;
	struct found found;
	mode_t mask_before;
	int r, at;

	if (length <= offsetof(struct sockaddr_un, sun_path) || address->sun_path[0] == '\0') {
		answer(observer, call->id,
		       bind(fd, (const struct sockaddr *)address, length) < 0 ? errno : 0);
		return;
	}
	memcpy(path, address->sun_path, length - offsetof(struct sockaddr_un, sun_path));
	r = caller_find(observer->observed->root, (pid_t)call->pid, AT_FDCWD, path, false, &found);
	if (r == -EACCES && below_refuse(observer, call, trap, path))
		return;
	if (r < 0 || !still_waiting(observer, call->id)) {
		if (r == 0)
			close(found.fd);
		answer(observer, call->id, r < 0 ? -r : EINTR);
		return;
	}
	if (is_private(observer, found.path) && !observer->observed->alone && !observer->dialled) {
		/* Nothing to be remembered, so the walls may decide, and the socket keeps the name
		 * it was given. Not once there may be sockets of the host: a port of it could be
		 * bound instead. */
		answer_continue(observer, call->id);
	} else if (found.exists || strlen(found.name) >= sizeof(by_name.sun_path)) {
		answer(observer, call->id, found.exists ? EADDRINUSE : ENAMETOOLONG);
	} else if ((judgement = judge(observer, call, trap, TRAP_MAKE, 0, /* exists= */ false, NULL,
				      found.path)) == JUDGED_ANSWERED) {
		/* refused, or it waits */
	} else if (hold_judge(observer, found.path) >= GUARD_INDEX ||
		   hold_judge(observer, found.path) == GUARD_HOLDER) {
		refuse_file(observer, call, trap, "write", found.path, /* tree= */ false,
			    rule_guarded, EACCES);
	} else if (may_not_become_repository(observer, call, trap, found.path)) {
		/* answered */
	} else {
		/* From inside the directory, with the caller's umask: the name is then all of the
		 * path. */
		strcpy(by_name.sun_path, found.name);
		if (judgement == JUDGED_GRANTED)
			host = permit_open_parent(observer, found.path, found.fd);
		at = judgement == JUDGED_GRANTED ? host : found.fd;
		mask_before = umask(caller_umask((pid_t)call->pid));
		r = fchdir(at) < 0 || bind(fd, (struct sockaddr *)&by_name, sizeof(by_name)) < 0
			    ? errno
			    : 0;
		umask(mask_before);
		if (r == 0) {
			remember_bound(observer, at, found.name);
			hold_look_again(observer, found.path);
		}
		(void)!chdir("/");
		answer(observer, call->id, r);
	}
	close(found.fd);
}
