/* SPDX-License-Identifier: Apache-2.0 */
#include "listen.h"
#include "../base/own_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { BACKLOG = 128 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t size_of(const union address *address)
{
	return address->any.sa_family == AF_INET6 ? sizeof(address->v6) : sizeof(address->v4);
}

static int read_address(const char *text, union address *ret_address, struct error **ret_error)
{
	*ret_address = (union address){0};
	if (inet_pton(AF_INET, text, &ret_address->v4.sin_addr) == 1)
		ret_address->any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &ret_address->v6.sin6_addr) == 1)
		ret_address->any.sa_family = AF_INET6;
	else
		return fail(ret_error, E_USAGE, "'%s' is not an address such as 127.0.0.1 or ::1",
			    text);
	return 0;
}

static bool is_loopback(const union address *address)
{
	return address->any.sa_family == AF_INET ? ntohl(address->v4.sin_addr.s_addr) >> 24 == 127
						 : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static bool is_any(const union address *address)
{
	return address->any.sa_family == AF_INET ? address->v4.sin_addr.s_addr == INADDR_ANY
						 : IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
}

static void set_port(union address *address, uint16_t port)
{
	if (address->any.sa_family == AF_INET)
		address->v4.sin_port = htons(port);
	else
		address->v6.sin6_port = htons(port);
}

/* Bound and marked; nobody can connect yet. 0 or -errno. */
static int bind_port(struct listener *listener, union address *address, uint16_t port)
{
	const int on = 1;
	socklen_t size = sizeof(*address);

	set_port(address, port);
	listener->fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	/* The port of the last time, whose last connections are not over to the kernel yet. */
	(void)setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener->fd, &address->any, size_of(address)) < 0 ||
	    getsockname(listener->fd, &address->any, &size) < 0)
		return -errno;
	listener->port = ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port
								 : address->v6.sin6_port);
	listener->mark = own_port_mark(listener->port);
	if (listener->mark < 0 || listen(listener->fd, BACKLOG) < 0)
		return -errno;
	return 0;
}

static void add_host(struct listener *listener, const char *name)
{
	bool bare = strchr(name, ':') && name[0] != '['; /* an address of IPv6 */

	list_add_printf(&listener->hosts, bare ? "[%s]:%u" : "%s:%u", name, listener->port);
	if (listener->port == 80)
		list_add_printf(&listener->hosts, bare ? "[%s]" : "%s", name);
}

static void name_hosts(struct listener *listener, const char *text, const union address *address,
		       const struct list *names)
{
	bool any = is_any(address), loopback = is_loopback(address);

	if (!any)
		add_host(listener, text);
	if (any)
		add_host(listener, address->any.sa_family == AF_INET ? "127.0.0.1" : "::1");
	if (any || loopback)
		add_host(listener, "localhost");
	for (size_t i = 0; names && i < names->count; i++)
		add_host(listener, names->items[i]);
	/* The first is the one to go to: a name that was given is, where the address is none. */
	if (asprintf(&listener->url, "http://%s/",
		     any && names && names->count ? listener->hosts.items[listener->hosts.count - 1]
						  : listener->hosts.items[0]) < 0)
		abort();
}

int listener_open(const char *address, uint16_t port, uint16_t wished, bool anywhere,
		  const struct list *names, struct listener *ret_listener, struct error **ret_error)
{
	const char *text = address ? address : "127.0.0.1";
	struct listener listener = {.fd = -1, .mark = -1};
	union address place;
	int r = read_address(text, &place, ret_error);

	if (r < 0)
		return r;
	if (!is_loopback(&place) && !anywhere) {
		fail(ret_error, E_USAGE, "%s can be reached from other machines", text);
		return error_hint(ret_error,
				  "what is sent there can be read on the way: use ssh -L, or say "
				  "--anywhere");
	}
	r = bind_port(&listener, &place, port ? port : wished);
	if (r < 0 && !port && wished) {
		listener_close(&listener);
		r = bind_port(&listener, &place, 0);
	}
	if (r < 0) {
		listener_close(&listener);
		return fail_errno(ret_error, E_ENGINE, -r, "listening on %s, port %u", text, port);
	}
	name_hosts(&listener, text, &place, names);
	*ret_listener = listener;
	return 0;
}

void listener_close(struct listener *listener)
{
	close_fd(&listener->fd); /* before its mark */
	close_fd(&listener->mark);
	list_done(&listener->hosts);
	free(listener->url);
	*listener = (struct listener){.fd = -1, .mark = -1};
}
