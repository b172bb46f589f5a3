/* SPDX-License-Identifier: Apache-2.0 */
/* Who the command is and what it may claim: identity, limits, privileges, the filter. */
#include "filter.h"
#include "stage.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

int stage_maps(struct map user, struct map group, struct failure *failure)
{
	char text[64];

	/* gVisor has no such file, and maps a group without it. Elsewhere the map of groups would
	 * be refused. */
	if (write_map("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
		return stage_fail(failure, "writing", "/proc/self/setgroups");
	snprintf(text, sizeof(text), "%u %u 1", user.inside, user.outside);
	if (write_map("/proc/self/uid_map", text) < 0)
		return stage_fail(failure, "writing", "/proc/self/uid_map");
	snprintf(text, sizeof(text), "%u %u 1", group.inside, group.outside);
	if (write_map("/proc/self/gid_map", text) < 0)
		return stage_fail(failure, "writing", "/proc/self/gid_map");
	return 0;
}

int stage_identity(const struct ground *ground, struct failure *failure)
{
	bool contained = ground->level == LEVEL_CONTAINER;

	/* After a change of uid the process is not dumpable, and its maps belong to root. */
	prctl(PR_SET_DUMPABLE, 1);
	/* The runtime of a container wants to be root; the command is itself again inside. */
	return stage_maps((struct map){contained ? 0 : ground->uid, ground->uid},
			  (struct map){contained ? 0 : ground->gid, ground->gid}, failure);
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

/* The kernel counts signals that wait, and timers, for the user. */
static int share_signals(void)
{
	enum { SHARE = 4 };
	struct rlimit all;

	if (getrlimit(RLIMIT_SIGPENDING, &all) < 0)
		return -1;
	return limit(RLIMIT_SIGPENDING, all.rlim_max / SHARE);
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
	if (walls && share_signals() < 0)
		return stage_fail(failure, "limiting", "signals");
	/* Who may run in real time, as some desktops let their users, is held by no share of the
	 * processors: neither a group's nor ours, who keep the limits. */
	if (walls && (limit(RLIMIT_RTPRIO, 0) < 0 || limit(RLIMIT_NICE, 0) < 0))
		return stage_fail(failure, "limiting", "priorities");
	if (processes && limit(RLIMIT_NPROC, processes) < 0)
		return stage_fail(failure, "limiting", "processes");
	if (sandbox->file_size && limit(RLIMIT_FSIZE, sandbox->file_size) < 0)
		return stage_fail(failure, "limiting", "the size of files");
	if (sandbox->cpu_seconds && limit(RLIMIT_CPU, sandbox->cpu_seconds) < 0)
		return stage_fail(failure, "limiting", "CPU time");
	return 0;
}

int stage_bounding_set(unsigned walls, struct failure *failure)
{
	if (!(walls & WALL_BIT(WALL_CAPABILITIES)))
		return 0;
	/* Without a user namespace a plain user may not; nothing can be raised from it anyway
	 * behind no_new_privs. */
	for (int capability = 0; prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 ||
				 (errno != EINVAL && errno != EPERM);
	     capability++)
		if (capability > 63)
			return stage_fail(failure, "dropping", "the capability bounding set");
	return 0;
}

int stage_privileges(unsigned walls, struct failure *failure)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	/* Landlock and the filter want it of whoever has no capability. */
	if (walls & WALL_BIT(WALL_NO_NEW_PRIVILEGES) && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return stage_fail(failure, "setting", "no_new_privs");
	if (!(walls & WALL_BIT(WALL_CAPABILITIES)))
		return 0;
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

static int attach(const struct sock_fprog *filter, bool notify)
{
	int r;

	if (!notify)
		return sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, (void *)filter);
	r = sys_seccomp(SECCOMP_SET_MODE_FILTER,
			SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
			(void *)filter);
	if (r < 0 && errno == EINVAL) /* before Linux 5.19 */
		r = sys_seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
				(void *)filter);
	return r;
}

static struct sock_filter program[BPF_ROOM]; /* too large for a comfortable stack */
static int program_length;		     /* of one that was prepared; 0: none was */

static bool is_as_prepared(const struct sandbox *sandbox, const struct rung *rung)
{
	return program_length > 0 && !rung->lost && !sandbox->trap_allocation &&
	       !sandbox->trap_messages && !sandbox->trap_reads && !sandbox->trap_wishes &&
	       !sandbox->trap_programs && call_set_is_empty(&sandbox->filter.allowed) &&
	       call_set_is_empty(&sandbox->filter.denied);
}

static void trap_for_later(const struct rung *rung)
{
	if (!stage_enters_later(rung->walls) || !(rung->walls & WALL_BIT(WALL_NOTIFY)))
		return;
	filter_trap_network();
	filter_trap_shares();
}

void stage_prepare_filter(const struct rung *rung, bool no_network)
{
	const unsigned needed = WALL_BIT(WALL_SECCOMP) | WALL_BIT(WALL_NOTIFY);

	if ((rung->walls & needed) != needed || rung->lost || no_network)
		return;
	trap_for_later(rung);
	program_length = filter_build(/* notify= */ true, &(struct filter_changes){0},
				      /* rung= */ NULL, program);
}

int stage_filter(const struct sandbox *sandbox, struct rung *rung, bool no_network,
		 const uint32_t pass[static 4], int *ret_listener, struct failure *failure)
{
	unsigned lost = rung->lost;
	bool notify = rung->walls & WALL_BIT(WALL_NOTIFY),
	     alone = lost & WALL_BIT(WALL_MOUNT_NAMESPACE),
	     among_others = lost & WALL_BIT(WALL_PID_NAMESPACE);
	const struct filter_rung needs = {
		.no_supervisor = lost & WALL_BIT(WALL_NOTIFY),
		.no_network = no_network,
		.no_ipc = lost & WALL_BIT(WALL_IPC_NAMESPACE),
		.processes = among_others,
		.signals = among_others && rung->abi < LANDLOCK_SIGNALS,
		.no_mounts = alone,
		.truncate =
			(alone || lost & WALL_BIT(WALL_NOTIFY)) && rung->abi < LANDLOCK_TRUNCATES,
		.pass = {pass[0], pass[1], pass[2], pass[3]},
	};
	struct sock_fprog filter = {.filter = program};
	int r;

	if (!(rung->walls & WALL_BIT(WALL_SECCOMP)))
		return 0;
	if (sandbox->trap_allocation)
		filter_trap_allocation();
	if (sandbox->trap_messages && notify)
		filter_trap_messages();
	if (sandbox->trap_reads && notify)
		filter_trap_reads();
	if (sandbox->trap_wishes && notify)
		filter_trap_wishes();
	trap_for_later(rung);
	if (sandbox->trap_programs && notify)
		filter_trap_programs();
	r = is_as_prepared(sandbox, rung)
		    ? program_length
		    : filter_build(notify, &sandbox->filter, lost ? &needs : NULL, program);
	if (r < 0) {
		errno = -r;
		return stage_fail(failure, "building", "the system-call filter");
	}
	filter.len = (unsigned short)r;
	r = attach(&filter, notify);
	if (r < 0 && notify && (errno == EBUSY || errno == EINVAL || ladder_is_refusal(errno))) {
		/* A listener is there already, or they are not known here: without. Where filters
		 * are refused altogether, the second try says so. */
		/* What comes into being is guarded by the supervisor. */
		const unsigned seeing =
			WALL_BIT(WALL_NOTIFY) | WALL_BIT(WALL_GUARD) | WALL_BIT(WALL_SEAL);

		rung->lost |= rung->walls & seeing;
		rung->walls &= ~seeing;
		return stage_filter(sandbox, rung, no_network, pass, ret_listener, failure);
	}
	if (r < 0)
		return stage_fail(failure, "attaching", "the system-call filter");
	if (notify)
		*ret_listener = r;
	return 0;
}
