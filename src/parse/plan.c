/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a request: what it says outright, and what the shells, wrappers and evals in it go on
 * to run. */
#include "plan.h"
#include "lexer.h"
#include "scope.h"
#include "tree.h"
#include "unwrap.h"
#include "../base/path.h"

#include <string.h>

enum {
	COMMAND_LIMIT = 10000,
	TEXT_LIMIT = 2 * 1024 * 1024, /* of all the texts inside texts together */
	EXPAND_LIMIT = 4 * 1024 * 1024,
	NESTING_LIMIT = 64,
};

static const char unnamed_why[] = "the name of a command is known only when it runs";

/* What the commands of a plan are looked into with. */
struct following {
	struct arena *arena;
	struct plan *plan;
	size_t room, text_size, budget;
	uint64_t time_us;
};

static void opaque(struct following *following, size_t by, enum opacity opacity, const char *why)
{
	plan_opaque(following->arena, following->plan, opacity, why,
		    following->plan->commands[by].span);
}

/* Room for so many more commands; fewer where there are too many. */
static size_t make_room(struct following *following, size_t by, size_t count)
{
	struct plan *plan = following->plan;
	size_t fits = MIN(count, COMMAND_LIMIT - MIN(plan->count, (size_t)COMMAND_LIMIT));

	if (fits < count)
		opaque(following, by, OPAQUE_UNREAD, "it holds too many commands");
	if (plan->count + fits > following->room) {
		struct command *bigger;

		following->room = (plan->count + fits) * 2;
		bigger = arena_new_array(following->arena, struct command, following->room);
		if (plan->count)
			memcpy(bigger, plan->commands, plan->count * sizeof(*bigger));
		plan->commands = bigger;
	}
	return fits;
}

/* The same command in other words. */
static void append_variant(struct following *following, size_t of, const struct command *variant)
{
	if (make_room(following, of, 1))
		following->plan->commands[following->plan->count++] = *variant;
}

/* What stands in nothing else now stands in this. */
static void put_into(struct command *command, const struct spot *place)
{
	struct spot *outermost = (struct spot *)command->place;

	if (!outermost) {
		command->place = place;
		return;
	}
	while (outermost->outer && outermost->outer != place)
		outermost = (struct spot *)outermost->outer;
	outermost->outer = place;
}

/* Adds what the command `by` runs; its wrappers and its own name are theirs too. */
static void append(struct following *following, size_t by, const struct command *commands,
		   size_t count, const struct inner *inner, struct scope *scope)
{
	struct plan *plan = following->plan;
	size_t fits, names = plan->commands[by].wrapper_count;
	const struct command *outer;
	const char **wrappers;
	struct spot *place;

	if (names >= NESTING_LIMIT) {
		opaque(following, by, OPAQUE_UNREAD, "texts that run texts are nested too deeply");
		return;
	}
	fits = make_room(following, by, count);
	if (fits == 0)
		return;
	outer = &plan->commands[by];
	wrappers = arena_new_array(following->arena, const char *, names + 2);
	if (names)
		memcpy(wrappers, outer->wrappers, names * sizeof(*wrappers));
	wrappers[names++] = outer->program < outer->argc ? path_last(outer->argv[outer->program])
							 : "assignment";
	place = arena_alloc(following->arena, sizeof(*place));
	*place = (struct spot){.kind = inner->kind,
			       .name = inner->name ? inner->name : wrappers[names - 1],
			       .outer = outer->place,
			       .pipeline = outer->pipeline,
			       .stage = outer->stage};
	for (size_t i = 0; i < fits; i++) {
		struct command *command = &plan->commands[plan->count++];

		*command = commands[i];
		command->wrappers = wrappers;
		command->wrapper_count = names;
		command->remote = inner->remote || outer->remote;
		command->span = outer->span;
		command->scope = scope;
		command->order = i + 1;
		put_into(command, place);
	}
}

static struct where where_of(const struct following *following, size_t i)
{
	const struct command *command = &following->plan->commands[i];

	return (struct where){.arena = following->arena,
			      .scope = command->scope,
			      .order = command->order,
			      .place = command->place};
}

static void learn(struct following *following, struct scope *scope, const struct command *commands,
		  size_t count)
{
	for (size_t i = 0; i < count; i++)
		scope_learn(following->arena, scope, &commands[i], i + 1);
	for (size_t i = 0; i < count; i++)
		if (scope_is_unnamed(&commands[i]))
			scope_learn_unnamed(following->arena, scope, &commands[i], i + 1);
}

/* x=1 before a command holds in the text that it runs. */
static void set_before(struct following *following, struct scope *scope,
		       const struct command *command, size_t i)
{
	const char *text = command->assignments[i];
	const char **value = arena_new_array(following->arena, const char *, 1);
	size_t length = strcspn(text, "=[+");
	bool known = text[length] == '=' &&
		     !(command->assignment_sources && command->assignment_sources[i].text);

	if (known)
		value[0] = text + length + 1;
	scope_set(following->arena, scope, arena_strndup(following->arena, text, length),
		  known ? value : NULL, known, false);
}

/* A text that the command i runs. */
static void follow_text(struct following *following, size_t i, const struct inner *inner)
{
	struct where where = where_of(following, i);
	struct scope *scope =
		scope_new(following->arena, &where, inner->shares, &following->budget);
	const struct command *outer = &following->plan->commands[i];
	struct plan text;

	following->text_size += inner->length;
	if (following->text_size > TEXT_LIMIT) {
		opaque(following, i, OPAQUE_UNREAD,
		       "the texts in it that run other texts are too long");
		return;
	}
	if (inner->read)
		lex_shell(following->arena, inner->text, inner->length, &text);
	else
		parse_shell_within(following->arena, inner->text, inner->length,
				   &following->time_us, &text);
	for (size_t part = 0; part < text.opaque_count; part++)
		opaque(following, i, text.opaque_parts[part].opacity, text.opaque_parts[part].why);
	for (size_t j = 0; j < outer->assignment_count; j++)
		set_before(following, scope, outer, j);
	if (inner->arguments)
		scope_set(following->arena, scope, "@", inner->arguments, inner->argument_count,
			  true);
	learn(following, scope, text.commands, text.count);
	if (inner->shares)
		scope_learn_outside(following->arena, outer->scope, outer, text.commands,
				    text.count, inner->kind == PLACE_TRAP);
	if (inner->more_words && text.count) {
		/* an alias: the words behind it are its last command's */
		struct command *last = &text.commands[text.count - 1];
		size_t more = inner->argument_count, had = last->argc;
		const char **argv = arena_new_array(following->arena, const char *, had + more + 1);

		if (had)
			memcpy(argv, last->argv, had * sizeof(*argv));
		for (size_t j = 0; j < more; j++)
			argv[had + j] = inner->arguments[j];
		last->sources = NULL;
		last->argv = argv;
		last->argc += more;
	}
	append(following, i, text.commands, text.count, inner, scope);
}

static bool is_looked_through(const struct command *command, const char *name)
{
	for (size_t i = 0; i < command->wrapper_count; i++)
		if (strcmp(command->wrappers[i], name) == 0)
			return true;
	return false;
}

/* A call of a function or an alias of the text: what it stands for, with the words of the call. */
static void follow_call(struct following *following, size_t i)
{
	struct command *command = &following->plan->commands[i];
	struct inner inner = {.shares = true};
	const struct alias *alias;
	struct spot *body;

	if (command->argc == 0 || strchr(command->argv[0], '/'))
		return;
	inner.arguments = command->argv + 1;
	inner.argument_count = command->argc - 1;
	body = scope_function(command->scope, command->argv[0]);
	if (body) {
		body->called = true;
		command->calls = body;
		if (!body->has_arguments || !body->text.length ||
		    is_looked_through(command, command->argv[0]))
			return;
		inner.text = body->text.text;
		inner.length = body->text.length;
		inner.kind = PLACE_CALL;
		inner.read = true;
		follow_text(following, i, &inner);
		return;
	}
	alias = scope_alias(command->scope, command->argv[0], command->order);
	if (!alias || is_looked_through(command, alias->name))
		return;
	inner.text = alias->text;
	inner.length = strlen(alias->text);
	inner.kind = PLACE_ALIAS;
	inner.more_words = true;
	follow_text(following, i, &inner);
}

static bool is_in_function(const struct command *command)
{
	for (const struct spot *place = command->place; place; place = place->outer)
		if (place->kind == PLACE_FUNCTION)
			return true;
	return false;
}

/* $SUDO rm -rf /: the first word may be nothing at all. */
static void follow_rest(struct following *following, size_t i)
{
	const struct command *command = &following->plan->commands[i];
	struct command rest = *command;
	const struct snippet *first = command->sources;

	if (command->argc < 2 || !first || first->length < 2 || first->text[0] != '$' ||
	    (!is_name_start(first->text[1]) && first->text[1] != '{') ||
	    (first[1].text && strpbrk(command->argv[1], "$`")) ||
	    !(is_name_start(command->argv[1][0]) || command->argv[1][0] == '/'))
		return;
	rest.argv++;
	rest.argc--;
	rest.sources++;
	rest.unnamed = false;
	rest.guess = true;
	append_variant(following, i, &rest);
}

/* What it may be matters where that says which program runs, or what the program is to do. */
static bool is_worth_a_guess(const struct command *written, const struct command *guess)
{
	static const char harmless[] =
		"echo printf test [ [[ cd export local : true false return exit";

	if (written->unnamed)
		return true;
	/* a verb, by the look of it */
	return guess->argc > 1 && written->argc > 1 && is_name_start(guess->argv[1][0]) &&
	       !strpbrk(guess->argv[1], "/.$") &&
	       !parse_word_in(harmless, written->argv[0], strlen(written->argv[0])) &&
	       strcmp(guess->argv[1], written->argv[1]) != 0;
}

/* The command's words as far as they are known, in its place; where they may be others too, beside
 * it. */
static void follow_words(struct following *following, size_t i)
{
	struct where where = where_of(following, i);
	struct command expanded, *command = &following->plan->commands[i];
	const struct command written = *command;
	struct words words = {0};

	if (command->argc == 0 || command->guess)
		return;
	expand_command(&where, command, &expanded, &words);
	if (!words.too_much && !words.unsure) {
		*command = expanded;
	} else if (!words.too_much && is_worth_a_guess(&written, &expanded)) {
		expanded.guess = true;
		append_variant(following, i, &expanded);
	}
	for (where.variant = 1; !words.too_much && where.variant < words.variants;
	     where.variant++) {
		struct words others;

		expand_command(&where, &written, &expanded, &others);
		expanded.guess = words.unsure;
		if (!others.too_much && (!words.unsure || is_worth_a_guess(&written, &expanded)))
			append_variant(following, i, &expanded);
	}
	command = &following->plan->commands[i];
	if (!command->unnamed || (words.argument && is_in_function(command)))
		return;
	opaque(following, i, OPAQUE_NAME, unnamed_why);
	follow_rest(following, i);
}

/* What is appended is looked into in its turn. */
static void follow(struct following *following, size_t i)
{
	struct plan *plan = following->plan;
	struct command command;
	struct inner inner;
	size_t at = 0;

	if (command_renames(&plan->commands[i]))
		opaque(following, i, OPAQUE_NAME,
		       "it changes what the names of commands mean, or hides some in a variable");
	if (plan->commands[i].dynamic)
		follow_words(following, i);
	unwrap_names(following->arena, plan, &plan->commands[i]);
	follow_call(following, i);
	inner = (struct inner){.kind = PLACE_TEXT};
	while (unwrap_words(following->arena, &plan->commands[i], &at, &command))
		append(following, i, &command, 1, &inner, plan->commands[i].scope);
	inner = (struct inner){.kind = PLACE_INPUT};
	if (input_text(following->arena, plan, i, &inner))
		follow_text(following, i, &inner);
	for (size_t which = 0; unwrap_text(following->arena, plan, i, which, &inner); which++)
		follow_text(following, i, &inner);
}

/* Variables are written, files are read or tables are changed by which the shell finds programs. */
static bool changes_programs(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];

		if ((i == 0 || command->scope != plan->commands[i - 1].scope) &&
		    scope_changes_programs(command->scope))
			return true;
		if (command->argc > 1 && parse_word_in("source . hash enable", command->argv[0],
						       strlen(command->argv[0])))
			return true;
	}
	return false;
}

void parse_request(struct arena *arena, const struct request *request, struct plan *ret_plan)
{
	struct plan plan = {0};
	struct following following = {
		.arena = arena, .plan = &plan, .time_us = PARSE_TIME_US, .budget = EXPAND_LIMIT};
	struct scope *scope = scope_new(arena, NULL, false, &following.budget);

	if (request->mode == MODE_SHELL) {
		const char *script = request->script ? request->script : "";

		parse_shell_within(arena, script, strlen(script), &following.time_us, &plan);
		learn(&following, scope, plan.commands, plan.count);
	} else if (request->argv.count) {
		const struct list *argv = &request->argv;

		plan.commands = arena_new_array(arena, struct command, 1);
		plan.commands->argv = arena_new_array(arena, const char *, argv->count + 1);
		for (size_t i = 0; i < argv->count; i++)
			plan.commands->argv[i] = arena_strdup(arena, argv->items[i]);
		plan.commands->argc = argv->count;
		plan.count = 1;
	}
	following.room = plan.count;
	for (size_t i = 0; i < plan.count; i++) {
		plan.commands[i].scope = scope;
		plan.commands[i].order = i + 1;
	}
	for (size_t i = 0; i < plan.count && following.text_size <= TEXT_LIMIT; i++)
		follow(&following, i);
	plan.alters = changes_programs(&plan);
	plan.workspace = request->workspace ? arena_strdup(arena, request->workspace) : NULL;
	plan.cwd = request->cwd ? arena_strdup(arena, request->cwd) : NULL;
	*ret_plan = plan;
}

void plan_mark_unnamed(struct arena *arena, struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->commands[i].unnamed)
			plan_opaque(arena, plan, OPAQUE_NAME, unnamed_why, plan->commands[i].span);
}
