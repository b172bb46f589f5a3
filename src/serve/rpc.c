/* SPDX-License-Identifier: Apache-2.0 */
/* Each run has a process of its own; this one reads requests, passes on what the runs tell, and
 * waits for whatever comes first. docs/protocol.md has every message. */
#include "rpc.h"
#include "../base/escape.h"
#include "../request/text_json.h"
#include "../record/session.h"
#include "jsonrpc.h"
#include "parent.h"
#include "runner.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TOO_MANY_RUNS = -32000,
	CANCELLED = -32001,
};

struct rpc;

struct call {
	struct rpc *rpc;
	json_t *id;
	struct runner *runner;
	bool cancelled;
};

struct rpc {
	struct wire wire;
	const struct rpc_options *options;
	struct call *calls[RPC_RUNS];
	size_t count;
	char *by; /* who answers */
};

static json_t *with_id(json_t *id)
{
	return json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id ? id : json_null());
}

static void send_error(struct rpc *rpc, json_t *id, int code, const char *message)
{
	json_t *object = with_id(id), *error = json_pack("{s:i}", "code", code);

	json_put_text(error, "message", message);
	json_put(object, "error", error);
	wire_send(&rpc->wire, object);
}

static void send_failure(struct rpc *rpc, json_t *id, const struct error *failure)
{
	int code = failure->code == E_ENGINE ? INTERNAL_ERROR : INVALID_PARAMS;
	json_t *object = with_id(id), *error = json_pack("{s:i}", "code", code);

	json_put_text(error, "message", failure->message);
	if (failure->hint) {
		json_t *data = json_object();

		json_put_text(data, "hint", failure->hint);
		json_put(error, "data", data);
	}
	json_put(object, "error", error);
	wire_send(&rpc->wire, object);
}

/* Takes result over. */
static void send_result(struct rpc *rpc, json_t *id, json_t *result)
{
	json_t *object = with_id(id);

	json_put(object, "result", result);
	wire_send(&rpc->wire, object);
}

/* Takes params over. */
static void notify(struct call *call, const char *method, json_t *params)
{
	json_put(params, "id", json_incref(call->id));
	wire_send(&call->rpc->wire, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method,
					      "params", params));
}

static void hear_output(void *data, int stream, const char *bytes, size_t length)
{
	json_t *params = json_pack("{s:s}", "stream", stream == 1 ? "stdout" : "stderr");

	wire_put_bytes(params, bytes, length);
	notify(data, "run.output", params);
}

static void hear_notice(void *data, const char *text)
{
	json_t *params = json_object();

	json_put_text(params, "text", text);
	notify(data, "run.notice", params);
}

/* A question is a request of ours; its id is the question's. */
static void hear_ask(void *data, json_t *ask)
{
	struct call *call = data;

	wire_send(&call->rpc->wire, json_pack("{s:s, s:O, s:s, s:{s:O, s:O}}", "jsonrpc", "2.0",
					      "id", json_object_get(ask, "id"), "method", "ask",
					      "params", "run", call->id, "ask", ask));
}

static void hear_withdrawn(void *data, const char *id)
{
	notify(data, "ask.withdrawn", json_pack("{s:s}", "ask", id));
}

/* The request as a run gets it: another program's word, for the directory that we were started in.
 */
static int make_request(json_t *params, struct request *request, struct error **ret_error)
{
	_cleanup_free_ char *text = params ? json_dumps(params, JSON_COMPACT) : NULL;
	char here[4096];
	int r;

	if (!text)
		return fail(ret_error, E_INPUT, "params must be a request object");
	r = request_from_json(text, strlen(text), request, ret_error);
	if (r == 0)
		r = session_check_claimed(request->session, getppid(), request->agent, ret_error);
	if (r < 0)
		return r;
	if (!getcwd(here, sizeof(here)))
		return fail_errno(ret_error, E_ENGINE, errno, "finding the directory");
	if (!request->workspace)
		request->workspace = strdup(here);
	if (!request->cwd)
		request->cwd = strdup(request->workspace);
	request->json = false; /* its output is streamed to us */
	request->no_pty = request->quiet = true;
	request->foreign = true;
	parent_identify(&request->caller); /* for each: it may have changed */
	request->bound = strdup(here);
	return 0;
}

static void serve_run(struct rpc *rpc, json_t *id, json_t *params)
{
	_cleanup_request_ struct request request;
	_cleanup_error_ struct error *error = NULL;
	struct call *call;
	struct runner_events events = {.asks = RUNNER_ASKS_TERMINAL};
	int r;

	if (rpc->count == RPC_RUNS) {
		send_error(rpc, id, TOO_MANY_RUNS, "as many runs go on as may at once");
		return;
	}
	call = calloc(1, sizeof(*call));
	if (!call)
		abort();
	if (rpc->options->events)
		events = (struct runner_events){RUNNER_ASKS_SERVER, hear_output, hear_notice,
						hear_ask, hear_withdrawn};
	events.data = call;
	*call = (struct call){.rpc = rpc, .id = json_incref(id)};
	request_init(&request);
	r = make_request(params, &request, &error);
	if (r == 0)
		r = runner_start(&request, &events, &call->runner, &error);
	if (r == 0) {
		rpc->calls[rpc->count++] = call;
		return;
	}
	send_failure(rpc, id, error);
	json_decref(call->id);
	free(call);
}

static void serve_cancel(struct rpc *rpc, json_t *id, json_t *params)
{
	bool found = false;

	for (size_t i = 0; i < rpc->count; i++)
		if (json_equal(rpc->calls[i]->id, json_object_get(params, "id"))) {
			runner_cancel(rpc->calls[i]->runner);
			rpc->calls[i]->cancelled = found = true;
		}
	if (id)
		send_result(rpc, id, json_pack("{s:b}", "cancelled", found));
}

/* Whoever cannot answer has said no. */
static json_t *answer_of(json_t *response)
{
	json_t *failure = json_object_get(response, "error"), *answer;
	const char *message = json_string_value(json_object_get(failure, "message"));

	if (!failure)
		return json_incref(json_object_get(response, "result"));
	answer = json_pack("{s:s}", "answer", "deny");
	if (message && strlen(message) <= 1000)
		json_put_text(answer, "reason", message);
	return answer;
}

/* What somebody says to a question of ours; what is none is said back, and the question stands. */
static void take_answer(struct rpc *rpc, json_t *response)
{
	const char *name = json_string_value(json_object_get(response, "id"));
	json_t *answer = answer_of(response);
	_cleanup_error_ struct error *error = NULL;
	struct runner *asks = NULL;

	for (size_t i = 0; i < rpc->count && name && !asks; i++)
		if (runner_asks(rpc->calls[i]->runner, name))
			asks = rpc->calls[i]->runner;
	if (!asks || runner_answer(asks, name, answer, rpc->by, &error) < 0)
		wire_send(&rpc->wire,
			  json_pack("{s:s, s:s, s:{s:O, s:s}}", "jsonrpc", "2.0", "method",
				    "ask.refused", "params", "ask", json_object_get(response, "id"),
				    "message", asks ? error->message : "no such question stands"));
	json_decref(answer);
}

static void serve_line(struct rpc *rpc, const char *line, size_t length)
{
	json_error_t at;
	json_t *request = json_loadb(line, length, JSON_REJECT_DUPLICATES, &at);
	json_t *id = json_object_get(request, "id"), *params = json_object_get(request, "params");
	const char *method = json_string_value(json_object_get(request, "method"));

	if (!request)
		send_error(rpc, NULL, PARSE_ERROR, at.text);
	else if (!method && id && rpc->options->events &&
		 (json_object_get(request, "result") || json_object_get(request, "error")))
		take_answer(rpc, request);
	else if (method && !id && strcmp(method, "cancel") == 0)
		serve_cancel(rpc, NULL, params);
	else if (!method || !id || json_is_object(id) || json_is_array(id))
		send_error(rpc, NULL, INVALID_REQUEST, "a request has a method and an id");
	else if (strcmp(method, "run") == 0)
		serve_run(rpc, id, params);
	else if (strcmp(method, "cancel") == 0)
		serve_cancel(rpc, id, params);
	else if (strcmp(method, "ping") == 0)
		send_result(rpc, id, json_pack("{s:s}", "version", WARD_VERSION));
	else
		send_error(rpc, id, NO_METHOD,
			   "there is no such method; there are run, cancel and ping");
	json_decref(request);
}

static void end_call(struct rpc *rpc, size_t number)
{
	struct call *call = rpc->calls[number];
	json_t *result = runner_result(call->runner);

	if (result)
		send_result(rpc, call->id, json_incref(result));
	else if (call->cancelled)
		send_error(rpc, call->id, CANCELLED, "the run was cancelled");
	else
		send_error(rpc, call->id, INTERNAL_ERROR, "the run ended without a result");
	runner_free(call->runner);
	json_decref(call->id);
	free(call);
	rpc->calls[number] = rpc->calls[--rpc->count];
}

/* Where nobody hears of events, requests wait for each other. With events there is always something
 * to hear: a run may wait for an answer. */
static bool takes_more(const struct rpc *rpc)
{
	return rpc->options->events || rpc->count == 0;
}

static void take_lines(struct rpc *rpc)
{
	const char *line;
	size_t length;
	enum wire_heard heard;

	while (takes_more(rpc) && (heard = wire_next(&rpc->wire, &line, &length)) != WIRE_NOTHING) {
		if (heard == WIRE_LINE)
			serve_line(rpc, line, length);
		else
			send_error(rpc, NULL, INVALID_REQUEST, "the line is too long");
	}
}

/* Waits for whatever comes first. As long as something waits to be read, nothing more is taken in,
 * neither from the caller nor from a run. */
static void serve_once(struct rpc *rpc)
{
	struct wire *wire = &rpc->wire;
	bool full = wire_wants_write(wire), reads = !wire->over && !full && takes_more(rpc);
	struct pollfd fds[RPC_RUNS + 2] = {{reads ? wire->in : -1, POLLIN, 0},
					   {full ? wire->out : -1, POLLOUT, 0}};
	size_t count = full ? 0 : rpc->count;

	for (size_t i = 0; i < count; i++)
		fds[2 + i] = (struct pollfd){runner_fd(rpc->calls[i]->runner), POLLIN, 0};
	if (poll(fds, count + 2, -1) < 0)
		return;
	wire_write(wire);
	for (size_t i = count; i-- > 0;)
		if (fds[2 + i].revents && !wire_wants_write(wire) &&
		    runner_serve(rpc->calls[i]->runner))
			end_call(rpc, i);
	if (fds[0].revents)
		wire_read(wire);
	take_lines(rpc);
}

/* "python3[4711]": whoever started us. */
static char *who_asks(void)
{
	_cleanup_free_ char *path = NULL;
	char name[32] = "", *by = NULL;
	FILE *file;

	if (asprintf(&path, "/proc/%d/comm", getppid()) < 0)
		abort();
	file = fopen(path, "re");
	if (file && fgets(name, sizeof(name), file))
		name[strcspn(name, "\n")] = '\0';
	if (file)
		fclose(file);
	if (asprintf(&by, "%s[%d]", *name ? name : "program", getppid()) < 0)
		abort();
	return by;
}

int rpc_serve(int in, int out, const struct rpc_options *options, struct error **ret_error)
{
	struct rpc rpc = {.wire = {.in = in, .out = out, .most = RPC_LINE},
			  .options = options,
			  .by = who_asks()};
	bool broken;

	signal(SIGPIPE, SIG_IGN);
	while (!rpc.wire.broken &&
	       (!rpc.wire.over || (rpc.count && !options->events) || wire_wants_write(&rpc.wire)))
		serve_once(&rpc);
	broken = rpc.wire.broken;
	while (rpc.count) { /* nobody is there for it */
		runner_free(rpc.calls[--rpc.count]->runner);
		json_decref(rpc.calls[rpc.count]->id);
		free(rpc.calls[rpc.count]);
	}
	free(rpc.by);
	wire_done(&rpc.wire);
	return broken ? fail(ret_error, E_ENGINE, "nobody reads the answers") : 0;
}
