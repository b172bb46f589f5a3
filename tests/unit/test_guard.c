/* SPDX-License-Identifier: Apache-2.0 */
/* Names that run programs: what a path is, wherever it lies and however it is written. */
#include "base/guard.h"
#include "base/macro.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void each_path_is_what_the_table_says(void **state)
{
	static const struct {
		const char *path;
		enum guard guard;
	} table[] = {
		{"/w/file", GUARD_FREE},
		{"/w/a/.git", GUARD_HOLDER},
		{"/w/a/.git/HEAD", GUARD_KEPT},
		{"/w/a/.git/config", GUARD_CONFIG},
		{"/w/a/.git/index", GUARD_INDEX},
		{"/w/a/.git/index.lock", GUARD_KEPT},
		{"/w/a/.git/sharedindex.0a", GUARD_INDEX},
		{"/w/a/.git/modules/x/index", GUARD_INDEX},
		{"/w/a/.git/MERGE_RR", GUARD_INDEX},
		{"/w/a/.git/modules/index", GUARD_KEPT},
		{"/w/a/.git/worktrees/index/index", GUARD_INDEX},
		{"/w/a/.git/lfs/index", GUARD_OPEN},
		{"/w/index", GUARD_FREE},
		{"/w/a/.git/.ward-new-1-2", GUARD_CLOSED},
		{"/w/a/.git/hooks/pre-commit", GUARD_CLOSED},
		{"/w/a/.git/hooks/x.sample", GUARD_KEPT},
		{"/w/a/.git/objects/ab/cd", GUARD_OPEN},
		{"/w/a/.git/objects/x/.git", GUARD_HOLDER},
		{"/w/a/.git/objects/x/.git/config", GUARD_CONFIG},
		{"/w/a/.git/objects/x/.bashrc", GUARD_CLOSED},
		{"/w/a/.git/modules/x/config", GUARD_CONFIG},
		{"/w/a/.git/modules/objects/config", GUARD_CONFIG},
		{"/w/a/.git/modules/x/objects/ab", GUARD_OPEN},
		{"/w/a/.git/modules/x/.vscode/tasks.json", GUARD_CLOSED},
		{"/w/a/.git/worktrees/info/commondir", GUARD_LATER},
		{"/w/a/.git/worktrees/x/config.worktree", GUARD_CONFIG},
		{"/w/.vscode/notes", GUARD_KEPT},
		{"/w/.vscode/tasks.json", GUARD_CLOSED},
		{"/w/.vscode/x/.git/config", GUARD_CONFIG},
		{"/w/.vscode/x/y/.profile", GUARD_CLOSED},
		{"/w/.vscode/c_cpp_properties.json", GUARD_CLOSED},
		{"/w/a/team.code-workspace", GUARD_CLOSED},
		{"/w/.helix/languages.toml", GUARD_CLOSED},
		{"/w/.kiro/settings/mcp.json", GUARD_CLOSED},
		{"/w/.kiro/specs/x.md", GUARD_KEPT},
		{"/w/.clinerules/style.md", GUARD_KEPT},
		{"/w/a/.github/hooks/x.json", GUARD_CLOSED},
		{"/w/.GitHub/copilot/settings.json", GUARD_CLOSED},
		{"/w/.github/workflows/ci.yml", GUARD_KEPT},
		{"/w/.github/CODEOWNERS", GUARD_KEPT},
		{"/w/.copilot/mcp-config.json", GUARD_CLOSED},
		{"/w/.clinerules/hooks/PreToolUse", GUARD_CLOSED},
		{"/w/r/.Rprofile", GUARD_CLOSED},
		{"/w/.hg/hgrc", GUARD_CLOSED},
		{"/w/.hg/store/00changelog.i", GUARD_KEPT},
		{"/w/.jj/repo", GUARD_CLOSED},
		{"/w/.jj/repo/config.toml", GUARD_CLOSED},
		{"/w/.jj/repo/op_store/x", GUARD_KEPT},
		{"/w/.jj/working_copy/config.toml", GUARD_KEPT},
		{"/w/commondir", GUARD_CLOSED},
		/* As file systems fold them. */
		{"/w/.GIT/CONFIG", GUARD_CONFIG},
		{"/w/git~1/config", GUARD_CONFIG},
		{"/w/.git./config", GUARD_CONFIG},
		{"/w/.git /hooks/pre-commit", GUARD_CLOSED},
		{"/w/.g\u200cit/config", GUARD_CONFIG},
		{"/w/.\ufeffgit/con\ufb01g", GUARD_CONFIG},
		{"/w/.pro\ufb01le", GUARD_CLOSED},
		{"/w/.ba\u017fhrc", GUARD_CLOSED},
		{"/w/.v\u017fcode/ta\u017f\u212as.json", GUARD_CLOSED},
		{"/w/.git\xff/config", GUARD_FREE},
		{"/w/git~x/config", GUARD_FREE},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++)
		if (guard_path("/w", table[i].path, NULL) != table[i].guard)
			fail_msg("%s: %d", table[i].path, guard_path("/w", table[i].path, NULL));
}

static void a_directory_moves_only_to_where_the_same_names_are_guarded(void **state)
{
	static const struct {
		const char *from, *to;
		bool may;
	} table[] = {
		{"/w/x", "/w/y", true},
		{"/w/x", "/w/.git/objects/x", true},
		{"/w/.git/objects/x", "/w/x", true},
		{"/w/.git/modules/x", "/w/.git/modules/y", true},
		{"/w/.git", "/w/y.git", true},
		{"/w/x", "/w/.git/modules/x", false},
		{"/w/.git/lfs", "/w/.git/modules", false},
		{"/w/.git/x", "/w/.git/modules", false},
		{"/w/.git/worktrees/x", "/w/.git/modules/x", false},
		{"/w/.vscode", "/w/.git", false},
		{"/w/.vscode", "/w/.claude", false},
		{"/w/.vscode/x", "/w/.git/modules/x", false},
		{"/w/.zed", "/w/.git/hooks", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(table); i++) {
		struct guard_place from = guard_ground_of("/w", table[i].from),
				   to = guard_ground_of("/w", table[i].to);

		if (guard_may_move(&from, &to) != table[i].may)
			fail_msg("%s to %s", table[i].from, table[i].to);
	}
}

static void the_longest_name_is_looked_at_to_its_end(void **state)
{
	char path[300] = "/w/", folded[NAME_MAX + 1];

	(void)state;
	memset(path + 3, 'x', NAME_MAX - 4);
	strcpy(path + 3 + NAME_MAX - 4, ".git");
	assert_int_equal(guard_path("/w", path, NULL), GUARD_HOLDER);
	memset(path + 3, 0xc3, NAME_MAX);
	path[3 + NAME_MAX] = '\0';
	guard_fold(path + 3, folded);
	assert_int_equal(strlen(folded), NAME_MAX);
}

static void a_link_leads_to_no_other_process_s_view(void **state)
{
	static const char *const bad[] = {
		"/proc",
		"//proc/.",
		"../proc",
		"a/proc/",
		"/proc/1/root",
		"./a/../17/root",
		"a/..",
		"/usr/..",
		"/proc/4194304",
		"../../proc/12/cwd",
		"/x/.Ward-Inside-tmp/y",
		"/proc/self/..",
	};
	static const char *const good[] = {
		"proc",
		"proc/1",
		"/proc/self/mounts",
		"../proc/main.c",
		"../..",
		"..",
		"../17",
		"a/17/root",
		"/proc/cpuinfo",
		"/proc/12345678/root",
		"/proc/017",
		"a/../b",
		"/",
		"",
		"process/1",
		"a/../b/17",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (!guard_leads_inside(bad[i]))
			fail_msg("%s", bad[i]);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (guard_leads_inside(good[i]))
			fail_msg("%s", good[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_path_is_what_the_table_says),
		cmocka_unit_test(a_directory_moves_only_to_where_the_same_names_are_guarded),
		cmocka_unit_test(the_longest_name_is_looked_at_to_its_end),
		cmocka_unit_test(a_link_leads_to_no_other_process_s_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
