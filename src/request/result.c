/* SPDX-License-Identifier: Apache-2.0 */
/* The result as a value: how it is filled, what a caller may rely on, which exit status it means.
 */
#include "result.h"

#include <signal.h>
#include <string.h>

enum {
	STATUS_DEFERRED = 75,
	STATUS_TIMED_OUT = 124,
	STATUS_FAILED = 125,
	STATUS_REFUSED = 126,
	STATUS_NOT_FOUND = 127,
	STATUS_SIGNAL = 128,
};

/* What each error is called in a result, and the exit status where the command did not start. */
static const struct {
	const char *kind;
	int status;
} errors[] = {
	[E_ENGINE] = {"engine", STATUS_FAILED},
	[E_USAGE] = {"engine", STATUS_FAILED},
	/* A policy that cannot be read is a refusal, told apart from one that says no by its
	   status. */
	[E_POLICY] = {"rejected", STATUS_FAILED},
	[E_REJECTED] = {"rejected", STATUS_REFUSED},
	[E_SANDBOX] = {"sandbox_denied", STATUS_REFUSED},
	[E_TIMEOUT] = {"timeout", STATUS_TIMED_OUT},
	[E_NOT_FOUND] = {"engine", STATUS_NOT_FOUND},
	[E_NOT_EXECUTABLE] = {"engine", STATUS_REFUSED},
	[E_INPUT] = {"engine", STATUS_FAILED},
	[E_DEFERRED] = {"rejected", STATUS_DEFERRED},
};

static const char *const limit_names[] = {
	[LIMIT_NONE] = NULL,   [LIMIT_MEMORY] = "memory",
	[LIMIT_CPU] = "cpu",   [LIMIT_PROCESSES] = "processes",
	[LIMIT_DISK] = "disk", [LIMIT_TIME] = "time",
	[LIMIT_IDLE] = "idle", [LIMIT_OUTPUT] = "output",
};

void result_init(struct result *result)
{
	*result = (struct result){.verdict = "deny", .source = "default", .exit_code = -1};
}

static void *add_entry(void *entries, size_t count, size_t size)
{
	char *grown = reallocarray(entries, count + 1, size);

	if (!grown)
		abort();
	memset(grown + count * size, 0, size);
	return grown;
}

struct attempt *result_add_attempt(struct result *result)
{
	result->attempts =
		add_entry(result->attempts, result->attempt_count, sizeof(struct attempt));
	return &result->attempts[result->attempt_count++];
}

static char *copy_of(const char *text)
{
	char *copy = text ? strdup(text) : NULL;

	if (text && !copy)
		abort();
	return copy;
}

struct decision *result_add_decision(struct result *result, const char *stage, const char *verdict,
				     const char *source)
{
	struct decision *decision;

	result->decisions =
		add_entry(result->decisions, result->decision_count, sizeof(struct decision));
	decision = &result->decisions[result->decision_count++];
	decision->stage = copy_of(stage);
	decision->verdict = copy_of(verdict);
	decision->source = copy_of(source);
	return decision;
}

struct denial *attempt_add_denial(struct attempt *attempt)
{
	attempt->denials =
		add_entry(attempt->denials, attempt->denial_count, sizeof(struct denial));
	return &attempt->denials[attempt->denial_count++];
}

static void attempt_done(struct attempt *attempt)
{
	for (size_t i = 0; i < attempt->denial_count; i++) {
		struct denial *denial = &attempt->denials[i];

		free(denial->operation);
		free(denial->object);
		free(denial->syscall);
		free(denial->rule);
		free(denial->program);
		free(denial->host);
		free(denial->address);
		free(denial->protocol);
	}
	free(attempt->denials);
	list_done(&attempt->walls);
	list_done(&attempt->masks);
}

static void decision_done(struct decision *decision)
{
	free(decision->stage);
	free(decision->verdict);
	free(decision->source);
	free(decision->by);
	free(decision->scope);
	free(decision->grant);
	free(decision->time);
	free(decision->approval.reason);
	list_done(&decision->approval.domains);
}

void result_done(struct result *result)
{
	for (size_t i = 0; i < result->attempt_count; i++)
		attempt_done(&result->attempts[i]);
	free(result->attempts);
	for (size_t i = 0; i < result->decision_count; i++)
		decision_done(&result->decisions[i]);
	free(result->decisions);
	free(result->run);
	free(result->ticket);
	free(result->incident);
	free(result->stdout_.data);
	free(result->stderr_.data);
	free(result->aggregated.data);
	list_done(&result->warnings);
	error_free(result->error);
	*result = (struct result){0};
}

const char *limit_name(enum run_limit limit)
{
	return (size_t)limit < ELEMENTS(limit_names) ? limit_names[limit] : NULL;
}

static enum error_code known_code(const struct error *error)
{
	return error->code >= E_ENGINE && (size_t)error->code < ELEMENTS(errors) ? error->code
										 : E_ENGINE;
}

const char *error_kind(const struct error *error)
{
	return errors[known_code(error)].kind;
}

void result_view(const struct result *result, struct view *ret_view)
{
	const struct error *error = result->error;

	bool ran = result->exit_code >= 0 || result->signal > 0;

	/* What was refused to a command that ran is its own affair: its output stands. */
	if (error && error->code != E_TIMEOUT && !(error->code == E_SANDBOX && ran)) {
		const char *message = error->message ? error->message : "";

		*ret_view = (struct view){
			.exit_code = -1,
			.stdout_ = "",
			.stderr_ = message,
			.stderr_length = strlen(message),
			.aggregated = message,
			.aggregated_length = strlen(message),
		};
		return;
	}
	*ret_view = (struct view){
		.exit_code = result->exit_code,
		.stdout_ = result->stdout_.data ? result->stdout_.data : "",
		.stdout_length = result->stdout_.length,
		.stderr_ = result->stderr_.data ? result->stderr_.data : "",
		.stderr_length = result->stderr_.length,
		.aggregated = result->aggregated.data ? result->aggregated.data : "",
		.aggregated_length = result->aggregated.length,
		.duration_ms = result->duration_ms,
		.truncated = result->truncated,
		.signal = result->signal,
		.timed_out = result->timed_out || (error && error->code == E_TIMEOUT),
	};
}

int result_exit_status(const struct result *result)
{
	bool started = result->exit_code >= 0 || result->signal > 0;

	if (result->ticket)
		return STATUS_DEFERRED;
	if (result->timed_out)
		return STATUS_TIMED_OUT;
	/* What the sandbox refused to a command that ran is for the command to answer. */
	if (result->error && !(result->error->code == E_SANDBOX && started))
		return errors[known_code(result->error)].status;
	if (result->signal > 0)
		return STATUS_SIGNAL + result->signal;
	if (started)
		return result->exit_code & 0xff;
	return result->limit == LIMIT_NONE ? STATUS_FAILED : STATUS_SIGNAL + SIGKILL;
}
