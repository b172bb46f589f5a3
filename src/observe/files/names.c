/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make, move or remove names. What makes or moves one is always performed here: between
 * our look and the kernel's the caller could change which name it means, and a guarded directory
 * must not come into being unseen. What only removes one goes on by itself, unless it lies in a
 * holder.
 *
 * The sandbox's own mounts are honoured by hand: the kernel lets nobody rename over a mount point
 * of his own namespace, but for us those are not. */
#include "../observer.h"
#include "../masks/text.h"
#include "../../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>

const char rule_guarded[] = "protected: a name that runs programs outside the sandbox";
const char rule_index[] =
	"protected: git follows what it says, and replaces it by a file beside it";

static bool is_mount_point(const struct spot *spot)
{
	struct statx stx;

	return spot->exists &&
	       statx(spot->parent, spot->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &stx) ==
		       0 &&
	       stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Where there are no mounts, what is hidden is hidden by where it lies, and the wall does not hold
 * us: in another place, or by another name, it would be seen. */
static bool would_be_shown(const struct observer *observer, const char *path)
{
	const struct masks *masks = observer->observed->masks;
	const struct mask *innermost = NULL;

	for (size_t i = 0; observer->observed->alone && masks && i < masks->count; i++) {
		const struct mask *mask = &masks->items[i];

		if (mask_hides(mask) && path_is_under(mask->path, path))
			return true;
		if ((!mask->guard || mask_hides(mask)) && path_is_under(path, mask->path) &&
		    (!innermost || strlen(mask->path) > strlen(innermost->path)))
			innermost = mask;
	}
	return innermost && mask_hides(innermost);
}

mode_t take_umask(const struct seccomp_notif *call)
{
	return umask(caller_umask((pid_t)call->pid));
}

/* Where a change of the name is performed: in the sandbox's own view of it; in the host's where a
 * person granted it, and in a holder, over which a read-only mount lies there. -errno. */
static int place_of(const struct observer *observer, const struct spot *spot, enum guard guard,
		    int *ret_opened)
{
	*ret_opened = -1;
	if (spot->granted)
		*ret_opened = permit_open_parent(observer, spot->path, spot->parent);
	else if (hold_needs_host(observer, spot->parent, spot->path, guard))
		*ret_opened = hold_open_parent(observer, spot->path, spot->parent);
	else
		return spot->parent;
	return *ret_opened;
}

/* False if it is answered. */
static bool judge_spot(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap, enum trap_kind kind, struct spot *spot)
{
	enum judgement judgement;

	if (spot->granted) /* where it was found */
		return true;
	judgement = judge(observer, call, trap, kind, 0, spot->exists, &spot->st, spot->path);
	spot->granted = judgement == JUDGED_GRANTED;
	return judgement != JUDGED_ANSWERED;
}

/* 1: found, the spot's parent is the caller's to close; 0: answered. */
static int find_spot(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap, int directory, int path, struct spot *ret_spot)
{
	char text[PATH_MAX];
	pid_t tid = (pid_t)call->pid;
	int r = caller_text(tid, call->data.args[path], text, sizeof(text));

	if (r == -EFAULT)
		observer->unread++;
	if (r == 0 && !*text)
		r = -ENOENT;
	if (r == 0)
		r = caller_find_name(observer->observed->root, tid,
				     argument(call, directory, AT_FDCWD), text, ret_spot);
	if (r == 0 && !ret_spot->exists && below_is_in_shell(observer, ret_spot->path)) {
		close(ret_spot->parent);
		r = -EACCES;
	}
	if (r == 0 && still_waiting(observer, call->id))
		return 1;
	if (r == 0) {
		close(ret_spot->parent);
		return 0;
	}
	if (r == -EACCES && *text) {
		enum below below =
			below_find_name(observer, call, trap, directory, path, text, ret_spot);

		if (below == BELOW_GRANTED && still_waiting(observer, call->id))
			return 1;
		if (below == BELOW_GRANTED)
			close(ret_spot->parent);
		if (below != BELOW_NOT)
			return 0;
	}
	if (trap->kind == TRAP_REMOVE)
		answer_continue(observer, call->id); /* the kernel's own words are the right ones */
	else
		answer(observer, call->id, r == -EBUSY && trap->kind != TRAP_RENAME ? EEXIST : -r);
	return 0;
}

/* Refuses a guarded name. */
static void refuse_guarded(struct observer *observer, const struct seccomp_notif *call,
			   const struct trap *trap, const char *path, const char *rule)
{
	refuse_file(observer, call, trap, trap->kind == TRAP_REMOVE ? "delete" : "write", path,
		    /* tree= */ false, rule && *rule ? rule : rule_guarded, EACCES);
}

bool may_not_become_repository(struct observer *observer, const struct seccomp_notif *call,
			       const struct trap *trap, const char *path)
{
	bool objects = guard_is(path_last(path), "objects");
	char directory[PATH_MAX], other[PATH_MAX + 16], why[300] = "";
	struct stat st;

	if (!objects && !guard_is(path_last(path), "refs"))
		return false;
	strcpy(directory, path);
	*strrchr(directory, '/') = '\0';
	if (!hold_guards(observer, directory) || hold_is_held(observer, directory))
		return false;
	snprintf(other, sizeof(other), "%s/%s", directory, objects ? "refs" : "objects");
	if (lstat(other, &st) < 0 || hold_adopt(observer, directory, why) == 0)
		return false;
	refuse_guarded(observer, call, trap, directory, why);
	return true;
}

static bool is_kind_of_node(uint64_t mode)
{
	return S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || S_ISCHR(mode) ||
	       S_ISBLK(mode) || !(mode & S_IFMT);
}

static int make(const struct seccomp_notif *call, const struct trap *trap, int parent,
		const char *name)
{
	mode_t mode = (mode_t)call->data.args[MAX(trap->mode, 0)], before;
	bool directory = trap->number == SYS_mkdir || trap->number == SYS_mkdirat;
	int r;

	if (!directory && (S_ISCHR(mode) || S_ISBLK(mode)))
		return -EPERM;
	before = take_umask(call);
	r = directory ? mkdirat(parent, name, mode & 01777) : mknodat(parent, name, mode, 0);
	r = r < 0 ? -errno : 0;
	umask(before);
	return r;
}

static void serve_make(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap)
{
	_cleanup_close_ int parent = -1, opened = -1;
	_cleanup_worktrees_ struct observer *locked = NULL;
	bool directory = trap->number == SYS_mkdir || trap->number == SYS_mkdirat;
	const char *rule = NULL;
	char target[PATH_MAX];
	enum guard guard;
	struct spot spot;
	int at, r = 0;

	if (trap->kind == TRAP_SYMLINK)
		r = caller_text((pid_t)call->pid, call->data.args[0], target, sizeof(target));
	if (r < 0 || (trap->kind == TRAP_SYMLINK && !*target)) {
		answer(observer, call->id, r < 0 ? -r : ENOENT);
		return;
	}
	if (trap->kind == TRAP_MAKE && !directory &&
	    !is_kind_of_node(call->data.args[trap->mode])) {
		answer(observer, call->id, S_ISDIR(call->data.args[trap->mode]) ? EPERM : EINVAL);
		return;
	}
	if (!find_spot(observer, call, trap, trap->directory, trap->path, &spot))
		return;
	parent = spot.parent;
	if (!judge_spot(observer, call, trap, TRAP_MAKE, &spot))
		return;
	if (spot.exists || (spot.slash && !directory)) {
		answer(observer, call->id, spot.exists ? EEXIST : ENOENT);
		return;
	}
	guard = hold_judge(observer, spot.path);
	if (trap->kind == TRAP_SYMLINK) {
		locked = worktrees_lock(observer, /* alone= */ false);
		rule = link_rule(observer, spot.path, target);
	}
	if (rule || guard >= GUARD_INDEX || (guard == GUARD_HOLDER && !directory)) {
		refuse_guarded(observer, call, trap, spot.path, rule);
		return;
	}
	if (guard == GUARD_HOLDER)
		hold_announce(observer);
	else if (may_not_become_repository(observer, call, trap, spot.path))
		return;
	at = place_of(observer, &spot, guard, &opened);
	r = at < 0			 ? at
	    : trap->kind == TRAP_SYMLINK ? (symlinkat(target, at, spot.name) < 0 ? -errno : 0)
					 : make(call, trap, at, spot.name);
	if (r == 0 && guard == GUARD_HOLDER)
		hold_made(observer, at, spot.name);
	if (r == 0)
		hold_look_again(observer, spot.path);
	answer(observer, call->id, -r);
}

static bool is_empty(const struct spot *spot)
{
	int fd = openat(spot->parent, spot->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	bool empty = true;

	if (!directory)
		close_fd(&fd);
	while (directory && empty && (entry = readdir(directory)))
		empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	if (directory)
		closedir(directory);
	return empty;
}

/* Not for the command to change, but for ward's user. */
static bool lies_outside(const struct observer *observer, const struct spot *spot,
			 enum trap_kind kind)
{
	const char *rule = NULL;

	return !spot->granted && !may_write(observer, spot->path, &rule) &&
	       possible_outside(observer, kind, spot->exists, &spot->st, spot->path);
}

/* How it ends, whoever may do it: an errno, or 0. */
static int end_of_remove(const struct spot *spot, int flags)
{
	bool directory = S_ISDIR(spot->st.st_mode);

	if (!(flags & AT_REMOVEDIR))
		return directory ? EISDIR : spot->slash ? ENOTDIR : 0;
	return !directory ? ENOTDIR : is_empty(spot) ? 0 : ENOTEMPTY;
}

static int end_of_rename(const struct spot *from, const struct spot *to)
{
	bool directory = S_ISDIR(from->st.st_mode);

	if (!to->exists)
		return 0;
	if (directory != S_ISDIR(to->st.st_mode))
		return directory ? ENOTDIR : EISDIR;
	return !directory || is_empty(to) ? 0 : ENOTEMPTY;
}

/* What the kernel finds before it looks at permissions. */
static int fault_of_rename(const struct spot *from, const struct spot *to, unsigned flags)
{
	bool same = strcmp(from->path, to->path) == 0;

	if (!from->exists)
		return ENOENT;
	if (to->exists ? flags & RENAME_NOREPLACE : flags & RENAME_EXCHANGE)
		return to->exists ? EEXIST : ENOENT;
	if ((from->slash || to->slash) && !S_ISDIR(from->st.st_mode))
		return ENOTDIR;
	if (!same && path_is_under(to->path, from->path))
		return EINVAL;
	if (!same && path_is_under(from->path, to->path))
		return flags & RENAME_EXCHANGE ? EINVAL : ENOTEMPTY;
	return 0;
}

/* A name goes away from a holder. */
static void serve_remove(struct observer *observer, const struct seccomp_notif *call,
			 const struct trap *trap)
{
	_cleanup_close_ int parent = -1, opened = -1;
	int flags = trap->flags >= 0		? (int)call->data.args[trap->flags]
		    : trap->number == SYS_rmdir ? AT_REMOVEDIR
						: 0;
	enum guard guard;
	bool pointer;
	struct spot spot;
	int at, error;

	if (!find_spot(observer, call, trap, trap->directory, trap->path, &spot))
		return;
	parent = spot.parent;
	if (!spot.exists) { /* on a read-only mount the kernel would not even look */
		answer(observer, call->id, ENOENT);
		return;
	}
	/* Nobody is asked for what would fail all the same, nor is it a refusal. */
	if (lies_outside(observer, &spot, TRAP_REMOVE) && (error = end_of_remove(&spot, flags))) {
		answer(observer, call->id, error);
		return;
	}
	if (!judge_spot(observer, call, trap, TRAP_REMOVE, &spot))
		return;
	guard = hold_judge(observer, spot.path);
	pointer = guard == GUARD_HOLDER && S_ISREG(spot.st.st_mode) && is_mount_point(&spot);
	spot.granted |= pointer && permit_covers(observer, PERMIT_DELETE, spot.path, false);
	/* What comes to lie in its place says nothing that was not looked at, but without drafts.
	 */
	if (pointer && !spot.granted && !pointers_have_drafts(observer)) {
		refuse_guarded(observer, call, trap, spot.path, NULL);
		return;
	}
	if (!spot.granted && !hold_needs_host(observer, spot.parent, spot.path, guard)) {
		answer_continue(observer, call->id);
		return;
	}
	/* As it would end anyway: git tries whether its own directory is empty. */
	if (flags & AT_REMOVEDIR && S_ISDIR(spot.st.st_mode) && !is_empty(&spot)) {
		answer(observer, call->id, ENOTEMPTY);
		return;
	}
	/* Where to find a repository is no loss; a repository, or a hook that watches over it, is.
	 */
	if ((guard >= GUARD_CONFIG || guard == GUARD_HOLDER) && guard != GUARD_LATER &&
	    !(guard == GUARD_HOLDER && S_ISREG(spot.st.st_mode)) &&
	    !hold_is_ours(observer, spot.path)) {
		refuse_guarded(observer, call, trap, spot.path, NULL);
		return;
	}
	/* A draft goes with what it is shown for, and so does what holds a pointer. */
	if (!pointer && is_mount_point(&spot) && !pointer_find(observer, &spot.st)) {
		answer(observer, call->id, EBUSY);
		return;
	}
	at = place_of(observer, &spot, guard, &opened);
	answer(observer, call->id,
	       at < 0						   ? -at
	       : unlinkat(at, spot.name, flags & AT_REMOVEDIR) < 0 ? errno
								   : 0);
}

/* Whether what a person granted may get another place: it must not be that more can be done to it
 * there, or for longer. For those that may not it is as with two mounts, and programs copy. */
static bool may_be_moved(const struct observer *observer, const struct spot *from,
			 const struct spot *to)
{
	bool directory = S_ISDIR(from->st.st_mode);

	if ((!from->granted && !to->granted) ||
	    observer->observed->unchecked & CHECK_BIT(CHECK_MOVES))
		return true;
	/* In the workspace what a directory holds could be written, and no mount holds what is
	 * guarded in it. Out of it a directory would take along the ways to it that are open. */
	if (directory && (!from->granted || !to->granted || never_below(observer, from->path)))
		return false;
	if (!from->granted || (!directory && from->st.st_nlink <= 1))
		return true;
	/* What has other names can be written by this one wherever that may be: a yes to delete
	 * this name is none to that. */
	if (to->granted && permit_covers(observer, PERMIT_WRITE, from->path, directory))
		return true;
	return directory && !permit_covers(observer, PERMIT_WRITE, to->path, /* whole= */ true);
}

/* A directory that would come to the other side of the walls is not moved whatever is answered, so
 * nobody is asked: programs copy it then, and that is asked about. */
static bool crosses(const struct observer *observer, const struct spot *from, const struct spot *to)
{
	const char *rule = NULL;

	return S_ISDIR(from->st.st_mode) &&
	       !(observer->observed->unchecked & CHECK_BIT(CHECK_MOVES)) &&
	       may_write(observer, from->path, &rule) != may_write(observer, to->path, &rule);
}

static int rename_at(const struct observer *observer, const struct spot *from, enum guard source,
		     const struct spot *to, enum guard target, unsigned flags)
{
	_cleanup_close_ int opened = -1, opened2 = -1;
	int at = place_of(observer, from, source, &opened), at2;

	if (at < 0)
		return at;
	at2 = place_of(observer, to, target, &opened2);
	if (at2 < 0)
		return at2;
	/* One in the sandbox's view and one in the host's would be two mounts. */
	if (opened >= 0 && opened2 < 0)
		at2 = opened2 = permit_open_parent(observer, to->path, to->parent);
	if (opened2 >= 0 && opened < 0)
		at = opened = permit_open_parent(observer, from->path, from->parent);
	if (at < 0 || at2 < 0) /* the host knows one of them by another name: /tmp, that is */
		return -EXDEV;
	return (int)syscall(SYS_renameat2, at, from->name, at2, to->name, flags) < 0 ? -errno : 0;
}

/* What holds something masked, or read-only, keeps its place, or that would lie where nothing
 * covers it. The kernel says only that it is busy; a mount of somebody else's is no business of
 * ours. */
static void refuse_held(struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap, const char *path)
{
	const struct masks *masks = observer->observed->masks;
	const struct area *area = area_held(observer, path);
	const char *held = area ? area->path : NULL;
	_cleanup_free_ char *rule = NULL;

	/* Of some only another text is seen, which is no area. */
	for (size_t i = 0; !held && masks && i < masks->count; i++)
		if (mask_hides(&masks->items[i]) && path_is_under(masks->items[i].path, path))
			held = masks->items[i].path;
	if (!held) {
		answer(observer, call->id, EBUSY);
		return;
	}
	if (asprintf(&rule, "held: %s is %s, and keeps its place", held,
		     area && area->state == STATE_READ_ONLY ? "read-only" : "masked") < 0)
		abort();
	refuse(observer, call, trap, "write", path, rule, EBUSY);
}

static void serve_rename(struct observer *observer, const struct seccomp_notif *call,
			 const struct trap *trap)
{
	_cleanup_close_ int parent = -1, parent2 = -1;
	_cleanup_worktrees_ struct observer *locked = NULL;
	unsigned flags = trap->flags >= 0 ? (unsigned)call->data.args[trap->flags] : 0;
	enum guard source, target;
	const char *rule = NULL;
	struct spot from, to;
	char why[300] = "";
	int r, text;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    flags == (RENAME_NOREPLACE | RENAME_EXCHANGE)) { /* whiteouts are devices */
		answer(observer, call->id, EINVAL);
		return;
	}
	if (!find_spot(observer, call, trap, trap->directory, trap->path, &from))
		return;
	parent = from.parent;
	if (!find_spot(observer, call, trap, trap->directory2, trap->path2, &to))
		return;
	parent2 = to.parent;
	r = fault_of_rename(&from, &to, flags);
	if (r == 0 && !(flags & RENAME_EXCHANGE) && lies_outside(observer, &from, TRAP_REMOVE) &&
	    lies_outside(observer, &to, TRAP_RENAME))
		r = end_of_rename(&from, &to);
	if (r) {
		answer(observer, call->id, r);
		return;
	}
	/* Nor for what would not be done after a yes: EINVAL as where it is not known. */
	if (observer->observed->asks && flags & RENAME_EXCHANGE &&
	    (lies_outside(observer, &from, TRAP_REMOVE) ||
	     lies_outside(observer, &to, TRAP_REMOVE))) {
		answer(observer, call->id, EINVAL);
		return;
	}
	if (observer->observed->asks && crosses(observer, &from, &to)) {
		answer(observer, call->id, EXDEV);
		return;
	}
	if (!judge_spot(observer, call, trap, TRAP_REMOVE, &from) ||
	    !judge_spot(observer, call, trap, to.exists ? TRAP_RENAME : TRAP_MAKE, &to))
		return;
	if ((from.granted || to.granted) && flags & RENAME_EXCHANGE) {
		answer(observer, call->id, EINVAL); /* as where it is not known */
		return;
	}
	if (!may_be_moved(observer, &from, &to)) {
		answer(observer, call->id, EXDEV);
		return;
	}
	source = hold_judge(observer, from.path);
	target = hold_judge(observer, to.path);
	/* The one mount over which something may be installed. */
	text = to.exists && target == GUARD_CONFIG ? text_find(observer->observed->texts, &to.st)
						   : -1;
	/* What was named to be written lies below a mount of its own, and may be replaced. */
	if (is_mount_point(&from) ||
	    (text < 0 && is_mount_point(&to) && !hold_is_named(observer, to.path))) {
		refuse_held(observer, call, trap, is_mount_point(&from) ? from.path : to.path);
		return;
	}
	/* Mounts hold what lies above a mask; where there are none, we do. */
	if (holds_denied(observer, from.path) ||
	    (flags & RENAME_EXCHANGE && holds_denied(observer, to.path))) {
		refuse_held(observer, call, trap,
			    holds_denied(observer, from.path) ? from.path : to.path);
		return;
	}
	r = judge_move(observer, &from, source, &to, target, flags);
	if (S_ISDIR(from.st.st_mode) &&
	    (hold_closes_below(observer, to.path) ||
	     (to.granted && permit_refuses_directory(observer, to.path))))
		r = -1;
	if (r == 0) {
		locked = worktrees_lock(observer, /* alone= */ false);
		rule = moved_rule(observer, from.st.st_mode, from.path, to.path);
		if (!rule && flags & RENAME_EXCHANGE)
			rule = moved_rule(observer, to.st.st_mode, to.path, from.path);
	}
	if (rule) {
		refuse_guarded(observer, call, trap, to.path, rule);
		return;
	}
	if (r < 0) {
		refuse_guarded(observer, call, trap,
			       target >= GUARD_INDEX || target == GUARD_HOLDER ? to.path
									       : from.path,
			       NULL);
		return;
	}
	if (r == 1) {
		_cleanup_close_ int at = hold_open_parent(observer, to.path, to.parent);

		if (at < 0)
			r = at;
		else if (target == GUARD_INDEX)
			r = hold_install_index(observer, at, from.name, to.name, &from.st, why);
		else if (guard_is(to.name, ".claude.json"))
			r = hold_install_settings(observer, at, from.name, to.name, from.st.st_mode,
						  to.path);
		else
			r = hold_install_config(observer, at, from.name, to.name, from.st.st_mode,
						text, why);
		if (*why) {
			refuse_guarded(observer, call, trap, to.path, why);
			return;
		}
		answer(observer, call->id, -r);
		return;
	}
	if (would_be_shown(observer, from.path) ||
	    (flags & RENAME_EXCHANGE && would_be_shown(observer, to.path))) {
		refuse_held(observer, call, trap,
			    would_be_shown(observer, from.path) ? from.path : to.path);
		return;
	}
	if (may_not_become_repository(observer, call, trap, to.path) ||
	    (flags & RENAME_EXCHANGE && may_not_become_repository(observer, call, trap, from.path)))
		return;
	if (target == GUARD_HOLDER)
		hold_announce(observer);
	r = rename_at(observer, &from, source, &to, target, flags);
	hold_look_again(observer, to.path);
	if (flags & RENAME_EXCHANGE)
		hold_look_again(observer, from.path);
	answer(observer, call->id, -r);
}

/* A second name in what may be written would be a way to write it. */
static bool may_be_linked(const struct observer *observer, struct found *found)
{
	const char *rule = NULL;

	found->granted = !may_write(observer, found->path, &rule);
	return !found->granted || observer->observed->unchecked & CHECK_BIT(CHECK_MOVES) ||
	       permit_covers(observer, PERMIT_WRITE, found->path, /* whole= */ false);
}

/* Both names lie outside, and there it could be done. In the workspace it could be written for
 * ever, so nobody is asked for that. */
static bool wants_link(const struct observer *observer, const struct found *found,
		       const struct spot *spot)
{
	return observer->observed->asks && S_ISREG(found->st.st_mode) && found->st.st_nlink > 0 &&
	       !spot->exists && !spot->slash && lies_outside(observer, spot, TRAP_LINK) &&
	       possible_outside(observer, TRAP_CUT, true, &found->st, found->path);
}

static const char rule_second[] =
	"default: write only in the workspace and /tmp; a second name is a way to write";

static int link_at(const struct observer *observer, const struct found *found,
		   const struct spot *spot, enum guard guard)
{
	_cleanup_close_ int opened = -1, object = -1;
	int at = place_of(observer, spot, guard, &opened), fd = found->fd;
	char link[64];

	if (found->granted && !spot->granted) {
		close_fd(&opened);
		at = opened = permit_open_parent(observer, spot->path, spot->parent);
	}
	/* Both in the same view; what has no name yet is where it is. */
	if (at >= 0 && (found->granted || spot->granted) && found->st.st_nlink > 0)
		fd = object = permit_open_object(observer, found->path, &found->st);
	if (at < 0 || fd < 0)
		return found->granted || spot->granted ? -EXDEV : at;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, link, at, spot->name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static void serve_link(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap)
{
	_cleanup_close_ int parent = -1, fd = -1;
	_cleanup_worktrees_ struct observer *locked = NULL;
	int flags = trap->flags >= 0 ? (int)call->data.args[trap->flags] : 0;
	const char *refused = NULL;
	char text[PATH_MAX];
	const char *rule = "default: no second name for what cannot be written";
	enum guard target, source;
	struct found found;
	struct spot spot;
	int r;

	r = flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)
		    ? -EINVAL
		    : caller_text((pid_t)call->pid, call->data.args[trap->path], text,
				  sizeof(text));
	if (r == 0 && !*text && !(flags & AT_EMPTY_PATH))
		r = -ENOENT;
	if (r == 0 && flags & AT_SYMLINK_FOLLOW && caller_fd_named(text) >= 0) {
		/* How a file without a name gets one. */
		char link[64];

		fd = caller_object((pid_t)call->pid, caller_fd_named(text));
		found = (struct found){.fd = fd, .exists = true};
		r = fd < 0 ? fd : fstat(fd, &found.st) < 0 ? -errno : 0;
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (r == 0)
			r = (int)readlink(link, found.path, sizeof(found.path) - 1);
		if (r > 0)
			found.path[r] = '\0';
		r = MIN(r, 0);
	} else if (r == 0) {
		r = caller_find(observer->observed->root, (pid_t)call->pid,
				argument(call, trap->directory, AT_FDCWD), text,
				flags & AT_SYMLINK_FOLLOW, &found);
		fd = r == 0 ? found.fd : -1;
	}
	if (r < 0 || !found.exists) {
		answer(observer, call->id, r < 0 ? -r : ENOENT);
		return;
	}
	if (!find_spot(observer, call, trap, trap->directory2, trap->path2, &spot))
		return;
	parent = spot.parent;
	if (found.path[0] != '/' || !may_be_linked(observer, &found)) {
		if (found.path[0] == '/' && wants_link(observer, &found, &spot))
			refuse_file(observer, call, trap, "write", found.path, /* tree= */ false,
				    rule_second, EACCES);
		else /* as the kernel says by another mount */
			answer(observer, call->id,
			       spot.exists		   ? EEXIST
			       : S_ISDIR(found.st.st_mode) ? EPERM
							   : EXDEV);
		return;
	}
	if (!judge_spot(observer, call, trap, TRAP_LINK, &spot))
		return;
	if (spot.exists || spot.slash) {
		answer(observer, call->id, spot.exists ? EEXIST : ENOENT);
		return;
	}
	/* By a name in the workspace it could be written for ever. */
	if (found.granted && !spot.granted &&
	    !(observer->observed->unchecked & CHECK_BIT(CHECK_MOVES))) {
		answer(observer, call->id, EXDEV);
		return;
	}
	target = hold_judge(observer, spot.path);
	source = hold_judge(observer, found.path);
	if (S_ISLNK(found.st.st_mode)) {
		locked = worktrees_lock(observer, /* alone= */ false);
		refused = moved_rule(observer, S_IFLNK, found.path, spot.path);
	}
	if (refused || target >= GUARD_INDEX || target == GUARD_HOLDER) {
		refuse_guarded(observer, call, trap, spot.path, refused);
		return;
	}
	/* A second name would be a way round the first. */
	if (source >= GUARD_INDEX || source == GUARD_HOLDER) {
		refuse_guarded(observer, call, trap, found.path, NULL);
		return;
	}
	/* Nor is what cannot be written where it lies given a name where it could be. */
	if (observer->observed->alone && !found.granted && would_be_shown(observer, found.path)) {
		refuse(observer, call, trap, "write", found.path, rule, EACCES);
		return;
	}
	if (may_not_become_repository(observer, call, trap, spot.path))
		return;
	r = link_at(observer, &found, &spot, target);
	hold_look_again(observer, spot.path);
	answer(observer, call->id, -r);
}

void serve_names_of_files(struct observer *observer, const struct seccomp_notif *call,
			  const struct trap *trap)
{
	switch (trap->kind) {
	case TRAP_REMOVE:
		serve_remove(observer, call, trap);
		break;
	case TRAP_RENAME:
		serve_rename(observer, call, trap);
		break;
	case TRAP_LINK:
		serve_link(observer, call, trap);
		break;
	default:
		serve_make(observer, call, trap);
	}
}
