/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end. The system's daemon serves each peer by a process that has become him
 * for good, before it does anything for him: whose files it can touch the kernel decides then. */
#include "../base/io.h"
#include "../escalate/queue.h"
#include "../record/state.h"
#include "daemon_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

enum { GROUPS_MOST = 65536 };

#ifndef SO_PEERGROUPS
#define SO_PEERGROUPS 59
#endif

char *peer_name(const struct ucred *peer)
{
	char path[64], *by = NULL;
	_cleanup_free_ char *name = NULL;
	size_t length = 0;

	snprintf(path, sizeof(path), "/proc/%d/comm", peer->pid);
	if (read_file(AT_FDCWD, path, 256, &name, &length) == 0)
		name[strcspn(name, "\n")] = '\0';
	if (asprintf(&by, "%s[%d], uid %lu", name && *name ? name : "program", peer->pid,
		     (unsigned long)peer->uid) < 0)
		abort();
	return by;
}

/* The groups that the peer had when it connected; for another user than the peer, none but his own.
 */
static int take_groups(struct client *client, uid_t uid)
{
	_cleanup_free_ gid_t *groups = NULL;
	socklen_t size = 0;

	if (uid != client->peer.uid)
		return setgroups(0, NULL);
	(void)getsockopt(client->wire.in, SOL_SOCKET, SO_PEERGROUPS, NULL, &size);
	if (size == 0)
		return setgroups(0, NULL);
	if (size > GROUPS_MOST * sizeof(gid_t))
		return -1;
	groups = malloc(size);
	if (!groups)
		abort();
	if (getsockopt(client->wire.in, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return -1;
	return setgroups(size / sizeof(gid_t), groups);
}

int peer_become(struct client *client, uid_t uid, struct error **ret_error)
{
	struct daemon *daemon = client->daemon;
	_cleanup_free_ char *home = NULL;
	gid_t gid = client->peer.gid;
	char *state;
	int r = 0;

	client->unsettled = false;
	client->gone = true; /* half of it is worse than none: nothing more is heard then */
	if (account_find(uid, uid == client->peer.uid ? NULL : &gid, &home) < 0 &&
	    uid != client->peer.uid)
		return fail(ret_error, E_NOT_FOUND, "there is no user %lu", (unsigned long)uid);
	if (take_groups(client, uid) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		r = -errno;
	if (r < 0 || geteuid() != uid || getegid() != gid)
		return fail_errno(ret_error, E_ENGINE, -r, "becoming user %lu", (unsigned long)uid);
	/* The kernel forgets it with the change, and the daemon may be gone already. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != daemon->parent)
		return fail(ret_error, E_ENGINE, "the daemon has ended");
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	if (home)
		setenv("HOME", home, /* overwrite= */ 1);
	else
		unsetenv("HOME");
	umask(077);
	r = state_directory(&state, ret_error);
	if (r == 0)
		r = state_directory_make(state, ret_error);
	if (r == 0 && client->side == DOOR_APPROVER)
		r = queue_watch(state, &daemon->watched, ret_error);
	if (r < 0)
		return r;
	daemon->state = state; /* for the rest of this process */
	client->gone = false;
	return 0;
}
