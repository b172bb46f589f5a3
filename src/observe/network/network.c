/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the Internet, where the sandbox has a network of its own: who may go out of it. */
#include "network.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

struct relay *network_relay(struct observer *observer)
{
	if (!observer->relay)
		observer->relay = relay_new(observer->epoll, observer->observed->init);
	return observer->relay;
}

enum host_access network_judge_address(const struct observer *observer,
				       const struct in6_addr *address, uint16_t port, bool named)
{
	enum host_access said =
		host_rules_address(observer->observed->hosts, address, port, named, NULL);

	if (said != HOST_UNLISTED)
		return said;
	return host_rules_address(&observer->permitted, address, port, named, NULL);
}

enum host_access network_judge(const struct observer *observer, const struct target *target)
{
	enum host_access said;

	if (!*target->name)
		return network_judge_address(observer, &target->address, target->port,
					     /* named= */ false);
	said = host_rules_name(observer->observed->hosts, target->name, target->port);
	return said != HOST_UNLISTED
		       ? said
		       : host_rules_name(&observer->permitted, target->name, target->port);
}

/* A rule names the target itself, whatever answers say. */
static bool is_listed(const struct observer *observer, const struct target *target)
{
	return (*target->name
			? host_rules_name(observer->observed->hosts, target->name, target->port)
			: host_rules_address(observer->observed->hosts, &target->address,
					     target->port, /* named= */ false, NULL)) ==
	       HOST_ALLOWED;
}

/* Why nobody is asked, or NULL. */
static const char *final_rule(const struct observer *observer, const struct target *target)
{
	if (!*target->name && address_range(&target->address) == RANGE_NOWHERE)
		return "never: a reserved address";
	return network_judge(observer, target) == HOST_DENIED ? "denied by the list of hosts"
							      : NULL;
}

void network_refuse(struct observer *observer, const struct seccomp_notif *call,
		    const struct trap *trap, const struct target *target, const char *warning,
		    bool final)
{
	const char *protocol = target->datagrams ? "udp" : "tcp";
	const char *rule = warning ? warning : final_rule(observer, target);
	const struct wish wish = {.operation = "connect",
				  .object = target->object,
				  .host = target_host(target),
				  .address = *target->literal ? target->literal : NULL,
				  .protocol = protocol,
				  .port = target->port,
				  .warning = warning};
	struct denial *denial;
	char program[32];

	final |= !warning && rule;
	if (!rule)
		rule = observer->observed->restricted ? "network: not on the list" : "network none";
	if (target->datagrams && trap->kind == TRAP_CONNECT) {
		probe_refuse(observer, call, trap, target, rule);
		return;
	}
	if (!final && wish_add(observer, call, trap, &wish, rule))
		return;
	caller_name((pid_t)call->pid, program);
	if (!still_waiting(observer, call->id))
		return;
	denial = ledger_add(&observer->ledger, "connect", target->object, trap->name, rule,
			    *program ? program : NULL);
	ledger_add_target(denial, target_host(target), target->literal, target->port, protocol);
	if (denial && observer->settling)
		denial->answer = (char *)observer->settling;
	if (warden_agrees(observer, denial))
		answer(observer, call->id, NOT_REACHED);
}

/* A connect on a socket that was handed in before: it keeps the target that it was given. Once it
 * has failed it is as good as new, and a new one takes its place. True if answered. */
static bool is_taken(struct observer *observer, const struct seccomp_notif *call, int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);
	int error;

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
		error = EACCES;
	else if (info.tcpi_state == TCP_SYN_SENT)
		error = EALREADY;
	else if (info.tcpi_state != TCP_CLOSE)
		error = EISCONN;
	else
		error = socket_option(fd, SO_ERROR, 0);
	if (error)
		answer(observer, call->id, error);
	return error != 0;
}

/* A server inside may listen on the loopback of IPv4 alone, and `localhost` mean both. */
static bool connect_mapped(int fd, uint16_t port)
{
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const struct sockaddr undo = {.sa_family = AF_UNSPEC};
	bool blocking;
	int error;

	inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr);
	(void)connect_now(fd, /* target= */ -1, &undo, sizeof(undo), &blocking);
	error = connect_now(fd, /* target= */ -1, (struct sockaddr *)&mapped, sizeof(mapped),
			    &blocking);
	return (error == 0 || error == EINPROGRESS) && socket_option(fd, SO_ERROR, EIO) == 0;
}

/* The sandbox's own loopback; where nobody listens there, and the list says so, the host's. Takes
 * ownership of fd. */
static void connect_loopback(struct observer *observer, const struct seccomp_notif *call,
			     const struct trap *trap, int fd, bool host,
			     const struct target *target, const struct sockaddr *address,
			     socklen_t length)
{
	enum host_access said = host_rules_loopback(observer->observed->hosts, target->port);
	bool blocking = true, listed;
	int error;

	if (said == HOST_UNLISTED) /* what is denied no answer opens */
		said = host_rules_loopback(&observer->permitted, target->port);
	listed = !target->datagrams && said == HOST_ALLOWED;
	if (!host && !listed) {
		perform_connect(observer, call, fd, /* target= */ -1, address, length);
		return;
	}
	/* One that was handed in and failed is the host's still: its loopback would be the host's.
	 */
	if (host)
		error = listed ? ECONNREFUSED : EADDRNOTAVAIL;
	else
		error = connect_now(fd, /* target= */ -1, address, length, &blocking);
	/* On loopback a refusal is there at once. */
	if (error == EINPROGRESS && socket_option(fd, SO_ERROR, 0) == ECONNREFUSED)
		error = ECONNREFUSED;
	if (error == ECONNREFUSED && listed && !host && address->sa_family == AF_INET6 &&
	    connect_mapped(fd, target->port)) {
		conclude_connect(observer, call, fd, /* target= */ -1, address, length,
				 blocking ? 0 : EINPROGRESS, blocking);
		return;
	}
	if (error == ECONNREFUSED && listed)
		dial_loopback(observer, call, trap, fd, target, address, length);
	else
		conclude_connect(observer, call, fd, /* target= */ -1, address, length, error,
				 blocking);
}

void serve_internet(struct observer *observer, const struct seccomp_notif *call,
		    const struct trap *trap, int fd, const struct sockaddr *address,
		    socklen_t length)
{
	bool datagrams = socket_option(fd, SO_TYPE, 0) == SOCK_DGRAM;
	bool sends = trap->kind != TRAP_CONNECT, host = is_host_socket(observer, fd), blocking;
	struct target target;
	enum host_access access;

	if (!datagrams && sends) {
		/* Streams go where they are connected, whatever address is with them. */
		answer_continue(observer, call->id);
	} else if (host && (datagrams || address->sa_family == AF_UNSPEC)) {
		answer(observer, call->id, EACCES);
	} else if (host && is_taken(observer, call, fd)) {
		/* answered */
	} else if (!target_read(observer->resolver, address, length, datagrams, &target)) {
		/* Of no use but to undo a connect: inside, that is free. */
		if (sends)
			answer_continue(observer, call->id);
		else if (host)
			answer(observer, call->id, EAFNOSUPPORT);
		else
			answer(observer, call->id,
			       connect_now(fd, /* target= */ -1, address, length, &blocking));
	} else if (target_is_inside(&target) && sends) {
		answer_continue(observer, call->id);
	} else if (target_is_inside(&target)) {
		witness_tell(observer, (pid_t)call->pid, "connect", target.object);
		connect_loopback(observer, call, trap, fd, host, &target, address, length);
		return;
	} else if (!sends && probe_is_one(&target)) {
		answer(observer, call->id, ENETUNREACH);
	} else {
		if (!datagrams)
			probe_forget(observer, &target);
		access = network_judge(observer, &target);
		if (access == HOST_ALLOWED) {
			if (observer->terms.count > 0 && !is_listed(observer, &target))
				terms_use_target(observer, &target, call->id);
			witness_tell(observer, (pid_t)call->pid, "connect", target.object);
			dial_start(observer, call, trap, fd, &target, address, length);
			return;
		}
		network_refuse(observer, call, trap, &target, /* warning= */ NULL,
			       /* final= */ false);
	}
	close_copy(&fd);
}
