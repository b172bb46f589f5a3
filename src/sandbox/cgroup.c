/* SPDX-License-Identifier: Apache-2.0 */
/* Making a group, and removing it whatever happens.
 *
 * A group lies below the one that ward itself is in, so that what bounds ward bounds it too. In
 * version 2 a group with processes of its own cannot hand controllers down; then the next one above
 * is taken, if nothing is lost by that. */
#include "cgroup_parts.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#define MAGIC_CGROUP  0x27e0eb
#define MAGIC_CGROUP2 0x63677270

enum { PARTS = 8, TEXT_MOST = 4 << 20, DEPTH_MOST = 64 };

/* Where we stood alone in the group that we make ours in: we moved down to make room. */
struct room {
	int own;	      /* the group we were in; -1: not moved */
	char leaf[NAME_ROOM]; /* and where we are now, below it */
	char disable[128];    /* what puts its controllers back */
};

struct cgroup {
	char name[NAME_ROOM];
	struct limits limits;
	struct part parts[PARTS];
	size_t count;
	struct cgroup_usage before; /* what was used when the process was put in */
	struct room room;
	char *bus, *mount; /* a scope of systemd's is asked for when there is a process for it */
	unsigned wanted;
	pid_t keeper;
	int keeper_pipe; /* its end tells the keeper that it is time */
	uid_t loses;	 /* who we shall be in the end; -1: who we are */
	bool frozen;
};

unsigned cgroup_wanted(const struct limits *limits)
{
	unsigned wanted =
		(limits->memory ? CGROUP_MEMORY : 0) | (limits->millicpus ? CGROUP_SHARE : 0) |
		(limits->processes ? CGROUP_TASKS : 0) | (limits->cpu_ns ? CGROUP_CPU_TIME : 0);

	/* Counting alone is no reason for a group. */
	return wanted && limits->disk ? wanted | CGROUP_DISK : wanted;
}

static int open_group(const char *path, bool unified)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct statfs fs;

	/* Something else may be mounted over it. */
	if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != (unified ? MAGIC_CGROUP2 : MAGIC_CGROUP))
		return -1;
	return STEAL_FD(fd);
}

/* Makes the directory, sets the limits, opens what we need later. Takes parent over. */
static int make_part(struct cgroup *group, int parent, bool unified, unsigned powers)
{
	struct part part = PART_NONE;
	int errnum;

	part.unified = unified;
	part.powers = powers;
	part.parent = parent;
	groups_sweep(parent, group->name);
	if (group->count == PARTS || mkdirat(parent, group->name, 0755) < 0) {
		errnum = group->count == PARTS ? ENOSPC : errno;
		close_fd(&part.parent);
		return -errnum;
	}
	part.directory = openat(parent, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	part.procs = openat(part.directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	part_limit(&part, &group->limits);
	if (part.powers & CGROUP_FREEZER)
		part.freezer = openat(part.directory, unified ? "cgroup.freeze" : "freezer.state",
				      O_RDWR | O_CLOEXEC);
	if (part.freezer < 0)
		part.powers &= ~CGROUP_FREEZER;
	if (part.directory < 0 || part.procs < 0 || part.powers == 0) {
		(void)unlinkat(parent, group->name, AT_REMOVEDIR);
		part_close(&part);
		return -EACCES;
	}
	group->parts[group->count++] = part;
	return 0;
}

/* The controllers of version 2 that a file lists. */
static unsigned controllers_of(int directory, const char *file)
{
	char text[GROUP_FILE], *rest = text, *word;
	unsigned set = 0;

	if (group_read(directory, file, text) < 0)
		return 0;
	while ((word = strsep(&rest, " \n")))
		set |= controller_named(word, strlen(word));
	return set;
}

/* "+memory +pids", or with minus. */
static void name_controllers(unsigned set, char sign, char ret_text[static 128])
{
	static const char *const names[] = {"memory", "cpu", "pids", "io"};
	size_t length = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (set & controller_named(names[i], strlen(names[i])))
			length += (size_t)snprintf(ret_text + length, 128 - length, "%s%c%s",
						   length ? " " : "", sign, names[i]);
}

static int enable(int directory, unsigned controllers)
{
	unsigned missing = controllers & ~controllers_of(directory, "cgroup.subtree_control");
	char text[128];

	name_controllers(missing, '+', text);
	return missing ? group_write(directory, "cgroup.subtree_control", "%s", text) : 0;
}

/* Moves us one group down where nobody else is in ours, so that it can hand controllers down. */
static int make_room(struct cgroup *group, int own, unsigned controllers)
{
	unsigned before = controllers_of(own, "cgroup.subtree_control");
	struct room *room = &group->room;
	char text[GROUP_FILE], *end;
	int r;

	if (group->loses != (uid_t)-1 || group_read(own, "cgroup.procs", text) < 0 ||
	    strtol(text, &end, 10) != getpid() || strcmp(end, "\n") != 0)
		return -EBUSY;
	snprintf(room->leaf, sizeof(room->leaf), "%.*s.leaf", NAME_ROOM - 6, group->name);
	name_controllers(controllers & ~before, '-', room->disable);
	room->own = fcntl(own, F_DUPFD_CLOEXEC, 3);
	if (room->own < 0 || mkdirat(own, room->leaf, 0755) < 0) {
		r = -errno;
		close_fd(&room->own);
		return r;
	}
	snprintf(text, sizeof(text), "%s/cgroup.procs", room->leaf);
	r = group_write(own, text, "%d", getpid());
	return r < 0 ? r : enable(own, controllers);
}

static void leave_room(struct room *room)
{
	if (room->own < 0)
		return;
	if (*room->disable)
		(void)group_write(room->own, "cgroup.subtree_control", "%s", room->disable);
	(void)group_write(room->own, "cgroup.procs", "%d", getpid());
	(void)unlinkat(room->own, room->leaf, AT_REMOVEDIR);
	close_fd(&room->own);
}

static bool is_within(int directory, const char *file, uint64_t limit)
{
	char text[GROUP_FILE];

	if (group_read(directory, file, text) < 0 || strncmp(text, "max", 3) == 0)
		return true;
	return limit && limit <= strtoull(text, NULL, 10);
}

/* True if a group beside this one instead of below it would be free of nothing that bounds it. */
static bool may_pass_over(const struct cgroup *group, int directory)
{
	const struct limits *limits = &group->limits;

	return is_within(directory, "memory.max", limits->memory) &&
	       is_within(directory, "memory.high", limits->memory) &&
	       is_within(directory, "cpu.max", 0) &&
	       is_within(directory, "pids.max",
			 limits->processes ? tasks_for(limits->processes) : 0);
}

/* Version 2: in our own group, or else in the nearest one above that takes it. */
static void make_unified(struct cgroup *group, const struct hierarchy *hierarchy, unsigned wanted,
			 bool climb)
{
	_cleanup_free_ char *path = strdup(hierarchy->path);
	_cleanup_close_ int own = open_group(hierarchy->path, true);
	/* These come without a controller. */
	unsigned always = wanted & (CGROUP_CPU_TIME | CGROUP_FREEZER);
	unsigned controllers;

	if (!path)
		abort();
	if (own < 0)
		return;
	controllers = wanted & ~always & controllers_of(own, "cgroup.controllers");
	if (!(controllers | always))
		return;
	for (int depth = 0; depth < DEPTH_MOST; depth++) {
		_cleanup_close_ int directory = open_group(path, true);
		char *slash = strrchr(path, '/');

		if (directory < 0)
			return;
		if ((enable(directory, controllers) == 0 ||
		     (depth == 0 && make_room(group, directory, controllers) == 0)) &&
		    make_part(group, fcntl(directory, F_DUPFD_CLOEXEC, 3), true,
			      controllers | always) == 0)
			return;
		leave_room(&group->room);
		if (!climb || strcmp(path, hierarchy->mount) == 0 || !slash || slash == path ||
		    !may_pass_over(group, directory))
			return;
		*slash = '\0';
	}
}

static void make_parts(struct cgroup *group, const struct hierarchies *hierarchies)
{
	unsigned left = group->wanted;
	const struct hierarchy *unified = NULL;

	for (size_t i = 0; i < hierarchies->count; i++) {
		const struct hierarchy *item = &hierarchies->items[i];
		int parent;

		if (item->unified)
			unified = item;
		if (item->unified || !(item->controllers & left))
			continue;
		parent = open_group(item->path, false);
		if (parent >= 0)
			(void)make_part(group, parent, false, item->controllers & left);
		left = group->wanted & ~cgroup_holds(group);
	}
	if (!unified || !left)
		return;
	/* A plain user's groups above our own are those of the user's systemd: it is asked. */
	if (geteuid() != 0)
		group->bus = scope_bus();
	make_unified(group, unified, left, /* climb= */ !group->bus);
	left = group->wanted & ~cgroup_holds(group);
	if (group->bus && left)
		group->mount = strdup(unified->mount);
}

/* Holds nothing of the caller's, sleeps until ward is done or gone, removes, ends. */
static _Noreturn void be_keeper(struct cgroup *group, int end)
{
	int wanted[PARTS + 1], count = 0;
	unsigned next = 0;
	char byte;

	setsid();
	prctl(PR_SET_NAME, "ward-keeper");
	for (int i = 1; i < NSIG; i++)
		if (i != SIGKILL && i != SIGSTOP)
			(void)signal(i, SIG_IGN);
	wanted[count++] = end;
	for (size_t i = 0; i < group->count; i++)
		wanted[count++] = group->parts[i].parent;
	for (int round = 0; round <= count; round++) {
		unsigned lowest = ~0u;

		for (int i = 0; i < count; i++)
			if ((unsigned)wanted[i] >= next && (unsigned)wanted[i] < lowest)
				lowest = (unsigned)wanted[i];
		if (lowest > next)
			sys_close_range(next, lowest - 1, 0);
		if (lowest == ~0u)
			break;
		next = lowest + 1;
	}
	while (read(end, &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < group->count; i++)
		(void)group_remove(group->parts[i].parent, group->name);
	_exit(0);
}

static void start_keeper(struct cgroup *group)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	group->keeper = fork();
	if (group->keeper == 0) {
		close(ends[1]);
		be_keeper(group, ends[0]);
	}
	close(ends[0]);
	group->keeper_pipe = ends[1];
	if (group->keeper < 0)
		close_fd(&group->keeper_pipe);
}

/* Without capabilities, even root is held by the modes of directories. */
static bool needs_keeper(const struct cgroup *group)
{
	struct stat st;

	for (size_t i = 0; group->loses != (uid_t)-1 && i < group->count; i++)
		if (fstat(group->parts[i].parent, &st) < 0 || st.st_uid != group->loses ||
		    !(st.st_mode & S_IWUSR))
			return true;
	return false;
}

struct cgroup *cgroup_make(const char *run, const struct limits *limits, unsigned wanted,
			   uid_t loses)
{
	_cleanup_free_ char *mounts = NULL, *groups = NULL;
	struct hierarchies hierarchies;
	struct cgroup *group;

	if (!wanted ||
	    read_file(AT_FDCWD, "/proc/self/cgroup", TEXT_MOST, &groups, /* ret_length= */ NULL) <
		    0 ||
	    read_file(AT_FDCWD, "/proc/self/mountinfo", TEXT_MOST, &mounts,
		      /* ret_length= */ NULL) < 0)
		return NULL;
	group = calloc(1, sizeof(*group));
	if (!group)
		abort();
	*group = (struct cgroup){.limits = *limits,
				 .wanted = wanted,
				 .loses = loses,
				 .room.own = -1,
				 .keeper = -1,
				 .keeper_pipe = -1};
	if (group_name(run, group->name) == 0) {
		hierarchies_parse(mounts, groups, &hierarchies);
		make_parts(group, &hierarchies);
		hierarchies_done(&hierarchies);
	}
	if (group->count == 0 && !group->mount) {
		cgroup_free(group);
		return NULL;
	}
	if (needs_keeper(group))
		start_keeper(group);
	return group;
}

/* The scope's own directory, which systemd will remove. */
static void add_by_scope(struct cgroup *group, pid_t pid)
{
	_cleanup_free_ char *below = NULL, *path = NULL;
	struct part part = PART_NONE;
	char name[NAME_ROOM + 8];
	unsigned left = group->wanted & ~cgroup_holds(group);

	snprintf(name, sizeof(name), "%s.scope", group->name);
	if (group->count == PARTS || scope_start(group->bus, name, pid, &group->limits, &below) < 0)
		return;
	if (asprintf(&path, "%s%s", group->mount, below) < 0)
		abort();
	part.unified = true;
	part.directory = open_group(path, true);
	if (part.directory < 0)
		return;
	part.powers =
		left & (CGROUP_CPU_TIME | controllers_of(part.directory, "cgroup.controllers"));
	if (left & CGROUP_FREEZER)
		part.freezer = openat(part.directory, "cgroup.freeze", O_RDWR | O_CLOEXEC);
	if (part.freezer >= 0)
		part.powers |= CGROUP_FREEZER;
	group->parts[group->count++] = part;
}

void cgroup_add(struct cgroup *group, pid_t pid)
{
	char text[16];
	int length;

	if (!group)
		return;
	length = snprintf(text, sizeof(text), "%d", pid);
	for (size_t i = 0; i < group->count; i++)
		if (group->parts[i].procs >= 0 &&
		    write(group->parts[i].procs, text, (size_t)length) != length)
			group->parts[i].powers = 0;
	if (group->mount)
		add_by_scope(group, pid);
	group->before = (struct cgroup_usage){0};
	cgroup_read(group, &group->before);
}

unsigned cgroup_holds(const struct cgroup *group)
{
	unsigned powers = 0;

	for (size_t i = 0; group && i < group->count; i++)
		powers |= group->parts[i].powers;
	return powers;
}

void cgroup_read(const struct cgroup *group, struct cgroup_usage *ret_usage)
{
	struct cgroup_usage now = {0};

	*ret_usage = now;
	if (!group)
		return;
	for (size_t i = 0; i < group->count; i++)
		part_usage(&group->parts[i], &now);
	ret_usage->cpu_ns = now.cpu_ns - MIN(group->before.cpu_ns, now.cpu_ns);
	ret_usage->written = now.written - MIN(group->before.written, now.written);
	ret_usage->killed = now.killed - MIN(group->before.killed, now.killed);
}

uint64_t cgroup_memory(const struct cgroup *group, uint64_t from)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (group->parts[i].powers & CGROUP_MEMORY)
			return part_memory(&group->parts[i], from);
	return 0;
}

uint64_t cgroup_turned_away(const struct cgroup *group)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (group->parts[i].powers & CGROUP_TASKS)
			return part_turned_away(&group->parts[i]);
	return 0;
}

static const uint64_t freeze_ns = 1000000000;

static int set_frozen(struct cgroup *group, bool frozen, uint64_t patience)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (group->parts[i].powers & CGROUP_FREEZER) {
			group->frozen = frozen;
			return part_freeze(&group->parts[i], frozen, patience);
		}
	return -ENOTSUP;
}

int cgroup_freeze(struct cgroup *group)
{
	return set_frozen(group, true, freeze_ns);
}

int cgroup_freeze_soon(struct cgroup *group)
{
	int r = set_frozen(group, true, /* patience= */ 0);

	return r == -ETIMEDOUT ? 0 : r;
}

int cgroup_freeze_within(struct cgroup *group, uint64_t patience_ns)
{
	return set_frozen(group, true, patience_ns);
}

void cgroup_kill(struct cgroup *group)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (group->parts[i].powers & CGROUP_FREEZER)
			part_kill(group->parts[i].directory, group->name);
}

int cgroup_thaw(struct cgroup *group)
{
	return group && !group->frozen ? 0 : set_frozen(group, false, freeze_ns);
}

void cgroup_free(struct cgroup *group)
{
	if (!group)
		return;
	(void)cgroup_thaw(group);
	close_fd(&group->keeper_pipe);
	if (group->keeper > 0)
		while (waitpid(group->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	for (size_t i = 0; i < group->count; i++) {
		if (group->parts[i].parent >= 0)
			(void)group_remove(group->parts[i].parent, group->name);
		part_close(&group->parts[i]);
	}
	leave_room(&group->room);
	free(group->bus);
	free(group->mount);
	free(group);
}
