/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a group is, told by its name alone; and how one goes away, whoever left it. */
#include "cgroup_parts.h"
#include "../base/units.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

enum { SWEPT_MOST = 1000 };

/* How long what was in a group may take to be gone. */
static const uint64_t empty_ns = 5000000000;

/* In the text of /proc/PID/stat; NULL where there is none. */
static char *start_field(char *text)
{
	char *field = strrchr(text, ')'); /* the name before it may hold anything */

	for (int i = 0; i < 20 && field; i++)
		field = strchr(field + 1, ' ');
	return field;
}

/* "ward-RUN.PIDNS.PID.START": whose it is can be told later from its name alone. */
int group_name(const char *run, char ret_name[static NAME_ROOM])
{
	char link[64] = "", text[GROUP_FILE], *field;
	unsigned long long space;
	int length;

	if (readlink("/proc/self/ns/pid", link, sizeof(link) - 1) < 0 ||
	    sscanf(link, "pid:[%llu]", &space) != 1 ||
	    group_read(AT_FDCWD, "/proc/self/stat", text) < 0 || !(field = start_field(text)))
		return -ENOENT;
	length = snprintf(ret_name, NAME_ROOM, "ward-%.64s.%llu.%d.%llu", run, space, getpid(),
			  strtoull(field, NULL, 10));
	return length < NAME_ROOM ? 0 : -ENAMETOOLONG;
}

/* True if the name is of a run of our own pid namespace whose ward is gone. */
static bool is_left(const char *name, const char *own)
{
	char path[64], text[GROUP_FILE], *field;
	const char *tail = strchr(name, '.'), *own_tail = strchr(own, '.');
	unsigned long long space, own_space, start;
	int pid, end = 0;

	if (strncmp(name, "ward-", 5) != 0 || !tail || !own_tail ||
	    sscanf(tail, ".%llu.%d.%llu%n", &space, &pid, &start, &end) != 3 ||
	    (tail[end] != '\0' && strcmp(tail + end, ".leaf") != 0) ||
	    sscanf(own_tail, ".%llu.", &own_space) != 1 || space != own_space || pid < 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (group_read(AT_FDCWD, path, text) < 0)
		return kill(pid, 0) < 0 && errno == ESRCH;
	field = strrchr(text, ')');
	/* A zombie holds on to nothing any more; its parent may never look at it. */
	if (!field || field[1] != ' ' || field[2] == 'Z')
		return true;
	field = start_field(text);
	return field && strtoull(field, NULL, 10) != start;
}

/* Thaws and ends what is inside, then removes the directory. */
int group_remove(int parent, const char *name)
{
	_cleanup_close_ int directory =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	uint64_t until = monotonic_ns() + empty_ns;
	unsigned pause = 20;

	if (directory < 0)
		return -errno;
	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 0;
	(void)group_write(directory, "freezer.state", "THAWED");
	(void)group_write(directory, "cgroup.freeze", "0");
	while (unlinkat(parent, name, AT_REMOVEDIR) < 0) {
		if (errno != EBUSY)
			return -errno;
		if (monotonic_ns() > until)
			return -EBUSY;
		part_kill(directory, name);
		usleep(pause);
		pause = MIN(pause * 2, 10000u);
	}
	return 0;
}

/* What killed runs left beside the group that is about to be made. */
void groups_sweep(int parent, const char *own)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int swept = 0;

	if (!directory) {
		close_fd(&fd);
		return;
	}
	while (swept < SWEPT_MOST && (entry = readdir(directory)))
		if (is_left(entry->d_name, own)) {
			(void)group_remove(parent, entry->d_name);
			swept++;
		}
	closedir(directory);
}
