/* SPDX-License-Identifier: Apache-2.0 */
/* observe: which paths are taken the short way, and where they lead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/macro.h"
#include "observe/files/plain.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char place[PATH_MAX];

static int enter_a_place(void **state)
{
	char made[] = "/var/tmp/ward-plain-XXXXXX";

	(void)state;
	return mkdtemp(made) && realpath(made, place) && chdir(place) == 0 &&
			       mkdir("directory", 0700) == 0 && symlink("directory", "link") == 0
		       ? 0
		       : -1;
}

static int leave_it(void **state)
{
	(void)state;
	return unlink("link") == 0 && rmdir("directory") == 0 && rmdir(place) == 0 ? 0 : -1;
}

static void a_path_is_plain_where_it_lies_where_its_text_says(void **state)
{
	static const struct {
		const char *path, *leads; /* below the place; NULL: the long way */
	} cases[] = {
		{"new", "new"},
		{"directory/new", "directory/new"},
		{"./new", "new"},
		{"./directory/new", "directory/new"},
		{"././new", "new"},
		{".//new", NULL},
		{"././/new", NULL},
		{".///new", NULL},
		{"./", NULL},
		{".", NULL},
		{"", NULL},
		{"directory//new", NULL},
		{"directory/./new", NULL},
		{"./directory/../new", NULL},
		{"./../new", NULL},
		{"./..", NULL},
		{"link/new", NULL},
		{"./link/new", NULL},
		{"directory/new/", NULL},
	};
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(root >= 0);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		static struct found found;
		char expected[2 * PATH_MAX];
		bool plain = plain_find_new(root, getpid(), AT_FDCWD, cases[i].path, &found);

		if (plain != !!cases[i].leads)
			print_message("%s\n", cases[i].path);
		assert_int_equal(plain, !!cases[i].leads);
		if (!plain)
			continue;
		snprintf(expected, sizeof(expected), "%s/%s", place, cases[i].leads);
		assert_string_equal(found.path, expected);
		close_fd(&found.fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_plain_where_it_lies_where_its_text_says),
	};

	return cmocka_run_group_tests(tests, enter_a_place, leave_it);
}
