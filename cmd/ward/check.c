/* SPDX-License-Identifier: Apache-2.0 */
/* ward check: what would be decided about a command, and why; nothing is run. */
#include "options.h"
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/decide/decide.h"
#include "../../src/flow.h"
#include "../../src/request/text_json.h"
#include "../../src/serve/check_json.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_LIMIT = REQUEST_LIMIT };

/* What was found out about a request. Borrowed. */
struct checked {
	const struct plan *plan;
	const struct assessment *assessment;
	const struct verdict *verdict;
};

static json_t *error_object(const struct error *error)
{
	json_t *object = json_object(), *inner = json_object();

	json_put_text(inner, "kind",
		      error->code == E_INPUT || error->code == E_USAGE ? "rejected"
								       : error_kind(error));
	json_put_text(inner, "message", error->message);
	json_put_text(inner, "hint", error->hint);
	json_put_text(inner, "file", error->file);
	json_put(inner, "line", json_integer(error->line));
	json_put(inner, "column", json_integer(error->column));
	json_put(object, "error", inner);
	return object;
}

/* For people: what it is made of, what is known of it, what follows. */

static void print_words(const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_buffer_ struct buffer word = {0};

		escape_for_shell(&word, words[i]);
		putchar(' ');
		output_text(COLOUR_NONE, buffer_text(&word));
	}
}

static void print_context(const struct command *command)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	const char **context = plan_context(arena, command);

	if (!context[0])
		return;
	fputs("        in: ", stdout);
	for (size_t i = 0; context[i]; i++) {
		if (i)
			fputs(", ", stdout);
		output_text(COLOUR_NONE, context[i]);
	}
	putchar('\n');
}

static void print_command(const struct command *command, const char *rule)
{
	fputs("   ", stdout);
	print_words(command->assignments, command->assignment_count);
	print_words(command->argv, command->argc);
	for (size_t i = 0; i < command->redirect_count; i++) {
		printf(" %s", command->redirects[i].operator);
		print_words(&command->redirects[i].target, 1);
	}
	putchar('\n');
	if (command->wrapper_count) {
		fputs("        looked through:", stdout);
		print_words(command->wrappers, command->wrapper_count);
		putchar('\n');
	}
	print_context(command);
	if (rule)
		printf("        rule: %s\n", rule);
}

static void print_reach(const struct assessment *assessment)
{
	static const char *const files[] = {
		[REACH_NONE] = "changes no files",
		[REACH_WORKSPACE] = "can change files of the workspace",
		[REACH_HOME] = "wants to change files of the home directory",
		[REACH_SYSTEM] = "wants to change the machine",
	};

	printf("  reach: %s%s%s\n", files[assessment->files],
	       assessment->network ? ", talks to other machines" : "",
	       assessment->remote ? ", changes something there" : "");
	if (assessment->damage.measured) {
		_cleanup_free_ char *damage = damage_text(&assessment->damage);

		printf("  gone: %s\n", damage);
	}
	printf("  %s", assessment->reversible ? "can be undone" : "cannot be undone");
	if (assessment->reversible && assessment->way_back)
		printf(": %s", assessment->way_back);
	printf("; confidence %.0f %%\n", assessment->confidence * 100);
	if (assessment->unknown) {
		fputs("  nothing is known about ", stdout);
		output_text(COLOUR_NONE, assessment->unknown);
		putchar('\n');
	}
}

static void print_network(const struct verdict *verdict)
{
	const struct host_rules *hosts = &verdict->permissions.hosts;
	const struct list *publish = &verdict->permissions.publish;

	printf("  network: %s", network_name(verdict_reach(verdict)));
	for (size_t i = 0; i < hosts->count; i++) {
		bool denied;
		const char *pattern = host_rules_pattern(hosts, i, &denied);

		fputs(denied ? ", never " : ", ", stdout);
		output_text(COLOUR_NONE, pattern);
	}
	for (size_t i = 0; i < publish->count; i++)
		printf(", published %s", publish->items[i]);
	putchar('\n');
}

static void print_opaque(const struct opaque_part *part)
{
	fputs(part->opacity == OPAQUE_BODY ? "  not part of the request: "
					   : "  not all of it can be taken apart: ",
	      stdout);
	output_text(COLOUR_NONE, part->why);
	if (part->span.line)
		printf(" (line %u, bytes %zu to %zu)", part->span.line, part->span.start,
		       part->span.end);
	putchar('\n');
}

static void print_text(const struct checked *checked)
{
	static const char *const ends[] = {
		[VERDICT_ALLOW] = "it would run at once, in the sandbox",
		[VERDICT_ASK] = "a person would be asked first",
		[VERDICT_DENY] = "it would not be run, whoever asks",
	};
	const struct assessment *assessment = checked->assessment;
	const struct plan *plan = checked->plan;

	printf("%s: class %s, risk %s\n", verdict_name(checked->verdict->kind),
	       class_name(assessment->class), risk_name(assessment->risk));
	for (const char *const *reason = assessment->reasons; *reason; reason++) {
		fputs("  ", stdout);
		output_text(COLOUR_NONE, *reason);
		putchar('\n');
	}
	for (size_t i = 0; i < plan->opaque_count; i++)
		print_opaque(&plan->opaque_parts[i]);
	printf("  %zu command%s in it:\n", plan->count, plan->count == 1 ? "" : "s");
	for (size_t i = 0; i < plan->count; i++)
		print_command(&plan->commands[i], assessment->rules[i]);
	print_reach(assessment);
	if (checked->verdict->rule)
		printf("  the policy's rule: %s\n", checked->verdict->rule);
	if (checked->verdict->reason) {
		fputs("  because ", stdout);
		output_text(COLOUR_NONE, checked->verdict->reason);
		putchar('\n');
	}
	if (checked->verdict->tier)
		printf("  tier: %s%s\n", checked->verdict->tier,
		       strcmp(checked->verdict->tier, "critical") == 0
			       ? ": no agent is given this, a person runs it"
			       : "");
	if (checked->verdict->answered_by) {
		fputs("  answered by ", stdout);
		output_text(COLOUR_NONE, checked->verdict->answered_by);
		putchar('\n');
	}
	print_network(checked->verdict);
	if (checked->verdict->incident)
		printf("  safe mode: it reads the workspace and logs, and nothing else (ward "
		       "incidents show %s)\n",
		       checked->verdict->incident);
	printf("  approval policy: %s\n", approval_name(checked->verdict->approval));
	printf("  verdict: %s (%s), level %s: %s\n", verdict_name(checked->verdict->kind),
	       checked->verdict->source, level_name(checked->verdict->level),
	       ends[checked->verdict->kind]);
}

static void keep_object(const struct plan *plan, const struct assessment *assessment,
			const struct verdict *verdict, void *data)
{
	*(json_t **)data = check_to_json(plan, assessment, verdict);
}

static void print_error(const struct error *error)
{
	json_t *object = error_object(error);

	output_json(object);
	json_decref(object);
}

/* One line of a batch: it is laid over the flags, which were read before. */
static void check_line(int argc, char **argv, const char *line, size_t length)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_request_ struct request request;
	char here[PATH_MAX];
	json_t *object = NULL;
	int r;

	request_init(&request);
	r = options_parse_flags(argc, argv, &request, &error);
	if (r == 0)
		r = request_from_json(line, length, &request, &error);
	if (!request.workspace)
		request.workspace = strdup(getcwd(here, sizeof(here)) ? here : "/");
	if (!request.cwd)
		request.cwd = strdup(request.workspace);
	if (r == 0)
		flow_imply_profile(&request);
	if (r < 0 || flow_check(&request, keep_object, &object, &error) < 0)
		object = error_object(error);
	output_json(object);
	json_decref(object);
}

/* The standard input, of which as much is read at once as there is. */
struct input {
	char data[65536];
	size_t begin, end;
	int error; /* errno, or 0 */
};

static bool fill(struct input *input)
{
	ssize_t n;

	do
		n = read(STDIN_FILENO, input->data, sizeof(input->data));
	while (n < 0 && errno == EINTR);
	input->error = n < 0 ? errno : 0;
	input->begin = 0;
	input->end = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/* Reads on to the end of the line; what is beyond the limit is counted, not kept. False at the end
 * of the input. */
static bool read_line(struct input *input, struct buffer *line, size_t *ret_length)
{
	size_t length = 0;

	line->length = 0;
	while (input->begin < input->end || fill(input)) {
		const char *from = input->data + input->begin;
		size_t left = input->end - input->begin;
		const char *newline = memchr(from, '\n', left);
		size_t part = newline ? (size_t)(newline - from) : left;

		if (length < LINE_LIMIT)
			buffer_add(line, from, MIN(part, LINE_LIMIT - length));
		length += part;
		input->begin += part + (newline != NULL);
		*ret_length = length;
		if (newline)
			return true;
	}
	return length > 0;
}

/* Whoever waits for an answer before the next line gets it; whoever does not is answered faster. */
static bool has_more(const struct input *input)
{
	return memchr(input->data + input->begin, '\n', input->end - input->begin) != NULL;
}

static int print_help(void)
{
	printf("usage: ward check [OPTION...] -- COMMAND ARGUMENT...\n"
	       "       ward check [OPTION...] -c SCRIPT\n"
	       "       ward check --batch [OPTION...]\n\n"
	       "Says what is known about a command and how it weighs; runs nothing. The options "
	       "are "
	       "those of ward run.\n"
	       "Exits 0 allow, 1 ask, 2 deny, 125 error.\n\n"
	       "  --json   one object on standard output; {\"error\": ...} where nothing could be "
	       "said\n"
	       "  --batch  reads one object a line, {\"argv\": [...]} or {\"command\": \"TEXT\"}, "
	       "and "
	       "prints one a line, in order;\n"
	       "           {\"error\": ...} for a line that cannot be read, or is longer than 4 "
	       "MiB. Exits 0, and\n"
	       "           125 only where the input cannot be read\n");
	return output_end("check", 0);
}

static int check_batch(int argc, char **argv)
{
	static struct input input;
	_cleanup_buffer_ struct buffer line = {0};
	_cleanup_request_ struct request common;
	_cleanup_error_ struct error *bad = NULL;
	size_t length;
	int r;

	request_init(&common);
	r = options_parse_flags(argc, argv, &common, &bad);
	if (r != 0)
		return r < 0 ? output_error("check", bad) : print_help();
	output_begin();
	while (!output_is_closed() && read_line(&input, &line, &length)) {
		_cleanup_error_ struct error *error = NULL;

		if (length > LINE_LIMIT) {
			fail(&error, E_INPUT, "the line has %zu bytes, more than %d", length,
			     LINE_LIMIT);
			print_error(error);
		} else {
			check_line(argc, argv, buffer_text(&line), line.length);
		}
		if (!has_more(&input))
			fflush(stdout);
	}
	if (input.error) {
		_cleanup_error_ struct error *error = NULL;

		fail_errno(&error, E_ENGINE, input.error, "cannot read the standard input");
		return output_error("check", error);
	}
	return output_end("check", 0);
}

/* Takes the word out, so that the flags of run are left. */
static bool take_batch(int *argc, char **argv)
{
	for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--batch") == 0) {
			memmove(&argv[i], &argv[i + 1], (size_t)(*argc - i) * sizeof(*argv));
			(*argc)--;
			return true;
		}
	return false;
}

struct shown {
	bool json;
	enum verdict_kind kind;
};

static void show(const struct plan *plan, const struct assessment *assessment,
		 const struct verdict *verdict, void *data)
{
	const struct checked checked = {plan, assessment, verdict};
	struct shown *shown = data;

	output_begin();
	shown->kind = verdict->kind;
	if (shown->json) {
		json_t *object = check_to_json(plan, assessment, verdict);

		output_json(object);
		json_decref(object);
	} else {
		print_text(&checked);
	}
}

int verb_check(int argc, char **argv)
{
	static const int status[] = {[VERDICT_ALLOW] = 0, [VERDICT_ASK] = 1, [VERDICT_DENY] = 2};
	_cleanup_request_ struct request request;
	_cleanup_error_ struct error *error = NULL;
	struct shown shown = {0};
	int r;

	request_init(&request);
	if (take_batch(&argc, argv))
		return check_batch(argc, argv);
	r = options_parse(argc, argv, &request, &error);
	if (r == 1)
		return print_help();
	shown.json = request.json;
	if (r == 0) {
		flow_imply_profile(&request);
		r = flow_check(&request, show, &shown, &error);
	}
	if (r < 0 && shown.json) {
		output_begin();
		print_error(error);
		return output_end("check", EXIT_WARD);
	}
	return r < 0 ? output_error("check", error) : output_end("check", status[shown.kind]);
}
