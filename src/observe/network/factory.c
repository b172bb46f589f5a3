/* SPDX-License-Identifier: Apache-2.0 */
/* The child inside.
 *
 * It enters the user namespace, which gives it all capabilities over the sandbox's network and over
 * nothing else, and the network namespace; it stays out of the pid namespace, so that nobody inside
 * can name it. When the routes are made it keeps one capability: ports below 1024. It knows nothing
 * of the host's network, and what it makes belongs to the sandbox's. */
#include "factory.h"
#include "../masks/cover.h"
#include "../../base/macro.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/icmp6.h>
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

/* Sockets that tell senders inside that nobody hears them; -1 where there is no such protocol. */
struct tellers {
	int v4, v6;
};

enum kind { DATAGRAMS, STREAM, LISTENER };

struct request {
	enum kind kind;
	struct sockaddr_storage address;
};

struct answer {
	int errnum; /* 0: the socket comes with it, and with one for datagrams a teller */
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

/* They hear nothing themselves. */
static struct tellers make_tellers(void)
{
	const struct tellers tellers = {
		socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP),
		socket(AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMPV6)};
	const uint32_t none = ~0u;
	struct icmp6_filter none6;

	ICMP6_FILTER_SETBLOCKALL(&none6);
	setsockopt(tellers.v4, SOL_RAW, 1 /* ICMP_FILTER */, &none, sizeof(none));
	setsockopt(tellers.v6, IPPROTO_ICMPV6, ICMP6_FILTER, &none6, sizeof(none6));
	return tellers;
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

static int make_listener(const struct sockaddr_storage *address, int *ret_socket)
{
	_cleanup_close_ int fd =
		socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    (address->ss_family == AF_INET6 &&
	     (setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) < 0 ||
	      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)) ||
	    bind(fd, (const struct sockaddr *)address, length_of(address)) < 0 || listen(fd, 1) < 0)
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

static int serve(int control, const struct request *request, const struct tellers *tellers)
{
	static int (*const make[])(const struct sockaddr_storage *, int *) = {
		[DATAGRAMS] = make_datagrams, [STREAM] = make_stream, [LISTENER] = make_listener};
	_cleanup_close_ int fd = -1;
	struct answer answer = {-make[request->kind](&request->address, &fd)};
	int fds[MESSAGE_FDS] = {fd,
				request->address.ss_family == AF_INET6 ? tellers->v6 : tellers->v4};
	size_t count = fd < 0 ? 0 : request->kind != DATAGRAMS || fds[1] < 0 ? 1 : 2;

	return send_message(control, &answer, sizeof(answer), fds, count, PATIENCE_MS);
}

static void work(int control, const void *data)
{
	struct answer begun = {-enter(data)};
	struct tellers tellers = {-1, -1};
	struct request request;
	int fds[MESSAGE_FDS];

	if (!begun.errnum)
		begun.errnum = -make_routes();
	if (!begun.errnum)
		tellers = make_tellers();
	if (!begun.errnum)
		begun.errnum = -give_up_privileges();
	if (send_message(control, &begun, sizeof(begun), NULL, 0, PATIENCE_MS) < 0 || begun.errnum)
		return;
	while (receive_message(control, &request, sizeof(request), fds, -1) == 0)
		if (serve(control, &request, &tellers) < 0)
			return;
}

/* The supervisor's side */

static int receive_answer(struct child *factory, int fds[static MESSAGE_FDS])
{
	struct answer answer;
	int r = receive_message(factory->socket, &answer, sizeof(answer), fds, PATIENCE_MS);

	if (r < 0) {
		child_end(factory);
		return r == -EAGAIN ? -ETIMEDOUT : r;
	}
	return -answer.errnum;
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
	int fds[MESSAGE_FDS];
	int r = open_namespaces(init, "net", &user, &network);

	if (r < 0)
		return r;
	if (is_ours(network))
		return -ENONET;
	ground = (struct ground){user, network};
	r = child_start(factory, "ward-factory", (int[]){user, network}, 2, work, &ground);
	if (r < 0)
		return r;
	r = receive_answer(factory, fds);
	if (r < 0)
		child_end(factory);
	return r;
}

static int ask(struct child *factory, const struct request *request, int fds[static MESSAGE_FDS])
{
	int r = send_message(factory->socket, request, sizeof(*request), NULL, 0, PATIENCE_MS);

	if (r < 0) {
		child_end(factory);
		return r;
	}
	r = receive_answer(factory, fds);
	/* We may have no room for it. */
	return r == 0 && fds[0] < 0 ? -EMFILE : r;
}

int factory_datagrams(struct child *factory, const struct sockaddr_storage *inside,
		      int ret_fds[static 2])
{
	const struct request request = {.address = *inside};

	return ask(factory, &request, ret_fds);
}

int factory_stream(struct child *factory, uint16_t port, int *ret_socket)
{
	const struct sockaddr_in loopback = {.sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct request request = {.kind = STREAM};
	int fds[MESSAGE_FDS], r;

	memcpy(&request.address, &loopback, sizeof(loopback));
	r = ask(factory, &request, fds);
	if (r == 0)
		*ret_socket = fds[0];
	return r;
}

int factory_listener(struct child *factory, const struct sockaddr_storage *inside, int *ret_socket)
{
	const struct request request = {.kind = LISTENER, .address = *inside};
	int fds[MESSAGE_FDS], r = ask(factory, &request, fds);

	if (r == 0)
		*ret_socket = fds[0];
	return r;
}
