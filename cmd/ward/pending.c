/* SPDX-License-Identifier: Apache-2.0 */
/* ward pending: questions that wait for an answer from elsewhere. */
#include "others.h"
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/base/units.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/incidents.h"
#include "../../src/record/monitor.h"
#include "../../src/record/state.h"
#include "../../src/serve/ticket.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char pending_help[] =
	"usage: ward pending [--json] [--user USER] [ID]\n"
	"\n"
	"Lists the questions that wait for an answer: those of runs that were started with --wait, "
	"where nobody\n"
	"sits at a terminal. With an ID, or the beginning of one, shows all of that question.\n"
	"\n"
	"  --json         one object a line, for programs (docs/ask.schema.json)\n"
	"  --user USER    that user's, by name or number; for root. Where `ward serve --system` is "
	"there,\n"
	"                 root's own list has those of all users\n"
	"  --help         this text\n"
	"\n"
	"answer: ward approve ID, ward deny ID, ward defer ID\n";

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

/* Whose questions are listed; NULL: our own. */
static const char *owner_name;
static uid_t owner;
/* Who looks: asked for before this process may become somebody else's. */
static char *looker;

/* What a program gets: all but the number that ties the answer to the question. */
static void print_json(void *data, json_t *entry)
{
	json_t *object = json_copy(entry);

	(void)data;
	if (owner_name)
		json_object_set_new(object, "user", json_integer((json_int_t)owner));
	json_object_del(object, "nonce");
	json_object_del(object, "lasts");
	json_object_del(object, "begun");
	output_json(object);
	json_decref(object);
}

/* On a terminal, somebody reads it. */
static void note_seen(json_t *entry)
{
	_cleanup_free_ char *state = NULL;

	if (!isatty(STDOUT_FILENO) || state_directory(&state, NULL) < 0)
		return;
	(void)queue_note_seen(state, entry, looker, NULL);
}

/* Who may answer, and what was said so far. */
static void show_progress(json_t *entry)
{
	json_t *progress = json_object_get(entry, "progress");

	if (progress)
		line("answers", text_of(progress, "text"));
}

/* An answer goes to all of them. */
static void print_also(json_t *entry)
{
	json_t *also = json_object_get(entry, "also"), *other;
	size_t i;

	json_array_foreach (also, i, other)
		line(i ? "" : "also", text_of(other, "run"));
}

static void print_short(void *data, json_t *entry)
{
	json_t *ask = json_object_get(entry, "ask"), *risk = json_object_get(ask, "risk");
	json_t *grants = json_object_get(ask, "grants");
	char since[WORDS_TEXT], until[WORDS_TEXT];

	(*(size_t *)data)++;
	note_seen(entry);
	output_time(text_of(entry, "since"), "%H:%M:%S", since);
	/* Tickets wait for days. */
	output_time(text_of(entry, "until"),
		    text_of(entry, "ticket") ? "%a %d %b %H:%M" : "%H:%M:%S", until);
	output_text(COLOUR_BOLD, text_of(entry, "id"));
	printf("  since %s%s%s\n", since, *until ? ", waits until " : "", until);
	if (json_array_size(grants))
		list_lines("wants", grants);
	else
		line("wants", "to run in the sandbox");
	line("command", text_of(ask, "command"));
	line("in", text_of(ask, "cwd"));
	line("user", owner_name);
	line("agent", text_of(ask, "agent"));
	line("ticket", text_of(entry, "ticket"));
	line("because", text_of(ask, "why"));
	line("risk", text_of(risk, "level"));
	show_progress(entry);
	print_also(entry);
}

/* It was made fit for a terminal when it was laid out, by whoever owns the file. */
static void print_text(const char *text)
{
	_cleanup_free_ char *copy = strdup(text ? text : "");
	char *rest = copy, *one;

	while ((one = strsep(&rest, "\n"))) {
		_cleanup_buffer_ struct buffer fit = {0};

		escape_for_terminal(&fit, one, strlen(one));
		printf("%s%s", buffer_text(&fit), rest ? "\n" : "");
	}
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
		note_seen(entry);
		printf("%s\n", text_of(entry, "id"));
		print_text(text_of(ask, "text"));
		show_progress(entry);
		print_also(entry);
		list_lines("answers", json_object_get(ask, "choices"));
	}
	json_decref(entry);
	return 0;
}

/* Who said yes with --monitor is told so. */
static int print_followed(const char *run, void *data)
{
	(void)data;
	printf("a run that was to be followed has ended: ward show ");
	output_text(COLOUR_BOLD, run);
	putchar('\n');
	return 0;
}

/* No question, and yet a person has to look. */
static int print_incident(json_t *incident, void *data)
{
	const char *is = text_of(incident, "state");

	(void)data;
	if (!is || strcmp(is, "open") != 0)
		return 0;
	printf("agent ");
	output_text(COLOUR_RED, text_of(incident, "agent"));
	printf(" is in safe mode: ward incidents show ");
	output_text(COLOUR_BOLD, text_of(incident, "id"));
	putchar('\n');
	return 0;
}

static bool others_as_json;

/* In a process of that user's. What cannot be read is that user's to mend. */
static bool show_others(const char *name, uid_t uid)
{
	_cleanup_free_ char *state = NULL;
	size_t count = 0;

	owner_name = name;
	owner = uid;
	if (state_directory(&state, NULL) == 0)
		(void)queue_list(state, others_as_json ? print_json : print_short, &count, NULL);
	if (count) {
		printf("  %-9s ward approve --user ", "answer:");
		output_text(COLOUR_NONE, name);
		printf(" ID, ward deny --user ");
		output_text(COLOUR_NONE, name);
		printf(" ID\n");
	}
	return count > 0;
}

int verb_pending(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	const char *id = NULL, *user = NULL;
	bool json = false;
	size_t count = 0;
	int r = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", pending_help);
			return output_end("pending", 0);
		}
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--user") == 0 && argv[i + 1])
			user = argv[++i];
		else if (argv[i][0] != '-' && !id)
			id = argv[i];
		else
			return output_usage("pending", "'%s' is not --json, --user USER or one ID",
					    argv[i]);
	}
	output_begin();
	looker = approver_name();
	others_as_json = json;
	if (user)
		r = others_become(user, &error);
	if (r == 0)
		r = state_directory(&state, &error);
	if (r == 0)
		ticket_adopt(state, NULL);
	if (r == 0)
		r = id ? show_one(state, id, json, &error)
		       : queue_list(state, json ? print_json : print_short, &count, &error);
	if (r == 0 && !id && !user && others_are_served())
		count += others_each(show_others);
	if (r == 0 && !id && !json && !count)
		printf("nothing waits for an answer\n");
	if (r == 0 && !id && !json)
		(void)incidents_each(state, print_incident, NULL, NULL);
	if (r == 0 && !id && !json)
		(void)monitor_unread(state, print_followed, NULL);
	free(looker);
	return r < 0 ? output_error("pending", error) : output_end("pending", 0);
}
