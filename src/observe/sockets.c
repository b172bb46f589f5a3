/* SPDX-License-Identifier: Apache-2.0 */
/* Connects, binds and addressed sends. A connect is never let go on: between the check and the
 * kernel's own look the caller could rewrite the address, or put another socket under the same
 * number. It is made here, on a copy of the caller's socket and from a copy of the address. */
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

enum { OBJECT = 512 };

static const char rule_network[] = "network none";

/* Where an address can only mean the sandbox itself. */
static bool is_inside(const struct sockaddr *address, socklen_t length)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;
	uint32_t host;

	if (address->sa_family == AF_INET && length >= sizeof(*v4)) {
		host = ntohl(v4->sin_addr.s_addr);
		return host >> 24 == 127 || host == INADDR_ANY;
	}
	if (address->sa_family == AF_INET6 && length >= sizeof(*v6)) {
		if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
			return v6->sin6_addr.s6_addr[12] == 127;
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
		       IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
	}
	return address->sa_family != AF_INET && address->sa_family != AF_INET6;
}

static uint16_t port_of(const struct sockaddr *address)
{
	return ntohs(address->sa_family == AF_INET6
			     ? ((const struct sockaddr_in6 *)address)->sin6_port
			     : ((const struct sockaddr_in *)address)->sin_port);
}

/* host:port, by the name that the caller asked the resolver for where there is one. */
static void describe(const struct observer *observer, const struct sockaddr *address,
		     char object[static OBJECT])
{
	const char *name = resolver_name(observer->resolver, address);
	char text[INET6_ADDRSTRLEN] = "?";

	if (name) {
		snprintf(object, OBJECT, "%s:%u", name, port_of(address));
	} else if (address->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
			  sizeof(text));
		snprintf(object, OBJECT, "[%s]:%u", text, port_of(address));
	} else {
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
			  sizeof(text));
		snprintf(object, OBJECT, "%s:%u", text, port_of(address));
	}
}

void serve_sockets(struct observer *observer, const struct seccomp_notif *call,
		   const struct trap *trap)
{
	/* sendto: fd, buffer, length, flags, address, length; the others: fd, address, length */
	int first = trap->kind == TRAP_SEND ? 4 : 1;
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_storage room;
		char bytes[sizeof(struct sockaddr_storage)];
	} address;
	socklen_t length = (socklen_t)call->data.args[first + 1];
	char object[OBJECT];
	int fd, domain;

	if (trap->kind == TRAP_SOCKET) {
		refuse(observer, call, trap, "connect", "the network", rule_network, EACCES);
		return;
	}
	memset(&address, 0, sizeof(address));
	if (length > sizeof(address)) {
		answer(observer, call->id, EINVAL);
		return;
	}
	if (length > 0 &&
	    caller_bytes((pid_t)call->pid, call->data.args[first], &address, length) < 0) {
		answer(observer, call->id, EFAULT);
		return;
	}
	fd = caller_fd((pid_t)call->pid, (int)call->data.args[0]);
	if (fd < 0 || !still_waiting(observer, call->id)) {
		answer(observer, call->id, fd < 0 ? -fd : EINTR);
		close_copy(&fd);
		return;
	}
	domain = socket_option(fd, SO_DOMAIN, -1);
	if (domain < 0) {
		answer(observer, call->id, ENOTSOCK);
	} else if (domain == AF_UNIX && length > sizeof(address.local)) {
		answer(observer, call->id, EINVAL);
	} else if (domain == AF_UNIX && trap->kind == TRAP_BIND) {
		bind_unix(observer, call, trap, fd, &address.local, length);
	} else if (domain == AF_UNIX && trap->kind == TRAP_CONNECT &&
		   address.any.sa_family == AF_UNIX) {
		connect_unix(observer, call, trap, fd, &address.local, length);
		return; /* it owns the fd now */
	} else if (observer->observed->no_network && domain != AF_UNIX) {
		refuse(observer, call, trap, "connect", "the network", rule_network, EACCES);
	} else if (trap->kind != TRAP_BIND && observer->observed->own_network &&
		   !is_inside(&address.any, length)) {
		/* Libraries connect datagram sockets to port 0 to learn which of their own
		 * addresses would be used. */
		if (socket_option(fd, SO_TYPE, 0) == SOCK_DGRAM && port_of(&address.any) == 0) {
			answer(observer, call->id, ENETUNREACH);
		} else {
			describe(observer, &address.any, object);
			refuse(observer, call, trap, "connect", object, rule_network, EACCES);
		}
	} else if (trap->kind == TRAP_CONNECT) {
		perform_connect(observer, call->id, fd, -1, &address.any, length);
		return;
	} else {
		/* Binding and sending inside the network the sandbox has: the namespace is the
		 * wall, and there are no datagram sockets of AF_UNIX that an address could lead
		 * elsewhere. */
		answer_continue(observer, call->id);
	}
	close_copy(&fd);
}
