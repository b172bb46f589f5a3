/* SPDX-License-Identifier: Apache-2.0 */
/* Redirections, and the here-documents that come lines later. */
#include "draft.h"

#include <string.h>

/* A here-document whose body begins after the next newline. The redirects of a finished command no
 * longer move. */
struct heredoc {
	struct heredoc *next;
	struct draft *draft;
	size_t redirect;
	const char *delimiter;
	bool quoted, strip_tabs;
};

static void await_heredoc(struct lexer *lexer, struct draft *draft, const struct word *word,
			  bool strip_tabs)
{
	struct heredoc *heredoc = arena_alloc(lexer->state->arena, sizeof(*heredoc));

	*heredoc = (struct heredoc){
		.draft = draft,
		.redirect = draft->command.redirect_count - 1,
		.delimiter = word_text(lexer, word),
		.quoted = word->quoted,
		.strip_tabs = strip_tabs,
	};
	*lexer->last_heredoc = heredoc;
	lexer->last_heredoc = &heredoc->next;
}

bool lex_at_redirect(struct lexer *lexer)
{
	int c = lex_peek(lexer);

	return ((c == '<' || c == '>') && !lex_at_process_substitution(lexer)) ||
	       (c == '&' && lex_peek_second(lexer) == '>');
}

void lex_redirect(struct lexer *lexer, struct draft *draft, int fd)
{
	static const char *const signs[] = {"&>>", "&>", "<<<", "<<-", "<<", "<>",
					    "<&",  ">>", ">|",	">&",  "<",  ">"};
	_cleanup_word_ struct word word = {0};
	const char *sign = NULL;
	size_t start;

	for (size_t i = 0; !sign && i < ELEMENTS(signs); i++)
		if (lex_take(lexer, signs[i]))
			sign = signs[i];
	lex_skip_blanks(lexer);
	if (!sign || !lex_at_word(lexer)) {
		lex_stop(lexer, "a redirection has no target");
		return;
	}
	start = lexer->at;
	lex_word(lexer, &word);
	if (lexer->state->stopped)
		return;
	draft_add_redirect(lexer->state, draft,
			   (struct redirect){sign, fd, word_text(lexer, &word),
					     lex_source(lexer, start, word.dynamic)});
	draft->command.dynamic |= word.dynamic;
	if (strcmp(sign, "<<") == 0 || strcmp(sign, "<<-") == 0)
		await_heredoc(lexer, draft, &word, sign[2] == '-');
}

/* One line of a here-document; without quotes a backslash at its end joins the next one to it, the
 * delimiter too. */
static void lex_heredoc_line(struct lexer *lexer, bool joins, struct buffer *line)
{
	for (;;) {
		size_t start = lexer->at, slashes = 0;

		lex_skip_comment(lexer);
		while (lexer->at - slashes > start && lexer->text[lexer->at - slashes - 1] == '\\')
			slashes++;
		if (!joins || slashes % 2 == 0 || lexer->at >= lexer->length) {
			buffer_add(line, lexer->text + start, lexer->at - start);
			lexer->at += lexer->at < lexer->length;
			return;
		}
		buffer_add(line, lexer->text + start, lexer->at - start - 1);
		lexer->at++;
	}
}

static void lex_heredoc(struct lexer *lexer, const struct heredoc *heredoc)
{
	_cleanup_buffer_ struct buffer body = {0};
	struct lexer inside;
	size_t start = lexer->at;
	struct redirect *redirect;
	const struct spot *bottom;
	const char *text;

	while (lexer->at < lexer->length) {
		_cleanup_buffer_ struct buffer line = {0};

		lex_heredoc_line(lexer, !heredoc->quoted, &line);
		text = buffer_text(&line);
		if (heredoc->strip_tabs)
			text += strspn(text, "\t");
		if (strcmp(text, heredoc->delimiter) == 0)
			break;
		buffer_add_text(&body, text);
		buffer_add_char(&body, '\n');
	}
	text = arena_strndup(lexer->state->arena, buffer_text(&body), body.length);
	redirect = &heredoc->draft->command.redirects[heredoc->redirect];
	*redirect = (struct redirect){redirect->operator, redirect->fd, text, {0}};
	if (heredoc->quoted || !lex_enter(lexer))
		return;
	lex_inner(lexer, &inside, text, body.length, lex_span(lexer, start, lexer->at));
	if (heredoc->draft->command.pipeline) {
		/* it is the command's, wherever the line has come to since */
		inside.place = (struct spot *)heredoc->draft->command.place;
		inside.pipeline = (struct pipeline *)heredoc->draft->command.pipeline;
		inside.stage = heredoc->draft->command.stage;
	}
	bottom = inside.place;
	while (!lexer->state->stopped && inside.at < inside.length) {
		int c = lex_peek(&inside);

		if (c == '$' || c == '`') {
			redirect->source = (struct snippet){text, body.length};
			lex_inside(&inside, c, true);
		} else {
			inside.at += c == '\\' ? 2 : 1;
		}
	}
	lex_close_to(&inside, bottom);
	lex_leave(lexer);
}

void lex_newline(struct lexer *lexer)
{
	struct heredoc *heredoc = lexer->heredocs;

	lexer->at++;
	lexer->heredocs = NULL;
	lexer->last_heredoc = &lexer->heredocs;
	for (; heredoc && !lexer->state->stopped; heredoc = heredoc->next)
		lex_heredoc(lexer, heredoc);
}

void lex_skip_lines(struct lexer *lexer)
{
	for (;;) {
		int c = lex_peek(lexer);

		if (is_blank(c))
			lexer->at++;
		else if (c == '#')
			lex_skip_comment(lexer);
		else if (c == '\n' && !lexer->state->stopped)
			lex_newline(lexer);
		else
			return;
	}
}
