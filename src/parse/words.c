/* SPDX-License-Identifier: Apache-2.0 */
/* The words of shell text: quoting, globs, braces, assignments. */
#include "lexer.h"

#include <stdint.h>
#include <string.h>

void word_done(struct word *word)
{
	buffer_done(&word->text);
}

/* Something other than a plain character comes: it cannot be part of an assignment's name. */
static void mark(struct word *word)
{
	word->marked = true;
	if (word->assignment == SUBSCRIPT_CLOSED)
		word->assignment = IN_SUBSCRIPT;
	else if (word->assignment != IN_SUBSCRIPT && word->assignment != ASSIGNED)
		word->assignment = NO_ASSIGNMENT;
}

static void mark_quoted(struct word *word)
{
	mark(word);
	word->quoted = true;
}

void word_mark_dynamic(struct word *word)
{
	mark(word);
	word->dynamic = true;
}

bool word_is_just(const struct word *word, const char *literal)
{
	return !word->marked && strcmp(buffer_text(&word->text), literal) == 0;
}

char *word_text(struct lexer *lexer, const struct word *word)
{
	return arena_strndup(lexer->state->arena, buffer_text(&word->text), word->text.length);
}

void word_add_raw(struct lexer *lexer, struct word *word, size_t start)
{
	buffer_add(&word->text, lexer->text + start, lexer->at - start);
}

void lex_single_quotes(struct lexer *lexer, struct word *word)
{
	const char *start = lexer->text + lexer->at + 1;
	const char *close = memchr(start, '\'', lexer->length - lexer->at - 1);

	mark_quoted(word);
	if (!close) {
		lex_stop(lexer, "a quote is never closed");
		return;
	}
	buffer_add(&word->text, start, (size_t)(close - start));
	lexer->at = (size_t)(close + 1 - lexer->text);
}

static void add_utf8(struct buffer *buffer, uint32_t code)
{
	if (code < 0x80) {
		buffer_add_char(buffer, (char)code);
	} else if (code < 0x800) {
		buffer_add_char(buffer, (char)(0xc0 | code >> 6));
		buffer_add_char(buffer, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		buffer_add_char(buffer, (char)(0xe0 | code >> 12));
		buffer_add_char(buffer, (char)(0x80 | (code >> 6 & 0x3f)));
		buffer_add_char(buffer, (char)(0x80 | (code & 0x3f)));
	} else {
		buffer_add_char(buffer, (char)(0xf0 | (code >> 18 & 0x07)));
		buffer_add_char(buffer, (char)(0x80 | (code >> 12 & 0x3f)));
		buffer_add_char(buffer, (char)(0x80 | (code >> 6 & 0x3f)));
		buffer_add_char(buffer, (char)(0x80 | (code & 0x3f)));
	}
}

static int digit_value(int c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Up to most digits of the base; how many there were. */
static int lex_digits(struct lexer *lexer, int base, int most, uint32_t *ret_value)
{
	uint32_t value = 0;
	int count = 0;

	for (; count < most && lexer->at < lexer->length; count++, lexer->at++) {
		int digit = digit_value((unsigned char)lexer->text[lexer->at]);

		if (digit < 0 || digit >= base)
			break;
		value = value * (uint32_t)base + (uint32_t)digit;
	}
	*ret_value = value;
	return count;
}

/* The part of a $'...' escape after its backslash. */
static void lex_ansi_escape(struct lexer *lexer, struct buffer *buffer)
{
	static const char letters[] = "abeEfnrtv\\'\"?", values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	char c = lexer->text[lexer->at];
	const char *letter = c ? strchr(letters, c) : NULL;
	size_t start = lexer->at;
	uint32_t value;

	if (letter) {
		buffer_add_char(buffer, values[letter - letters]);
		lexer->at++;
	} else if (lex_digits(lexer, 8, 3, &value)) {
		buffer_add_char(buffer, (char)value);
	} else if (c == 'c' && lexer->at + 1 < lexer->length) {
		buffer_add_char(buffer, (char)(lexer->text[lexer->at + 1] & 0x1f));
		lexer->at += 2;
	} else {
		int most = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;

		lexer->at++;
		if (most && lex_digits(lexer, 16, most, &value)) {
			if (c == 'x')
				buffer_add_char(buffer, (char)value);
			else
				add_utf8(buffer, value);
			return;
		}
		buffer_add_char(buffer, '\\');
		buffer_add(buffer, lexer->text + start, 1);
		lexer->at = start + 1;
	}
}

void lex_ansi_quotes(struct lexer *lexer, struct word *word)
{
	_cleanup_buffer_ struct buffer value = {0};

	mark_quoted(word);
	while (lexer->at < lexer->length) {
		char c = lexer->text[lexer->at++];

		if (c == '\'') {
			/* To the shell a NUL ends the string, though not the quotes. */
			buffer_add_text(&word->text, buffer_text(&value));
			return;
		}
		if (c == '\\' && lexer->at < lexer->length)
			lex_ansi_escape(lexer, &value);
		else
			buffer_add_char(&value, c);
	}
	lex_stop(lexer, "a quote is never closed");
}

void lex_double_quotes(struct lexer *lexer, struct word *word)
{
	mark_quoted(word);
	lexer->at++;
	while (!lexer->state->stopped) {
		int c = lex_peek(lexer);

		if (c < 0) {
			lex_stop(lexer, "a quote is never closed");
		} else if (c == '"') {
			lexer->at++;
			return;
		} else if (c == '$') {
			lex_dollar(lexer, word, true);
		} else if (c == '`') {
			lex_backquotes(lexer, word, true);
		} else {
			if (c == '\\' && lexer->at + 1 < lexer->length &&
			    strchr("$`\"\\", lexer->text[lexer->at + 1]))
				lexer->at++;
			else if (c == '\\' && lexer->at + 1 < lexer->length)
				buffer_add_char(&word->text, lexer->text[lexer->at++]);
			buffer_add_char(&word->text, lexer->text[lexer->at++]);
		}
	}
}

/* Follows NAME=, NAME+= and NAME[...]= character by character: looking back at each would take
 * quadratic time. */
static void follow_assignment(struct word *word, int c)
{
	switch (word->assignment) {
	case AT_START:
		word->assignment = is_name_start(c) ? IN_NAME : NO_ASSIGNMENT;
		break;
	case IN_NAME:
		if (c == '=')
			word->assignment = ASSIGNED;
		else if (c == '[')
			word->assignment = IN_SUBSCRIPT;
		else if (c == '+')
			word->assignment = AFTER_PLUS;
		else if (!is_name_start(c) && !is_digit(c))
			word->assignment = NO_ASSIGNMENT;
		break;
	case IN_SUBSCRIPT:
	case SUBSCRIPT_CLOSED:
		if (c == ']')
			word->assignment = SUBSCRIPT_CLOSED;
		else if (word->assignment == SUBSCRIPT_CLOSED && (c == '=' || c == '+'))
			word->assignment = c == '=' ? ASSIGNED : AFTER_PLUS;
		else
			word->assignment = IN_SUBSCRIPT;
		break;
	case AFTER_PLUS:
		word->assignment = c == '=' ? ASSIGNED : NO_ASSIGNMENT;
		break;
	case ASSIGNED:
	case NO_ASSIGNMENT:
		return;
	}
	if (word->assignment == ASSIGNED)
		word->value = word->text.length + 1;
}

/* The words of NAME=(...), from the parenthesis. */
static void lex_array(struct lexer *lexer, struct word *word)
{
	size_t start = lexer->at++;

	mark(word);
	if (!lex_enter(lexer))
		return;
	while (!lexer->state->stopped) {
		int c = lex_peek(lexer);

		if (is_blank(c)) {
			lexer->at++;
		} else if (c == '\n') {
			lex_newline(lexer);
		} else if (c == '#') {
			lex_skip_comment(lexer);
		} else if (c == ')') {
			lexer->at++;
			break;
		} else if (lex_at_word(lexer)) {
			_cleanup_word_ struct word item = {0};

			lex_word(lexer, &item);
			word->dynamic |= item.dynamic;
		} else {
			lex_stop(lexer, "a list of values is not closed");
		}
	}
	lex_leave(lexer);
	word_add_raw(lexer, word, start);
}

/* An unquoted character that means itself, or begins or ends a glob, a brace expansion or a tilde.
 */
static void lex_letter(struct lexer *lexer, struct word *word, int c)
{
	switch (c) {
	case '*':
	case '?':
		word->dynamic = true;
		break;
	case '[':
		word->bracket = true;
		break;
	case ']':
		word->dynamic |= word->bracket;
		break;
	case '{':
		word->brace = true;
		break;
	case ',':
		word->brace_list |= word->brace;
		break;
	case '.':
		word->brace_list |= word->brace && lex_peek_second(lexer) == '.';
		break;
	case '}':
		word->dynamic |= word->brace_list;
		break;
	case '~':
		word->dynamic |= word->text.length == word->value ||
				 (word->value && word->text.data[word->text.length - 1] == ':');
		break;
	}
	follow_assignment(word, c);
	buffer_add_char(&word->text, (char)c);
	lexer->at++;
}

void lex_word(struct lexer *lexer, struct word *word)
{
	while (!lexer->state->stopped) {
		int c = lex_peek(lexer);

		if (lex_at_process_substitution(lexer)) {
			lex_substitution(lexer, word);
		} else if (c == '(' && word->value && word->value == word->text.length &&
			   !word->quoted) {
			lex_array(lexer, word);
		} else if (lex_ends_word(c)) {
			return;
		} else if (c == '\'') {
			lex_single_quotes(lexer, word);
		} else if (c == '"') {
			lex_double_quotes(lexer, word);
		} else if (c == '$') {
			lex_dollar(lexer, word, false);
		} else if (c == '`') {
			lex_backquotes(lexer, word, false);
		} else if (c == '\\') {
			mark_quoted(word);
			lexer->at += lexer->at + 1 < lexer->length;
			buffer_add_char(&word->text, lexer->text[lexer->at++]);
		} else {
			lex_letter(lexer, word, c);
		}
	}
}

void lex_over_word(struct lexer *lexer)
{
	_cleanup_word_ struct word word = {0};

	if (!lex_at_word(lexer))
		lex_stop(lexer, "a word is missing");
	lex_word(lexer, &word);
}
