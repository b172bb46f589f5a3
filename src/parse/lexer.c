/* SPDX-License-Identifier: Apache-2.0 */
/* A lexer for shell text that finds every simple command in it, or says that it could not. */
#include "draft.h"

#include <string.h>

/* How it works: lex_list() reads commands up to the end of the text, of a parenthesis or of a case
 * branch. Reserved words open and close places, in which the commands between them stand; $(...),
 * `...` and <(...) lead back into lex_list(), so that their commands come before the one that uses
 * them, as they do when the shell runs it. A function's definition is shown as the command
 * `function NAME`, followed by those of its body.
 *
 * Where the text leaves what is understood here, lexing stops and the plan is opaque: a guess about
 * quoting would turn all that follows inside out. */

enum { TEXT_LIMIT = 1024 * 1024 };

/* Digits or {NAME} directly before a redirection say which descriptor it is for. */
static bool is_descriptor(const struct word *word, int *ret_fd)
{
	const char *text = buffer_text(&word->text);
	size_t length = word->text.length;

	if (!!word->marked)
		return false;
	if (length < 6 && strspn(text, "0123456789") == length) {
		*ret_fd = atoi(text);
		return true;
	}
	*ret_fd = -1;
	return length > 2 && text[0] == '{' && text[length - 1] == '}' &&
	       is_name_start((unsigned char)text[1]);
}

/* One word of a simple command, or what a reserved word begins. True if it was the esac of the case
 * around. */
static bool lex_command_word(struct lexer *lexer, struct draft **draft, bool piped)
{
	_cleanup_word_ struct word word = {0};
	struct command *command = &(*draft)->command;
	size_t start = lexer->at;
	bool esac = false;
	int fd, c;

	lex_word(lexer, &word);
	if (lexer->state->stopped)
		return false; /* half a word would read as another one */
	c = lex_peek(lexer);
	if ((c == '<' || c == '>') && is_descriptor(&word, &fd)) {
		lex_redirect(lexer, *draft, fd);
		return false;
	}
	if (draft_is_empty(*draft) && lex_reserved(lexer, draft, &word, piped, &esac))
		return esac;
	command->dynamic |= word.dynamic;
	if (command->argc == 0 && word.value) {
		bool list = word.text.length > word.value && word.text.data[word.value] == '(' &&
			    !word.quoted;

		if (list && command->redirect_count)
			lex_dispute(lexer, "a list of values stands behind a redirection");
		draft_add_assignment(lexer->state, *draft, word_text(lexer, &word),
				     lex_source(lexer, start, word.dynamic || list));
		return false;
	}
	command->unnamed |= command->argc == 0 && word.dynamic;
	draft_add_argument(lexer->state, *draft, word_text(lexer, &word),
			   lex_source(lexer, start, word.dynamic));
	return false;
}

/* One of the expressions in ((x = 1, y++)): x=$((1)), and what else assigns as the value of a
 * variable that nobody reads. */
static void add_sum(struct lexer *lexer, struct draft *draft, const char *text, size_t length)
{
	struct arena *arena = lexer->state->arena;
	const char *sum = arena_printf(arena, "$((%.*s))", (int)length, text), *assignment;
	size_t start = strspn(text, " \t\n"), name, equals, value;

	if (!text_assigns((struct snippet){sum, strlen(sum)}))
		return;
	name = start;
	while (name < length &&
	       (is_name_start(text[name]) || (name > start && is_digit(text[name]))))
		name++;
	equals = name + strspn(text + name, " \t");
	value = equals + 1 + strspn(text + MIN(equals + 1, length), " \t");
	assignment = arena_printf(arena, "_=%s", sum);
	if (name > start && equals + 1 < length && text[equals] == '=' && text[equals + 1] != '=')
		assignment =
			arena_printf(arena, "%.*s=$((%.*s))", (int)(name - start), text + start,
				     (int)(length - MIN(value, length)), text + MIN(value, length));
	draft->command.dynamic = true;
	draft_add_assignment(lexer->state, draft, assignment,
			     (struct snippet){assignment, strlen(assignment)});
}

static void add_sums(struct lexer *lexer, struct draft *draft, const char *text, size_t length)
{
	const char *part = arena_strndup(lexer->state->arena, text, length), *comma;

	/* commas in something nested part nothing */
	while (!strpbrk(part, "([{`'\"") && (comma = strchr(part, ','))) {
		add_sum(lexer, draft, part, (size_t)(comma - part));
		part = comma + 1;
	}
	add_sum(lexer, draft, part, strlen(part));
}

/* A subshell, arithmetic, or the parentheses of a function's definition. */
static void lex_parenthesis(struct lexer *lexer, struct draft **draft)
{
	const struct command *command = &(*draft)->command;
	size_t start = lexer->at;

	if (!draft_is_empty(*draft)) {
		lex_take_parentheses(lexer);
		if (lexer->at == start || command->argc != 1 || command->assignment_count ||
		    command->redirect_count)
			lex_stop(lexer, "a parenthesis stands where none is expected");
		else
			lex_define_function(lexer, draft, command->argv[0]);
		return;
	}
	if (lex_take(lexer, "((")) {
		lexer->function = NULL;
		lexer->coprocess = false;
		if (lexer->place)
			lexer->place->filled = true;
		start = lexer->at;
		lex_arithmetic(lexer, '(', ')', "))");
		if (!lexer->state->stopped)
			add_sums(lexer, *draft, lexer->text + start, lexer->at - start - 2);
		return;
	}
	if (!lex_enter(lexer))
		return;
	lexer->word_start = lexer->at;
	lex_open(lexer, PLACE_SUBSHELL, NULL);
	lexer->at++;
	if (lex_list(lexer, PARENTHESIS) != END_PARENTHESIS)
		lex_stop(lexer, "a parenthesis is never closed");
	lex_close(lexer);
	lex_leave(lexer);
}

static void next_pipeline(struct lexer *lexer, bool conditional)
{
	lexer->pipeline = NULL;
	lexer->closed = NULL;
	lexer->conditional = conditional;
}

static void mark_background(struct lexer *lexer)
{
	struct plan *plan = lexer->state->plan;

	if (plan->count && lexer->pipeline &&
	    plan->commands[plan->count - 1].pipeline == lexer->pipeline)
		plan->commands[plan->count - 1].background = true;
}

/* What parts commands: ; & && || | and a newline. True behind a pipe. */
static bool lex_operator(struct lexer *lexer, int c)
{
	bool piped = lexer->continues && lexer->pipeline;

	if (c == '\n') {
		/* behind | and && a line goes on */
		if (!lexer->continues)
			next_pipeline(lexer, false);
		lex_newline(lexer);
		return piped;
	}
	lexer->continues = true;
	if (lex_take(lexer, "&&") || lex_take(lexer, "||")) {
		next_pipeline(lexer, true);
	} else if (lex_take(lexer, "|&") || lex_take(lexer, "|")) {
		lex_pipeline(lexer)->stages++;
		lexer->stage++;
		lexer->closed = NULL;
		return true;
	} else {
		lexer->continues = false;
		if (c == '&')
			mark_background(lexer);
		next_pipeline(lexer, false);
		lexer->at++;
	}
	return false;
}

/* True where the list ends with what stands here. */
static bool ends_list(struct lexer *lexer, int c, enum context context, enum end *ret_end)
{
	if (c < 0) {
		*ret_end = END_TEXT;
		return true;
	}
	if (c == ')') {
		lexer->at++;
		*ret_end = END_PARENTHESIS;
		if (context == PARENTHESIS)
			return true;
		lex_stop(lexer, "a parenthesis is closed that was not opened");
	} else if (lex_take(lexer, ";;&") || lex_take(lexer, ";;") || lex_take(lexer, ";&")) {
		*ret_end = END_BRANCH;
		if (context == CASE_BRANCH)
			return true;
		lex_stop(lexer, "a branch ends outside of a case");
	}
	return false;
}

enum end lex_list(struct lexer *lexer, enum context context)
{
	struct draft *draft = draft_new(lexer);
	const struct spot *bottom = lexer->place;
	enum end end = END_TEXT;
	bool piped = false, fresh = false; /* a new line */

	while (!lexer->state->stopped) {
		bool begins = fresh;
		int c;

		lex_skip_blanks(lexer);
		c = lex_peek(lexer);
		fresh = c == '\n' || (fresh && c == '#');
		if (c == '#') {
			lex_skip_comment(lexer);
		} else if (lex_at_redirect(lexer)) {
			draft_begin(lexer, draft);
			lexer->continues = false;
			lex_redirect(lexer, draft, -1);
			draft->command.span.end = lex_span(lexer, 0, lexer->at).end;
		} else if (c == '(') {
			draft_begin(lexer, draft);
			lexer->continues = false;
			lex_parenthesis(lexer, &draft);
		} else if (lex_at_word(lexer)) {
			draft_begin(lexer, draft);
			lexer->continues = false;
			if (lex_command_word(lexer, &draft, piped) && context == CASE_BRANCH) {
				end = END_ESAC;
				break;
			}
			draft->command.span.end = lex_span(lexer, 0, lexer->at).end;
			piped = false;
		} else {
			draft_finish(lexer, &draft);
			if (ends_list(lexer, c, context, &end) || lexer->state->stopped)
				break;
			if (begins && c != '\n')
				lex_dispute(lexer, "a line begins with an operator");
			piped = lex_operator(lexer, c);
		}
	}
	draft_finish(lexer, &draft);
	lex_close_to(lexer, bottom);
	return lexer->state->stopped ? END_TEXT : end;
}

void lex_shell(struct arena *arena, const char *text, size_t length, struct plan *ret_plan)
{
	struct state state = {
		.arena = arena, .plan = ret_plan, .text = text, .length = length, .line = 1};
	struct lexer lexer = {.state = &state, .text = text, .length = length};

	*ret_plan = (struct plan){0};
	lexer.last_heredoc = &lexer.heredocs;
	if (length > TEXT_LIMIT)
		lex_stop(&lexer, "it is longer than a megabyte");
	else if (length && memchr(text, '\0', length))
		lex_stop(&lexer, "it holds a NUL byte");
	else
		lex_list(&lexer, WHOLE);
}
