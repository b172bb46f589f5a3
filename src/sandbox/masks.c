/* SPDX-License-Identifier: Apache-2.0 */
/* What the command must not see: /run with the machine's sockets, the denied paths, the host's
 * resolver and names; and what it may see but not change.
 *
 * The masks lie in the store; each is an inode of its own with mode 000 (one shared inode would
 * make all masked files look like one and the same). The store is made read-only before the masks
 * are cloned from it, so that they inherit that.
 *
 * A denied directory in which something may be seen is covered by an empty one of the store, a
 * shell, and only that is mounted in it: its other entries are not there, now and later. What is
 * opened so is cloned before anything is covered, from where it was found.
 *
 * A file of which another text is seen is covered by a file of the store with that text. The
 * supervisor may replace it later, by an fd. */
#include "stage.h"
#include "../base/path.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char hosts[] = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n";
static const char nameserver[] = "nameserver 127.0.0.1\noptions edns0\n";

static int write_text(const char *path, const char *text, int flags, mode_t mode)
{
	int fd = open(path, O_CREAT | flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, mode);
	ssize_t length = (ssize_t)strlen(text);

	if (fd < 0)
		return -1;
	if (write(fd, text, (size_t)length) != length) {
		close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

static int write_file(const char *path, const char *text)
{
	return write_text(path, text, O_EXCL, 0444);
}

/* A path that no symlink leads away from: what was named is what is covered. */
static int open_target(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

static int cover(const char *source, int target)
{
	int tree = sys_open_tree(AT_FDCWD, source, MOUNT_CLONE | O_CLOEXEC), r;

	if (tree < 0)
		return -1;
	r = sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
	close(tree);
	return r;
}

/* Where a link at the path leads, as text: one step. False where it is none, or too long. The
 * directories above are taken as they are written, but for /var/run, which is /run. */
static bool follow_link(char path[static PATH_MAX])
{
	static char target[PATH_MAX], joined[2 * PATH_MAX]; /* mostly nothing is written there */
	ssize_t length = readlink(path, target, sizeof(target) - 1);
	size_t end = 0;

	if (length <= 0)
		return false;
	target[length] = '\0';
	*strrchr(path, '/') = '\0';
	snprintf(joined, sizeof(joined), "%s/%s", target[0] == '/' ? "" : path, target);
	path[0] = '\0';
	for (char *rest = joined, *part; (part = strtok_r(rest, "/", &rest));) {
		if (strcmp(part, "..") == 0) {
			while (end > 0 && path[--end] != '/')
				;
		} else if (strcmp(part, ".") != 0) {
			if (end + 1 + strlen(part) >= PATH_MAX)
				return false;
			end += (size_t)sprintf(path + end, "/%s", part);
		}
		path[end] = '\0';
		if (strcmp(path, "/var/run") == 0)
			end = (size_t)sprintf(path, "/run");
	}
	return end > 0;
}

/* resolv.conf is often a link into /run, which is hidden by now: then its target is made there. One
 * that leads nowhere else is left as it is: without the file everybody asks at 127.0.0.1, and there
 * is the sandbox's name server. */
static int prepare_linked_resolver(void)
{
	enum { LINKS_MOST = 8 };
	char path[PATH_MAX] = "/etc/resolv.conf";

	for (int i = 0; i < LINKS_MOST && follow_link(path); i++) {
		if (strncmp(path, "/run/", 5) != 0)
			continue;
		for (char *slash = path + 5; (slash = strchr(slash, '/')); slash++) {
			*slash = '\0';
			if (mkdir(path, 0755) < 0 && errno != EEXIST)
				return -1;
			*slash = '/';
		}
		return write_file(path, nameserver);
	}
	return 0;
}

static bool is_absence(int errnum)
{
	return errnum == ENOENT || errnum == ELOOP || errnum == ENOTDIR;
}

/* The system's own links are followed. One call, and half the time of cover: what lies there nobody
 * has looked at before. */
static int cover_if_there(const char *source, const char *path, bool early)
{
	/* Whoever adds a user or a host replaces the file: nothing can be mounted on the old one.
	 */
	for (int round = 0; round < 100; round++) {
		if ((early ? stage_cover_early(source, AT_FDCWD, path)
			   : mount(source, path, NULL, MS_BIND, NULL)) == 0)
			return 0;
		if (errno != ENOENT || access(path, F_OK) < 0)
			return is_absence(errno) ? 0 : -1;
	}
	return -1;
}

/* One record of the text: what to do with which path, and what must lie there. */
struct item {
	char kind; /* one of enum mask_kind, or P: pin it */
	bool is_directory;
	dev_t device;
	ino_t inode;
	const char *path;
	const char *seen; /* MASK_TEXT: what is seen instead */
};

/* Reads the record at text; the one behind it starts where it returns. */
static const char *read_item(const char *text, struct item *ret_item)
{
	char *next;

	ret_item->kind = text[0];
	ret_item->is_directory = text[1] == 'd';
	ret_item->device = (dev_t)strtoull(text + 3, &next, 10);
	ret_item->inode = (ino_t)strtoull(next, &next, 10);
	ret_item->path = next + 1;
	next = (char *)ret_item->path + strlen(ret_item->path) + 1;
	if (ret_item->kind != MASK_TEXT)
		return next;
	ret_item->seen = next;
	return next + strlen(next) + 1;
}

/* The layers over caches. What lies in one has inodes of its own, and may be something else, of the
 * command's making: what was found lies below that then, and is not seen. */
static struct {
	const struct list *paths;
	uint64_t standing;
} layers;

static bool is_layered(const struct item *item)
{
	for (size_t i = 0; layers.standing >> i; i++)
		if (layers.standing >> i & 1 && path_is_under(item->path, layers.paths->items[i]))
			return true;
	return false;
}

static bool has_moved(const struct item *item, int target)
{
	struct stat st;

	if (target >= 0 && is_layered(item))
		return false;
	if (target >= 0 && fstat(target, &st) == 0 && st.st_dev == item->device &&
	    st.st_ino == item->inode)
		return false;
	errno = ESTALE;
	return true;
}

static int clone_tree(int target)
{
	return sys_open_tree(target, "",
			     MOUNT_CLONE | MOUNT_AT_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
}

static int make_read_only(int tree)
{
	return sys_mount_setattr(tree, "", AT_EMPTY_PATH | MOUNT_AT_RECURSIVE, MOUNT_RDONLY, 0);
}

static int make_directory(const char *path, mode_t mode)
{
	return mkdir(path, mode) < 0 && errno != EEXIST ? -1 : chmod(path, mode);
}

/* Where something that is opened in a shell is to be mounted: below the innermost shell of those
 * before it, whose number is that of its mask. */
static int prepare_mount_point(const char *text, const struct item *opened)
{
	char path[PATH_MAX + 64] = "";
	struct item item;
	unsigned index = 0;
	size_t begin = 0;

	for (const char *next = text;;) {
		next = read_item(next, &item);
		if (item.path == opened->path)
			break;
		if (item.kind == MASK_SHELL && path_is_under(opened->path, item.path))
			begin = (size_t)snprintf(path, sizeof(path), STORE "/%u%s", index,
						 opened->path + strlen(item.path)) -
				strlen(opened->path + strlen(item.path));
		index += mask_hides(&(struct mask){.kind = (enum mask_kind)item.kind});
	}
	if (!begin) {
		errno = EINVAL;
		return -1;
	}
	for (char *slash = path + begin + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (make_directory(path, 0555) < 0)
			return -1;
		*slash = '/';
	}
	if (opened->is_directory)
		return make_directory(path, 0555);
	return mknod(path, S_IFREG | 0444, 0) < 0 && errno != EEXIST ? -1 : 0;
}

/* What is opened in what is closed, taken from where it was found. */
static int take_opened(const struct item *item, int *ret_tree)
{
	int target = open_target(item->path), tree = -1, r = -1;

	if (!has_moved(item, target))
		tree = clone_tree(target);
	if (tree >= 0)
		r = item->kind == MASK_OPEN
			    ? make_read_only(tree)
			    : sys_mount_setattr(tree, "", AT_EMPTY_PATH, MOUNT_NOSUID | MOUNT_NODEV,
						MOUNT_RDONLY);
	close_fd(&target);
	if (r < 0)
		close_fd(&tree);
	*ret_tree = tree;
	return r;
}

static int prepare(const char *text, const struct item *item, unsigned *index, int *opened,
		   unsigned *opened_count, struct failure *failure)
{
	char source[64];
	bool directory = item->kind == MASK_DIRECTORY;
	struct stat st;
	int r = 0;

	if (is_layered(item) && lstat(item->path, &st) == 0)
		directory = S_ISDIR(st.st_mode);
	snprintf(source, sizeof(source), STORE "/%u", *index);
	switch (item->kind) {
	case MASK_FILE:
	case MASK_DIRECTORY:
		if (!foreseen_stands(item->path))
			r = directory ? mkdir(source, 0) : mknod(source, S_IFREG, 0);
		break;
	case MASK_SHELL:
		r = make_directory(source, 0555);
		break;
	case MASK_TEXT:
		r = write_file(source, item->seen);
		break;
	case MASK_OPEN:
	case MASK_WRITE:
	case MASK_RELEASE:
		if (*opened_count >= OPENED_MOST) {
			errno = E2BIG;
			return stage_fail(failure, "opening", item->path);
		}
		r = take_opened(item, &opened[(*opened_count)++]);
		if (r == 0 && item->kind != MASK_RELEASE)
			r = prepare_mount_point(text, item);
		return r < 0 ? stage_fail(failure, "opening", item->path) : 0;
	default:
		return 0;
	}
	++*index;
	return r < 0 ? stage_fail(failure, "masking", item->path) : 0;
}

/* The texts once more, open for writing. By a mount of their own that has no place in the tree: one
 * with a writer cannot be made read-only. */
static int open_texts(const char *text, const char *end, struct texts *texts,
		      struct failure *failure)
{
	int store = -1, fd = 0;
	unsigned index = 0;
	struct item item;
	char name[16];

	for (const char *next = text; next < end && fd >= 0;) {
		next = read_item(next, &item);
		snprintf(name, sizeof(name), "%u", index);
		index += mask_hides(&(struct mask){.kind = (enum mask_kind)item.kind});
		if (item.kind != MASK_TEXT)
			continue;
		if (store < 0)
			store = sys_open_tree(AT_FDCWD, STORE, MOUNT_CLONE | O_CLOEXEC);
		/* Also, git gives its new files the mode of the old one. */
		if (store < 0 || texts->count >= TEXTS_MOST || fchmodat(store, name, 0644, 0) < 0)
			fd = -1;
		else
			fd = openat(store, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0)
			texts->fds[texts->count++] = fd;
	}
	if (fd < 0)
		stage_fail(failure, "opening", "the texts of the sandbox");
	close_fd(&store);
	return MIN(fd, 0);
}

static int mask(unsigned index, const struct item *item, struct failure *failure)
{
	int target = open_target(item->path), r = -1;
	char source[64];

	if (target < 0 && is_layered(item) &&
	    (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return 0;
	snprintf(source, sizeof(source), STORE "/%u", index);
	if (!has_moved(item, target))
		r = cover(source, target);
	/* Replaced since it was opened: nothing can be mounted on what is gone. */
	if (r < 0 && target >= 0 && errno == ENOENT)
		errno = ESTALE;
	if (r < 0)
		stage_fail(failure, "masking", item->path);
	close_fd(&target);
	return r;
}

/* A directory above a mask, or what is held read-only, becomes a mount of its own, over itself. */
static int pin(const struct item *item, struct failure *failure)
{
	int target = open_target(item->path), tree = -1, r = -1;

	if (target < 0 || (item->kind == MASK_HOLD && has_moved(item, target)))
		errno = ESTALE;
	else
		tree = clone_tree(target);
	if (tree >= 0 && (item->kind != MASK_HOLD || make_read_only(tree) == 0))
		r = sys_move_mount(tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
	if (r < 0)
		stage_fail(failure, "holding", item->path);
	close_fd(&tree);
	close_fd(&target);
	return r;
}

/* Puts a clone where it belongs by now: in its shell, or over itself. */
static int attach_opened(const struct item *item, int *tree, struct failure *failure)
{
	int target = open_target(item->path), r = -1;

	if (target >= 0 && (item->kind != MASK_RELEASE || !has_moved(item, target)))
		r = sys_move_mount(*tree, "", target, "", MOUNT_FROM_EMPTY | MOUNT_TO_EMPTY);
	if (r < 0)
		stage_fail(failure, "opening", item->path);
	close_fd(&target);
	close_fd(tree); /* the table is the supervisor's as well */
	return r;
}

static int apply(const char *text, const char *end, int *opened, struct failure *failure)
{
	unsigned index = 0, opened_count = 0;
	struct item item;
	int r = 0;

	for (const char *next = text; next < end && r == 0;) {
		next = read_item(next, &item);
		if (item.kind == 'P' || item.kind == MASK_HOLD)
			r = pin(&item, failure);
		else if (mask_opens(item.kind))
			r = attach_opened(&item, &opened[opened_count++], failure);
		else if (!foreseen_stands(item.path))
			r = mask(index++, &item, failure);
		else
			index++;
	}
	return r;
}

/* Names of the sandbox's own. Those of hosts are the same for all, those of users and groups are
 * written when they are known: until then a place is held for them, because files, and mounts of
 * them, take longer to make than to fill. */
static const struct {
	const char *source, *path, *text;
} names[] = {
	{STORE "/hosts", "/etc/hosts", hosts},
	{STORE "/resolv.conf", "/etc/resolv.conf", nameserver},
	{STORE "/passwd", "/etc/passwd", "\n"},
	{STORE "/group", "/etc/group", "\n"},
};
enum { USERS = 2 };
static bool names_stand;

int stage_names(unsigned walls, struct failure *failure)
{
	const unsigned needed =
		WALL_BIT(WALL_MOUNT_NAMESPACE) | WALL_BIT(WALL_RUN) | WALL_BIT(WALL_NET_NAMESPACE);

	if ((walls & needed) != needed)
		return 0;
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (write_text(names[i].source, names[i].text, O_EXCL, 0644) < 0)
			return stage_fail(failure, "writing for the sandbox", names[i].path);
	if (prepare_linked_resolver() < 0)
		return stage_fail(failure, "writing for the sandbox", "/etc/resolv.conf");
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (cover_if_there(names[i].source, names[i].path, /* early= */ true) < 0)
			return stage_fail(failure, "covering", names[i].path);
	names_stand = true;
	return 0;
}

static const char *text_of(const struct sandbox *sandbox, size_t name)
{
	return name == USERS ? sandbox->users : sandbox->groups;
}

static int write_users(const struct sandbox *sandbox, struct failure *failure)
{
	for (size_t i = USERS; i < ELEMENTS(names); i++)
		if (*text_of(sandbox, i) &&
		    write_text(names[i].source, text_of(sandbox, i), /* flags= */ 0, 0644) < 0)
			return stage_fail(failure, "writing for the sandbox", names[i].path);
	return 0;
}

/* Without a text of its own the host's is seen. */
static int settle_users(const struct sandbox *sandbox, struct failure *failure)
{
	for (size_t i = USERS; i < ELEMENTS(names); i++) {
		const char *path = names[i].path;

		if (*text_of(sandbox, i) && !names_stand &&
		    cover_if_there(names[i].source, path, /* early= */ false) < 0)
			return stage_fail(failure, "covering", path);
		/* EINVAL: nothing of ours is mounted there. */
		if (!*text_of(sandbox, i) && names_stand && umount2(path, MNT_DETACH) < 0 &&
		    errno != EINVAL && !is_absence(errno))
			return stage_fail(failure, "uncovering", path);
	}
	return 0;
}

int stage_settle(unsigned walls, const char *text, size_t length, struct failure *failure)
{
	const char *end = walls & WALL_BIT(WALL_MASKS) ? text + length : text;
	struct item item;

	for (const char *next = text; next < end;) {
		next = read_item(next, &item);
		if (item.kind == MASK_FILE || item.kind == MASK_DIRECTORY)
			foreseen_mean(item.path, item.kind == MASK_DIRECTORY, item.device,
				      item.inode);
	}
	return foreseen_settle(failure);
}

int stage_masks(const struct sandbox *sandbox, unsigned walls, uint64_t caches, const char *text,
		size_t length, struct texts *texts, struct failure *failure)
{
	static int opened[OPENED_MOST];
	const char *end = walls & WALL_BIT(WALL_MASKS) ? text + length : text;
	unsigned index = 0, opened_count = 0;
	struct item item;

	layers.paths = sandbox->caches;
	layers.standing = caches;
	if (!(walls & WALL_BIT(WALL_RUN)))
		return walls & WALL_BIT(WALL_DEVICES) && umount2("/run", MNT_DETACH) < 0
			       ? stage_fail(failure, "uncovering", "/run")
			       : 0;
	if (write_users(sandbox, failure) < 0)
		return -1;
	for (const char *next = text; next < end;) {
		next = read_item(next, &item);
		if (prepare(text, &item, &index, opened, &opened_count, failure) < 0)
			return -1;
	}
	if (open_texts(text, end, texts, failure) < 0)
		return -1;
	if (chmod(STORE, 0) < 0 || stage_close("/run", 0, MOUNT_RDONLY | MOUNT_NODEV) < 0)
		return stage_fail(failure, "closing", "/run");
	if (settle_users(sandbox, failure) < 0)
		return -1;
	return apply(text, end, opened, failure);
}
