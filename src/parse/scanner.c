/* SPDX-License-Identifier: Apache-2.0 */
/* Stands between the parser's library and the grammar's own scanner, which trusts its input.
 *
 * The scanner looks ahead as far as it likes, asks for the column at each character (which the
 * library answers by going back to the start of the line), and keeps the here-documents that are
 * open in a buffer whose bounds it checks four bytes short and whose count it keeps in one byte. So
 * every step is counted here, columns are kept rather than asked for, and what it saves is checked
 * before it is used; what is too much ends the parse. */
#include "scanner.h"
#include "../base/macro.h"

#include <stdint.h>
#include <string.h>
#include <tree_sitter/parser.h>

/* The grammar's functions under the names that the build gives them. */
bool bash_scanner_scan(void *payload, TSLexer *lexer, const bool *valid_symbols);
unsigned bash_scanner_serialize(void *payload, char *buffer);

bool tree_sitter_bash_external_scanner_scan(void *payload, TSLexer *lexer,
					    const bool *valid_symbols);
unsigned tree_sitter_bash_external_scanner_serialize(void *payload, char *buffer);

_Thread_local struct scanner_guard scanner_guard;

/* What the scanner sees in place of the library's lexer; must begin with it. */
struct counted {
	TSLexer lexer;
	TSLexer *real;
	uint32_t column;
	bool column_known;
};

static bool spend(size_t steps)
{
	if (scanner_guard.steps < steps) {
		scanner_guard.steps = 0;
		scanner_guard.cancelled = 1;
		return false;
	}
	scanner_guard.steps -= steps;
	return true;
}

static void counted_advance(TSLexer *lexer, bool skip)
{
	struct counted *counted = (struct counted *)lexer;

	if (scanner_guard.cancelled || !spend(1)) {
		lexer->lookahead = 0; /* the end, to every loop of the scanner */
		return;
	}
	counted->column = lexer->lookahead == '\n' ? 0 : counted->column + 1;
	counted->column_known |= lexer->lookahead == '\n';
	counted->real->advance(counted->real, skip);
	lexer->lookahead = counted->real->lookahead;
}

static void counted_mark_end(TSLexer *lexer)
{
	struct counted *counted = (struct counted *)lexer;

	counted->real->mark_end(counted->real);
}

static uint32_t counted_column(TSLexer *lexer)
{
	struct counted *counted = (struct counted *)lexer;

	if (!counted->column_known) {
		counted->column = counted->real->get_column(counted->real);
		counted->column_known = true;
		spend(counted->column);
	}
	return counted->column;
}

static bool counted_is_at_start(const TSLexer *lexer)
{
	const struct counted *counted = (const struct counted *)lexer;

	return counted->real->is_at_included_range_start(counted->real);
}

static bool counted_eof(const TSLexer *lexer)
{
	const struct counted *counted = (const struct counted *)lexer;

	return scanner_guard.cancelled || counted->real->eof(counted->real);
}

bool tree_sitter_bash_external_scanner_scan(void *payload, TSLexer *lexer,
					    const bool *valid_symbols)
{
	struct counted counted = {
		.lexer = *lexer,
		.real = lexer,
	};
	bool found;

	counted.lexer.advance = counted_advance;
	counted.lexer.mark_end = counted_mark_end;
	counted.lexer.get_column = counted_column;
	counted.lexer.is_at_included_range_start = counted_is_at_start;
	counted.lexer.eof = counted_eof;
	if (scanner_guard.cancelled || !spend(1))
		return false;
	found = bash_scanner_scan(payload, &counted.lexer, valid_symbols);
	lexer->result_symbol = counted.lexer.result_symbol;
	return found && !scanner_guard.cancelled;
}

/* True if the bytes say what deserialize will read from them: four flags, the last a count, and for
 * each here-document three flags, a length, and so many bytes. */
static bool is_whole(const char *buffer, unsigned length)
{
	enum { HEAD = 4, FLAGS = 3 };
	unsigned at = HEAD, count = length >= HEAD ? (unsigned char)buffer[HEAD - 1] : 0;

	for (; count; count--) {
		uint32_t size;

		if (length < at + FLAGS + sizeof(size))
			return false;
		memcpy(&size, buffer + at + FLAGS, sizeof(size));
		at += FLAGS + sizeof(size);
		if (size > length - at)
			return false;
		at += size;
	}
	return at == length;
}

unsigned tree_sitter_bash_external_scanner_serialize(void *payload, char *buffer)
{
	char own[2 * TREE_SITTER_SERIALIZATION_BUFFER_SIZE];
	unsigned length;

	if (scanner_guard.cancelled)
		return 0;
	length = bash_scanner_serialize(payload, own);
	if (length > TREE_SITTER_SERIALIZATION_BUFFER_SIZE || !is_whole(own, length)) {
		scanner_guard.cancelled = 1;
		return 0;
	}
	memcpy(buffer, own, length);
	return length;
}

/* Memory. The scanner forgets some of what it allocates, so all of it is in a list. */

struct block {
	struct block *next, **link; /* link: what points here */
	size_t size;
	max_align_t bytes[];
};

static _Thread_local struct block *blocks;

static void link_block(struct block *block)
{
	block->next = blocks;
	block->link = &blocks;
	if (blocks)
		blocks->link = &block->next;
	blocks = block;
}

static void unlink_block(struct block *block)
{
	*block->link = block->next;
	if (block->next)
		block->next->link = block->link;
}

static void *resize(struct block *block, size_t size)
{
	size_t before = block ? block->size : 0;

	if (block)
		unlink_block(block);
	if (size > SIZE_MAX / 2 || !(block = realloc(block, sizeof(*block) + size)))
		abort();
	block->size = size;
	link_block(block);
	scanner_guard.used += size - before; /* modulo: it may shrink */
	if (scanner_guard.used > scanner_guard.memory)
		scanner_guard.cancelled = 1; /* given all the same: the library cannot do without */
	return block->bytes;
}

void *scanner_malloc(size_t size)
{
	return resize(NULL, size);
}

void *scanner_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		abort();
	return memset(resize(NULL, bytes), 0, bytes);
}

static struct block *block_of(void *pointer)
{
	return (struct block *)((char *)pointer - offsetof(struct block, bytes));
}

void *scanner_realloc(void *pointer, size_t size)
{
	return resize(pointer ? block_of(pointer) : NULL, size);
}

void scanner_free(void *pointer)
{
	struct block *block = pointer ? block_of(pointer) : NULL;

	if (!block)
		return;
	scanner_guard.used -= block->size;
	unlink_block(block);
	free(block);
}

void scanner_free_all(void)
{
	while (blocks)
		scanner_free(blocks->bytes);
}
