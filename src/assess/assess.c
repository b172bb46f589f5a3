/* SPDX-License-Identifier: Apache-2.0 */
/* A plan held against the facts: the worst of them decides, all of them are told. */
#include "assess.h"
#include "facts.h"

#include <string.h>

/* How far an assessment can be relied on, by what is known of the plan. */
static const double known = 0.9, partly_known = 0.7, unknown = 0.3;

static const char *const class_names[] = {
	[CLASS_SAFE] = "safe", [CLASS_ASK] = "ask", [CLASS_FORBIDDEN] = "forbidden"};
static const char *const risk_names[] = {[RISK_LOW] = "low",
					 [RISK_MEDIUM] = "medium",
					 [RISK_HIGH] = "high",
					 [RISK_CRITICAL] = "critical"};

const char *class_name(enum class class)
{
	return (size_t) class < ELEMENTS(class_names) ? class_names[class] : NULL;
}

const char *risk_name(enum risk risk)
{
	return (size_t)risk < ELEMENTS(risk_names) ? risk_names[risk] : NULL;
}

static void add_text(const char **texts, const char *text)
{
	for (; *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return;
	*texts = text;
}

static void apply(struct assessment *assessment, const struct fact *fact)
{
	assessment->class = MAX(assessment->class, fact->class);
	assessment->risk = MAX(assessment->risk, fact->risk);
	assessment->reversible &= !fact->final;
	add_text(assessment->categories, fact->category);
	add_text(assessment->reasons, fact->reason);
}

/* The command itself, and the one behind each wrapper. */
static void assess_command(struct assessment *assessment, const struct command *command,
			   bool *downloaded)
{
	size_t first = 0;

	while (first < command->argc) {
		for (size_t i = 0; i < fact_count; i++)
			if (fact_matches(&facts[i], command, first))
				apply(assessment, &facts[i]);
		if (*downloaded && facts_runs_input(command, first))
			apply(assessment, &fact_remote_code);
		*downloaded |= facts_is_downloader(command->argv[first]);
		first = parse_wrapped(command, first);
		if (first == 0)
			break;
	}
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strchr(command->redirects[i].operator, '>') &&
		    facts_is_disk(command->redirects[i].target))
			apply(assessment, &fact_disk_redirect);
}

static bool calls(const struct plan *plan, size_t i, const char *name)
{
	return i < plan->count && plan->commands[i].argc > 0 &&
	       strcmp(plan->commands[i].argv[0], name) == 0;
}

/* `f() { f | f & }; f`: a definition, its first two commands are calls of itself, and then it is
 * called. */
static bool is_fork_bomb(const struct plan *plan, size_t i)
{
	const struct command *command = &plan->commands[i];

	return calls(plan, i, "function") && command->argc == 2 &&
	       calls(plan, i + 1, command->argv[1]) && calls(plan, i + 2, command->argv[1]) &&
	       calls(plan, i + 3, command->argv[1]);
}

void assess_plan(struct arena *arena, const struct plan *plan, struct assessment *ret_assessment)
{
	enum { BESIDE_THE_TABLE = 4, END = 1 };
	size_t most = fact_count + BESIDE_THE_TABLE + END;
	struct assessment assessment = {
		.categories = arena_new_array(arena, const char *, most),
		.reasons = arena_new_array(arena, const char *, most),
		.reversible = true,
		.confidence = known,
	};
	bool downloaded = false;

	for (size_t i = 0; i < plan->count; i++) {
		assess_command(&assessment, &plan->commands[i], &downloaded);
		if (is_fork_bomb(plan, i))
			apply(&assessment, &fact_fork_bomb);
		if (plan->commands[i].dynamic)
			assessment.confidence = partly_known;
	}
	if (plan->opaque) {
		assessment.risk = MAX(assessment.risk, RISK_MEDIUM);
		assessment.confidence = unknown;
		add_text(assessment.categories, "unknown");
		add_text(assessment.reasons,
			 arena_printf(arena, "not all of it could be read: %s", plan->opaque_why));
	}
	*ret_assessment = assessment;
}
