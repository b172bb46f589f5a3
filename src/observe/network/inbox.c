/* SPDX-License-Identifier: Apache-2.0 */
/* The inbox of ward's own: no command reaches it. */
#include "network.h"
#include "../../base/own_sockets.h"
#include "../../base/ranges.h"

#include <errno.h>
#include <sys/socket.h>

bool network_is_inbox(const struct observer *observer, const struct in6_addr *address,
		      uint16_t port)
{
	const uint8_t *bytes = address->s6_addr;
	bool nowhere = IN6_IS_ADDR_UNSPECIFIED(address) ||
		       (IN6_IS_ADDR_V4MAPPED(address) && bytes[12] == 0);

	if (observer->observed->unchecked & CHECK_BIT(CHECK_NEVER) || !is_own_port(port))
		return false;
	/* To nowhere in particular means to loopback. Which interface's link-local address is meant
	 * may be the socket's to say, not the address's: each of them could be this host's. */
	return nowhere || IN6_IS_ADDR_LINKLOCAL(address) ||
	       address_range(address) == RANGE_LOOPBACK || address_is_own(address);
}

bool network_leads_to_inbox(const struct observer *observer, const struct sockaddr *address,
			    socklen_t length)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	struct in6_addr mapped;

	if (address->sa_family == AF_INET && length >= sizeof(*v4)) {
		mapped = address_map(&v4->sin_addr);
		return network_is_inbox(observer, &mapped, ntohs(v4->sin_port));
	}
	/* The last member, a scope, may be left out. */
	return address->sa_family == AF_INET6 &&
	       length >= offsetof(struct sockaddr_in6, sin6_scope_id) &&
	       network_is_inbox(observer, &v6->sin6_addr, ntohs(v6->sin6_port));
}

void network_connect_host(struct observer *observer, const struct seccomp_notif *call, int fd,
			  const struct sockaddr *address, socklen_t length)
{
	static const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	bool blocking;
	int error = network_leads_to_inbox(observer, address, length)
			    ? NOT_REACHED
			    : connect_now(fd, /* target= */ -1, address, length, &blocking);

	/* The inbox marks its port before it listens: it may have begun since the first look. */
	if ((error == 0 || error == EINPROGRESS) &&
	    network_leads_to_inbox(observer, address, length)) {
		if (connect(fd, &nobody, sizeof(nobody)) < 0)
			(void)shutdown(fd, SHUT_RDWR);
		error = NOT_REACHED;
	}
	conclude_connect(observer, call, fd, -1, address, length, error,
			 error == EINPROGRESS && blocking);
}
