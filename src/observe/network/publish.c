/* SPDX-License-Identifier: Apache-2.0 */
/* Listening on the host's loopback for a sandbox. */
#include "publish.h"
#include "../../base/macro.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { QUEUE = 128 };

/* -errno. */
static int listen_at(const struct sockaddr *address, socklen_t length, uint16_t inside,
		     struct published *published)
{
	_cleanup_close_ int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int on = 1;

	if (fd < 0)
		return -errno;
	if (published->count == LISTENERS_MOST)
		return -EMFILE;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, address, length) < 0 || listen(fd, QUEUE) < 0)
		return -errno;
	published->items[published->count++] = (struct listener){STEAL_FD(fd), inside};
	return 0;
}

static int refuse_port(uint16_t port, int errnum, struct error **ret_error)
{
	if (errnum == EADDRINUSE) {
		fail(ret_error, E_ENGINE, "port %u of this host is taken: it cannot be published",
		     port);
		return error_hint(ret_error, "choose another: --publish OUTSIDE:INSIDE");
	}
	fail_errno(ret_error, E_ENGINE, errnum, "publishing port %u on this host", port);
	if (errnum == EACCES)
		return error_hint(ret_error,
				  "ports below 1024 are root's; choose another: --publish "
				  "OUTSIDE:INSIDE");
	return -E_ENGINE;
}

int publish_port(uint16_t outside, uint16_t inside, struct published *published,
		 struct error **ret_error)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
				       .sin_port = htons(outside),
				       .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_port = htons(outside),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int r;

	if (!outside || !inside)
		return fail(ret_error, E_USAGE, "there is no port 0 to be published");
	r = listen_at((const struct sockaddr *)&v4, sizeof(v4), inside, published);
	if (r == 0)
		r = listen_at((const struct sockaddr *)&v6, sizeof(v6), inside, published);
	/* A host may do without IPv6, or have it and no ::1. */
	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
		r = 0;
	return r < 0 ? refuse_port(outside, -r, ret_error) : 0;
}

int publish_ports(const struct list *ports, struct published *published, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < ports->count && r == 0; i++) {
		unsigned outside = 0, inside = 0;

		if (sscanf(ports->items[i], "%u:%u", &outside, &inside) == 2)
			r = publish_port((uint16_t)outside, (uint16_t)inside, published, ret_error);
	}
	return r;
}

void publish_done(struct published *published)
{
	for (size_t i = 0; i < published->count; i++)
		close(published->items[i].fd);
	published->count = 0;
}
