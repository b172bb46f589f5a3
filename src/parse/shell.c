/* SPDX-License-Identifier: Apache-2.0 */
/* Two readers of one text: the lexer, which knows what bash does, and the grammar, which knows
 * constructs the lexer only steps through. Where they agree the plan stands; where they do not, it
 * holds what either found and says so. */
#include "tree.h"
#include "lexer.h"

#include <stdlib.h>
#include <string.h>

enum { ODD_LIMIT = 512 };

/* Of a test, the grammar gives the sign only. */
static bool is_test(const struct command *command)
{
	return strcmp(command->argv[0], "[") == 0 || strcmp(command->argv[0], "[[") == 0;
}

static int compare_words(const struct command *a, const struct command *b)
{
	size_t words = MIN(a->argc, b->argc);

	if (is_test(a) || is_test(b))
		return strcmp(a->argv[0], b->argv[0]);
	for (size_t i = 0; i < words; i++) {
		int order = strcmp(a->argv[i], b->argv[i]);

		if (order)
			return order;
	}
	return (a->argc > b->argc) - (a->argc < b->argc);
}

static int compare(const void *a, const void *b)
{
	return compare_words(*(const struct command *const *)a, *(const struct command *const *)b);
}

/* Pointers to the commands that have words, in order of these. */
static const struct command **sorted(struct arena *arena, const struct plan *plan,
				     size_t *ret_count)
{
	const struct command **list =
		arena_new_array(arena, const struct command *, plan->count + 1);
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		if (plan->commands[i].argc)
			list[count++] = &plan->commands[i];
	qsort(list, count, sizeof(*list), compare);
	*ret_count = count;
	return list;
}

/* Removes what both lists hold from both. */
static void remove_common(const struct command **a, size_t *a_count, const struct command **b,
			  size_t *b_count)
{
	size_t i = 0, j = 0, a_left = 0, b_left = 0;

	while (i < *a_count && j < *b_count) {
		int order = compare_words(a[i], b[j]);

		if (order < 0) {
			a[a_left++] = a[i++];
		} else if (order > 0) {
			b[b_left++] = b[j++];
		} else {
			i++;
			j++;
		}
	}
	while (i < *a_count)
		a[a_left++] = a[i++];
	while (j < *b_count)
		b[b_left++] = b[j++];
	*a_count = a_left;
	*b_count = b_left;
}

/* `a >b c`: to the grammar c belongs to the redirection, to bash it is an argument. */
static bool begins_with(const struct command *whole, const struct command *start)
{
	if (whole->redirect_count == 0 || whole->argc <= start->argc)
		return false;
	for (size_t i = 0; i < start->argc; i++)
		if (strcmp(whole->argv[i], start->argv[i]) != 0)
			return false;
	return true;
}

static void remove_shortened(const struct command **whole, size_t *whole_count,
			     const struct command **start, size_t *start_count)
{
	size_t left = 0;

	for (size_t i = 0; i < *whole_count; i++) {
		size_t j = 0;

		while (j < *start_count && !begins_with(whole[i], start[j]))
			j++;
		if (j < *start_count)
			start[j] = start[--*start_count];
		else
			whole[left++] = whole[i];
	}
	*whole_count = left;
}

static struct command copied(struct arena *arena, const struct command *command)
{
	struct command copy = {
		.argc = command->argc, .dynamic = command->dynamic, .span = command->span};

	copy.argv = arena_new_array(arena, const char *, copy.argc + 1);
	for (size_t i = 0; i < copy.argc; i++)
		copy.argv[i] = arena_strdup(arena, command->argv[i]);
	return copy;
}

static void add_missing(struct arena *arena, struct plan *plan, const struct command **missing,
			size_t count)
{
	struct command *commands = arena_new_array(arena, struct command, plan->count + count + 1);

	if (plan->count)
		memcpy(commands, plan->commands, plan->count * sizeof(*commands));
	for (size_t i = 0; i < count; i++)
		commands[plan->count + i] = copied(arena, missing[i]);
	plan->commands = commands;
	plan->count += count;
}

/* The words of the first command that only one of them found. */
static const char *difference(struct arena *arena, const struct command *command)
{
	return arena_printf(arena, "its text can be read in two ways: is there a command '%.60s'?",
			    command->argv[0]);
}

/* Their words live as long as the program. */
static void copy_parts(struct arena *arena, struct plan *plan, const struct plan *tree)
{
	for (size_t i = 0; i < tree->opaque_count; i++)
		plan_opaque(arena, plan, tree->opaque_parts[i].opacity, tree->opaque_parts[i].why,
			    tree->opaque_parts[i].span);
}

/* Adds to the plan what only the grammar found. */
static void bring_together(struct arena *arena, struct plan *plan, const struct plan *tree)
{
	enum { COMMAND_LIMIT = 10000 };
	_cleanup_arena_ struct arena *scratch = arena_new();
	size_t ours, theirs;
	const struct command **mine = sorted(scratch, plan, &ours);
	const struct command **other = sorted(scratch, tree, &theirs);

	remove_common(mine, &ours, other, &theirs);
	if (ours < ODD_LIMIT && theirs < ODD_LIMIT)
		remove_shortened(mine, &ours, other, &theirs);
	if (tree->opaque)
		copy_parts(arena, plan, tree);
	if (theirs)
		plan_opaque(arena, plan, OPAQUE_DISPUTED, difference(arena, other[0]),
			    other[0]->span);
	else if (ours && !tree->opaque)
		plan_opaque(arena, plan, OPAQUE_DISPUTED, difference(arena, mine[0]),
			    mine[0]->span);
	theirs = MIN(theirs, COMMAND_LIMIT - plan->count);
	if (theirs)
		add_missing(arena, plan, other, theirs);
}

void parse_shell_within(struct arena *arena, const char *text, size_t length, uint64_t *time_us,
			struct plan *ret_plan)
{
	enum { TEXT_LIMIT = 1024 * 1024 };
	_cleanup_arena_ struct arena *scratch = NULL;
	struct plan tree;

	lex_shell(arena, text, length, ret_plan);
	if (length > TEXT_LIMIT || (length && memchr(text, '\0', length)))
		return;
	scratch = arena_new();
	tree_shell(scratch, text, length, time_us, &tree);
	bring_together(arena, ret_plan, &tree);
}

void parse_shell(struct arena *arena, const char *text, size_t length, struct plan *ret_plan)
{
	uint64_t time_us = PARSE_TIME_US;

	parse_shell_within(arena, text, length, &time_us, ret_plan);
	plan_mark_unnamed(arena, ret_plan);
}
