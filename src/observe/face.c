/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that come again. */
#include "face.h"
#include "caller.h"
#include "../base/macro.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Few work hard at the same time; most threads call once or twice, and are not worth an fd. */
enum { FACES = 4, UNSETTLED = 8, OFTEN = 2, PIDFD_OF_THREAD = O_EXCL };

static struct face {
	pid_t tid; /* 0: none */
	unsigned calls;
	uint64_t last;
	uint64_t alive;	       /* the call in which it was seen to live */
	int pidfd, directory;  /* -1 until it has called often */
	int working_directory; /* the link in /proc, not what it leads to; -1 until it is asked for
				*/
	bool has_umask;
	mode_t umask;
} faces[FACES];
static uint64_t now; /* counts calls */

/* Umasks that were let go on to be set, and that nobody has seen set yet. Until then what is read
 * may be the old one and is not kept. */
static struct {
	pid_t tid;
	mode_t mask;
} unsettled[UNSETTLED];
static size_t unsettled_count;
static bool too_many; /* and nothing is kept any more */

/* As long as nobody has set one, all have the one that they were born with: ours. */
static bool untouched;
static mode_t inherited;

static void forget(struct face *face)
{
	if (face->tid) {
		close_fd(&face->pidfd);
		close_fd(&face->directory);
		close_fd(&face->working_directory);
	}
	*face = (struct face){.pidfd = -1, .directory = -1, .working_directory = -1};
}

void face_begin(void)
{
	inherited = umask(077); /* to ask is to set: others of our process may make files now */
	umask(inherited);
	untouched = true;
}

void face_forget_all(void)
{
	for (size_t i = 0; i < FACES; i++)
		forget(&faces[i]);
	unsettled_count = 0;
	too_many = false;
	face_forget_working_directory();
}

static struct face *find(pid_t tid)
{
	for (size_t i = 0; i < FACES; i++)
		if (faces[i].tid == tid)
			return &faces[i];
	return NULL;
}

static void settle(pid_t tid)
{
	for (size_t i = 0; i < unsettled_count; i++)
		if (unsettled[i].tid == tid) {
			unsettled[i] = unsettled[--unsettled_count];
			return;
		}
}

static void open_face(struct face *face)
{
	char path[32];

	face->pidfd = (int)syscall(SYS_pidfd_open, face->tid, PIDFD_OF_THREAD);
	if (face->pidfd < 0)
		return; /* before Linux 6.9 */
	snprintf(path, sizeof(path), "/proc/%d", face->tid);
	face->directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* Opened after the pidfd: where that still lives, both are of the same thread. */
	if (face->directory < 0 || sys_pidfd_send_signal(face->pidfd, 0) < 0)
		forget(face);
}

void face_called(pid_t tid)
{
	struct face *face = find(tid), *oldest = &faces[0];

	now++;
	settle(tid); /* what it called before has taken effect */
	for (size_t i = 0; i < FACES && !face; i++)
		if (faces[i].last < oldest->last)
			oldest = &faces[i];
	if (!face) {
		face = oldest;
		forget(face);
		face->tid = tid;
	}
	face->last = now;
	if (++face->calls == OFTEN)
		open_face(face);
}

/* The thread that we know, and not somebody who has its number by now; NULL: none. */
static struct face *find_living(pid_t tid)
{
	struct face *face = find(tid);

	if (!face || face->pidfd < 0)
		return NULL;
	if (face->alive == now || sys_pidfd_send_signal(face->pidfd, 0) == 0)
		return face;
	forget(face);
	return NULL;
}

int face_directory(pid_t tid)
{
	const struct face *face = find(tid);

	return face ? face->directory : -1;
}

/* The working directory of one thread that nobody shares it with, as long as it calls again and
 * again and nobody has changed any. */
static struct {
	pid_t tid; /* 0: none */
	ssize_t length;
	char text[PATH_MAX];
} kept;

void face_forget_working_directory(void)
{
	kept.tid = 0;
}

void face_keep_working_directory(pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	kept.tid = proc_number(path, "Threads", 10) == 1 ? tid : 0;
	kept.length = 0;
}

/* Through the link itself there is nothing to look up, which is most of what it takes. */
ssize_t face_read_working_directory(pid_t tid, char *text, size_t room)
{
	struct face *face = find(tid);
	ssize_t length;

	if (kept.tid == tid && kept.length > 0 && (size_t)kept.length < room) {
		memcpy(text, kept.text, (size_t)kept.length);
		return kept.length;
	}
	if (!face || face->directory < 0)
		return -1;
	if (face->working_directory < 0)
		face->working_directory =
			openat(face->directory, "cwd", O_PATH | O_NOFOLLOW | O_CLOEXEC);
	length = face->working_directory < 0 ? -1
					     : readlinkat(face->working_directory, "", text, room);
	if (length > 0)
		face->alive = now;
	if (length > 0 && kept.tid == tid && (size_t)length < sizeof(kept.text)) {
		memcpy(kept.text, text, (size_t)length);
		kept.length = length;
	}
	return length;
}

/* As /proc has it now; -1 where the thread is gone. */
static long read_umask(pid_t tid)
{
	int directory = face_directory(tid);
	char path[32], text[1024], *at;
	_cleanup_close_ int fd = -1;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	fd = directory >= 0 ? openat(directory, "status", O_RDONLY | O_CLOEXEC)
			    : open(path, O_RDONLY | O_CLOEXEC);
	/* It stands on the second line, behind a name of 64 bytes at most. */
	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[MAX(length, 0)] = '\0';
	at = strstr(text, "\nUmask:");
	return length > 0 && at ? strtol(at + strlen("\nUmask:"), NULL, 8) : -1;
}

mode_t caller_umask(pid_t tid)
{
	struct face *face;
	long mask;

	if (untouched)
		return inherited;
	face = find_living(tid);
	for (size_t i = unsettled_count; i-- > 0;) {
		mask = read_umask(unsettled[i].tid);
		if (mask < 0 || mask == (long)unsettled[i].mask)
			unsettled[i] = unsettled[--unsettled_count];
	}
	if (face && face->has_umask && unsettled_count == 0)
		return face->umask;
	mask = read_umask(tid);
	if (face && mask >= 0 && unsettled_count == 0 && !too_many) {
		face->has_umask = true;
		face->umask = (mode_t)mask;
	}
	return mask < 0 ? 077 : (mode_t)mask;
}

void face_sets_umask(pid_t tid, mode_t mask)
{
	untouched = false;
	for (size_t i = 0; i < FACES; i++)
		faces[i].has_umask = false;
	settle(tid);
	if (unsettled_count == UNSETTLED) {
		too_many = true;
		return;
	}
	unsettled[unsettled_count].tid = tid;
	unsettled[unsettled_count++].mask = mask & 0777;
}
