/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer, the first of the two readers of shell text, and what its parts share: lexer.c reads
 * commands, compounds.c what they stand in, redirects.c their redirections, words.c and
 * expansions.c the words in them. */
#pragma once

#include "plan.h"
#include "../base/buffer.h"

/* Any bytes, any length; bounded in time, depth and memory. Takes *ret_plan as empty. */
void lex_shell(struct arena *arena, const char *text, size_t length, struct plan *ret_plan);
/* doubt.c: an expansion in the text assigns to a variable. */
bool text_assigns(struct snippet text);

/* What the lexers of a text and of the texts inside it share. */
struct state {
	struct arena *arena;
	struct plan *plan;
	size_t commands_room;
	unsigned depth, pipelines;
	bool stopped; /* every loop ends when this is set */
	/* lines are counted as reading goes on */
	const char *text;
	size_t length, counted;
	unsigned line;
};

struct lexer {
	struct state *state;
	const char *text;
	size_t length, at;
	struct heredoc *heredocs, **last_heredoc; /* those whose body is still to come */
	size_t word_start;			  /* of the word at hand */
	struct spot *place;			  /* the innermost that is open */
	const struct spot *closed;		  /* what ended just now */
	struct pipeline *pipeline;		  /* NULL: the next command begins one */
	unsigned stage;
	bool continues;		    /* an operator came that needs a command behind it */
	bool conditional;	    /* the pipeline at hand is behind && or || */
	const char *function;	    /* defined just now: its body is next */
	bool coprocess;		    /* begun just now: its command is next */
	const char *coprocess_name; /* or NULL */
	bool inner;		    /* the text is no part of the script as it stands there */
	struct span inner_span;	    /* it is made of this part */
};

enum assignment {
	AT_START,
	IN_NAME,
	IN_SUBSCRIPT,
	SUBSCRIPT_CLOSED,
	AFTER_PLUS,
	ASSIGNED,
	NO_ASSIGNMENT,
};

/* A word as it is read. Expansions stay in its text as they were written. */
struct word {
	struct buffer text;
	bool marked; /* something in it is quoted or expanded */
	bool quoted, dynamic;
	bool bracket, brace, brace_list; /* what a glob or a brace expansion has so far */
	enum assignment assignment;
	size_t value; /* where the value of NAME=VALUE begins; 0 where it is none */
};

/* Not CR, VT or FF: to bash they are letters like any other. */
static inline bool is_blank(int c)
{
	return c == ' ' || c == '\t';
}

static inline bool is_name_start(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* A lexer for a text that is made of this part of the text at hand; what it finds stands where the
 * outer one is. */
void lex_inner(struct lexer *outer, struct lexer *ret_inner, const char *text, size_t length,
	       struct span span);
struct span lex_span(struct lexer *lexer, size_t start, size_t end);
/* From start to where the lexer is; nothing where there is nothing to expand. */
struct snippet lex_source(const struct lexer *lexer, size_t start, bool dynamic);
/* The pipeline at hand, begun if there is none. */
struct pipeline *lex_pipeline(struct lexer *lexer);
/* What is read can be read otherwise, too. */
void lex_dispute(struct lexer *lexer, const char *why);
/* Reading on would be guessing. */
void lex_stop(struct lexer *lexer, const char *why);
/* One level deeper; false, and stopped, where that is too deep. */
bool lex_enter(struct lexer *lexer);
void lex_leave(struct lexer *lexer);

/* The next character or -1. A backslash before a newline joins lines wherever it stands outside
 * single quotes and comments, even in the middle of an operator or of `$(`, so no character is
 * looked at without stepping over such joins. */
int lex_peek(struct lexer *lexer);
/* The character after the one that lex_peek() gave. */
int lex_peek_second(const struct lexer *lexer);
/* Steps over the literal if it stands here; the second form wants it to be a whole word. */
bool lex_take(struct lexer *lexer, const char *literal);
bool lex_take_word(struct lexer *lexer, const char *literal);
void lex_skip_blanks(struct lexer *lexer);
void lex_skip_comment(struct lexer *lexer);
bool lex_at_process_substitution(struct lexer *lexer);
bool lex_at_word(struct lexer *lexer);

/* Where a character behind joined lines stands. */
size_t lex_skip_joins(const struct lexer *lexer, size_t at);
bool lex_ends_word(int c);

void lex_word(struct lexer *lexer, struct word *word);
/* Parts of words, from their first character. */
void lex_single_quotes(struct lexer *lexer, struct word *word);
void lex_double_quotes(struct lexer *lexer, struct word *word);
/* $'...', from the first character in it. */
void lex_ansi_quotes(struct lexer *lexer, struct word *word);
void lex_dollar(struct lexer *lexer, struct word *word, bool in_double);
void lex_backquotes(struct lexer *lexer, struct word *word, bool in_double);
/* $(...), <(...) and >(...) */
void lex_substitution(struct lexer *lexer, struct word *word);
/* A word of which only the substitutions are of interest. */
void lex_over_word(struct lexer *lexer);
/* One piece, beginning with c, of an expansion or a here-document: of interest are the
 * substitutions in it. */
void lex_inside(struct lexer *lexer, int c, bool in_double);
/* $((...)), ((...)) and $[...], after what opens them. */
void lex_arithmetic(struct lexer *lexer, char open, char close, const char *closing);
bool word_is_just(const struct word *word, const char *literal);
void word_mark_dynamic(struct word *word);
/* The text from start to here as it is written. */
void word_add_raw(struct lexer *lexer, struct word *word, size_t start);
char *word_text(struct lexer *lexer, const struct word *word);
void word_done(struct word *word);
#define _cleanup_word_ _cleanup_(word_done)

enum context { WHOLE, PARENTHESIS, CASE_BRANCH };
enum end { END_TEXT, END_PARENTHESIS, END_BRANCH, END_ESAC };
/* Commands up to the end of the context; stops where it ends otherwise. */
enum end lex_list(struct lexer *lexer, enum context context);
/* Blanks, comments and newlines. */
void lex_skip_lines(struct lexer *lexer);
/* A newline that ends a line, with the here-documents that it begins. */
void lex_newline(struct lexer *lexer);
