/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that open or change files. On ordinary ground the walls alone decide them; what is judged
 * here is whether they will refuse, so that the refusal is known exactly, and whether it is ward's
 * or would have come without it. */
#include "../observer.h"
#include "plain.h"
#include "../../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static const char rule_outside[] = "default: write only in the workspace and /tmp";
static const char rule_masked[] = "default: secrets are masked";
const char rule_native[] = "the system's own file permissions";
static const char rule_beside[] =
	"default: nothing new beside a secret, where Landlock stands alone";
static const char rule_by_product[] = "default: by-products are not worth a question";
static const char rule_never[] = "never: ward's own files and the kernel's, by whatever name";
static const char rule_set_id[] = "no set-user-id or set-group-id files";

static bool is_process_directory(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9';
}

bool may_write(const struct observer *observer, const char *path, const char **ret_rule)
{
	const struct area *area = areas_find(observer->observed->areas, path);

	if (observer->observed->tmp && path_is_under(path, observer->observed->tmp))
		return true; /* it lies in ward's state, which is masked */
	if (area && area->state == STATE_WRITABLE)
		return true;
	if (area && (area->rule || area->state == STATE_DENIED))
		*ret_rule = area->rule ? area->rule : rule_masked;
	return (!observer->observed->alone &&
		(path_is_under(path, "/dev/shm") || path_is_under(path, "/dev/pts"))) ||
	       is_process_directory(path);
}

/* Whether the user could have done it without ward: only then is the refusal ward's. */
bool possible_outside(const struct observer *observer, enum trap_kind kind, bool exists,
		      const struct stat *st, const char *path)
{
	char parent[PATH_MAX];
	char *slash;

	if (kind == TRAP_CHANGE)
		return st->st_uid == observer->observed->uid;
	if ((kind == TRAP_OPEN && exists) || kind == TRAP_CUT)
		/* A directory: a file without a name in it. */
		return faccessat(AT_FDCWD, path, S_ISDIR(st->st_mode) ? W_OK | X_OK : W_OK,
				 AT_EACCESS) == 0;
	strcpy(parent, path);
	slash = strrchr(parent, '/');
	if (!slash)
		return false;
	slash[slash == parent] = '\0';
	return faccessat(AT_FDCWD, parent, W_OK | X_OK, AT_EACCESS) == 0;
}

const struct area *area_held(const struct observer *observer, const char *path)
{
	const struct areas *areas = observer->observed->areas;

	for (size_t i = 0; i < areas->count; i++)
		if (areas->items[i].state != STATE_WRITABLE &&
		    path_is_under(areas->items[i].path, path))
			return &areas->items[i];
	return NULL;
}

bool holds_denied(const struct observer *observer, const char *path)
{
	return area_held(observer, path);
}

/* Where Landlock stands alone, it has no rule for a directory above something denied. */
static bool lies_beside_denied(const struct observer *observer, const char *path)
{
	char parent[PATH_MAX];

	strcpy(parent, path);
	*strrchr(parent, '/') = '\0';
	return holds_denied(observer, parent);
}

/* Whether the kernel gets as far as asking for permission at all. */
static bool would_be_tried(enum trap_kind kind, uint64_t flags, bool exists, const struct stat *st)
{
	switch (kind) {
	case TRAP_OPEN:
		if (!exists)
			return flags & O_CREAT;
		if (S_ISDIR(st->st_mode))
			return (flags & O_TMPFILE) == O_TMPFILE;
		return (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
	case TRAP_MAKE:
	case TRAP_LINK:
		return !exists;
	default:
		return exists;
	}
}

/* Owners, attributes and nodes are asked for by starting again: they are rare, and more than a
 * name. On what is granted already they are done like everything else. */
static bool is_given_in_place(const struct trap *trap)
{
	return trap->number != SYS_mknod && trap->number != SYS_mknodat &&
	       change_is_given_in_place(trap->number);
}

static bool is_by_product(const struct observer *observer, pid_t tid, const char *path)
{
	const struct list *by_products = observer->observed->by_products;
	char program[32], its_own[PATH_MAX + sizeof(program)];

	if (path_is_among(path, by_products))
		return true;
	caller_name(tid, program);
	snprintf(its_own, sizeof(its_own), "%s %s", program, path);
	return by_products && list_has(by_products, its_own);
}

void refuse_file(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap, const char *operation, const char *path, bool tree,
		 const char *rule, int error)
{
	const struct wish wish = {.operation = operation, .object = path, .tree = tree};
	bool never;

	if ((rule == rule_outside || rule == rule_masked) &&
	    is_by_product(observer, (pid_t)call->pid, path)) {
		refuse(observer, call, trap, operation, path, rule_by_product, error);
		return;
	}
	/* Whoever is asked shall know that it runs programs, and be asked for it alone. */
	if (rule == rule_outside && guard_path("", path, NULL) >= GUARD_CONFIG)
		rule = rule_guarded;
	never = permit_never(observer, path) || never_in_kernel(path);
	/* Its name alone does not tell, so the reason says it: nobody is to be asked for what lies
	 * around it, either. */
	if (never && !never_by_name(observer, path))
		rule = rule_never;
	if (never || !is_given_in_place(trap) || !wish_add(observer, call, trap, &wish, rule))
		refuse(observer, call, trap, operation, path, rule, error);
}

/* What the kernel would open or make there is a directory: a grant of it is one of all it holds. */
static bool is_tree(enum trap_kind kind, const struct trap *trap, bool exists,
		    const struct stat *st)
{
	if (exists) /* of those that remove one, a rename takes along what lies in it */
		return S_ISDIR(st->st_mode) && (trap->kind == TRAP_RENAME || kind == TRAP_OPEN);
	return trap->number == SYS_mkdir || trap->number == SYS_mkdirat;
}

void judge_hidden(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, enum trap_kind kind, uint64_t flags,
		  const char *operation, const struct hidden *hidden)
{
	const struct found *found = &hidden->found;

	if (hidden->error == 0 && would_be_tried(kind, flags, found->exists, &found->st) &&
	    possible_outside(observer, kind, found->exists, &found->st, found->path))
		refuse_file(observer, call, trap, operation, found->path,
			    is_tree(kind, trap, found->exists, &found->st), hidden->rule, EACCES);
	else
		refuse(observer, call, trap, operation, found->path, hidden->rule, EACCES);
}

/* A directory that gets another place takes all it holds along: a yes to its mode or its times is
 * none to that. */
static bool is_moved_whole(const struct observer *observer, const struct trap *trap, bool exists,
			   const struct stat *st)
{
	return trap->kind == TRAP_RENAME && exists && S_ISDIR(st->st_mode) &&
	       !(observer->observed->unchecked & CHECK_BIT(CHECK_MOVES));
}

enum judgement judge(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap, enum trap_kind kind, uint64_t flags, bool exists,
		     const struct stat *st, const char *path)
{
	const char *operation = kind == TRAP_REMOVE ? "delete" : "write", *rule = NULL;
	bool names = (kind >= TRAP_MAKE && kind <= TRAP_LINK) || (kind == TRAP_OPEN && !exists);
	int error = path_is_under(path, "/proc") ? EROFS : EACCES;
	const struct permit *permit;

	if (!would_be_tried(kind, flags, exists, st))
		return JUDGED_FREE;
	if (may_write(observer, path, &rule)) {
		if (!names || !observer->observed->alone || !lies_beside_denied(observer, path)) {
			witness_tell(observer, (pid_t)call->pid, operation, path);
			return JUDGED_FREE;
		}
		rule = rule_beside; /* as Landlock would say, if it were asked */
	}
	if (path_is_under(path, "/dev") && exists && kind == TRAP_OPEN)
		return JUDGED_FREE; /* a device that the sandbox has is there to be used */
	permit = permit_find(observer, kind == TRAP_REMOVE ? PERMIT_DELETE : PERMIT_WRITE, path,
			     is_moved_whole(observer, trap, exists, st));
	if (permit && observer->observed->unchecked & CHECK_BIT(CHECK_PERFORM)) {
		answer_continue(observer, call->id);
		return JUDGED_ANSWERED;
	}
	if (permit) {
		terms_use(observer, permit->number, call->id);
		if (kind == TRAP_OPEN)
			terms_note_file(observer, permit->number, path);
		witness_tell(observer, (pid_t)call->pid, operation, path);
		return JUDGED_GRANTED;
	}
	if (possible_outside(observer, kind, exists, st, path))
		refuse_file(observer, call, trap, operation, path, is_tree(kind, trap, exists, st),
			    rule ? rule : rule_outside, error);
	else /* nobody is asked for what would fail all the same */
		refuse(observer, call, trap, operation, path, rule ? rule : rule_native, error);
	return JUDGED_ANSWERED;
}

/* False if it is answered. */
static bool judge_found(struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap, enum trap_kind kind, uint64_t flags,
			struct found *found)
{
	enum judgement judgement =
		judge(observer, call, trap, kind, flags, found->exists, &found->st, found->path);

	found->granted = judgement == JUDGED_GRANTED;
	return judgement != JUDGED_ANSWERED;
}

/* What a change is made on: where a person granted it, the host's view of the object. -errno;
 * *ret_opened is to be closed. */
static int object_of(const struct observer *observer, const struct found *found, int *ret_opened)
{
	*ret_opened = found->granted ? permit_open_found(observer, found) : -1;
	return found->granted ? *ret_opened : found->fd;
}

int argument(const struct seccomp_notif *call, int index, int otherwise)
{
	return index < 0 ? otherwise : (int)call->data.args[index];
}

/* Set-group-id on a directory only makes new files share its group; on a file it would hand out the
 * group's rights. Performed here, because after our look at the object the caller could put another
 * one in its place. */
static void set_mode(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap, int fd, const char *object, mode_t mode)
{
	char link[64];
	struct stat st;

	if (fstat(fd, &st) < 0) {
		answer(observer, call->id, errno);
		return;
	}
	if (!S_ISDIR(st.st_mode)) {
		refuse(observer, call, trap, "write", object, rule_set_id, EPERM);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	answer(observer, call->id, chmod(link, mode & 07777) < 0 ? errno : 0);
}

/* A name that runs programs, also in a tree that was granted. Modes and times of a configuration
 * set nothing in it; git tries out on it whether modes are kept. True if it is refused, and
 * answered. */
static bool refuse_change(struct observer *observer, const struct seccomp_notif *call,
			  const struct trap *trap, const struct found *found)
{
	enum guard guard = hold_judge(observer, found->path);

	/* A file of a holder's name may say where a repository lies: cut, it says another place. */
	if (guard == GUARD_HOLDER
		    ? trap->kind != TRAP_CUT
		    : guard < GUARD_INDEX || (guard <= GUARD_CONFIG && trap->kind != TRAP_CUT))
		return false;
	refuse_file(observer, call, trap, "write", found->path, /* tree= */ false, rule_guarded,
		    EACCES);
	return true;
}

/* A change by fd that is shown to us: modes with set-group-id, or with which a file can be executed
 * that we may still hold for writing; and all of them where no mounts stand. */
static void serve_fd(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap)
{
	bool shares_group = trap->mode >= 0 && call->data.args[trap->mode] & S_ISGID;
	struct found found = {.fd = -1, .exists = true};
	_cleanup_close_ int fd = -1, opened = -1;
	char link[64];
	ssize_t length;
	int object;

	if (!shares_group && !observer->observed->alone && change_mode_by_fd(observer, call))
		return;
	fd = found.fd = caller_object((pid_t)call->pid, (int)call->data.args[0]);
	if (fd < 0 || fstat(fd, &found.st) < 0 || !still_waiting(observer, call->id)) {
		answer(observer, call->id, fd < 0 ? -fd : EINTR);
		return;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, found.path, sizeof(found.path) - 1);
	found.path[MAX(length, 0)] = '\0';
	if (found.path[0] == '/' && found.st.st_nlink > 0 &&
	    (!judge_found(observer, call, trap, TRAP_CHANGE, 0, &found) ||
	     (found.granted && refuse_change(observer, call, trap, &found))))
		return;
	object = object_of(observer, &found, &opened);
	if (object < 0)
		answer(observer, call->id, -object);
	else if (shares_group)
		set_mode(observer, call, trap, object, found.path,
			 (mode_t)call->data.args[trap->mode]);
	else if (!serve_change(observer, call, object, found.granted))
		answer_continue(observer, call->id);
}

static void set_group_id(struct observer *observer, const struct seccomp_notif *call,
			 const struct trap *trap, const struct found *found)
{
	_cleanup_close_ int opened = -1;
	int object = object_of(observer, found, &opened);

	if (object < 0)
		answer(observer, call->id, -object);
	else
		set_mode(observer, call, trap, object, found->path,
			 (mode_t)call->data.args[trap->mode]);
}

static bool sets_group_id(const struct seccomp_notif *call, const struct trap *trap)
{
	return trap->kind == TRAP_CHANGE && trap->mode >= 0 &&
	       call->data.args[trap->mode] & S_ISGID;
}

/* An open on ordinary ground goes on by itself while the walls hold all that is guarded; unless it
 * could make a file: whose name that would be is known only to whoever performs it. */
static bool goes_on(struct observer *observer, uint64_t flags)
{
	/* Landlock leaves it to us to cut what is not opened for writing. */
	if (!observer->observed->alone && flags & O_TRUNC && (flags & O_ACCMODE) == O_RDONLY)
		return false;
	return !observer->observed->guarded || (!hold_performs(observer) && !(flags & O_CREAT));
}

/* The path could not be found from here: no such directory, or a link of /proc that means the
 * caller's own fds. It meets the walls as it is, unless nothing may go on. Set-group-id meets no
 * wall, so without an object to look at it is refused. */
static void serve_unfound(struct observer *observer, const struct seccomp_notif *call,
			  const struct trap *trap, const char *text, uint64_t flags, int error)
{
	if (sets_group_id(call, trap))
		answer(observer, call->id, error == ENOENT ? ENOENT : EPERM);
	else if (observer->observed->alone && trap->kind == TRAP_CHANGE)
		answer(observer, call->id, error == 0 || error == EFAULT ? EACCES : error);
	else if (!observer->observed->alone && trap->kind == TRAP_CUT)
		answer(observer, call->id, error ? error : EACCES);
	else if (trap->kind != TRAP_OPEN || goes_on(observer, flags))
		answer_continue(observer, call->id);
	else if (caller_fd_named(text) >= 0)
		perform_reopen(observer, call, flags, caller_fd_named(text));
	else
		answer(observer, call->id, error ? error : EINTR);
}

static void serve_open(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap, uint64_t flags, const struct found *found)
{
	enum guard guard = hold_judge(observer, found->path);
	bool tried = would_be_tried(TRAP_OPEN, flags, found->exists, &found->st);
	_cleanup_close_ int parent = -1;
	struct pointer *pointer = NULL;
	const char *rule = NULL;

	/* A file without a name: with these flags nothing that is there can be opened, whatever the
	 * path comes to mean; and a name it gets by a link, which is judged. */
	if ((flags & O_TMPFILE) == O_TMPFILE && !found->granted) {
		answer_continue(observer, call->id);
		return;
	}
	/* Devices are for Landlock to decide; and so are files of processes, for we may look into
	 * all of the user's. */
	if (observer->observed->alone && !found->granted &&
	    (is_process_directory(found->path) || !may_write(observer, found->path, &rule))) {
		answer_continue(observer, call->id);
		return;
	}

	if (!found->exists && !(flags & O_CREAT)) {
		answer(observer, call->id, ENOENT);
		return;
	}
	if (guard == GUARD_HOLDER && is_no_holder(path_last(found->path)) && !found->exists)
		guard = GUARD_FREE;
	/* Where a repository lies may be written where nothing said it before. */
	if (guard == GUARD_HOLDER && guard_is(path_last(found->path), ".git") &&
	    !(found->exists && S_ISDIR(found->st.st_mode)))
		guard = GUARD_LATER;
	if (guard == GUARD_LATER && found->exists &&
	    !(pointer = pointer_find(observer, &found->st)) &&
	    !(tried && pointers_have_drafts(observer)))
		guard = GUARD_CLOSED;
	if (guard == GUARD_LATER && guard_is(path_last(found->path), "commondir")) {
		char directory[PATH_MAX];

		strcpy(directory, found->path);
		*strrchr(directory, '/') = '\0';
		if (worktree_is_taken_from_above(directory))
			guard = GUARD_CLOSED;
	}
	if (tried && (guard == GUARD_CLOSED || guard == GUARD_CONFIG || guard == GUARD_INDEX ||
		      guard == GUARD_HOLDER)) {
		refuse_file(observer, call, trap, "write", found->path, /* tree= */ false,
			    guard == GUARD_INDEX ? rule_index : rule_guarded, EACCES);
		return;
	}
	if (guard == GUARD_LATER && !pointer) {
		hold_announce(observer);
		parent = found->granted ? permit_open_parent(observer, found->path, found->fd)
					: hold_open_parent(observer, found->path,
							   found->exists ? -1 : found->fd);
		if (parent < 0 ||
		    (found->exists ? pointer_adopt(observer, found, parent, &pointer)
				   : pointer_make(observer, found, parent,
						  creation_mode(call, trap), &pointer)) < 0) {
			answer(observer, call->id, EACCES);
			return;
		}
	}
	if (pointer && pointer->draft >= 0) {
		perform_draft(observer, call, flags, found->exists, pointer);
		return;
	}
	if (!found->exists && may_not_become_repository(observer, call, trap, found->path))
		return;
	/* The memory of a process is for the wall to refuse: a debugger tries it, and then goes by
	 * ptrace. */
	if (observer->observed->closed_proc && found->exists && is_process_directory(found->path) &&
	    strcmp(path_last(found->path), "mem") != 0)
		perform_open(observer, call, trap, flags, found, guard);
	else if (!found->granted && goes_on(observer, flags) &&
		 !hold_needs_host(observer, found->fd, found->path, guard))
		answer_continue(observer, call->id);
	else
		perform_open(observer, call, trap, flags, found, guard);
	if (!found->exists)
		hold_look_again(observer, found->path);
}

/* -ENOSYS for what is not performed. */
static int change(const struct seccomp_notif *call, const struct trap *trap, int parent,
		  const struct found *found)
{
	pid_t tid = (pid_t)call->pid;
	struct timespec times[2];
	struct stat st;
	_cleanup_close_ int fd = -1, file = -1;
	char link[64];
	int r;

	fd = openat(parent, path_last(found->path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_dev != found->st.st_dev || st.st_ino != found->st.st_ino)
		return -ESTALE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (trap->kind == TRAP_CUT) {
		/* By an open that waits for nobody: truncate() would, for whoever holds a lease. */
		file = open(link, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		r = file < 0 ? -1 : ftruncate(file, (off_t)call->data.args[1]);
	} else if (trap->mode >= 0) {
		r = chmod(link, (mode_t)call->data.args[trap->mode] & 01777);
	} else if (trap->number == SYS_utimensat) {
		if (!call->data.args[2])
			r = utimensat(AT_FDCWD, link, NULL, 0);
		else if ((r = caller_bytes(tid, call->data.args[2], times, sizeof(times))) < 0)
			return r;
		else
			r = utimensat(AT_FDCWD, link, times, 0);
	} else {
		return -ENOSYS;
	}
	return r < 0 ? -errno : 0;
}

/* Its mount is the command's to write. */
static bool is_draft(const struct observer *observer, const struct stat *st)
{
	const struct pointer *pointer = pointer_find(observer, st);

	return pointer && pointer->draft >= 0 && pointer->shown.device == st->st_dev;
}

/* Mode, owner, times, length of something in a holder. */
static void serve_kept(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap, const struct found *found)
{
	enum guard guard = hold_judge(observer, found->path);
	_cleanup_close_ int parent = -1, opened = -1;
	int r = 0;

	if (!found->exists && observer->observed->alone) {
		answer(observer, call->id, ENOENT);
		return;
	}
	if (found->granted && refuse_change(observer, call, trap, found))
		return;
	if (found->granted) {
		int object = object_of(observer, found, &opened);

		if (object < 0)
			answer(observer, call->id, -object);
		else if (trap->kind == TRAP_CUT)
			perform_cut(observer, call, found, object);
		else
			(void)serve_change(observer, call, object, /* granted= */ true);
		return;
	}
	if (!hold_needs_host(observer, found->fd, found->path, guard) || !found->exists ||
	    is_draft(observer, &found->st)) {
		if (trap->kind == TRAP_CUT && !observer->observed->alone)
			perform_cut(observer, call, found, found->fd);
		else if (!serve_change(observer, call, found->fd, /* granted= */ false))
			answer_continue(observer, call->id);
		return;
	}
	if (refuse_change(observer, call, trap, found))
		return;
	parent = hold_open_parent(observer, found->path, /* like= */ -1);
	if (parent < 0)
		r = parent;
	else
		r = change(call, trap, parent, found);
	if (r == -ENOSYS) /* owners and attributes are not changed there */
		answer_continue(observer, call->id);
	else
		answer(observer, call->id, -r);
}

/* A file that must be new, on ordinary ground: it is not asked first whether it is there, because
 * whoever makes it is told so. False: nothing was done, and the long way tells more. */
static bool serve_new(struct observer *observer, const struct seccomp_notif *call,
		      const struct trap *trap, const char *text, uint64_t flags)
{
	int directory = argument(call, trap->directory, AT_FDCWD);
	const char *rule = NULL;
	char path[PATH_MAX];

	if (observer->observed->alone || !plain_path((pid_t)call->pid, directory, text, path) ||
	    !may_write(observer, path, &rule) || hold_judge(observer, path) != GUARD_FREE ||
	    guard_is(path_last(path), "objects") || guard_is(path_last(path), "refs") ||
	    below_is_in_shell(observer, path) || !still_waiting(observer, call->id) ||
	    !perform_new(observer, call, trap, flags, path))
		return false;
	witness_tell(observer, (pid_t)call->pid, "write", path);
	return true;
}

void serve_files(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap)
{
	uint64_t flags = trap->flags >= 0 ? (uint32_t)call->data.args[trap->flags] : 0;
	bool follow = !trap->no_follow && !(flags & AT_SYMLINK_NOFOLLOW);
	enum below below = BELOW_NOT;
	_cleanup_close_ int fd = -1;
	struct found found;
	char text[PATH_MAX];
	int r;

	*text = '\0';
	/* utimensat and futimesat without a path are about the fd. */
	if (trap->kind == TRAP_CHANGE_BY_FD ||
	    (trap->kind == TRAP_CHANGE && trap->directory >= 0 && !call->data.args[trap->path])) {
		serve_fd(observer, call, trap);
		return;
	}
	if (trap->kind == TRAP_OPEN) {
		if (trap->flags < 0)
			flags = O_CREAT | O_WRONLY | O_TRUNC; /* creat */
		follow =
			!(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
		/* With that flag all others count for nothing. */
		if (flags & O_PATH) {
			answer_continue(observer, call->id);
			return;
		}
		if (flags & O_CREAT &&
		    flags & O_TMPFILE) { /* or O_DIRECTORY, which is a part of it */
			answer(observer, call->id, EINVAL);
			return;
		}
		if (!(flags & (O_ACCMODE | O_CREAT | O_TRUNC))) {
			serve_read(observer, call, trap, flags);
			return;
		}
	}
	r = caller_text((pid_t)call->pid, call->data.args[trap->path], text, sizeof(text));
	if (r == -EFAULT)
		observer->unread++;
	if (r == 0 && !*text && (trap->kind == TRAP_OPEN || !(flags & AT_EMPTY_PATH)))
		r = -ENOENT;
	if (r == 0 && trap->kind == TRAP_OPEN &&
	    (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) &&
	    serve_new(observer, call, trap, text, flags))
		return;
	if (r == 0)
		r = caller_find(observer->observed->root, (pid_t)call->pid,
				argument(call, trap->directory, AT_FDCWD), text, follow, &found);
	fd = r == 0 ? found.fd : -1;
	if (r == 0 && !found.exists && below_is_in_shell(observer, found.path)) {
		close_fd(&fd);
		r = -EACCES;
	}
	if (r == -EACCES) {
		below = below_find(observer, call, trap, text, flags, &found);
		fd = below == BELOW_GRANTED ? found.fd : -1;
		if (below == BELOW_ANSWERED)
			return;
	}
	if ((r < 0 && below == BELOW_NOT) || !still_waiting(observer, call->id)) {
		serve_unfound(observer, call, trap, text, flags, -r);
		return;
	}
	if (trap->kind == TRAP_OPEN && flags & O_CREAT && text[strlen(text) - 1] == '/') {
		answer(observer, call->id, EISDIR);
		return;
	}
	if (below == BELOW_NOT && !judge_found(observer, call, trap, trap->kind, flags, &found))
		return;
	if (trap->kind == TRAP_OPEN)
		serve_open(observer, call, trap, flags, &found);
	else if (sets_group_id(call, trap) && !found.exists)
		answer(observer, call->id, ENOENT);
	else if (sets_group_id(call, trap))
		set_group_id(observer, call, trap, &found);
	else
		serve_kept(observer, call, trap, &found);
}
