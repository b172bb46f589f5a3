/* SPDX-License-Identifier: Apache-2.0 */
/* ward pending, ward approve, ward deny: questions that wait for an answer from elsewhere. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/units.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/state.h"

#include <stdio.h>
#include <string.h>

static const char pending_help[] =
	"usage: ward pending [--json] [ID]\n"
	"\n"
	"Lists the questions that wait for an answer: those of runs that were started with --wait, "
	"where nobody\n"
	"sits at a terminal. With an ID, or the beginning of one, shows all of that question.\n"
	"\n"
	"  --json         one object a line, for programs (docs/ask.schema.json)\n"
	"  --help         this text\n"
	"\n"
	"answer: ward approve ID, ward deny ID\n";

static const char approve_help[] =
	"usage: ward approve ID [OPTION...]\n"
	"\n"
	"Says yes to a question of `ward pending`, by its id or the first 14 characters of it. "
	"What waits goes\n"
	"on at once.\n"
	"\n"
	"  --scope SCOPE  once (default), session, always, or a time: 30m\n"
	"  --extent N     to another of the extents that the question names: 0 is the narrowest\n"
	"  --unsandboxed  without the sandbox, where the question offers that\n"
	"  --reason TEXT  for the record\n"
	"  --help         this text\n";

static const char deny_help[] =
	"usage: ward deny ID [OPTION...]\n"
	"\n"
	"Says no to a question of `ward pending`, by its id or the first 14 characters of it.\n"
	"\n"
	"  --scope SCOPE  once (default), session, or always: never again\n"
	"  --abort        the run is ended\n"
	"  --reason TEXT  the agent gets to read it\n"
	"  --help         this text\n";

static void line(const char *label, const char *text)
{
	if (!text || !*text)
		return;
	printf("  %-9s ", label);
	output_text(COLOUR_NONE, text);
	putchar('\n');
}

static void list_lines(const char *label, json_t *array)
{
	json_t *item;
	size_t i;

	json_array_foreach (array, i, item)
		line(i ? "" : label, json_string_value(item));
}

/* What a program gets: all but the number that ties the answer to the question. */
static void print_json(void *data, json_t *entry)
{
	json_t *object = json_copy(entry);

	(void)data;
	json_object_del(object, "nonce");
	output_json(object);
	json_decref(object);
}

static void print_short(void *data, json_t *entry)
{
	json_t *ask = json_object_get(entry, "ask"), *risk = json_object_get(ask, "risk");
	json_t *grants = json_object_get(ask, "grants");
	char since[WORDS_TEXT], until[WORDS_TEXT];

	(*(size_t *)data)++;
	output_time(text_of(entry, "since"), "%H:%M:%S", since);
	output_time(text_of(entry, "until"), "%H:%M:%S", until);
	output_text(COLOUR_BOLD, text_of(entry, "id"));
	printf("  since %s%s%s\n", since, *until ? ", waits until " : "", until);
	if (json_array_size(grants))
		list_lines("wants", grants);
	else
		line("wants", "to run in the sandbox");
	line("command", text_of(ask, "command"));
	line("in", text_of(ask, "cwd"));
	line("agent", text_of(ask, "agent"));
	line("because", text_of(ask, "why"));
	line("risk", text_of(risk, "level"));
}

static int show_one(const char *state, const char *id, bool json, struct error **ret_error)
{
	json_t *entry = NULL, *ask;
	int r = queue_find(state, id, 1, &entry, ret_error);

	if (r < 0)
		return r;
	ask = json_object_get(entry, "ask");
	if (json) {
		print_json(NULL, entry);
	} else {
		/* It was made fit for a terminal when it was laid out. */
		printf("%s\n%s", text_of(entry, "id"), text_of(ask, "text"));
		list_lines("answers", json_object_get(ask, "choices"));
	}
	json_decref(entry);
	return 0;
}

int verb_pending(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	const char *id = NULL;
	bool json = false;
	size_t count = 0;
	int r;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", pending_help);
			return output_end("pending", 0);
		}
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (argv[i][0] != '-' && !id)
			id = argv[i];
		else
			return output_usage("pending", "'%s' is not --json or one ID", argv[i]);
	}
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = id ? show_one(state, id, json, &error)
		       : queue_list(state, json ? print_json : print_short, &count, &error);
	if (r == 0 && !id && !json && !count)
		printf("nothing waits for an answer\n");
	return r < 0 ? output_error("pending", error) : output_end("pending", 0);
}

/* "once", "session", "always", or a time. */
static int put_scope(json_t *answer, const char *scope, struct error **ret_error)
{
	uint64_t ns;
	int r;

	if (strcmp(scope, "once") == 0 || strcmp(scope, "session") == 0 ||
	    strcmp(scope, "always") == 0) {
		json_object_set_new(answer, "scope", json_string(scope));
		return 0;
	}
	r = parse_duration(scope, &ns, NULL);
	if (r < 0 || ns < 1000000000)
		return fail(ret_error, E_USAGE,
			    "'%s' is not once, session, always or a time such as 30m", scope);
	json_object_set_new(answer, "scope", json_string("time"));
	json_object_set_new(answer, "seconds", json_integer((json_int_t)(ns / 1000000000)));
	return 0;
}

static void say_done(json_t *entry, json_t *answer)
{
	json_t *ask = json_object_get(entry, "ask"), *extent = json_object_get(answer, "extent");
	json_t *grants =
		extent ? json_object_get(json_array_get(json_object_get(ask, "extents"),
							(size_t)json_integer_value(extent)),
					 "grants")
		       : json_object_get(ask, "grants");

	printf("%s: %s\n", text_of(entry, "id"), text_of(answer, "answer"));
	if (strcmp(text_of(answer, "answer"), "approve") == 0)
		list_lines("gives", grants);
}

/* One option of either verb: how many more words it has taken, or a failure. */
static int put_option(const char *verb, char **argv, json_t *answer, struct error **ret_error)
{
	bool approves = strcmp(verb, "approve") == 0;
	uint64_t number;

	if (strcmp(argv[0], "--unsandboxed") == 0 && approves)
		return json_object_set_new(answer, "unsandboxed", json_true());
	if (strcmp(argv[0], "--abort") == 0 && !approves)
		return json_object_set_new(answer, "answer", json_string("abort"));
	if (!argv[1])
		return fail(ret_error, E_USAGE, "'%s' is no option, or needs a value", argv[0]);
	if (strcmp(argv[0], "--scope") == 0)
		return put_scope(answer, argv[1], ret_error) < 0 ? -1 : 1;
	if (strcmp(argv[0], "--reason") == 0) {
		json_t *text = json_string(argv[1]);

		if (!text)
			return fail(ret_error, E_USAGE, "the reason is not UTF-8");
		json_object_set_new(answer, "reason", text);
		return 1;
	}
	if (strcmp(argv[0], "--extent") == 0 && approves &&
	    parse_count(argv[1], &number, NULL) == 0) {
		json_object_set_new(answer, "extent", json_integer((json_int_t)number));
		return 1;
	}
	return fail(ret_error, E_USAGE, "'%s' is no option, or its value none", argv[0]);
}

static int answer_verb(int argc, char **argv, const char *word, const char *help)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL, *by = approver_name();
	json_t *answer = json_pack("{s:s, s:s}", "answer", word, "by", by), *entry = NULL;
	const char *id = NULL;
	int r = 0;

	for (int i = 1; i < argc && r >= 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			json_decref(answer);
			return output_end(word, 0);
		}
		if (argv[i][0] != '-' && !id) {
			id = argv[i];
			continue;
		}
		r = put_option(word, argv + i, answer, &error);
		i += r > 0;
	}
	if (r < 0 || !id) {
		json_decref(answer);
		return output_usage(word, "%s",
				    error ? error->message : "it needs the ID of a question");
	}
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = queue_find(state, id, QUEUE_ID_LEAST, &entry, &error);
	if (r == 0)
		r = queue_answer(state, entry, answer, &error);
	if (r == 0)
		say_done(entry, answer);
	json_decref(entry);
	json_decref(answer);
	return r < 0 ? output_error(word, error) : output_end(word, 0);
}

int verb_approve(int argc, char **argv)
{
	return answer_verb(argc, argv, "approve", approve_help);
}

int verb_deny(int argc, char **argv)
{
	return answer_verb(argc, argv, "deny", deny_help);
}
