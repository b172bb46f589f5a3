/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that reach the network: services of the host, or sockets that see more than TCP and UDP.
 */
#include "attack.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#define FAMILY_VSOCK 40
#define FAMILY_ALG   38

/* Arguments of the first ones: a port on the host's loopback where the letter h is said. */
static struct sockaddr_in host_at(const char *port)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)atoi(port)),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static bool hears_host(int fd)
{
	struct pollfd event = {fd, POLLIN, 0};
	char letter = 0;

	return poll(&event, 1, 300) == 1 && recv(fd, &letter, 1, MSG_DONTWAIT) == 1 &&
	       letter == 'h';
}

static int attack_tcp(char **arguments)
{
	struct sockaddr_in host = host_at(arguments[0]);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return verdict(connect(fd, (struct sockaddr *)&host, sizeof(host)) == 0 && hears_host(fd),
		       "connecting");
}

static int attack_tcp6(char **arguments)
{
	struct sockaddr_in6 host = {.sin6_family = AF_INET6,
				    .sin6_port = htons((uint16_t)atoi(arguments[0]))};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &host.sin6_addr);
	return verdict(connect(fd, (struct sockaddr *)&host, sizeof(host)) == 0 && hears_host(fd),
		       "connecting by a mapped address");
}

static int attack_udp(char **arguments)
{
	struct sockaddr_in host = host_at(arguments[0]);
	struct iovec data = {(void *)"x", 1};
	struct msghdr message = {
		.msg_name = &host, .msg_namelen = sizeof(host), .msg_iov = &data, .msg_iovlen = 1};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return verdict(sendmsg(fd, &message, 0) == 1 && hears_host(fd), "a datagram");
}

static struct sockaddr_in moving, first, second;

static void *rewrite_address(void *unused)
{
	(void)unused;
	for (;;) {
		moving = first;
		linger(2000);
		moving = second;
		linger(500);
	}
	return NULL;
}

/* A service of our own when it is looked at, the host's when it is used. */
static int attack_rewritten_address(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	socklen_t length = sizeof(first);

	second = host_at(arguments[0]);
	first = host_at("0");
	if (bind(listener, (struct sockaddr *)&first, sizeof(first)) < 0 ||
	    listen(listener, 4096) < 0 ||
	    getsockname(listener, (struct sockaddr *)&first, &length) < 0)
		cannot_try("a listener of our own");
	moving = first;
	start_racer(rewrite_address, NULL);
	while (now_ms() < end) {
		struct linger reset = {1, 0};
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		close(accept4(listener, NULL, NULL, SOCK_NONBLOCK));
		if (connect(fd, (struct sockaddr *)&moving, sizeof(moving)) == 0) {
			struct sockaddr_in peer;

			length = sizeof(peer);
			if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
			    peer.sin_port == second.sin_port && hears_host(fd))
				return verdict(true, "connecting by a rewritten address");
		}
		close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "connecting by a rewritten address");
}

static int attack_fast_open(char **arguments)
{
	struct sockaddr_in host = host_at(arguments[0]);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return verdict(sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&host, sizeof(host)) ==
				       1 &&
			       hears_host(fd),
		       "sendto with MSG_FASTOPEN");
}

static int attack_fast_open_message(char **arguments)
{
	struct sockaddr_in host = host_at(arguments[0]);
	struct iovec data = {(void *)"x", 1};
	struct msghdr message = {
		.msg_name = &host, .msg_namelen = sizeof(host), .msg_iov = &data, .msg_iovlen = 1};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return verdict(syscall(SYS_sendmsg, fd, &message, 0xa5ul << 32 | MSG_FASTOPEN) == 1 &&
			       hears_host(fd),
		       "sendmsg with MSG_FASTOPEN");
}

static int open_socket(int family, int type, int protocol)
{
	return verdict(syscall(SYS_socket, 0xa5ul << 32 | (unsigned)family,
			       0xa5ul << 32 | (unsigned)type,
			       0xa5ul << 32 | (unsigned)protocol) >= 0,
		       "opening a socket");
}

static int attack_raw(char **arguments)
{
	(void)arguments;
	return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int attack_raw6(char **arguments)
{
	(void)arguments;
	return open_socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
}

static int attack_packet(char **arguments)
{
	(void)arguments;
	return open_socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
}

static int attack_vsock(char **arguments)
{
	(void)arguments;
	return open_socket(FAMILY_VSOCK, SOCK_STREAM, 0);
}

static int attack_alg(char **arguments)
{
	(void)arguments;
	return open_socket(FAMILY_ALG, SOCK_SEQPACKET, 0);
}

static int attack_multipath(char **arguments)
{
	(void)arguments;
	return open_socket(AF_INET, SOCK_STREAM, 262 /* IPPROTO_MPTCP */);
}

static int attack_stream_control(char **arguments)
{
	(void)arguments;
	return open_socket(AF_INET, SOCK_STREAM, 132 /* IPPROTO_SCTP */);
}

static int attack_ping(char **arguments)
{
	(void)arguments;
	return open_socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
}

static int attack_netlink_events(char **arguments)
{
	(void)arguments;
	return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT);
}

static int attack_netlink_diagnosis(char **arguments)
{
	(void)arguments;
	return open_socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
}

/* Sends a request for a change; what it says. */
static int change(struct nlmsghdr *request, const char *what)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[256];
	} reply = {0};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	request->nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (fd < 0 || send(fd, request, request->nlmsg_len, 0) < 0 ||
	    recv(fd, &reply, sizeof(reply), 0) < 0)
		cannot_try("a netlink socket");
	errno = -reply.error.error;
	return verdict(reply.header.nlmsg_type == NLMSG_ERROR && reply.error.error == 0, what);
}

/* Routes may be asked for, never changed: takes the loopback interface down. */
static int attack_netlink_change(char **arguments)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg interface;
	} request = {{sizeof(request), RTM_NEWLINK, 0, 1, 0}, {AF_UNSPEC, 0, 0, 1, 0, IFF_UP}};

	(void)arguments;
	return change(&request.header, "changing an interface");
}

struct attribute {
	struct rtattr header;
	uint32_t value;
};

static int attack_netlink_route(char **arguments)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
		struct attribute to, device;
	} request = {{sizeof(request), RTM_NEWROUTE, NLM_F_CREATE, 1, 0},
		     {.rtm_family = AF_INET,
		      .rtm_dst_len = 32,
		      .rtm_table = RT_TABLE_MAIN,
		      .rtm_protocol = RTPROT_STATIC,
		      .rtm_scope = RT_SCOPE_LINK,
		      .rtm_type = RTN_UNICAST},
		     {{sizeof(struct attribute), RTA_DST}, htonl(0xcb00714d)},
		     {{sizeof(struct attribute), RTA_OIF}, 1}};

	(void)arguments;
	return change(&request.header, "adding a route");
}

static int attack_netlink_address(char **arguments)
{
	struct {
		struct nlmsghdr header;
		struct ifaddrmsg address;
		struct attribute local;
	} request = {{sizeof(request), RTM_NEWADDR, NLM_F_CREATE, 1, 0},
		     {.ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 1},
		     {{sizeof(struct attribute), IFA_LOCAL}, htonl(0xcb00714d)}};

	(void)arguments;
	return change(&request.header, "adding an address");
}

static int attack_netlink_rule(char **arguments)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg rule;
		struct attribute mark;
	} request = {{sizeof(request), RTM_NEWRULE, NLM_F_CREATE, 1, 0},
		     {.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST},
		     {{sizeof(struct attribute), 10 /* FRA_FWMARK */}, 0x5ec}};

	(void)arguments;
	return change(&request.header, "adding a rule");
}

static const struct attack attacks[] = {
	{"tcp", 1, attack_tcp},
	{"tcp6", 1, attack_tcp6},
	{"udp", 1, attack_udp},
	{"rewritten-address", 1, attack_rewritten_address},
	{"fast-open", 1, attack_fast_open},
	{"fast-open-message", 1, attack_fast_open_message},
	{"raw", 0, attack_raw},
	{"raw6", 0, attack_raw6},
	{"packet", 0, attack_packet},
	{"vsock", 0, attack_vsock},
	{"alg", 0, attack_alg},
	{"multipath", 0, attack_multipath},
	{"stream-control", 0, attack_stream_control},
	{"ping", 0, attack_ping},
	{"netlink-events", 0, attack_netlink_events},
	{"netlink-diagnosis", 0, attack_netlink_diagnosis},
	{"netlink-change", 0, attack_netlink_change},
	{"netlink-route", 0, attack_netlink_route},
	{"netlink-address", 0, attack_netlink_address},
	{"netlink-rule", 0, attack_netlink_rule},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
