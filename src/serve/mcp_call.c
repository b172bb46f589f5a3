/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call: begun, told of, answered; mcp_question.c has what is asked on the way. */
#include "mcp_server.h"
#include "check_json.h"
#include "../base/escape.h"
#include "../flow.h"
#include "../request/text_json.h"

#include <string.h>
#include <time.h>

enum {
	NOTICES_MOST = 64,
	TOLD_EVERY_MS = 100,
	FRESH_MOST = 16 << 10,
	BACKLOG_MOST = 4 << 20, /* bytes that the client has not read: nothing is added to them */
};

static void fail_call(struct mcp_server *server, struct mcp_batch *batch, json_t *id,
		      enum mcp_version version, const struct error *error)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (error->file)
		buffer_printf(&text, "%s:%d:%d: ", error->file, error->line, error->column);
	buffer_add_text(&text, error->message);
	if (error->hint)
		buffer_printf(&text, "\nhint: %s", error->hint);
	mcp_answer(
		server, batch,
		mcp_result(version, id, mcp_tool_result(version, NULL, buffer_text(&text), true)));
}

/* --- what a run says --- */

static void on_output(void *data, int stream, const char *bytes, size_t length)
{
	struct mcp_call *call = data;
	size_t room = FRESH_MOST - MIN((size_t)FRESH_MOST, call->fresh.length);

	(void)stream;
	call->moved += length;
	buffer_add(&call->fresh, bytes, MIN(length, room));
	call->left_out += length - MIN(length, room);
}

void mcp_on_notice(void *data, const char *text)
{
	struct mcp_call *call = data;

	if (json_array_size(call->notices) < NOTICES_MOST)
		json_array_append_new(call->notices, json_text(text));
}

/* --- beginning --- */

/* A place for one more; one that waits for a client who did not come again gives way. */
static struct mcp_call **find_place(struct mcp_server *server)
{
	struct mcp_call **oldest = NULL;

	for (size_t i = 0; i < ELEMENTS(server->calls); i++)
		if (!server->calls[i])
			return &server->calls[i];
	for (size_t i = 0; i < ELEMENTS(server->calls); i++)
		if (server->calls[i]->parked &&
		    (!oldest || server->calls[i]->parked < (*oldest)->parked))
			oldest = &server->calls[i];
	if (oldest) {
		mcp_call_free(*oldest);
		*oldest = NULL;
	}
	return oldest;
}

static struct mcp_call *new_call(struct mcp_server *server, enum mcp_tool tool,
				 enum mcp_version version, const struct request *request)
{
	struct mcp_call *call = calloc(1, sizeof(*call));

	if (!call)
		abort();
	call->server = server;
	call->number = ++server->numbers;
	call->tool = tool;
	call->version = version;
	call->what = request_command_text(request);
	call->notices = json_array();
	return call;
}

static int start(struct mcp_call *call, struct request *request, int input,
		 struct error **ret_error)
{
	struct runner_events events = {.asks = call->asks ? RUNNER_ASKS_SERVER : RUNNER_ASKS_NOBODY,
				       .output = call->token ? on_output : NULL,
				       .notice = mcp_on_notice,
				       .ask = mcp_on_ask,
				       .withdrawn = mcp_on_withdrawn,
				       .data = call};

	request->json = !call->token; /* what nobody is told of as it comes need not be sent */
	return runner_start_fed(request, input, &events, &call->runner, ret_error);
}

static void begin(struct mcp_server *server, const struct mcp_message *message, enum mcp_tool tool,
		  enum mcp_version version, json_t *capabilities, struct mcp_batch *batch)
{
	json_t *arguments = json_object_get(message->params, "arguments");
	json_t *token = json_object_get(message->meta, "progressToken");
	_cleanup_request_ struct request request;
	_cleanup_error_ struct error *error = NULL;
	_cleanup_close_ int input = -1;
	struct mcp_call **place, *call;

	request_init(&request);
	if (mcp_arguments(server->settings, tool, arguments, &request, &input, &error) < 0) {
		fail_call(server, batch, message->id, version, error);
		return;
	}
	place = find_place(server);
	if (!place) {
		fail(&error, E_ENGINE, "%d calls run already, and more are not taken",
		     MCP_CALLS_MOST);
		error_hint(&error, "wait until one of them has ended");
		fail_call(server, batch, message->id, version, error);
		return;
	}
	call = new_call(server, tool, version, &request);
	if (tool == TOOL_RUN && (json_is_string(token) || json_is_integer(token)))
		call->token = json_incref(token);
	call->asks = mcp_can_elicit(version, capabilities);
	mcp_ticket_hash(message->params, call->request);
	if (start(call, &request, input, &error) < 0) {
		fail_call(server, batch, message->id, version, error);
		mcp_call_free(call);
		return;
	}
	call->id = json_incref(message->id);
	call->batch = batch;
	*place = call;
}

/* --- the tools that run nothing --- */

static void keep_check(const struct plan *plan, const struct assessment *assessment,
		       const struct verdict *verdict, void *data)
{
	*(json_t **)data = check_to_json(plan, assessment, verdict);
}

static void check(struct mcp_server *server, const struct mcp_message *message,
		  enum mcp_version version, struct mcp_batch *batch)
{
	json_t *arguments = json_object_get(message->params, "arguments"), *found = NULL;
	_cleanup_request_ struct request request;
	_cleanup_error_ struct error *error = NULL;
	_cleanup_close_ int input = -1;

	request_init(&request);
	if (mcp_arguments(server->settings, TOOL_CHECK, arguments, &request, &input, &error) < 0 ||
	    flow_check(&request, keep_check, &found, &error) < 0) {
		fail_call(server, batch, message->id, version, error);
		return;
	}
	mcp_answer(server, batch,
		   mcp_result(version, message->id, mcp_tool_result(version, found, NULL, false)));
}

void mcp_call_tool(struct mcp_server *server, const struct mcp_message *message,
		   enum mcp_version version, json_t *capabilities, struct mcp_batch *batch)
{
	const char *name = json_string_value(json_object_get(message->params, "name"));
	json_t *arguments = json_object_get(message->params, "arguments");
	enum mcp_tool tool = mcp_tool_from_name(name);

	if (tool == TOOL_NONE)
		mcp_answer(server, batch,
			   mcp_error(message->id, INVALID_PARAMS,
				     "there is no such tool: tools/list names them", NULL));
	else if (arguments && !json_is_object(arguments))
		mcp_answer(server, batch,
			   mcp_error(message->id, INVALID_PARAMS, "arguments is an object", NULL));
	else if (version == MCP_2026_07_28 && json_object_get(message->params, "requestState"))
		mcp_come_again(server, message, batch);
	else if (tool == TOOL_CHECK)
		check(server, message, version, batch);
	else if (tool == TOOL_PENDING)
		mcp_answer(server, batch,
			   mcp_result(version, message->id,
				      mcp_tool_result(version, mcp_pending(server), NULL, false)));
	else
		begin(server, message, tool, version, capabilities, batch);
}

/* --- what comes from the client meanwhile --- */

void mcp_call_cancel(struct mcp_server *server, json_t *id)
{
	for (size_t i = 0; i < ELEMENTS(server->calls); i++) {
		struct mcp_call *call = server->calls[i];

		if (!call || !call->id || !json_equal(call->id, id))
			continue;
		/* Nobody wants its answer. */
		call->cancelled = true;
		json_decref(call->id);
		call->id = NULL;
		mcp_batch_less(server, STEAL(call->batch));
		runner_cancel(call->runner);
	}
}

/* --- telling --- */

/* The bytes at the end that only begin a character. */
static size_t unfinished(const struct buffer *text)
{
	for (size_t back = 1; back <= MIN(text->length, (size_t)3); back++) {
		unsigned char c = (unsigned char)text->data[text->length - back];

		if ((c & 0xc0) == 0xc0)
			return back < (c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2) ? back : 0;
		if (c < 0x80)
			return 0;
	}
	return 0;
}

/* A client may show it on a terminal as it is: what steers one is left out. The result has all. */
static void calm(char *text)
{
	char *to = text;

	for (const char *c = text; *c; c++) {
		bool more =
			c[0] == '\xc2' && (unsigned char)c[1] >= 0x80 && (unsigned char)c[1] < 0xa0;

		if (more)
			c++;
		else if (((unsigned char)*c >= ' ' && *c != 0x7f) || *c == '\n' || *c == '\t')
			*to++ = *c;
	}
	*to = '\0';
}

static void tell(struct mcp_call *call)
{
	size_t held = unfinished(&call->fresh), length = call->fresh.length - held;
	bool lossy;
	_cleanup_free_ char *text = escape_to_utf8(buffer_text(&call->fresh), length, &lossy);
	json_t *params = json_pack("{s:O, s:I}", "progressToken", call->token, "progress",
				   (json_int_t)call->moved);

	if (call->version >= MCP_2025_03_26) {
		_cleanup_buffer_ struct buffer message = {0};

		calm(text);
		buffer_add_text(&message, text);
		if (call->left_out)
			buffer_printf(&message, "\n[%llu bytes left out]\n",
				      (unsigned long long)call->left_out);
		json_object_set_new(params, "message", json_string(buffer_text(&message)));
	}
	wire_send(&call->server->wire, mcp_notification("notifications/progress", params));
	memmove(call->fresh.data, call->fresh.data + length, held);
	call->fresh.length = held;
	call->left_out = 0;
	call->told_ms = mcp_now_ms();
}

void mcp_call_tick(struct mcp_call *call)
{
	if (call->token && call->id && call->fresh.length > unfinished(&call->fresh) &&
	    mcp_now_ms() - call->told_ms >= TOLD_EVERY_MS &&
	    call->server->wire.waiting.length < BACKLOG_MOST)
		tell(call);
}

void mcp_call_serve(struct mcp_call *call)
{
	json_t *outcome;

	if (!call->runner || !runner_serve(call->runner))
		return;
	if (call->token && call->id && call->fresh.length)
		tell(call);
	outcome = mcp_outcome(call, runner_result(call->runner));
	runner_free(call->runner);
	call->runner = NULL;
	mcp_forget_ask(call);
	if (call->id)
		mcp_call_answer(call, outcome);
	else if (call->parked)
		call->outcome = outcome;
	else
		json_decref(outcome);
}

void mcp_call_free(struct mcp_call *call)
{
	runner_free(call->runner);
	mcp_forget_ask(call);
	json_decref(call->id);
	json_decref(call->outcome);
	json_decref(call->notices);
	json_decref(call->token);
	buffer_done(&call->fresh);
	free(call->what);
	free(call);
}
