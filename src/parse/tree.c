/* SPDX-License-Identifier: Apache-2.0 */
/* Shell text through tree-sitter: every node is walked, so that no command hides in a place where
 * none is expected. */
#include "tree.h"
#include "lexer.h"
#include "scanner.h"
#include "../base/units.h"

#include <string.h>
#include <tree_sitter/api.h>

enum {
	TOKEN_LIMIT = 50000,
	NODE_LIMIT = 2000000,
	COMMAND_LIMIT = 10000,
	MEMORY_LIMIT = 256 * 1024 * 1024,
	STEPS_PER_BYTE = 100,
	STEPS_AT_LEAST = 1000000,
};

const TSLanguage *tree_sitter_bash(void);

struct walk {
	struct arena *arena;
	const char *text;
	size_t length;
	struct plan *plan;
	size_t commands_room;
	struct span span;   /* of the command that is being read */
	const char **words; /* of it */
	size_t word_count, words_room;
	bool dynamic;
	unsigned braces; /* of coprocesses, that the grammar takes for words and commands */
};

struct range {
	uint32_t start, end;
};

static bool is(TSNode node, const char *type)
{
	return strcmp(ts_node_type(node), type) == 0;
}

/* The word as the lexer reads it, so that both readers write one word in one way. Where the lexer
 * would end it earlier it is shown as written, which equals no word of the lexer. */
static const char *word_of(struct walk *walk, struct range range)
{
	struct plan inside = {0};
	struct state state = {.arena = walk->arena,
			      .plan = &inside,
			      .text = walk->text + range.start,
			      .length = range.end - range.start};
	struct lexer lexer = {.state = &state,
			      .text = walk->text + range.start,
			      .length = range.end - range.start};
	_cleanup_word_ struct word word = {0};

	lexer.last_heredoc = &lexer.heredocs;
	lex_word(&lexer, &word);
	walk->dynamic |= word.dynamic;
	if (state.stopped || lexer.at != lexer.length)
		return arena_strndup(walk->arena, lexer.text, lexer.length);
	return word_text(&lexer, &word);
}

static void add_word(struct walk *walk, const char *word)
{
	if (walk->word_count + 1 >= walk->words_room) {
		const char **words;

		walk->words_room = MAX(walk->words_room * 2, (size_t)16);
		words = arena_new_array(walk->arena, const char *, walk->words_room);
		if (walk->word_count)
			memcpy(words, walk->words, walk->word_count * sizeof(*words));
		walk->words = words;
	}
	walk->words[walk->word_count++] = word;
}

static void flush_range(struct walk *walk, struct range *range)
{
	if (range->end > range->start)
		add_word(walk, word_of(walk, *range));
	*range = (struct range){0};
}

static void finish(struct walk *walk)
{
	struct plan *plan = walk->plan;
	struct command *command;

	if (walk->word_count == 0)
		return;
	if (plan->count >= COMMAND_LIMIT) {
		plan_opaque(walk->arena, plan, OPAQUE_DISPUTED, "it holds too many commands",
			    walk->span);
		walk->word_count = 0;
		return;
	}
	if (plan->count >= walk->commands_room) {
		struct command *commands;

		walk->commands_room = MAX(walk->commands_room * 2, (size_t)16);
		commands = arena_new_array(walk->arena, struct command, walk->commands_room);
		if (plan->count)
			memcpy(commands, plan->commands, plan->count * sizeof(*commands));
		plan->commands = commands;
	}
	command = &plan->commands[plan->count++];
	*command = (struct command){
		.argc = walk->word_count, .dynamic = walk->dynamic, .span = walk->span};
	command->argv = arena_new_array(walk->arena, const char *, command->argc + 1);
	memcpy(command->argv, walk->words, command->argc * sizeof(*command->argv));
	walk->word_count = 0;
	walk->dynamic = false;
}

/* Words that touch are one word, whatever the grammar makes of them. */
static void read_words(struct walk *walk, TSNode node)
{
	static const char others[] = "file_redirect herestring_redirect heredoc_redirect comment "
				     "subshell ERROR file_descriptor";
	bool assignments_first = is(node, "command");
	TSTreeCursor cursor = ts_tree_cursor_new(node);
	struct range range = {0};

	for (bool more = ts_tree_cursor_goto_first_child(&cursor); more;
	     more = ts_tree_cursor_goto_next_sibling(&cursor)) {
		TSNode child = ts_tree_cursor_current_node(&cursor);
		const char *type = ts_node_type(child);
		uint32_t start = ts_node_start_byte(child), end = ts_node_end_byte(child);

		if (end > walk->length)
			break;
		if (parse_word_in(others, type, strlen(type)) ||
		    (assignments_first && is(child, "variable_assignment"))) {
			flush_range(walk, &range);
			continue;
		}
		if (start != range.end || range.end == 0)
			flush_range(walk, &range);
		range = (struct range){range.end > range.start ? range.start : start, end};
	}
	flush_range(walk, &range);
	ts_tree_cursor_delete(&cursor);
}

/* A single pipe stands before it. */
static bool is_piped(const struct walk *walk, TSNode node)
{
	size_t at = MIN(ts_node_start_byte(node), walk->length);

	while (at > 0 && is_blank(walk->text[at - 1]))
		at--;
	if (at > 1 && walk->text[at - 1] == '&')
		at--;
	return at > 0 && walk->text[at - 1] == '|' && (at < 2 || walk->text[at - 2] != '|');
}

/* To the grammar `time` is a command like any other; to bash it is that only behind a pipe. */
static void drop_time(struct walk *walk, TSNode node)
{
	size_t drop = 0;

	if (walk->word_count > 1 && strcmp(walk->words[0], "time") == 0 && !is_piped(walk, node))
		drop = 1 + (strcmp(walk->words[1], "-p") == 0);
	if (drop == 0 || drop >= walk->word_count)
		return;
	walk->word_count -= drop;
	memmove(walk->words, walk->words + drop, walk->word_count * sizeof(*walk->words));
}

static bool word_is(const struct walk *walk, size_t i, const char *word)
{
	return i < walk->word_count && strcmp(walk->words[i], word) == 0;
}

/* To the grammar `coproc` is a command, and so are the brace that ends one and ((...)). */
static void drop_signs(struct walk *walk)
{
	size_t drop = 0, length = walk->word_count ? strlen(walk->words[0]) : 0;

	if (word_is(walk, 0, "coproc"))
		drop = word_is(walk, 1, "{") ? 2 : word_is(walk, 2, "{") ? 3 : 1;
	walk->braces += drop > 1;
	if (word_is(walk, 0, "}") && walk->word_count == 1 && walk->braces > 0) {
		walk->braces--;
		drop = 1;
	}
	if (walk->word_count == 1 && length > 4 && strncmp(walk->words[0], "((", 2) == 0 &&
	    strcmp(walk->words[0] + length - 2, "))") == 0)
		drop = 1;
	walk->word_count -= MIN(drop, walk->word_count);
	memmove(walk->words, walk->words + drop, walk->word_count * sizeof(*walk->words));
}

static void visit(struct walk *walk, TSNode node)
{
	walk->span = (struct span){ts_node_start_byte(node), ts_node_end_byte(node),
				   ts_node_start_point(node).row + 1};
	if (ts_node_is_missing(node) || is(node, "ERROR")) {
		plan_opaque(walk->arena, walk->plan, OPAQUE_DISPUTED,
			    "it does not fit the grammar of the shell", walk->span);
	} else if (is(node, "command") || is(node, "declaration_command") ||
		   is(node, "unset_command")) {
		read_words(walk, node);
		drop_time(walk, node);
		if (walk->word_count)
			drop_signs(walk);
		finish(walk);
	} else if (is(node, "test_command")) {
		TSNode sign = ts_node_child(node, 0);

		if (is(sign, "[") || is(sign, "[["))
			add_word(walk, is(sign, "[") ? "[" : "[[");
		finish(walk);
	} else if (is(node, "function_definition")) {
		TSNode name = ts_node_child_by_field_name(node, "name", strlen("name"));

		if (ts_node_is_null(name))
			return;
		add_word(walk, "function");
		add_word(walk, word_of(walk, (struct range){ts_node_start_byte(name),
							    ts_node_end_byte(name)}));
		walk->dynamic = false;
		finish(walk);
	}
}

static void walk_tree(struct walk *walk, TSNode root)
{
	TSTreeCursor cursor = ts_tree_cursor_new(root);
	size_t nodes = 0;

	for (;;) {
		if (++nodes > NODE_LIMIT) {
			plan_opaque(walk->arena, walk->plan, OPAQUE_DISPUTED,
				    "it has too many parts", walk->span);
			break;
		}
		visit(walk, ts_tree_cursor_current_node(&cursor));
		if (ts_tree_cursor_goto_first_child(&cursor))
			continue;
		while (!ts_tree_cursor_goto_next_sibling(&cursor))
			if (!ts_tree_cursor_goto_parent(&cursor))
				goto done;
	}
done:
	ts_tree_cursor_delete(&cursor);
}

/* The library corrupts its memory when a node gets 65536 children, and a node for an error takes
 * whatever tokens come. So they are counted beforehand, rather too high: a run of letters and
 * digits and any other character that is no blank each give one, and one without length beside it.
 */
static bool has_too_many_tokens(const char *text, size_t length)
{
	size_t tokens = 0;
	bool in_run = false;

	for (size_t i = 0; i < length; i++) {
		bool letter = is_name_start(text[i]) || is_digit(text[i]);

		if (!is_blank(text[i]) && !(letter && in_run))
			tokens += 2;
		in_run = letter;
	}
	return tokens > TOKEN_LIMIT;
}

void tree_shell(struct arena *arena, const char *text, size_t length, uint64_t *time_us,
		struct plan *ret_plan)
{
	struct walk walk = {.arena = arena, .text = text, .length = length, .plan = ret_plan};
	const struct span whole = {0, length, 1};
	uint64_t start = monotonic_ns(), taken;
	TSParser *parser;
	TSTree *tree = NULL;

	*ret_plan = (struct plan){0};
	if (has_too_many_tokens(text, length)) {
		plan_opaque(arena, ret_plan, OPAQUE_DISPUTED, "it is too long to be read twice",
			    whole);
		return;
	}
	scanner_guard = (struct scanner_guard){
		.steps = length * STEPS_PER_BYTE + STEPS_AT_LEAST,
		.memory = MEMORY_LIMIT,
	};
	ts_set_allocator(scanner_malloc, scanner_calloc, scanner_realloc, scanner_free);
	parser = ts_parser_new();
	/* 0 would mean no limit */
	ts_parser_set_timeout_micros(parser, MAX(*time_us, (uint64_t)1));
	ts_parser_set_cancellation_flag(parser, &scanner_guard.cancelled);
	if (!ts_parser_set_language(parser, tree_sitter_bash()))
		plan_opaque(arena, ret_plan, OPAQUE_DISPUTED,
			    "the grammar does not fit its library", whole);
	else if (*time_us > 0)
		tree = ts_parser_parse_string(parser, NULL, text, (uint32_t)length);
	if (tree)
		walk_tree(&walk, ts_tree_root_node(tree));
	if (!tree || scanner_guard.cancelled)
		plan_opaque(arena, ret_plan, OPAQUE_DISPUTED, "it takes too long to read twice",
			    whole);
	ts_tree_delete(tree);
	ts_parser_delete(parser);
	scanner_free_all();
	taken = (monotonic_ns() - start) / 1000;
	*time_us -= MIN(taken, *time_us);
}
