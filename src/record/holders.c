/* SPDX-License-Identifier: Apache-2.0 */
/* Holders: a file of two numbers, whether something runs and how much of the list was seen. */
#include "holders.h"
#include "../base/io.h"
#include "../base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { LOOK_MS = 5, HOLDERS_MOST = 10000, TRIES_MOST = 100 };

struct mark {
	uint64_t runs, seen;
};

/* The lock of a process, not of the open file: it tells who has it. */
static struct flock whole(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* Whoever waits takes a file that nobody holds yet for one that nobody holds any more, and removes
 * it (see remove_dead()): then it is made again. Nobody would wait for one that has no name. */
static int make_locked(const char *path)
{
	struct flock lock = whole(F_WRLCK);
	struct stat st;

	for (int tries = 0; tries < TRIES_MOST; tries++) {
		_cleanup_close_ int fd =
			open(path, O_RDWR | O_CREAT | (tries ? 0 : O_EXCL) | O_NOFOLLOW | O_CLOEXEC,
			     0600);

		if (fd < 0)
			return -errno;
		if (fcntl(fd, F_SETLK, &lock) < 0) {
			if (errno != EAGAIN && errno != EACCES)
				return -errno;
			(void)poll(NULL, 0, 1);
			continue;
		}
		if (fstat(fd, &st) < 0)
			return -errno;
		if (st.st_nlink > 0)
			return STEAL_FD(fd);
	}
	return -EAGAIN;
}

/* Under its lock, so that nobody takes it to hold it meanwhile. */
static void remove_dead(int at, const char *name, int fd)
{
	struct flock lock = whole(F_WRLCK);

	if (fcntl(fd, F_SETLK, &lock) == 0)
		(void)unlinkat(at, name, 0);
}

int holder_begin(const char *directory, const char *run, struct holder *ret_holder,
		 struct error **ret_error)
{
	_cleanup_free_ char *place = NULL;
	struct holder holder = HOLDER_NONE;
	const struct mark mark = {0};

	if (asprintf(&place, "%s/holders", directory) < 0 ||
	    asprintf(&holder.path, "%s/%s", place, run) < 0)
		abort();
	if (mkdir(place, 0700) < 0 && errno != EEXIST)
		goto failed;
	holder.fd = make_locked(holder.path);
	if (holder.fd < 0) {
		errno = -holder.fd;
		holder.fd = -1;
		goto failed;
	}
	if (pwrite(holder.fd, &mark, sizeof(mark), 0) != sizeof(mark))
		goto failed;
	*ret_holder = holder;
	return 0;

failed:
	fail_errno(ret_error, E_ENGINE, errno, "%s", holder.path);
	holder_end(&holder);
	return error_hint(ret_error, "without it, what is granted could not be taken back");
}

static void put(const struct holder *holder, size_t at, uint64_t value)
{
	/* The file has its size: this cannot meet a full disk. */
	if (holder->fd >= 0 && pwrite(holder->fd, &value, sizeof(value), (off_t)at) < 0)
		abort(); /* whoever waits would wait for nothing, and then end us */
}

void holder_run(const struct holder *holder)
{
	put(holder, offsetof(struct mark, runs), 1);
}

void holder_rest(const struct holder *holder)
{
	put(holder, offsetof(struct mark, runs), 0);
}

void holder_tell(const struct holder *holder, uint64_t seen)
{
	put(holder, offsetof(struct mark, seen), seen);
}

void holder_end(struct holder *holder)
{
	if (holder->fd >= 0 && holder->path)
		(void)unlink(holder->path);
	close_fd(&holder->fd);
	free(holder->path);
	holder->path = NULL;
}

/* Who holds it: a process, 0 where nobody does, -1 for one that cannot be seen from here: of
 * another PID namespace, or of another machine. */
static pid_t owner_of(int fd)
{
	struct flock lock = whole(F_WRLCK);

	if (fcntl(fd, F_GETLK, &lock) < 0)
		return -1;
	if (lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

static bool has_let_go(int fd, uint64_t length)
{
	struct mark mark;

	return owner_of(fd) == 0 || (pread(fd, &mark, sizeof(mark), 0) == sizeof(mark) &&
				     (!mark.runs || mark.seen >= length));
}

/* With its supervisor the command ends, too. */
static void end(int fd, pid_t owner)
{
	_cleanup_close_ int pidfd = owner > 0 ? (int)syscall(SYS_pidfd_open, owner, 0) : -1;

	if (pidfd >= 0 && owner_of(fd) == owner)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static bool wait_for(int fd, uint64_t length, uint64_t until)
{
	while (!has_let_go(fd, length)) {
		if (monotonic_ns() >= until)
			return false;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return true;
}

bool holders_any(const char *directory)
{
	_cleanup_free_ char *place = NULL;
	struct dirent *entry;
	bool any = false;
	DIR *listing;

	if (asprintf(&place, "%s/holders", directory) < 0)
		abort();
	listing = opendir(place);
	if (!listing)
		return errno != ENOENT;
	while (!any && (entry = readdir(listing))) {
		_cleanup_close_ int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		fd = openat(dirfd(listing), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		any = fd < 0 ? errno != ENOENT : owner_of(fd) != 0;
	}
	closedir(listing);
	return any;
}

int holders_wait(const char *directory, uint64_t length, struct error **ret_error)
{
	const uint64_t patience = (uint64_t)HOLDERS_PATIENCE_MS * 1000000;
	uint64_t until = monotonic_ns() + patience;
	_cleanup_free_ char *place = NULL;
	struct dirent *entry;
	int r = 0, count = 0;
	DIR *listing;

	if (asprintf(&place, "%s/holders", directory) < 0)
		abort();
	listing = opendir(place);
	if (!listing && errno != ENOENT)
		return fail_errno(ret_error, E_ENGINE, errno, "%s", place);
	while (listing && r == 0 && (entry = readdir(listing))) {
		_cleanup_close_ int fd = -1;

		if (entry->d_name[0] == '.')
			continue;
		if (++count > HOLDERS_MOST) {
			r = fail(ret_error, E_ENGINE, "%s: there are too many to wait for", place);
			break;
		}
		fd = openat(dirfd(listing), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue; /* gone meanwhile */
		if (fd < 0) {
			r = fail_errno(ret_error, E_ENGINE, errno, "%s/%s", place, entry->d_name);
			break;
		}
		if (owner_of(fd) == 0) {
			remove_dead(dirfd(listing), entry->d_name, fd);
			continue;
		}
		if (wait_for(fd, length, until))
			continue;
		end(fd, owner_of(fd));
		if (owner_of(fd) < 0 || !wait_for(fd, length, monotonic_ns() + patience)) {
			fail(ret_error, E_ENGINE, "the run %s still holds it", entry->d_name);
			r = error_hint(ret_error, "end its ward by hand");
		}
	}
	if (listing)
		closedir(listing);
	return r;
}

/* Between the look and the signal the number may have become somebody else's. */
static int tell_one(int fd, int signal, pid_t *ret_owner)
{
	pid_t owner = owner_of(fd);
	_cleanup_close_ int pidfd = owner > 0 ? (int)syscall(SYS_pidfd_open, owner, 0) : -1;

	*ret_owner = owner;
	if (owner == 0 || owner_of(fd) != owner)
		return 0;
	return pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0 ? 1 : -1;
}

int holders_signal(const char *directory, const char *own, int signal,
		   void (*each)(void *data, const char *run, pid_t supervisor), void *data)
{
	_cleanup_free_ char *place = NULL;
	struct dirent *entry;
	DIR *listing;
	int r = 0;

	if (asprintf(&place, "%s/holders", directory) < 0)
		abort();
	listing = opendir(place);
	if (!listing)
		return errno == ENOENT ? 0 : -1;
	for (int i = 0; i < HOLDERS_MOST && (entry = readdir(listing)); i++) {
		_cleanup_close_ int fd = -1;
		pid_t owner;
		int told;

		/* To close our own would end our lock on it. */
		if (entry->d_name[0] == '.' || (own && strcmp(entry->d_name, own) == 0))
			continue;
		fd = openat(dirfd(listing), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
		told = fd < 0 ? 0 : tell_one(fd, signal, &owner);
		if (fd >= 0 && owner == 0) /* it was killed; else nobody would come to the end */
			remove_dead(dirfd(listing), entry->d_name, fd);
		if (told > 0 && each)
			each(data, entry->d_name, owner);
		if (told < 0)
			r = -1;
	}
	closedir(listing);
	return r;
}
