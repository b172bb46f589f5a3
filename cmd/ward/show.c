/* SPDX-License-Identifier: Apache-2.0 */
/* ward show: all that is on record about one run. */
#include "output.h"
#include "show_monitored.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/record/lost.h"
#include "../../src/record/monitor.h"
#include "../../src/record/state.h"
#include "../../src/record/store.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward show RUN|last [--json]\n"
	"\n"
	"Shows all that is on record about one run: what ran, where and for whom, who decided,\n"
	"which walls stood, what was refused, what it used and how it ended.\n"
	"\n"
	"  RUN      a run's id, or the beginning of it; `last` is the newest\n"
	"  --json   one object, for programs\n"
	"  --help   this text\n"
	"\n"
	"example: ward show last\n";

/* "label      " in a column of its own; the same label twice is shown once. */
static void label(const char *text)
{
	static const char *last = "";

	printf("%-11s", strcmp(last, text) == 0 ? "" : text);
	last = text;
}

static void line(const char *name, enum colour colour, const char *text)
{
	if (!text || !*text)
		return;
	label(name);
	output_text(colour, text);
	putchar('\n');
}

/* Adds "before text" unless there is no text. */
static void add_part(struct buffer *buffer, const char *before, const char *text)
{
	if (text && *text)
		buffer_printf(buffer, "%s%s%s", buffer->length > 0 ? ", " : "", before, text);
}

static void add_number(struct buffer *buffer, const json_t *object, const char *key,
		       const char *before, const char *after)
{
	const json_t *value = json_object_get(object, key);
	_cleanup_free_ char *text = NULL;

	if (!json_is_number(value))
		return;
	if (asprintf(&text, "%.0f%s", json_number_value(value), after) < 0)
		abort();
	add_part(buffer, before, text);
}

static void show_list(const char *name, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		line(name, COLOUR_NONE, json_string_value(item));
}

static void show_joined(const char *name, const json_t *list)
{
	_cleanup_buffer_ struct buffer text = {0};
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item)
		add_part(&text, "", json_string_value(item));
	line(name, COLOUR_NONE, buffer_text(&text));
}

static void show_argv(const json_t *argv)
{
	_cleanup_buffer_ struct buffer text = {0};
	const json_t *word;
	size_t i;

	json_array_foreach (argv, i, word) {
		if (i > 0)
			buffer_add_char(&text, ' ');
		if (json_is_string(word))
			escape_for_shell(&text, json_string_value(word));
	}
	line("argv", COLOUR_NONE, buffer_text(&text));
}

static void show_request(const json_t *run)
{
	static const struct {
		const char *before, *key;
	} who[] = {
		{"agent ", "agent"},  {"session ", "session"}, {"tool ", "tool"},
		{"call ", "call_id"}, {"turn ", "turn"},
	};
	const char *cwd = text_of(run, "cwd"), *workspace = text_of(run, "workspace");
	_cleanup_buffer_ struct buffer text = {0};

	line("run", COLOUR_BOLD, text_of(run, "id"));
	line("command", COLOUR_BOLD, text_of(run, "command"));
	show_argv(json_object_get(run, "argv"));
	line("in", COLOUR_NONE, cwd);
	if (workspace && (!cwd || strcmp(cwd, workspace) != 0))
		line("workspace", COLOUR_NONE, workspace);
	for (size_t i = 0; i < ELEMENTS(who); i++)
		add_part(&text, who[i].before, text_of(run, who[i].key));
	line("for", COLOUR_NONE, buffer_text(&text));
	line("reason", COLOUR_NONE, text_of(run, "reason"));
}

static void show_decisions(const json_t *run, const json_t *result)
{
	const json_t *decisions = json_object_get(result, "decisions"), *decision;
	const char *verdict = text_of(run, "verdict"), *source = text_of(run, "source");
	_cleanup_buffer_ struct buffer text = {0};
	size_t i;

	if (text_of(result, "source"))
		source = text_of(result, "source");
	add_part(&text, "", verdict);
	if (verdict && source)
		buffer_printf(&text, " (source: %s)", source);
	line("verdict", COLOUR_NONE, buffer_text(&text));
	if (!decisions)
		decisions = json_object_get(run, "decisions");
	json_array_foreach (decisions, i, decision) {
		_cleanup_buffer_ struct buffer step = {0};
		char when[WORDS_TEXT];

		add_part(&step, "", text_of(decision, "stage"));
		buffer_printf(&step, ": %s",
			      text_of(decision, "verdict") ? text_of(decision, "verdict") : "-");
		add_part(&step, "source ", text_of(decision, "source"));
		add_part(&step, "by ", text_of(decision, "by"));
		add_part(&step, "scope ", text_of(decision, "scope"));
		add_part(&step, "grant ", text_of(decision, "grant"));
		if (text_of(decision, "time")) {
			output_time(text_of(decision, "time"), "%H:%M:%S", when);
			add_part(&step, "at ", when);
		}
		line("decided", COLOUR_NONE, buffer_text(&step));
	}
}

static void show_times(const json_t *run)
{
	bool ended = json_is_true(json_object_get(run, "ended"));
	char when[WORDS_TEXT], words[WORDS_TEXT];
	enum colour colour;

	output_time(text_of(run, "time"), "%Y-%m-%d %H:%M:%S %z", when);
	line("started", COLOUR_NONE, when);
	if (!ended) {
		line("ended", COLOUR_YELLOW, "no: it is still running");
		return;
	}
	output_time(text_of(run, "ended_at"), "%Y-%m-%d %H:%M:%S %z", when);
	line("ended", COLOUR_NONE, when);
	if (json_is_number(json_object_get(run, "duration_ms"))) {
		output_duration(json_number_value(json_object_get(run, "duration_ms")), words);
		line("took", COLOUR_NONE, words);
	}
	colour = output_outcome(run, words);
	line("exit", colour, words);
}

static void show_denial(const json_t *denial)
{
	json_int_t count = json_integer_value(json_object_get(denial, "count"));
	const char *operation = text_of(denial, "operation"), *object = text_of(denial, "object");
	const char *answer = text_of(denial, "answer");
	_cleanup_buffer_ struct buffer about = {0}, text = {0};

	add_part(&about, "", text_of(denial, "syscall"));
	add_part(&about, "by ", text_of(denial, "program"));
	if (count > 1)
		buffer_printf(&about, "%s%lld times", about.length > 0 ? ", " : "",
			      (long long)count);
	add_part(&about, count > 1 ? "from " : "at ", text_of(denial, "first"));
	add_part(&about, "to ", count > 1 ? text_of(denial, "last") : NULL);
	add_part(&about, "rule ", text_of(denial, "rule"));
	add_part(&about, "answer ", answer && strcmp(answer, "none") != 0 ? answer : NULL);
	buffer_printf(&text, "%s %s", operation ? operation : "?", object ? object : "?");
	if (about.length > 0)
		buffer_printf(&text, " (%s)", buffer_text(&about));
	line("denied", answer && strcmp(answer, "granted") == 0 ? COLOUR_NONE : COLOUR_YELLOW,
	     buffer_text(&text));
}

static void show_attempts(const json_t *run, const json_t *attempts)
{
	const json_t *attempt, *denial;
	size_t i, k;

	if (json_array_size(attempts) == 0)
		line("level", COLOUR_NONE, text_of(run, "level"));
	json_array_foreach (attempts, i, attempt) {
		if (json_array_size(attempts) > 1) {
			char number[WORDS_TEXT];

			snprintf(number, sizeof(number), "%zu, exit %lld", i + 1,
				 (long long)json_integer_value(
					 json_object_get(attempt, "exit_code")));
			line("attempt", COLOUR_BOLD, number);
		}
		line("level", COLOUR_NONE, text_of(attempt, "level"));
		show_joined("walls", json_object_get(attempt, "walls"));
		json_array_foreach (json_object_get(attempt, "denials"), k, denial)
			show_denial(denial);
		show_list("masked", json_object_get(attempt, "masks"));
	}
}

static void show_end(const json_t *result)
{
	const json_t *used = json_object_get(result, "resources"),
		     *error = json_object_get(result, "error");
	_cleanup_buffer_ struct buffer text = {0}, place = {0};

	add_number(&text, used, "cpu_ms", "cpu ", " ms");
	add_number(&text, used, "max_rss_kb", "memory ", " KiB");
	add_number(&text, used, "io_read_kb", "read ", " KiB");
	add_number(&text, used, "io_write_kb", "written ", " KiB");
	add_number(&text, used, "processes", "processes ", "");
	line("used", COLOUR_NONE, buffer_text(&text));
	show_list("warning", json_object_get(result, "sandbox_warnings"));
	if (!json_is_object(error))
		return;
	if (text_of(error, "file")) {
		buffer_printf(&place, "%s", text_of(error, "file"));
		if (json_integer_value(json_object_get(error, "line")) > 0)
			buffer_printf(
				&place, ":%lld:%lld",
				(long long)json_integer_value(json_object_get(error, "line")),
				(long long)json_integer_value(json_object_get(error, "column")));
		buffer_add_text(&place, ": ");
	}
	buffer_add_text(&place, text_of(error, "message") ? text_of(error, "message") : "");
	line("error", COLOUR_RED, buffer_text(&place));
	line("hint", COLOUR_NONE, text_of(error, "hint"));
}

static int find_run(const char *id, json_t **ret_run, struct error **ret_error)
{
	_cleanup_free_ char *directory = NULL;
	struct store *store;
	int r;

	r = state_directory(&directory, ret_error);
	if (r == 0)
		r = state_directory_make(directory, ret_error);
	if (r == 0)
		/* What cannot be settled can still be shown. */
		(void)runs_settle(directory, /* alive= */ NULL, NULL, /* ret_error= */ NULL);
	if (r == 0)
		r = store_open(directory, &store, ret_error);
	if (r < 0)
		return r;
	r = store_run(store, id, ret_run, ret_error);
	store_close(store);
	return r;
}

/* A run that was followed: now somebody knows. */
static void note_looked(json_t *run)
{
	_cleanup_free_ char *state = NULL;

	if (text_of(run, "id") && state_directory(&state, NULL) == 0)
		monitor_forget(state, text_of(run, "id"));
}

int verb_show(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{NULL},
	};
	_cleanup_error_ struct error *error = NULL;
	bool as_json = false;
	json_t *run, *result;
	int option;

	output_begin();
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			as_json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return output_end("show", 0);
		default:
			return output_bad_option("show", argv, options, option);
		}
	}
	if (argc - optind != 1)
		return output_usage("show", argc == optind ? "which run? Give its id, or `last`"
							   : "one run at a time");
	if (find_run(argv[optind], &run, &error) < 0)
		return output_error("show", error);
	result = json_object_get(run, "result");
	if (as_json) {
		output_json(run);
	} else {
		show_request(run);
		show_times(run);
		show_decisions(run, result);
		show_attempts(run, json_object_get(result, "attempts"));
		show_end(result);
		show_monitored(run);
	}
	note_looked(run);
	json_decref(run);
	return output_end("show", 0);
}
