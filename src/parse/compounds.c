/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved words, and the places that they open and close. */
#include "draft.h"
#include "scope.h"

#include <string.h>

/* A word such as `done` that ends the innermost place. */
static void end_place(struct lexer *lexer, bool (*fits)(const struct spot *place))
{
	struct spot *place = lexer->place;

	lexer->pipeline = NULL;
	if (place && fits(place))
		lex_close(lexer);
	else
		lex_dispute(lexer, "a word ends what was not begun");
}

static bool is_braces(const struct spot *place)
{
	return place->kind == PLACE_GROUP || place->braces;
}

static bool is_if(const struct spot *place)
{
	return place->kind == PLACE_CONDITION || place->kind == PLACE_BRANCH;
}

static bool is_loop(const struct spot *place)
{
	return place->kind == PLACE_LOOP && !place->braces;
}

/* Reserved words. Each is called with the lexer behind the word. */

static void open_braces(struct lexer *lexer)
{
	struct spot *place = lexer->place;

	/* for x in y; { ...; } */
	if (place && place->awaits_do && !lexer->function) {
		place->awaits_do = false;
		place->braces = true;
		lexer->pipeline = NULL;
	} else {
		lex_open(lexer, PLACE_GROUP, NULL);
	}
}

/* then, elif, else: another part of the same if. */
static void next_part(struct lexer *lexer, enum spot_kind kind)
{
	struct spot *place = lexer->place;

	if (!place || !is_if(place)) {
		lex_dispute(lexer, "a word stands where nothing is tested");
		return;
	}
	if (!place->filled)
		lex_dispute(lexer, "nothing stands where a command must");
	lexer->pipeline = NULL;
	lexer->place = arena_alloc(lexer->state->arena, sizeof(*place));
	*lexer->place = *place;
	lexer->place->filled = false;
	lexer->place->kind = kind;
	lexer->conditional = false;
}

static const char hidden_assignment[] = "a word assigns to a variable while it is expanded";

/* At most as many as can be followed; more are counted. */
static void lex_for_values(struct lexer *lexer, struct spot *place)
{
	place->values = arena_new_array(lexer->state->arena, struct snippet, LOOP_VALUES);
	while (!lexer->state->stopped) {
		size_t start;
		int c;

		lex_skip_blanks(lexer);
		c = lex_peek(lexer);
		if (c == ';' || c == '\n' || c == '#' || c < 0)
			return;
		start = lexer->at;
		lex_over_word(lexer);
		if (text_assigns(lex_source(lexer, start, true)))
			lex_dispute(lexer, hidden_assignment);
		if (place->value_count < LOOP_VALUES)
			place->values[place->value_count] = lex_source(lexer, start, true);
		place->value_count++;
	}
}

static void lex_for(struct lexer *lexer)
{
	_cleanup_word_ struct word name = {0};
	struct spot *place;

	lex_open(lexer, PLACE_LOOP, NULL);
	place = lexer->place;
	place->awaits_do = true;
	lex_skip_blanks(lexer);
	if (lex_take(lexer, "((")) {
		size_t start = lexer->at;

		lex_arithmetic(lexer, '(', ')', "))");
		place->values = arena_new_array(lexer->state->arena, struct snippet, 1);
		*place->values = lex_source(lexer, start, true);
		return;
	}
	if (!lex_at_word(lexer))
		lex_stop(lexer, "a word is missing");
	lex_word(lexer, &name);
	place->name = word_text(lexer, &name);
	if (scope_names_programs(place->name))
		lex_dispute(lexer, "a loop changes which programs the names in it mean");
	lex_skip_lines(lexer);
	if (!lex_take_word(lexer, "in"))
		return;
	/* what the values are made of runs once, before the loop */
	lexer->place = (struct spot *)place->outer;
	lex_for_values(lexer, place);
	lexer->place = place;
}

static void lex_case(struct lexer *lexer)
{
	bool next_branch = false;
	size_t start;

	if (!lex_enter(lexer))
		return;
	lex_open(lexer, PLACE_CASE, NULL);
	lex_skip_blanks(lexer);
	start = lexer->at;
	lex_over_word(lexer);
	if (text_assigns(lex_source(lexer, start, true)))
		lex_dispute(lexer, hidden_assignment);
	lex_skip_lines(lexer);
	if (!lex_take_word(lexer, "in"))
		lex_stop(lexer, "a case has no branches");
	while (!lexer->state->stopped) {
		enum end end;

		lex_skip_lines(lexer);
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
		lexer->pipeline = NULL;
		if (next_branch) {
			struct spot *place = arena_alloc(lexer->state->arena, sizeof(*place));

			*place = *lexer->place; /* what one branch does another has not done */
			lexer->place = place;
		}
		next_branch = true;
		end = lex_list(lexer, CASE_BRANCH);
		if (end == END_ESAC)
			break;
		if (end != END_BRANCH)
			lex_stop(lexer, "a case is never closed");
	}
	lex_close(lexer);
	lex_leave(lexer);
}

void lex_define_function(struct lexer *lexer, struct draft **draft, const char *name)
{
	struct span span = (*draft)->command.span;

	**draft = (struct draft){0};
	(*draft)->command.span = span;
	(*draft)->command.span.end = lex_span(lexer, 0, lexer->at).end;
	draft_add_argument(lexer->state, *draft, "function", (struct snippet){0});
	draft_add_argument(lexer->state, *draft, name, (struct snippet){0});
	draft_finish(lexer, draft);
	lexer->function = name;
	lexer->continues = true;
}

void lex_take_parentheses(struct lexer *lexer)
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
	lex_define_function(lexer, draft, word_text(lexer, &name));
	lex_take_parentheses(lexer);
}

/* [[ ... ]]: words and operators, but no commands of its own. */
static void lex_test(struct lexer *lexer, struct draft **draft)
{
	const struct snippet none = {0};
	size_t words = 0;

	lexer->function = NULL;
	(*draft)->coprocess |= lexer->coprocess;
	lexer->coprocess = false;
	draft_add_argument(lexer->state, *draft, "[[", none);
	while (!lexer->state->stopped) {
		int c;

		lex_skip_blanks(lexer);
		if (lex_peek(lexer) == '\n' && words == 1)
			lex_dispute(lexer, "a line ends in the middle of a test");
		lex_skip_lines(lexer);
		c = lex_peek(lexer);
		if (lex_at_word(lexer)) {
			_cleanup_word_ struct word word = {0};

			lex_word(lexer, &word);
			draft_add_argument(lexer->state, *draft, word_text(lexer, &word), none);
			(*draft)->command.dynamic |= word.dynamic;
			words += !word_is_just(&word, "!");
			if (word_is_just(&word, "]]"))
				return;
		} else if (c < 0 || c == ';') {
			lex_stop(lexer, "a test is never closed");
		} else {
			words = 0; /* since the last operator */
			lexer->at++;
		}
	}
}

static bool at_compound(struct lexer *lexer)
{
	static const char *const words[] = {"{",   "if",   "while",  "until",
					    "for", "case", "select", "[["};
	size_t start = lexer->at;

	if (lex_peek(lexer) == '(')
		return true;
	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (lex_take_word(lexer, words[i])) {
			lexer->at = start;
			return true;
		}
	return false;
}

/* `coproc NAME { ...; }`: the name is no command. */
static void lex_coproc(struct lexer *lexer, struct draft *draft)
{
	size_t start, end;

	lex_skip_blanks(lexer);
	start = lexer->at;
	lexer->coprocess_name = "COPROC";
	lexer->coprocess = at_compound(lexer);
	if (lexer->coprocess)
		return;
	while (is_name_start(lex_peek(lexer)) || is_digit(lex_peek(lexer)))
		lexer->at++;
	end = lexer->at;
	lex_skip_blanks(lexer);
	lexer->coprocess = end > start && at_compound(lexer);
	draft->coprocess = !lexer->coprocess;
	if (lexer->coprocess)
		lexer->coprocess_name =
			arena_strndup(lexer->state->arena, lexer->text + start, end - start);
	else
		lexer->at = start;
}

enum reserved {
	NOT_RESERVED,
	STEP_OVER,
	MISPLACED,
	OPEN_BRACES,
	CLOSE_BRACES,
	IF,
	THEN,
	ELIF,
	FI,
	WHILE,
	DO,
	DONE,
	TIME,
	FOR,
	CASE,
	ESAC,
	FUNCTION,
	TEST,
	COPROC
};

static enum reserved reserved_word(const struct word *word)
{
	static const struct {
		const char *name;
		enum reserved reserved;
	} words[] = {
		{"!", STEP_OVER},  {"{", OPEN_BRACES},	   {"}", CLOSE_BRACES}, {"if", IF},
		{"then", THEN},	   {"else", THEN},	   {"elif", ELIF},	{"fi", FI},
		{"do", DO},	   {"done", DONE},	   {"while", WHILE},	{"until", WHILE},
		{"time", TIME},	   {"for", FOR},	   {"select", FOR},	{"case", CASE},
		{"esac", ESAC},	   {"function", FUNCTION}, {"[[", TEST},	{"coproc", COPROC},
		{"in", MISPLACED}, {"]]", MISPLACED},
	};

	if (word->text.length > strlen("function"))
		return NOT_RESERVED;
	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (word_is_just(word, words[i].name))
			return words[i].reserved;
	return NOT_RESERVED;
}

bool lex_reserved(struct lexer *lexer, struct draft **draft, const struct word *word, bool piped,
		  bool *ret_esac)
{
	enum reserved reserved = reserved_word(word);

	switch (reserved == TIME && piped ? NOT_RESERVED : reserved) {
	case NOT_RESERVED:
		return false;
	case STEP_OVER:
		if (piped)
			lex_dispute(lexer, "a pipeline is negated only as a whole");
		break;
	case MISPLACED:
		lex_dispute(lexer, "a word stands where no command can begin with it");
		break;
	case OPEN_BRACES:
		open_braces(lexer);
		break;
	case CLOSE_BRACES:
		end_place(lexer, is_braces);
		break;
	case IF:
		lex_open(lexer, PLACE_CONDITION, NULL);
		break;
	case THEN:
		next_part(lexer, PLACE_BRANCH);
		break;
	case ELIF:
		next_part(lexer, PLACE_CONDITION);
		break;
	case FI:
		end_place(lexer, is_if);
		break;
	case WHILE:
		lex_open(lexer, PLACE_LOOP, NULL);
		break;
	case DO:
		if (lexer->place && !lexer->place->filled && !lexer->place->awaits_do)
			lex_dispute(lexer, "nothing stands where a command must");
		if (lexer->place) {
			lexer->place->awaits_do = false;
			lexer->place->filled = false;
		}
		lexer->pipeline = NULL;
		break;
	case DONE:
		end_place(lexer, is_loop);
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
		lex_coproc(lexer, *draft);
		break;
	}
	return true;
}
