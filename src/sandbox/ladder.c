/* SPDX-License-Identifier: Apache-2.0 */
/* Rungs, as tables. */
#include "ladder.h"
#include "../base/buffer.h"
#include "../base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACES                                                        \
	(WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_MOUNT_NAMESPACE) | \
	 WALL_BIT(WALL_PID_NAMESPACE) | WALL_BIT(WALL_IPC_NAMESPACE) |    \
	 WALL_BIT(WALL_UTS_NAMESPACE) | WALL_BIT(WALL_NET_NAMESPACE) |    \
	 WALL_BIT(WALL_CGROUP_NAMESPACE))
#define MOUNTS                                                                      \
	(WALL_BIT(WALL_READ_ONLY) | WALL_BIT(WALL_MASKS) | WALL_BIT(WALL_DEVICES) | \
	 WALL_BIT(WALL_PROC) | WALL_BIT(WALL_TMP) | WALL_BIT(WALL_RUN))

static unsigned learnt;
static struct rung last;

bool ladder_is_refusal(int errnum)
{
	return errnum == EPERM || errnum == EACCES || errnum == ENOSYS || errnum == EOPNOTSUPP;
}

bool ladder_is_shortage(int errnum)
{
	return ladder_is_refusal(errnum) || errnum == ENOSPC || errnum == EUSERS ||
	       errnum == EINVAL;
}

unsigned ladder_settle(unsigned walls, unsigned lost, bool privileged)
{
	walls &= ~lost;
	if (lost & WALL_BIT(WALL_USER_NAMESPACE) && !privileged)
		walls &= ~NAMESPACES;
	if (!(walls & WALL_BIT(WALL_MOUNT_NAMESPACE)) &&
	    lost & (WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_MOUNT_NAMESPACE)))
		walls &= ~MOUNTS;
	return walls;
}

const char *ladder_no_floor(unsigned lost)
{
	/* Without Landlock the host's /proc would lay open the memory of every process of the same
	 * user, and without either of the two nothing keeps files. */
	static const struct {
		enum wall wall;
		const char *text;
	} instead[] = {
		{WALL_MOUNT_NAMESPACE, "neither mount namespaces nor Landlock"},
		{WALL_PID_NAMESPACE, "neither pid namespaces nor Landlock"},
		{WALL_PROC, "neither a /proc of the sandbox's own nor Landlock"},
	};

	if (lost & WALL_BIT(WALL_SECCOMP))
		return "no seccomp filter";
	for (size_t i = 0; lost & WALL_BIT(WALL_LANDLOCK) && i < ELEMENTS(instead); i++)
		if (lost & WALL_BIT(instead[i].wall))
			return instead[i].text;
	return NULL;
}

/* What is lost without a wall, in the order in which it matters. unless: said by another line;
 * only_with: lost as well. */
static const struct {
	enum wall wall;
	unsigned unless, only_with;
	const char *text;
} losses[] = {
	{WALL_MOUNT_NAMESPACE, 0, 0,
	 "files are kept by Landlock alone (names in denied directories can be listed, nothing new "
	 "can be made in a directory above a secret, temporary files are in $TMPDIR)"},
	{WALL_USER_NAMESPACE, WALL_BIT(WALL_MOUNT_NAMESPACE), 0,
	 "root inside is the machine's root, without its powers"},
	{WALL_LANDLOCK, 0, 0, "files are kept by mounts alone, without Landlock beside them"},
	{WALL_NOTIFY, 0, 0,
	 "what is refused is not known, and unix sockets are refused; a supervisor that stands "
	 "around does for it what that one's own walls allow"},
	{WALL_NOTIFY, 0, WALL_BIT(WALL_MOUNT_NAMESPACE),
	 "modes, owners and times of the user's own files outside can be changed"},
	{WALL_GUARD, 0, 0, "a new repository or settings file that runs programs is not noticed"},
	{WALL_SEAL, 0, 0, "rules are held against the command, not against what it starts"},
	{WALL_PID_NAMESPACE, 0, 0, "other processes can be seen, though not touched"},
	{WALL_NET_NAMESPACE, 0, 0, "no Internet socket can be made, not even to loopback"},
	{WALL_IPC_NAMESPACE, 0, 0, "System V IPC and message queues are refused"},
	{WALL_PROC, 0, 0, "memory and processes are not counted, for /proc is the host's"},
	{WALL_CGROUP_NAMESPACE, WALL_BIT(WALL_PROC), 0,
	 "names of the host's control groups can be seen"},
};

/* What Landlock learnt when, and what it means where it is older: a wall beside it may hold the
 * same; where that is missing too, the filter does, by the supervisor's judgement or without. */
static const struct {
	int since;
	enum wall beside;
	const char *held, *judged, *unjudged;
} abis[] = {
	{LANDLOCK_REFERS, WALL_COUNT, "files cannot be renamed from one directory to another", NULL,
	 NULL},
	{LANDLOCK_TRUNCATES, WALL_MOUNT_NAMESPACE, "cutting files is held by mounts alone",
	 "truncate() is refused everywhere", "truncate() is refused everywhere"},
	{5, WALL_MOUNT_NAMESPACE, NULL, "ioctl on devices is held by the filter alone",
	 "ioctl on devices is held by the filter alone"},
	{LANDLOCK_SIGNALS, WALL_PID_NAMESPACE,
	 "signals are held by the pid namespace alone, abstract sockets without Landlock",
	 "signals are judged by ward one by one", "no signal can be sent, not even to oneself"},
};

static void add_loss(struct buffer *text, const char *loss)
{
	buffer_add_text(text, text->length ? "; " : "fewer walls stand here: ");
	buffer_add_text(text, loss);
}

char *ladder_explain(unsigned lost, int abi, enum network network)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < ELEMENTS(losses); i++) {
		if (!(lost & WALL_BIT(losses[i].wall)) || lost & losses[i].unless ||
		    losses[i].only_with & ~lost ||
		    (losses[i].wall == WALL_NET_NAMESPACE && network == NETWORK_FULL))
			continue;
		add_loss(&text, losses[i].text);
	}
	for (size_t i = 0; abi && i < ELEMENTS(abis); i++) {
		bool held = abis[i].beside == WALL_COUNT || !(lost & WALL_BIT(abis[i].beside));
		const char *loss = held				  ? abis[i].held
				   : lost & WALL_BIT(WALL_NOTIFY) ? abis[i].unjudged
								  : abis[i].judged;

		if (abi < abis[i].since && loss)
			add_loss(&text, loss);
	}
	if (!text.length)
		return NULL;
	return strdup(buffer_text(&text));
}

enum wall ladder_cause(enum wall wall, unsigned lost)
{
	if (MOUNTS & WALL_BIT(wall) && lost & WALL_BIT(WALL_MOUNT_NAMESPACE))
		wall = WALL_MOUNT_NAMESPACE;
	if (wall == WALL_PROC && lost & WALL_BIT(WALL_PID_NAMESPACE))
		wall = WALL_PID_NAMESPACE;
	return NAMESPACES & WALL_BIT(wall) && lost & WALL_BIT(WALL_USER_NAMESPACE)
		       ? WALL_USER_NAMESPACE
		       : wall;
}

static bool begins_with(const char *path, char first)
{
	_cleanup_free_ char *text = NULL;

	return read_file(AT_FDCWD, path, 64, &text, NULL) == 0 && text[0] == first;
}

bool ladder_has_apparmor(void)
{
	return begins_with("/sys/module/apparmor/parameters/enabled", 'Y');
}

bool ladder_apparmor_keeps_namespaces(void)
{
	return begins_with("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1');
}

const char *ladder_remedy(enum wall wall)
{
	static const char *const remedies[WALL_COUNT] = {
		[WALL_USER_NAMESPACE] = "user namespaces are switched off: look at "
					"kernel.unprivileged_userns_clone, "
					"user.max_user_namespaces, "
					"kernel.apparmor_restrict_unprivileged_userns, or "
					"the seccomp profile of the container",
		[WALL_MOUNT_NAMESPACE] =
			"mounting is refused in a namespace of one's own: look at "
			"user.max_mnt_namespaces, AppArmor, or the container's profile",
		[WALL_PID_NAMESPACE] = "look at user.max_pid_namespaces",
		[WALL_IPC_NAMESPACE] = "look at user.max_ipc_namespaces and CONFIG_IPC_NS",
		[WALL_UTS_NAMESPACE] = "look at user.max_uts_namespaces and CONFIG_UTS_NS",
		[WALL_NET_NAMESPACE] = "look at user.max_net_namespaces and CONFIG_NET_NS",
		[WALL_CGROUP_NAMESPACE] = "look at user.max_cgroup_namespaces and CONFIG_CGROUPS",
		[WALL_LANDLOCK] =
			"Linux 5.13 or newer with landlock in the lsm= list of the kernel "
			"command line has it",
		[WALL_NOTIFY] = "another supervisor is attached already (ward inside ward, a "
				"container engine that traps calls), or Linux is older than 5.5",
		[WALL_PROC] = "parts of /proc are covered, as container engines do: --security-opt "
			      "systempaths=unconfined, or run ward outside the container",
		[WALL_SECCOMP] = "the kernel was built without CONFIG_SECCOMP_FILTER",
		[WALL_APPARMOR] = "AppArmor is off, or its profile ward-restricted is not loaded: "
				  "apparmor_parser -r PREFIX/share/ward/apparmor/ward-restricted",
	};

	if (wall == WALL_USER_NAMESPACE && ladder_apparmor_keeps_namespaces())
		return "AppArmor keeps user namespaces from programs without a profile "
		       "(kernel.apparmor_restrict_unprivileged_userns): load ward's, "
		       "apparmor_parser -r PREFIX/share/ward/apparmor/ward";
	return remedies[wall] ? remedies[wall] : "`ward doctor` says what this machine gives";
}

unsigned ladder_lost(void)
{
	return learnt;
}

void ladder_lose(unsigned walls)
{
	learnt |= walls;
}

struct rung ladder_last(void)
{
	return last;
}

void ladder_stood(struct rung rung)
{
	last = rung;
}
