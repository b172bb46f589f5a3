/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: what waits, all of one, and what is said to it. */
#include "../base/units.h"
#include "../escalate/ask_json.h"
#include "../escalate/queue.h"
#include "../request/text_json.h"
#include "../serve/ticket.h"
#include "web_parts.h"

#include <string.h>

/* As it lies there, without what is the queue's own. Answers need its number. */
static json_t *shown(json_t *entry)
{
	json_t *object = json_copy(entry);

	json_object_del(object, "lasts");
	return object;
}

static void add_entry(void *data, json_t *entry)
{
	if (json_array_append_new(data, shown(entry)) < 0)
		abort();
}

void api_asks(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	json_t *asks = json_array();

	if (queue_list(call->web->state, add_entry, asks, &error) < 0) {
		json_decref(asks);
		reply_failure(reply, 500, error);
		return;
	}
	reply_json(reply, 200, json_pack("{s:o}", "asks", asks));
}

/* Who was faster, and what he said. */
static void add_fate(struct web_call *call, struct web_reply *reply)
{
	struct known_ask *ask = known_find(&call->web->known, call->id);

	if (!ask)
		return;
	json_put(reply->body, "answered", ask->answered ? json_incref(ask->answered) : json_null());
	json_put(reply->body, "state", json_string(ask_state_names[ask->state]));
}

/* The question, or NULL where the reply says what became of it. Caller frees. */
static json_t *find_entry(struct web_call *call, unsigned gone, struct web_reply *reply)
{
	json_t *entry = NULL;

	if (queue_get(call->web->state, call->id, &entry, NULL) == 0)
		return entry;
	/* What has just happened counts. */
	feed_look(call->web);
	if (known_find(&call->web->known, call->id))
		reply_error(reply, gone, NULL,
			    "this question does not wait for an answer any more");
	else
		reply_error(reply, 404, NULL, "there is no such question");
	add_fate(call, reply);
	return NULL;
}

/* Who answers is for the session to say: what the page says of it counts for nothing. */
static struct approver_id approver_of(const struct web_call *call)
{
	return approver_of_web(call->session->name);
}

void api_ask(struct web_call *call, struct web_reply *reply)
{
	json_t *entry = find_entry(call, 410, reply);
	_cleanup_approver_id_ struct approver_id who = {0};

	if (!entry)
		return;
	who = approver_of(call);
	/* Somebody looks at it: from now on silence counts, where it counts at all. */
	(void)queue_note_seen(call->web->state, entry, who.by, NULL);
	reply_json(reply, 200, shown(entry));
	json_put(reply->body, "may_approve",
		 json_boolean(queue_may_approve(call->web->state, entry, &who)));
	json_decref(entry);
}

/* True if the answer was made with this very question in view. */
static bool is_bound(json_t *entry, json_t *answer)
{
	static const char *const ties[] = {"nonce", "hash"};
	bool bound = true;

	for (size_t i = 0; i < ELEMENTS(ties); i++) {
		bound &= secret_equal(json_string_value(json_object_get(entry, ties[i])),
				      json_string_value(json_object_get(answer, ties[i])));
		json_object_del(answer, ties[i]);
	}
	return bound;
}

static json_t *answered_json(json_t *answer, const struct approver_id *who)
{
	json_t *answered = json_object(), *scope = json_object_get(answer, "scope");
	json_t *reason = json_object_get(answer, "reason");
	char now[TIME_TEXT];

	time_text(now);
	json_put(answered, "by", json_text(who->by));
	json_put(answered, "answer", json_incref(json_object_get(answer, "answer")));
	json_put(answered, "scope", scope ? json_incref(scope) : json_string("once"));
	json_put(answered, "reason", reason ? json_incref(reason) : json_null());
	json_put(answered, "time", json_string(now));
	return answered;
}

/* What was said is known here before the log has it. */
static void note_answered(struct web_call *call, json_t *entry, json_t *answer, json_t *answered)
{
	struct known_ask *ask = known_find(&call->web->known, call->id);

	if (json_object_get(entry, "ticket")) /* one that nobody keeps goes on, too */
		ticket_adopt(call->web->state, call->web->program);
	if (strcmp(json_string_value(json_object_get(answer, "answer")), "defer") == 0)
		return; /* it stands, or stands again */
	if (!ask)
		ask = known_add(&call->web->known, call->id,
				json_string_value(json_object_get(entry, "run")));
	known_answer(ask, json_incref(answered));
	hub_tell(&call->web->hub, "asks",
		 json_pack("{s:s, s:s}", "id", call->id, "state", "answered"));
}

/* It was refused. What still stands was not answered by somebody else: then it was not for him to
 * say, or not in that way. */
static void refuse_answer(struct web_call *call, const struct approver_id *who, int r,
			  const struct error *error, struct web_reply *reply)
{
	const struct known_ask *ask;
	json_t *entry = NULL;
	unsigned status = 409;

	feed_look(call->web);
	ask = known_find(&call->web->known, call->id);
	if (r != -E_INPUT)
		status = 500;
	else if (ask && ask->state == ASK_OPEN &&
		 queue_get(call->web->state, call->id, &entry, NULL) == 0)
		status = queue_may_approve(call->web->state, entry, who) ? 400 : 403;
	json_decref(entry);
	reply_failure(reply, status, error);
	add_fate(call, reply);
}

/* A yes that others must say, too, leaves the question open. */
static bool is_waiting(json_t *progress)
{
	const char *state = json_string_value(json_object_get(progress, "state"));

	return state && strcmp(state, "open") == 0;
}

static void tell_answer(struct web_call *call, json_t *entry, json_t *answer,
			const struct approver_id *who, struct web_reply *reply)
{
	json_t *answered = answered_json(answer, who);
	json_t *progress = queue_progress(call->web->state, entry);
	json_t *body = json_pack("{s:o}", "answered", answered);

	if (is_waiting(progress)) {
		json_put(body, "waiting",
			 json_pack("{s:O, s:O}", "have", json_object_get(progress, "have"), "need",
				   json_object_get(progress, "need")));
		json_put(body, "progress", json_incref(progress));
		feed_look(call->web); /* whoever else looks at it is told */
	} else {
		note_answered(call, entry, answer, answered);
	}
	json_decref(progress);
	reply_json(reply, 200, body);
}

static void give_answer(struct web_call *call, json_t *entry, json_t *answer,
			struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_answer_ struct answer checked = {0};
	_cleanup_approver_id_ struct approver_id who = approver_of(call);
	int r;

	if (!is_bound(entry, answer)) {
		reply_error(reply, 409, "look at it again",
			    "this is not an answer to the question as it stands now");
		add_fate(call, reply);
		return;
	}
	json_object_del(answer, "by");
	if (answer_from_json(answer, json_object_get(entry, "ask"), &checked, &error) < 0) {
		reply_failure(reply, 400, error);
		return;
	}
	r = queue_answer(call->web->state, entry, answer, &who, &error);
	if (r < 0)
		refuse_answer(call, &who, r, error, reply);
	else
		tell_answer(call, entry, answer, &who, reply);
}

void api_answer(struct web_call *call, struct web_reply *reply)
{
	json_t *answer = api_body(call, reply);
	json_t *entry = answer ? find_entry(call, 409, reply) : NULL;

	if (entry)
		give_answer(call, entry, answer, reply);
	json_decref(entry);
	json_decref(answer);
}
