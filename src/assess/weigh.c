/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a tool weighed by what is known of the tool. */
#include "weigh.h"
#include "facts.h"
#include "../base/path.h"

#include <stdio.h>
#include <stdlib.h>
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
	bool edits;	 /* what it reads it writes */
	bool worded;	 /* an operand is one of the words that say what is done */
	bool local;	 /* it talks to this machine alone */
	const char *url; /* the last */
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

/* Where an earlier command in the same place has gone; NULL where none has. */
static const char *moved_to(const struct weighing *weighing)
{
	const struct command *moved = weighing->moved;

	return moved && moved->argc == 2 && moved->place == weighing->command->place
		       ? moved->argv[1]
		       : NULL;
}

/* Whether a path with .. at its start leads to something in the workspace: from where the plan
 * starts, or has gone. */
static bool leads_inside(const struct weighing *weighing, const char *path)
{
	const char *moved = moved_to(weighing), *to = moved ? moved : ".";
	_cleanup_free_ char *from = NULL, *whole = NULL;

	if (!weighing->cwd || strpbrk(to, "$`~*?") || strpbrk(path, "$`"))
		return false;
	from = path_resolve(weighing->cwd, NULL, to);
	whole = path_resolve(from, NULL, path);
	return path_is_under(whole, weighing->workspace) && strcmp(whole, weighing->workspace) != 0;
}

/* A path in the workspace as it is called there; others as they stand. */
static const char *from_here(const struct weighing *weighing, const char *path)
{
	const char *workspace = weighing->workspace;

	if (!workspace || is_everything(workspace))
		return path;
	if (strncmp(path, "../", 3) == 0 && leads_inside(weighing, path)) {
		while (strncmp(path, "../", 3) == 0)
			path += 3;
		return path;
	}
	if (path[0] != '/' || !path_is_under(path, workspace) || strstr(path, ".."))
		return path;
	path += strlen(workspace);
	return *path && path[1] ? path + 1 : ".";
}

/* while read -r f; do rm "$f": the value of a variable that read fills. */
static bool is_read_name(const struct weighing *weighing, const char *path)
{
	const struct command *read = weighing->read;
	const char *name = strchr(path, '$');
	size_t length;

	if (!read || !name)
		return false;
	name += name[1] == '{' ? 2 : 1;
	length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	for (size_t i = 1; i < read->argc; i++)
		if (read->argv[i][0] != '-' && strlen(read->argv[i]) == length &&
		    strncmp(read->argv[i], name, length) == 0)
			return true;
	return length == strlen("REPLY") && strncmp(name, "REPLY", length) == 0;
}

/* cd / && rm -rf * */
static bool is_everything_there(const struct weighing *weighing, const char *path)
{
	_cleanup_free_ char *there = NULL;
	const char *to = moved_to(weighing);

	if (!to || strchr("/~$", path[0]))
		return false;
	if (asprintf(&there, "%s/%s", to, path) < 0)
		abort();
	return is_everything(there);
}

/* Deleting is weighed by what would be gone. */
static void weigh_deletion(struct weighing *weighing, const char *path, bool recursive)
{
	bool many = strpbrk(path, "*?[`") || strstr(path, "$(");

	path = from_here(weighing, path);
	if (is_disk(path))
		weigh_effect(weighing, EFFECT_DISK_FORMAT);
	else if (recursive && (is_everything(path) || is_everything_there(weighing, path)))
		weigh_effect(weighing, EFFECT_DELETE_EVERYTHING);
	else if (recursive && is_outside(path))
		weigh_effect(weighing, EFFECT_DELETE_OUTSIDE);
	else if (recursive && is_precious(path))
		weigh_effect(weighing, EFFECT_DELETE_DIRECTORIES);
	else if (many && is_precious(path))
		weigh_effect(weighing, EFFECT_DELETE_ALL_FILES);
	else if (is_of_git(path))
		weigh_effect(weighing, EFFECT_DELETE_FROM_GIT);
	else if (is_elsewhere(path) && is_precious(path))
		weigh_effect(weighing, EFFECT_DELETE_FILES_OUTSIDE);
	else if (is_read_name(weighing, path) && is_precious(path))
		weigh_effect(weighing, EFFECT_DELETE_UNSEEN);
}

static void weigh_code(struct weighing *weighing, const char *text)
{
	static const struct {
		bool (*holds)(const char *text);
		enum effect_id effect;
	} harms[] = {
		{multiplies, EFFECT_FORK_BOMB},	       {takes_control, EFFECT_REMOTE_CONTROL},
		{is_ruinous_code, EFFECT_INLINE_HARM}, {runs_download, EFFECT_REMOTE_CODE},
		{runs_decoded, EFFECT_HIDDEN_CODE},    {sends_from_code, EFFECT_SEND_DATA},
	};

	_cleanup_free_ char *joined = joined_strings(text);

	/* awk: print > FILE, print | COMMAND, system(COMMAND) */
	weighing->changes |= strpbrk(text, ">|") || strstr(text, "system");
	for (size_t i = 0; i < ELEMENTS(harms); i++)
		if (harms[i].holds(text) || harms[i].holds(joined)) {
			weigh_effect(weighing, harms[i].effect);
			return;
		}
}

void weigh_path(struct weighing *weighing, enum role role, const char *path, bool recursive)
{
	struct assessment *assessment = weighing->assessment;

	switch (role) {
	case ROLE_SCRIPT: /* what it says nobody has read: awk -f, sed -f */
		weighing->changes = true;
		/* fall through */
	case ROLE_READS:
		if (is_secret(path))
			weigh_effect(weighing, EFFECT_READ_CREDENTIALS);
		return;
	case ROLE_SENDS:
		if (is_secret(path) || strcmp(path_last(path), ".env") == 0)
			weigh_effect(weighing, EFFECT_SEND_CREDENTIALS);
		return;
	case ROLE_CODE:
		weigh_code(weighing, path);
		return;
	case ROLE_SQL:
		if (is_ruinous_sql(path))
			weigh_effect(weighing, EFFECT_DATABASE_RUIN);
		return;
	case ROLE_WRITES:
	case ROLE_REPLACES:
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
		else if (role == ROLE_CHANGES && recursive &&
			 is_elsewhere(from_here(weighing, path)))
			weigh_effect(weighing, EFFECT_CHANGE_OUTSIDE);
		break;
	default:
		return;
	}
	if (role != ROLE_CHANGES && is_record(path))
		weigh_effect(weighing, EFFECT_HIDE_TRACES);
	if (role != ROLE_DELETES && role != ROLE_MOVES && is_startup(path))
		weigh_effect(weighing, EFFECT_PERSIST);
	else if (role != ROLE_READS && is_program(path))
		weigh_effect(weighing, EFFECT_SYSTEM_PROGRAMS);
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

/* The port that a URL names, or the one that its scheme has. */
static uint16_t port_of(const char *url)
{
	const char *start = strstr(url, "://"), *colon, *end;

	start = start ? start + 3 : url;
	end = start + strcspn(start, "/?#");
	while ((colon = memchr(start, '@', (size_t)(end - start))))
		start = colon + 1;
	for (colon = end; colon > start && strchr("0123456789", colon[-1]); colon--)
		;
	if (colon > start && colon[-1] == ':' && colon < end)
		return (uint16_t)strtoul(colon, NULL, 10);
	return strncmp(url, "https:", 6) == 0 ? 443 : 80;
}

static void note_here(struct assessment *assessment, uint16_t port)
{
	for (size_t i = 0; i < assessment->here_count; i++)
		if (assessment->here[i] == port)
			return;
	if (assessment->here_count < HERE_MOST)
		assessment->here[assessment->here_count++] = port;
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

static bool is_word_of(const struct call *call, const char *text)
{
	const struct tool_rule *rule;

	for (size_t i = 0; i < call->depth; i++)
		for (size_t j = 0; (rule = tool_rule(call->path[i], j)); j++)
			if (rule->kind == RULE_WORDS && match_one(tool_text(rule->pattern), text))
				return true;
	return false;
}

/* An operand that is a URL; where only the first is one, words for methods may stand before it. */
static bool is_address(const struct call *call, const struct word *word, size_t urls)
{
	const struct tool_node *node = call_node(call);

	return node->rest == ROLE_URL ||
	       (node->first == ROLE_URL && urls == 0 && !is_word_of(call, word->text));
}

/* What must be known of the whole before its parts are weighed. */
static void look_over(const struct call *call, struct reading *reading)
{
	struct cursor cursor = {0};
	struct word word;
	size_t urls = 0, local = 0;
	bool redirected = false;

	while (call_next(call, &cursor, &word)) {
		if (!word.is_option) {
			reading->operands++;
			if (is_address(call, &word, urls)) {
				urls++;
				local += is_loopback(word.text);
				reading->url = word.text;
			}
			continue;
		}
		redirected |= has_effect(call, &word, EFFECT_REDIRECTED);
		reading->harmless |= is_harmless(call, &word);
		reading->edits |= has_effect(call, &word, EFFECT_EDITS);
		for (size_t i = 0; i < call->depth; i++)
			reading->recursive |=
				word_is_option(&word, tool_text(call->path[i]->recursive), false);
	}
	reading->recursive |= call_node(call)->always_recursive;
	reading->local = urls > 0 && urls == local && !redirected;
}

static void weigh_rule(struct weighing *weighing, const struct reading *reading,
		       const struct tool_rule *rule)
{
	if (reading->local && tool_effect(rule->effect)->bits & REMOTE) {
		note_here(weighing->assessment, port_of(reading->url));
		return;
	}
	/* how much that weighs is known when the command behind it is */
	if (rule->effect == EFFECT_OTHER_USER &&
	    parse_wrapped(reading->call->command, reading->call->first))
		weighing->other_user = true;
	else
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
	if (call_node(call)->rest == ROLE_DELETES && call_takes_more(call))
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
		/* of a function that the text defines all is known */
		if (!weighing->assessment->unknown && !command->calls &&
		    !(command->unnamed && first == 0))
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
