/* SPDX-License-Identifier: Apache-2.0 */
/* A plan held against the facts: the worst of them decides, all of them are told. */
#include "assess.h"
#include "facts.h"
#include "../base/path.h"

#include <string.h>

/* How far an assessment can be relied on, by what is known of the plan. */
static const double known = 0.9, partly_known = 0.7, unknown = 0.3;

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

/* What earlier commands of the plan have made ready for later ones. */
struct weighing {
	struct assessment *assessment;
	const struct fact *worst;    /* of the command at hand */
	const struct fact *heaviest; /* of all */
	bool downloaded, decoded, secrets, sql;
	const char *file; /* that a download was written to */
};

static void add_text(const char **texts, const char *text)
{
	for (; *texts; texts++)
		if (strcmp(*texts, text) == 0)
			return;
	*texts = text;
}

static bool is_heavier(const struct fact *fact, const struct fact *other)
{
	return !other || fact->class > other->class ||
	       (fact->class == other->class && fact->risk > other->risk);
}

static void apply(struct weighing *weighing, const struct fact *fact)
{
	struct assessment *assessment = weighing->assessment;

	assessment->class = MAX(assessment->class, fact->class);
	assessment->risk = MAX(assessment->risk, fact->risk);
	assessment->reversible &= !(fact->effects & FINAL);
	assessment->network |= (fact->effects & (NETWORK | REMOTE)) != 0;
	assessment->remote |= (fact->effects & REMOTE) != 0;
	if (fact->effects & FILES_HOME)
		assessment->files = MAX(assessment->files, REACH_HOME);
	if (fact->effects & FILES_SYSTEM)
		assessment->files = REACH_SYSTEM;
	add_text(assessment->categories, fact->category);
	add_text(assessment->reasons, fact->reason);
	if (is_heavier(fact, weighing->worst))
		weighing->worst = fact;
	if (is_heavier(fact, weighing->heaviest))
		weighing->heaviest = fact;
}

static bool is_sql_client(const char *name)
{
	return match_one(
		"psql mysql mariadb sqlite3 sqlcmd clickhouse-client duckdb redis-cli mongosh "
		"mongo cockroach",
		name);
}

/* The environment, or a file of secrets, on standard output. */
static bool shows_secrets(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool alone = first + 1 == command->argc ||
		     (first + 2 == command->argc && strcmp(command->argv[first + 1], "-p") == 0);
	bool file = command->argc > first + 1 &&
		    strcmp(path_last(command->argv[command->argc - 1]), ".env") == 0;

	return (match_one("env printenv export declare set", name) && alone) ||
	       (match_one("cat tar base64 gzip", name) && (file || reads_secret(command, first)));
}

/* Facts that need more than one command to be true. */
static void weigh_together(struct weighing *weighing, const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	if (weighing->downloaded && runs_input(command, first))
		apply(weighing, &fact_remote_code);
	if (weighing->file && runs_file(command, first, weighing->file))
		apply(weighing, &fact_remote_code);
	if (weighing->decoded && runs_input(command, first))
		apply(weighing, &fact_hidden_code);
	if (weighing->sql && is_sql_client(name))
		apply(weighing, &fact_sql_input);
	if (weighing->secrets && sends_input(command, first))
		apply(weighing, &fact_exfiltration);
	if (is_downloader(name)) {
		const char *file = download_file(command, first);

		weighing->downloaded = true;
		if (file)
			weighing->file = file;
	}
	weighing->decoded |= is_decoder(command, first);
	weighing->secrets |= shows_secrets(command, first);
	weighing->sql |= match_one("echo printf cat", name) && runs_ruinous_sql(command, first);
}

static void weigh_redirects(struct weighing *weighing, const struct command *command)
{
	struct assessment *assessment = weighing->assessment;

	for (size_t i = 0; i < command->redirect_count; i++) {
		const struct redirect *redirect = &command->redirects[i];

		if (strchr(redirect->operator, '>')) {
			if (is_disk(redirect->target))
				apply(weighing, &fact_disk_redirect);
			if (!match_one("[0-9] -", redirect->target))
				assessment->files =
					MAX(assessment->files, path_reach(redirect->target));
		} else if (strcmp(redirect->operator, "<") == 0 && is_secret(redirect->target)) {
			apply(weighing, &fact_secret_redirect);
		}
	}
}

/* Where the files lie that tools which only handle files are given. */
static void weigh_places(struct weighing *weighing, const struct command *command, size_t first)
{
	struct assessment *assessment = weighing->assessment;
	bool handles =
		match_one("cp mv install ln touch tee mkdir rmdir chmod chown chgrp rm truncate "
			  "rsync tar unzip sed",
			  path_last(command->argv[first]));

	assessment->files = MAX(assessment->files, REACH_WORKSPACE);
	for (size_t i = first + 1; handles && i < command->argc; i++)
		if (command->argv[i][0] != '-')
			assessment->files = MAX(assessment->files, path_reach(command->argv[i]));
}

/* The command itself, and the one behind each wrapper. */
static void weigh_command(struct weighing *weighing, const struct command *command)
{
	size_t first = 0;

	for (size_t level = 0; first < command->argc && level <= WRAPPER_LIMIT; level++) {
		size_t next = parse_wrapped(command, first);

		for (size_t i = 0; i < fact_count; i++)
			if (fact_matches(&facts[i], command, first))
				apply(weighing, &facts[i]);
		weigh_together(weighing, command, first);
		if (next == 0) {
			if (!only_reads(command, first)) {
				weighing->assessment->only_reads = false;
				weigh_places(weighing, command, first);
			}
			break;
		}
		first = next;
	}
	weigh_redirects(weighing, command);
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

/* A word of the kind that an unknown command line would be made of, if it were made to harm. */
static bool holds_dangerous_word(const char *text)
{
	static const char dangerous[] =
		"rm rmdir unlink shred dd mkfs wipefs blkdiscard fdisk sudo su doas pkexec curl "
		"wget nc "
		"ncat socat base64 base32 xxd openssl rev eval ssh scp shutdown reboot halt "
		"poweroff "
		"kill killall pkill chmod chown push publish destroy delete drop truncate id_rsa "
		"id_ed25519 terraform kubectl passwd shadow crontab systemctl";
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

	if (strstr(text, "$IFS") || strstr(text, "${IFS"))
		return true; /* only used to glue words that are not to be seen */
	while (*text) {
		size_t length = strspn(text, letters);

		if (length && parse_word_in(dangerous, text, length))
			return true;
		text += length ? length : 1;
	}
	return false;
}

static bool is_dangerous(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];

		for (size_t j = 0; j < command->argc; j++)
			if (holds_dangerous_word(command->argv[j]))
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
		apply(weighing, &fact_unread);
	else if (is_dangerous(plan))
		apply(weighing, &fact_unnamed);
}

void assess_plan(struct arena *arena, const struct plan *plan, struct assessment *ret_assessment)
{
	enum { BESIDE_THE_TABLE = 12, END = 1 };
	size_t most = fact_count + BESIDE_THE_TABLE + END;
	struct assessment assessment = {
		.categories = arena_new_array(arena, const char *, most),
		.reasons = arena_new_array(arena, const char *, most),
		.rules = arena_new_array(arena, const char *, plan->count + END),
		.reversible = true,
		.only_reads = true,
		.confidence = known,
	};
	struct weighing weighing = {.assessment = &assessment};

	for (size_t i = 0; i < plan->count; i++) {
		weighing.worst = NULL;
		weigh_command(&weighing, &plan->commands[i]);
		if (is_fork_bomb(plan, i))
			apply(&weighing, &fact_fork_bomb);
		if (plan->commands[i].dynamic)
			assessment.confidence = partly_known;
		if (weighing.worst)
			assessment.rules[i] = weighing.worst->name;
	}
	if (plan->opaque)
		weigh_opacity(arena, &weighing, plan);
	/* What was added last is why, where no fact weighs as much as the whole. */
	for (const char **reason = assessment.reasons; *reason; reason++)
		assessment.why = *reason;
	if (weighing.heaviest && weighing.heaviest->class == assessment.class)
		assessment.why = weighing.heaviest->reason;
	*ret_assessment = assessment;
}
