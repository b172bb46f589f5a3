/* SPDX-License-Identifier: Apache-2.0 */
/* A repository's index: what git itself writes is let in, in every version and with all that may
 * stand behind the entries; names outside of the tree are not, however they are written. */
#include "../../src/sandbox/gitindex.h"
#include "../../src/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct writer {
	char bytes[4096];
	size_t length, id;
	unsigned version;
};

static void put_number(struct writer *writer, uint32_t number)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		writer->bytes[writer->length++] = (char)(number >> shift);
}

static struct writer begin(unsigned version, size_t id, uint32_t count)
{
	struct writer writer = {.id = id, .version = version};

	memcpy(writer.bytes, "DIRC", 4);
	writer.length = 4;
	put_number(&writer, version);
	put_number(&writer, count);
	return writer;
}

/* strip: of version 4. */
static void put_entry(struct writer *writer, const char *name, size_t whole, unsigned strip)
{
	size_t start = writer->length;

	writer->length += 40 + writer->id;
	writer->bytes[writer->length++] = (char)(whole >> 8);
	writer->bytes[writer->length++] = (char)whole;
	if (writer->version == 4)
		writer->bytes[writer->length++] = (char)strip;
	strcpy(writer->bytes + writer->length, name);
	writer->length += strlen(name) + 1;
	while (writer->version < 4 && (writer->length - start) % 8)
		writer->length++;
}

static int check(struct writer *writer)
{
	char name[GIT_INDEX_NAME];

	writer->length += writer->id;
	return git_index_check(writer->bytes, writer->length, writer->id, name);
}

static void names_are_places_in_the_tree(void **state)
{
	static const struct {
		const char *name;
		int result;
	} cases[] = {
		{"a", 0},
		{"a/b.c", 0},
		{"..a/.gitignore", 0},
		{"a/.../b", 0},
		{"sparse/", 0},
		{"", 0}, /* of a split index */
		{"../a", -EACCES},
		{"a/../../b", -EACCES},
		{"a/..", -EACCES},
		{"./a", -EACCES},
		{"/etc/passwd", -EACCES},
		{"a//b", -EACCES},
		{".git/hooks/pre-commit", -EACCES},
		{"a/.GIT/config", -EACCES},
		{"a/git~1/config", -EACCES},
		{"a/.g\u200cit/config", -EACCES},
	};

	(void)state;
	for (unsigned version = 2; version <= 4; version++)
		for (size_t id = 20; id <= 32; id += 12)
			for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
				struct writer writer = begin(version, id, 2);

				put_entry(&writer, "X", 1, 0);
				put_entry(&writer, cases[i].name, strlen(cases[i].name), 1);
				if (check(&writer) != cases[i].result)
					fail_msg("%s in version %u", cases[i].name, version);
			}
}

static void a_name_is_what_it_is_put_together_from(void **state)
{
	struct writer writer = begin(4, 20, 2);

	(void)state;
	put_entry(&writer, "..a", 3, 0);
	put_entry(&writer, "/b", 4, 1); /* ../b */
	assert_int_equal(check(&writer), -EACCES);
	writer = begin(4, 20, 2);
	put_entry(&writer, "a", 1, 0);
	put_entry(&writer, "b", 1, 2); /* leaves out more than there is */
	assert_int_equal(check(&writer), -EINVAL);
}

static void a_name_ends_where_it_says(void **state)
{
	struct writer writer = begin(2, 20, 1);

	(void)state;
	put_entry(&writer, "a", 5, 0);
	assert_int_equal(check(&writer), -EINVAL);
	writer = begin(2, 20, 2);
	put_entry(&writer, "a", 1, 0);
	assert_int_equal(check(&writer), -EINVAL);
}

/* Threads begin where the table says: elsewhere than the entries are, or with a part of a name. */
static void a_table_of_blocks_leads_nowhere_else(void **state)
{
	for (int attempt = 0; attempt < 5; attempt++) {
		struct writer writer = begin(4, 20, 2);
		uint32_t first = (uint32_t)writer.length, second, end;

		(void)state;
		put_entry(&writer, attempt == 4 ? "a.." : "a", attempt == 4 ? 3 : 1, 0);
		second = (uint32_t)writer.length;
		if (attempt == 4) /* alone it would be /b */
			put_entry(&writer, "/b", 3, 2);
		else
			put_entry(&writer, "b", 1, 1);
		end = (uint32_t)writer.length;
		memcpy(writer.bytes + writer.length, "IEOT", 4);
		writer.length += 4;
		put_number(&writer, 20);
		put_number(&writer, 1);
		put_number(&writer, first + (attempt == 1));
		put_number(&writer, 1);
		put_number(&writer, second);
		put_number(&writer, attempt == 2 ? 2 : 1);
		memcpy(writer.bytes + writer.length, "EOIE", 4);
		writer.length += 4;
		put_number(&writer, 24);
		put_number(&writer, end - (attempt == 3));
		writer.length += 20;
		assert_int_equal(check(&writer), attempt == 0	? 0
						 : attempt == 4 ? -EACCES
								: -EINVAL);
	}
}

static void what_git_writes_is_let_in(void **state)
{
	static const char script[] =
		"set -e; export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git init -q --object-format=$1 .; "
		"mkdir -p a/b;"
		"for i in 1 2 3 4 5 6 7 8 9; do echo $i >a/b/file$i; echo $i >other-$i; done;"
		"git -c index.version=$2 -c index.threads=4 -c core.splitIndex=$3 add .; git add "
		"-N . ; git status >/dev/null";
	static const char *const formats[] = {"sha1", "sha256"}, *const splits[] = {"false",
										    "true"};

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		char directory[] = "/tmp/ward-gitindex-XXXXXX", command[2048], name[GIT_INDEX_NAME];
		_cleanup_free_ char *text = NULL;
		size_t length;
		int r;

		assert_non_null(mkdtemp(directory));
		snprintf(command, sizeof(command), "cd %s && sh -c '%s' sh %s %u %s 2>/dev/null",
			 directory, script, formats[i & 1], 2 + i / 4, splits[i >> 1 & 1]);
		r = system(command);
		snprintf(command, sizeof(command), "%s/.git/index", directory);
		if (r == 0)
			r = read_file(AT_FDCWD, command, GIT_INDEX_LIMIT, &text, &length);
		snprintf(command, sizeof(command), "rm -rf %s", directory);
		(void)!system(command);
		assert_int_equal(r, 0);
		assert_int_equal(git_index_check(text, length, i & 1 ? 32 : 20, name), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_places_in_the_tree),
		cmocka_unit_test(a_name_is_what_it_is_put_together_from),
		cmocka_unit_test(a_name_ends_where_it_says),
		cmocka_unit_test(a_table_of_blocks_leads_nowhere_else),
		cmocka_unit_test(what_git_writes_is_let_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
