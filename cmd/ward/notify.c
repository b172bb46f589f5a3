/* SPDX-License-Identifier: Apache-2.0 */
/* ward notify: what channels of the policy have not delivered yet, or not at all. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/id.h"
#include "../../src/record/state.h"
#include "../../src/request/text_json.h"
#include "../../src/serve/deliver.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward notify [list] [--json]\n"
	"       ward notify retry [ID | --all]\n"
	"       ward notify drop ID | --all\n"
	"\n"
	"Lists what is to be sent through the channels of `notify` in the policy: what still "
	"waits\n"
	"for another attempt, and what was given up. What arrived is not listed.\n"
	"\n"
	"retry tries again what was given up, from the beginning; one that waits, at once. drop\n"
	"forgets it. An ID may be the beginning of one, eight characters at least.\n"
	"\n"
	"  --all    everything that was given up; of retry the same as no ID\n"
	"  --json   one object a line, for programs\n"
	"  --help   this text\n";

enum { ID_LEAST = 8 };

static const char *word_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static void show(void *data, json_t *job, bool dead)
{
	if (*(bool *)data) {
		json_object_set_new(job, "state", json_string(dead ? "dead" : "waiting"));
		output_json(job);
		return;
	}
	printf("%s  %-7s  ", word_of(job, "id"), dead ? "dead" : "waiting");
	output_text(COLOUR_NONE, word_of(job, "channel"));
	printf("  %s  %lld attempts", word_of(job, "event"),
	       (long long)json_integer_value(json_object_get(job, "attempts")));
	if (*word_of(job, "why")) {
		fputs("  ", stdout);
		output_text(dead ? COLOUR_YELLOW : COLOUR_NONE, word_of(job, "why"));
	}
	putchar('\n');
}

static int change(const char *state, bool retries, const char *id, struct error **ret_error)
{
	unsigned count = 0;
	int r = retries ? deliver_retry(state, id, &count, ret_error)
			: deliver_drop(state, id, &count, ret_error);

	if (r < 0)
		return r;
	printf("%u %s\n", count, retries ? "will be tried again" : "dropped");
	if (retries && count)
		deliver_start(state, /* after= */ NULL, /* ret_present= */ NULL);
	return 0;
}

/* For ward itself: STATE, and where in the log to begin. */
static int deliver(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;

	if (argc != 4)
		return output_usage("notify", "deliver is for ward itself");
	return deliver_serve(argv[2], *argv[3] ? argv[3] : NULL, &error) < 0
		       ? output_error("notify", error)
		       : 0;
}

int verb_notify(int argc, char **argv)
{
	static const char *const verbs[] = {"list", "retry", "drop"};
	const char *verb = NULL, *id = NULL;
	bool json = false, all = false;
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	int r;

	if (argc > 1 && strcmp(argv[1], "deliver") == 0)
		return deliver(argc, argv);
	for (int i = 1; i < argc; i++) {
		bool is_verb = false;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("notify", 0);
		}
		for (size_t v = 0; v < ELEMENTS(verbs) && !verb; v++)
			is_verb |= strcmp(argv[i], verbs[v]) == 0;
		if (is_verb)
			verb = argv[i];
		else if (strcmp(argv[i], "--json") == 0 && (!verb || strcmp(verb, "list") == 0))
			json = true;
		else if (strcmp(argv[i], "--all") == 0 && verb && strcmp(verb, "list") != 0 && !id)
			all = true;
		else if (verb && strcmp(verb, "list") != 0 && argv[i][0] != '-' && !id && !all)
			id = argv[i];
		else
			return output_usage("notify",
					    "'%s' is not list [--json], retry [ID | --all] or drop "
					    "ID | --all",
					    argv[i]);
	}
	if (id && strlen(id) < ID_LEAST)
		return output_usage("notify", "'%s' is too short to be meant: see ward notify", id);
	if (verb && strcmp(verb, "drop") == 0 && !id && !all)
		return output_usage("notify", "drop what? An ID, or --all");
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = verb && strcmp(verb, "list") != 0
			    ? change(state, strcmp(verb, "retry") == 0, id, &error)
			    : deliver_list(state, show, &json, &error);
	return r < 0 ? output_error("notify", error) : output_end("notify", 0);
}
