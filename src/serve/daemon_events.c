/* SPDX-License-Identifier: Apache-2.0 */
/* Events over the approvers' socket, from the record. Who follows them has a process of his own
 * that reads the log: however long that is, nobody waits for it, and a reader who stalls stops it.
 */
#include "../base/io.h"
#include "../record/eventlog.h"
#include "../request/text_json.h"
#include "daemon_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

enum { PIECE = 64 << 10 };

static int open_log(struct client *client, json_t *params, bool follow, struct eventlog **ret_log,
		    struct error **ret_error)
{
	json_t *after = json_object_get(params, "after");
	struct event_place place = {0};

	if (after &&
	    (!json_is_string(after) || !event_place_read(json_string_value(after), &place)))
		return fail(ret_error, E_INPUT, "after is the id of an event, such as \"57.2\"");
	if (!after && follow &&
	    event_place_now(client->daemon->state, &place, /* ret_error= */ NULL) < 0)
		place = (struct event_place){0}; /* nothing is there yet */
	return eventlog_open(client->daemon->state, place, follow, ret_log, ret_error);
}

static int work_events(struct client *client, json_t *params, json_t **ret_result,
		       struct error **ret_error)
{
	struct listing listing = listing_new(params);
	struct eventlog *log;
	json_t *event;
	int r = open_log(client, params, /* follow= */ false, &log, ret_error);

	if (r < 0)
		return r;
	while (!listing.more && (r = eventlog_next(log, &event, ret_error)) == 1) {
		listing_add(&listing, event);
		json_decref(event);
	}
	eventlog_close(log);
	*ret_result = listing_end(&listing, "events");
	return MIN(r, 0);
}

static int write_line(json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	int r = text ? write_all(3, text, strlen(text)) : -ENOMEM;

	json_decref(object);
	return r < 0 ? r : write_all(3, "\n", 1);
}

/* In the child: until nobody listens. */
static _Noreturn void tell_events(struct client *client, json_t *id, json_t *params)
{
	_cleanup_error_ struct error *error = NULL;
	struct eventlog *log;
	json_t *event;
	int r = open_log(client, params, /* follow= */ true, &log, &error);

	if (r < 0) {
		(void)write_line(work_answer(id, NULL, error));
		_exit(1);
	}
	event = json_pack("{s:b}", "follows", 1);
	r = write_line(work_answer(id, event, NULL));
	while (r == 0) {
		/* Hanging up is told by the pipe, too. */
		struct pollfd fds[] = {{eventlog_fd(log), POLLIN, 0}, {3, 0, 0}};

		while (r == 0 && (r = eventlog_next(log, &event, NULL)) == 1)
			r = write_line(json_pack("{s:s, s:s, s:{s:O, s:o}}", "jsonrpc", "2.0",
						 "method", "event", "params", "id", id, "event",
						 event));
		if (r == 0 && poll(fds, ELEMENTS(fds), -1) >= 0 && fds[1].revents)
			break;
	}
	_exit(0);
}

static void hear_events(struct source *source, uint32_t events)
{
	struct call *call = (struct call *)(void *)((char *)source - offsetof(struct call, pipe));
	struct client *client = call->client;
	char data[PIECE], *end;
	ssize_t got = read(source->fd, data, sizeof(data));

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || call->heard.length + (size_t)got > WORKER_MOST) {
		client_notify(client, "events.ended", json_pack("{s:O}", "id", call->id));
		call_free(call);
		client_settle(client);
		return;
	}
	buffer_add(&call->heard, data, (size_t)got);
	while (call->heard.length && (end = memchr(call->heard.data, '\n', call->heard.length))) {
		size_t length = (size_t)(end - call->heard.data);

		wire_send_line(&client->wire, call->heard.data, length);
		memmove(call->heard.data, end + 1, call->heard.length - length - 1);
		call->heard.length -= length + 1;
	}
	if (client->wire.waiting.length >= CLIENT_PAUSES)
		daemon_change(client->daemon, &call->pipe, 0);
	client_settle(client);
}

/* He reads again. */
static void go_on(struct call *call)
{
	daemon_change(call->client->daemon, &call->pipe, EPOLLIN);
}

static void leave_events(struct call *call)
{
	if (call->pid > 0)
		kill(call->pid, SIGKILL);
	daemon_remove(call->client->daemon, &call->pipe);
}

static bool follows_already(const struct client *client)
{
	for (const struct call *call = client->calls; call; call = call->next)
		if (call->leave == leave_events)
			return true;
	return false;
}

void method_events(struct client *client, json_t *id, json_t *params)
{
	pid_t pid, daemon = getpid();
	struct call *call;
	int pipe[2];

	if (!json_is_true(json_object_get(params, "follow"))) {
		work_start(client, id, params, work_events, NULL);
		return;
	}
	if (follows_already(client) || client->daemon->worker_count >= WORKERS + WORKERS_CLIENT ||
	    pipe2(pipe, O_CLOEXEC) < 0) {
		client_error(client, id, TOO_MANY, "one connection follows events once", NULL);
		return;
	}
	pid = fork();
	if (pid == 0) {
		if (work_settle_in(pipe[1], daemon) < 0)
			_exit(1);
		tell_events(client, id, params);
	}
	close(pipe[1]);
	(void)fcntl(pipe[0], F_SETFL, O_NONBLOCK);
	call = call_new(client, id);
	call->pid = pid;
	call->streams = true;
	call->look = go_on;
	call->leave = leave_events;
	call->pipe = (struct source){pipe[0], hear_events};
	if (pid < 0 || daemon_add(client->daemon, &call->pipe, EPOLLIN) < 0) {
		client_error(client, id, INTERNAL_ERROR, "no process could be started", NULL);
		call_free(call);
	}
}
