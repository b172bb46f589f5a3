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

static const char lookups[] = "dig host nslookup drill ping whois finger";

/* Tools that ask other machines, and tell them something by what they ask. */
static bool is_asking(const char *name)
{
	return is_downloader(name) || match_one(lookups, name);
}

/* dig $x.example.org: a name that is put together. */
static bool has_variable(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (strchr(command->argv[i], '$'))
			return true;
	return false;
}

static bool has_substitution(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (strstr(command->argv[i], "$(") || strchr(command->argv[i], '`'))
			return true;
	return false;
}

static bool reads_null(const struct command *command)
{
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strcmp(command->redirects[i].operator, "<") == 0 &&
		    strcmp(command->redirects[i].target, "/dev/null") == 0)
			return true;
	return false;
}

/* : and true, cat /dev/null, echo -n */
static bool says_nothing(const struct command *command)
{
	const char *name = command->argc ? path_last(command->argv[0]) : "";

	if (command->argc == 1)
		return match_one(": true", name) || (match_one("cat", name) && reads_null(command));
	return command->argc == 2 &&
	       ((match_one("cat", name) && strcmp(command->argv[1], "/dev/null") == 0) ||
		(match_one("echo", name) && match_one("-n", command->argv[1])) ||
		(match_one("printf", name) && !*command->argv[1]));
}

/* echo > FILE: one line that nobody wants. */
static bool says_no_more_than_a_line(const struct command *command)
{
	return (command->argc == 1 || (command->argc == 2 && !*command->argv[1])) &&
	       match_one("echo", path_last(command->argv[0]));
}

/* curl URL | tar x; cd DIR; ./install.sh: as if it were curl URL | sh. */
static void weigh_unpacked(struct weighing *weighing, const struct command *command, size_t first)
{
	bool piped = weighing->fetching && weighing->fetching == command->pipeline, flat;
	const char *to;

	if (weighing->unpacked && strcmp(path_last(command->argv[first]), "cd") == 0)
		weighing->entered = enters(command, weighing->unpacked_to);
	else if (weighing->unpacked &&
		 runs_unpacked(command, first, weighing->unpacked_to, weighing->entered))
		weigh_effect(weighing, EFFECT_REMOTE_CODE);
	else if (weighing->downloaded &&
		 unpacks(command, first, piped, weighing->file, &to, &flat)) {
		weighing->unpacked = true;
		weighing->unpacked_to = to;
		weighing->entered = flat && !to;
	} else if (piped && stored_by(command, first)) {
		weighing->file = stored_by(command, first); /* curl URL | gunzip > FILE */
	}
}

/* Facts that need more than one command to be true. */
static void weigh_together(struct weighing *weighing, const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	/* npx https://HOST/PACKAGE: no registry has seen it */
	if (first > 0 && strstr(command->argv[first], "://"))
		weigh_effect(weighing, EFFECT_REMOTE_CODE);
	if (weighing->downloaded && runs_input(command, first))
		weigh_effect(weighing, EFFECT_REMOTE_CODE);
	if (weighing->file && runs_file(command, first, weighing->file))
		weigh_effect(weighing, EFFECT_REMOTE_CODE);
	if (weighing->decoded && runs_input(command, first))
		weigh_effect(weighing, EFFECT_HIDDEN_CODE);
	if (command->unseen && first == command->program &&
	    (is_shell(name) || runs_recipes(name) || strchr(command->argv[first], '/')))
		weigh_effect(weighing, EFFECT_PIPED_CODE);
	if (weighing->shown && is_asking(name) && has_substitution(command, first))
		weigh_effect(weighing, EFFECT_SEND_DATA);
	/* a file in pieces that fit into names */
	if (weighing->encoded && match_one(lookups, name) && has_variable(command, first))
		weigh_effect(weighing, EFFECT_SEND_DATA);
	if (weighing->sql && is_sql_client(name))
		weigh_effect(weighing, EFFECT_DATABASE_RUIN);
	if (weighing->secrets && sends_input(command, first))
		weigh_effect(weighing, EFFECT_SEND_ENVIRONMENT);
	/* sh -i | openssl s_client: what a shell prints goes to another machine */
	if (weighing->shell && weighing->shell == command->pipeline &&
	    match_one("openssl gnutls-cli stunnel websocat", name))
		weigh_effect(weighing, EFFECT_REMOTE_CONTROL);
	if (is_shell(name) && command->stage < (command->pipeline ? command->pipeline->stages : 0))
		weighing->shell = command->pipeline;
	weigh_unpacked(weighing, command, first);
	if (is_downloader(name)) {
		const char *file = download_file(command, first);

		weighing->downloaded = true;
		weighing->fetching = command->pipeline;
		if (file)
			weighing->file = file;
	}
	/* : | tee FILE */
	if (weighing->nothing && weighing->nothing == command->pipeline && match_one("tee", name) &&
	    !match_flag(command, first, "-a --append") &&
	    match_operand(command, first, is_precious))
		weigh_effect(weighing, EFFECT_EMPTY_FILE);
	if (says_nothing(command) && command->pipeline && command->pipeline->stages > 1)
		weighing->nothing = command->pipeline;
	if (match_one("read mapfile readarray", name))
		weighing->read = command;
	if (strcmp(name, "cd") == 0)
		weighing->moved = command;
	weighing->decoded |= is_decoder(command, first);
	weighing->encoded |= match_one("xxd od hexdump base64 base32 basenc", name);
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
static bool prints_nothing(const struct weighing *weighing, const struct command *command,
			   const char *target)
{
	if (says_nothing(command))
		return true;
	/* no words of its own: > FILE, if it is not what a group of commands is written to; files
	 * that are made anew before something is added to them, or marked, are named */
	if (command->argc ? !says_no_more_than_a_line(command) : command->of != NULL)
		return false;
	return weighing->alone || (command->argc == 0 && strpbrk(target, "$`*?"));
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
			    prints_nothing(weighing, command, redirect->target) &&
			    path_reach(redirect->target) != REACH_NONE &&
			    is_precious_or_found(redirect->target))
				weigh_effect(weighing, EFFECT_EMPTY_FILE);
		} else if (strcmp(redirect->operator, "<") == 0) {
			weigh_path(weighing, ROLE_READS, redirect->target, false);
		}
	}
}

/* The command itself, and the one behind each wrapper. */
static void weigh_command(struct weighing *weighing, const struct command *command)
{
	struct assessment *assessment = weighing->assessment;
	size_t first = 0;

	weighing->command = command;
	weighing->changes = false;
	weighing->other_user = false;
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
	weigh_redirects(weighing, command);
	/* python3 <<END, echo ... | psql */
	for (size_t i = 0; i < command->code_count; i++)
		weigh_path(weighing,
			   strcmp(command->codes[i].language, "sql") == 0 ? ROLE_SQL : ROLE_CODE,
			   command->codes[i].text, false);
	if (weighing->other_user)
		weigh_effect(weighing, weighing->changes || !weighing->reads || weighing->worst ||
						       command->assignment_count
					       ? EFFECT_OTHER_USER
					       : EFFECT_READS_AS_OTHER_USER);
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

/* What stands in a here-document may come back as a command through a variable. */
static bool reads_variables(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->commands[i].argc &&
		    match_one("read mapfile readarray exec", plan->commands[i].argv[0]))
			return true;
	return false;
}

static bool is_dangerous(const struct plan *plan)
{
	bool reads = reads_variables(plan);

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
		for (size_t j = 0; reads && j < command->redirect_count; j++)
			if (strncmp(command->redirects[j].operator, "<<", 2) == 0 &&
			    holds_dangerous_word(command->redirects[j].target))
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

void assess_host_loopback(struct assessment *assessment)
{
	struct weighing weighing = {.assessment = assessment};

	weigh_effect(&weighing, EFFECT_HTTP_WRITE_HERE);
	assessment->only_reads = false;
	assessment->why = tool_text(weighing.worst->reason);
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
	struct weighing weighing = {.assessment = &assessment,
				    .workspace = plan->workspace,
				    .cwd = plan->cwd,
				    .alone = plan->count == 1};

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
