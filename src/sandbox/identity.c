/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing and becoming an identity. */
#include "identity.h"
#include "../base/io.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stdint.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { PASSWD_LIMIT = 4 * 1024 * 1024 };

/* Reads /etc/passwd itself: a static program has no name service, and asking one would mean loading
 * libraries. */
static void look_up(uid_t uid, struct identity *identity)
{
	_cleanup_free_ char *text = NULL;
	char *line, *next;

	if (read_file(AT_FDCWD, "/etc/passwd", PASSWD_LIMIT, &text, NULL) < 0)
		return;
	for (line = text; line && *line; line = next) {
		char *fields[7], *rest = line;
		int count = 0;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		while (count < 7 && rest)
			fields[count++] = strsep(&rest, ":");
		if (count < 7 || strtoul(fields[2], NULL, 10) != uid || fields[2][0] < '0' ||
		    fields[2][0] > '9')
			continue;
		if (identity->changes)
			identity->gid = (gid_t)strtoul(fields[3], NULL, 10);
		identity->name = strdup(fields[0]);
		identity->account_home = strdup(fields[5]);
		return;
	}
}

int identity_choose(const char *workspace, struct identity *ret_identity, struct error **ret_error)
{
	struct identity identity = {.uid = geteuid(), .gid = getegid()};
	struct stat st;

	if (stat(workspace, &st) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "looking at the workspace %s",
				  workspace);
	if (identity.uid == 0 && st.st_uid != 0) {
		identity = (struct identity){.uid = st.st_uid, .gid = st.st_gid, .changes = true};
	}
	identity.device = st.st_dev;
	identity.inode = st.st_ino;
	identity.owner = st.st_uid;
	look_up(identity.uid, &identity);
	if (!identity.changes && getenv("HOME") && *getenv("HOME"))
		identity.home = strdup(getenv("HOME"));
	else if (identity.account_home)
		identity.home = strdup(identity.account_home);
	*ret_identity = identity;
	return 0;
}

/* What the caller had, where it may be needed again. The supervisor then keeps it as permitted and
 * not in effect: whatever it does for a sandbox it does without. */
static struct {
	bool may_return;
	struct __user_cap_data_struct sets[2];
	bool left; /* groups */
	gid_t groups[256];
	int group_count;
} before;

/* What building a sandbox takes where there are no user namespaces. Kept as permitted, not in
 * effect, until one stands. */
#define BUILDING                                                                        \
	((1u << CAP_SYS_ADMIN) | (1u << CAP_NET_ADMIN) | (1u << CAP_NET_BIND_SERVICE) | \
	 (1u << CAP_SETPCAP) | (1u << CAP_SETFCAP) | (1u << CAP_DAC_READ_SEARCH))

/* Of what we may have at most. */
static uint32_t held(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {0};

	return syscall(SYS_capget, &header, sets) == 0 ? sets[0].permitted : 0;
}

static int set_capabilities(uint32_t effective, uint32_t permitted)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2] = {{.effective = effective, .permitted = permitted}};

	if (before.may_return) {
		sets[0].permitted |= before.sets[0].permitted;
		sets[1].permitted = before.sets[1].permitted;
	}
	return (int)syscall(SYS_capset, &header, sets);
}

/* The kernel forgets the parent-death signal with another uid; a run would outlive its server. */
static int change(const struct identity *identity)
{
	pid_t parent = getppid();
	int number = 0;

	prctl(PR_GET_PDEATHSIG, &number);
	if (setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) < 0)
		return -1;
	if (number && (prctl(PR_SET_PDEATHSIG, number) < 0 || getppid() != parent))
		raise(number);
	return 0;
}

int identity_leave_groups(struct error **ret_error)
{
	if (geteuid() != 0 || before.left)
		return 0;
	before.group_count = getgroups((int)ELEMENTS(before.groups), before.groups);
	if (setgroups(0, NULL) < 0 && errno != EPERM)
		return fail_errno(ret_error, E_ENGINE, errno, "giving up root's groups");
	before.left = true;
	return 0;
}

int identity_become(const struct identity *identity, bool may_return, struct error **ret_error)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	bool root = geteuid() == 0;

	int r = identity_leave_groups(ret_error);

	if (r < 0)
		return r;
	if (root && !identity->changes && may_return)
		before.may_return =
			before.group_count >= 0 && syscall(SYS_capget, &header, before.sets) == 0;
	prctl(PR_SET_KEEPCAPS, root && identity->changes);
	if (identity->changes && change(identity) < 0)
		return fail_errno(ret_error, E_ENGINE, errno,
				  "becoming uid %u, the workspace's owner", identity->uid);
	if (root && set_capabilities(identity->changes ? 0 : held() & 1u << CAP_SETFCAP,
				     held() & BUILDING) == 0)
		return 0;
	return identity_give_up(ret_error);
}

bool identity_raise(void)
{
	uint32_t building = held() & BUILDING;

	return building & 1u << CAP_SYS_ADMIN && set_capabilities(building, building) == 0;
}

void identity_lower(void)
{
	(void)set_capabilities(held() & 1u << CAP_SETFCAP, held() & BUILDING);
}

int identity_give_up(struct error **ret_error)
{
	if (set_capabilities(0, 0) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "giving up capabilities");
	return 0;
}

int identity_prepare(struct error **ret_error)
{
	if (before.may_return && set_capabilities(1u << CAP_SETFCAP, 1u << CAP_SETFCAP) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "taking up a capability");
	return 0;
}

int identity_return(struct error **ret_error)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	if (!before.may_return)
		return 0;
	for (size_t i = 0; i < ELEMENTS(before.sets); i++)
		before.sets[i].effective = before.sets[i].permitted;
	if (syscall(SYS_capset, &header, before.sets) < 0 ||
	    setgroups((size_t)before.group_count, before.groups) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "taking up the caller's identity");
	return 0;
}

void identity_kept_groups(struct list *lines)
{
	static const char *const powerful[] = {"docker", "disk",   "lxd",  "incus", "libvirt",
					       "kvm",	 "shadow", "kmem", "podman"};
	_cleanup_free_ char *text = NULL;
	gid_t groups[256];
	int count = getgroups((int)ELEMENTS(groups), groups);
	char *next;

	if (count <= 0 || (count == 1 && groups[0] == getegid()) ||
	    read_file(AT_FDCWD, "/etc/group", PASSWD_LIMIT, &text, NULL) < 0)
		return;
	for (char *line = text; line && *line; line = next) {
		char *rest = line, *name, *gid;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		name = strsep(&rest, ":");
		(void)strsep(&rest, ":");
		gid = strsep(&rest, ":");
		for (size_t i = 0; gid && i < ELEMENTS(powerful); i++)
			for (int held = 0; strcmp(name, powerful[i]) == 0 && held < count; held++)
				if (groups[held] == strtoul(gid, NULL, 10))
					list_add_printf(lines,
							"the group %s stays in force inside: a "
							"plain user cannot give it up",
							name);
	}
}

void identity_done(struct identity *identity)
{
	free(identity->name);
	free(identity->home);
	free(identity->account_home);
	*identity = (struct identity){0};
}
