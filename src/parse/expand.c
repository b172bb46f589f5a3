/* SPDX-License-Identifier: Apache-2.0 */
/* Words as the shell would write them out, as far as their values are known. What is not known
 * stays in them as it is written. */
#include "scope.h"
#include "lexer.h"

#include <inttypes.h>
#include <string.h>

enum { WORD_LIMIT = 512, SIZE_LIMIT = 64 * 1024 };

/* One word on its way into several. */
struct expansion {
	const struct where *where;
	struct words *words;
	struct lexer lexer;
	struct word word; /* the item at hand */
	const char *separators, *joiner;
	bool begun, live;
};

enum manner {
	AS_WORDS, /* split, with braces written out */
	AS_VALUE, /* of an assignment: one item whatever is in it */
	AS_BODY,  /* of a here-document: quotes mean themselves */
};

void words_add(struct arena *arena, struct words *words, const char *item, bool live)
{
	if (words->count >= WORD_LIMIT) {
		words->too_much = true;
		return;
	}
	if (words->count + 1 >= words->room) {
		size_t room = MAX(words->room * 2, (size_t)8);
		const char **items = arena_new_array(arena, const char *, room);
		bool *lives = arena_new_array(arena, bool, room);

		if (words->count) {
			memcpy(items, words->items, words->count * sizeof(*items));
			memcpy(lives, words->live, words->count * sizeof(*lives));
		}
		words->items = items;
		words->live = lives;
		words->room = room;
	}
	words->live[words->count] = live;
	words->items[words->count++] = item;
	words->unknown |= live;
}

static void end_item(struct expansion *expansion)
{
	struct buffer *text = &expansion->word.text;
	struct arena *arena = expansion->where->arena;

	if (expansion->begun || text->length)
		words_add(arena, expansion->words,
			  arena_strndup(arena, buffer_text(text), text->length), expansion->live);
	text->length = 0;
	if (text->data)
		text->data[0] = '\0';
	expansion->begun = expansion->live = false;
}

static void spend(struct expansion *expansion, size_t size)
{
	size_t *budget = expansion->where->scope->budget;

	if (size > *budget || size + expansion->word.text.length > SIZE_LIMIT) {
		expansion->words->too_much = true;
		expansion->lexer.state->stopped = true;
		*budget = 0;
		return;
	}
	*budget -= size;
}

static void add_text(struct expansion *expansion, const char *text, bool quoted)
{
	spend(expansion, strlen(text));
	if (expansion->words->too_much)
		return;
	if (quoted) {
		buffer_add_text(&expansion->word.text, text);
		expansion->begun = true;
		return;
	}
	for (; *text; text++) {
		if (strchr(expansion->separators, *text)) {
			/* a separator that is no blank may make an empty word */
			expansion->words->unsure |= !strchr(" \t\n", *text) && !expansion->begun &&
						    !expansion->word.text.length;
			end_item(expansion);
			continue;
		}
		expansion->words->pattern |= strchr("*?[", *text) != NULL;
		buffer_add_char(&expansion->word.text, *text);
	}
}

static void add_value(struct expansion *expansion, const struct value *value, bool quoted,
		      bool joined)
{
	struct words *words = expansion->words;

	words->unsure |= !value->certain;
	words->pattern |= value->pattern;
	words->variants = MAX(words->variants, value->variants);
	/* "$@" of no arguments is no word */
	if (quoted && value->list && !joined && value->count == 0 && !expansion->word.text.length)
		expansion->begun = false;
	for (size_t i = 0; i < value->count && !words->too_much; i++) {
		add_text(expansion, value->items[i], quoted);
		if (i + 1 == value->count)
			break;
		if ((joined && quoted) || !*expansion->separators)
			buffer_add(&expansion->word.text, expansion->joiner,
				   joined ? strnlen(expansion->joiner, 1) : 1);
		else
			end_item(expansion);
	}
}

static void mark_live(struct expansion *expansion, const struct value *value)
{
	expansion->begun = expansion->live = true;
	expansion->words->unknown = true;
	expansion->words->argument |= value && value->argument;
}

/* Not known: as it is written. */
static void add_raw(struct expansion *expansion, size_t start, const struct value *value)
{
	const struct lexer *lexer = &expansion->lexer;

	buffer_add(&expansion->word.text, lexer->text + start, lexer->at - start);
	mark_live(expansion, value);
}

/* $name, $1, $@ ...: the name into `name`, the lexer behind it. Of a name that is too long,
 * nothing. */
static bool read_name(struct lexer *lexer, char name[64])
{
	size_t at = lex_skip_joins(lexer, lexer->at + 1), length = 0;
	int c = at < lexer->length ? (unsigned char)lexer->text[at] : -1;

	if (c == '@' || c == '*' || is_digit(c)) {
		name[0] = (char)c;
		name[1] = '\0';
		lexer->at = at + 1;
		return true;
	}
	if (!is_name_start(c))
		return false;
	while (at < lexer->length &&
	       (is_name_start(lexer->text[at]) || is_digit(lexer->text[at]))) {
		if (length < 63)
			name[length] = lexer->text[at];
		length++;
		at = lex_skip_joins(lexer, at + 1);
	}
	name[length < 63 ? length : 0] = '\0';
	lexer->at = at;
	return true;
}

bool value_of(const struct where *where, const char *name, struct value *ret_value)
{
	if (name[0] >= '1' && name[0] <= '9') {
		size_t which = (size_t)(name[0] - '0');

		if (!scope_value(where, "@", ret_value))
			return false;
		ret_value->list = false;
		if (which > ret_value->count) {
			ret_value->count = 0;
			return true;
		}
		ret_value->items += which - 1;
		ret_value->count = 1;
		return true;
	}
	if (scope_value(where, name[0] == '*' ? "@" : name, ret_value)) {
		if (ret_value->list && name[0] != '*' && name[0] != '@') {
			ret_value->list = false; /* $list is its first item */
			ret_value->count = MIN(ret_value->count, (size_t)1);
		}
		return true;
	}
	if (strcmp(name, "IFS") == 0) {
		static const char *separators = " \t\n";

		*ret_value = (struct value){.items = &separators, .count = 1, .certain = true};
		return true;
	}
	return false;
}

/* What $(...) prints, where that is plain to see. */
static bool printed_value(const struct where *where, const char *raw, size_t length,
			  struct value *ret_value)
{
	const char *text;
	size_t size;
	char *copy;

	if (where->depth > 4 || where->scope->unsure)
		return false;
	text = output_of_text(where, arena_strndup(where->arena, raw, length), length);
	if (!text)
		return false;
	size = strlen(text);
	copy = arena_strndup(where->arena, text, size);
	while (size && copy[size - 1] == '\n')
		copy[--size] = '\0';
	*ret_value = (struct value){.items = arena_new_array(where->arena, const char *, 1),
				    .count = 1,
				    .certain = true};
	ret_value->items[0] = copy;
	return true;
}

/* $((...)) and $[...] */
static bool sum_value(const struct where *where, const char *raw, size_t length,
		      struct value *ret_value)
{
	bool round = length > 4 && strncmp(raw, "$((", 3) == 0;
	size_t open = round ? 3 : 2, close = round ? 2 : 1;
	int64_t number;
	bool certain;

	if (length < open + close || (!round && raw[1] != '[') ||
	    !arithmetic_value(where, raw + open, length - open - close, &number, &certain))
		return false;
	*ret_value = (struct value){.items = arena_new_array(where->arena, const char *, 1),
				    .count = 1,
				    .certain = certain};
	ret_value->items[0] = arena_printf(where->arena, "%" PRId64, number);
	return true;
}

static void expand_dollar(struct expansion *expansion, bool quoted)
{
	struct lexer *lexer = &expansion->lexer;
	size_t start = lexer->at, raw_start;
	_cleanup_word_ struct word raw = {0};
	struct value value = {0};
	int next = lex_peek_second(lexer);
	char name[64];

	if (read_name(lexer, name)) {
		if (value_of(expansion->where, name, &value)) {
			add_value(expansion, &value, quoted, name[0] == '*');
		} else if (*name) {
			/* without the lines that are joined in it */
			buffer_printf(&expansion->word.text, "$%s", name);
			mark_live(expansion, &value);
		} else {
			add_raw(expansion, start, &value);
		}
		return;
	}
	if (!quoted && (next == '\'' || next == '"')) {
		if (next == '\'') {
			lex_dollar(lexer, &expansion->word, false);
			expansion->begun = true;
			return;
		}
		lexer->at++;
		return;
	}
	lex_dollar(lexer, &raw, quoted);
	if (lexer->state->stopped)
		return;
	raw_start = lex_skip_joins(lexer, start + 1) + 1;
	if (next == '{' && raw_start < lexer->at &&
	    parameter_expand(expansion->where, lexer->text + raw_start, lexer->at - raw_start - 1,
			     &value))
		add_value(expansion, &value, quoted,
			  memchr(lexer->text + start, '*', lexer->at - start) != NULL);
	else if (sum_value(expansion->where, lexer->text + start, lexer->at - start, &value))
		add_value(expansion, &value, quoted, false);
	else if (next == '(' && !(lexer->text[raw_start] == '(') && raw_start < lexer->at &&
		 printed_value(expansion->where, lexer->text + raw_start, lexer->at - raw_start - 1,
			       &value))
		add_value(expansion, &value, quoted, false);
	else if (raw.dynamic)
		add_raw(expansion, start, &value);
	else
		buffer_add(&expansion->word.text, lexer->text + start, lexer->at - start);
}

static void expand_backquotes(struct expansion *expansion, bool quoted)
{
	struct lexer *lexer = &expansion->lexer;
	_cleanup_word_ struct word raw = {0};
	size_t start = lexer->at;
	struct value value = {0};

	lex_backquotes(lexer, &raw, quoted);
	if (lexer->state->stopped)
		return;
	if (!memchr(lexer->text + start, '\\', lexer->at - start) &&
	    printed_value(expansion->where, lexer->text + start + 1, lexer->at - start - 2, &value))
		add_value(expansion, &value, quoted, false);
	else
		add_raw(expansion, start, NULL);
}

static void expand_double(struct expansion *expansion, bool body)
{
	struct lexer *lexer = &expansion->lexer;

	lexer->at += !body;
	expansion->begun |= !body;
	while (!lexer->state->stopped) {
		int c = lex_peek(lexer);

		if (c < 0 || (c == '"' && !body)) {
			lexer->at += c == '"';
			return;
		}
		if (c == '$') {
			expand_dollar(expansion, true);
		} else if (c == '`') {
			expand_backquotes(expansion, true);
		} else {
			bool escapes = c == '\\' && lexer->at + 1 < lexer->length &&
				       strchr(body ? "$`\\" : "$`\"\\", lexer->text[lexer->at + 1]);

			lexer->at += escapes;
			buffer_add_char(&expansion->word.text, lexer->text[lexer->at++]);
		}
	}
}

static void expand_letters(struct expansion *expansion)
{
	struct lexer *lexer = &expansion->lexer;

	while (!lexer->state->stopped) {
		int c = lex_peek(lexer);

		if (c < 0)
			return;
		if (lex_at_process_substitution(lexer)) {
			size_t start = lexer->at;
			_cleanup_word_ struct word raw = {0};

			lex_substitution(lexer, &raw);
			add_raw(expansion, start, NULL);
		} else if (c == '\'') {
			lex_single_quotes(lexer, &expansion->word);
			expansion->begun = true;
		} else if (c == '"') {
			expand_double(expansion, false);
		} else if (c == '$') {
			expand_dollar(expansion, false);
		} else if (c == '`') {
			expand_backquotes(expansion, false);
		} else {
			expansion->words->pattern |=
				strchr("*?[", c) || (c == '~' && !expansion->word.text.length);
			if (c == '\\' && lexer->at + 1 < lexer->length)
				lexer->at++;
			buffer_add_char(&expansion->word.text, lexer->text[lexer->at++]);
		}
	}
}

static void expand(const struct where *where, struct snippet snippet, struct words *words,
		   enum manner manner)
{
	struct plan inside = {0};
	struct state state = {.arena = where->arena,
			      .plan = &inside,
			      .text = snippet.text,
			      .length = snippet.length};
	struct expansion expansion = {
		.where = where, .words = words, .separators = " \t\n", .joiner = " "};
	struct value separators;

	expansion.lexer =
		(struct lexer){.state = &state, .text = snippet.text, .length = snippet.length};
	expansion.lexer.last_heredoc = &expansion.lexer.heredocs;
	if (scope_value(where, "IFS", &separators) && separators.count == 1) {
		expansion.separators = expansion.joiner = separators.items[0];
		words->unsure |= !separators.certain;
	} else {
		words->unsure |= scope_writes(where->scope, "IFS");
	}
	if (manner != AS_WORDS)
		expansion.separators = "";
	if (manner == AS_BODY)
		expand_double(&expansion, true);
	else
		expand_letters(&expansion);
	if (state.stopped && !words->too_much) {
		/* never a part of it as the whole */
		words_add(where->arena, words,
			  arena_strndup(where->arena, snippet.text, snippet.length), true);
	} else {
		expansion.begun |= manner != AS_WORDS;
		end_item(&expansion);
	}
	word_done(&expansion.word);
}

void expand_word(const struct where *where, struct snippet snippet, struct words *words)
{
	struct snippet *items;
	size_t count;

	if (!brace_expand(where->arena, snippet, &items, &count)) {
		expand(where, snippet, words, AS_WORDS);
		return;
	}
	words->too_much |= !items;
	for (size_t i = 0; items && i < count && !words->too_much; i++)
		expand(where, items[i], words, AS_WORDS);
}

void expand_value(const struct where *where, struct snippet snippet, struct words *words)
{
	expand(where, snippet, words, AS_VALUE);
}

void expand_body(const struct where *where, struct snippet snippet, struct words *words)
{
	expand(where, snippet, words, AS_BODY);
}
