/* SPDX-License-Identifier: Apache-2.0 */
/* Runs, from their start to their result. */
#include "lib.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void run_release(ward_run *run)
{
	if (--run->references > 0)
		return;
	json_decref(run->request);
	json_decref(run->result);
	free(run->text);
	ward_error_free(run->error);
	free(run);
}

void begin_runs(ward *handle)
{
	for (ward_run *run = handle->runs; run && handle->begun < RUNS_AT_ONCE; run = run->next) {
		if (run->state != RUN_QUEUED || run->cancelled)
			continue;
		run->state = RUN_BEGUN;
		handle->begun++;
		tell_ward(handle, json_pack("{s:s, s:I, s:s, s:O}", "jsonrpc", "2.0", "id", run->id,
					    "method", "run", "params", run->request));
	}
}

/* A result that says that there is none. */
static json_t *failure_result(const char *kind, const char *message, const char *hint)
{
	json_t *error = json_pack("{s:s, s:s, s:s?, s:n, s:i, s:i}", "kind", kind, "message",
				  message, "hint", hint, "file", "line", 0, "column", 0);
	json_t *resources = json_pack("{s:i, s:i, s:i, s:i, s:i}", "cpu_ms", 0, "max_rss_kb", 0,
				      "io_read_kb", 0, "io_write_kb", 0, "processes", 0);

	return json_pack("{s:n, s:s, s:s, s:i, s:n, s:b, s:n, s:i, s:s, s:s, s:s, s:b, s:[], s:[], "
			 "s:o, s:[], s:n, s:o}",
			 "run", "verdict", "deny", "source", "default", "exit_code", -1, "signal",
			 "timed_out", 0, "limit", "duration_ms", 0, "stdout", "", "stderr", message,
			 "aggregated_output", message, "truncated", 0, "decisions", "attempts",
			 "resources", resources, "sandbox_warnings", "ticket", "error", error);
}

json_t *failure_message(const ward_run *run, const char *kind, const char *message,
			const char *hint)
{
	return json_pack("{s:I, s:o}", "id", run->id, "result",
			 failure_result(kind, message, hint));
}

/* The question whether it may start, for a policy. */
static json_t *start_question(const ward_run *run)
{
	static const char *const same[] = {"command", "cwd",	 "agent", "session",
					   "tool",    "call_id", "turn",  "reason"};
	char *shown = json_dumps(json_object_get(run->request, "argv"), JSON_ENCODE_ANY);
	const char *command = json_string_value(json_object_get(run->request, "command"));
	char id[32];
	json_t *ask;

	snprintf(id, sizeof(id), "start-%" JSON_INTEGER_FORMAT, run->id);
	ask = json_pack("{s:s, s:s, s:O, s:[s, s, s], s:s}", "id", id, "kind", "start", "request",
			run->request, "choices", "approve once", "deny once", "abort", "text",
			command ? command
			: shown ? shown
				: "");
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		json_t *value = json_object_get(run->request, same[i]);

		if (json_is_string(value))
			(void)json_object_set(ask, same[i], value);
	}
	free(shown);
	return ask;
}

/* Without the lock. What the policy leaves open is no reason against it. */
static void decide_start(ward *handle, ward_run *run, ward_policy *policy)
{
	json_t *object = start_question(run);
	struct ward_ask ask = {0};
	ward_answer *answer = ward_answer_new();
	struct question *question;
	int word = WARD_DENY;

	pthread_mutex_lock(&handle->lock);
	question = question_add(handle, run, object, true);
	pthread_mutex_unlock(&handle->lock);
	if (answer && ask_begin(&ask, object))
		word = policy_decide(policy, &ask, answer);
	if (word == WARD_PASS)
		word = WARD_APPROVE;
	pthread_mutex_lock(&handle->lock);
	/* A reply may have come before the policy returned. */
	question = question_of(handle, json_string_value(json_object_get(object, "id")));
	if (question && !question->answered && word != WARD_LATER &&
	    question_settle(handle, question, word, answer, NULL) < 0)
		(void)question_settle(handle, question, WARD_DENY, NULL, NULL);
	else if (!question && run->state == RUN_HELD && !run->cancelled)
		tell_thread(handle, failure_message(run, "engine", "out of memory", NULL));
	json_decref(object);
	pthread_mutex_unlock(&handle->lock);
	ask_done(&ask);
	ward_answer_free(answer);
}

/* Once in a process, to the first that hears it. */
static void warn_of_no_policy(ward *handle, const ward_run *run)
{
	static atomic_flag warned = ATOMIC_FLAG_INIT;

	if (handle->notice && !atomic_flag_test_and_set(&warned))
		tell_thread(handle,
			    json_pack("{s:s, s:{s:I, s:s}}", "method", "run.notice", "params", "id",
				      run->id, "text",
				      "this program has set no policy: ward's own rules hold, and "
				      "its sandbox"));
}

static void enlist(ward *handle, ward_run *run)
{
	ward_run **at = &handle->runs;

	while (*at)
		at = &(*at)->next;
	*at = run;
	run->id = ++handle->last;
	run->references = 3; /* whoever starts it, the handle, and this start */
}

/* Takes request over. */
static ward_run *start(ward *handle, json_t *request, void *data, ward_error **ret_error)
{
	ward_run *run = calloc(1, sizeof(*run));
	ward_policy *policy;
	json_t *settings;

	if (!run || !request) {
		free(run);
		json_decref(request);
		out_of_memory(ret_error);
		return NULL;
	}
	pthread_mutex_lock(&handle->lock);
	*run = (ward_run){.handle = handle, .data = data, .request = request};
	settings = json_deep_copy(handle->settings); /* they may change while it waits */
	(void)json_object_update_missing(request, settings);
	json_decref(settings);
	if (!settings || handle->over ||
	    json_dumpb(request, NULL, 0, JSON_COMPACT) > REQUEST_MOST) {
		give_error(ret_error, handle->over ? "engine" : "usage", NULL,
			   handle->over ? "ward has ended" : "the request is too long");
		pthread_mutex_unlock(&handle->lock);
		json_decref(request);
		free(run);
		return NULL;
	}
	atomic_fetch_add(&handle->references, 1);
	enlist(handle, run);
	policy = policy_share(handle->policy);
	if (!policy) {
		warn_of_no_policy(handle, run);
		run->state = RUN_QUEUED;
		begin_runs(handle);
	}
	pthread_mutex_unlock(&handle->lock);
	if (policy)
		decide_start(handle, run, policy);
	ward_policy_free(policy);
	pthread_mutex_lock(&handle->lock);
	run_release(run); /* this start's */
	pthread_mutex_unlock(&handle->lock);
	return run;
}

ward_run *ward_start_json(ward *handle, const char *request, void *data, ward_error **ret_error)
{
	json_error_t at = {.text = "there is none"};
	json_t *object;

	if (!handle_is_ours(handle, ret_error))
		return NULL;
	object = request ? json_loads(request, JSON_REJECT_DUPLICATES, &at) : NULL;
	if (!json_is_object(object)) {
		json_decref(object);
		give_error(ret_error, "usage", "docs/request.schema.json", "the request: %s",
			   object ? "it is no object" : at.text);
		return NULL;
	}
	return start(handle, object, data, ret_error);
}

ward_run *ward_start_shell(ward *handle, const char *command, void *data, ward_error **ret_error)
{
	json_t *object;

	if (!handle_is_ours(handle, ret_error))
		return NULL;
	object = command ? json_pack("{s:s}", "command", command) : NULL;
	if (!object) {
		give_error(ret_error, "usage", NULL, "a command is text in UTF-8");
		return NULL;
	}
	return start(handle, object, data, ret_error);
}

ward_run *ward_start(ward *handle, const char *const argv[], void *data, ward_error **ret_error)
{
	json_t *words;

	if (!handle_is_ours(handle, ret_error))
		return NULL;
	words = json_array();
	for (size_t i = 0; argv && argv[i] && words; i++)
		if (json_array_append_new(words, json_string(argv[i])) < 0) {
			json_decref(words);
			give_error(ret_error, "usage", NULL, "word %zu of the command is not UTF-8",
				   i);
			return NULL;
		}
	if (!json_array_size(words)) {
		json_decref(words);
		give_error(ret_error, "usage", NULL, "a command has at least one word");
		return NULL;
	}
	return start(handle, json_pack("{s:o}", "argv", words), data, ret_error);
}

static bool is_ours(const ward_run *run)
{
	return run && run->handle->owner == getpid();
}

int ward_wait(ward_run *run, int milliseconds)
{
	ward *handle;
	struct timespec until;
	int r = 0, ended;

	if (!is_ours(run))
		return -1;
	handle = run->handle;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&handle->lock);
	if (run->state != RUN_ENDED && pthread_equal(handle->thread, pthread_self())) {
		pthread_mutex_unlock(&handle->lock);
		return -1;
	}
	while (run->state != RUN_ENDED && r == 0)
		r = milliseconds < 0
			    ? pthread_cond_wait(&handle->changed, &handle->lock)
			    : pthread_cond_timedwait(&handle->changed, &handle->lock, &until);
	ended = run->state == RUN_ENDED;
	pthread_mutex_unlock(&handle->lock);
	return ended;
}

/* With the lock held. */
static void cancel(ward_run *run)
{
	ward *handle = run->handle;

	if (run->cancelled || run->state == RUN_ENDED)
		return;
	run->cancelled = true;
	if (run->state == RUN_BEGUN)
		tell_ward(handle, json_pack("{s:s, s:s, s:{s:I}}", "jsonrpc", "2.0", "method",
					    "cancel", "params", "id", run->id));
	else
		tell_thread(handle,
			    failure_message(run, "rejected", "the run was cancelled", NULL));
}

void ward_cancel(ward_run *run)
{
	if (!is_ours(run))
		return;
	pthread_mutex_lock(&run->handle->lock);
	cancel(run);
	pthread_mutex_unlock(&run->handle->lock);
}

void ward_run_free(ward_run *run)
{
	ward *handle;

	if (!is_ours(run))
		return;
	handle = run->handle;
	pthread_mutex_lock(&handle->lock);
	run->forgotten = true;
	cancel(run);
	while (handle->calling == run && !pthread_equal(handle->thread, pthread_self()))
		pthread_cond_wait(&handle->changed, &handle->lock);
	run_release(run);
	pthread_mutex_unlock(&handle->lock);
	handle_release(handle);
}

/* NULL as long as it goes on. What is there then does not change any more. */
static json_t *result_of(const ward_run *run)
{
	json_t *result;

	if (!is_ours(run))
		return NULL;
	pthread_mutex_lock(&run->handle->lock);
	result = run->state == RUN_ENDED ? run->result : NULL;
	pthread_mutex_unlock(&run->handle->lock);
	return result;
}

const char *ward_result_json(const ward_run *run)
{
	return result_of(run) ? run->text : NULL;
}

const char *ward_result_text(const ward_run *run, const char *key, size_t *ret_length)
{
	json_t *value = key ? json_object_get(result_of(run), key) : NULL;

	if (ret_length)
		*ret_length = json_string_length(value);
	return json_string_value(value);
}

int ward_exit_code(const ward_run *run)
{
	json_t *value = json_object_get(result_of(run), "exit_code");

	return value ? (int)json_integer_value(value) : -1;
}

int ward_timed_out(const ward_run *run)
{
	json_t *value = json_object_get(result_of(run), "timed_out");

	return value ? json_is_true(value) : -1;
}

const ward_error *ward_run_error(const ward_run *run)
{
	return result_of(run) ? run->error : NULL;
}
