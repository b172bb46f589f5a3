/* SPDX-License-Identifier: Apache-2.0 */
/* Expansions in words, and the commands inside these. */
#include "draft.h"

#include <string.h>

/* $(...), <(...) and >(...), from their first character. */
void lex_substitution(struct lexer *lexer, struct word *word)
{
	struct heredoc *heredocs = lexer->heredocs, **last_heredoc = lexer->last_heredoc;
	size_t start = lexer->at, word_start = lexer->word_start;
	const char *function = lexer->function;

	word_mark_dynamic(word);
	if (!lex_enter(lexer))
		return;
	lexer->word_start = start;
	lexer->function = NULL;
	lex_open(lexer, lexer->text[start] == '$' ? PLACE_SUBSTITUTION : PLACE_PROCESS, NULL);
	lexer->at = lex_skip_joins(lexer, lexer->at + 1) + 1;
	/* The bodies of the outer here-documents come after the outer line, not after one in here.
	 */
	lexer->heredocs = NULL;
	lexer->last_heredoc = &lexer->heredocs;
	if (lex_list(lexer, PARENTHESIS) != END_PARENTHESIS)
		lex_stop(lexer, "a parenthesis is never closed");
	if (lexer->heredocs)
		lex_stop(lexer, "a here-document has no body");
	lexer->heredocs = heredocs;
	lexer->last_heredoc = heredocs ? last_heredoc : &lexer->heredocs;
	lex_close(lexer);
	lexer->closed = NULL;
	lexer->function = function;
	lexer->word_start = word_start;
	lex_leave(lexer);
	word_add_raw(lexer, word, start);
}

void lex_inside(struct lexer *lexer, int c, bool in_double)
{
	_cleanup_word_ struct word inside = {0};

	if (c == '$')
		lex_dollar(lexer, &inside, in_double);
	else if (c == '`')
		lex_backquotes(lexer, &inside, in_double);
	else if (c == '"')
		lex_double_quotes(lexer, &inside);
	else if (c == '\'' && in_double)
		lex_stop(lexer, "a single quote stands where shells differ about its meaning");
	else if (c == '\'')
		lex_single_quotes(lexer, &inside);
	else if (!in_double && lex_at_process_substitution(lexer))
		lex_substitution(lexer, &inside);
	else
		lexer->at += c == '\\' && lexer->at + 1 < lexer->length ? 2 : 1;
}

/* ${...}, from its dollar sign. */
static void lex_parameter(struct lexer *lexer, struct word *word, bool in_double)
{
	size_t start = lexer->at;
	int c;

	word_mark_dynamic(word);
	if (!lex_enter(lexer))
		return;
	lexer->at = lex_skip_joins(lexer, lexer->at + 1) + 1;
	c = lex_peek(lexer);
	if (is_blank(c) || c == '\n' || c == '|')
		lex_stop(lexer, "${ command; } runs a command in newer shells only");
	while (!lexer->state->stopped) {
		c = lex_peek(lexer);
		if (c < 0) {
			lex_stop(lexer, "a brace is never closed");
		} else if (c == '}') {
			lexer->at++;
			break;
		} else {
			lex_inside(lexer, c, in_double);
		}
	}
	lex_leave(lexer);
	word_add_raw(lexer, word, start);
}

void lex_arithmetic(struct lexer *lexer, char open, char close, const char *closing)
{
	unsigned nested = 0;

	if (!lex_enter(lexer))
		return;
	while (!lexer->state->stopped) {
		int c = lex_peek(lexer);

		if (c < 0) {
			lex_stop(lexer, "arithmetic is never closed");
		} else if (c == close && nested == 0) {
			if (!lex_take(lexer, closing))
				lex_stop(lexer, "arithmetic and a subshell cannot be told apart");
			break;
		} else {
			nested += c == open;
			nested -= c == close;
			lex_inside(lexer, c, true);
		}
	}
	lex_leave(lexer);
}

void lex_dollar(struct lexer *lexer, struct word *word, bool in_double)
{
	size_t start = lexer->at;
	int c = lex_peek_second(lexer);

	if (lex_take(lexer, "$((")) {
		word_mark_dynamic(word);
		lex_arithmetic(lexer, '(', ')', "))");
		word_add_raw(lexer, word, start);
	} else if (lex_take(lexer, "$[")) {
		word_mark_dynamic(word);
		lex_arithmetic(lexer, '[', ']', "]");
		word_add_raw(lexer, word, start);
	} else if (c == '(') {
		lex_substitution(lexer, word);
	} else if (c == '{') {
		lex_parameter(lexer, word, in_double);
	} else if (c == '\'' && !in_double) {
		lexer->at = lex_skip_joins(lexer, lexer->at + 1) + 1;
		lex_ansi_quotes(lexer, word);
	} else if (c == '"' && !in_double) {
		word_mark_dynamic(word); /* $"..." is translated */
		lexer->at = lex_skip_joins(lexer, lexer->at + 1);
		lex_double_quotes(lexer, word);
	} else if (c > 0 && strchr("*@#?-$!", c)) {
		word_mark_dynamic(word);
		lexer->at = lex_skip_joins(lexer, lexer->at + 1) + 1;
		buffer_add_char(&word->text, '$');
		buffer_add_char(&word->text, (char)c);
	} else {
		if (is_name_start(c) || is_digit(c))
			word_mark_dynamic(word);
		lexer->at++;
		buffer_add_char(&word->text, '$');
	}
}

/* A text inside the text: the body of backquotes. */
static void lex_nested(struct lexer *lexer, const char *text, size_t length, size_t start)
{
	struct lexer nested;

	if (!lex_enter(lexer))
		return;
	lex_inner(lexer, &nested, text, length, lex_span(lexer, start, lexer->at));
	lex_open(&nested, PLACE_BACKQUOTES, NULL);
	lex_list(&nested, WHOLE);
	lex_close(&nested);
	lex_leave(lexer);
}

void lex_backquotes(struct lexer *lexer, struct word *word, bool in_double)
{
	_cleanup_buffer_ struct buffer body = {0};
	const char *escapes = in_double ? "`\\$\"" : "`\\$";
	size_t start = lexer->at++;

	word_mark_dynamic(word);
	while (lexer->at < lexer->length) {
		char c = lexer->text[lexer->at++];

		if (c == '`') {
			lex_nested(
				lexer,
				arena_strndup(lexer->state->arena, buffer_text(&body), body.length),
				body.length, start);
			word_add_raw(lexer, word, start);
			return;
		}
		if (c == '\\' && lexer->at < lexer->length) {
			if (!strchr(escapes, lexer->text[lexer->at]))
				buffer_add_char(&body, c);
			c = lexer->text[lexer->at++];
		}
		buffer_add_char(&body, c);
	}
	lex_stop(lexer, "a backquote is never closed");
}
