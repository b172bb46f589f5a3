/* SPDX-License-Identifier: Apache-2.0 */
/* The server: messages in, calls served side by side, messages out; nothing blocks but the poll. */
#include "mcp_server.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { TICK_MS = 100, FLUSH_MS = 5000, CLIENT_MOST = 64 };

int64_t mcp_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void mcp_batch_less(struct mcp_server *server, struct mcp_batch *batch)
{
	if (!batch || --batch->waiting > 0)
		return;
	if (json_array_size(batch->responses))
		wire_send(&server->wire, batch->responses);
	else
		json_decref(batch->responses);
	free(batch);
}

void mcp_answer(struct mcp_server *server, struct mcp_batch *batch, json_t *message)
{
	if (!batch) {
		wire_send(&server->wire, message);
		return;
	}
	json_array_append_new(batch->responses, message);
	mcp_batch_less(server, batch);
}

static json_t *capabilities(void)
{
	return json_pack("{s:{}}", "tools");
}

/* Its name goes on record as who answered; it is no more than what it says. */
static void note_client(struct mcp_server *server, json_t *info)
{
	const char *name = json_string_value(json_object_get(info, "name"));

	if (!name)
		return;
	free(server->client);
	server->client = strndup(name, CLIENT_MOST);
	for (char *c = server->client; c && *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

/* What each request gets. */
struct turn {
	struct mcp_server *server;
	const struct mcp_message *message;
	enum mcp_version version;
	json_t *capabilities;
	struct mcp_batch *batch;
};

static void reply(const struct turn *turn, json_t *result)
{
	mcp_answer(turn->server, turn->batch, mcp_result(turn->version, turn->message->id, result));
}

static void refuse(const struct turn *turn, int code, const char *message)
{
	mcp_answer(turn->server, turn->batch, mcp_error(turn->message->id, code, message, NULL));
}

static void serve_initialize(struct turn *turn)
{
	struct mcp_server *server = turn->server;
	json_t *params = turn->message->params,
	       *wanted = json_object_get(params, "protocolVersion");
	json_t *able = json_object_get(params, "capabilities");

	if (!json_is_string(wanted)) {
		refuse(turn, INVALID_PARAMS, "protocolVersion is a string");
		return;
	}
	server->version = turn->version = mcp_negotiate(json_string_value(wanted));
	json_decref(server->capabilities);
	server->capabilities = json_incref(able);
	note_client(server, json_object_get(params, "clientInfo"));
	reply(turn, json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion",
			      mcp_version_name(server->version), "capabilities", capabilities(),
			      "serverInfo", mcp_server_info(), "instructions", mcp_instructions()));
}

/* For as long as a client cares to keep it; it never changes while the server runs. */
static json_t *with_life(json_t *result, enum mcp_version version)
{
	if (version == MCP_2026_07_28) {
		json_object_set_new(result, "ttlMs", json_integer(3600 * 1000));
		json_object_set_new(result, "cacheScope", json_string("public"));
	}
	return result;
}

static void serve_discover(struct turn *turn)
{
	reply(turn, with_life(json_pack("{s:o, s:o, s:s}", "supportedVersions", mcp_version_list(),
					"capabilities", capabilities(), "instructions",
					mcp_instructions()),
			      turn->version));
}

static void serve_ping(struct turn *turn)
{
	reply(turn, json_object());
}

static void serve_list(struct turn *turn)
{
	json_t *cursor = json_object_get(turn->message->params, "cursor");

	/* All tools are on the first page. */
	if (cursor && !json_is_null(cursor))
		refuse(turn, INVALID_PARAMS, "there is no such cursor");
	else
		reply(turn, with_life(json_pack("{s:o}", "tools", mcp_tools(turn->version)),
				      turn->version));
}

static void serve_call(struct turn *turn)
{
	mcp_call_tool(turn->server, turn->message, turn->version, turn->capabilities, turn->batch);
}

enum era { OLD = 1, NEW = 2, ALWAYS = 4 /* before initialize, too */ };

static const struct {
	const char *name;
	unsigned eras;
	void (*serve)(struct turn *turn);
} methods[] = {
	{"initialize", OLD | ALWAYS, serve_initialize}, {"ping", OLD | ALWAYS, serve_ping},
	{"server/discover", NEW, serve_discover},	{"tools/list", OLD | NEW, serve_list},
	{"tools/call", OLD | NEW, serve_call},
};

static void serve_request(struct mcp_server *server, const struct mcp_message *message,
			  struct mcp_batch *batch)
{
	struct turn turn = {server, message, .batch = batch};
	json_t *error = NULL;
	bool is_new;

	if (!mcp_read_era(message, &turn.version, &turn.capabilities, &error)) {
		mcp_answer(server, batch, error);
		return;
	}
	is_new = turn.version == MCP_2026_07_28;
	if (is_new) {
		note_client(server,
			    json_object_get(message->meta, "io.modelcontextprotocol/clientInfo"));
	} else {
		turn.version = server->version;
		turn.capabilities = server->capabilities;
	}
	for (size_t i = 0; i < ELEMENTS(methods); i++) {
		if (strcmp(methods[i].name, message->method) != 0 ||
		    !(methods[i].eras & (is_new ? NEW : OLD)))
			continue;
		if (turn.version == MCP_NONE && !(methods[i].eras & ALWAYS))
			refuse(&turn, INVALID_REQUEST, "initialize comes first");
		else
			methods[i].serve(&turn);
		return;
	}
	refuse(&turn, NO_METHOD, "there is no such method here");
}

static void serve_message(struct mcp_server *server, json_t *object, struct mcp_batch *batch)
{
	struct mcp_message message;

	mcp_read(object, &message);
	switch (message.kind) {
	case MCP_INVALID:
		/* It is answered, whatever it was meant to be: nothing is left unsaid. */
		mcp_answer(server, batch,
			   mcp_error(message.id, INVALID_REQUEST, message.fault, NULL));
		return;
	case MCP_REQUEST:
		serve_request(server, &message, batch);
		return;
	case MCP_NOTIFICATION:
		if (strcmp(message.method, "notifications/cancelled") == 0)
			mcp_call_cancel(server, json_object_get(message.params, "requestId"));
		break;
	case MCP_RESPONSE:
		mcp_call_response(server, &message);
		break;
	}
	mcp_batch_less(server, batch);
}

static void serve_batch(struct mcp_server *server, json_t *array)
{
	struct mcp_batch *batch;
	json_t *object;
	size_t i;

	if (server->version != MCP_2025_03_26 || !json_array_size(array) ||
	    json_array_size(array) > MCP_BATCH_MOST) {
		mcp_answer(server, NULL,
			   mcp_error(NULL, INVALID_REQUEST,
				     server->version == MCP_2025_03_26
					     ? "a batch has 1 to 64 messages"
					     : "this version of the protocol has no batches",
				     NULL));
		return;
	}
	batch = calloc(1, sizeof(*batch));
	if (!batch)
		abort();
	*batch = (struct mcp_batch){json_array(), json_array_size(array) + 1};
	json_array_foreach (array, i, object)
		serve_message(server, object, batch);
	mcp_batch_less(server, batch);
}

static void serve_line(struct mcp_server *server, const char *line, size_t length)
{
	json_error_t at;
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at);

	if (!object)
		mcp_answer(server, NULL, mcp_error(NULL, PARSE_ERROR, at.text, NULL));
	else if (json_is_array(object))
		serve_batch(server, object);
	else
		serve_message(server, object, NULL);
	json_decref(object);
}

static void hear(struct mcp_server *server)
{
	const char *line;
	size_t length;
	enum wire_heard heard;

	wire_read(&server->wire);
	while ((heard = wire_next(&server->wire, &line, &length)) != WIRE_NOTHING) {
		if (heard == WIRE_LINE)
			serve_line(server, line, length);
		else
			mcp_answer(
				server, NULL,
				mcp_error(NULL, INVALID_REQUEST, "the message is too long", NULL));
	}
}

/* A call that is over, or that nobody came for, is let go. */
static size_t sweep(struct mcp_server *server)
{
	size_t left = 0;

	for (size_t i = 0; i < ELEMENTS(server->calls); i++) {
		struct mcp_call *call = server->calls[i];

		if (!call)
			continue;
		mcp_call_tick(call);
		if ((call->parked && mcp_now_ms() > call->parked) ||
		    (!call->runner && !call->outcome)) {
			mcp_call_free(call);
			server->calls[i] = NULL;
		} else {
			left++;
		}
	}
	return left;
}

static void end_calls(struct mcp_server *server)
{
	for (size_t i = 0; i < ELEMENTS(server->calls); i++) {
		struct mcp_call *call = server->calls[i];

		if (!call)
			continue;
		call->cancelled = true;
		call->parked = 0;
		json_decref(call->outcome);
		call->outcome = NULL;
		if (call->runner)
			runner_cancel(call->runner);
	}
}

/* Until something is to be done that nothing wakes us for. */
static int patience(const struct mcp_server *server)
{
	int most = -1;

	for (size_t i = 0; i < ELEMENTS(server->calls); i++) {
		const struct mcp_call *call = server->calls[i];

		if (call && call->token && call->fresh.length)
			return TICK_MS;
		if (call && call->parked)
			most = 10 * TICK_MS;
	}
	return most;
}

static void wait_for_anything(struct mcp_server *server)
{
	struct pollfd fds[2 + MCP_CALLS_MOST];
	struct mcp_call *calls[MCP_CALLS_MOST];
	size_t count = 2;

	fds[0] = (struct pollfd){server->wire.over ? -1 : server->wire.in, POLLIN, 0};
	fds[1] = (struct pollfd){wire_wants_write(&server->wire) ? server->wire.out : -1, POLLOUT,
				 0};
	for (size_t i = 0; i < ELEMENTS(server->calls); i++)
		if (server->calls[i] && server->calls[i]->runner) {
			calls[count - 2] = server->calls[i];
			fds[count++] =
				(struct pollfd){runner_fd(server->calls[i]->runner), POLLIN, 0};
		}
	if (poll(fds, (nfds_t)count, patience(server)) <= 0)
		return;
	for (size_t i = 2; i < count; i++)
		if (fds[i].revents)
			mcp_call_serve(calls[i - 2]);
	if (fds[1].revents)
		wire_write(&server->wire);
	if (fds[0].revents)
		hear(server);
}

static void server_done(struct mcp_server *server)
{
	for (size_t i = 0; i < ELEMENTS(server->calls); i++)
		if (server->calls[i])
			mcp_call_free(server->calls[i]);
	sodium_memzero(server->key, sizeof(server->key));
	json_decref(server->capabilities);
	free(server->client);
	wire_done(&server->wire);
}

int mcp_serve(int in, int out, const struct mcp_settings *settings, struct error **ret_error)
{
	struct mcp_server server = {.wire = {.in = in, .out = out, .most = MCP_LINE_MOST},
				    .settings = settings,
				    .version = MCP_NONE};
	size_t left = 0;
	bool ending = false;
	int64_t deadline = 0;

	if (sodium_init() < 0)
		return fail(ret_error, E_ENGINE, "the cryptography library cannot be used");
	signal(SIGPIPE, SIG_IGN);
	crypto_auth_keygen(server.key);
	while (!server.wire.broken && (!server.wire.over || left > 0)) {
		wait_for_anything(&server);
		if (server.wire.over && !ending) {
			ending = true;
			end_calls(&server);
		}
		left = sweep(&server);
	}
	/* Whoever still reads gets what there is to say. */
	for (deadline = mcp_now_ms() + FLUSH_MS;
	     wire_wants_write(&server.wire) && mcp_now_ms() < deadline;) {
		struct pollfd there = {out, POLLOUT, 0};

		(void)poll(&there, 1, TICK_MS);
		wire_write(&server.wire);
	}
	server_done(&server);
	return 0;
}
