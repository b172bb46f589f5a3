/* SPDX-License-Identifier: Apache-2.0 */
/* What may change variables without looking like an assignment: arithmetic, ${x:=...}, the texts
 * that eval and traps run, commands whose name is in a variable. Where it cannot be told which
 * variable that is, all of them are in doubt. */
#include "learn.h"
#include "lexer.h"

#include <string.h>

enum { TEXT_DEPTH = 8 };

static bool is_name_part(char c)
{
	return is_name_start((unsigned char)c) || is_digit((unsigned char)c);
}

/* What stands behind a name assigns to it: =, :=, +=, <<=, ++ and the like, but not ==. */
static bool is_assigning(const char *at)
{
	static const char *const signs[] = {
		"++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", ":="};

	while (*at == ' ' || *at == '\t' || *at == '\n')
		at++;
	if (*at == '[')
		at = strchr(at, ']') ? strchr(at, ']') + 1 : at;
	while (*at == ' ' || *at == '\t' || *at == '\n')
		at++;
	for (size_t i = 0; i < ELEMENTS(signs); i++)
		if (strncmp(at, signs[i], strlen(signs[i])) == 0)
			return true;
	return at[0] == '=' && at[1] != '=' && at[1] != '~';
}

/* The next name that is assigned to, from *at on; NULL: none. */
static const char *next_assigned(const char *start, const char *at, size_t *ret_size)
{
	while (*at) {
		size_t size = 0;

		while (is_name_part(at[size]))
			size++;
		*ret_size = size;
		if (size && (is_assigning(at + size) ||
			     (at - start > 1 && strchr("+-", at[-1]) && at[-1] == at[-2])))
			return at;
		at += MAX(size, (size_t)1);
	}
	return NULL;
}

bool text_assigns(struct snippet text)
{
	size_t size;
	_cleanup_buffer_ struct buffer copy = {0};
	const char *dollar;

	buffer_add(&copy, text.text, text.length);
	dollar = strchr(buffer_text(&copy), '$');
	return dollar && next_assigned(dollar, dollar, &size);
}

void doubt_names(const struct learning *learning, const char *text, size_t length)
{
	_cleanup_buffer_ struct buffer joined = {0};
	const char *start, *at;
	size_t size;

	for (size_t i = 0; i < length; i++)
		if (text[i] == '\\' && i + 1 < length && text[i + 1] == '\n')
			i++;
		else
			buffer_add_char(&joined, text[i]);
	start = buffer_text(&joined);
	for (at = start; (at = next_assigned(start, at, &size)); at += size)
		learn_doubt(learning, at, size);
}

static void doubt_source(const struct learning *learning, struct snippet source)
{
	const char *text = source.text;

	for (size_t i = 0; text && i + 1 < source.length; i++)
		if (text[i] == '$' && strchr("{([\\", text[i + 1])) {
			doubt_names(learning, text + i, source.length - i);
			return;
		}
}

void doubt_expansions(const struct learning *learning)
{
	const struct command *command = learning->command;
	const char *name = command->argc ? command->argv[0] : "";

	for (size_t i = 0; command->sources && i < command->argc; i++)
		doubt_source(learning, command->sources[i]);
	for (size_t i = 0; command->assignment_sources && i < command->assignment_count; i++)
		doubt_source(learning, command->assignment_sources[i]);
	for (size_t i = 0; i < command->redirect_count; i++)
		doubt_source(learning, command->redirects[i].source);
	for (size_t i = 0; i < command->assignment_count; i++) {
		const char *subscript = strchr(command->assignments[i], '[');

		if (subscript)
			doubt_names(learning, subscript, strlen(subscript));
	}
	for (size_t i = 1; i < command->argc; i++)
		if (parse_word_in("[[ test [ let", name, strlen(name)))
			doubt_names(learning, command->argv[i], strlen(command->argv[i]));
	for (const struct spot *place = command->place; place; place = place->outer)
		if (place->kind == PLACE_LOOP && !place->name && place->values)
			doubt_names(learning, place->values->text, place->values->length);
}

/* Commands that another one runs in the same shell: what they write may hold afterwards. */
void scope_learn_outside(struct arena *arena, struct scope *scope, const struct command *outer,
			 const struct command *commands, size_t count, bool any_time)
{
	for (size_t i = 0; i < count; i++) {
		struct command copy = commands[i];
		struct learning learning = {arena, scope, &copy, outer->order};
		size_t before = scope->write_count;
		bool later = any_time;

		copy.conditional = true;
		copy.place = outer->place;
		scope->unsure |= scope_is_unnamed(&copy);
		for (const struct spot *place = commands[i].place; place; place = place->outer) {
			later |= place->kind == PLACE_FUNCTION;
			if (place->kind == PLACE_LOOP && place->name)
				learn_doubt(&learning, place->name, strlen(place->name));
			else if (place->kind == PLACE_LOOP && place->values)
				doubt_names(&learning, place->values->text, place->values->length);
		}
		scope_learn(arena, scope, &copy, outer->order);
		for (size_t j = before; j < scope->write_count; j++)
			scope->writes[j].any_time |= later;
	}
}

void doubt_text(const struct learning *learning, const char *text, bool any_time)
{
	struct scope *scope = learning->scope;
	struct command outer = *learning->command;
	size_t length = strlen(text);
	struct plan plan;

	/* each eval in an eval is looked at from every level above it */
	if (scope->depth >= TEXT_DEPTH || length > *scope->budget) {
		scope->unsure = true;
		return;
	}
	*scope->budget -= length;
	scope->depth++;
	outer.order = learning->order;
	lex_shell(learning->arena, text, length, &plan);
	scope->unsure |= plan.opaque;
	scope_learn_outside(learning->arena, scope, &outer, plan.commands, plan.count, any_time);
	scope->depth--;
}

/* $p -v x y, with p=printf: the command that it is, or doubt of everything. */
void scope_learn_unnamed(struct arena *arena, struct scope *scope, const struct command *command,
			 size_t order)
{
	struct where where = {
		.arena = arena, .scope = scope, .order = order, .place = command->place};
	struct words words = {0};

	do {
		struct command expanded;

		words = (struct words){0};
		expand_command(&where, command, &expanded, &words);
		if (words.too_much || words.unsure || words.live[0] || expanded.unnamed) {
			scope->unsure = true;
			return;
		}
		/* what its words assign to is learned already */
		expanded.assignment_count = 0;
		scope_learn(arena, scope, &expanded, order);
	} while (++where.variant < words.variants);
	/* what was made of values before all writes were known */
	for (size_t i = 0; i < scope->write_count; i++)
		if (scope->writes[i].source.text)
			scope->writes[i].resolved = false;
}
