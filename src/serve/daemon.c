/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, and who is let in. Nothing wakes it but its clients, changes of files that one of them
 * waits for, and the next deadline, if there is one. */
#include "daemon.h"
#include "../base/units.h"
#include "../escalate/queue.h"
#include "../record/state.h"
#include "daemon_parts.h"
#include "ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

static const size_t connections_most[DOOR_SIDES] = {CONNECTIONS_AGENT, CONNECTIONS_APPROVER};

int daemon_add(struct daemon *daemon, struct source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(daemon->epoll, EPOLL_CTL_ADD, source->fd, &event) < 0 ? -errno : 0;
}

void daemon_change(struct daemon *daemon, struct source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	(void)epoll_ctl(daemon->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

void daemon_remove(struct daemon *daemon, struct source *source)
{
	if (source->fd >= 0)
		(void)epoll_ctl(daemon->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	close_fd(&source->fd);
}

static struct daemon *daemon_of(struct source *source, size_t offset)
{
	return (struct daemon *)(void *)((char *)source - offset);
}

static void forget_peer(struct daemon *daemon, pid_t pid)
{
	for (size_t i = 0; i < daemon->peer_count; i++)
		if (daemon->peers[i].pid == pid) {
			daemon->counts[daemon->peers[i].side]--;
			daemon->peers[i] = daemon->peers[--daemon->peer_count];
			return;
		}
}

static void hear_signal(struct source *source, uint32_t events)
{
	struct daemon *daemon = daemon_of(source, offsetof(struct daemon, signals));
	struct signalfd_siginfo signal;
	pid_t pid;

	(void)events;
	while (read(source->fd, &signal, sizeof(signal)) == sizeof(signal))
		if (signal.ssi_signo != SIGCHLD)
			daemon->over = true;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		forget_peer(daemon, pid);
}

/* The next moment at which something is to be done though nobody says anything. */
static void set_timer(struct daemon *daemon)
{
	uint64_t next = 0;
	struct itimerspec at = {0};

	for (struct client *client = daemon->clients; client; client = client->next) {
		uint64_t deadline = client_deadline(client);

		if (deadline && (!next || deadline < next))
			next = deadline;
	}
	if (next == daemon->next)
		return;
	daemon->next = next;
	at.it_value.tv_sec = (time_t)(next / 1000000000);
	at.it_value.tv_nsec = (long)(next % 1000000000);
	(void)timerfd_settime(daemon->timer.fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void hear_timer(struct source *source, uint32_t events)
{
	struct daemon *daemon = daemon_of(source, offsetof(struct daemon, timer));
	uint64_t now = monotonic_ns(), times;

	(void)events;
	(void)!read(source->fd, &times, sizeof(times));
	daemon->next = 0;
	for (struct client *client = daemon->clients, *next; client; client = next) {
		uint64_t deadline = client_deadline(client);

		next = client->next;
		if (deadline && deadline <= now)
			client_expire(client, now);
	}
}

static int open_loop(struct daemon *daemon, struct error **ret_error)
{
	sigset_t signals;
	int r = 0;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	daemon->epoll = epoll_create1(EPOLL_CLOEXEC);
	daemon->signals =
		(struct source){signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK), hear_signal};
	daemon->timer = (struct source){timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
					hear_timer};
	if (daemon->epoll < 0 || daemon->signals.fd < 0 || daemon->timer.fd < 0)
		r = -errno;
	if (r == 0)
		r = daemon_add(daemon, &daemon->signals, EPOLLIN);
	if (r == 0)
		r = daemon_add(daemon, &daemon->timer, EPOLLIN);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "waiting for clients");
	return watch_open(daemon, ret_error);
}

/* One at a time: what is served may end others. */
static void run_loop(struct daemon *daemon, bool until_alone)
{
	struct epoll_event event;

	while (!daemon->over && (daemon->clients || !until_alone)) {
		set_timer(daemon);
		if (epoll_wait(daemon->epoll, &event, 1, -1) == 1) {
			struct source *source = event.data.ptr;

			source->serve(source, event.events);
		}
	}
}

static void close_loop(struct daemon *daemon)
{
	while (daemon->clients) {
		daemon->clients->leaves_runs = daemon->over;
		client_free(daemon->clients);
	}
	close_fd(&daemon->signals.fd);
	close_fd(&daemon->timer.fd);
	close_fd(&daemon->changes.fd);
	close_fd(&daemon->epoll);
	close_fd(&daemon->watched);
}

/* System: the process that serves one peer, and is his. */
static _Noreturn void serve_peer(struct daemon *parent, enum door_side side, int fd)
{
	struct daemon_options options = {.system = true};
	struct daemon daemon = {
		.options = &options, .parent = parent->pid, .epoll = -1, .watched = -1};
	_cleanup_error_ struct error *error = NULL;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent->pid)
		_exit(0);
	fd = dup3(fd, 3, O_CLOEXEC) < 0 ? fd : 3;
	(void)close_range(4, ~0U, 0);
	if (open_loop(&daemon, &error) == 0) {
		client_accept(&daemon, side, fd);
		/* Agents are themselves from the start, approvers after their first words. */
		if (daemon.clients && side == DOOR_AGENT &&
		    peer_become(daemon.clients, daemon.clients->peer.uid, &error) < 0) {
			client_failure(daemon.clients, NULL, error);
			client_settle(daemon.clients);
		}
		run_loop(&daemon, /* until_alone= */ true);
	}
	close_loop(&daemon);
	_exit(0);
}

/* One user cannot have all the connections there are. */
static bool is_crowd_of(const struct daemon *daemon, enum door_side side, uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < daemon->peer_count; i++)
		count += daemon->peers[i].side == side && daemon->peers[i].uid == uid;
	return uid != 0 && count >= connections_most[side] / CONNECTIONS_SHARE;
}

static void refuse(int fd)
{
	static const char full[] = "{\"jsonrpc\": \"2.0\", \"id\": null, \"error\": {\"code\": "
				   "-32000, \"message\": \"as many are connected as may be\"}}\n";

	(void)!send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void fork_for_peer(struct daemon *daemon, enum door_side side, int fd)
{
	struct daemon_peer *peers =
		reallocarray(daemon->peers, daemon->peer_count + 1, sizeof(*daemon->peers));
	struct ucred peer;
	socklen_t length = sizeof(peer);
	pid_t pid;

	if (!peers)
		abort();
	daemon->peers = peers;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0 ||
	    is_crowd_of(daemon, side, peer.uid)) {
		refuse(fd);
		return;
	}
	pid = fork();
	if (pid == 0)
		serve_peer(daemon, side, fd);
	close(fd);
	if (pid < 0)
		return;
	daemon->peers[daemon->peer_count++] = (struct daemon_peer){pid, peer.uid, side};
	daemon->counts[side]++;
}

static void hear_listener(struct daemon *daemon, enum door_side side)
{
	int fd = accept4(daemon->listeners[side].fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (daemon->counts[side] >= connections_most[side])
		refuse(fd);
	else if (daemon->options->system)
		fork_for_peer(daemon, side, fd);
	else
		client_accept(daemon, side, fd);
}

static void hear_agents(struct source *source, uint32_t events)
{
	(void)events;
	hear_listener(daemon_of(source, offsetof(struct daemon, listeners[DOOR_AGENT])),
		      DOOR_AGENT);
}

static void hear_approvers(struct source *source, uint32_t events)
{
	(void)events;
	hear_listener(daemon_of(source, offsetof(struct daemon, listeners[DOOR_APPROVER])),
		      DOOR_APPROVER);
}

int daemon_serve(const struct door *door, const struct daemon_options *options,
		 struct error **ret_error)
{
	struct daemon daemon = {.options = options,
				.state = options->state,
				.pid = getpid(),
				.epoll = -1,
				.watched = -1};
	int r = open_loop(&daemon, ret_error);

	daemon.listeners[DOOR_AGENT] = (struct source){door->sockets[DOOR_AGENT], hear_agents};
	daemon.listeners[DOOR_APPROVER] =
		(struct source){door->sockets[DOOR_APPROVER], hear_approvers};
	for (int side = 0; r == 0 && side < DOOR_SIDES; side++)
		r = daemon_add(&daemon, &daemon.listeners[side], EPOLLIN) < 0
			    ? fail_errno(ret_error, E_ENGINE, errno, "listening")
			    : 0;
	/* As long as we are here somebody may come and answer. */
	if (r == 0 && !options->system)
		r = queue_watch(options->state, &daemon.watched, ret_error);
	if (r == 0) {
		door_notify("READY=1");
		if (!options->system)
			work_adopt(&daemon);
		run_loop(&daemon, /* until_alone= */ false);
		door_notify("STOPPING=1");
	}
	for (size_t i = 0; i < daemon.peer_count; i++)
		kill(daemon.peers[i].pid, SIGTERM);
	close_loop(&daemon);
	free(daemon.peers);
	return r;
}
