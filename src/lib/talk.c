/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of a handle: what is said to ward and heard from it. */
#include "lib.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 64 << 10, CANCELLED = -32001 };

void wake_thread(ward *handle)
{
	uint64_t one = 1;

	(void)!write(handle->wake, &one, sizeof(one));
}

void tell_ward(ward *handle, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);
	bool done = text && bytes_add(&handle->out, text, strlen(text)) &&
		    bytes_add(&handle->out, "\n", 1);

	if (!done) /* half a line, or an answer that never comes, would be worse */
		handle->over = true;
	free(text);
	json_decref(message);
	wake_thread(handle);
}

void tell_thread(ward *handle, json_t *message)
{
	if (json_array_append_new(handle->local, message) < 0)
		handle->over = true;
	wake_thread(handle);
}

/* The run, with the host's functions about to be at work for it; NULL: nobody hears of it. */
static ward_run *enter(ward *handle, json_t *id)
{
	ward_run *run;

	pthread_mutex_lock(&handle->lock);
	run = handle->runs;
	while (run && (!json_is_integer(id) || run->id != json_integer_value(id)))
		run = run->next;
	if (run && (run->forgotten || handle->closing))
		run = NULL;
	if (run) {
		run->references++;
		handle->calling = run;
	}
	pthread_mutex_unlock(&handle->lock);
	return run;
}

static void leave(ward *handle, ward_run *run)
{
	pthread_mutex_lock(&handle->lock);
	handle->calling = NULL;
	run_release(run);
	pthread_cond_broadcast(&handle->changed);
	pthread_mutex_unlock(&handle->lock);
}

static int digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* In place of the text itself; the number of bytes. */
static size_t from_base64(char *text)
{
	size_t count = 0;
	unsigned held = 0, bits = 0;

	for (const char *at = text; digit(*at) >= 0; at++) {
		held = held << 6 | (unsigned)digit(*at);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			text[count++] = (char)(held >> bits);
		}
	}
	return count;
}

static void hear_output(ward *handle, ward_run *run, json_t *params)
{
	const char *stream = json_string_value(json_object_get(params, "stream"));
	json_t *text = json_object_get(params, "data");
	const char *encoded = json_string_value(json_object_get(params, "base64"));
	int number = stream && strcmp(stream, "stderr") == 0 ? 2 : 1;
	char *bytes;

	if (!handle->output)
		return;
	if (text)
		handle->output(run, number, json_string_value(text), json_string_length(text),
			       run->data);
	else if (encoded && (bytes = strdup(encoded))) {
		handle->output(run, number, bytes, from_base64(bytes), run->data);
		free(bytes);
	}
}

static void hear_notice(ward *handle, ward_run *run, json_t *params)
{
	const char *text = json_string_value(json_object_get(params, "text"));

	if (handle->notice && text)
		handle->notice(run, text, run->data);
}

static void hear_withdrawn(ward *handle, ward_run *run, json_t *params)
{
	const char *id = json_string_value(json_object_get(params, "ask"));
	bool stood;

	if (!id)
		return;
	pthread_mutex_lock(&handle->lock);
	stood = question_of(handle, id) && !question_of(handle, id)->answered;
	questions_drop(handle, run, id);
	pthread_mutex_unlock(&handle->lock);
	if (stood && handle->withdrawn)
		handle->withdrawn(run, id, run->data);
}

static int decide(ward *handle, ward_run *run, const ward_ask *ask, ward_answer *answer)
{
	ward_policy *policy;
	int word = WARD_PASS;

	pthread_mutex_lock(&handle->lock);
	policy = policy_share(handle->policy);
	pthread_mutex_unlock(&handle->lock);
	if (policy)
		word = policy_decide(policy, ask, answer);
	ward_policy_free(policy);
	if (word == WARD_PASS && handle->ask) {
		(void)json_object_clear(answer->object);
		word = handle->ask(run, ask, answer, run->data);
	}
	if (word == WARD_PASS)
		(void)ward_answer_set(answer, "reason", "nobody answers questions here", NULL);
	return word == WARD_LATER || word_name(word) ? word : WARD_DENY;
}

/* What is no answer, or cannot be kept, is a no. */
static void hear_ask(ward *handle, ward_run *run, json_t *params)
{
	json_t *object = json_object_get(params, "ask");
	const char *id = json_string_value(json_object_get(object, "id"));
	ward_answer *answer = ward_answer_new();
	struct question *question;
	struct ward_ask ask = {0};
	int word = WARD_DENY;

	pthread_mutex_lock(&handle->lock);
	if (!question_add(handle, run, object, false))
		handle->over = true;
	pthread_mutex_unlock(&handle->lock);
	if (answer && ask_begin(&ask, object))
		word = decide(handle, run, &ask, answer);
	pthread_mutex_lock(&handle->lock);
	question = question_of(handle, id);
	if (question && !question->answered && word != WARD_LATER &&
	    question_settle(handle, question, word, answer, NULL) < 0 &&
	    question_settle(handle, question, WARD_DENY, NULL, NULL) < 0)
		handle->over = true;
	pthread_mutex_unlock(&handle->lock);
	ask_done(&ask);
	ward_answer_free(answer);
}

/* An answer of ours that ward does not take; the question stands there. */
static void hear_refused(ward *handle, json_t *params)
{
	const char *id = json_string_value(json_object_get(params, "ask"));
	const char *message = json_string_value(json_object_get(params, "message"));
	ward_answer *answer = ward_answer_new();
	struct question *question;

	pthread_mutex_lock(&handle->lock);
	question = question_of(handle, id);
	if (question && answer && message) {
		(void)ward_answer_set(answer, "reason", message, NULL);
		tell_thread(handle, json_pack("{s:s, s:{s:I, s:s}}", "method", "run.notice",
					      "params", "id", question->run->id, "text", message));
		(void)question_settle(handle, question, WARD_DENY, answer, NULL);
		questions_drop(handle, question->run, id); /* once is enough */
	}
	pthread_mutex_unlock(&handle->lock);
	ward_answer_free(answer);
}

static void take_out(ward *handle, ward_run *run)
{
	ward_run **at = &handle->runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	handle->begun -= run->state == RUN_BEGUN;
	questions_drop(handle, run, NULL);
}

static ward_error *error_of(json_t *result)
{
	static const char *const kinds[] = {"rejected", "sandbox_denied", "timeout"};
	json_t *object = json_object_get(result, "error");
	const char *kind = json_string_value(json_object_get(object, "kind"));
	const char *message = json_string_value(json_object_get(object, "message"));
	const char *known = "engine";
	ward_error *error = NULL;

	if (!json_is_object(object))
		return NULL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && kind; i++)
		if (strcmp(kinds[i], kind) == 0)
			known = kinds[i];
	give_error(&error, known, json_string_value(json_object_get(object, "hint")), "%s",
		   message ? message : "");
	return error;
}

/* Takes result over. */
static void end_run(ward *handle, json_int_t id, json_t *result)
{
	ward_run *run;
	bool hears;

	pthread_mutex_lock(&handle->lock);
	for (run = handle->runs; run && run->id != id; run = run->next)
		;
	if (!run) {
		pthread_mutex_unlock(&handle->lock);
		json_decref(result);
		return;
	}
	take_out(handle, run);
	run->result = result;
	run->text = json_dumps(result, JSON_COMPACT);
	run->error = error_of(result);
	run->state = RUN_ENDED;
	hears = handle->ended && !run->forgotten;
	if (hears)
		handle->calling = run;
	begin_runs(handle);
	pthread_cond_broadcast(&handle->changed);
	pthread_mutex_unlock(&handle->lock);
	if (hears)
		handle->ended(run, run->data);
	leave(handle, run); /* with the handle's own share of it */
}

/* Nobody else shares it then: jansson's counts are not made for two threads. */
static json_t *take_result(json_t *message)
{
	json_t *result = json_incref(json_object_get(message, "result"));

	(void)json_object_del(message, "result");
	return result;
}

static void hear_reply(ward *handle, json_t *message)
{
	json_t *result = json_object_get(message, "result");
	json_t *error = json_object_get(message, "error");
	json_int_t id = json_integer_value(json_object_get(message, "id"));
	const char *version = json_string_value(json_object_get(result, "version"));
	const char *said = json_string_value(json_object_get(error, "message"));
	const char *hint =
		json_string_value(json_object_get(json_object_get(error, "data"), "hint"));
	bool cancelled = json_integer_value(json_object_get(error, "code")) == CANCELLED;

	if (id == 0) {
		pthread_mutex_lock(&handle->lock);
		if (!handle->version && !(handle->version = strdup(version ? version : "none")))
			handle->over = true;
		pthread_cond_broadcast(&handle->changed);
		pthread_mutex_unlock(&handle->lock);
		return;
	}
	if (json_is_object(result)) {
		end_run(handle, id, take_result(message));
		return;
	}
	message = failure_message(&(ward_run){.id = id}, cancelled ? "rejected" : "engine",
				  said ? said : "ward answered without a result", hint);
	end_run(handle, id, take_result(message));
	json_decref(message);
}

/* False where it is nothing that ward says. */
static bool hear(ward *handle, json_t *message)
{
	static const struct {
		const char *method, *run;
		void (*hear)(ward *handle, ward_run *run, json_t *params);
	} events[] = {
		{"run.output", "id", hear_output},
		{"run.notice", "id", hear_notice},
		{"ask.withdrawn", "id", hear_withdrawn},
		{"ask", "run", hear_ask},
	};
	const char *method = json_string_value(json_object_get(message, "method"));
	json_t *params = json_object_get(message, "params");
	ward_run *run;

	if (!method && json_is_integer(json_object_get(message, "id"))) {
		hear_reply(handle, message);
		return true;
	}
	for (size_t i = 0; i < sizeof(events) / sizeof(*events) && method; i++) {
		if (strcmp(events[i].method, method) != 0)
			continue;
		if ((run = enter(handle, json_object_get(params, events[i].run)))) {
			events[i].hear(handle, run, params);
			leave(handle, run);
		}
		return true;
	}
	if (method && strcmp(method, "ask.refused") == 0)
		hear_refused(handle, params);
	/* Others may be told by a later version; what it asks must be known. */
	return method && !json_object_get(message, "id");
}

static void hear_local(ward *handle)
{
	json_t *messages, *message;
	size_t i;

	pthread_mutex_lock(&handle->lock);
	messages = handle->local;
	handle->local = json_array();
	pthread_mutex_unlock(&handle->lock);
	json_array_foreach (messages, i, message)
		(void)hear(handle, message);
	json_decref(messages);
}

/* False where a line is nothing that ward says. */
static bool hear_lines(ward *handle)
{
	struct bytes *heard = &handle->heard;
	size_t taken = 0;
	bool good = true;
	char *end;

	while (good && taken < heard->length &&
	       (end = memchr(heard->data + taken, '\n', heard->length - taken))) {
		size_t length = (size_t)(end - heard->data) - taken;
		json_t *message = json_loadb(heard->data + taken, length, JSON_ALLOW_NUL, NULL);

		good = json_is_object(message) && hear(handle, message);
		json_decref(message);
		taken += length + 1;
	}
	if (taken)
		bytes_drop(heard, taken);
	return good && heard->length <= LINE_MOST;
}

/* False where there is nobody any more. */
static bool read_some(ward *handle)
{
	char data[PIECE];
	ssize_t got = recv(handle->socket, data, sizeof(data), MSG_DONTWAIT);
	bool ends_line;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0 || !bytes_add(&handle->heard, data, (size_t)got))
		return false;
	ends_line = memchr(data, '\n', (size_t)got) != NULL;
	return ends_line ? hear_lines(handle) : handle->heard.length <= LINE_MOST;
}

/* Where nobody is there any more, what it said last is still to be read. */
static void write_some(ward *handle)
{
	ssize_t put = 0;

	if (handle->out.length)
		put = send(handle->socket, handle->out.data, handle->out.length,
			   MSG_DONTWAIT | MSG_NOSIGNAL);
	if (put > 0)
		bytes_drop(&handle->out, (size_t)put);
	if (put < 0 && errno != EAGAIN && errno != EINTR)
		bytes_done(&handle->out);
}

/* Milliseconds until the next question is too old, having answered those that are; -1: none. */
static int mind_deadlines(ward *handle)
{
	ward_answer *late = ward_answer_new();
	uint64_t now = now_ns(), next = UINT64_MAX;

	(void)ward_answer_set(late, "reason", "nobody answered in time", NULL);
	for (struct question *at = handle->questions, *then; at; at = then) {
		then = at->next;
		if (at->answered || !at->deadline)
			continue;
		if (at->deadline > now)
			next = at->deadline < next ? at->deadline : next;
		else if (question_settle(handle, at, WARD_DENY, late, NULL) < 0)
			handle->over = true;
	}
	ward_answer_free(late);
	return next == UINT64_MAX ? -1 : (int)((next - now) / 1000000 + 1);
}

/* False at the end. */
static bool turn(ward *handle)
{
	struct pollfd fds[] = {{handle->socket, POLLIN, 0}, {handle->wake, POLLIN, 0}};
	uint64_t count;
	bool goes_on;
	int wait;

	pthread_mutex_lock(&handle->lock);
	wait = mind_deadlines(handle);
	write_some(handle);
	goes_on = !handle->closing && !handle->over;
	if (handle->out.length)
		fds[0].events |= POLLOUT;
	if (json_array_size(handle->local))
		wait = 0;
	pthread_mutex_unlock(&handle->lock);
	if (!goes_on)
		return false;
	if (poll(fds, 2, wait) < 0)
		return errno == EINTR;
	if (fds[1].revents)
		(void)!read(handle->wake, &count, sizeof(count));
	hear_local(handle);
	return !(fds[0].revents & (POLLIN | POLLHUP | POLLERR)) || read_some(handle);
}

/* Whoever still waits is told. */
static void end_all(ward *handle)
{
	bool closing;
	json_int_t id = 0;

	pthread_mutex_lock(&handle->lock);
	handle->over = true;
	closing = handle->closing;
	handle->faulty = !closing;
	pthread_cond_broadcast(&handle->changed);
	pthread_mutex_unlock(&handle->lock);
	hear_local(handle);
	do {
		json_t *message;

		pthread_mutex_lock(&handle->lock);
		id = handle->runs ? handle->runs->id : 0;
		pthread_mutex_unlock(&handle->lock);
		message =
			failure_message(&(ward_run){.id = id}, "engine",
					closing ? "the handle was closed" : "ward has ended", NULL);
		if (id)
			end_run(handle, id, take_result(message));
		json_decref(message);
	} while (id);
}

void *talk(void *data)
{
	ward *handle = data;
	bool closed_inside;

	while (turn(handle))
		;
	end_all(handle);
	pthread_mutex_lock(&handle->lock);
	closed_inside = handle->closed_inside;
	pthread_mutex_unlock(&handle->lock);
	if (closed_inside)
		handle_end(handle);
	return NULL;
}
