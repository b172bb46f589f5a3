/* SPDX-License-Identifier: Apache-2.0 */
/* A question with a route, at the terminal of whoever runs the command: if it is his to answer, he
 * is asked; else he reads who can, and it waits. */
#include "ask_json.h"
#include "queue_parts.h"
#include "route.h"

#include <string.h>

/* The dialogue ends when its answer would count for nothing. */
struct prompt {
	const struct meanwhile *inner; /* may be NULL */
	int directory;
	json_t *entry;
	const char *way;
};

static bool may_answer(const struct prompt *prompt, struct turn *turn)
{
	votes_turn(prompt->directory, prompt->entry, turn);
	return route_voter(asks_route(prompt->entry), turn, prompt->way, NULL);
}

static void serve(void *data)
{
	const struct prompt *prompt = data;

	prompt->inner->serve(prompt->inner->data);
}

static bool is_obsolete(void *data)
{
	const struct prompt *prompt = data;
	_cleanup_turn_ struct turn turn = {0};

	return (prompt->inner && prompt->inner->obsolete(prompt->inner->data)) ||
	       asks_has_answer(prompt->directory, prompt->entry) || !may_answer(prompt, &turn);
}

static void tell_once(struct queue *queue, const struct turn *turn, json_t *entry)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, "this waits for others; Ctrl-C ends it: ");
	turn_describe(asks_route(entry), turn, &text);
	if (queue->told && strcmp(queue->told, buffer_text(&text)) == 0)
		return;
	free(queue->told);
	queue->told = buffer_steal(&text);
	terminal_approver.tell(NULL, queue->told);
}

bool routed_prompt(struct queue *queue, const struct ask *ask, int directory, json_t *entry,
		   struct answer *ret_answer)
{
	_cleanup_approver_id_ struct approver_id who = approver_here();
	struct prompt prompt = {ask->meanwhile, directory, entry, who.way};
	const struct meanwhile meanwhile = {ask->meanwhile ? ask->meanwhile->fd : -1, serve,
					    is_obsolete, &prompt};
	_cleanup_buffer_ struct buffer said = {0};
	_cleanup_answer_ struct answer answer = {0};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_turn_ struct turn turn = {0};
	struct ask here = *ask;
	json_t *object;

	if (!terminal_is_attended())
		return false;
	if (!may_answer(&prompt, &turn)) {
		tell_once(queue, &turn, entry);
		return false;
	}
	turn_describe(asks_route(entry), &turn, &said);
	here.meanwhile = &meanwhile;
	here.said = buffer_text(&said);
	here.wants_reason = route_wants_reason(asks_route(entry), turn.step);
	if (ask_terminal(&here, &answer, NULL) < 0 || answer.kind == ANSWER_NOBODY)
		return false;
	if (answer.unsaid) { /* the terminal went away, or the one at it */
		*ret_answer = answer;
		answer = (struct answer){0};
		return true;
	}
	object = answer_to_json(&answer);
	if (queue_answer(queue->state, entry, object, &who, &error) < 0)
		terminal_approver.tell(NULL, error->message);
	json_decref(object);
	return false;
}
