/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a call: begun, asked about, told of, answered. In the old era the server asks while
 * the request stands; in the new one the request is answered with the question, the run waits, and
 * the client comes again with what its user said. */
#include "mcp_ask.h"
#include "mcp_server.h"
#include "check_json.h"
#include "../base/escape.h"
#include "../flow.h"
#include "../request/text_json.h"

#include <string.h>
#include <time.h>

enum {
	PARKED_SECONDS = 30 * 60,
	NOTICES_MOST = 64,
	TOLD_EVERY_MS = 100,
	FRESH_MOST = 16 << 10,
	BACKLOG_MOST = 4 << 20, /* bytes that the client has not read: nothing is added to them */
};

static void fail_call(struct mcp_server *server, struct mcp_batch *batch, json_t *id,
		      enum mcp_version version, const struct error *error)
{
	_cleanup_buffer_ struct buffer text = {0};

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

static void on_notice(void *data, const char *text)
{
	struct mcp_call *call = data;

	if (json_array_size(call->notices) < NOTICES_MOST)
		json_array_append_new(call->notices, json_text(text));
}

static void forget_ask(struct mcp_call *call)
{
	json_decref(call->ask);
	json_decref(call->form_id);
	call->ask = call->form_id = NULL;
}

/* Answers the question that stands: by what the client's user said, else with a no. */
static void settle(struct mcp_call *call, json_t *said)
{
	_cleanup_free_ char *by = NULL, *id = NULL;
	json_t *answer = mcp_ask_answer(call->ask, said);
	const char *client = call->server->client ? call->server->client : "?";

	if (asprintf(&by, "user of %s", client) < 0 ||
	    !(id = strdup(json_string_value(json_object_get(call->ask, "id")))))
		abort();
	if (runner_answer(call->runner, id, answer, by, NULL) < 0) {
		json_t *no = mcp_ask_answer(call->ask, NULL);

		/* Where this fails, too, the run has ended meanwhile. */
		(void)runner_answer(call->runner, id, no, by, NULL);
		json_decref(no);
	}
	json_decref(answer);
	forget_ask(call);
}

/* Old era: a request of ours, beside the one that waits. */
static void send_form(struct mcp_call *call, json_t *form)
{
	char id[32];

	snprintf(id, sizeof(id), "ward-%llu", (unsigned long long)++call->server->forms);
	call->form_id = json_string(id);
	wire_send(&call->server->wire, mcp_request(call->form_id, "elicitation/create", form));
}

/* The request that is being answered is so no longer. */
static void answer_call(struct mcp_call *call, json_t *result)
{
	struct mcp_batch *batch = call->batch;
	json_t *message = mcp_result(call->version, call->id, result);

	json_decref(call->id);
	call->id = NULL;
	call->batch = NULL;
	mcp_answer(call->server, batch, message);
}

/* New era: the request is over, the run waits. */
static void park(struct mcp_call *call)
{
	const char *key = json_string_value(json_object_get(call->ask, "id"));
	struct mcp_ticket ticket;
	json_t *form = mcp_ask_form(call->ask, call->version), *request;
	char *state;

	memset(&ticket, 0, sizeof(ticket));
	call->parked = mcp_now_ms() + PARKED_SECONDS * (int64_t)1000;
	ticket.call = call->number;
	ticket.round = ++call->round;
	ticket.expires = call->parked;
	memcpy(ticket.request, call->request, sizeof(ticket.request));
	state = mcp_ticket_seal(call->server->key, &ticket);
	request = json_pack("{s:s, s:o}", "method", "elicitation/create", "params", form);
	answer_call(call, json_pack("{s:s, s:{s:o}, s:s}", "resultType", "input_required",
				    "inputRequests", key, request, "requestState", state));
	free(state);
}

static void on_ask(void *data, json_t *ask)
{
	struct mcp_call *call = data;
	json_t *form = mcp_ask_form(ask, call->version);

	forget_ask(call);
	call->ask = json_incref(ask);
	call->since = time(NULL);
	if (!form || call->cancelled || (call->version == MCP_2026_07_28 && !call->id)) {
		if (!form)
			on_notice(call, "the question was too long to be put to the user: run it "
					"from a terminal");
		json_decref(form);
		settle(call, NULL);
	} else if (call->version == MCP_2026_07_28) {
		json_decref(form);
		park(call);
	} else {
		send_form(call, form);
	}
}

static void on_withdrawn(void *data, const char *id)
{
	struct mcp_call *call = data;

	if (!call->ask || strcmp(json_string_value(json_object_get(call->ask, "id")), id) != 0)
		return;
	if (call->form_id)
		wire_send(&call->server->wire,
			  mcp_notification("notifications/cancelled",
					   json_pack("{s:O, s:s}", "requestId", call->form_id,
						     "reason", "nobody waits for it any more")));
	forget_ask(call);
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
				       .notice = on_notice,
				       .ask = on_ask,
				       .withdrawn = on_withdrawn,
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

/* --- coming again --- */

static struct mcp_call *find_parked(struct mcp_server *server, const struct mcp_message *message,
				    const char **ret_fault)
{
	const char *state = json_string_value(json_object_get(message->params, "requestState"));
	unsigned char hash[crypto_generichash_BYTES];
	struct mcp_ticket ticket;

	mcp_ticket_hash(message->params, hash);
	*ret_fault = "requestState is not one that this server gave";
	if (!state || !mcp_ticket_open(server->key, state, &ticket))
		return NULL;
	*ret_fault = "requestState belongs to another request";
	if (sodium_memcmp(hash, ticket.request, sizeof(hash)) != 0)
		return NULL;
	*ret_fault = "requestState has expired, or was used: call without it to begin anew";
	for (size_t i = 0; i < ELEMENTS(server->calls); i++) {
		struct mcp_call *call = server->calls[i];

		if (call && call->number == ticket.call && call->round == ticket.round &&
		    call->parked && mcp_now_ms() <= ticket.expires)
			return call;
	}
	return NULL;
}

static void come_again(struct mcp_server *server, const struct mcp_message *message,
		       struct mcp_batch *batch)
{
	const char *fault;
	struct mcp_call *call = find_parked(server, message, &fault);
	json_t *responses = json_object_get(message->params, "inputResponses"), *said = NULL;

	if (!call) {
		mcp_answer(server, batch, mcp_error(message->id, MCP_INVALID_PARAMS, fault, NULL));
		return;
	}
	call->id = json_incref(message->id);
	call->batch = batch;
	call->parked = 0;
	if (call->outcome) { /* it went on without, and has ended */
		answer_call(call, call->outcome);
		call->outcome = NULL;
		return;
	}
	if (!call->ask)
		return;
	said = json_object_get(responses, json_string_value(json_object_get(call->ask, "id")));
	if (json_is_object(said))
		settle(call, said);
	else
		park(call); /* it is asked again */
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

static json_t *describe_ask(const struct mcp_call *call)
{
	json_t *object = json_object(), *grants = json_object_get(call->ask, "grants");
	time_t since = (time_t)call->since;
	char when[32];

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime(&since));
	json_object_set(object, "id", json_object_get(call->ask, "id"));
	json_put_count(object, "call", call->number);
	json_put_text(object, "tool", mcp_tool_name(call->tool));
	json_put_text(object, "command", call->what);
	json_object_set(object, "question", json_object_get(call->ask, "text"));
	if (grants)
		json_object_set(object, "grants", grants);
	json_put_text(object, "since", when);
	return object;
}

json_t *mcp_pending(const struct mcp_server *server)
{
	json_t *questions = json_array();

	for (size_t i = 0; i < ELEMENTS(server->calls); i++)
		if (server->calls[i] && server->calls[i]->ask)
			json_array_append_new(questions, describe_ask(server->calls[i]));
	return json_pack("{s:o}", "questions", questions);
}

void mcp_call_tool(struct mcp_server *server, const struct mcp_message *message,
		   enum mcp_version version, json_t *capabilities, struct mcp_batch *batch)
{
	const char *name = json_string_value(json_object_get(message->params, "name"));
	json_t *arguments = json_object_get(message->params, "arguments");
	enum mcp_tool tool = mcp_tool_from_name(name);

	if (tool == TOOL_NONE)
		mcp_answer(server, batch,
			   mcp_error(message->id, MCP_INVALID_PARAMS,
				     "there is no such tool: tools/list names them", NULL));
	else if (arguments && !json_is_object(arguments))
		mcp_answer(
			server, batch,
			mcp_error(message->id, MCP_INVALID_PARAMS, "arguments is an object", NULL));
	else if (version == MCP_2026_07_28 && json_object_get(message->params, "requestState"))
		come_again(server, message, batch);
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

void mcp_call_response(struct mcp_server *server, const struct mcp_message *message)
{
	for (size_t i = 0; i < ELEMENTS(server->calls); i++) {
		struct mcp_call *call = server->calls[i];

		if (call && call->form_id && json_equal(call->form_id, message->id)) {
			settle(call, message->result);
			return;
		}
	}
}

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

static void tell(struct mcp_call *call)
{
	size_t held = unfinished(&call->fresh), length = call->fresh.length - held;
	bool lossy;
	_cleanup_free_ char *text = escape_to_utf8(buffer_text(&call->fresh), length, &lossy);
	json_t *params = json_pack("{s:O, s:I}", "progressToken", call->token, "progress",
				   (json_int_t)call->moved);

	if (call->version >= MCP_2025_03_26) {
		_cleanup_buffer_ struct buffer message = {0};

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
	forget_ask(call);
	if (call->id)
		answer_call(call, outcome);
	else if (call->parked)
		call->outcome = outcome;
	else
		json_decref(outcome);
}

void mcp_call_free(struct mcp_call *call)
{
	runner_free(call->runner);
	forget_ask(call);
	json_decref(call->id);
	json_decref(call->outcome);
	json_decref(call->notices);
	json_decref(call->token);
	buffer_done(&call->fresh);
	free(call->what);
	free(call);
}
