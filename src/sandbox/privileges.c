/* SPDX-License-Identifier: Apache-2.0 */
/* Who the command is and what it may claim: identity, limits, privileges, Landlock, loopback. */
#include "stage.h"
#include "../sys/kernel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>

static int write_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = (ssize_t)strlen(text), written;

	if (fd < 0)
		return -1;
	written = write(fd, text, (size_t)length);
	close(fd);
	return written == length ? 0 : -1;
}

int stage_identity(const struct ground *ground, struct failure *failure)
{
	char map[64];

	/* After a change of uid the process is not dumpable, and its maps belong to root. */
	prctl(PR_SET_DUMPABLE, 1);
	if (write_map("/proc/self/setgroups", "deny") < 0)
		return stage_fail(failure, "writing", "/proc/self/setgroups");
	snprintf(map, sizeof(map), "%u %u 1", ground->uid, ground->uid);
	if (write_map("/proc/self/uid_map", map) < 0)
		return stage_fail(failure, "writing", "/proc/self/uid_map");
	snprintf(map, sizeof(map), "%u %u 1", ground->gid, ground->gid);
	if (write_map("/proc/self/gid_map", map) < 0)
		return stage_fail(failure, "writing", "/proc/self/gid_map");
	return 0;
}

int stage_network(int *ret_names, struct failure *failure)
{
	struct sockaddr_in port53 = {.sin_family = AF_INET, .sin_port = htons(53)};
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int names;

	names = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (names < 0 || ioctl(names, SIOCSIFFLAGS, &loopback) < 0)
		return stage_fail(failure, "starting", "the loopback interface");
	port53.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(names, (struct sockaddr *)&port53, sizeof(port53)) < 0)
		return stage_fail(failure, "starting", "the resolver");
	*ret_names = names;
	return 0;
}

#define READ_ONLY (LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR)
#define CHANGE	  (READ_ONLY | LANDLOCK_WRITE_FILE | LANDLOCK_TRUNCATE)
#define OWN                                                                                \
	(CHANGE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE | LANDLOCK_MAKE_DIR |         \
	 LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK | LANDLOCK_MAKE_FIFO | LANDLOCK_MAKE_SYM | \
	 LANDLOCK_REFER)

static const struct {
	const char *path;
	uint64_t rights;
	enum wall only_with; /* the path is the sandbox's own only behind this wall */
} landlock_paths[] = {
	{"/", READ_ONLY, WALL_COUNT},	 {"/tmp", OWN, WALL_TMP},
	{"/dev/shm", OWN, WALL_DEVICES}, {"/dev", CHANGE | LANDLOCK_IOCTL_DEV, WALL_DEVICES},
	{"/proc", CHANGE, WALL_PROC},
};

static int landlock_allow(int ruleset, int fd, const char *path, uint64_t rights, uint64_t known,
			  struct failure *failure)
{
	struct landlock_path rule = {.allowed = rights & known, .parent = fd};
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return stage_fail(failure, "opening", path);
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE |
				LANDLOCK_TRUNCATE;
	return sys_landlock_add(ruleset, &rule) < 0
		       ? stage_fail(failure, "allowing by Landlock", path)
		       : 0;
}

int stage_landlock(const struct sandbox *sandbox, unsigned *walls,
		   const struct writable_tree *trees, struct failure *failure)
{
	int abi = sys_landlock_abi(), ruleset;
	uint64_t known = (LANDLOCK_MAKE_SYM << 1) - 1;
	struct landlock_ruleset attr = {0};

	/* First, because Landlock wants it of whoever has no capability. */
	if (*walls & WALL_BIT(WALL_NO_NEW_PRIVILEGES) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return stage_fail(failure, "setting", "no_new_privs");
	if (!(*walls & WALL_BIT(WALL_LANDLOCK)))
		return 0;
	if (abi == 0) {
		errno = ENOSYS;
		return stage_fail(failure, "asking for", "Landlock");
	}
	if (abi >= 2)
		known |= LANDLOCK_REFER;
	if (abi >= 3)
		known |= LANDLOCK_TRUNCATE;
	if (abi >= 5)
		known |= LANDLOCK_IOCTL_DEV;
	attr.fs = known;
	if (abi >= 6)
		attr.scoped = LANDLOCK_SCOPE_ABSTRACT | LANDLOCK_SCOPE_SIGNAL;
	/* Kernels refuse a structure that is longer than they know only where the rest is not zero.
	 */
	ruleset = sys_landlock_create(&attr, sizeof(attr));
	if (ruleset < 0)
		return stage_fail(failure, "making", "the Landlock ruleset");
	for (size_t i = 0; i < ELEMENTS(landlock_paths); i++) {
		int fd, r;

		if (landlock_paths[i].only_with != WALL_COUNT &&
		    !(*walls & WALL_BIT(landlock_paths[i].only_with)))
			continue;
		fd = open(landlock_paths[i].path, O_PATH | O_CLOEXEC);
		r = landlock_allow(ruleset, fd, landlock_paths[i].path, landlock_paths[i].rights,
				   known, failure);
		close_fd(&fd);
		if (r < 0)
			return -1;
	}
	for (size_t i = 0; i < sandbox->writable->count; i++)
		if (landlock_allow(ruleset, trees[i].tree, sandbox->writable->items[i], OWN, known,
				   failure) < 0)
			return -1;
	if (sys_landlock_restrict(ruleset) < 0)
		return stage_fail(failure, "entering", "the Landlock ruleset");
	close(ruleset);
	return 0;
}

static int limit(int resource, uint64_t value)
{
	struct rlimit old, new;

	if (getrlimit((__rlimit_resource_t)resource, &old) < 0)
		return -1;
	new.rlim_max = MIN((rlim_t)value, old.rlim_max);
	new.rlim_cur = MIN(new.rlim_max, old.rlim_cur);
	if (resource == RLIMIT_CORE)
		new.rlim_cur = new.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &new);
}

/* Since Linux 5.14 the processes of a user are counted for each user namespace, before for the
 * whole machine. */
static bool counts_by_namespace(unsigned walls)
{
	struct utsname name;
	int major, minor;

	return walls & WALL_BIT(WALL_USER_NAMESPACE) && uname(&name) == 0 &&
	       sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 14));
}

int stage_limits(const struct sandbox *sandbox, unsigned walls, struct failure *failure)
{
	uint64_t processes = sandbox->own_processes && counts_by_namespace(walls)
				     ? sandbox->own_processes
				     : sandbox->processes;

	/* 1, not 0: a core_pattern that pipes into a program outside ignores 0. */
	if (limit(RLIMIT_CORE, 1) < 0)
		return stage_fail(failure, "limiting", "core dumps");
	if (processes && limit(RLIMIT_NPROC, processes) < 0)
		return stage_fail(failure, "limiting", "processes");
	if (sandbox->file_size && limit(RLIMIT_FSIZE, sandbox->file_size) < 0)
		return stage_fail(failure, "limiting", "the size of files");
	if (sandbox->cpu_seconds && limit(RLIMIT_CPU, sandbox->cpu_seconds) < 0)
		return stage_fail(failure, "limiting", "CPU time");
	return 0;
}

int stage_privileges(unsigned walls, struct failure *failure)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (!(walls & WALL_BIT(WALL_CAPABILITIES)))
		return 0;
	for (int capability = 0;
	     prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 || errno != EINVAL; capability++)
		if (capability > 63)
			return stage_fail(failure, "dropping", "the capability bounding set");
	/* uid 0 must not mean anything at the next exec. Without user namespace only root may lock
	 * this. */
	if (prctl(PR_SET_SECUREBITS,
		  SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
			  SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
			  SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		  0, 0, 0) < 0 &&
	    errno != EPERM)
		return stage_fail(failure, "locking", "the securebits");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0)
		return stage_fail(failure, "emptying", "the capability sets");
	return 0;
}
