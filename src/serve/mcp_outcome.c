/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run, as much of it as an agent needs. */
#include "mcp_server.h"

#include <string.h>

static json_t *pick(json_t *from, const char *const *keys, size_t count)
{
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++)
		if (json_object_get(from, keys[i]))
			json_object_set(object, keys[i], json_object_get(from, keys[i]));
	return object;
}

/* Of the attempt that counted. */
static json_t *denials_of(json_t *result)
{
	static const char *const keys[] = {"operation", "object", "rule", "program", "answer"};
	json_t *attempts = json_object_get(result, "attempts"), *array = json_array(), *denial;
	size_t i;

	json_array_foreach (
		json_object_get(json_array_get(attempts, json_array_size(attempts) - 1), "denials"),
		i, denial)
		json_array_append_new(array, pick(denial, keys, ELEMENTS(keys)));
	return array;
}

static json_t *error_of(json_t *result)
{
	static const char *const keys[] = {"kind", "message", "hint", "file", "line"};
	json_t *error = json_object_get(result, "error");

	return json_is_object(error) ? pick(error, keys, ELEMENTS(keys)) : json_null();
}

/* Where a yes would have helped, and nobody could be asked, the agent is told to ask itself. */
static void add_advice(const struct mcp_call *call, json_t *error)
{
	const char *kind = json_string_value(json_object_get(error, "kind"));

	if (kind && !call->asks &&
	    (strcmp(kind, "rejected") == 0 || strcmp(kind, "sandbox_denied") == 0))
		json_array_append_new(
			call->notices,
			json_string("this client cannot put ward's questions to its user: tell "
				    "your user what was refused, and that a rule in the policy "
				    "(ward.yaml) allows it, or `ward watch` in a terminal, where "
				    "questions can then be answered"));
}

static json_t *run_outcome(const struct mcp_call *call, json_t *result)
{
	static const char *const keys[] = {"run",	"verdict",   "exit_code", "signal",
					   "timed_out", "limit",     "stdout",	  "duration_ms",
					   "stderr",	"truncated", "lossy"};
	json_t *outcome = pick(result, keys, ELEMENTS(keys)), *error = error_of(result);
	bool failed = !json_is_null(error);

	add_advice(call, error);
	json_object_set_new(outcome, "denials", denials_of(result));
	json_object_set(outcome, "notices", call->notices);
	json_object_set_new(outcome, "error", error);
	return mcp_tool_result(call->version, outcome, NULL, failed);
}

static void add_sentence(struct buffer *text, const char *before, const char *sentence)
{
	if (sentence && *sentence)
		buffer_printf(text, "%s%s%s", text->length ? "\n" : "", before, sentence);
}

/* ward's own message, with the place in a file that is broken. */
static void add_error(struct buffer *text, const json_t *error)
{
	const char *file = json_string_value(json_object_get(error, "file"));
	_cleanup_buffer_ struct buffer before = {0};

	buffer_add_text(&before, "ward: ");
	if (file)
		buffer_printf(&before, "%s:%d:%d: ", file,
			      (int)json_integer_value(json_object_get(error, "line")),
			      (int)json_integer_value(json_object_get(error, "column")));
	add_sentence(text, buffer_text(&before),
		     json_string_value(json_object_get(error, "message")));
}

/* What went wrong, what was refused, and what would help: in words, for there is no result. */
static json_t *file_failure(const struct mcp_call *call, json_t *result, json_t *said)
{
	json_t *own = json_object_get(said, "error"), *error = json_object_get(result, "error");
	_cleanup_buffer_ struct buffer text = {0};
	json_t *item;
	size_t i;

	add_sentence(&text, "", json_string_value(json_object_get(own, "message")));
	add_sentence(&text, "hint: ", json_string_value(json_object_get(own, "hint")));
	add_error(&text, error);
	add_sentence(&text, "hint: ", json_string_value(json_object_get(error, "hint")));
	add_advice(call, error);
	json_array_foreach (call->notices, i, item)
		add_sentence(&text, "", json_string_value(item));
	if (!text.length)
		add_sentence(&text, "", json_string_value(json_object_get(result, "stderr")));
	if (!text.length)
		buffer_add_text(&text, "it ended without saying why");
	return mcp_tool_result(call->version, NULL, buffer_text(&text), true);
}

static json_t *file_outcome(const struct mcp_call *call, json_t *result)
{
	json_t *said = json_loads(json_string_value(json_object_get(result, "stdout")),
				  JSON_REJECT_DUPLICATES, NULL);
	bool done = json_integer_value(json_object_get(result, "exit_code")) == 0 &&
		    json_is_object(said) && !json_object_get(said, "error") &&
		    json_is_null(json_object_get(result, "error"));
	json_t *outcome;

	if (done)
		return mcp_tool_result(call->version, said, NULL, false);
	outcome = file_failure(call, result, said);
	json_decref(said);
	return outcome;
}

json_t *mcp_outcome(const struct mcp_call *call, json_t *result)
{
	if (!result)
		return mcp_tool_result(call->version, NULL,
				       call->cancelled ? "it was cancelled"
						       : "the run ended without a result",
				       true);
	return call->tool == TOOL_RUN ? run_outcome(call, result) : file_outcome(call, result);
}
