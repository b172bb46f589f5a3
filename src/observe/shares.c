/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's share of what the kernel counts for a user, taken when somebody first wants some of
 * it, and by a child for the reasons that the network is furnished by one. */
#include "network/child.h"
#include "observer.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>

enum { PATIENCE_MS = 500 };

static void work(int control, const void *data)
{
	const int *user = data;
	int r = setns(*user, CLONE_NEWUSER) < 0 ? -errno : shares_take();

	(void)send_message(control, &r, sizeof(r), NULL, 0, PATIENCE_MS);
}

static int take(int network)
{
	_cleanup_close_ int user = ioctl(network, NS_GET_USERNS);
	int fds[MESSAGE_FDS], r, taken = 0;
	struct child child = CHILD_NONE;

	if (user < 0)
		return -errno;
	r = child_start(&child, "ward-shares", &user, 1, work, &user);
	if (r == 0)
		r = receive_message(child.socket, &taken, sizeof(taken), fds, PATIENCE_MS);
	child_end(&child);
	return r < 0 ? r : taken;
}

/* The machine does not let it: the files are not there, or read-only, as in a container. Anything
 * else the command may have brought about. */
static bool is_not_to_be_had(int r)
{
	return r == -ENOENT || r == -EROFS || r == -EACCES || r == -EPERM;
}

bool shares_need(struct observer *observer)
{
	int network = observer->observed->network, r;

	if (observer->shared || network < 0 ||
	    observer->observed->unchecked & CHECK_BIT(CHECK_SHARE))
		return true;
	r = take(network);
	observer->shared = r == 0 || is_not_to_be_had(r);
	return observer->shared;
}

void serve_share(struct observer *observer, const struct seccomp_notif *call)
{
	if (shares_need(observer))
		answer_continue(observer, call->id);
	else
		answer(observer, call->id, EMFILE);
}
