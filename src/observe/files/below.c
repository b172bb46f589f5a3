/* SPDX-License-Identifier: Apache-2.0 */
/* Calls below a masked directory. */
#include "../observer.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { LINKS_MOST = 16, TRIES = 100 };

/* Nothing in there leads out, and no link in there is followed: it may have been made by whoever
 * asks, with a yes to the link's own name. */
#define WITHIN (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

static int look_up(int directory, const char *path, int flags, uint64_t resolve)
{
	int fd = -1;

	/* With .. in the path the kernel gives up while anybody renames anything. */
	for (int i = 0; i < TRIES; i++) {
		fd = sys_openat2(directory, path, flags | O_PATH | O_CLOEXEC, resolve);
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int path_of(int fd, char *path, size_t room)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, room - 1);
	if (length == (ssize_t)room - 1) /* cut, it would mean another place */
		return -ENAMETOOLONG;
	path[MAX(length, 0)] = '\0';
	return length > 0 && path[0] == '/' ? 0 : -ENOENT;
}

/* The longest part of the path that the sandbox shows: its length, and what it is. -errno. */
static int look_as_far_as_seen(int root, char *whole, size_t *ret_length)
{
	size_t length = strlen(whole);

	for (;;) {
		char behind = whole[length];
		int fd;

		whole[length] = '\0';
		fd = look_up(root, length ? whole : "/", O_NOFOLLOW,
			     RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
		whole[length] = behind;
		*ret_length = length;
		if (fd >= 0 || length <= 1)
			return fd;
		while (length > 1 && whole[length - 1] == '/')
			length--;
		while (length > 1 && whole[length - 1] != '/')
			length--;
		while (length > 1 && whole[length - 1] == '/')
			length--;
	}
}

/* Puts the target of a link in its place. */
static int follow(int fd, char *whole, size_t room, size_t length)
{
	char place[PATH_MAX], target[PATH_MAX], joined[4 * PATH_MAX];
	ssize_t end = readlinkat(fd, "", target, sizeof(target) - 1);
	int r = path_of(fd, place, sizeof(place));

	if (r < 0 || end <= 0)
		return -ELOOP;
	target[end] = '\0';
	place[path_last(place) - place] = '\0';
	if (snprintf(joined, sizeof(joined), "%s%s%s", target[0] == '/' ? "" : place, target,
		     whole + length) >= (int)room)
		return -ENAMETOOLONG;
	strcpy(whole, joined);
	return 0;
}

/* Splits the path into the directory that the sandbox still shows and the rest. */
static int find_top(const struct observer *observer, pid_t tid, int directory, const char *text,
		    char top[static PATH_MAX], char rest[static 2 * PATH_MAX])
{
	char whole[2 * PATH_MAX];
	int root = observer->observed->root;
	int r = caller_path(root, tid, directory, text, whole, sizeof(whole));

	for (int links = 0; r == 0 && links < LINKS_MOST; links++) {
		_cleanup_close_ int fd = -1;
		struct stat st;
		size_t length;

		fd = look_as_far_as_seen(root, whole, &length);
		if (fd < 0 || fstat(fd, &st) < 0)
			return fd < 0 ? fd : -errno;
		if (S_ISLNK(st.st_mode)) {
			r = follow(fd, whole, sizeof(whole), length);
			continue;
		}
		strcpy(rest, whole + length + strspn(whole + length, "/"));
		return *rest ? path_of(fd, top, PATH_MAX) : -ENOENT;
	}
	return r < 0 ? r : -ELOOP;
}

/* In the host's view; what goes wrong is kept as the error. */
static int look(int base, char *rest, struct hidden *hidden)
{
	struct found *found = &hidden->found;
	size_t length = strlen(rest), room = sizeof(found->path);
	char *name;
	int r;

	while (length > 0 && rest[length - 1] == '/') {
		rest[--length] = '\0';
		hidden->slash = true;
	}
	name = strrchr(rest, '/') ? strrchr(rest, '/') + 1 : rest;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return EACCES;
	if (strlen(name) > NAME_MAX)
		return ENAMETOOLONG;
	strcpy(found->name, name);
	*name = '\0';
	hidden->parent = look_up(base, *rest ? rest : ".", O_DIRECTORY, WITHIN);
	if (hidden->parent < 0)
		return -hidden->parent;
	r = path_of(hidden->parent, found->path, room - NAME_MAX - 2);
	if (r < 0)
		return -r;
	length = strlen(found->path);
	if (length > 1)
		found->path[length++] = '/';
	memcpy(found->path + length, found->name, strlen(found->name) + 1);
	found->fd = look_up(hidden->parent, found->name, O_NOFOLLOW, WITHIN);
	found->exists = found->fd >= 0;
	if (!found->exists)
		return found->fd == -ENOENT ? 0 : -found->fd;
	return fstat(found->fd, &found->st) < 0 ? errno : 0;
}

static void look_below(const struct observer *observer, const char *top, char *rest,
		       struct hidden *ret_hidden)
{
	_cleanup_close_ int base = -1;
	_cleanup_free_ char *joined = NULL, *plain = NULL;

	*ret_hidden = (struct hidden){.found.fd = -1, .parent = -1};
	(void)may_write(observer, top, &ret_hidden->rule);
	/* What is said of it where it cannot be found. */
	if (asprintf(&joined, "%s/%s", top, rest) < 0)
		abort();
	plain = path_normalise(joined);
	if (strlen(plain) >= sizeof(ret_hidden->found.path)) {
		ret_hidden->error = ENAMETOOLONG;
		strcpy(ret_hidden->found.path, top);
		return;
	}
	base = look_up(AT_FDCWD, top, O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	ret_hidden->error = base < 0 ? -base : look(base, rest, ret_hidden);
	/* Somebody moves directories. */
	if (ret_hidden->error == 0 && !path_is_under(ret_hidden->found.path, top))
		ret_hidden->error = EACCES;
	if (ret_hidden->error != 0)
		strcpy(ret_hidden->found.path, plain);
}

void hidden_look(const struct observer *observer, const char *path, struct hidden *ret_hidden)
{
	char top[PATH_MAX], rest[2 * PATH_MAX];
	size_t length = (size_t)(path_last(path) - path);

	strcpy(rest, path + length);
	strcpy(top, path);
	top[MAX(length - 1, (size_t)1)] = '\0';
	look_below(observer, top, rest, ret_hidden);
	(void)may_write(observer, path, &ret_hidden->rule);
}

int hidden_find(const struct observer *observer, pid_t tid, int directory, const char *text,
		struct hidden *ret_hidden)
{
	char top[PATH_MAX], rest[2 * PATH_MAX];
	const struct area *area;

	if (find_top(observer, tid, directory, text, top, rest) < 0)
		return -ENOENT;
	area = areas_find(observer->observed->areas, top);
	if (!area || area->state != STATE_DENIED)
		return -ENOENT;
	look_below(observer, top, rest, ret_hidden);
	return 0;
}

bool below_has_shells(const struct observed *observed)
{
	for (size_t i = 0; !observed->alone && observed->masks && i < observed->masks->count; i++)
		if (observed->masks->items[i].kind == MASK_SHELL)
			return true;
	return false;
}

bool below_is_in_shell(const struct observer *observer, const char *path)
{
	const struct area *area =
		observer->shells ? areas_find(observer->observed->areas, path) : NULL;

	return area && area->state == STATE_DENIED && strcmp(area->path, path) != 0;
}

void hidden_done(struct hidden *hidden)
{
	close_fd(&hidden->found.fd);
	close_fd(&hidden->parent);
}

/* With a yes to the path itself it fails as it would outside; but for links, which are not
 * followed there. */
static int told(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG ? error : EACCES;
}

/* False where it is answered. */
static bool judge_below(struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap, enum trap_kind kind, uint64_t flags,
			enum permit_kind needed, const struct hidden *hidden)
{
	bool whole = trap->kind == TRAP_RENAME && hidden->found.exists &&
		     S_ISDIR(hidden->found.st.st_mode);

	if (!permit_covers(observer, needed, hidden->found.path, whole))
		judge_hidden(observer, call, trap, kind, flags,
			     needed == PERMIT_DELETE ? "delete" : "write", hidden);
	else if (hidden->error)
		answer(observer, call->id, told(hidden->error));
	else
		return true;
	return false;
}

enum below below_find(struct observer *observer, const struct seccomp_notif *call,
		      const struct trap *trap, const char *text, uint64_t flags,
		      struct found *ret_found)
{
	_cleanup_hidden_ struct hidden hidden = {.found.fd = -1, .parent = -1};
	const struct stat *st = &hidden.found.st;

	if (hidden_find(observer, (pid_t)call->pid, argument(call, trap->directory, AT_FDCWD), text,
			&hidden) < 0)
		return BELOW_NOT;
	/* Of what lies there only files are opened, and links are what they are. */
	if (hidden.error == 0 && hidden.found.exists &&
	    (S_ISLNK(st->st_mode) || (trap->kind == TRAP_OPEN && !S_ISREG(st->st_mode))))
		hidden.error = ELOOP;
	if (hidden.error == 0 && hidden.slash && trap->kind == TRAP_OPEN)
		hidden.error = EISDIR;
	if (!judge_below(observer, call, trap, trap->kind, flags, PERMIT_WRITE, &hidden))
		return BELOW_ANSWERED;
	*ret_found = hidden.found;
	ret_found->granted = true;
	ret_found->fd = ret_found->exists ? STEAL_FD(hidden.found.fd) : STEAL_FD(hidden.parent);
	return BELOW_GRANTED;
}

bool below_refuse(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, const char *text)
{
	_cleanup_hidden_ struct hidden hidden = {.found.fd = -1, .parent = -1};

	if (hidden_find(observer, (pid_t)call->pid, AT_FDCWD, text, &hidden) < 0)
		return false;
	refuse(observer, call, trap, "write", hidden.found.path, hidden.rule, EACCES);
	return true;
}

enum below below_find_name(struct observer *observer, const struct seccomp_notif *call,
			   const struct trap *trap, int directory, int path, const char *text,
			   struct spot *ret_spot)
{
	_cleanup_hidden_ struct hidden hidden = {.found.fd = -1, .parent = -1};
	bool source = trap->kind == TRAP_RENAME && path == trap->path;
	enum trap_kind kind = source ? TRAP_REMOVE : trap->kind;

	if (hidden_find(observer, (pid_t)call->pid, argument(call, directory, AT_FDCWD), text,
			&hidden) < 0)
		return BELOW_NOT;
	if (kind == TRAP_SYMLINK || (kind == TRAP_RENAME && !hidden.found.exists))
		kind = TRAP_MAKE;
	/* What is moved away can be read where it comes to lie: that is more than to delete it. */
	if (!judge_below(observer, call, trap, kind, 0,
			 trap->kind == TRAP_REMOVE ? PERMIT_DELETE : PERMIT_WRITE, &hidden))
		return BELOW_ANSWERED;
	*ret_spot = (struct spot){.parent = STEAL_FD(hidden.parent),
				  .slash = hidden.slash,
				  .exists = hidden.found.exists,
				  .st = hidden.found.st,
				  .granted = true};
	strcpy(ret_spot->name, hidden.found.name);
	strcpy(ret_spot->path, hidden.found.path);
	return BELOW_GRANTED;
}
