/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a runtime makes for a command under a kernel of its own: what that command asks for as
 * it comes to the machine's files. Its gofer names a directory that it holds and one name in it.
 *
 * The command has no part in the gofer's memory, and what it can do at the same time is other calls
 * of the gofer's. So here, unlike elsewhere, a call that was looked at goes on by itself, and the
 * mounts decide it; nothing is performed. What is looked at is the name, and where its directory
 * lies at that moment: a directory cannot be moved to where other names are guarded. */
#include "../observer.h"
#include "../../base/path.h"
#include "../../sandbox/container/container.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALVES_MOST = 4096 };

static const char rule_apart[] = "granted, but not to a command under a kernel of its own";

/* A name as the runtime means it. */
struct meant {
	char path[2 * PATH_MAX]; /* as the command sees it */
	bool own; /* the runtime sets itself up: it names a path, and no directory that it holds */
	bool exists;
	struct stat st, directory;
};

static ssize_t read_link(pid_t tid, const char *what, char *ret, size_t room)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/%s", tid, what);
	length = readlink(link, ret, room - 1);
	ret[MAX(length, 0)] = '\0';
	return length;
}

/* The gofer's root is the container's; it lies somewhere in a tree of the runtime's own. */
static int without_root(pid_t tid, char *path)
{
	char root[PATH_MAX];
	ssize_t length = read_link(tid, "root", root, sizeof(root));

	if (length <= 0 || root[0] != '/')
		return -ESRCH;
	if (length == 1 || !path_is_under(path, root))
		return 0;
	memmove(path, path + length, strlen(path + length) + 1);
	if (!*path)
		strcpy(path, "/");
	return 0;
}

/* What is opened anew by its number: /proc/self/fd, held as a directory. */
static bool is_by_number(const char *directory, const char *name)
{
	return strncmp(directory, "/proc/", 6) == 0 && strlen(directory) > 9 &&
	       strcmp(directory + strlen(directory) - 3, "/fd") == 0 && *name &&
	       strspn(name, "0123456789") == strlen(name) && strlen(name) < 10;
}

/* 0 or -errno. */
static int find(const struct seccomp_notif *call, int directory, int path, struct meant *ret)
{
	pid_t tid = (pid_t)call->pid;
	int number = argument(call, directory, AT_FDCWD), r;
	char name[PATH_MAX], what[32] = "cwd";
	_cleanup_close_ int parent = -1;

	*ret = (struct meant){0};
	r = caller_text(tid, call->data.args[path], name, sizeof(name));
	if (r < 0)
		return r;
	if (number != AT_FDCWD)
		snprintf(what, sizeof(what), "fd/%d", number);
	if (name[0] == '/') {
		snprintf(ret->path, sizeof(ret->path), "%s", name);
	} else {
		if (read_link(tid, what, ret->path, PATH_MAX) <= 0 || ret->path[0] != '/')
			return -EBADF;
		if (is_by_number(ret->path, name)) {
			snprintf(what, sizeof(what), "fd/%.9s", name);
			if (read_link(tid, what, ret->path, PATH_MAX) <= 0)
				return -EBADF;
		} else if (*name) {
			strcat(ret->path, "/");
			strcat(ret->path, name);
		}
	}
	if ((r = without_root(tid, ret->path)) < 0)
		return r;
	ret->own = name[0] == '/' || number == AT_FDCWD ||
		   path_is_under(ret->path, CONTAINER_STATE) || strcmp(ret->path, APART_END) == 0;
	if (ret->own)
		return 0;
	if ((parent = caller_object(tid, number)) < 0 || fstat(parent, &ret->directory) < 0)
		return parent < 0 ? parent : -errno;
	ret->exists = fstatat(parent, name, &ret->st,
			      strchr(what, '/') && is_by_number("/proc/self/fd", name)
				      ? 0
				      : AT_SYMLINK_NOFOLLOW) == 0;
	return 0;
}

/* A repository is known by two names in it: whoever has one of them does not get the other. A call
 * that was let go on may not have been done yet when the next one is looked at, so it counts from
 * then on; by its directory, which may have another name by now. */
static bool would_be_repository(struct observer *observer, const struct meant *meant)
{
	struct holding *holding = &observer->holding;
	bool objects = guard_is(path_last(meant->path), "objects");
	const struct half half = {meant->directory.st_dev, meant->directory.st_ino, objects};
	char other[2 * PATH_MAX];
	struct stat st;

	if ((!objects && !guard_is(path_last(meant->path), "refs")) ||
	    !hold_guards(observer, meant->path))
		return false;
	snprintf(other, sizeof(other), "%.*s%s", (int)(path_last(meant->path) - meant->path),
		 meant->path, objects ? "refs" : "objects");
	if (lstat(other, &st) == 0 || holding->half_count == HALVES_MOST)
		return true;
	for (size_t i = 0; i < holding->half_count; i++)
		if (holding->halves[i].device == half.device &&
		    holding->halves[i].inode == half.inode &&
		    holding->halves[i].objects != half.objects)
			return true;
	holding->halves = reallocarray(holding->halves, holding->half_count + 1, sizeof(half));
	if (!holding->halves)
		abort();
	holding->halves[holding->half_count++] = half;
	return false;
}

/* Answers where the name may not be made, written or moved; true if it has. */
static bool refuses(struct observer *observer, const struct seccomp_notif *call,
		    const struct trap *trap, const struct meant *meant, bool makes)
{
	enum guard guard = hold_judge(observer, meant->path);

	if (makes && would_be_repository(observer, meant))
		guard = GUARD_CLOSED;
	if (guard == GUARD_FREE || guard == GUARD_OPEN)
		return false;
	/* Git tries whether it may, and does without; nothing is lost that anybody waits for. */
	if (guard == GUARD_KEPT || guard == GUARD_INDEX)
		answer(observer, call->id, EROFS);
	else
		refuse(observer, call, trap, "write", meant->path, rule_guarded, EACCES);
	return true;
}

/* The mounts refuse it: that is told. What a person has granted call by call is done in the host's
 * view elsewhere, and here nobody does. */
static bool is_outside(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap, enum trap_kind kind, uint64_t flags,
		       const struct meant *meant)
{
	enum judgement judgement = JUDGED_FREE;

	if (!meant->own)
		judgement = judge(observer, call, trap, kind, flags, meant->exists, &meant->st,
				  meant->path);
	if (judgement == JUDGED_GRANTED)
		refuse(observer, call, trap, kind == TRAP_REMOVE ? "delete" : "write", meant->path,
		       rule_apart, EACCES);
	return judgement != JUDGED_FREE;
}

static void serve_opened(struct observer *observer, const struct seccomp_notif *call,
			 const struct trap *trap)
{
	uint64_t flags =
		trap->flags >= 0 ? call->data.args[trap->flags] : O_CREAT | O_WRONLY | O_TRUNC;
	struct meant meant;
	int r = find(call, trap->directory, trap->path, &meant);

	if (r < 0)
		answer(observer, call->id, -r);
	else if (!refuses(observer, call, trap, &meant, flags & O_CREAT && !meant.exists) &&
		 !is_outside(observer, call, trap, TRAP_OPEN, flags, &meant))
		answer_continue(observer, call->id);
}

static void serve_moved(struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap)
{
	static struct meant from, to;
	bool renames = trap->kind == TRAP_RENAME;
	const char *rule = NULL;
	char target[PATH_MAX];
	int r = renames ? find(call, trap->directory, trap->path, &from) : 0;

	if (r == 0)
		r = find(call, trap->path2 >= 0 ? trap->directory2 : trap->directory,
			 trap->path2 >= 0 ? trap->path2 : trap->path, &to);
	if (r == 0 && trap->kind == TRAP_SYMLINK)
		r = caller_text((pid_t)call->pid, call->data.args[0], target, sizeof(target));
	if (r < 0) {
		answer(observer, call->id, -r);
		return;
	}
	if (refuses(observer, call, trap, &to, true))
		return;
	if (renames && from.exists)
		rule = moved_rule(observer, from.st.st_mode, from.path, to.path);
	else if (trap->kind == TRAP_SYMLINK || trap->kind == TRAP_LINK)
		rule = link_rule(observer, to.path, trap->kind == TRAP_SYMLINK ? target : NULL);
	if (rule) {
		refuse(observer, call, trap, "write", to.path, rule, EACCES);
		return;
	}
	if (renames && refuses(observer, call, trap, &from, false))
		return;
	if (renames && (!from.exists || S_ISDIR(from.st.st_mode)) &&
	    !hold_may_move(observer, from.path, to.path)) {
		refuse(observer, call, trap, "write", to.path, rule_guarded, EACCES);
		return;
	}
	if (renames && is_outside(observer, call, trap, TRAP_REMOVE, 0, &from))
		return;
	if (!is_outside(observer, call, trap, renames ? TRAP_MAKE : trap->kind, 0, &to))
		answer_continue(observer, call->id);
}

void serve_apart(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap)
{
	if (trap->kind == TRAP_OPEN)
		serve_opened(observer, call, trap);
	else if (trap->kind >= TRAP_MAKE && trap->kind <= TRAP_LINK && trap->kind != TRAP_REMOVE)
		serve_moved(observer, call, trap);
	else
		answer(observer, call->id, ENOSYS);
}
