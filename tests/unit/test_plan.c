/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a whole request: where commands stand, what their words are worth, what is looked
 * through, what stays unknown and where that is. */
#include "../../src/base/buffer.h"
#include "../../src/base/units.h"
#include "../../src/parse/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void parse(struct arena *arena, const char *script, struct plan *ret_plan)
{
	_cleanup_request_ struct request request;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = arena_strdup(arena, script);
	parse_request(arena, &request, ret_plan);
	request.script = NULL;
}

static void show_words(struct buffer *line, const struct command *command)
{
	for (size_t i = 0; i < command->argc; i++)
		buffer_printf(line, "%s%s", i ? " " : "", command->argv[i]);
}

/* A command of these words is in the plan; its number, or count where there is none. */
static size_t find(const struct plan *plan, const char *words)
{
	for (size_t i = 0; i < plan->count; i++) {
		_cleanup_buffer_ struct buffer line = {0};

		show_words(&line, &plan->commands[i]);
		if (strcmp(buffer_text(&line), words) == 0)
			return i;
	}
	return plan->count;
}

static void show_plan(struct buffer *line, const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		buffer_add_text(line, i ? "; " : "");
		show_words(line, &plan->commands[i]);
	}
}

struct example {
	const char *script, *words;
};

static void check_found(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_buffer_ struct buffer line = {0};
		struct plan plan;

		parse(arena, examples[i].script, &plan);
		show_plan(&line, &plan);
		if (find(&plan, examples[i].words) == plan.count)
			fail_msg("%s\n  gives   %s\n  without %s", examples[i].script,
				 buffer_text(&line), examples[i].words);
	}
}

static void commands_know_where_they_stand(void **state _unused_)
{
	static const struct {
		const char *script, *words, *context;
	} examples[] = {
		{"a | b", "a", "pipeline 1/2"},
		{"a |\nb | c", "b", "pipeline 2/3"},
		{"(a; b)", "b", "subshell"},
		{"{ a; } | b", "a", "pipeline 1/2, group"},
		{"f() { a; }; f", "a", "function f"},
		{"f() { a; }", "a", "function f, never called"},
		{"f() ( a ); f", "a", "function f, subshell"},
		{"for i in x; do a; done", "a", "loop i"},
		{"while a; do b; done", "b", "loop"},
		{"for i in x; { a; }", "a", "loop i"},
		{"if a; then b; fi", "a", "condition"},
		{"if a; then b; else c; fi", "c", "branch"},
		{"case x in y) a;; z) b;; esac", "b", "case"},
		{"a $(b)", "b", "substitution"},
		{"a `b`", "b", "backquotes"},
		{"a <(b | c)", "c", "process substitution, pipeline 2/2"},
		{"cat <<E | d\n$(b)\nE", "b", "pipeline 1/2, substitution"},
		{"trap 'a' EXIT", "a", "trap EXIT"},
		{"eval 'a'", "a", "text of eval"},
		{"sh -c 'if a; then b; fi'", "b", "text of sh, branch"},
		{"bash <<< a", "a", "input of bash"},
		{"echo a | sh", "a", "pipeline 2/2, input of sh"},
		{"alias l='a b'; l c", "a b c", "alias l"},
		{"f() { a $1; }; f b", "a b", "call of f"},
		{"echo a > x.sh; sh x.sh", "a", "file x.sh"},
		{"while read x; do (a); done | b", "a", "pipeline 1/2, loop, subshell"},
		{"coproc a b", "a b", "coprocess COPROC"},
		{"coproc X { a; b; }; c", "b", "coprocess X, group"},
		{"coproc X { a; b; }; c", "c", ""},
		{"coproc a $(b)", "b", "substitution"},
		{"coproc a; b", "b", ""},
		{"coproc while a; do b; done", "b", "coprocess COPROC, loop"},
		{"coproc a | b", "a", "pipeline 1/2, coprocess COPROC"},
	};

	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_buffer_ struct buffer line = {0};
		const char **context;
		struct plan plan;
		size_t at;

		parse(arena, examples[i].script, &plan);
		at = find(&plan, examples[i].words);
		if (at == plan.count)
			fail_msg("%s: no command %s", examples[i].script, examples[i].words);
		context = plan_context(arena, &plan.commands[at]);
		for (size_t j = 0; context[j]; j++)
			buffer_printf(&line, "%s%s", j ? ", " : "", context[j]);
		if (strcmp(buffer_text(&line), examples[i].context) != 0)
			fail_msg("%s: %s stands in '%s'", examples[i].script, examples[i].words,
				 buffer_text(&line));
	}
}

static void commands_have_spans(void **state _unused_)
{
	static const char script[] = "a b >c;\n  d $(e f)\nsh -c 'g'";
	static const struct {
		const char *words, *text;
		unsigned line;
	} examples[] = {
		{"a b", "a b >c", 1},	     {"e f", "e f", 2},	    {"d $(e f)", "d $(e f)", 2},
		{"sh -c g", "sh -c 'g'", 3}, {"g", "sh -c 'g'", 3},
	};
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	parse(arena, script, &plan);
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		size_t at = find(&plan, examples[i].words);
		const struct span *span;

		assert_true(at < plan.count);
		span = &plan.commands[at].span;
		assert_int_equal(span->line, examples[i].line);
		assert_int_equal(span->end - span->start, strlen(examples[i].text));
		assert_memory_equal(script + span->start, examples[i].text,
				    strlen(examples[i].text));
	}
}

static void constants_are_followed(void **state _unused_)
{
	static const struct example examples[] = {
		{"x=rm; $x -rf /", "rm -rf /"},
		{"x='rm -rf'; $x /", "rm -rf /"},
		{"x='a b'; c \"$x\" d", "c a b d"},
		{"cmd=(rm -rf); \"${cmd[@]}\" /", "rm -rf /"},
		{"cmd=(a 'b c'); ${cmd[0]} \"${cmd[1]}\"", "a b c"},
		{"${x:-rm} -rf /", "rm -rf /"},
		{"rm${IFS}-rf${IFS}/", "rm -rf /"},
		{"$'\\x72m' -rf /", "rm -rf /"},
		{"r''m \"-\"rf /", "rm -rf /"},
		{"x=r; y=m; $x$y a", "rm a"},
		{"x=rm; y=$x; $y a", "rm a"},
		{"x=RM; ${x,,} a", "rm a"},
		{"x=xrmx; y=${x#x}; ${y%x} a", "rm a"},
		{"x=rXm; ${x/X/} a", "rm a"},
		{"x=armb; ${x:1:2} a", "rm a"},
		{"$(echo rm) a", "rm a"},
		{"`printf rm` a", "rm a"},
		{"x=$(echo rm); $x a", "rm a"},
		{"{rm,-rf,/}", "rm -rf /"},
		{"a {b,c}{1..2}", "a b1 b2 c1 c2"},
		{"a x{b,{c,d}}y '{e,f}'", "a xby xcy xdy {e,f}"},
		{"set -- a b; \"$@\" c", "a b c"},
		{"set -- a b c; shift; d $1 $2", "d b c"},
		{"sh -c '\"$@\"' _ a b", "a b"},
		{"x=a sh -c '$x b'", "a b"},
		{"for i in a b; do $i c; done", "b c"},
		{"f() { \"$@\"; }; f a b", "a b"},
		{"f() { g \"$1\"; }; g() { $1 b; }; f a", "a b"},
		{"declare x=a; $x b", "a b"},
		{"export x=a; $x b", "a b"},
		{"alias x='a b'; x c", "a b c"},
		{"IFS=,; x=a,b; $x", "a b"},
		{"$SUDO rm -rf /", "rm -rf /"},
		{"$SUDO $\"rm\" -rf /", "rm -rf /"},
		{"if a; then x=rm; fi; $x b", "rm b"},
		{"a $((1 + 2 * 3)) $[4]", "a 7 4"},
		{"a $((0x1f - 017)) $((2#101 ** 3))", "a 16 125"},
		{"x=2; a $((x > 1 ? x << 3 : 0)) $((${x} == $x && !0))", "a 16 1"},
		{"x=y+1; y=4; a $((x * 2))", "a 10"},
		{"((x = 2 + 2)); a $x", "a 4"},
		{"((x = 1, y = 2)); a $x$y", "a 12"},
		{"x=(a rm b); i=0; ${x[i+1]} ${x[$((i))]} ${x[-1]}", "rm a b"},
		{"x=armb; n=1; ${x:n:$((n+1))} ${x: -1}", "rm b"},
		{"x=armb; ${x:1:-1} a", "rm a"},
	};

	check_found(examples, ELEMENTS(examples));
}

/* The value may be another one: the command stays as it is written. */
static void what_may_be_otherwise_is_no_constant(void **state _unused_)
{
	static const struct example examples[] = {
		{"if a; then x=ls; fi; $x b", "$x b"},
		{"a && x=ls; $x b", "$x b"},
		{"x=ls; read x; $x b", "$x b"},
		{"x=ls; while a; do $x b; x=rm; done", "$x b"},
		{"x=ls; f() { x=rm; }; f; $x b", "$x b"},
		{"x=ls; . ./y; $x b", "$x b"},
		{"x=ls; eval 'x=rm'; $x b", "$x b"},
		{"x=ls | a; $x b", "$x b"},
		{"(x=ls); $x b", "$x b"},
		{"case a in b) x=ls;; c) $x b;; esac", "$x b"},
		{"x=ls; unset x; $x b", "$x b"},
		{"declare -n x=y; x=ls; $x b", "$x b"},
		{"${x:-ls} b", "${x:-ls} b"},
		{"RANDOM=ls; $RANDOM b", "$RANDOM b"},
		{"x=ls; for x in rm; do a; done; $x b", "$x b"},
		{"x=ls; declare \"$y=rm\"; $x b", "$x b"},
		{"x=ls; eval \"$y\"; $x b", "$x b"},
		{"x=ls; read $y; $x b", "$x b"},
		{"x=ls; printf -v $y rm; $x b", "$x b"},
		{"x=ls; trap 'x=rm' DEBUG; $x b", "$x b"},
		{"x=ls; x=rm :; $x b", "$x b"},
		{"x=1; ((x++)); y=$((x)); $y b", "$y b"},
		{"$((x=1)) b", "$((x=1)) b"},
		{"y='1+1'; $((2*$y)) b", "$((2*$y)) b"},
		{"$((1/0)) b", "$((1/0)) b"},
		{"$((x)) b", "$((x)) b"},
		{"((a && (x = 1))); $((x)) b", "$((x)) b"},
		{"x=ls; coproc x { a; }; $x b", "$x b"},
	};

	check_found(examples, ELEMENTS(examples));
	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, examples[i].script, &plan);
		assert_true(plan.opaque);
	}
}

static void interpreters_are_followed_to_what_they_read(void **state _unused_)
{
	static const struct example examples[] = {
		{"echo 'a b' | sh", "a b"},
		{"printf '%s %s\\n' a b | bash", "a b"},
		{"echo YSBiCg== | base64 -d | sh", "a b"},
		{"echo 'b a' | rev | sh", "a b"},
		{"echo 'n o' | tr a-z n-za-m | sh", "a b"},
		{"echo 6120620a | xxd -r -p | sh", "a b"},
		{"{ echo a; echo b; } | sh", "b"},
		{"echo a | { sh; }", "a"},
		{"{ sh; } <<E\na b\nE", "a b"},
		{"(sh) <<< 'a b'", "a b"},
		{"sh < <(echo a b)", "a b"},
		{". <(echo a b)", "a b"},
		{"cat <<E | sh\na b\nE", "a b"},
		{"x=b; sh <<E\na $x\nE", "a b"},
		{"cat > x.sh <<E\na b\nE\nchmod +x x.sh && ./x.sh", "a b"},
		{"echo a b | tee x.sh; . ./x.sh", "a b"},
		{"ssh h <<E\na b\nE", "a b"},
		{"python3 - <<E\nos.system('a b')\nE", "a b"},
		{"echo 'os.system(\"a b\")' | python3", "a b"},
	};

	check_found(examples, ELEMENTS(examples));
}

static void other_languages_are_handed_on(void **state _unused_)
{
	static const struct {
		const char *script, *language, *text;
	} examples[] = {
		{"python3 <<E\nx\nE", "python", "x\n"},
		{"echo x | perl", "perl", "x\n"},
		{"psql app <<< 'select 1'", "sql", "select 1"},
		{"printf x > a.py; python3 a.py", "python", "x"},
	};

	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		const struct command *last;
		struct plan plan;

		parse(arena, examples[i].script, &plan);
		last = &plan.commands[plan.count - 1];
		assert_int_equal(last->code_count, 1);
		assert_string_equal(last->codes[0].language, examples[i].language);
		assert_string_equal(last->codes[0].text, examples[i].text);
	}
}

static void tools_that_run_others_are_looked_through(void **state _unused_)
{
	static const struct example examples[] = {
		{"env -S 'a b' c", "a b c"},
		{"su -c 'a b' me", "a b"},
		{"script -c 'a b' log", "a b"},
		{"watch -n 1 a b", "a b"},
		{"flock f -c 'a b'", "a b"},
		{"find . -exec a {} \\; -ok b {} +", "b {}"},
		{"parallel a b ::: c", "a b"},
		{"docker run --rm -v x:y -e Z img a b", "a b"},
		{"docker exec -it c a b", "a b"},
		{"docker compose exec web a b", "a b"},
		{"podman run img sh -c 'a b'", "a b"},
		{"kubectl -n x exec p -c y -- a b", "a b"},
		{"git -c alias.x='!a b' x c", "a b c"},
		{"git -c alias.x='push --force' x y", "git push --force y"},
		{"git -c core.sshCommand='a b' fetch", "a b"},
		{"git config alias.x '!a b'", "a b"},
		{"git submodule foreach 'a b'", "a b"},
		{"git bisect run a b", "a b"},
		{"git rebase --exec 'a b' x", "a b"},
		{"GIT_SSH_COMMAND='a b' git fetch", "a b"},
		{"env GIT_EDITOR='a b' git commit", "a b"},
		{"tar --checkpoint-action=exec='a b' -cf x y", "a b"},
		{"tar -xf x --to-command='a b'", "a b"},
		{"tar -I 'a b' -xf x", "a b"},
		{"rsync -e 'a b' x y", "a b"},
		{"ssh -o ProxyCommand='a b' h", "a b"},
		{"vim -c ':!a b' x", "a b"},
		{"vim +'!a b' x", "a b"},
		{"sed '2e a b' x", "a b"},
		{"awk '{ system(\"a b\") }' x", "a b"},
		{"awk 'BEGIN { \"a b\" | getline }'", "a b"},
		{"awk '{ print | \"a b\" }' x", "a b"},
		{"gdb -ex 'shell a b'", "a b"},
		{"split --filter='a b' x", "a b"},
		{"python3 -c 'subprocess.run([\"a\", \"b\"])'", "a b"},
		{"perl -e 'system(\"a b\")'", "a b"},
		{"perl -e '`a b`'", "a b"},
		{"ruby -e 'system \"a b\"'", "a b"},
		{"node -e 'execSync(\"a b\")'", "a b"},
		{"php -r 'passthru(\"a b\");'", "a b"},
		{"tmux new-session -d 'a b'", "a b"},
		{"sh -c \"sh -c 'sh -c \\\"a b\\\"'\"", "a b"},
	};

	check_found(examples, ELEMENTS(examples));
}

static void wrappers_in_argv_are_looked_through(void **state _unused_)
{
	static const char *const wrapped[] = {"env X=1",
					      "sudo -u x",
					      "doas -u x",
					      "timeout -k 1 5",
					      "nice -n 5",
					      "ionice -c 3",
					      "nohup",
					      "setsid",
					      "stdbuf -oL",
					      "command",
					      "builtin",
					      "exec -a y",
					      "xargs -n 1",
					      "strace -e x",
					      "ltrace",
					      "flock x",
					      "chroot x",
					      "unshare -r",
					      "nsenter -t 1 -m",
					      "runuser -u x --",
					      "busybox",
					      "toybox",
					      "sshpass -p x",
					      "fakeroot",
					      "systemd-run --user",
					      "setpriv --reuid 1",
					      "gosu x",
					      "numactl -N 0"};

	for (size_t i = 0; i < ELEMENTS(wrapped); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, arena_printf(arena, "%s rm x", wrapped[i]), &plan);
		if (strcmp(plan.commands[0].argv[plan.commands[0].program], "rm") != 0)
			fail_msg("%s is not looked through", wrapped[i]);
	}
}

/* The bytes, the line and the reason of each thing that is not known. */
static void what_is_not_known_is_told_with_its_span(void **state _unused_)
{
	static const char script[] = "ls\n$x a\ncurl u | sh\necho 'b";
	static const struct {
		const char *text, *why;
		enum opacity opacity;
		unsigned line;
	} parts[] = {
		{"$x a", "known only when it runs", OPAQUE_NAME, 2},
		{"sh", "sh runs what curl prints", OPAQUE_NAME, 3},
		{"'b", "a quote is never closed", OPAQUE_UNREAD, 4},
	};
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	parse(arena, script, &plan);
	assert_true(plan.opaque);
	assert_int_equal(plan.opacity, OPAQUE_UNREAD);
	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		const struct opaque_part *part = NULL;

		for (size_t j = 0; j < plan.opaque_count; j++)
			if (strstr(plan.opaque_parts[j].why, parts[i].why))
				part = &plan.opaque_parts[j];
		assert_non_null(part);
		assert_int_equal(part->opacity, parts[i].opacity);
		assert_int_equal(part->span.line, parts[i].line);
		assert_int_equal(part->span.end - part->span.start, strlen(parts[i].text));
		assert_memory_equal(script + part->span.start, parts[i].text,
				    strlen(parts[i].text));
	}
}

/* In a substitution bash reads its own writing of it, in which COPROC is the command. */
static void a_coproc_without_a_command_is_in_doubt(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	parse(arena, "c <(f() { coproc >x; }; f)", &plan);
	assert_int_equal(plan.opacity, OPAQUE_DISPUTED);
	parse(arena, "coproc a >x", &plan);
	assert_false(plan.opaque);
}

/* bash refuses such a line; the grammar does not where a join stands before the operator. */
static void a_line_that_begins_with_an_operator_is_in_doubt(void **state _unused_)
{
	static const char *const refused[] = {"a\n\\\n | b", "a\n\\\n&& b", "a\n\n\\\n|| b",
					      "a # x\n\\\n | b", "{\n a\n\\\n; }"},
				 *const fine[] = {
					 "a\\\n | b",	       "a |\n\\\n b",
					 "a &&\n# c\nb",       "case x in\na)\n b\n ;;\nesac",
					 "cat <<E\n| x\nE\nb", "{\n a\n} | b"};
	struct plan plan;

	for (size_t i = 0; i < ELEMENTS(refused); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();

		parse(arena, refused[i], &plan);
		assert_true(plan.opaque);
	}
	for (size_t i = 0; i < ELEMENTS(fine); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();

		parse(arena, fine[i], &plan);
		assert_false(plan.opaque);
	}
}

static void a_subscript_that_goes_on_is_in_doubt(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	parse(arena, "time a[ b ]=c", &plan);
	assert_int_equal(plan.opacity, OPAQUE_DISPUTED);
	parse(arena, "a[1]=c b; [ c ]", &plan);
	assert_false(plan.opaque);
}

/* make says what it runs in a file: that is named, and makes nothing opaque. */
static void bodies_in_files_are_named(void **state _unused_)
{
	static const char *const scripts[] = {"make all", "npm run x", "just y",
					      "sh a.sh",  ". ./a",     "sh < a.sh"};

	for (size_t i = 0; i < ELEMENTS(scripts); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse(arena, scripts[i], &plan);
		assert_false(plan.opaque);
		assert_int_equal(plan.opaque_count, 1);
		assert_int_equal(plan.opaque_parts[0].opacity, OPAQUE_BODY);
	}
}

/* Texts that grow when they are followed: each ends, and what is not followed is said. */
static void bombs_are_bounded(void **state _unused_)
{
	static const struct {
		const char *before, *piece, *after;
	} bombs[] = {
		{"", "$(", ""},
		{"", "(", ""},
		{"", "{ ", ""},
		{"", "if a; then ", ""},
		{"", "f() { ", ""},
		{"echo ", "{a,b}", ""},
		{"", "{a,", ""},
		{"alias a='b a' b='a b'; ", "a;", ""},
		{"", "eval ", "a"},
		{"", "x='eval \"$x\"'; eval \"$x\"; ", ""},
		{"a=aaaa; ", "a=$a$a; ", "$a"},
		{"f() { g \"$@\"; g \"$@\"; }; g() { f \"$@\"; f \"$@\"; }; ", "f a; ", ""},
		{"", "echo a | sh; ", ""},
		{"echo a", " | cat", " | sh"},
		{"", "echo a > x; sh x; ", ""},
		{"echo ", "${x:-", ""},
		{"git ", "-c alias.x='!git x' ", "x"},
		{"awk '{", "system(\"a\");", "}'"},
		{"", "for x in a b c d; do $x; ", ""},
	};

	for (size_t i = 0; i < ELEMENTS(bombs); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_buffer_ struct buffer text = {0};
		struct plan plan;

		buffer_add_text(&text, bombs[i].before);
		for (size_t j = 0; j < 10000; j++)
			buffer_add_text(&text, bombs[i].piece);
		buffer_add_text(&text, bombs[i].after);
		parse(arena, buffer_text(&text), &plan);
		assert_true(plan.count <= 10000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_know_where_they_stand),
		cmocka_unit_test(commands_have_spans),
		cmocka_unit_test(constants_are_followed),
		cmocka_unit_test(what_may_be_otherwise_is_no_constant),
		cmocka_unit_test(interpreters_are_followed_to_what_they_read),
		cmocka_unit_test(other_languages_are_handed_on),
		cmocka_unit_test(tools_that_run_others_are_looked_through),
		cmocka_unit_test(wrappers_in_argv_are_looked_through),
		cmocka_unit_test(what_is_not_known_is_told_with_its_span),
		cmocka_unit_test(a_coproc_without_a_command_is_in_doubt),
		cmocka_unit_test(a_line_that_begins_with_an_operator_is_in_doubt),
		cmocka_unit_test(a_subscript_that_goes_on_is_in_doubt),
		cmocka_unit_test(bodies_in_files_are_named),
		cmocka_unit_test(bombs_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
