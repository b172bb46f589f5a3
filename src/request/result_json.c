/* SPDX-License-Identifier: Apache-2.0 */
/* The result's JSON form: the same keys whatever happened. */
#include "result.h"
#include "text_json.h"
#include "../base/units.h"

#include <math.h>

static void put_real(json_t *object, const char *key, double value)
{
	json_put(object, key, json_real(isfinite(value) ? value : 0));
}

static void append(json_t *array, json_t *value)
{
	if (json_array_append_new(array, value) < 0)
		abort();
}

json_t *denial_to_json(const struct denial *denial)
{
	char first[TIME_TEXT], last[TIME_TEXT];
	json_t *object = json_object();

	time_text_of(&denial->first, first);
	time_text_of(&denial->last, last);

	json_put_text(object, "operation", denial->operation);
	json_put_text(object, "object", denial->object);
	json_put_text(object, "syscall", denial->syscall);
	json_put_text(object, "rule", denial->rule);
	json_put_text(object, "answer", denial->answer ? denial->answer : "none");
	json_put_text(object, "program", denial->program);
	json_put_count(object, "count", MAX(denial->count, 1u));
	json_put_text(object, "first", first);
	json_put_text(object, "last", last);
	if (denial->violation)
		json_put_text(object, "violation", denial->violation);
	if (denial->host) {
		json_put_text(object, "host", denial->host);
		json_put_text(object, "address", denial->address);
		json_put_count(object, "port", denial->port);
		json_put_text(object, "protocol", denial->protocol);
	}
	return object;
}

static json_t *attempt_to_json(const struct attempt *attempt)
{
	json_t *object = json_object(), *denials = json_array();

	json_put_text(object, "level", level_name(attempt->level));
	json_put_list(object, "walls", &attempt->walls);
	json_put(object, "exit_code", json_integer(attempt->exit_code));
	for (size_t i = 0; i < attempt->denial_count; i++)
		append(denials, denial_to_json(&attempt->denials[i]));
	json_put(object, "denials", denials);
	json_put_list(object, "masks", &attempt->masks);
	return object;
}

static json_t *approval_to_json(const struct decision *decision)
{
	const struct said *approval = &decision->approval;
	json_t *object = json_object();

	json_put(object, "granted", json_boolean(approval->granted));
	json_put_text(object, "reason", approval->reason);
	json_put(object, "duration",
		 approval->seconds ? json_integer((json_int_t)approval->seconds) : json_null());
	json_put_text(object, "approver", decision->by);
	json_put_list(object, "allowed_domains", &approval->domains);
	json_put(object, "monitored", json_boolean(approval->monitored));
	return object;
}

json_t *decision_to_json(const struct decision *decision)
{
	json_t *object = json_object();

	json_put_text(object, "stage", decision->stage);
	json_put_text(object, "verdict", decision->verdict);
	json_put_text(object, "source", decision->source);
	json_put_text(object, "by", decision->by);
	json_put_text(object, "scope", decision->scope);
	json_put_text(object, "grant", decision->grant);
	json_put_text(object, "time", decision->time);
	if (decision->approval.given)
		json_put(object, "approval", approval_to_json(decision));
	return object;
}

static json_t *resources_to_json(const struct result *result)
{
	json_t *object = json_object();

	put_real(object, "cpu_ms", result->cpu_ms);
	json_put_count(object, "max_rss_kb", result->max_rss_kb);
	json_put_count(object, "io_read_kb", result->io_read_kb);
	json_put_count(object, "io_write_kb", result->io_write_kb);
	json_put_count(object, "processes", result->processes);
	return object;
}

static json_t *error_to_json(const struct error *error)
{
	json_t *object;

	if (!error)
		return json_null();
	object = json_object();
	json_put_text(object, "kind", error_kind(error));
	json_put_text(object, "message", error->message ? error->message : "");
	json_put_text(object, "hint", error->hint);
	json_put_text(object, "file", error->file);
	json_put(object, "line", json_integer(error->line));
	json_put(object, "column", json_integer(error->column));
	return object;
}

static json_t *to_json(const struct result *result, bool with_output)
{
	json_t *object = json_object(), *decisions = json_array(), *attempts = json_array();
	struct view view;

	result_view(result, &view);
	json_put_text(object, "run", result->run);
	json_put_text(object, "ticket", result->ticket);
	json_put_text(object, "verdict", result->verdict);
	json_put_text(object, "source", result->source);
	json_put(object, "exit_code", json_integer(view.exit_code));
	json_put(object, "signal", view.signal > 0 ? json_integer(view.signal) : json_null());
	json_put(object, "timed_out", json_boolean(view.timed_out));
	json_put_text(object, "limit", limit_name(result->limit));
	put_real(object, "duration_ms", view.duration_ms);
	if (with_output) {
		json_put_bytes(object, "stdout", view.stdout_, view.stdout_length);
		json_put_bytes(object, "stderr", view.stderr_, view.stderr_length);
		json_put_bytes(object, "aggregated_output", view.aggregated,
			       view.aggregated_length);
	}
	json_put(object, "truncated", json_boolean(view.truncated));
	for (size_t i = 0; i < result->decision_count; i++)
		append(decisions, decision_to_json(&result->decisions[i]));
	json_put(object, "decisions", decisions);
	for (size_t i = 0; i < result->attempt_count; i++)
		append(attempts, attempt_to_json(&result->attempts[i]));
	json_put(object, "attempts", attempts);
	json_put(object, "resources", resources_to_json(result));
	json_put_list(object, "sandbox_warnings", &result->warnings);
	json_put(object, "error", error_to_json(result->error));
	if (result->incident)
		json_put_text(object, "safe_mode", result->incident);
	return object;
}

json_t *result_to_json(const struct result *result)
{
	return to_json(result, true);
}

json_t *result_summary_to_json(const struct result *result)
{
	return to_json(result, false);
}
