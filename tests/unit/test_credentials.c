/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations with credentials: which are found, what is seen of them, and what a change of what
 * is seen makes of the file. */
#include "base/io.h"
#include "observe/masks/text.h"
#include "sandbox/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN  "S3CRET"
#define HIDDEN "[remote \"o\"]\n\turl = https://me:" TOKEN "@host.example/x.git\n"
#define SEEN   "[remote \"o\"]\n\turl = https://host.example/x.git\n"

struct place {
	char top[64];
	struct file_rules rules;
	struct masks masks;
};

static void put(const struct place *place, const char *name, const char *text)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", place->top, name);
	for (char *slash = path + strlen(place->top); (slash = strchr(slash + 1, '/'));
	     *slash = '/') {
		*slash = '\0';
		(void)!mkdir(path, 0755);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static int begin(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	strcpy(place->top, "/tmp/ward-credentials-XXXXXX");
	assert_non_null(mkdtemp(place->top));
	*state = place;
	return 0;
}

static int end(void **state)
{
	struct place *place = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", place->top);
	assert_int_equal(system(command), 0);
	file_rules_done(&place->rules);
	masks_done(&place->masks);
	free(place);
	return 0;
}

static void find(struct place *place)
{
	static const struct list none;
	const struct search search = {.workspace = place->top,
				      .rules = &place->rules,
				      .not_names = &none,
				      .guards = true};
	struct error *error = NULL;

	file_rules_add(&place->rules, ACCESS_WRITE, WEIGHT_SAID, place->top, NULL);
	assert_int_equal(find_masks(&search, &place->masks, &error), 0);
}

static const struct mask *mask_of(const struct place *place, const char *name)
{
	for (size_t i = 0; i < place->masks.count; i++)
		if (mask_hides(&place->masks.items[i]) &&
		    strcmp(place->masks.items[i].path + strlen(place->top) + 1, name) == 0)
			return &place->masks.items[i];
	return NULL;
}

static void what_holds_credentials_is_found_at_any_depth(void **state)
{
	static const char *const names[] = {
		".git/config",
		".git/config.worktree",
		".git/modules/libs/one/config",
		".git/modules/libs/one/modules/two/config",
		".git/worktrees/tree/config.worktree",
		"deep/er/bare.git/config",
	};
	struct place *place = *state;

	for (size_t i = 0; i < ELEMENTS(names); i++)
		put(place, names[i], HIDDEN);
	put(place, ".git/modules/libs/one/HEAD", "");
	put(place, ".git/modules/libs/one/modules/two/HEAD", "");
	put(place, ".git/worktrees/tree/HEAD", "");
	put(place, "other/.git/config", SEEN);
	put(place, "plain/config", HIDDEN);
	find(place);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		const struct mask *mask = mask_of(place, names[i]);

		assert_non_null(mask);
		assert_int_equal(mask->kind, MASK_TEXT);
		assert_string_equal(mask->text, SEEN);
	}
	assert_null(mask_of(place, "other/.git/config"));
	assert_null(mask_of(place, "plain/config"));
}

static void what_cannot_be_read_or_shown_is_closed(void **state)
{
	struct place *place = *state;
	size_t texts = 0;
	char name[64];

	put(place, "broken/.git/config", "[remote\n" HIDDEN);
	for (int i = 0; i < TEXTS_MOST + 3; i++) {
		snprintf(name, sizeof(name), "r%d/.git/config", i);
		put(place, name, HIDDEN);
	}
	find(place);
	assert_int_equal(mask_of(place, "broken/.git/config")->kind, MASK_FILE);
	for (int i = 0; i < TEXTS_MOST + 3; i++) {
		snprintf(name, sizeof(name), "r%d/.git/config", i);
		assert_non_null(mask_of(place, name));
		texts += mask_of(place, name)->kind == MASK_TEXT;
	}
	assert_int_equal(texts, TEXTS_MOST);
}

static void a_rule_about_the_very_file_lifts_it(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];

	put(place, ".git/config", HIDDEN);
	put(place, "two/.git/config", HIDDEN);
	snprintf(path, sizeof(path), "%s/.git/config", place->top);
	file_rules_add(&place->rules, ACCESS_READ, WEIGHT_SAID, path, NULL);
	snprintf(path, sizeof(path), "%s/two", place->top);
	file_rules_add(&place->rules, ACCESS_READ, WEIGHT_SAID, path, NULL);
	find(place);
	assert_null(mask_of(place, ".git/config"));
	assert_non_null(mask_of(place, "two/.git/config"));
}

static int memory(const char *text)
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_int_equal(write_all(fd, text, strlen(text)), 0);
	return fd;
}

static void assert_holds(int fd, const char *expected)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	assert_int_equal(text_read(fd, &text, &length), 0);
	assert_int_equal(length, strlen(expected));
	assert_memory_equal(text, expected, length);
}

static void what_was_written_inside_keeps_the_credentials_of_the_file(void **state)
{
	struct place *place = *state;
	int seen = memory(SEEN), directory = open(place->top, O_PATH | O_DIRECTORY), file;
	char *text = strdup(SEEN "[user]\n\tname = x\n");
	size_t length = strlen(text);

	put(place, "config", HIDDEN);
	file = openat(directory, "config", O_RDONLY);
	assert_int_equal(text_restore(seen, HIDDEN, strlen(HIDDEN), &text, &length), 0);
	assert_string_equal(text, HIDDEN "[user]\n\tname = x\n");
	assert_int_equal(
		text_install(seen, directory, "config", HIDDEN, strlen(HIDDEN), text, length), 0);
	assert_holds(file, HIDDEN
		     "[user]\n\tname = x\n"); /* the same file, and not another of its name */
	assert_holds(seen, SEEN "[user]\n\tname = x\n");
	/* And shorter again. */
	assert_int_equal(
		text_install(seen, directory, "config", text, length, HIDDEN, strlen(HIDDEN)), 0);
	assert_holds(file, HIDDEN);
	assert_holds(seen, SEEN);
	free(text);
	close(file);
	close(directory);
	close(seen);
}

static void what_was_made_of_an_old_text_is_not_installed(void **state)
{
	static const char now[] = HIDDEN "[user]\n\tname = outside\n";
	char *text = strdup(SEEN "[user]\n\tname = inside\n");
	size_t length = strlen(text);
	int seen = memory(SEEN);

	(void)state;
	assert_int_equal(text_restore(seen, now, strlen(now), &text, &length), -EBUSY);
	assert_holds(seen, SEEN "[user]\n\tname = outside\n");
	assert_int_equal(text_restore(seen, NULL, 0, &text, &length), -EBUSY);
	free(text);
	close(seen);
}

static void of_what_cannot_be_read_nothing_is_shown(void **state)
{
	struct place *place = *state;
	char path[PATH_MAX];
	int seen = memory(SEEN);

	put(place, "config", HIDDEN "[user]\n\tname = x\n");
	snprintf(path, sizeof(path), "%s/config", place->top);
	text_renew(seen, path);
	assert_holds(seen, SEEN "[user]\n\tname = x\n");
	put(place, "config", HIDDEN "[broken\n");
	text_renew(seen, path);
	assert_holds(seen, "");
	close(seen);
}

static void a_text_is_known_by_what_is_seen(void **state)
{
	struct texts texts = {2, {memory("a"), memory("b")}};
	struct stat st;

	(void)state;
	assert_int_equal(fstat(texts.fds[1], &st), 0);
	assert_int_equal(text_find(&texts, &st), texts.fds[1]);
	st.st_ino++;
	st.st_dev++;
	assert_int_equal(text_find(&texts, &st), -1);
	assert_int_equal(text_find(NULL, &st), -1);
	close(texts.fds[0]);
	close(texts.fds[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_holds_credentials_is_found_at_any_depth),
		TEST(what_cannot_be_read_or_shown_is_closed),
		TEST(a_rule_about_the_very_file_lifts_it),
		TEST(what_was_written_inside_keeps_the_credentials_of_the_file),
		TEST(what_was_made_of_an_old_text_is_not_installed),
		TEST(of_what_cannot_be_read_nothing_is_shown),
		TEST(a_text_is_known_by_what_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
