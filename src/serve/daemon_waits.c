/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for tickets: what is heard of them is read from their files, at the pace of whoever
 * reads.
 */
#include "../base/id.h"
#include "../base/units.h"
#include "../escalate/queue.h"
#include "../request/result.h"
#include "../request/text_json.h"
#include "daemon_parts.h"
#include "ticket.h"

#include <string.h>

enum {
	PIECE = 32 << 10,
	GRACE_SECONDS = 2,
	GLANCE_SECONDS = 5,
	QUEUED_GLANCES = 10,
	WAIT_MOST = 7 * 24 * 3600
};
#define SECOND 1000000000ull

/* The id of a ticket among the params; an error was sent where there is none. */
const char *param_ticket(struct client *client, json_t *id, json_t *params)
{
	const char *ticket = json_string_value(json_object_get(params, "ticket"));

	if (!ticket || strlen(ticket) != ID_TEXT - 1)
		client_error(client, id, INVALID_PARAMS, "params need ticket, a whole id", NULL);
	return ticket && strlen(ticket) == ID_TEXT - 1 ? ticket : NULL;
}

static const char *const stream_names[] = {"notices", "stdout", "stderr"};

/* True when there is no more for now; false when the client has to read first. */
static bool pass_output(struct call *call)
{
	struct client *client = call->client;
	char data[PIECE];

	for (int stream = 0; stream < 3; stream++) {
		size_t length = 1;

		while (length > 0) {
			json_t *params;

			if (client->wire.waiting.length >= CLIENT_PAUSES)
				return false;
			if (ticket_read_output(client->daemon->state, call->ticket, stream,
					       call->offsets[stream], data, sizeof(data), &length,
					       NULL) < 0)
				length = 0;
			if (length == 0)
				break;
			call->offsets[stream] += length;
			params = json_object();
			wire_put_bytes(params, data, length);
			json_put(params, "id", json_incref(call->id));
			json_put_text(params, "stream", stream_names[stream]);
			json_put_count(params, "offset", call->offsets[stream]);
			client_notify(client, "run.output", params);
		}
	}
	return true;
}

static void end_wait(struct call *call, json_t *status)
{
	struct client *client = call->client;
	json_t *result = NULL, *answer;

	(void)ticket_result(client->daemon->state, call->ticket, &result, NULL);
	call->ends_with_client = false; /* it has ended */
	if (call->bare && result) {
		client_result(client, call->id, result);
	} else if (call->bare) {
		client_error(client, call->id, call->cancelled ? CANCELLED : INTERNAL_ERROR,
			     call->cancelled ? "the run was cancelled"
					     : "the run ended without a result",
			     NULL);
	} else {
		answer = json_pack("{s:O}", "status", status);
		json_put(answer, "result", result ? result : json_null());
		client_result(client, call->id, answer);
	}
	json_decref(status);
	call_free(call);
}

/* Somebody is asked before it starts, and its session has said that nobody waits for that. */
static bool is_put_off(const struct call *call, json_t *status)
{
	const char *state = json_string_value(json_object_get(status, "state"));
	const char *ask = json_string_value(json_object_get(status, "ask"));
	json_t *entry = NULL;
	bool put_off = call->queued && state && strcmp(state, "waiting") == 0 && ask &&
		       queue_get(call->client->daemon->state, ask, &entry, NULL) == 0;

	json_decref(entry);
	return put_off;
}

/* As of a `ward run` that was deferred; the ticket goes on without its caller. */
static void answer_put_off(struct call *call)
{
	_cleanup_result_ struct result result;

	result_init(&result);
	result.ticket = strdup(call->ticket);
	result.verdict = "ask";
	result.source = "default";
	fail(&result.error, E_DEFERRED,
	     "this needs a person's yes, and that comes later: ticket %s", call->ticket);
	error_hint(&result.error, "ward wait %s", call->ticket);
	client_result(call->client, call->id, result_to_json(&result));
	call->ends_with_client = false;
	call_free(call);
}

/* What it may do next without being told of a change: a keeper that was killed tells nobody. */
static void set_deadline(struct call *call)
{
	uint64_t next =
		monotonic_ns() + (call->cancelled ? GRACE_SECONDS : GLANCE_SECONDS) * SECOND;

	/* No file of the ticket tells that its question is put. */
	if (call->queued && !call->cancelled)
		next = monotonic_ns() + SECOND / QUEUED_GLANCES;

	if (!call->deadline)
		call->deadline = call->until ? MIN(next, call->until) : next;
}

void wait_look(struct call *call)
{
	struct client *client = call->client;
	_cleanup_error_ struct error *error = NULL;
	json_t *status = NULL;
	bool over;

	if (ticket_status(client->daemon->state, call->ticket, &status, &error) < 0) {
		client_failure(client, call->id, error);
		call->ends_with_client = false;
		call_free(call);
		return;
	}
	/* The status first: what is written before the end is there when the end is. */
	over = ticket_is_over(status);
	if (call->streams && !pass_output(call))
		over = false;
	if (over) {
		end_wait(call, status);
		return;
	}
	if (!json_is_true(json_object_get(status, "kept")) && !ticket_is_over(status))
		work_adopt(client->daemon);
	if (is_put_off(call, status)) {
		json_decref(status);
		answer_put_off(call);
		return;
	}
	json_decref(status);
	set_deadline(call);
}

static void expire_wait(struct call *call)
{
	struct client *client = call->client;
	json_t *status = NULL;

	if (call->cancelled && call->force < TICKET_KILL)
		(void)ticket_cancel(client->daemon->state, call->ticket, ++call->force, NULL);
	if (call->until && monotonic_ns() >= call->until &&
	    ticket_status(client->daemon->state, call->ticket, &status, NULL) == 0) {
		client_result(client, call->id,
			      json_pack("{s:o, s:n}", "status", status, "result"));
		call_free(call);
		return;
	}
	wait_look(call);
}

static void leave_wait(struct call *call)
{
	struct client *client = call->client;
	int watch = call->watch;

	if (call->ends_with_client && !client->leaves_runs)
		(void)ticket_cancel(client->daemon->state, call->ticket, TICKET_END, NULL);
	call->watch = -1;
	watch_forget(client->daemon, watch);
}

struct call *wait_start(struct client *client, json_t *id, const char *ticket, bool streams)
{
	struct call *call = call_new(client, id);

	call->ticket = strdup(ticket);
	call->streams = streams;
	call->look = wait_look;
	call->expire = expire_wait;
	call->leave = leave_wait;
	call->watch = watch_ticket(client->daemon, ticket);
	return call;
}

static void wait_for(struct client *client, json_t *id, json_t *params, bool streams)
{
	const char *ticket = param_ticket(client, id, params);
	double timeout = json_number_value(json_object_get(params, "timeout"));
	struct call *call;

	if (!ticket)
		return;
	call = wait_start(client, id, ticket, streams);
	if (timeout > 0 && timeout < WAIT_MOST)
		call->until = monotonic_ns() + (uint64_t)(timeout * (double)SECOND);
	for (int stream = 0; stream < 3; stream++)
		call->offsets[stream] = (uint64_t)MAX(
			json_integer_value(json_object_get(params, stream_names[stream])),
			(json_int_t)0);
	wait_look(call);
}

void method_wait(struct client *client, json_t *id, json_t *params)
{
	wait_for(client, id, params, /* streams= */ false);
}

void method_stream(struct client *client, json_t *id, json_t *params)
{
	wait_for(client, id, params, /* streams= */ true);
}

void method_output(struct client *client, json_t *id, json_t *params)
{
	const char *ticket = param_ticket(client, id, params);
	const char *name = json_string_value(json_object_get(params, "stream"));
	json_int_t offset = json_integer_value(json_object_get(params, "offset"));
	_cleanup_error_ struct error *error = NULL;
	char data[PIECE];
	size_t length;
	int stream = 0;
	json_t *result;

	if (!ticket)
		return;
	while (stream < 3 && strcmp(name ? name : "stdout", stream_names[stream]) != 0)
		stream++;
	if (stream == 3 || offset < 0) {
		client_error(client, id, INVALID_PARAMS,
			     "stream is stdout, stderr or notices, offset a number of bytes", NULL);
		return;
	}
	if (ticket_read_output(client->daemon->state, ticket, stream, (uint64_t)offset, data,
			       sizeof(data), &length, &error) < 0) {
		client_failure(client, id, error);
		return;
	}
	result = json_object();
	wire_put_bytes(result, data, length);
	json_put_count(result, "offset", (uint64_t)offset + length);
	client_result(client, id, result);
}

void method_status(struct client *client, json_t *id, json_t *params)
{
	const char *ticket = param_ticket(client, id, params);
	_cleanup_error_ struct error *error = NULL;
	json_t *status;

	if (!ticket)
		return;
	if (ticket_status(client->daemon->state, ticket, &status, &error) < 0)
		client_failure(client, id, error);
	else
		client_result(client, id, status);
}

/* One's own request that is not answered yet. */
static struct call *call_of(struct client *client, json_t *id)
{
	for (struct call *call = client->calls; call; call = call->next)
		if (call->ticket && json_equal(call->id, id))
			return call;
	return NULL;
}

void method_cancel(struct client *client, json_t *id, json_t *params)
{
	static const char *const forces[] = {"ask", "end", "kill"};
	const char *force = json_string_value(json_object_get(params, "force")), *ticket;
	struct call *call = call_of(client, json_object_get(params, "id"));
	_cleanup_error_ struct error *error = NULL;
	json_t *status = NULL;
	bool open;
	int number = 0;

	while (force && number < 3 && strcmp(force, forces[number]) != 0)
		number++;
	if (number == 3) {
		client_error(client, id, INVALID_PARAMS, "force is ask, end or kill", NULL);
		return;
	}
	if (!call && json_object_get(params, "id")) {
		client_result(client, id, json_pack("{s:b}", "cancelled", 0));
		return;
	}
	ticket = call ? call->ticket : param_ticket(client, id, params);
	if (!ticket)
		return;
	if (ticket_status(client->daemon->state, ticket, &status, &error) < 0 ||
	    ticket_cancel(client->daemon->state, ticket, number, &error) < 0) {
		client_failure(client, id, error);
		json_decref(status);
		return;
	}
	open = !ticket_is_over(status);
	json_decref(status);
	if (call) {
		call->cancelled = true; /* and harder, after a while */
		call->force = number;
		call->deadline = monotonic_ns() + GRACE_SECONDS * SECOND;
	}
	client_result(client, id, json_pack("{s:b}", "cancelled", open));
}
