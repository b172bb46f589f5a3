/* SPDX-License-Identifier: Apache-2.0 */
/* One inotify descriptor for all that is waited for: each ticket has a watch of its own, so that
 * what happens to one wakes nobody who waits for another. */
#include "../base/io.h"
#include "daemon_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>

enum { NAMES = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ATTRIB | IN_ONLYDIR };

static void tell_followers(struct daemon *daemon, bool asks, bool tickets)
{
	for (struct client *client = daemon->clients, *next; client; client = next) {
		next = client->next;
		if (client->follows_asks && asks)
			client_notify(client, "asks.changed", json_object());
		if (client->follows_tickets && tickets)
			client_notify(client, "tickets.changed", json_object());
		if ((client->follows_asks && asks) || (client->follows_tickets && tickets))
			client_settle(client);
	}
}

/* One look for each that waits on this ticket. */
static void look_again(struct daemon *daemon, int watch)
{
	for (struct client *client = daemon->clients, *next; client; client = next) {
		bool looked = false;

		next = client->next;
		for (struct call *call = client->calls, *after; call; call = after) {
			after = call->next;
			if (call->watch == watch && call->look) {
				call->look(call);
				looked = true;
			}
		}
		if (looked)
			client_settle(client);
	}
}

static void hear_changes(struct source *source, uint32_t events)
{
	struct daemon *daemon =
		(struct daemon *)(void *)((char *)source - offsetof(struct daemon, changes));
	_Alignas(struct inotify_event) char data[16 << 10];
	ssize_t got = read(source->fd, data, sizeof(data));
	bool asks = false, tickets = false;
	int last = -1;

	(void)events;
	for (ssize_t at = 0; at < got;) {
		struct inotify_event event;

		memcpy(&event, data + at, sizeof(event));
		at += (ssize_t)(sizeof(event) + event.len);
		if (event.mask & IN_Q_OVERFLOW) /* whatever it was */
			asks = tickets = true;
		else if (event.wd == daemon->asks_watch)
			asks = true;
		else if (event.wd == daemon->tickets_watch)
			tickets = true;
		else if (event.wd != last) /* a program that writes a lot makes many in a row */
			look_again(daemon, last = event.wd);
	}
	if (asks || tickets)
		tell_followers(daemon, asks, tickets);
}

int watch_open(struct daemon *daemon, struct error **ret_error)
{
	daemon->changes = (struct source){inotify_init1(IN_CLOEXEC | IN_NONBLOCK), hear_changes};
	daemon->asks_watch = daemon->tickets_watch = -1;
	if (daemon->changes.fd < 0 || daemon_add(daemon, &daemon->changes, EPOLLIN) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "watching for changes of files");
	return 0;
}

int watch_ticket(struct daemon *daemon, const char *ticket)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/tickets/%s", daemon->state, ticket) < 0)
		abort();
	return inotify_add_watch(daemon->changes.fd, path, NAMES | IN_MODIFY);
}

/* Another may wait for the same ticket, and has the same watch. */
void watch_forget(struct daemon *daemon, int watch)
{
	for (const struct client *client = daemon->clients; client; client = client->next)
		for (const struct call *call = client->calls; call; call = call->next)
			if (call->watch == watch)
				return;
	if (watch >= 0)
		(void)inotify_rm_watch(daemon->changes.fd, watch);
}

static int watch_directory(struct daemon *daemon, const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/%s", daemon->state, name) < 0)
		abort();
	(void)make_directories(path, 0700);
	return inotify_add_watch(daemon->changes.fd, path, NAMES);
}

void watch_directories(struct daemon *daemon)
{
	bool asks = false, tickets = false;

	for (const struct client *client = daemon->clients; client; client = client->next) {
		asks |= client->follows_asks;
		tickets |= client->follows_tickets;
	}
	if (asks && daemon->asks_watch < 0)
		daemon->asks_watch = watch_directory(daemon, "asks");
	if (tickets && daemon->tickets_watch < 0)
		daemon->tickets_watch = watch_directory(daemon, "tickets");
}
