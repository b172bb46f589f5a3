/* SPDX-License-Identifier: Apache-2.0 */
/* Connects, binds and addressed sends. A connect is never let go on: between the check and the
 * kernel's own look the caller could rewrite the address, or put another socket under the same
 * number. It is made here, on a copy of the caller's socket and from a copy of the address. */
#include "network.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/un.h>

static const char rule_network[] = "network none";

/* Where a message has its address; false where it has none. */
static bool find_address(const struct seccomp_notif *call, uint64_t *ret_place,
			 socklen_t *ret_length)
{
	struct msghdr header = {0};
	const size_t needed = offsetof(struct msghdr, msg_namelen) + sizeof(header.msg_namelen);

	if (caller_bytes((pid_t)call->pid, call->data.args[1], &header, needed) < 0 ||
	    !header.msg_name || header.msg_namelen == 0)
		return false;
	*ret_place = (uint64_t)(uintptr_t)header.msg_name;
	/* The kernel takes no more either. */
	*ret_length = MIN(header.msg_namelen, (socklen_t)sizeof(struct sockaddr_storage));
	return true;
}

void serve_sockets(struct observer *observer, const struct seccomp_notif *call,
		   const struct trap *trap)
{
	/* sendto: fd, buffer, length, flags, address, length; the others: fd, address, length */
	int first = trap->kind == TRAP_SEND ? 4 : 1;
	uint64_t place = call->data.args[first];
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_storage room;
		char bytes[sizeof(struct sockaddr_storage)];
	} address;
	socklen_t length = (socklen_t)call->data.args[first + 1];
	int fd, domain;

	if (trap->kind == TRAP_SOCKET && observer->observed->no_network) {
		refuse(observer, call, trap, "connect", "the network", rule_network, EACCES);
		return;
	}
	if (trap->kind == TRAP_SOCKET) { /* all of it stands in registers */
		network_need(observer);
		answer_continue(observer, call->id);
		return;
	}
	if (trap->kind == TRAP_MESSAGE && !find_address(call, &place, &length)) {
		answer_continue(observer, call->id);
		return;
	}
	memset(&address, 0, sizeof(address));
	if (length > sizeof(address)) {
		answer(observer, call->id, EINVAL);
		return;
	}
	if (length > 0 && caller_bytes((pid_t)call->pid, place, &address, length) < 0) {
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
	} else if (trap->kind == TRAP_BIND && is_host_socket(observer, fd)) {
		answer(observer, call->id, EINVAL); /* as on any that is connected */
	} else if (domain == AF_UNIX && length > sizeof(address.local)) {
		answer(observer, call->id, EINVAL);
	} else if (domain == AF_UNIX && trap->kind == TRAP_BIND) {
		bind_unix(observer, call, trap, fd, &address.local, length);
	} else if (domain == AF_UNIX && trap->kind == TRAP_CONNECT &&
		   address.any.sa_family == AF_UNIX) {
		connect_unix(observer, call, trap, fd, &address.local, length);
		return; /* it owns the fd now */
	} else if (observer->observed->no_network && domain != AF_UNIX) {
		refuse(observer, call, trap, "connect", "the network", rule_network, NOT_REACHED);
	} else if (domain == AF_UNIX && trap->kind == TRAP_CONNECT) {
		perform_connect(observer, call, fd, /* target= */ -1, &address.any, length);
		return;
	} else if (domain != AF_UNIX && trap->kind != TRAP_BIND &&
		   observer->observed->own_network) {
		serve_internet(observer, call, trap, fd, &address.any, length);
		return;
	} else if (trap->kind == TRAP_CONNECT) {
		network_connect_host(observer, call, fd, &address.any, length);
		return;
	} else if (trap->kind == TRAP_BIND && observer->observed->own_network) {
		/* Let go on, it could be done to a socket that was handed in and failed: a port of
		 * the host would be taken. */
		answer(observer, call->id, bind(fd, &address.any, length) < 0 ? errno : 0);
	} else {
		/* In the host's network, where that is the sandbox's own; and sending by AF_UNIX,
		 * which has no datagram sockets that an address could lead elsewhere. */
		answer_continue(observer, call->id);
	}
	close_copy(&fd);
}
