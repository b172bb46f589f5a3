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
#include "sys/kernel.h"

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
		char path[PATH_MAX], expected[2 * PATH_MAX];
		bool plain = plain_path(getpid(), AT_FDCWD, cases[i].path, path);
		/* Links on the way are the kernel's to find. */
		_cleanup_close_ int fd =
			plain ? sys_openat2_making(root, path, O_CREAT | O_EXCL | O_CLOEXEC, 0600,
						   PLAINLY)
			      : -1;

		plain = fd >= 0;
		if (plain != !!cases[i].leads)
			print_message("%s\n", cases[i].path);
		assert_int_equal(plain, !!cases[i].leads);
		if (!plain)
			continue;
		snprintf(expected, sizeof(expected), "%s/%s", place, cases[i].leads);
		assert_string_equal(path, expected);
		assert_int_equal(unlink(expected), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_plain_where_it_lies_where_its_text_says),
	};

	return cmocka_run_group_tests(tests, enter_a_place, leave_it);
}
