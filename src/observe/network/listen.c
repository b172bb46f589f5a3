/* SPDX-License-Identifier: Apache-2.0 */
/* Whose network a socket is of, and what may be asked of it then. A socket that was handed in is
 * one of the host's: listening on it would let the host's network in, and its interfaces are the
 * host's. As with connects nothing is let go on: while we look, the caller could put another socket
 * under the number. */
#include "../observer.h"
#include "sockets.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { INTERFACES_MOST = 64 };

/* 0 where it cannot be told. */
static uint64_t network_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length) == 0 ? cookie : 0;
}

bool is_host_socket(struct observer *observer, int fd)
{
	uint64_t cookie = network_of(fd);

	if (!observer->observed->own_network || (!cookie && socket_option(fd, SO_TYPE, -1) < 0))
		return false; /* there are no others, and nothing to be kept apart */
	if (!observer->own_network) {
		_cleanup_close_ int own = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		observer->own_network = network_of(own);
	}
	/* Before Linux 5.14 it cannot be told: then what can hold sockets of the host listens
	 * nowhere. */
	return cookie == 0 || observer->own_network == 0
		       ? observer->observed->restricted || observer->observed->asks
		       : cookie == observer->own_network;
}

static void serve_listen(struct observer *observer, const struct seccomp_notif *call, int fd)
{
	if (is_host_socket(observer, fd))
		answer(observer, call->id, EACCES);
	else
		answer(observer, call->id, listen(fd, (int)call->data.args[1]) < 0 ? errno : 0);
}

static int take(int memory, uint64_t address, void *data, size_t length)
{
	return pread(memory, data, length, (off_t)address) == (ssize_t)length ? 0 : -EFAULT;
}

static int give(int memory, uint64_t address, const void *data, size_t length)
{
	return pwrite(memory, data, length, (off_t)address) == (ssize_t)length ? 0 : -EFAULT;
}

/* The list of interfaces, or where there is no room for one, how long it is. */
static int list_interfaces(int memory, int fd, uint64_t address)
{
	struct ifreq requests[INTERFACES_MOST];
	struct ifconf asked, answer;
	int r = take(memory, address, &asked, sizeof(asked));

	if (r < 0)
		return r;
	answer = (struct ifconf){.ifc_len = MIN(asked.ifc_len, (int)sizeof(requests)),
				 .ifc_req = asked.ifc_req ? requests : NULL};
	memset(requests, 0, sizeof(requests));
	if (ioctl(fd, SIOCGIFCONF, &answer) < 0)
		return -errno;
	if (asked.ifc_req && answer.ifc_len > 0)
		r = give(memory, (uint64_t)(uintptr_t)asked.ifc_req, requests,
			 (size_t)answer.ifc_len);
	asked.ifc_len = answer.ifc_len;
	return r < 0 ? r : give(memory, address, &asked, sizeof(asked));
}

static int ask_interface(int memory, int fd, unsigned long request, uint64_t address)
{
	struct ifreq asked;
	int r = take(memory, address, &asked, sizeof(asked));

	if (r < 0)
		return r;
	asked.ifr_name[IFNAMSIZ - 1] = '\0';
	if (ioctl(fd, request, &asked) < 0)
		return -errno;
	return give(memory, address, &asked, sizeof(asked));
}

/* Only requests whose argument is as large as a struct ifreq says. */
static bool is_plain_question(unsigned long request)
{
	static const unsigned short known[] = {
		SIOCGIFNAME,	SIOCGIFFLAGS,	SIOCGIFADDR,   SIOCGIFDSTADDR,
		SIOCGIFBRDADDR, SIOCGIFNETMASK, SIOCGIFMETRIC, SIOCGIFMTU,
		SIOCGIFHWADDR,	SIOCGIFINDEX,	SIOCGIFTXQLEN, SIOCGIFMAP,
	};

	for (size_t i = 0; i < ELEMENTS(known); i++)
		if (known[i] == request)
			return true;
	return false;
}

static void serve_interface(struct observer *observer, const struct seccomp_notif *call, int fd)
{
	uint32_t request = (uint32_t)call->data.args[1];
	int memory;
	int type, r;
	socklen_t length = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) < 0) {
		answer(observer, call->id, ENOTTY);
		return;
	}
	if (is_host_socket(observer, fd)) {
		answer(observer, call->id, EPERM);
		return;
	}
	if (request != SIOCGIFCONF && !is_plain_question(request)) {
		answer(observer, call->id, EINVAL);
		return;
	}
	memory = caller_memory((pid_t)call->pid);
	if (memory < 0 || !still_waiting(observer, call->id))
		r = memory < 0 ? memory : -EINTR;
	else if (request == SIOCGIFCONF)
		r = list_interfaces(memory, fd, call->data.args[2]);
	else
		r = ask_interface(memory, fd, request, call->data.args[2]);
	close_fd(&memory);
	answer(observer, call->id, -r);
}

void serve_own_network(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap)
{
	int fd;

	if (trap->kind == TRAP_INTERFACE && !observer->observed->own_network) {
		answer_continue(observer, call->id); /* all sockets are of one network */
		return;
	}
	fd = caller_fd((pid_t)call->pid, (int)call->data.args[0]);
	if (fd < 0 || !still_waiting(observer, call->id))
		answer(observer, call->id, fd < 0 ? -fd : EINTR);
	else if (trap->kind == TRAP_LISTEN)
		serve_listen(observer, call, fd);
	else
		serve_interface(observer, call, fd);
	close_copy(&fd);
}
