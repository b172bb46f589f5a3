/* SPDX-License-Identifier: Apache-2.0 */
/* Questions over the sockets: agents learn whether theirs still stands, and nothing more; approvers
 * see and answer them. */
#include "../base/id.h"
#include "../escalate/queue.h"
#include "../request/text_json.h"
#include "daemon_parts.h"

#include <string.h>

/* An answer is to the one question that was seen, so a part of its id will not do. */
static json_t *find_entry(struct client *client, json_t *id, json_t *params)
{
	const char *ask = json_string_value(json_object_get(params, "ask"));
	const char *hash = json_string_value(json_object_get(params, "hash"));
	_cleanup_error_ struct error *error = NULL;
	json_t *entry = NULL;

	if (!ask || strlen(ask) != ID_TEXT - 1)
		client_error(client, id, INVALID_PARAMS, "params need ask, a whole id", NULL);
	else if (queue_get(client->daemon->state, ask, &entry, &error) < 0)
		client_failure(client, id, error);
	else if (hash &&
		 strcmp(hash, json_string_value(json_object_get(entry, "hash")) ?: "") != 0) {
		client_error(client, id, INVALID_PARAMS, "the question has changed since",
			     "look at it again");
		json_decref(entry);
		entry = NULL;
	}
	return entry;
}

/* What agents are told of a question: not what it says, and nothing an answer could be made with.
 */
void method_ask_status(struct client *client, json_t *id, json_t *params)
{
	static const char *const told[] = {"id", "run", "ticket", "since", "until"};
	json_t *entry = find_entry(client, id, params), *result;

	if (!entry)
		return;
	result = json_pack("{s:s}", "state", "pending");
	for (size_t i = 0; i < ELEMENTS(told); i++)
		if (json_object_get(entry, told[i]))
			json_object_set(result, told[i], json_object_get(entry, told[i]));
	json_decref(entry);
	client_result(client, id, result);
}

/* All but the number that ties the answer to the question. */
static json_t *without_nonce(json_t *entry)
{
	json_t *object = json_copy(entry);

	json_object_del(object, "nonce");
	return object;
}

void method_show(struct client *client, json_t *id, json_t *params)
{
	json_t *entry = find_entry(client, id, params);

	if (entry)
		client_result(client, id, without_nonce(entry));
	json_decref(entry);
}

/* A person was shown it, says the program that showed it: from now on silence counts, where it
 * counts at all. */
void method_seen(struct client *client, json_t *id, json_t *params)
{
	json_t *entry = find_entry(client, id, params);
	struct error *error = NULL;

	if (!entry)
		return;
	if (queue_note_seen(client->daemon->state, entry, client->by, &error) < 0)
		client_failure(client, id, error);
	else
		client_result(client, id, json_pack("{s:O}", "ask", json_object_get(entry, "id")));
	json_decref(entry);
}

static void add_entry(void *data, json_t *entry)
{
	json_t *object = without_nonce(entry);

	listing_add(data, object);
	json_decref(object);
}

static int work_pending(struct client *client, json_t *params, json_t **ret_result,
			struct error **ret_error)
{
	struct listing listing = listing_new(params);
	int r = queue_list(client->daemon->state, add_entry, &listing, ret_error);

	*ret_result = listing_end(&listing, "asks");
	return r;
}

void method_pending(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_pending, NULL);
}

/* What else stands in params is the answer's: scope, reason and so on, as docs/ask.schema.json has
 * it. Who says so is for us to say. */
static void give_answer(struct client *client, json_t *id, json_t *params, const char *kind)
{
	json_t *entry = find_entry(client, id, params), *answer;
	_cleanup_approver_id_ struct approver_id who = {0};
	_cleanup_error_ struct error *error = NULL;

	if (!entry)
		return;
	who = approver_of_uid(client->peer.uid, client->by);
	answer = json_copy(params);
	json_object_del(answer, "ask");
	json_object_del(answer, "hash");
	json_put_text(answer, "answer", kind);
	if (queue_answer(client->daemon->state, entry, answer, &who, &error) < 0) {
		client_failure(client, id, error);
	} else {
		json_t *result = json_pack("{s:O, s:s}", "ask", json_object_get(entry, "id"),
					   "answer", kind);
		json_t *progress = queue_progress(client->daemon->state, entry);

		if (progress) /* others must answer, too */
			json_object_set_new(result, "progress", progress);
		client_result(client, id, result);
	}
	json_decref(answer);
	json_decref(entry);
}

void method_approve(struct client *client, json_t *id, json_t *params)
{
	give_answer(client, id, params, "approve");
}

void method_deny(struct client *client, json_t *id, json_t *params)
{
	give_answer(client, id, params, "deny");
}

void method_abort(struct client *client, json_t *id, json_t *params)
{
	give_answer(client, id, params, "abort");
}

void method_defer(struct client *client, json_t *id, json_t *params)
{
	give_answer(client, id, params, "defer");
}

void method_reply(struct client *client, json_t *id, json_t *params)
{
	give_answer(client, id, params, "reply");
}
