/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts that say `git status` and run `git push`: the plan never shows the first as sure. */
#include "../../src/parse/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void parse(struct arena *arena, const char *script, struct plan *ret_plan)
{
	struct request request = {.mode = MODE_SHELL, .script = (char *)script};

	parse_request(arena, &request, ret_plan);
}

/* The plan says without a doubt that it is `git WORD`. */
static bool is_sure_of(const struct plan *plan, const char *word)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];

		if (command->argc == 2 && strcmp(command->argv[0], "git") == 0 && !command->guess &&
		    !command->dynamic && strcmp(command->argv[1], word) == 0)
			return true;
	}
	return false;
}

static void check_doubted(const char *const *scripts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, scripts[i], &plan);
		if (is_sure_of(&plan, "status"))
			fail_msg("it is no git status: %s", scripts[i]);
	}
}

static void writes_in_disguise_are_seen(void **state _unused_)
{
	static const char *const scripts[] = {
		"x=status; printf -vx push; git $x",
		"x=status; n=x; printf -v \"$n\" push; git $x",
		"x=status; n=x; read \"$n\" <<< push; git $x",
		"x=status; read -ax <<< push; git $x",
		"x=status; n=x; declare \"$n=push\"; git $x",
		"x=status; n=x; export $n=push; git $x",
		"x=status; command -p printf -v x push; git $x",
		"x=status; builtin -- printf -v x push; git $x",
		"x=status; p=printf; $p -v x push; git $x",
		"x=status; f() { \"$@\"; }; f printf -v x push; git $x",
		"readonly x=push; declare x=status; git $x",
		"readonly x=push\nx=status\ngit $x",
		"declare -r x=push; export x=status; git $x",
		"x=push; declare -f x=status; git $x",
		"x=push; local x=status; git $x",
		"BASH_REMATCH=status; [[ push =~ push ]]; git $BASH_REMATCH",
		"x=status; let 'y=5,x=6'; git $x",
		"x=status; [[ x=5 -eq 0 ]]; git $x",
		"x=status; : $((x=5)); git $x",
		"x=status; : ${a[x=5]}; git $x",
		"x=status; a[x=5]=1; git $x",
		"x=status; : $((x++)); git $x",
		"x=status; for ((x=1; x<2; x++)); do :; done; git $x",
		"x=status; unset y; : ${y:=1} ${x/status/}; : ${x:=push}; git $x",
	};

	check_doubted(scripts, ELEMENTS(scripts));
}

static void loops_calls_and_texts_are_seen(void **state _unused_)
{
	static const char *const scripts[] = {
		"x=status; for x in push; do :; done; git $x",
		"for x in status; do x=push; git $x; done",
		"for x in status; do eval 'read x' <<< push; git $x; done",
		"for x in status; do for x in push; do :; done; git $x; done",
		"x=status; for x in $(cat f); do git $x; done",
		"for x in status; do x=push bash -c 'git $x'; done",
		"x=status; for i in 1 2; do git $x; eval 'x=push'; done",
		"x=status; eval 'eval x=push'; git $x",
		"x=status; eval 'for x in push; do :; done'; git $x",
		"eval 'f() { x=push; }'; x=status; f; git $x",
		"n=x; x=status; eval \"y=1; $n=push\"; git $x",
		"trap 'x=push' DEBUG; x=status; git $x",
		"trap 'eval x=push' DEBUG; x=status; git $x",
		"x=status; f() { git $x; }; x=push f",
		"x=status; x=push eval 'git $x'",
		"x=status; x=$(cat f) eval 'git $x'",
		"x=status; set -o posix; x=push :; git $x",
		"n=1; set -- status push; shift $n; git $1",
		"set -- a status push; for i in 1 2; do shift; git $1; done",
		"set -- status; x='- push'; set -$x; git $1",
		"echo() { command printf push; }; git $(echo status)",
		"git $(./echo status)",
	};

	check_doubted(scripts, ELEMENTS(scripts));
}

static void expansions_that_differ_are_left(void **state _unused_)
{
	static const char *const scripts[] = {
		"shopt -s extglob\nx=status; git ${x/@(status)/push}",
		"shopt -s nocasematch; x=status; git ${x/STATUS/push}",
		"set -- '  status' push; git ${@:2}",
		"set -- status push; git ${@#x}",
		"read IFS <<< t; x=status; git $x",
		"IFS=t; set -- s a us; git \"$*\"x",
		"x=a; git ${x/a/&}",
		"x=(a push); x=status; git ${x[@]}",
		"IFS=:; x=:status; git $x",
		"PATH=./bin; git $(cat <<< status)",
		"git $(PATH=./bin cat <<< status)",
		"cat() { echo git push; }; cat <<< 'git status' | sh",
		"git $(cat -n <<< status)",
		"git $(echo sxaxus | tr xx tp)",
	};

	check_doubted(scripts, ELEMENTS(scripts));
}

static bool has(const struct plan *plan, const char *first, const char *second)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];

		for (size_t j = 0; j + 1 < command->argc; j++)
			if (strcmp(command->argv[j], first) == 0 &&
			    strcmp(command->argv[j + 1], second) == 0 && command->program == j)
				return true;
	}
	return false;
}

static void what_is_looked_at_again_is_followed(void **state _unused_)
{
	static const char *const scripts[] = {
		"test -v 'a[$(git push)]'",
		"[[ -v 'a[$(git push)]' ]]",
		"printf -v 'a[$(git push)]' x",
		"read 'a[`git push`]'",
		"let 'a[$(git push)]=1'",
		"y='a[$(git push)]'; echo $((y))",
		"PS4='$(git push)'; set -x; echo",
		"BASH_ENV='$(git push)' bash -c echo",
		"compgen -W '$(git push)'",
		"mapfile -C 'git push #' -c 1 a",
		"env 'a-b=1' git push",
		"env 'BASH_FUNC_x%%=() { :; }' bash -c 'git push'",
		"env --chd / git push",
		"env --split='git push'",
		"timeout --kill 5 5 git push",
		"setarch x86_64 git push",
	};

	for (size_t i = 0; i < ELEMENTS(scripts); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, scripts[i], &plan);
		if (!has(&plan, "git", "push"))
			fail_msg("it runs git push: %s", scripts[i]);
	}
}

static void names_that_mean_others_are_told(void **state _unused_)
{
	static const char *const scripts[] = {
		"BASH_ALIASES[git]='rm'\ngit status",
		"declare -A BASH_CMDS; BASH_CMDS[git]=./x; git status",
		"env 'BASH_FUNC_git%%=() { :; }' bash -c 'git status'",
		"x='$(rm f)'; echo ${x@P}",
		"for PATH in ./bin; do git status; done",
		"x=a; case $((x=5)) in *) ;; esac; git $x",
		"x=a; for i in ${x:=$((x=5))}; do :; done; git $x",
		"for GIT_SSH_COMMAND in ./x; do git status; done",
	};

	for (size_t i = 0; i < ELEMENTS(scripts); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, scripts[i], &plan);
		if (!plan.opaque)
			fail_msg("what it runs is not known: %s", scripts[i]);
	}
}

static void what_is_sure_stays_so(void **state _unused_)
{
	static const char *const scripts[] = {
		"x=status; git $x",
		"x=status; make $((1 + 2)) \"${HOME}\"; git $x",
		"p=printf; x=status; $p '%s' \"$x\"; git $x",
		"for x in status log; do git $x; done",
		"set -eo pipefail; set -- log status; shift; git $1",
		"x=status; eval 'y=1'; git $x",
		"x=status; trap 'rm -f \"$t\"' EXIT; git $x",
		"x=status; y=1; [[ $y == 1 ]] && echo; git $x",
		"git $(echo status)",
	};

	for (size_t i = 0; i < ELEMENTS(scripts); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, scripts[i], &plan);
		if (!is_sure_of(&plan, "status"))
			fail_msg("it is git status: %s", scripts[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_in_disguise_are_seen),
		cmocka_unit_test(loops_calls_and_texts_are_seen),
		cmocka_unit_test(expansions_that_differ_are_left),
		cmocka_unit_test(what_is_looked_at_again_is_followed),
		cmocka_unit_test(names_that_mean_others_are_told),
		cmocka_unit_test(what_is_sure_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
