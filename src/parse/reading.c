/* SPDX-License-Identifier: Apache-2.0 */
/* Where the lexer stands, what comes next, and how it ends. */
#include "lexer.h"

#include <string.h>

enum { DEPTH_LIMIT = 32 };

static unsigned line_of(struct state *state, size_t at)
{
	const char *newline;

	while (state->counted < at &&
	       (newline = memchr(state->text + state->counted, '\n', at - state->counted))) {
		state->counted = (size_t)(newline + 1 - state->text);
		state->line++;
	}
	state->counted = MAX(state->counted, at);
	return state->line;
}

struct span lex_span(struct lexer *lexer, size_t start, size_t end)
{
	if (lexer->inner)
		return lexer->inner_span;
	return (struct span){start, end, line_of(lexer->state, MIN(start, lexer->length))};
}

struct snippet lex_source(const struct lexer *lexer, size_t start, bool dynamic)
{
	if (!dynamic)
		return (struct snippet){0};
	return (struct snippet){lexer->text + start, lexer->at - start};
}

void lex_inner(struct lexer *outer, struct lexer *ret_inner, const char *text, size_t length,
	       struct span span)
{
	*ret_inner = (struct lexer){
		.state = outer->state,
		.text = text,
		.length = length,
		.place = outer->place,
		.pipeline = outer->pipeline,
		.stage = outer->stage,
		.inner = true,
		.inner_span = span,
	};
	ret_inner->last_heredoc = &ret_inner->heredocs;
}

struct pipeline *lex_pipeline(struct lexer *lexer)
{
	if (!lexer->pipeline) {
		lexer->pipeline = arena_alloc(lexer->state->arena, sizeof(struct pipeline));
		*lexer->pipeline = (struct pipeline){++lexer->state->pipelines, 1};
		lexer->stage = 1;
	}
	return lexer->pipeline;
}

void lex_dispute(struct lexer *lexer, const char *why)
{
	plan_opaque(lexer->state->arena, lexer->state->plan, OPAQUE_DISPUTED, why,
		    lex_span(lexer, lexer->word_start, lexer->at));
}

/* All from the word at hand on is not read. */
void lex_stop(struct lexer *lexer, const char *why)
{
	struct span span = lex_span(lexer, lexer->word_start, lexer->length);

	span.end = MAX(span.end, lexer->state->length);
	plan_opaque(lexer->state->arena, lexer->state->plan, OPAQUE_UNREAD, why, span);
	lexer->state->stopped = true;
}

bool lex_enter(struct lexer *lexer)
{
	if (lexer->state->depth >= DEPTH_LIMIT) {
		lex_stop(lexer, "it is nested too deeply");
		return false;
	}
	lexer->state->depth++;
	return true;
}

void lex_leave(struct lexer *lexer)
{
	lexer->state->depth--;
}

size_t lex_skip_joins(const struct lexer *lexer, size_t at)
{
	while (at + 1 < lexer->length && lexer->text[at] == '\\' && lexer->text[at + 1] == '\n')
		at += 2;
	return at;
}

int lex_peek(struct lexer *lexer)
{
	lexer->at = lex_skip_joins(lexer, lexer->at);
	return lexer->at < lexer->length ? (unsigned char)lexer->text[lexer->at] : -1;
}

int lex_peek_second(const struct lexer *lexer)
{
	size_t at =
		lexer->at < lexer->length ? lex_skip_joins(lexer, lexer->at + 1) : lexer->length;

	return at < lexer->length ? (unsigned char)lexer->text[at] : -1;
}

bool lex_take(struct lexer *lexer, const char *literal)
{
	size_t at = lexer->at;

	for (; *literal; literal++, at++) {
		at = lex_skip_joins(lexer, at);
		if (at >= lexer->length || lexer->text[at] != *literal)
			return false;
	}
	lexer->at = at;
	return true;
}

bool lex_ends_word(int c)
{
	return c < 0 || is_blank(c) || c == '\n' || strchr("|&;()<>", c);
}

bool lex_at_process_substitution(struct lexer *lexer)
{
	int c = lex_peek(lexer);

	return (c == '<' || c == '>') && lex_peek_second(lexer) == '(';
}

bool lex_at_word(struct lexer *lexer)
{
	return !lex_ends_word(lex_peek(lexer)) || lex_at_process_substitution(lexer);
}

bool lex_take_word(struct lexer *lexer, const char *literal)
{
	size_t start = lexer->at;

	if (lex_take(lexer, literal) && lex_ends_word(lex_peek(lexer)))
		return true;
	lexer->at = start;
	return false;
}

void lex_skip_blanks(struct lexer *lexer)
{
	while (is_blank(lex_peek(lexer)))
		lexer->at++;
}

void lex_skip_comment(struct lexer *lexer)
{
	const char *newline = memchr(lexer->text + lexer->at, '\n', lexer->length - lexer->at);

	lexer->at = newline ? (size_t)(newline - lexer->text) : lexer->length;
}
