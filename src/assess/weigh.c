/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a tool weighed by what is known of the tool. */
#include "weigh.h"
#include "facts.h"
#include "../base/path.h"

#include <string.h>

static bool (*const tests[])(const struct call *call) = {
#define TEST_ENTRY(name) name,
	TOOL_TESTS(TEST_ENTRY)};

/* A call, and what has been seen among its words. */
struct reading {
	const struct call *call;
	size_t operands;
	size_t script; /* the place of a program that is a tool itself; 0 if there is none */
	bool harmless, recursive;
	bool edits;  /* what it reads it writes */
	bool worded; /* an operand is one of the words that say what is done */
	bool local;  /* it talks to this machine alone */
};

static void add_text(const char **texts, const char *text)
{
	for (; *texts; texts++)
		if (*texts == text || strcmp(*texts, text) == 0)
			return;
	*texts = text;
}

static bool is_heavier(const struct effect *effect, const struct effect *other)
{
	return !other || effect->class > other->class ||
	       (effect->class == other->class && effect->risk > other->risk);
}

void weigh_effect(struct weighing *weighing, enum effect_id id)
{
	struct assessment *assessment = weighing->assessment;
	const struct effect *effect = tool_effect(id);

	if (effect->bits & READS)
		weighing->reads = true;
	else
		weighing->changes = true;
	assessment->class = MAX(assessment->class, (enum class)effect->class);
	assessment->risk = MAX(assessment->risk, (enum risk)effect->risk);
	assessment->reversible &= !(effect->bits & FINAL);
	assessment->network |= (effect->bits & (NETWORK | REMOTE)) != 0;
	assessment->remote |= (effect->bits & REMOTE) != 0;
	if (effect->bits & FILES_HOME)
		assessment->files = MAX(assessment->files, REACH_HOME);
	if (effect->bits & FILES_SYSTEM)
		assessment->files = REACH_SYSTEM;
	if (effect->bits & COSTS)
		add_text(assessment->categories, "cost");
	if (!effect->reason)
		return;
	add_text(assessment->categories, tool_text(effect->category));
	add_text(assessment->reasons, tool_text(effect->reason));
	if (is_heavier(effect, weighing->worst))
		weighing->worst = effect;
	if (is_heavier(effect, weighing->heaviest)) {
		weighing->heaviest = effect;
		assessment->way_back = tool_text(effect->back);
	}
}

/* Deleting is weighed by what would be gone. */
static void weigh_deletion(struct weighing *weighing, const char *path, bool recursive)
{
	bool many = strpbrk(path, "*?[`") || strstr(path, "$(");

	if (is_disk(path))
		weigh_effect(weighing, EFFECT_DISK_FORMAT);
	else if (recursive && is_everything(path))
		weigh_effect(weighing, EFFECT_DELETE_EVERYTHING);
	else if (recursive && is_outside(path))
		weigh_effect(weighing, EFFECT_DELETE_OUTSIDE);
	else if (recursive && is_precious(path))
		weigh_effect(weighing, EFFECT_DELETE_DIRECTORIES);
	else if (many && is_precious(path))
		weigh_effect(weighing, EFFECT_DELETE_ALL_FILES);
}

void weigh_path(struct weighing *weighing, enum role role, const char *path, bool recursive)
{
	struct assessment *assessment = weighing->assessment;

	switch (role) {
	case ROLE_READS:
	case ROLE_SCRIPT:
		if (is_secret(path))
			weigh_effect(weighing, EFFECT_READ_CREDENTIALS);
		return;
	case ROLE_SENDS:
		if (is_secret(path) || strcmp(path_last(path), ".env") == 0)
			weigh_effect(weighing, EFFECT_SEND_CREDENTIALS);
		return;
	case ROLE_CODE:
		/* awk: print > FILE, print | COMMAND, system(COMMAND) */
		weighing->changes |= strpbrk(path, ">|") || strstr(path, "system");
		if (multiplies(path))
			weigh_effect(weighing, EFFECT_FORK_BOMB);
		else if (takes_control(path))
			weigh_effect(weighing, EFFECT_REMOTE_CONTROL);
		else if (is_ruinous_code(path))
			weigh_effect(weighing, EFFECT_INLINE_HARM);
		return;
	case ROLE_SQL:
		if (is_ruinous_sql(path))
			weigh_effect(weighing, EFFECT_DATABASE_RUIN);
		return;
	case ROLE_WRITES:
	case ROLE_CREATES:
		if (is_disk(path))
			weigh_effect(weighing, EFFECT_DISK_COPY);
		else if (match_one("/dev/loop[0-9]* /dev/zram* /dev/ram[0-9]*", path))
			weigh_effect(weighing, EFFECT_REPAIR_DISK);
		break;
	case ROLE_DELETES:
		weigh_deletion(weighing, path, recursive);
		break;
	case ROLE_CHANGES:
	case ROLE_MOVES:
		if (is_everything(path) && (recursive || role == ROLE_MOVES))
			weigh_effect(weighing, EFFECT_CHANGE_EVERYTHING);
		break;
	default:
		return;
	}
	if (role != ROLE_CHANGES && is_record(path))
		weigh_effect(weighing, EFFECT_HIDE_TRACES);
	if (role != ROLE_DELETES && role != ROLE_MOVES && is_startup(path))
		weigh_effect(weighing, EFFECT_PERSIST);
	assessment->files = MAX(assessment->files, path_reach(path));
	weighing->changes |= path_reach(path) != REACH_NONE;
}

/* curl -d @FILE, -F name=@FILE */
static const char *sent_file(const char *value)
{
	const char *file = strrchr(value, '@');

	return file ? file + 1 : value;
}

static void weigh_role(struct weighing *weighing, const struct reading *reading, enum role role,
		       const char *word)
{
	if (role == ROLE_SENDS && reading->local)
		return;
	weigh_path(weighing, role, role == ROLE_SENDS ? sent_file(word) : word, reading->recursive);
}

static bool is_harmless(const struct call *call, const struct word *word)
{
	for (size_t i = 0; i < call->depth; i++)
		if (word_is_option(word, tool_text(call->path[i]->harmless), true))
			return true;
	/* `helm install --version 1 x` installs */
	return !word->value &&
	       (word_is_option(word, "--help", true) ||
		(call->end == call->first + 2 && word_is_option(word, "--version", true)));
}

static enum role operand_role(const struct reading *reading, size_t i)
{
	const struct tool_node *node = call_node(reading->call);

	if (i + 1 == reading->operands && (i > 0 || node->first == node->rest))
		return reading->operands > 1 ? node->last : node->rest;
	return i == 0 ? node->first : node->rest;
}

static bool has_effect(const struct call *call, const struct word *word, enum effect_id id)
{
	const struct tool_rule *rule;

	for (size_t i = 0; i < call->depth; i++)
		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (rule->kind == RULE_FLAGS && rule->effect == id &&
			    word_is_option(word, tool_text(rule->pattern), false))
				return true;
	return false;
}

/* What must be known of the whole before its parts are weighed. */
static void look_over(const struct call *call, struct reading *reading)
{
	struct cursor cursor = {0};
	struct word word;
	size_t urls = 0, local = 0;

	while (call_next(call, &cursor, &word)) {
		if (!word.is_option) {
			reading->operands++;
			urls += call_node(call)->rest == ROLE_URL;
			local += call_node(call)->rest == ROLE_URL && is_loopback(word.text);
			continue;
		}
		reading->harmless |= is_harmless(call, &word);
		reading->edits |= has_effect(call, &word, EFFECT_EDITS);
		for (size_t i = 0; i < call->depth; i++)
			reading->recursive |=
				word_is_option(&word, tool_text(call->path[i]->recursive), false);
	}
	reading->recursive |= call_node(call)->always_recursive;
	reading->local = urls > 0 && urls == local;
}

static void weigh_rule(struct weighing *weighing, const struct reading *reading,
		       const struct tool_rule *rule)
{
	if (reading->local && tool_effect(rule->effect)->bits & REMOTE)
		return;
	weigh_effect(weighing, rule->effect);
}

/* Listed as it stands: it is no shortened form of another option. */
static bool is_listed(const struct call *call, const struct word *word)
{
	for (size_t i = 0; i < call->depth; i++) {
		const struct tool_rule *rule;

		if (word_is_option(word, tool_text(call->path[i]->values), true))
			return true;
		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (rule->kind == RULE_FLAGS &&
			    word_is_option(word, tool_text(rule->pattern), true))
				return true;
	}
	return false;
}

static void weigh_option(struct weighing *weighing, const struct reading *reading,
			 const struct word *word)
{
	const struct call *call = reading->call;
	bool exact = is_listed(call, word);

	for (size_t i = 0; i < call->depth; i++) {
		const struct tool_option *option;
		const struct tool_rule *rule;

		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (rule->kind == RULE_FLAGS &&
			    word_is_option(word, tool_text(rule->pattern), exact))
				weigh_rule(weighing, reading, rule);
		for (size_t j = 0; word->value && (option = tool_option(call->path[i], j)); j++)
			if (word_is_option(word, tool_text(option->names), true))
				weigh_role(weighing, reading, option->role, word->value);
	}
}

static void weigh_operand(struct weighing *weighing, struct reading *reading, size_t i,
			  const char *text)
{
	const struct call *call = reading->call;

	enum role role = operand_role(reading, i);

	weigh_role(weighing, reading, role == ROLE_READS && reading->edits ? ROLE_WRITES : role,
		   text);
	for (size_t level = 0; level < call->depth; level++) {
		const struct tool_rule *rule;

		for (size_t j = 0; (rule = tool_rule(call->path[level], j)); j++)
			if (rule->kind == RULE_WORDS && match_one(tool_text(rule->pattern), text)) {
				weigh_rule(weighing, reading, rule);
				reading->worded = true;
			}
	}
}

/* Something is to be done, and it is not known what. */
static bool is_other(const struct reading *reading)
{
	const struct call *call = reading->call;

	return !reading->worded &&
	       (call_node(call)->verb_count ? call->other : reading->operands > 0);
}

/* The verb is said to change nothing. */
static bool verb_reads(const struct call *call)
{
	const struct tool_rule *rule;

	for (size_t j = 0; (rule = tool_rule(call_node(call), j)); j++)
		if (rule->kind == RULE_ALWAYS && tool_effect(rule->effect)->bits & READS)
			return true;
	return false;
}

/* What a call does whatever its words are, or by what they are together. */
static void weigh_rules(struct weighing *weighing, const struct reading *reading, bool always)
{
	const struct call *call = reading->call;

	for (size_t i = 0; i < call->depth; i++) {
		const struct tool_rule *rule;
		bool innermost = i + 1 == call->depth;
		/* what is said of the verb counts before what is said of its tool in general */
		bool outdone = !innermost && verb_reads(call);

		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (always ? rule->kind == RULE_ALWAYS &&
					     !(outdone && !tool_effect(rule->effect)->reason)
				   : (rule->kind == RULE_OTHER && innermost && is_other(reading)) ||
					     (rule->kind == RULE_BARE && innermost && call->bare) ||
					     (rule->kind == RULE_TEST && tests[rule->test](call)))
				weigh_rule(weighing, reading, rule);
	}
}

/* The words of an xargs command are completed from its input. */
static bool takes_more_words(const struct call *call)
{
	for (size_t i = 0; i < call->first; i++)
		if (strcmp(path_last(call->command->argv[i]), "xargs") == 0)
			return true;
	return false;
}

static void weigh_words(struct weighing *weighing, struct reading *reading)
{
	const struct call *call = reading->call;
	struct cursor cursor = {0};
	struct word word;
	size_t operands = 0;

	while (call_next(call, &cursor, &word)) {
		if (word.is_option) {
			weigh_option(weighing, reading, &word);
			continue;
		}
		/* python manage.py flush, sh gradlew publish; the text of sh -c is a command of its
		 * own */
		if (operands == 0 && call_node(call)->first == ROLE_SCRIPT &&
		    !strpbrk(word.text, " \t\n") && tool_find(path_last(word.text)))
			reading->script = cursor.at - 1;
		weigh_operand(weighing, reading, operands++, word.text);
	}
	if (call_node(call)->rest == ROLE_DELETES && takes_more_words(call))
		weigh_effect(weighing,
			     reading->recursive ? EFFECT_DELETE_OUTSIDE : EFFECT_DELETE_UNSEEN);
}

/* The place of the tool that this one runs from a file; 0 if there is none. */
static size_t weigh_one(struct weighing *weighing, const struct command *command, size_t first,
			size_t end)
{
	struct call call;
	struct reading reading = {.call = &call};

	call_read(command, first, end, &call);
	if (call.depth == 0) {
		if (!weighing->assessment->unknown)
			weighing->assessment->unknown = path_last(command->argv[first]);
		weighing->changes = true;
		return 0;
	}
	look_over(&call, &reading);
	if (reading.harmless) {
		weigh_effect(weighing, EFFECT_READS);
		return 0;
	}
	weigh_rules(weighing, &reading, true);
	weigh_words(weighing, &reading);
	weigh_rules(weighing, &reading, false);
	if (call.other && !weighing->changes && !weighing->reads)
		weighing->assessment->unknown = command->argv[call.verbs[call.depth]];
	if (call.other && command->dynamic)
		weighing->hidden |= strpbrk(command->argv[call.verbs[call.depth]], "$`") != NULL;
	if (call.other && call_node(&call)->through)
		return call.verbs[call.depth];
	return reading.script;
}

void weigh_call(struct weighing *weighing, const struct command *command, size_t first, size_t end)
{
	enum { MOST_SCRIPTS = 4 };

	for (size_t i = 0; i < MOST_SCRIPTS; i++) {
		first = weigh_one(weighing, command, first, end);
		if (first == 0)
			break;
	}
}
