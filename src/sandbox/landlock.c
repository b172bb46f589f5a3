/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: every right that the running kernel knows, over the trees that the command may use.
 *
 * Behind mounts it says the same as they do, by object. Where there are no mounts it is the only
 * wall around files, and is given a list that leaves out what is denied.
 *
 * Behind mounts it leaves two things alone, because the kernel walks up to the root for each file
 * that is opened while either is handled, and reading a tree costs a tenth more for it:
 *
 * - Reading. All below / could be read by its rule, and what lies on the host's mounts has the same
 *   root inode, so it took nothing from anybody; what is denied is denied by masks. Executing stays
 *   handled: that is asked for at an exec alone.
 * - Cutting, without an fd that can write. Mounts refuse it outside, and what a file of the host
 *   that was handed in could be led to is never let go on: the supervisor cuts, on the object that
 *   it looked at. Where there is none, Landlock is asked.
 *
 * It comes behind the filter, because whether there is a supervisor is known last, and in one
 * layer, because each further one costs every open a twentieth. */
#include "ladder.h"
#include "stage.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define READ_ONLY (LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
#define CHANGE	  (READ_ONLY | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE)
#define OWN                                                                                \
	(CHANGE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_DIR |         \
	 LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK | LANDLOCK_MAKE_FIFO | LANDLOCK_MAKE_SYM | \
	 LANDLOCK_REFER)
#define NAMES                                                                              \
	(LANDLOCK_MAKE_CHAR | LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK | \
	 LANDLOCK_MAKE_FIFO | LANDLOCK_MAKE_BLOCK | LANDLOCK_MAKE_SYM)
#define OF_FILES                                                                           \
	(LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE | \
	 LANDLOCK_IOCTL_DEV)

#define LEFT_TO_MOUNTS (LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_TRUNCATE)

static const struct {
	const char *path;
	uint64_t rights;
	enum wall only_with; /* the path is the sandbox's own only behind this wall */
} landlock_paths[] = {
	{"/", READ_ONLY, WALL_COUNT},	 {"/tmp", OWN, WALL_TMP},
	{"/dev/shm", OWN, WALL_DEVICES}, {"/dev", CHANGE | LANDLOCK_IOCTL_DEV, WALL_DEVICES},
	{"/proc", CHANGE, WALL_PROC},
};

/* The kinds of records that allow_records makes. */
static const struct {
	char kind;
	uint64_t rights;
} kinds[] = {
	{'r', READ_ONLY},
	{'w', OWN},
	{'l', LANDLOCK_READ_DIR},
	{'d', LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_IOCTL_DEV},
};

/* Which rights came with which ABI. */
static const struct {
	int since;
	uint64_t fs, net, scoped;
} abis[] = {
	{1, (LANDLOCK_MAKE_SYM << 1) - 1, 0, 0},
	{LANDLOCK_REFERS, LANDLOCK_REFER, 0, 0},
	{LANDLOCK_TRUNCATES, LANDLOCK_TRUNCATE, 0, 0},
	{4, 0, LANDLOCK_BIND_TCP | LANDLOCK_CONNECT_TCP, 0},
	{5, LANDLOCK_IOCTL_DEV, 0, 0},
	{LANDLOCK_SIGNALS, 0, 0, LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNAL},
};

static bool is_behind_mounts(unsigned walls)
{
	const unsigned instead = WALL_BIT(WALL_MOUNT_NAMESPACE) | WALL_BIT(WALL_READ_ONLY) |
				 WALL_BIT(WALL_MASKS) | WALL_BIT(WALL_SECCOMP) |
				 WALL_BIT(WALL_NOTIFY);

	return (walls & instead) == instead;
}

/* Where names are guarded only the supervisor makes them, but for sockets in what is the sandbox's
 * own. A call that goes on after its look is read again by the kernel: whatever it says by then, it
 * makes none. */
static uint64_t own_rights(unsigned walls)
{
	const unsigned guarded =
		WALL_BIT(WALL_SECCOMP) | WALL_BIT(WALL_NOTIFY) | WALL_BIT(WALL_GUARD);

	return (walls & guarded) == guarded ? OWN & ~(uint64_t)NAMES : OWN;
}

static int allow(int ruleset, int fd, const char *path, uint64_t rights, uint64_t known,
		 struct failure *failure)
{
	struct landlock_path rule = {.allowed = rights & known, .parent = fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return stage_fail(failure, "opening", path);
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= OF_FILES;
	return sys_landlock_add(ruleset, &rule) < 0
		       ? stage_fail(failure, "allowing by Landlock", path)
		       : 0;
}

static int allow_paths(int ruleset, unsigned walls, uint64_t known, struct failure *failure)
{
	for (size_t i = 0; i < ELEMENTS(landlock_paths); i++) {
		uint64_t rights = landlock_paths[i].rights;
		int fd, r;

		if (landlock_paths[i].only_with != WALL_COUNT &&
		    !(walls & WALL_BIT(landlock_paths[i].only_with)))
			continue;
		if (rights == OWN)
			rights = own_rights(walls) | LANDLOCK_MAKE_SOCK;
		fd = open(landlock_paths[i].path, O_PATH | O_CLOEXEC);
		r = allow(ruleset, fd, landlock_paths[i].path, rights, known, failure);
		close_fd(&fd);
		if (r < 0)
			return -1;
	}
	return 0;
}

/* What is not any more what it was when the list was made stays closed. */
static int allow_record(int ruleset, const char *text, unsigned walls, uint64_t known,
			struct failure *failure)
{
	char *next;
	dev_t device = (dev_t)strtoull(text + 2, &next, 10);
	ino_t inode = (ino_t)strtoull(next, &next, 10);
	int fd = sys_openat2(AT_FDCWD, next + 1, O_PATH | O_CLOEXEC | O_NOFOLLOW,
			     RESOLVE_NO_SYMLINKS),
	    r = 0;
	struct stat st;

	/* Behind a filter of ward's openat2 is not there; there links on the way are held by the
	 * inode alone. */
	if (fd < 0 && errno == ENOSYS)
		fd = open(next + 1, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == device && st.st_ino == inode)
		for (size_t i = 0; i < ELEMENTS(kinds); i++)
			if (kinds[i].kind == text[0])
				r = allow(ruleset, fd, next + 1,
					  kinds[i].rights == OWN ? own_rights(walls)
								 : kinds[i].rights,
					  known, failure);
	close_fd(&fd);
	return r;
}

/* The sandbox's own terminal is one among the host's. */
static int allow_terminal(int ruleset, int master, uint64_t known, struct failure *failure)
{
	unsigned number;
	char path[32];
	int fd, r;

	if (master < 0)
		return 0;
	if (ioctl(master, _IOR('T', 0x30, unsigned) /* TIOCGPTN */, &number) < 0)
		return stage_fail(failure, "finding", "the terminal");
	snprintf(path, sizeof(path), "/dev/pts/%u", number);
	fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	r = allow(ruleset, fd, path, CHANGE | LANDLOCK_IOCTL_DEV, known, failure);
	close_fd(&fd);
	return r;
}

/* The rights that are taken from all that no rule gives them back to. */
static struct landlock_ruleset handled(const struct rung *rung, bool no_network)
{
	struct landlock_ruleset attr = {0};

	for (size_t i = 0; i < ELEMENTS(abis); i++) {
		if (rung->abi < abis[i].since)
			continue;
		attr.fs |= abis[i].fs;
		attr.scoped |= abis[i].scoped;
		/* Only where no namespace is the network's wall: inside one, loopback is free. */
		if (no_network)
			attr.net |= abis[i].net;
	}
	if (is_behind_mounts(rung->walls))
		attr.fs &= ~(uint64_t)LEFT_TO_MOUNTS;
	return attr;
}

/* The trees are known by the fds that were held since they were looked at. */
static int allow_trees(int ruleset, const struct landlock_ground *ground, uint64_t known,
		       struct failure *failure)
{
	const struct sandbox *sandbox = ground->sandbox;
	uint64_t rights = own_rights(ground->rung->walls);
	int r = 0;

	for (size_t i = 0; r == 0 && i < sandbox->writable->count; i++)
		r = allow(ruleset, ground->trees[i].tree, sandbox->writable->items[i], rights,
			  known, failure);
	for (size_t i = 0; r == 0 && i < sandbox->caches->count && i < CACHES_MOST; i++)
		if (ground->caches->standing >> i & 1 && !sandbox->caches_read_only)
			r = allow(ruleset, ground->caches->trees[i], sandbox->caches->items[i],
				  rights, known, failure);
	return r;
}

void stage_ask_landlock(struct rung *rung)
{
	if (!(rung->walls & WALL_BIT(WALL_LANDLOCK)))
		return;
	rung->abi = sys_landlock_abi();
	if (rung->abi > 0)
		return;
	rung->walls &= ~WALL_BIT(WALL_LANDLOCK);
	rung->lost |= WALL_BIT(WALL_LANDLOCK);
}

int stage_landlock(const struct landlock_ground *ground, struct failure *failure)
{
	const struct rung *rung = ground->rung;
	const struct landlock_ruleset attr = handled(rung, ground->no_network);
	int ruleset, r = 0;

	if (!(rung->walls & WALL_BIT(WALL_LANDLOCK)))
		return 0;
	/* Kernels refuse a structure that is longer than they know only where the rest is not zero.
	 */
	ruleset = sys_landlock_create(&attr, sizeof(attr));
	if (ruleset < 0)
		return stage_fail(failure, "making", "the Landlock ruleset");
	if (rung->lost & WALL_BIT(WALL_MOUNT_NAMESPACE)) {
		for (const char *at = ground->records; r == 0 && at < ground->records_end;
		     at += strlen(at) + 1)
			r = allow_record(ruleset, at, rung->walls, attr.fs, failure);
		if (r == 0)
			r = allow_terminal(ruleset, ground->terminal, attr.fs, failure);
	} else {
		r = allow_paths(ruleset, rung->walls, attr.fs, failure);
		if (r == 0)
			r = allow_trees(ruleset, ground, attr.fs, failure);
	}
	if (r == 0 && sys_landlock_restrict(ruleset) < 0)
		r = stage_fail(failure, "entering", "the Landlock ruleset");
	close(ruleset);
	return r;
}

int landlock_leave_init(int abi)
{
	const struct landlock_ruleset attr = {.scoped = LANDLOCK_SCOPE_SIGNAL};
	int ruleset, r;

	if (abi < LANDLOCK_SIGNALS)
		return 0;
	ruleset = sys_landlock_create(&attr, sizeof(attr));
	r = ruleset < 0 ? -1 : sys_landlock_restrict(ruleset);
	close_fd(&ruleset);
	return r;
}
