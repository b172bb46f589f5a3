/* SPDX-License-Identifier: Apache-2.0 */
/* Places that commands stand in, as the lexer opens and closes them. */
#include "draft.h"

#include <string.h>

enum { PLACE_LIMIT = 500 };

static void open_place(struct lexer *lexer, enum spot_kind kind, const char *name)
{
	struct spot *place = arena_alloc(lexer->state->arena, sizeof(*place));

	*place = (struct spot){
		.kind = kind,
		.name = name,
		.outer = lexer->place,
		.pipeline = lex_pipeline(lexer),
		.stage = lexer->stage,
		.depth = lexer->place ? lexer->place->depth + 1 : 1,
		.conditional = lexer->conditional,
		.text = {lexer->text + lexer->word_start, 0},
	};
	if (place->depth > PLACE_LIMIT)
		lex_stop(lexer, "it is nested too deeply");
	lexer->place = place;
	lexer->pipeline = NULL;
	lexer->conditional = false;
	lexer->closed = NULL;
}

/* A place of a coprocess around what comes next. */
void lex_open_coprocess(struct lexer *lexer)
{
	lexer->coprocess = false;
	open_place(lexer, PLACE_COPROCESS, lexer->coprocess_name);
}

void lex_open(struct lexer *lexer, enum spot_kind kind, const char *name)
{
	const char *function = lexer->function;

	if (lexer->coprocess && kind <= PLACE_CASE) {
		lex_open_coprocess(lexer);
		lexer->function = NULL;
		open_place(lexer, kind, name);
		lexer->place->ends_outer = true;
		return;
	}

	lexer->function = NULL;
	if (function && kind <= PLACE_CASE) {
		open_place(lexer, PLACE_FUNCTION, function);
		if (kind == PLACE_GROUP) {
			lexer->place->braces = true;
			lexer->place->text.text = lexer->text + lexer->at;
			return;
		}
		open_place(lexer, kind, name);
		lexer->place->ends_outer = true;
		return;
	}
	open_place(lexer, kind, name);
}

/* $1, ${2}, $@, $*, "$#": a function that looks at none of them does the same at each call. */
static bool has_arguments(const struct snippet *text)
{
	const char *end = text->text + text->length;

	for (const char *at = text->text; at < end && (at = memchr(at, '$', (size_t)(end - at)));) {
		at++;
		at += at < end && *at == '{';
		at += at < end && (*at == '#' || *at == '!');
		if (at < end && (is_digit(*at) || *at == '@' || *at == '*'))
			return true;
	}
	return false;
}

void lex_close(struct lexer *lexer)
{
	struct spot *place = lexer->place;
	size_t end = place->kind == PLACE_FUNCTION ? lexer->word_start : lexer->at;

	if (place->kind == PLACE_FUNCTION) {
		size_t start = (size_t)(place->text.text - lexer->text);

		place->text.length = end > start ? end - start : 0;
		place->has_arguments = has_arguments(&place->text);
	}
	if (!place->filled && place->kind <= PLACE_BRANCH)
		lex_dispute(lexer, "nothing stands where a command must");
	lexer->place = (struct spot *)place->outer;
	if (lexer->place)
		lexer->place->filled = true;
	lexer->pipeline = (struct pipeline *)place->pipeline;
	lexer->stage = place->stage;
	lexer->conditional = place->conditional;
	lexer->closed = place;
	if (place->ends_outer && lexer->place) {
		lexer->word_start = lexer->at; /* the word that ended it is part of the body */
		lex_close(lexer);
	}
}

void lex_close_to(struct lexer *lexer, const struct spot *bottom)
{
	while (lexer->place && lexer->place != bottom) {
		lex_dispute(lexer, "something that a word begins is never ended");
		lex_close(lexer);
	}
}
