/* SPDX-License-Identifier: Apache-2.0 */
/* The process behind a notification: its memory, its fds, and what its paths mean. Everything read
 * from it is hostile. */
#pragma once

#include "../base/macro.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* A path as the caller's kernel would find it, at the moment of asking. */
struct found {
	int fd; /* O_PATH of the object; of its parent where the object does not exist */
	bool exists;
	struct stat st;		 /* of the object, if it exists */
	char path[PATH_MAX];	 /* canonical, as seen in the sandbox */
	char name[NAME_MAX + 1]; /* the last component, where the object does not exist */
	bool granted;		 /* by a person: the host's view of it is meant */
};

/* 0 or -errno: memory that cannot be read is -EFAULT, a path that is too long -ENAMETOOLONG. */
int caller_text(pid_t tid, uint64_t address, char *text, size_t room);
int caller_bytes(pid_t tid, uint64_t address, void *data, size_t length);
/* Its memory as a file, to be read and written: unlike the number of a thread it cannot become
 * somebody else's. -errno. */
int caller_memory(pid_t tid);
/* What one reading of a file of /proc gives, with a NUL behind it: its length, or less than 0. */
ssize_t proc_read(const char *path, char *text, size_t room);
/* The number behind a field ("Tgid") of a file of /proc; -1 where there is none. */
long proc_number(const char *path, const char *field, int base);
/* The number that the process, or the thread, of a status file has in its own namespace; 0 where it
 * is gone. field: "NStgid" or "NSpid". */
long proc_number_inside(int directory, const char *path, const char *field);
/* A copy of one of its fds, or -errno. */
int caller_fd(pid_t tid, int fd);
/* What one of its fds is open on, O_PATH: a copy of the fd itself would keep a program that was
 * just written from being executed for as long as we hold it. -errno. */
int caller_object(pid_t tid, int fd);
/* A signal came that it handles, and of which it is not told as long as we let it wait: such a wait
 * ends for nothing less than its death. */
bool caller_is_signalled(pid_t tid);
void caller_name(pid_t tid, char name[static 32]);
/* Its process; -1 where it is gone. */
pid_t caller_group(pid_t tid);

/* A name in a directory, as calls that shape names mean it: the last component is never followed.
 */
struct spot {
	int parent;		 /* O_PATH of the directory, as it is in the sandbox */
	char name[NAME_MAX + 1]; /* the last component */
	bool slash;		 /* behind it */
	bool exists;
	struct stat st;	     /* of what lies there, if it exists */
	char path[PATH_MAX]; /* canonical, as seen in the sandbox */
	bool granted;	     /* as above */
};

/* Finds path as the caller would, through root. dirfd is the caller's (or AT_FDCWD). follow: the
 * last component, if it is a link. -ENOENT where not even the parent is there; -ELOOP for links of
 * /proc that only the caller itself can follow. On success *ret_found holds an fd; close it. */
int caller_find(int root, pid_t tid, int dirfd, const char *path, bool follow,
		struct found *ret_found);
/* The same for a name. -EBUSY for a path that ends in no name (".", "..", "/"). *ret_spot holds an
 * fd on success; close it. */
int caller_find_name(int root, pid_t tid, int dirfd, const char *path, struct spot *ret_spot);
/* The absolute path that the caller means, as far as that can be said without a look at it. -errno.
 */
int caller_path(int root, pid_t tid, int dirfd, const char *path, char *ret, size_t room);
/* The caller's fd that a path like /dev/stderr or /proc/self/fd/2 names, -1 for any other. */
int caller_fd_named(const char *path);
