/* SPDX-License-Identifier: Apache-2.0 */
/* ward check: what would be decided about a command, and why; nothing is run. */
#include "options.h"
#include "output.h"
#include "verbs.h"
#include "../../src/assess/assess.h"
#include "../../src/base/escape.h"

#include <stdio.h>
#include <string.h>

enum { CHECK_ALLOW, CHECK_ASK, CHECK_DENY };

static json_t *text_value(const char *text)
{
	_cleanup_free_ char *utf8 = NULL;
	bool lossy;

	utf8 = escape_to_utf8(text, strlen(text), &lossy);
	return json_string(utf8);
}

static json_t *texts(const char *const *list)
{
	json_t *array = json_array();

	for (; list && *list; list++)
		json_array_append_new(array, text_value(*list));
	return array;
}

static json_t *command_object(const struct command *command)
{
	json_t *redirects = json_array(), *argv = json_array();

	for (size_t i = 0; i < command->argc; i++)
		json_array_append_new(argv, text_value(command->argv[i]));
	for (size_t i = 0; i < command->redirect_count; i++)
		json_array_append_new(
			redirects, json_pack("{s:o, s:o}", "operator",
					     text_value(command->redirects[i].operator), "target",
					     text_value(command->redirects[i].target
								? command->redirects[i].target
								: "")));
	return json_pack("{s:o, s:[], s:o, s:n}", "argv", argv, "wrappers", "redirects", redirects,
			 "rule");
}

static json_t *check_object(const struct request *request, const struct plan *plan,
			    const struct assessment *assessment, const char *verdict)
{
	json_t *commands = json_array();

	for (size_t i = 0; i < plan->count; i++)
		json_array_append_new(commands, command_object(&plan->commands[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:o, s:o, s:{}, s:b, s:f}, s:o, s:b}",
			 "class", class_name(assessment->class), "verdict", verdict, "level",
			 level_name(request->level), "source",
			 assessment->class == CLASS_SAFE ? "default" : "rule", "risk", "level",
			 risk_name(assessment->risk), "categories", texts(assessment->categories),
			 "reasons", texts(assessment->reasons), "blast_radius", "reversible",
			 (int)assessment->reversible, "confidence", assessment->confidence,
			 "commands", commands, "opaque", (int)plan->opaque);
}

static void print_text(const struct plan *plan, const struct assessment *assessment,
		       const char *verdict)
{
	printf("%s: class %s, risk %s\n", verdict, class_name(assessment->class),
	       risk_name(assessment->risk));
	for (const char *const *reason = assessment->reasons; reason && *reason; reason++) {
		fputs("  ", stdout);
		output_text(COLOUR_NONE, *reason);
		putchar('\n');
	}
	if (plan->opaque) {
		fputs("  not all of it can be taken apart: ", stdout);
		output_text(COLOUR_NONE, plan->opaque_why);
		putchar('\n');
	}
}

int verb_check(int argc, char **argv)
{
	static const char *const verdicts[] = {"allow", "ask", "deny"};
	_cleanup_request_ struct request request;
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_error_ struct error *error = NULL;
	struct assessment assessment;
	struct plan plan;
	int r, status;

	request_init(&request);
	r = options_parse(argc, argv, &request, &error);
	if (r == 1) {
		printf("usage: ward check [OPTION...] -- COMMAND ARGUMENT...\n"
		       "       ward check [OPTION...] -c SCRIPT\n\n"
		       "Says what is known about a command and how it weighs; runs nothing. The "
		       "options are those of ward run.\n"
		       "Exits 0 allow, 1 ask, 2 deny, 125 error.\n\n  --json  one object on "
		       "standard output\n");
		return output_end("check", 0);
	}
	if (r < 0)
		return output_error("check", error);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, &assessment);
	status = assessment.class == CLASS_SAFE	 ? CHECK_ALLOW
		 : assessment.class == CLASS_ASK ? CHECK_ASK
						 : CHECK_DENY;
	output_begin();
	if (request.json) {
		json_t *object = check_object(&request, &plan, &assessment, verdicts[status]);

		output_json(object);
		json_decref(object);
	} else {
		print_text(&plan, &assessment, verdicts[status]);
	}
	return output_end("check", status);
}
