/* SPDX-License-Identifier: Apache-2.0 */
/* A lexer for shell text that finds every simple command in it, or says that it could not. */
#include "lexer.h"

#include <string.h>

/* How it works: lex_list() reads commands up to the end of the text, of a parenthesis or of a case
 * branch. Reserved words are stepped over, because only the commands between them matter; $(...),
 * `...` and <(...) lead back into lex_list(), so that their commands come before the one that uses
 * them, as they do when the shell runs it. A function's definition is shown as the command
 * `function NAME`, followed by those of its body.
 *
 * Where the text leaves what is understood here, lexing stops and the plan is opaque: a guess about
 * quoting would turn all that follows inside out. */

enum {
	TEXT_LIMIT = 1024 * 1024,
	COMMAND_LIMIT = 10000,
};

struct draft {
	struct command command;
	size_t argv_room, assignments_room, redirects_room;
};

/* A here-document whose body begins after the next newline. The redirects of a finished command no
 * longer move. */
struct heredoc {
	struct heredoc *next;
	struct draft *draft;
	size_t redirect;
	const char *delimiter;
	bool quoted, strip_tabs;
};

/* Growing arrays in the arena: the old copies stay behind, which at most doubles them. */

static void *grown(struct arena *arena, void *items, size_t count, size_t *room, size_t size)
{
	void *copy;

	if (count + 1 < *room) /* one past the end stays zero, which ends an argv */
		return items;
	*room = MAX(*room * 2, (size_t)4);
	copy = arena_alloc(arena, *room * size);
	if (count)
		memcpy(copy, items, count * size);
	return copy;
}

static void add_argument(struct state *state, struct draft *draft, const char *text)
{
	struct command *command = &draft->command;

	command->argv = grown(state->arena, command->argv, command->argc, &draft->argv_room,
			      sizeof(char *));
	command->argv[command->argc++] = text;
}

static void add_assignment(struct state *state, struct draft *draft, const char *text)
{
	struct command *command = &draft->command;

	command->assignments = grown(state->arena, command->assignments, command->assignment_count,
				     &draft->assignments_room, sizeof(char *));
	command->assignments[command->assignment_count++] = text;
}

static void add_redirect(struct state *state, struct draft *draft, struct redirect redirect)
{
	struct command *command = &draft->command;

	command->redirects = grown(state->arena, command->redirects, command->redirect_count,
				   &draft->redirects_room, sizeof(struct redirect));
	command->redirects[command->redirect_count++] = redirect;
}

static struct draft *new_draft(struct lexer *lexer)
{
	return arena_alloc(lexer->state->arena, sizeof(struct draft));
}

static bool is_empty(const struct draft *draft)
{
	const struct command *command = &draft->command;

	return command->argc + command->assignment_count + command->redirect_count == 0;
}

/* Adds what was read to the plan and begins anew. */
static void finish(struct lexer *lexer, struct draft **draft)
{
	struct state *state = lexer->state;
	struct plan *plan = state->plan;

	if (is_empty(*draft))
		return;
	if (plan->count >= COMMAND_LIMIT) {
		lex_stop(lexer, "it holds too many commands");
		return;
	}
	/* An argv of no words must still be a list that ends. */
	if (!(*draft)->command.argv)
		(*draft)->command.argv = arena_new_array(state->arena, const char *, 1);
	plan->commands = grown(state->arena, plan->commands, plan->count, &state->commands_room,
			       sizeof(struct command));
	plan->commands[plan->count++] = (*draft)->command;
	*draft = new_draft(lexer);
}

/* Redirections. */

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

static bool at_redirect(struct lexer *lexer)
{
	int c = lex_peek(lexer);

	return ((c == '<' || c == '>') && !lex_at_process_substitution(lexer)) ||
	       (c == '&' && lex_peek_second(lexer) == '>');
}

static void lex_redirect(struct lexer *lexer, struct draft *draft, int fd)
{
	static const char *const signs[] = {"&>>", "&>", "<<<", "<<-", "<<", "<>",
					    "<&",  ">>", ">|",	">&",  "<",  ">"};
	_cleanup_word_ struct word word = {0};
	const char *sign = NULL;

	for (size_t i = 0; !sign && i < ELEMENTS(signs); i++)
		if (lex_take(lexer, signs[i]))
			sign = signs[i];
	lex_skip_blanks(lexer);
	if (!sign || !lex_at_word(lexer)) {
		lex_stop(lexer, "a redirection has no target");
		return;
	}
	lex_word(lexer, &word);
	if (lexer->state->stopped)
		return;
	add_redirect(lexer->state, draft, (struct redirect){sign, fd, word_text(lexer, &word)});
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
	struct lexer inside = {.state = lexer->state};
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
	heredoc->draft->command.redirects[heredoc->redirect].target = text;
	if (heredoc->quoted || !lex_enter(lexer))
		return;
	inside.text = text;
	inside.length = body.length;
	inside.last_heredoc = &inside.heredocs;
	while (!lexer->state->stopped && inside.at < inside.length) {
		int c = lex_peek(&inside);

		if (c == '$' || c == '`')
			lex_inside(&inside, c, true);
		else
			inside.at += c == '\\' ? 2 : 1;
	}
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

static void skip_lines(struct lexer *lexer)
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

/* Reserved words. Each is called with the lexer behind the word. */

static void lex_for(struct lexer *lexer)
{
	lex_skip_blanks(lexer);
	if (lex_take(lexer, "((")) {
		lex_arithmetic(lexer, '(', ')', "))");
		return;
	}
	lex_over_word(lexer);
	skip_lines(lexer);
	if (!lex_take_word(lexer, "in"))
		return;
	while (!lexer->state->stopped) {
		int c;

		lex_skip_blanks(lexer);
		c = lex_peek(lexer);
		if (c == ';' || c == '\n' || c == '#' || c < 0)
			return;
		lex_over_word(lexer);
	}
}

static void lex_case(struct lexer *lexer)
{
	if (!lex_enter(lexer))
		return;
	lex_skip_blanks(lexer);
	lex_over_word(lexer);
	skip_lines(lexer);
	if (!lex_take_word(lexer, "in"))
		lex_stop(lexer, "a case has no branches");
	while (!lexer->state->stopped) {
		enum end end;

		skip_lines(lexer);
		if (lex_take_word(lexer, "esac"))
			break;
		lex_take(lexer, "(");
		do {
			lex_skip_blanks(lexer);
			lex_over_word(lexer);
			lex_skip_blanks(lexer);
		} while (!lexer->state->stopped && lex_take(lexer, "|"));
		if (lexer->state->stopped || !lex_take(lexer, ")")) {
			lex_stop(lexer, "the pattern of a case cannot be followed");
			break;
		}
		end = lex_list(lexer, CASE_BRANCH);
		if (end == END_ESAC)
			break;
		if (end != END_BRANCH)
			lex_stop(lexer, "a case is never closed");
	}
	lex_leave(lexer);
}

static void define_function(struct lexer *lexer, struct draft **draft, const char *name)
{
	**draft = (struct draft){0};
	add_argument(lexer->state, *draft, "function");
	add_argument(lexer->state, *draft, name);
	finish(lexer, draft);
}

static void take_parentheses(struct lexer *lexer)
{
	size_t start = lexer->at;

	lex_skip_blanks(lexer);
	if (lex_take(lexer, "(")) {
		lex_skip_blanks(lexer);
		if (lex_take(lexer, ")"))
			return;
	}
	lexer->at = start;
}

static void lex_function(struct lexer *lexer, struct draft **draft)
{
	_cleanup_word_ struct word name = {0};

	lex_skip_blanks(lexer);
	if (!lex_at_word(lexer)) {
		lex_stop(lexer, "a function has no name");
		return;
	}
	lex_word(lexer, &name);
	define_function(lexer, draft, word_text(lexer, &name));
	take_parentheses(lexer);
}

/* [[ ... ]]: words and operators, but no commands of its own. */
static void lex_test(struct lexer *lexer, struct draft **draft)
{
	add_argument(lexer->state, *draft, "[[");
	while (!lexer->state->stopped) {
		int c;

		skip_lines(lexer);
		c = lex_peek(lexer);
		if (lex_at_word(lexer)) {
			_cleanup_word_ struct word word = {0};

			lex_word(lexer, &word);
			add_argument(lexer->state, *draft, word_text(lexer, &word));
			(*draft)->command.dynamic |= word.dynamic;
			if (word_is_just(&word, "]]"))
				return;
		} else if (c < 0 || c == ';') {
			lex_stop(lexer, "a test is never closed");
		} else {
			lexer->at++;
		}
	}
}

/* `coproc NAME { ...; }`: the name is no command. */
static void lex_coproc(struct lexer *lexer)
{
	size_t start;

	lex_skip_blanks(lexer);
	start = lexer->at;
	while (is_name_start(lex_peek(lexer)) || is_digit(lex_peek(lexer)))
		lexer->at++;
	lex_skip_blanks(lexer);
	if (lexer->at == start || (lex_peek(lexer) != '(' && !lex_take_word(lexer, "{")))
		lexer->at = start;
}

enum reserved { NOT_RESERVED, STEP_OVER, TIME, FOR, CASE, ESAC, FUNCTION, TEST, COPROC };

static enum reserved reserved_word(const struct word *word)
{
	static const struct {
		const char *name;
		enum reserved reserved;
	} words[] = {
		{"!", STEP_OVER},    {"{", STEP_OVER},	   {"}", STEP_OVER},
		{"if", STEP_OVER},   {"then", STEP_OVER},  {"else", STEP_OVER},
		{"elif", STEP_OVER}, {"fi", STEP_OVER},	   {"do", STEP_OVER},
		{"done", STEP_OVER}, {"while", STEP_OVER}, {"until", STEP_OVER},
		{"time", TIME},	     {"for", FOR},	   {"select", FOR},
		{"case", CASE},	     {"esac", ESAC},	   {"function", FUNCTION},
		{"[[", TEST},	     {"coproc", COPROC},
	};

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (word_is_just(word, words[i].name))
			return words[i].reserved;
	return NOT_RESERVED;
}

/* True if the word was one (behind a pipe `time` is a program); *ret_esac if it ends the case
 * around it. */
static bool lex_reserved(struct lexer *lexer, struct draft **draft, const struct word *word,
			 bool piped, bool *ret_esac)
{
	enum reserved reserved = reserved_word(word);

	switch (reserved == TIME && piped ? NOT_RESERVED : reserved) {
	case NOT_RESERVED:
		return false;
	case STEP_OVER:
		break;
	case TIME:
		lex_skip_blanks(lexer);
		lex_take_word(lexer, "-p");
		break;
	case FOR:
		lex_for(lexer);
		break;
	case CASE:
		lex_case(lexer);
		break;
	case ESAC:
		*ret_esac = true;
		break;
	case FUNCTION:
		lex_function(lexer, draft);
		break;
	case TEST:
		lex_test(lexer, draft);
		break;
	case COPROC:
		lex_coproc(lexer);
		break;
	}
	return true;
}

/* Commands. */

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
	if (is_empty(*draft) && lex_reserved(lexer, draft, &word, piped, &esac))
		return esac;
	command->dynamic |= word.dynamic;
	if (command->argc == 0 && word.value) {
		add_assignment(lexer->state, *draft, word_text(lexer, &word));
		return false;
	}
	if (command->argc == 0 && word.dynamic)
		lex_opaque(lexer->state, "the name of a command is known only when it runs");
	add_argument(lexer->state, *draft, word_text(lexer, &word));
	return false;
}

/* A subshell, arithmetic, or the parentheses of a function's definition. */
static void lex_parenthesis(struct lexer *lexer, struct draft **draft)
{
	const struct command *command = &(*draft)->command;

	if (!is_empty(*draft)) {
		size_t start = lexer->at;

		take_parentheses(lexer);
		if (lexer->at == start || command->argc != 1 || command->assignment_count ||
		    command->redirect_count)
			lex_stop(lexer, "a parenthesis stands where none is expected");
		else
			define_function(lexer, draft, command->argv[0]);
		return;
	}
	if (lex_take(lexer, "((")) {
		lex_arithmetic(lexer, '(', ')', "))");
		return;
	}
	if (!lex_enter(lexer))
		return;
	lexer->at++;
	if (lex_list(lexer, PARENTHESIS) != END_PARENTHESIS)
		lex_stop(lexer, "a parenthesis is never closed");
	lex_leave(lexer);
}

enum end lex_list(struct lexer *lexer, enum context context)
{
	struct draft *draft = new_draft(lexer);
	bool piped = false;

	while (!lexer->state->stopped) {
		int c;

		lex_skip_blanks(lexer);
		c = lex_peek(lexer);
		if (c == '#') {
			lex_skip_comment(lexer);
		} else if (at_redirect(lexer)) {
			lex_redirect(lexer, draft, -1);
		} else if (c == '(') {
			lex_parenthesis(lexer, &draft);
		} else if (lex_at_word(lexer)) {
			if (lex_command_word(lexer, &draft, piped) && context == CASE_BRANCH)
				return END_ESAC;
			piped = false;
		} else {
			finish(lexer, &draft);
			if (c < 0)
				return END_TEXT;
			if (c == '\n') {
				lex_newline(lexer);
			} else if (c == ')') {
				lexer->at++;
				if (context == PARENTHESIS)
					return END_PARENTHESIS;
				lex_stop(lexer, "a parenthesis is closed that was not opened");
			} else if (lex_take(lexer, ";;&") || lex_take(lexer, ";;") ||
				   lex_take(lexer, ";&")) {
				if (context == CASE_BRANCH)
					return END_BRANCH;
				lex_stop(lexer, "a branch ends outside of a case");
			} else {
				/* ; & and the like: a command ends either way */
				piped = !lex_take(lexer, "||") &&
					(lex_take(lexer, "|&") || lex_take(lexer, "|"));
				lexer->at += c != '|';
			}
		}
	}
	finish(lexer, &draft);
	return END_TEXT;
}

void lex_shell(struct arena *arena, const char *text, size_t length, struct plan *ret_plan)
{
	struct state state = {.arena = arena, .plan = ret_plan};
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
