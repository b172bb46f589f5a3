/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of the network as values. */
#include "target.h"
#include "../../sandbox/sandbox.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

void address_text(const struct in6_addr *address, char text[static INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, &address->s6_addr[12], text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

static void write_object(struct target *target)
{
	const char *host = target_host(target);

	snprintf(target->object, sizeof(target->object), strchr(host, ':') ? "[%s]:%u" : "%s:%u",
		 host, target->port);
}

bool target_read(const struct resolver *resolver, const struct sockaddr *address, socklen_t length,
		 bool datagrams, struct target *ret_target)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	const char *name;

	*ret_target = (struct target){.datagrams = datagrams};
	if (address->sa_family == AF_INET && length >= sizeof(*v4)) {
		memset(ret_target->address.s6_addr + 10, 0xff, 2);
		memcpy(ret_target->address.s6_addr + 12, &v4->sin_addr, 4);
		ret_target->port = ntohs(v4->sin_port);
	} else if (address->sa_family == AF_INET6 && length >= sizeof(*v6)) {
		ret_target->address = v6->sin6_addr;
		ret_target->port = ntohs(v6->sin6_port);
	} else {
		return false;
	}
	name = resolver_name(resolver, address);
	if (name)
		snprintf(ret_target->name, sizeof(ret_target->name), "%s", name);
	else
		address_text(&ret_target->address, ret_target->literal);
	write_object(ret_target);
	return true;
}

const char *target_host(const struct target *target)
{
	return *target->name ? target->name : target->literal;
}

void target_lead_to(struct target *target, const struct in6_addr *address)
{
	address_text(address, target->literal);
}

bool target_is_inside(const struct target *target)
{
	static const uint8_t inner_ipv4[] = INNER_IPV4, inner_ipv6[] = INNER_IPV6;
	const struct in6_addr *address = &target->address;
	uint32_t host;

	if (!IN6_IS_ADDR_V4MAPPED(address))
		return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address) ||
		       memcmp(address, inner_ipv6, sizeof(inner_ipv6)) == 0;
	memcpy(&host, address->s6_addr + 12, sizeof(host));
	return ntohl(host) >> 24 == 127 || host == htonl(INADDR_ANY) ||
	       memcmp(&host, inner_ipv4, sizeof(inner_ipv4)) == 0;
}
