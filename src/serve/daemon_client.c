/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: its lines in, its answers out, and the bounds on both. Whoever floods is read
 * more slowly, whoever does not read has nothing more made for him and is left in the end; nobody
 * else notices either. */
#include "../base/units.h"
#include "../request/text_json.h"
#include "daemon_parts.h"
#include "ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#define SECOND 1000000000ull

enum { READS_MOST = 64 }; /* of what is left when somebody has hung up */

static json_t *with_id(json_t *id)
{
	return json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id ? id : json_null());
}

void client_result(struct client *client, json_t *id, json_t *result)
{
	json_t *object = with_id(id);

	json_put(object, "result", result);
	wire_send(&client->wire, object);
}

void client_error(struct client *client, json_t *id, int code, const char *message,
		  const char *hint)
{
	json_t *object = with_id(id), *error = json_pack("{s:i}", "code", code);

	json_put_text(error, "message", message);
	if (hint) {
		json_t *data = json_object();

		json_put_text(data, "hint", hint);
		json_put(error, "data", data);
	}
	json_put(object, "error", error);
	wire_send(&client->wire, object);
}

void client_failure(struct client *client, json_t *id, const struct error *failure)
{
	client_error(client, id, failure_code(failure), failure->message, failure->hint);
}

int failure_code(const struct error *failure)
{
	return failure->code == E_ENGINE      ? INTERNAL_ERROR
	       : failure->code == E_NOT_FOUND ? NOT_FOUND
	       : failure->code == E_REJECTED  ? TOO_MANY
					      : INVALID_PARAMS;
}

void client_notify(struct client *client, const char *method, json_t *params)
{
	wire_send(&client->wire, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method,
					   "params", params));
}

struct call *call_new(struct client *client, json_t *id)
{
	struct call *call = calloc(1, sizeof(*call));

	if (!call)
		abort();
	call->client = client;
	call->id = json_incref(id);
	call->pipe.fd = call->watch = -1;
	call->next = client->calls;
	client->calls = call;
	client->call_count++;
	return call;
}

void call_free(struct call *call)
{
	struct client *client = call->client;
	struct call **at = &client->calls;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	client->call_count--;
	if (call->leave)
		call->leave(call);
	json_decref(call->id);
	free(call->ticket);
	buffer_done(&call->heard);
	free(call);
}

/* Messages that it may send now. */
static void count_tokens(struct client *client, uint64_t now)
{
	client->tokens += (double)(now - client->counted) / SECOND * CLIENT_RATE;
	client->tokens = MIN(client->tokens, (double)CLIENT_BURST);
	client->counted = now;
}

static bool is_busy(const struct client *client)
{
	return client->call_count >= CLIENT_CALLS || client->worker_count >= WORKERS_CLIENT ||
	       (client->side == DOOR_AGENT && client->daemon->worker_count >= WORKERS);
}

static bool is_read(const struct client *client)
{
	return !client->wire.over && !client->gone && client->tokens >= 1 && !is_busy(client) &&
	       client->wire.waiting.length < CLIENT_PAUSES;
}

/* As many as it may have served. */
static void serve_lines(struct client *client)
{
	const char *line;
	size_t length;
	enum wire_heard heard;

	while (!client->wire.broken && !client->gone && client->tokens >= 1 && !is_busy(client) &&
	       client->wire.waiting.length < CLIENT_PAUSES &&
	       (heard = wire_next(&client->wire, &line, &length)) != WIRE_NOTHING) {
		client->tokens--;
		client->line_since = 0;
		if (heard == WIRE_LINE)
			methods_serve(client, line, length);
		else
			client_error(client, NULL, INVALID_REQUEST, "the line is too long", NULL);
	}
}

/* Something of a line is there, and its end is not. */
static bool has_half_line(const struct client *client)
{
	const struct wire *wire = &client->wire;

	return wire->skipping || wire->heard.length > wire->taken;
}

void client_settle(struct client *client)
{
	uint64_t now = monotonic_ns();
	size_t waited = client->wire.waiting.length;
	uint32_t listens;

	wire_write(&client->wire);
	if (!wire_wants_write(&client->wire))
		client->stuck_since = 0;
	else if (!client->stuck_since || client->wire.waiting.length < waited)
		client->stuck_since = now;
	for (struct call *call = client->calls, *next; call; call = next) {
		next = call->next;
		if (call->streams && client->wire.waiting.length < CLIENT_PAUSES && call->look)
			call->look(call);
	}
	count_tokens(client, now);
	serve_lines(client);
	/* Only while it is listened to: a line that we do not read cannot be finished. */
	if (!has_half_line(client) || !is_read(client))
		client->line_since = 0;
	else if (!client->line_since)
		client->line_since = now;
	client->gone |= client->wire.over; /* who hangs up is gone, whatever he had to say */
	if (client->wire.broken || (client->gone && !wire_wants_write(&client->wire))) {
		client_free(client);
		return;
	}
	listens = (is_read(client) ? EPOLLIN : 0u) | (client->wire.over ? 0u : EPOLLRDHUP) |
		  (wire_wants_write(&client->wire) ? EPOLLOUT : 0u);
	if (listens != client->listens)
		daemon_change(client->daemon, &client->source, client->listens = listens);
}

static void serve_client(struct source *source, uint32_t events)
{
	struct client *client = (struct client *)(void *)source;
	bool ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);

	if (events & EPOLLIN)
		wire_read(&client->wire);
	for (int i = 0; ended && !client->wire.over && i < READS_MOST; i++)
		wire_read(&client->wire);
	client->wire.over |= ended;
	client_settle(client);
}

uint64_t client_deadline(const struct client *client)
{
	uint64_t next = 0;
	uint64_t ends[] = {
		client->line_since ? client->line_since + CLIENT_PATIENCE_SECONDS * SECOND : 0,
		client->stuck_since ? client->stuck_since + CLIENT_PATIENCE_SECONDS * SECOND : 0,
		/* With a tenth of a second's worth it is listened to again. */
		client->tokens < 1 ? client->counted + SECOND / 10 : 0,
	};

	for (size_t i = 0; i < ELEMENTS(ends); i++)
		if (ends[i] && (!next || ends[i] < next))
			next = ends[i];
	for (const struct call *call = client->calls; call; call = call->next)
		if (call->deadline && (!next || call->deadline < next))
			next = call->deadline;
	return next;
}

void client_expire(struct client *client, uint64_t now)
{
	uint64_t patience = CLIENT_PATIENCE_SECONDS * SECOND;

	if ((client->line_since && now - client->line_since >= patience) ||
	    (client->stuck_since && now - client->stuck_since >= patience)) {
		client_free(client);
		return;
	}
	for (struct call *call = client->calls, *next; call; call = next) {
		next = call->next;
		if (call->deadline && call->deadline <= now) {
			call->deadline = 0;
			call->expire(call);
		}
	}
	client_settle(client);
}

/* One process cannot have all the connections there are. */
static bool is_crowd(const struct daemon *daemon, enum door_side side, const struct ucred *peer)
{
	size_t count = 0;

	for (const struct client *client = daemon->clients; client; client = client->next)
		count += client->side == side && client->peer.pid == peer->pid;
	return count >= CONNECTIONS_PROCESS;
}

void client_accept(struct daemon *daemon, enum door_side side, int fd)
{
	struct client *client = calloc(1, sizeof(*client));
	socklen_t length = sizeof(client->peer);

	if (!client)
		abort();
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client->peer, &length) < 0 ||
	    /* The modes of socket and directory say the same; nobody else's word is taken. */
	    (!daemon->options->system && client->peer.uid != geteuid() && client->peer.uid != 0) ||
	    is_crowd(daemon, side, &client->peer)) {
		close(fd);
		free(client);
		return;
	}
	client->daemon = daemon;
	client->side = side;
	client->unsettled = daemon->options->system && side == DOOR_APPROVER;
	client->pidfd = (int)syscall(SYS_pidfd_open, client->peer.pid, 0);
	client->by = peer_name(&client->peer);
	client->wire =
		(struct wire){.in = fd, .out = fd, .most = CLIENT_LINE, .keeps = CLIENT_KEEPS};
	client->tokens = CLIENT_BURST;
	client->counted = monotonic_ns();
	client->source = (struct source){fd, serve_client};
	client->listens = EPOLLIN | EPOLLRDHUP;
	client->next = daemon->clients;
	daemon->clients = client;
	daemon->counts[side]++;
	if (daemon_add(daemon, &client->source, client->listens) < 0)
		client_free(client);
}

void client_free(struct client *client)
{
	struct daemon *daemon = client->daemon;
	struct client **at = &daemon->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	daemon->counts[client->side]--;
	while (client->calls)
		call_free(client->calls);
	daemon_remove(daemon, &client->source);
	close_fd(&client->pidfd);
	wire_done(&client->wire);
	free(client->by);
	free(client);
}
