/* SPDX-License-Identifier: Apache-2.0 */
/* The child inside.
 *
 * It enters the user namespace, which gives it all capabilities over the sandbox's network and over
 * nothing else, and the network namespace; it stays out of the pid namespace, so that nobody inside
 * can name it. When the routes are made it keeps one capability: ports below 1024. It knows nothing
 * of the host's network, and what it makes belongs to the sandbox's. */
#include "factory.h"
#include "cover.h"
#include "../base/macro.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { PATIENCE_MS = 500, HANDSHAKE_MS = 20 };

struct ground {
	int user, network;
};

struct request {
	bool stream;
	struct sockaddr_storage address;
};

struct answer {
	int errnum; /* 0: the socket comes with it */
};

static socklen_t length_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

/* EINVAL: it is our own, because the sandbox has none; then the other call has the last word. */
static int enter(const struct ground *ground)
{
	if (setns(ground->user, CLONE_NEWUSER) < 0 && errno != EINVAL)
		return -errno;
	if (setns(ground->network, CLONE_NEWNET) < 0)
		return -errno;
	close(ground->user);
	close(ground->network);
	/* Both can be lost with a change of credentials. */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return 0;
}

struct route_request {
	struct nlmsghdr header;
	struct rtmsg route;
	struct {
		struct rtattr header;
		uint32_t value;
	} device, source;
};

/* Whatever has no better route is ours, below what the loopback has itself. Without a source of its
 * own a sender would be told that it is who it sends to. */
static int add_route(int netlink, unsigned char family)
{
	struct route_request request = {
		.header = {.nlmsg_type = RTM_NEWROUTE,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.route = {.rtm_family = family,
			  .rtm_table = RT_TABLE_LOCAL,
			  .rtm_protocol = RTPROT_STATIC,
			  .rtm_scope = family == AF_INET ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE,
			  .rtm_type = RTN_LOCAL},
		.device = {{RTA_LENGTH(sizeof(uint32_t)), RTA_OIF}, if_nametoindex("lo")},
		.source = {{RTA_LENGTH(sizeof(uint32_t)), RTA_PREFSRC}, htonl(INADDR_LOOPBACK)},
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char room[512];
	} reply;

	request.header.nlmsg_len =
		family == AF_INET ? sizeof(request) : offsetof(struct route_request, source);
	if (send(netlink, &request, request.header.nlmsg_len, 0) < 0 ||
	    recv(netlink, &reply, sizeof(reply), 0) <
		    (ssize_t)(sizeof(reply.header) + sizeof(reply.error)))
		return -EIO;
	/* It is there since an earlier factory. */
	return reply.error.error == -EEXIST ? 0 : reply.error.error;
}

static int make_routes(void)
{
	_cleanup_close_ int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int r;

	if (netlink < 0)
		return -errno;
	r = add_route(netlink, AF_INET);
	if (r == 0)
		(void)add_route(netlink, AF_INET6); /* where there is one */
	return r;
}

static int give_up_privileges(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct kept[2] = {
		{.effective = 1u << CAP_NET_BIND_SERVICE, .permitted = 1u << CAP_NET_BIND_SERVICE}};
	const struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	if (syscall(SYS_capset, &header, kept) == 0)
		return 0;
	kept[0].effective = kept[0].permitted = 0; /* the namespace was never ours */
	return syscall(SYS_capset, &header, kept) < 0 ? -errno : 0;
}

static int make_datagrams(const struct sockaddr_storage *address, int *ret_socket)
{
	_cleanup_close_ int fd =
		socket(address->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0)
		return -errno;
	/* A local route makes an address bindable for IPv4 only. */
	if (address->ss_family == AF_INET6 &&
	    (setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0 ||
	     setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0))
		return -errno;
	if (bind(fd, (const struct sockaddr *)address, length_of(address)) < 0)
		return -errno;
	*ret_socket = STEAL_FD(fd);
	return 0;
}

static int connect_to(const struct sockaddr_storage *address, int *ret_socket)
{
	_cleanup_close_ int fd =
		socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd done = {fd, POLLOUT, 0};
	socklen_t length = sizeof(int);
	int error = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, length_of(address)) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		/* A full queue inside: whoever carries the bytes waits for the rest. */
		if (poll(&done, 1, HANDSHAKE_MS) > 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error)
			return -error;
	}
	*ret_socket = STEAL_FD(fd);
	return 0;
}

static int make_stream(const struct sockaddr_storage *address, int *ret_socket)
{
	const struct sockaddr_in *wanted = (const void *)address;
	struct sockaddr_in6 other = {.sin6_family = AF_INET6,
				     .sin6_port = wanted->sin_port,
				     .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_storage loopback = {0};
	int r = connect_to(address, ret_socket);

	if (r == 0)
		return 0;
	memcpy(&loopback, &other, sizeof(other));
	return connect_to(&loopback, ret_socket) == 0 ? 0 : r;
}

static void work(int control, const void *data)
{
	struct answer answer = {-enter(data)};
	struct request request;
	int fds[MESSAGE_FDS];

	if (!answer.errnum)
		answer.errnum = -make_routes();
	if (!answer.errnum)
		answer.errnum = -give_up_privileges();
	if (send_message(control, &answer, sizeof(answer), NULL, 0, PATIENCE_MS) < 0 ||
	    answer.errnum)
		return;
	while (receive_message(control, &request, sizeof(request), fds, -1) == 0) {
		_cleanup_close_ int fd = -1;

		answer.errnum =
			-(request.stream ? make_stream : make_datagrams)(&request.address, &fd);
		if (send_message(control, &answer, sizeof(answer), &fd, fd >= 0, PATIENCE_MS) < 0)
			return;
	}
}

/* The supervisor's side */

static int receive_answer(struct child *factory, int *ret_socket)
{
	struct answer answer;
	int fds[MESSAGE_FDS];
	int r = receive_message(factory->socket, &answer, sizeof(answer), fds, PATIENCE_MS);

	if (r < 0) {
		child_end(factory);
		return r == -EAGAIN ? -ETIMEDOUT : r;
	}
	for (int i = ret_socket ? 1 : 0; i < MESSAGE_FDS; i++)
		close_fd(&fds[i]);
	if (answer.errnum || !ret_socket)
		return -answer.errnum;
	if (fds[0] < 0) /* we have no room for it */
		return -EMFILE;
	*ret_socket = fds[0];
	return 0;
}

static bool is_ours(int network)
{
	struct stat theirs, ours;

	return fstat(network, &theirs) < 0 || stat("/proc/self/ns/net", &ours) < 0 ||
	       (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino);
}

int factory_start(struct child *factory, pid_t init)
{
	_cleanup_close_ int user = -1, network = -1;
	struct ground ground;
	int r = open_namespaces(init, "net", &user, &network);

	if (r < 0)
		return r;
	if (is_ours(network))
		return -ENONET;
	ground = (struct ground){user, network};
	r = child_start(factory, "ward-factory", (int[]){user, network}, 2, work, &ground);
	if (r < 0)
		return r;
	r = receive_answer(factory, NULL);
	if (r < 0)
		child_end(factory);
	return r;
}

static int ask(struct child *factory, const struct request *request, int *ret_socket)
{
	int r = send_message(factory->socket, request, sizeof(*request), NULL, 0, PATIENCE_MS);

	if (r < 0) {
		child_end(factory);
		return r;
	}
	return receive_answer(factory, ret_socket);
}

int factory_datagrams(struct child *factory, const struct sockaddr_storage *inside, int *ret_socket)
{
	const struct request request = {.address = *inside};

	return ask(factory, &request, ret_socket);
}

int factory_stream(struct child *factory, uint16_t port, int *ret_socket)
{
	const struct sockaddr_in loopback = {.sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct request request = {.stream = true};

	memcpy(&request.address, &loopback, sizeof(loopback));
	return ask(factory, &request, ret_socket);
}
