/* SPDX-License-Identifier: Apache-2.0 */
/* Reads that meet a mask. What is not masked goes on by itself, and the walls decide it: whatever
 * the caller's memory says by then, a mask answers EACCES. What is masked is refused here, with its
 * rule, or waits for an answer.
 *
 * What a person lets be read is handed in as a sealed copy, never as the host's own file: that lies
 * on a mount that can be written, and whoever holds it for reading could open it anew for writing
 * (/proc/self/fd), cut it or change its mode, by a call that was let go on for another path. */
#include "../observer.h"
#include "../../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>

enum {
	COPY_MOST = 16 << 20,	 /* bytes of one file */
	COPIES_BYTES = 64 << 20, /* of all that one run is given: they count for no limit of it */
	COPIES_MOST = 256,
	PAGE = 4096,
	TICK_NS = 20 * 1000 * 1000, /* within which a file may change and its times do not */
};

static const char rule_config[] = "default: a configuration that may hold credentials is masked";

struct copy {
	struct stat of; /* the file, when it was copied */
	int fd;
};

void copies_done(struct copies *copies)
{
	for (size_t i = 0; i < copies->count; i++)
		close_fd(&copies->items[i].fd);
	free(copies->items);
	*copies = (struct copies){0};
}

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
	       one->st_size == other->st_size && one->st_mode == other->st_mode &&
	       one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	       one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* A file that was changed just now may be changed again, and look the same. */
static bool is_settled(const struct stat *st)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       (now.tv_sec - st->st_ctim.tv_sec) * 1000000000 + now.tv_nsec - st->st_ctim.tv_nsec >
		       TICK_NS;
}

/* The content, mode and times; nobody can write to it any more. -errno. */
static int copy_file(int file, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	_cleanup_close_ int copy = memfd_create("read", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ssize_t moved = 1;
	off_t at = 0;

	while (copy >= 0 && moved > 0 && at <= COPY_MOST)
		moved = sendfile(copy, file, &at, COPY_MOST + 1 - (size_t)at);
	if (copy < 0 || moved < 0)
		return -errno;
	if (at > COPY_MOST)
		return -EFBIG;
	if (fchmod(copy, st->st_mode & 0666) < 0 || futimens(copy, times) < 0 ||
	    fcntl(copy, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return STEAL_FD(copy);
}

static void keep(struct copies *copies, int fd, const struct stat *st)
{
	copies->items = reallocarray(copies->items, copies->count + 1, sizeof(*copies->items));
	if (!copies->items)
		abort();
	copies->items[copies->count++] = (struct copy){*st, fd};
}

/* A file description of its own for whoever opens it. -errno. */
static int reopen(int fd, uint64_t flags)
{
	char link[64];
	int opened;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	opened = open(link,
		      O_RDONLY | O_CLOEXEC | O_NOCTTY | (int)(flags & (O_NONBLOCK | O_NOATIME)));
	return opened < 0 ? -errno : opened;
}

/* The file as it is now, to be handed in. -errno. */
static int open_copy(struct copies *copies, int file, uint64_t flags)
{
	_cleanup_close_ int copy = -1;
	struct stat st;
	bool kept;
	int opened;

	if (fstat(file, &st) < 0)
		return -errno;
	for (size_t i = 0; i < copies->count; i++)
		if (is_same(&copies->items[i].of, &st))
			return reopen(copies->items[i].fd, flags);
	if (copies->bytes + MAX((uint64_t)st.st_size, (uint64_t)PAGE) > COPIES_BYTES)
		return -EFBIG;
	kept = copies->count < COPIES_MOST && is_settled(&st);
	copy = copy_file(file, &st);
	if (copy < 0)
		return copy;
	copies->bytes += MAX((uint64_t)st.st_size, (uint64_t)PAGE);
	opened = reopen(copy, flags);
	if (opened >= 0 && kept)
		keep(copies, STEAL_FD(copy), &st);
	return opened;
}

/* With the rights of the user, as the caller would outside. -errno. */
static int open_hidden(const struct hidden *hidden)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", hidden->found.fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void hand_in(struct observer *observer, const struct seccomp_notif *call, uint64_t flags,
		    int file)
{
	int fd = file < 0	       ? file
		 : flags & O_DIRECTORY ? -ENOTDIR
				       : open_copy(&observer->copies, file, flags);

	if (fd >= 0)
		fd = answer_with_fd(observer, call->id, fd, flags);
	if (fd < 0)
		answer(observer, call->id, -fd);
}

/* Before a yes the error is the mask's, whatever lies there. */
static void serve_hidden(struct observer *observer, const struct seccomp_notif *call,
			 const struct trap *trap, uint64_t flags, const struct hidden *hidden,
			 int error)
{
	const struct found *found = &hidden->found;
	const struct permit *granted =
		permit_find(observer, PERMIT_READ, found->path, /* whole= */ false);
	_cleanup_close_ int file = -1;

	/* What is not there was refused to nobody. */
	if (hidden->error == ENOENT || hidden->error == ENOTDIR ||
	    (!hidden->error && !found->exists)) {
		answer(observer, call->id, granted ? ENOENT : error);
		return;
	}
	/* A directory is given by starting again: from one that was handed in one could go on to
	 * everything else. A link is not followed there. */
	if (hidden->error || !S_ISREG(found->st.st_mode)) {
		refuse(observer, call, trap, "read", found->path, hidden->rule, error);
		return;
	}
	file = open_hidden(hidden);
	if (granted) {
		terms_use(observer, granted->number, call->id);
		hand_in(observer, call, flags, file);
	} else if (file < 0) {
		refuse(observer, call, trap, "read", found->path, rule_native, error);
	} else if (found->st.st_size > COPY_MOST) {
		refuse(observer, call, trap, "read", found->path, hidden->rule, error);
	} else {
		refuse_file(observer, call, trap, "read", found->path, /* tree= */ false,
			    hidden->rule, error);
	}
}

/* The innermost mask at or above the path hides it; a text that is shown in its place does not. */
static bool is_covered(const struct observer *observer, const char *path)
{
	const struct masks *masks = observer->observed->masks;
	const struct mask *innermost = NULL;

	for (size_t i = 0; masks && i < masks->count; i++)
		if (path_is_under(path, masks->items[i].path) &&
		    (!innermost || strlen(masks->items[i].path) >= strlen(innermost->path)))
			innermost = &masks->items[i];
	return innermost && mask_hides(innermost) && innermost->kind != MASK_TEXT;
}

/* What is found is a mask's own inode, which nobody may read; without mounts, what lies where
 * Landlock lets nobody read. In a directory that shows some of what it holds the rest is not there.
 */
static bool is_masked(const struct observer *observer, const struct found *found)
{
	const struct area *area;

	if (!observer->observed->alone && found->exists && found->st.st_mode & 0777)
		return false;
	area = areas_find(observer->observed->areas, found->path);
	if (area && area->state == STATE_DENIED)
		return found->exists || !observer->observed->alone;
	return found->exists && is_covered(observer, found->path);
}

void serve_read(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap, uint64_t flags)
{
	_cleanup_hidden_ struct hidden hidden = {.found.fd = -1, .parent = -1};
	pid_t tid = (pid_t)call->pid;
	int directory = argument(call, trap->directory, AT_FDCWD), error = EACCES, r;
	char text[PATH_MAX];
	struct found found;

	r = caller_text(tid, call->data.args[trap->path], text, sizeof(text));
	if (r == -EFAULT)
		observer->unread++;
	if (r == 0 && !*text)
		r = -ENOENT;
	if (r == 0)
		r = caller_find(observer->observed->root, tid, directory, text,
				!(flags & O_NOFOLLOW), &found);
	if (r == 0) {
		close(found.fd);
		r = is_masked(observer, &found) ? 0 : -ENOENT;
		if (r < 0 && found.exists)
			witness_tell(observer, tid, "read", found.path);
		if (r == 0)
			hidden_look(observer, found.path, &hidden);
		if (r == 0 && !found.exists)
			error = ENOENT;
	} else if (r == -EACCES || (r == -ENOENT && observer->shells)) {
		/* A directory on the way is closed, or not there because another was. */
		error = -r;
		r = hidden_find(observer, tid, directory, text, &hidden);
	}
	if (r < 0 || !still_waiting(observer, call->id)) {
		answer_continue(observer, call->id);
		return;
	}
	if (!hidden.rule)
		hidden.rule = rule_config;
	serve_hidden(observer, call, trap, flags, &hidden, error);
}
