/* SPDX-License-Identifier: Apache-2.0 */
/* Telling a sender inside what the host's network said of its datagram: a message of ICMP that
 * quotes the datagram's headers, as the machine that refused it would send it. A sender that is
 * connected then hears of it, and others do not, as everywhere. */
#include "pump_parts.h"

#include <arpa/inet.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <string.h>

enum { HOPS = 64 };

struct refusal {
	struct icmphdr icmp;
	struct iphdr ip;
	struct udphdr udp;
};

struct refusal6 {
	struct icmp6_hdr icmp;
	struct ip6_hdr ip;
	struct udphdr udp;
};

static uint16_t checksum(const void *data, size_t length)
{
	const uint8_t *bytes = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static void tell(int teller, const struct sockaddr_in *sender, const struct sockaddr_in *inside)
{
	struct sockaddr_in to = *sender;
	struct refusal refusal = {
		.icmp = {.type = ICMP_DEST_UNREACH, .code = ICMP_PORT_UNREACH},
		.ip = {.version = IPVERSION,
		       .ihl = sizeof(struct iphdr) / 4,
		       .tot_len = htons(sizeof(struct iphdr) + sizeof(struct udphdr)),
		       .ttl = HOPS,
		       .protocol = IPPROTO_UDP,
		       .saddr = sender->sin_addr.s_addr,
		       .daddr = inside->sin_addr.s_addr},
		.udp = {.source = sender->sin_port,
			.dest = inside->sin_port,
			.len = htons(sizeof(struct udphdr))},
	};

	refusal.icmp.checksum = checksum(&refusal, sizeof(refusal));
	to.sin_port = 0;
	(void)sendto(teller, &refusal, sizeof(refusal), MSG_DONTWAIT | MSG_NOSIGNAL,
		     (struct sockaddr *)&to, sizeof(to));
}

/* The kernel adds the checksum. */
static void tell6(int teller, const struct sockaddr_in6 *sender, const struct sockaddr_in6 *inside)
{
	struct sockaddr_in6 to = *sender;
	struct refusal6 refusal = {
		.icmp = {.icmp6_type = ICMP6_DST_UNREACH, .icmp6_code = ICMP6_DST_UNREACH_NOPORT},
		.ip = {.ip6_src = sender->sin6_addr, .ip6_dst = inside->sin6_addr},
		.udp = {.source = sender->sin6_port,
			.dest = inside->sin6_port,
			.len = htons(sizeof(struct udphdr))},
	};

	refusal.ip.ip6_flow = htonl(6u << 28);
	refusal.ip.ip6_plen = htons(sizeof(struct udphdr));
	refusal.ip.ip6_nxt = IPPROTO_UDP;
	refusal.ip.ip6_hlim = HOPS;
	to.sin6_port = 0;
	(void)sendto(teller, &refusal, sizeof(refusal), MSG_DONTWAIT | MSG_NOSIGNAL,
		     (struct sockaddr *)&to, sizeof(to));
}

void pump_tell_refused(int teller, const struct sockaddr_storage *sender,
		       const struct sockaddr_storage *inside)
{
	if (teller < 0 || sender->ss_family != inside->ss_family)
		return;
	if (sender->ss_family == AF_INET6)
		tell6(teller, (const void *)sender, (const void *)inside);
	else
		tell(teller, (const void *)sender, (const void *)inside);
}
