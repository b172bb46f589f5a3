/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's network, furnished when somebody first makes a socket of it: loopback, the inner
 * addresses, and the sockets of the name server. Most commands make none, and would have waited for
 * it.
 *
 * By a child, because whoever enters does not come back: it enters the user
 * namespace, which gives it all capabilities over the sandbox's network and over nothing else, and
 * the network namespace. It stays out of the pid namespace, so that nobody inside can name it, and
 * ends when it has handed over what it made. */
#include "network.h"
#include "child.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>

enum { PATIENCE_MS = 500, TRIES_MOST = 16 };

struct doors {
	int user, network;
};

/* One for each socket; errnum 0: it comes with it, or is not to be had. */
struct furniture {
	int errnum;
};

static int make(const struct doors *doors, int names[static NAME_SOCKETS])
{
	if (setns(doors->user, CLONE_NEWUSER) < 0 || setns(doors->network, CLONE_NEWNET) < 0)
		return errno;
	return network_furnish(names) ? errno : 0;
}

static void work(int control, const void *data)
{
	int names[NAME_SOCKETS] = {-1, -1, -1, -1};
	struct furniture made = {make(data, names)};

	for (int i = 0; i < NAME_SOCKETS; i++)
		if (send_message(control, &made, sizeof(made), &names[i], names[i] >= 0,
				 PATIENCE_MS) < 0)
			return;
}

static int receive(int control, int ret_names[static NAME_SOCKETS])
{
	int fds[MESSAGE_FDS], r = 0;
	struct furniture made;

	for (int i = 0; i < NAME_SOCKETS && r == 0; i++) {
		r = receive_message(control, &made, sizeof(made), fds, PATIENCE_MS);
		if (r == 0)
			r = -made.errnum;
		if (r == 0)
			ret_names[i] = fds[0];
	}
	return r;
}

/* The namespace leads to the one that owns it. Nothing of this depends on who is inside. */
static int furnish(int network, int ret_names[static NAME_SOCKETS])
{
	_cleanup_close_ int user = ioctl(network, NS_GET_USERNS);
	const struct doors doors = {user, network};
	struct child child = CHILD_NONE;
	int r;

	if (user < 0)
		return -errno;
	r = child_start(&child, "ward-network", (int[]){user, network}, 2, work, &doors);
	if (r == 0)
		r = receive(child.socket, ret_names);
	child_end(&child);
	return r;
}

void network_need(struct observer *observer)
{
	int network = observer->observed->network;

	if (network < 0 || observer->furnished || observer->furnishings >= TRIES_MOST)
		return;
	observer->furnishings++;
	if (furnish(network, observer->names) == 0 && nameserver_watch(observer->nameserver) == 0) {
		observer->furnished = true;
		return;
	}
	for (int i = 0; i < NAME_SOCKETS; i++)
		close_fd(&observer->names[i]);
}
