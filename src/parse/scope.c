/* SPDX-License-Identifier: Apache-2.0 */
/* Which value a name has at some point of a text.
 *
 * A value is certain where an assignment surely came before and nothing else can have come between:
 * no other assignment that may or may not have happened, none later in a loop around, none in a
 * function. Where that is not so, a value that was assigned somewhere is a guess: worth weighing,
 * beside the word as it stands. */
#include "scope.h"
#include "lexer.h"
#include "../base/path.h"

#include <string.h>

enum { RESOLVE_DEPTH = 8 };

struct scope *scope_new(struct arena *arena, const struct where *outer, bool shares, size_t *budget)
{
	struct scope *scope = arena_alloc(arena, sizeof(*scope));

	*scope = (struct scope){.shares = shares, .budget = budget};
	if (outer) {
		scope->outer = outer->scope;
		scope->outer_order = outer->order;
		scope->outer_place = outer->place;
	}
	return scope;
}

static bool is_in(const struct spot *place, const struct spot *outer)
{
	while (place && place != outer)
		place = place->outer;
	return place == outer;
}

bool place_is_within(const struct spot *place, enum spot_kind kind)
{
	for (; place; place = place->outer)
		if (place->kind == kind)
			return true;
	return false;
}

/* Another write than the one that is looked at may have come later than it. */
static bool disturbs(const struct write *other, const struct where *where, size_t chosen)
{
	if (other->any_time)
		return true;
	if (place_is_within(other->place, PLACE_FUNCTION) && !is_in(where->place, other->place))
		return true;
	if (other->order >= where->order)
		return place_is_within(where->place, PLACE_LOOP) ||
		       place_is_within(where->place, PLACE_FUNCTION);
	return other->order > chosen;
}

/* One line of a list, which reads like a command. */
static void expand_list(const struct where *where, const struct command *command,
			struct write *write, struct words *words)
{
	write->unknown |= command->assignment_count || command->redirect_count || command->place;
	for (size_t i = 0; i < command->argc; i++) {
		write->unknown |= command->argv[i][0] == '['; /* [3]=x */
		if (command->sources[i].text)
			expand_word(where, command->sources[i], words);
		else
			words_add(where->arena, words, command->argv[i], false);
	}
}

/* The value of a list, or of a word that is yet to be expanded. */
static void resolve(const struct where *where, struct write *write)
{
	struct where inside = *where;
	struct words words = {0};
	struct snippet source = write->source;

	inside.order = write->order;
	inside.place = write->place;
	inside.depth++;
	write->busy = true;
	if (write->list) {
		/* (a b): the words between the parentheses */
		struct plan plan = {0};
		const char *text = arena_strndup(where->arena, source.text + 1, source.length - 2);

		lex_shell(where->arena, text, source.length - 2, &plan);
		write->unknown |= plan.opaque;
		for (size_t i = 0; i < plan.count; i++)
			expand_list(&inside, &plan.commands[i], write, &words);
	} else {
		expand_value(&inside, source, &words);
	}
	write->unknown |= words.unknown || words.too_much;
	write->depends |= words.unsure;
	write->items = words.items;
	write->count = words.count;
	write->resolved = true;
	write->busy = false;
}

/* Something in the loop gives its variable another value. */
static bool is_changed_in(const struct scope *scope, const struct spot *loop)
{
	for (size_t i = 0; i < scope->write_count; i++) {
		const struct write *write = &scope->writes[i];

		if (strcmp(write->name, loop->name) == 0 &&
		    !(write->loop && write->place == loop) &&
		    (write->any_time || is_in(write->place, loop) ||
		     place_is_within(write->place, PLACE_FUNCTION)))
			return true;
	}
	return scope->unsure;
}

/* A for loop of the same text around gives the name its values. */
static bool loop_value(const struct where *where, const char *name, struct value *ret_value)
{
	struct where outside = *where;

	for (const struct spot *place = where->place; place && place != where->scope->outer_place;
	     place = place->outer) {
		struct words words = {0};
		size_t which;

		if (place->kind != PLACE_LOOP || !place->name || strcmp(place->name, name) != 0)
			continue;
		outside.place = place->outer;
		outside.depth++;
		for (size_t i = 0;
		     place->values && i < MIN(place->value_count, (size_t)LOOP_VALUES); i++)
			expand_word(&outside, place->values[i], &words);
		if (words.count == 0 || words.unknown || words.too_much)
			return false;
		which = where->variant % words.count;
		*ret_value = (struct value){
			.items = &words.items[which],
			.count = 1,
			.certain = !words.unsure && place->value_count <= LOOP_VALUES &&
				   !is_changed_in(where->scope, place),
			.pattern = words.pattern,
			.variants = words.count,
		};
		return true;
	}
	return false;
}

static bool is_argument(const char *name)
{
	return name[0] == '@' || (name[0] >= '0' && name[0] <= '9');
}

bool scope_value(const struct where *where, const char *name, struct value *ret_value)
{
	struct scope *scope = where->scope;
	struct write *chosen = NULL;
	struct where outer = *where;

	*ret_value = (struct value){0};
	if (where->depth > RESOLVE_DEPTH || (*name != '@' && scope_is_special(name, strlen(name))))
		return false;
	if (loop_value(where, name, ret_value))
		return true;
	if (is_argument(name) && place_is_within(where->place, PLACE_FUNCTION)) {
		ret_value->argument = true;
		return false;
	}
	for (size_t i = 0; i < scope->write_count; i++) {
		struct write *write = &scope->writes[i];

		if (strcmp(write->name, name) == 0 && !write->busy &&
		    (!chosen || write->order < where->order))
			chosen = write;
	}
	if (!chosen) {
		if (!scope->outer)
			return false;
		outer.scope = (struct scope *)scope->outer;
		outer.order = scope->outer_order;
		outer.place = scope->outer_place;
		outer.depth++;
		if (is_argument(name) || !scope_value(&outer, name, ret_value))
			return false;
		ret_value->certain &= scope->shares;
		return true;
	}
	if (!chosen->resolved && !chosen->unknown)
		resolve(where, chosen);
	if (chosen->unknown)
		return false;
	*ret_value = (struct value){.items = chosen->items,
				    .count = chosen->count,
				    .list = chosen->list,
				    .certain = !scope->unsure && !chosen->depends &&
					       chosen->order < where->order &&
					       is_in(where->place, chosen->place)};
	for (size_t i = 0; ret_value->certain && i < scope->write_count; i++)
		/* x=1 leaves the other items of a list as they are */
		if (&scope->writes[i] != chosen && strcmp(scope->writes[i].name, name) == 0 &&
		    (disturbs(&scope->writes[i], where, chosen->order) ||
		     scope->writes[i].list != chosen->list))
			ret_value->certain = false;
	return true;
}

bool scope_writes(const struct scope *scope, const char *name)
{
	for (; scope; scope = scope->outer)
		for (size_t i = 0; i < scope->write_count; i++)
			if (strcmp(scope->writes[i].name, name) == 0)
				return true;
	return false;
}

bool scope_names_programs(const char *name)
{
	static const char *const starts[] = {"LD_", "GIT_", "BASH_"};

	/* Who did it and when, and whether to ask: names of git's that lead nowhere. */
	if (parse_word_in("GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL GIT_AUTHOR_DATE GIT_COMMITTER_NAME "
			  "GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT "
			  "GIT_MERGE_AUTOEDIT GIT_OPTIONAL_LOCKS",
			  name, strlen(name)))
		return false;
	for (size_t i = 0; i < ELEMENTS(starts); i++)
		if (strncmp(name, starts[i], strlen(starts[i])) == 0)
			return true;
	return parse_word_in("PATH HOME XDG_CONFIG_HOME ENV PS4 EDITOR VISUAL PAGER", name,
			     strlen(name));
}

bool scope_changes_programs(const struct scope *scope)
{
	for (size_t i = 0; i < scope->write_count; i++)
		if (scope_names_programs(scope->writes[i].name))
			return true;
	return false;
}

struct spot *scope_function(const struct scope *scope, const char *name)
{
	for (; scope; scope = scope->outer)
		for (size_t i = scope->function_count; i-- > 0;)
			if (strcmp(scope->functions[i].name, name) == 0)
				return scope->functions[i].body;
	return NULL;
}

const struct alias *scope_alias(const struct scope *scope, const char *name, size_t order)
{
	for (; scope; order = scope->outer_order, scope = scope->shares ? scope->outer : NULL)
		for (size_t i = scope->alias_count; i-- > 0;)
			if (scope->aliases[i].order < order &&
			    strcmp(scope->aliases[i].name, name) == 0)
				return &scope->aliases[i];
	return NULL;
}
