/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that stand, and what becomes of their answers. */
#include "lib.h"

#include <stdlib.h>
#include <string.h>

struct question *question_add(ward *handle, ward_run *run, json_t *ask, bool starts)
{
	const char *id = json_string_value(json_object_get(ask, "id"));
	struct question *question = id ? calloc(1, sizeof(*question)) : NULL;

	if (!question || !(question->id = strdup(id))) {
		free(question);
		return NULL;
	}
	question->run = run;
	question->ask = json_incref(ask);
	question->starts = starts;
	if (handle->patience > 0)
		question->deadline = now_ns() + (uint64_t)(handle->patience * 1e9);
	question->next = handle->questions;
	handle->questions = question;
	return question;
}

struct question *question_of(ward *handle, const char *id)
{
	struct question *question = handle->questions;

	while (question && (!id || strcmp(question->id, id) != 0))
		question = question->next;
	return question;
}

void questions_drop(ward *handle, const ward_run *run, const char *id)
{
	struct question **at = &handle->questions, *gone;

	while ((gone = *at)) {
		if ((run && gone->run != run) || (id && strcmp(gone->id, id) != 0)) {
			at = &gone->next;
			continue;
		}
		*at = gone->next;
		json_decref(gone->ask);
		free(gone->id);
		free(gone);
	}
}

static void settle_start(ward *handle, ward_run *run, json_t *answer)
{
	const char *reason = json_string_value(json_object_get(answer, "reason"));
	char *message = NULL;

	if (strcmp(json_string_value(json_object_get(answer, "answer")), "approve") == 0) {
		run->state = RUN_QUEUED;
		begin_runs(handle);
		return;
	}
	if (reason && (message = malloc(strlen(reason) + 32)))
		stpcpy(stpcpy(message, "refused by policy: "), reason);
	tell_thread(handle, failure_message(run, "rejected",
					    message ? message : "refused by policy", NULL));
	free(message);
}

int question_settle(ward *handle, struct question *question, int word, const ward_answer *answer,
		    ward_error **ret_error)
{
	json_t *object = answer_object(word, answer);

	if (!object)
		return out_of_memory(ret_error);
	if (!answer_is_offered(question->ask, object)) {
		json_decref(object);
		return give_error(ret_error, "usage", "ward_ask_offers tells what is",
				  "that answer is not among the choices");
	}
	question->answered = true;
	if (question->starts)
		settle_start(handle, question->run, object);
	else
		tell_ward(handle, json_pack("{s:s, s:s, s:O}", "jsonrpc", "2.0", "id", question->id,
					    "result", object));
	json_decref(object);
	return 0;
}

int ward_reply(ward *handle, const char *ask_id, enum ward_word word, const ward_answer *answer,
	       ward_error **ret_error)
{
	struct question *question;
	int r;

	if (!handle_is_ours(handle, ret_error))
		return -1;
	if (!word_name((int)word))
		return give_error(ret_error, "usage", NULL,
				  "an answer is to approve, to deny or to abort");
	pthread_mutex_lock(&handle->lock);
	question = question_of(handle, ask_id);
	if (question && !question->answered)
		r = question_settle(handle, question, (int)word, answer, ret_error);
	else
		r = give_error(ret_error, "usage", NULL, "no question '%s' stands",
			       ask_id ? ask_id : "");
	pthread_mutex_unlock(&handle->lock);
	return r;
}
