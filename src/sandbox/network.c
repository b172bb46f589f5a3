/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's network: a loopback interface and the sockets of its name server. Most commands
 * never make a socket of the Internet, so that is done for the first that does, by a child that
 * enters the network (observe/network/furnish.c); or by the helper, where nobody could do it later.
 */
#include "stage.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* At port 53 of the loopback address of the family; connections are queued until somebody serves
 * them. */
static int open_name_socket(int family, int kind)
{
	struct sockaddr_in6 ipv6 = {.sin6_family = AF_INET6,
				    .sin6_port = htons(53),
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_in ipv4 = {.sin_family = AF_INET,
				   .sin_port = htons(53),
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	bool six = family == AF_INET6;
	int fd = socket(family, kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, six ? (struct sockaddr *)&ipv6 : (struct sockaddr *)&ipv4,
		 six ? sizeof(ipv6) : sizeof(ipv4)) == 0 &&
	    (kind != SOCK_STREAM || listen(fd, 16) == 0))
		return fd;
	close(fd);
	return -1;
}

enum {
	LOOPBACK = 1, /* its index in every network */
	START = 1,    /* the number of the request to start it; the others have none */
};

struct link_request {
	struct nlmsghdr header;
	struct ifinfomsg link;
};

/* A request for one more address, as long as the family's addresses are. */
struct address_request {
	struct nlmsghdr header;
	struct ifaddrmsg address;
	struct rtattr attribute;
	uint8_t octets[];
};

static size_t put_address(uint8_t *room, uint8_t family, const void *octets, uint8_t length)
{
	struct address_request *request = (struct address_request *)room;
	const size_t size = sizeof(*request) + length;

	request->header = (struct nlmsghdr){.nlmsg_len = (uint32_t)size,
					    .nlmsg_type = RTM_NEWADDR,
					    .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE};
	request->address = (struct ifaddrmsg){.ifa_family = family,
					      .ifa_prefixlen = (uint8_t)(length * 8),
					      .ifa_flags = IFA_F_NODAD,
					      .ifa_scope = RT_SCOPE_UNIVERSE,
					      .ifa_index = LOOPBACK};
	request->attribute = (struct rtattr){.rta_len = (uint16_t)(sizeof(struct rtattr) + length),
					     .rta_type = IFA_LOCAL};
	memcpy(request->octets, octets, length);
	return size;
}

static size_t put_start(uint8_t *room)
{
	struct link_request *request = (struct link_request *)room;

	request->header = (struct nlmsghdr){.nlmsg_len = sizeof(*request),
					    .nlmsg_type = RTM_NEWLINK,
					    .nlmsg_flags = NLM_F_REQUEST,
					    .nlmsg_seq = START};
	request->link = (struct ifinfomsg){
		.ifi_index = LOOPBACK, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
	return sizeof(*request);
}

/* The kernel has answered by now, and answers only what it did not do. */
static bool has_started(int netlink)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
	} reply;

	while (recv(netlink, &reply, sizeof(reply), MSG_DONTWAIT) == sizeof(reply))
		if (reply.error.msg.nlmsg_seq == START)
			return false;
	return true;
}

/* All in one message, each request carried out before send returns, also behind one that failed, as
 * that for IPv6 does where it is off. The addresses come before the start because that is quicker:
 * 127.0.0.1 and ::1 come with the start, and the routes to all of them. */
static bool furnish_loopback(void)
{
	static const uint8_t ipv4[] = INNER_IPV4, ipv6[] = INNER_IPV6;
	uint8_t requests[2 * sizeof(struct address_request) + sizeof(ipv4) + sizeof(ipv6) +
			 sizeof(struct link_request)] __attribute__((aligned(8)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	size_t length;
	bool started;

	if (fd < 0)
		return false;
	length = put_address(requests, AF_INET, ipv4, sizeof(ipv4));
	length += put_address(requests + length, AF_INET6, ipv6, sizeof(ipv6));
	length += put_start(requests + length);
	started = send(fd, requests, length, 0) == (ssize_t)length && has_started(fd);
	close(fd);
	return started;
}

/* The other way to start it, for where ward itself may not use netlink: a service can be kept from
 * it. */
static int start_loopback(void)
{
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &loopback);

	close_fd(&fd);
	return r;
}

/* The supervisor owns the user namespace, and so can enter the network when there is need of it.
 * Without one that takes capabilities, which it gives up. */
bool stage_enters_later(unsigned walls)
{
	const unsigned both = WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_NET_NAMESPACE);

	return (walls & both) == both;
}

const char *network_furnish(int ret_names[static NAME_SOCKETS])
{
	if (!furnish_loopback() && start_loopback() < 0)
		return "the loopback interface";
	ret_names[NAMES_BY_UDP] = open_name_socket(AF_INET, SOCK_DGRAM);
	ret_names[NAMES_BY_TCP] = open_name_socket(AF_INET, SOCK_STREAM);
	if (ret_names[NAMES_BY_UDP] < 0 || ret_names[NAMES_BY_TCP] < 0)
		return "the resolver";
	ret_names[NAMES_BY_UDP6] = open_name_socket(AF_INET6, SOCK_DGRAM);
	ret_names[NAMES_BY_TCP6] = open_name_socket(AF_INET6, SOCK_STREAM);
	return NULL;
}
