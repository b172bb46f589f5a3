/* SPDX-License-Identifier: Apache-2.0 */
/* Work that nothing brings back: what is deleted or written anew by its name. */
#include "../../src/assess/ignored.h"
#include "../../src/assess/loss.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[PATH_MAX];

static void run(const char *script)
{
	char line[PATH_MAX + 1024];

	snprintf(line, sizeof(line), "cd %s && { %s\n} >/dev/null 2>&1", directory, script);
	assert_int_equal(system(line), 0);
}

/* A work tree: tracked is committed, notes and draft/one are nobody's but here, the rest is told to
 * be left alone, or empty. */
static int make_tree(void **state _unused_)
{
	/* not below /tmp, where nothing is meant to stay */
	if (!getcwd(directory, sizeof(directory) - 20))
		strcpy(directory, ".");
	strcat(directory, "/loss-XXXXXX");
	assert_non_null(mkdtemp(directory));
	run("git init -q . && mkdir draft keep keep/a out && echo a >tracked && "
	    "printf '*.cache\\n/made/\\n!kept.cache\\nout/**/x\\n# no\\n' >.gitignore && "
	    "echo 'local' >>.git/info/exclude && echo 'inner' >keep/.gitignore && "
	    "git add tracked .gitignore && "
	    "git -c user.name=x -c user.email=x@example.com commit -qm x && "
	    "echo b >notes && echo c >draft/one && echo d >x.cache && echo e >kept.cache && "
	    "mkdir made && echo f >made/it && : >empty && echo g >local && "
	    "echo h >keep/inner && echo i >keep/outer && echo j >other && echo k >x.log");
	return 0;
}

static int remove_tree(void **state _unused_)
{
	char line[PATH_MAX + 16];

	snprintf(line, sizeof(line), "rm -rf '%s'", directory);
	return system(line);
}

static const struct timespec never = {0}, now = {.tv_sec = (time_t)1 << 40};

/* The reason, or NULL where nothing is lost; lives until the next call. */
static const char *lost_since(const char *text, struct timespec since)
{
	static struct arena *arena;
	_cleanup_request_ struct request request = {0};
	struct assessment assessment;
	struct plan plan;

	arena_free(arena);
	arena = NULL;
	if (!text)
		return NULL;
	arena = arena_new();
	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	request.workspace = strdup(directory);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, &assessment);
	assess_loss(arena, &plan, directory, directory, since, &assessment);
	if (assessment.class == CLASS_SAFE)
		return NULL;
	assert_int_equal(assessment.class, CLASS_ASK);
	assert_false(assessment.reversible);
	return assessment.why;
}

static bool is_lost(const char *text)
{
	const char *why = lost_since(text, now);

	return why && strstr(why, "which git has no copy of");
}

static void a_file_that_only_lies_here_is_lost(void **state _unused_)
{
	static const char *const losses[] = {
		"rm notes",
		"rm -f tracked notes",
		"unlink ./notes",
		"rm draft/one",
		"echo x > notes",
		"make &> notes",
		"cat tracked >| notes",
		"if true; then ls > notes; fi",
		"cp tracked notes",
		"mv -f tracked notes",
		"cp other draft/one",
		"echo x | tee notes",
		"sort tracked -o notes",
		"curl -s https://example.com -o notes",
		"dd if=tracked of=notes",
		"install -m 644 tracked notes",
		"sh -c 'rm notes'",
		"env rm notes",
		"cat notes && rm notes",
		"python3 -c \"import os; os.remove('notes')\"",
		"python3 -c \"open('notes', 'w')\"",
		"python3 <<< \"from pathlib import Path; Path('notes').unlink()\"",
		"node -e 'fs.unlinkSync(\"notes\")'",
		"awk '{ print > \"notes\" }' tracked",
		"rm keep/outer",
		"rm kept.cache",
		"mv notes /tmp",
		"mv notes other /tmp/x",
		"mv -t /var/tmp notes",
		"mv draft /tmp/", /* with all that is in it */
		"mv notes \"$TMPDIR/\"",
		"ln -sf /dev/null notes",
		"ln -f tracked notes",
		"truncate -s 1 notes",
		"uniq tracked notes",
		"cd draft && rm one",
		"cd draft; echo x > one",
		"cd draft && cd .. && rm notes",
	};
	char text[PATH_MAX + 16];

	for (size_t i = 0; i < ELEMENTS(losses); i++)
		if (!is_lost(losses[i]))
			fail_msg("not lost: %s", losses[i]);
	snprintf(text, sizeof(text), "rm %s/notes", directory);
	assert_true(is_lost(text));
	assert_string_equal(lost_since("rm draft/one", now),
			    "it deletes draft/one, which git has no copy of");
	assert_string_equal(lost_since("cp other notes", now),
			    "it overwrites notes, which git has no copy of");
}

static void what_can_be_had_again_or_stays_is_not(void **state _unused_)
{
	static const char *const others[] = {
		"rm tracked",	    /* changed or not: git has its name */
		"rm x.cache",	    /* ignored */
		"rm made/it local", /* in a directory that is; by info/exclude */
		"rm keep/inner",    /* by a file of its own directory */
		"rm x.log",	    /* a log, by its name */
		"rm empty",	    /* holds nothing */
		"rm nothing",	    /* is not there */
		"echo x >> notes",  /* added to */
		"echo x | tee -a notes",
		"cp -n tracked notes",
		"cp --backup tracked notes",
		"mv -i tracked notes",
		"sed -i s/a/b/ notes", /* worked on */
		"sort notes -o notes",
		"sort notes > new && mv new notes",
		"cat notes | tee notes",
		"ls 2>&1",
		"ls notes",
		"cp notes elsewhere",
		"mv notes elsewhere",
		"cd $x && rm one", /* it is not known where */
		"(cd draft); rm one",
		"cd draft && mv one two",
		"ln -s /dev/null notes", /* fails */
		"ln -sfb tracked notes",
		"mv tracked /tmp",
		"mv notes /tmp/n && sort /tmp/n > notes", /* worked on */
		"mv keep/inner /tmp",
		"truncate -s +1 notes",
		"python3 -c \"print(open('notes').read())\"",
		"rm --help notes",
	};

	for (size_t i = 0; i < ELEMENTS(others); i++)
		if (is_lost(others[i]))
			fail_msg("lost: %s", others[i]);
}

static void what_the_session_made_is_its_own(void **state _unused_)
{
	assert_null(lost_since("rm notes", never));
	assert_non_null(lost_since("rm notes", now));
}

static void patterns_are_read_as_git_reads_them(void **state _unused_)
{
	static const struct {
		const char *path;
		bool ignored;
	} files[] = {
		{"x.cache", true},    {"a/b/x.cache", true},  {"kept.cache", false},
		{"made/it", true},    {"sub/made/it", false}, {"made", false},
		{"out/x", true},      {"out/a/b/x", true},    {"out/y", false},
		{"keep/inner", true}, {"keep/a/inner", true}, {"inner", false},
		{"local", true},      {"sub/local", true},    {"no", false},
	};

	for (size_t i = 0; i < ELEMENTS(files); i++) {
		char path[PATH_MAX + 64];

		snprintf(path, sizeof(path), "%s/%s", directory, files[i].path);
		if (git_ignores(directory, path) != files[i].ignored)
			fail_msg("%s", files[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_only_lies_here_is_lost),
		cmocka_unit_test(what_can_be_had_again_or_stays_is_not),
		cmocka_unit_test(what_the_session_made_is_its_own),
		cmocka_unit_test(patterns_are_read_as_git_reads_them),
	};
	int failed = cmocka_run_group_tests(tests, make_tree, remove_tree);

	lost_since(NULL, never);
	return failed;
}
