/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of calls. In the old era the server asks while the request stands; in the new one the
 * request is answered with the question, the run waits, and the client comes again with what its
 * user said. */
#include "mcp_ask.h"
#include "mcp_server.h"
#include "../request/text_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PARKED_SECONDS = 30 * 60 };

void mcp_forget_ask(struct mcp_call *call)
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
	mcp_forget_ask(call);
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
void mcp_call_answer(struct mcp_call *call, json_t *result)
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
	mcp_call_answer(call, json_pack("{s:s, s:{s:o}, s:s}", "resultType", "input_required",
					"inputRequests", key, request, "requestState", state));
	free(state);
}

void mcp_on_ask(void *data, json_t *ask)
{
	struct mcp_call *call = data;
	json_t *form = mcp_ask_form(ask, call->version);

	mcp_forget_ask(call);
	call->ask = json_incref(ask);
	call->since = time(NULL);
	if (!form || call->cancelled || (call->version == MCP_2026_07_28 && !call->id)) {
		if (!form)
			mcp_on_notice(call,
				      "the question was too long to be put to the user: run it "
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

void mcp_on_withdrawn(void *data, const char *id)
{
	struct mcp_call *call = data;

	if (!call->ask || strcmp(json_string_value(json_object_get(call->ask, "id")), id) != 0)
		return;
	if (call->form_id)
		wire_send(&call->server->wire,
			  mcp_notification("notifications/cancelled",
					   json_pack("{s:O, s:s}", "requestId", call->form_id,
						     "reason", "nobody waits for it any more")));
	mcp_forget_ask(call);
}

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

void mcp_come_again(struct mcp_server *server, const struct mcp_message *message,
		    struct mcp_batch *batch)
{
	const char *fault;
	struct mcp_call *call = find_parked(server, message, &fault);
	json_t *responses = json_object_get(message->params, "inputResponses"), *said = NULL;

	if (!call) {
		mcp_answer(server, batch, mcp_error(message->id, INVALID_PARAMS, fault, NULL));
		return;
	}
	call->id = json_incref(message->id);
	call->batch = batch;
	call->parked = 0;
	if (call->outcome) { /* it went on without, and has ended */
		mcp_call_answer(call, call->outcome);
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

/* --- those that stand --- */

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
