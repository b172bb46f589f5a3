/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody can grant, by whatever way a path leads there: ward's own files, what a rule denies,
 * the kernel's own file systems wherever they are mounted. A name is not enough to know it by: the
 * same files may be mounted at a second place, and a file system may not tell letters apart. */
#include "permits.h"
#include "../observer.h"
#include "../../base/io.h"
#include "../../base/path.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/vfs.h>

enum { MOUNTS_MOST = 4 << 20 };

/* Where something lies: on which file system, and where in that. */
struct place {
	uint32_t major, minor;
	uint64_t mount;
	char path[2 * PATH_MAX]; /* from the root of the file system; "" until it is asked for */
};

struct never_places {
	bool known; /* they are looked for when the first grant could mean one */
	size_t count;
	struct place *items;
};

struct never_places *never_new(void)
{
	struct never_places *places = calloc(1, sizeof(*places));

	if (!places)
		abort();
	return places;
}

static bool is_of_kernel(const struct statfs *fs)
{
	static const uint64_t kinds[] = {
		PROC_SUPER_MAGIC,
		SYSFS_MAGIC,
		CGROUP_SUPER_MAGIC,
		CGROUP2_SUPER_MAGIC,
		DEBUGFS_MAGIC,
		TRACEFS_MAGIC,
		SECURITYFS_MAGIC,
		BPF_FS_MAGIC,
		DEVPTS_SUPER_MAGIC,
		EFIVARFS_MAGIC,
		BINFMTFS_MAGIC,
		SELINUX_MAGIC,
		SMACK_MAGIC,
		PSTOREFS_MAGIC,
		0x7655821 /* resctrl */,
		NSFS_MAGIC,
		AAFS_MAGIC,
		0x62656570 /* configfs */,
		0x65735543 /* fusectl */,
		0x67596969 /* rpc_pipefs */,
	};

	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if ((uint64_t)fs->f_type == kinds[i])
			return true;
	return false;
}

bool never_of_kernel(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || is_of_kernel(&fs);
}

bool never_in_kernel(const char *path)
{
	char above[PATH_MAX];
	struct statfs fs;

	snprintf(above, sizeof(above), "%s", path);
	if (statfs(above, &fs) < 0) {
		*strrchr(above, '/') = '\0';
		if (statfs(*above ? above : "/", &fs) < 0)
			return false;
	}
	return is_of_kernel(&fs);
}

/* Which mount the path, or the directory that it would be made in, lies on. */
static bool find_mount(const char *path, struct place *place)
{
	char above[PATH_MAX];
	struct statx stx;

	snprintf(above, sizeof(above), "%s", path);
	while (statx(AT_FDCWD, *above ? above : "/", AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		     STATX_MNT_ID, &stx) < 0) {
		if (!*above)
			return false;
		*strrchr(above, '/') = '\0';
	}
	if (!(stx.stx_mask & STATX_MNT_ID)) /* before Linux 5.8 */
		return false;
	place->major = stx.stx_dev_major;
	place->minor = stx.stx_dev_minor;
	place->mount = stx.stx_mnt_id;
	return true;
}

/* \040 is a space there. */
static void decode(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (at[0] == '\\' && strspn(at + 1, "01234567") >= 3) {
			*to++ = (char)((at[1] - '0') * 64 + (at[2] - '0') * 8 + (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	*to = '\0';
}

/* Where in its file system the path lies: the mount's own root and what comes behind the mount
 * point. */
static bool find_in_file_system(const char *path, struct place *place)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;

	if (read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_MOST, &text, NULL) < 0)
		return false;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		const char *number = strsep(&line, " ");
		char *root, *point;

		if (!line || strtoull(number, NULL, 10) != place->mount)
			continue;
		(void)strsep(&line, " ");
		(void)strsep(&line, " ");
		root = strsep(&line, " ");
		point = strsep(&line, " ");
		if (!root || !point)
			return false;
		decode(root);
		decode(point);
		if (!path_is_under(path, point))
			return false;
		snprintf(place->path, sizeof(place->path), "%s/%s",
			 strcmp(root, "/") == 0 ? "" : root,
			 path + strspn(path + strlen(point), "/") + strlen(point));
		return true;
	}
	return false;
}

static bool is_under_folded(const char *path, const char *directory)
{
	size_t length = strlen(directory);

	return strncasecmp(path, directory, length) == 0 &&
	       (path[length] == '\0' || path[length] == '/');
}

/* They stay where they are for as long as the run lasts. */
static void find_places(const struct list *never, struct never_places *places)
{
	places->known = true;
	places->items = calloc(never->count + 1, sizeof(*places->items));
	if (!places->items)
		abort();
	for (size_t i = 0; i < never->count; i++) {
		struct place *place = &places->items[places->count];

		if (!path_has_glob(never->items[i]) && find_mount(never->items[i], place) &&
		    find_in_file_system(never->items[i], place))
			places->count++;
	}
}

/* True if the path is one of them, seen by a mount at another place. */
static bool is_seen_elsewhere(const struct observer *observer, const char *path)
{
	struct never_places *places = observer->never_places;
	struct place place = {0};

	if (!places->known)
		find_places(observer->observed->never, places);
	if (!find_mount(path, &place))
		return false;
	for (size_t i = 0; i < places->count; i++) {
		const struct place *never = &places->items[i];

		if (never->major != place.major || never->minor != place.minor ||
		    never->mount == place.mount)
			continue;
		/* What cannot be told is not granted. */
		if ((!*place.path && !find_in_file_system(path, &place)) ||
		    is_under_folded(place.path, never->path))
			return true;
	}
	return false;
}

bool never_by_name(const struct observer *observer, const char *path)
{
	return path_is_beyond(path) || path_is_among(path, observer->observed->never) ||
	       area_is_layer(areas_find(observer->observed->areas, path));
}

bool permit_never(const struct observer *observer, const char *path)
{
	const struct list *never = observer->observed->never;

	if (observer->observed->unchecked & CHECK_BIT(CHECK_NEVER))
		return false;
	if (never_by_name(observer, path))
		return true;
	for (size_t i = 0; never && i < never->count; i++)
		if (is_under_folded(path, never->items[i]))
			return true;
	return never && is_seen_elsewhere(observer, path);
}

bool never_below(const struct observer *observer, const char *path)
{
	const struct list *never = observer->observed->never;

	for (size_t i = 0; never && i < never->count; i++)
		if (path_is_under(never->items[i], path))
			return true;
	return false;
}

void never_done(struct never_places *places)
{
	if (places)
		free(places->items);
	free(places);
}
