/* SPDX-License-Identifier: Apache-2.0 */
/* docs/policy.md and the table that policy files are read by say the same. */
#include "../../src/base/buffer.h"
#include "../../src/base/io.h"
#include "../../src/decide/schema.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Every key as the reference writes it: | `key` | type | default | ... */
static void rows_of_the_schema(struct list *ret_rows)
{
	for (size_t s = 0; s < SECTIONS; s++) {
		const struct schema_section *section = &policy_schema[s];
		const char *path = s == SECTION_SET ? "rules" : section->path;

		assert_true(section->count > 0 && section->count <= 32);
		for (size_t k = 0; k < section->count; k++) {
			const struct schema_key *key = &section->keys[k];
			_cleanup_free_ char *row = NULL;

			assert_true(asprintf(&row, "| `%s%s%s` | %s | %s |", path, *path ? "." : "",
					     key->name, key->type, key->otherwise) > 0);
			/* Rules and sets of them have some in common. */
			if (!list_has(ret_rows, row))
				list_add(ret_rows, row);
		}
	}
}

static void the_reference_names_every_key_with_its_type_and_default_and_no_other(void **state)
{
	_cleanup_list_ struct list rows = {0};
	_cleanup_free_ char *text = NULL, *path = NULL;
	char *rest, *line;
	bool inside = false;
	size_t length, found = 0;

	(void)state;
	rows_of_the_schema(&rows);
	assert_true(asprintf(&path, "%s/policy.md", getenv("WARD_DOCS")) > 0);
	assert_int_equal(read_file(AT_FDCWD, path, 1 << 20, &text, &length), 0);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		bool known = false;

		if (strncmp(line, "## ", 3) == 0)
			inside = strcmp(line, "## All keys") == 0;
		if (!inside || strncmp(line, "| `", 3) != 0)
			continue;
		for (size_t i = 0; i < rows.count && !known; i++) {
			known = strncmp(line, rows.items[i], strlen(rows.items[i])) == 0;
			if (known)
				rows.items[i][0] = '+';
		}
		if (!known)
			fail_msg("docs/policy.md has what the schema has not: %s", line);
		found++;
	}
	for (size_t i = 0; i < rows.count; i++)
		if (rows.items[i][0] != '+')
			fail_msg("docs/policy.md lacks: %s", rows.items[i]);
	assert_int_equal(found, rows.count);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_reference_names_every_key_with_its_type_and_default_and_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
