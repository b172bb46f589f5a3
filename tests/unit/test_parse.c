/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer and the plan: every command in a text is found, or the plan says that it is opaque. */
#include "../../src/base/buffer.h"
#include "../../src/base/units.h"
#include "../../src/parse/lexer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* The plan on one line: words in brackets, assignments in braces, redirections as fd, operator,
 * target. */
static void show(struct buffer *line, const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];

		if (i)
			buffer_add_text(line, "; ");
		for (size_t j = 0; j < command->assignment_count; j++)
			buffer_printf(line, "{%s}", command->assignments[j]);
		for (size_t j = 0; j < command->argc; j++)
			buffer_printf(line, "[%s]", command->argv[j]);
		assert_null(command->argv[command->argc]);
		for (size_t j = 0; j < command->redirect_count; j++)
			buffer_printf(line, "(%d%s%s)", command->redirects[j].fd,
				      command->redirects[j].operator, command->redirects[j].target);
		if (command->dynamic)
			buffer_add_char(line, '*');
	}
	if (plan->opaque) {
		assert_non_null(plan->opaque_why);
		buffer_add_text(line, " opaque");
	} else {
		assert_null(plan->opaque_why);
	}
}

struct example {
	const char *text, *plan;
};

static void check_texts(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_buffer_ struct buffer line = {0};
		struct plan plan;

		lex_shell(arena, examples[i].text, strlen(examples[i].text), &plan);
		show(&line, &plan);
		if (strcmp(buffer_text(&line), examples[i].plan) != 0)
			fail_msg("%s\n  gives   %s\n  not     %s", examples[i].text,
				 buffer_text(&line), examples[i].plan);
	}
}

static void quotes_are_removed(void **state _unused_)
{
	static const struct example examples[] = {
		{"a 'b c' \"d e\" f\\ g", "[a][b c][d e][f g]"},
		{"r\\m 'r'm \"\"rm ''", "[rm][rm][rm][]"},
		{"echo \"a\\\"b\\\\c\\d\"", "[echo][a\"b\\c\\d]"},
		{"echo '\\a' \\", "[echo][\\a][\\]"},
		{"echo $'a\\tb\\x41\\101\\u00e9\\'\\q'", "[echo][a\tbAA\u00e9'\\q]"},
		{"echo $'a\\0b'c", "[echo][ac]"},
		{"echo \"$'x'\"", "[echo][$'x']"},
		{"r\\\nm -r\\\nf x", "[rm][-rf][x]"},
		{"a &\\\n& b |\\\n| c", "[a]; [b]; [c]"},
		{"echo 'a\\\nb'", "[echo][a\\\nb]"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void operators_part_commands(void **state _unused_)
{
	static const struct example examples[] = {
		{"a;b&c&&d||e|f|&g\nh", "[a]; [b]; [c]; [d]; [e]; [f]; [g]; [h]"},
		{"", ""},
		{" \t\n\n", ""},
		{" \t\n\n;", " opaque"}, /* which bash refuses */
		{"a # b; c\nd", "[a]; [d]"},
		{"a#b c", "[a#b][c]"},
		{"a # b \\\nc", "[a]; [c]"},
		{"(a; b) | { c; }", "[a]; [b]; [c]"},
		{"! a; time -p b; time { c; }", "[a]; [b]; [c]"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void carriage_return_and_vertical_tab_are_letters(void **state _unused_)
{
	static const struct example examples[] = {
		{"rm\r-rf /\r\nls\v-l", "[rm\r-rf][/\r]; [ls\v-l]"},
		{"rm\f-rf", "[rm\f-rf]"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void compound_commands_are_looked_into(void **state _unused_)
{
	static const struct example examples[] = {
		{"if a; then b; elif c; then d; else e; fi", "[a]; [b]; [c]; [d]; [e]"},
		{"while a; do b; done; until c; do d; done", "[a]; [b]; [c]; [d]"},
		{"for i in x y; do a; done; for i do b; done", "[a]; [b]"},
		{"for ((i=0; i<3; i++)); do a; done", "[a]"},
		{"for i in $(a); do b; done", "[a]; [b]"},
		{"case x in (a|b) c;; d) e;& *) f; esac; g", "[c]; [e]; [f]; [g]"},
		{"case x in\n# note\na)\n b\n ;;\nesac", "[b]"},
		{"case x in a) case y in b) c;; esac;; esac", "[c]"},
		{"f() { a; }; function g { b; }; h () ( c )",
		 "[function][f]; [a]; [function][g]; [b]; [function][h]; [c]"},
		{"[[ -f a && $b =~ ^(c|d)$ ]] && e", "[[[][-f][a][$b][=~][^][c][d][$][]]]*; [e]"},
		{"((x = 1 << 2)); a", "{x=$((1 << 2))}*; [a]"},
		{"((x < 2)); a", "[a]"},
		{"((x++, y = 2)); a", "{_=$((x++))}{y=$((2))}*; [a]"},
		{"coproc N { a; }; coproc b c", "[a]; [b][c]"},
		{"echo if then", "[echo][if][then]"},
		{"'if' a", "[if][a]"},
		{"if a; then b; fi > c 2>&1", "[a]; [b]; (-1>c)(2>&1)"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void substitutions_are_looked_into(void **state _unused_)
{
	static const struct example examples[] = {
		{"a $(b c) d", "[b][c]; [a][$(b c)][d]*"},
		{"a \"x $(b \"y)\")\"", "[b][y)]; [a][x $(b \"y)\")]*"},
		{"a `b \\`c\\``", "[c]; [b][`c`]*; [a][`b \\`c\\``]*"},
		{"a <(b) >(c)", "[b]; [c]; [a][<(b)][>(c)]*"},
		{"a < <(b)", "[b]; [a](-1<<(b))*"},
		{"a ${x:-$(b)} \"${y:=`c`}\"", "[b]; [c]; [a][${x:-$(b)}][${y:=`c`}]*"},
		{"a $((1 + $(b)))", "[b]; [a][$((1 + $(b)))]*"},
		{"a $[1+2]", "[a][$[1+2]]*"},
		{"a $\\\n(b)", "[b]; [a][$\\\n(b)]*"},
		{"x=$(a) y=(b $(c))", "[a]; [c]; {x=$(a)}{y=(b $(c))}*"},
		{"a $(case x in y) b;; esac)", "[b]; [a][$(case x in y) b;; esac)]*"},
		{"a $(b # )\n)", "[b]; [a][$(b # )\n)]*"},
		{"'$(a)' \\$(b", "[$(a)][$] opaque"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void expansions_make_a_command_dynamic(void **state _unused_)
{
	static const struct example examples[] = {
		{"a $b", "[a][$b]*"},	      {"a '$b'", "[a][$b]"},
		{"a *", "[a][*]*"},	      {"a '*' \\?", "[a][*][?]"},
		{"a {b,c}", "[a][{b,c}]*"},   {"a {b}", "[a][{b}]"},
		{"a {1..3}", "[a][{1..3}]*"}, {"a ~/b", "[a][~/b]*"},
		{"a b~", "[a][b~]"},	      {"[ -f a ]", "[[][-f][a][]]"},
		{"a [bc]", "[a][[bc]]*"},     {"a $ b$", "[a][$][b$]"},
		{"a $? $$", "[a][$?][$$]*"},  {"X=~/a b", "{X=~/a}[b]*"},
		{"a > $b", "[a](-1>$b)*"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void assignments_are_told_from_words(void **state _unused_)
{
	static const struct example examples[] = {
		{"A=1 B+=2 C[3]=4 c D=5", "{A=1}{B+=2}{C[3]=4}[c][D=5]*"},
		{"A='x y' b", "{A=x y}[b]"},
		{"'A'=1 b", "[A=1][b]"},
		{"A\\=1", "[A=1]"},
		{"1A=2", "[1A=2]"},
		{"a=(b\nc # d\n) e", "{a=(b\nc # d\n)}[e]"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void redirections_keep_descriptor_and_target(void **state _unused_)
{
	static const struct example examples[] = {
		{"a >b 2>>c <d 3<>e >|f", "[a](-1>b)(2>>c)(-1<d)(3<>e)(-1>|f)"},
		{"a &>b 2>&1 >&- <&0 &>>c", "[a](-1&>b)(2>&1)(-1>&-)(-1<&0)(-1&>>c)"},
		{"a {fd}>b <<<'c d'", "[a](-1>b)(-1<<<c d)"},
		{"a 2 >b", "[a][2](-1>b)"},
		{"a '2'>b", "[a][2](-1>b)"},
		{">a", "(-1>a)"},
		{">a b c", "[b][c](-1>a)"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void here_documents_end_where_bash_ends_them(void **state _unused_)
{
	static const struct example examples[] = {
		{"a <<E; b\nx\nE\nc", "[a](-1<<x\n); [b]; [c]"},
		{"a <<-E\n\tx\n\tE\nc", "[a](-1<<-x\n); [c]"},
		{"a <<A <<B | b\n1\nA\n2\nB\nc", "[a](-1<<1\n)(-1<<2\n); [b]; [c]"},
		{"a <<E\n$(b) `c` \\$(d)\nE", "[a](-1<<$(b) `c` \\$(d)\n); [b]; [c]"},
		{"a <<'E'\n$(b)\nE", "[a](-1<<$(b)\n)"},
		{"a <<E\nx \\\nE\nb\nE\nc", "[a](-1<<x E\nb\n); [c]"},
		{"a <<'E'\nx \\\nE\nb", "[a](-1<<x \\\n); [b]"},
		{"a <<E \"$(b\nc)\"\nx\nE\nd", "[b]; [c]; [a][$(b\nc)](-1<<x\n)*; [d]"},
		{"a <<E", "[a](-1<<E)"},
	};

	check_texts(examples, ELEMENTS(examples));
}

static void what_cannot_be_followed_is_opaque(void **state _unused_)
{
	static const struct example examples[] = {
		{"a 'b", "[a] opaque"},	      {"a; b \"c", "[a]; [b] opaque"},
		{"a $(b", "[b]; [a] opaque"}, {"a `b", "[a] opaque"},
		{"(a", "[a] opaque"},	      {"a)", "[a] opaque"},
		{"a ;; b", "[a] opaque"},     {"a >", "[a] opaque"},
		{"a b(c)", "[a][b] opaque"},  {"a <<b ()\nb", "[a](-1<<b) opaque"},
		{"a $((b) )", "[a] opaque"},  {"a ${ b; }", "[a] opaque"},
	};
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	check_texts(examples, ELEMENTS(examples));
	lex_shell(arena, "a\0b", 3, &plan);
	assert_true(plan.opaque);
	assert_int_equal(plan.count, 0);
}

/* count times piece, read within the time that a bound on it allows. */
static void parse_repeated(struct arena *arena, const char *piece, size_t count,
			   struct plan *ret_plan)
{
	_cleanup_buffer_ struct buffer text = {0};
	uint64_t start;

	for (size_t i = 0; i < count; i++)
		buffer_add_text(&text, piece);
	start = monotonic_ns();
	lex_shell(arena, buffer_text(&text), text.length, ret_plan);
	if (monotonic_ns() - start > 5000000000)
		fail_msg("%zu times '%s' take too long", count, piece);
}

static void size_depth_and_number_are_bounded(void **state _unused_)
{
	static const char *const pieces[] = {
		"$(",	"`",	 "( ",	   "${", "$((", "a[:~", "<<a ",	 "a=(", "((", "\\\n",
		"\"$(", "case ", "a\\\n$", "<(", "$[",	"a[]=", "f() {", "$()", "''", "a "};
	_cleanup_arena_ struct arena *arena = arena_new();
	struct plan plan;

	parse_repeated(arena, "a;", 10000, &plan);
	assert_int_equal(plan.count, 10000);
	assert_false(plan.opaque);
	parse_repeated(arena, "a;", 10001, &plan);
	assert_int_equal(plan.count, 10000);
	assert_true(plan.opaque);
	parse_repeated(arena, "a", 1024 * 1024, &plan);
	assert_false(plan.opaque);
	parse_repeated(arena, "a", 1024 * 1024 + 1, &plan);
	assert_true(plan.opaque);
	parse_repeated(arena, "( ", 33, &plan);
	assert_string_equal(plan.opaque_why, "it is nested too deeply");
	for (size_t i = 0; i < ELEMENTS(pieces); i++) {
		_cleanup_arena_ struct arena *own = arena_new();

		parse_repeated(own, pieces[i], 1024 * 1024 / strlen(pieces[i]), &plan);
	}
}

static void check_request(struct request *request, const char *expected)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_buffer_ struct buffer line = {0};
	struct plan plan;

	parse_request(arena, request, &plan);
	show(&line, &plan);
	assert_string_equal(buffer_text(&line), expected);
	request_done(request);
}

static void check_argv(const char *const *argv, const char *expected)
{
	struct request request;

	request_init(&request);
	for (; *argv; argv++)
		list_add(&request.argv, *argv);
	check_request(&request, expected);
}

static void check_script(const char *script, const char *expected)
{
	struct request request;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(script);
	check_request(&request, expected);
}

static void an_argv_is_one_command_taken_literally(void **state _unused_)
{
	check_argv((const char *[]){"echo", "$(a)", "*", ";", NULL}, "[echo][$(a)][*][;]");
	check_argv((const char *[]){NULL}, "");
}

static void the_text_of_sh_c_is_looked_into(void **state _unused_)
{
	check_argv((const char *[]){"sh", "-c", "a; b $c", NULL},
		   "[sh][-c][a; b $c]; [a]; [b][$c]*");
	check_argv((const char *[]){"/bin/bash", "-euo", "pipefail", "-lc", "a", "b", NULL},
		   "[/bin/bash][-euo][pipefail][-lc][a][b]; [a]");
	check_argv((const char *[]){"env", "-u", "X", "A=1", "timeout", "-k", "1", "5", "sh", "-c",
				    "a", NULL},
		   "[env][-u][X][A=1][timeout][-k][1][5][sh][-c][a]; [a]");
	check_argv((const char *[]){"echo", "sh", "-c", "a", NULL}, "[echo][sh][-c][a]");
	check_argv((const char *[]){"sh", "a.sh", "-c", "b", NULL}, "[sh][a.sh][-c][b]");
	check_argv((const char *[]){"sudo", "-u", "x", "su", "-", "y", "-c", "a", NULL},
		   "[sudo][-u][x][su][-][y][-c][a]; [a]");
	check_argv((const char *[]){"env", "-S", "rm -rf /", NULL},
		   "[env][-S][rm -rf /]; [rm][-rf][/]");
}

static void texts_inside_texts_are_looked_into(void **state _unused_)
{
	check_script("bash -c 'sh -c \"a b\"'", "[bash][-c][sh -c \"a b\"]; [sh][-c][a b]; [a][b]");
	check_script("eval a 'b; c'", "[eval][a][b; c]; [a][b]; [c]");
	check_script("trap 'a' EXIT; trap - INT", "[trap][a][EXIT]; [trap][-][INT]; [a]");
	check_script("bash <<E\na\nE", "[bash](-1<<a\n); [a]");
	check_script("sh <<<'a b'", "[sh](-1<<<a b); [a][b]");
	check_script("sh -c \"$a\"", "[sh][-c][$a]*; [$a]* opaque");
}

static void what_is_looked_through_is_told(void **state _unused_)
{
	static const struct {
		const char *text, *wrappers; /* of the last command */
		size_t program;
	} examples[] = {
		{"ls", "", 0},
		{"sudo -u x env A=1 ls -l", "sudo env", 5},
		{"nice -n 5 timeout 3 nohup ls", "nice timeout nohup", 6},
		{"sudo sh -c 'env ls'", "sudo sh env", 1},
		{"find . -exec sudo rm {} \\;", "find sudo", 1},
		{"xargs -0 -n1 rm", "xargs", 3},
		{"ssh -p 1 h ls", "ssh", 0},
		{"python3 -m pip install x", "python3", 2},
		{"eval 'eval ls'", "eval eval", 0},
		{"poetry run ls", "poetry", 2},
		{"poetry install", "", 0},
		{"command -v ls", "", 0},
	};

	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_buffer_ struct buffer names = {0};
		_cleanup_request_ struct request request;
		const struct command *last;
		struct plan plan;

		request_init(&request);
		request.mode = MODE_SHELL;
		request.script = strdup(examples[i].text);
		parse_request(arena, &request, &plan);
		last = &plan.commands[plan.count - 1];
		for (size_t j = 0; j < last->wrapper_count; j++)
			buffer_printf(&names, "%s%s", j ? " " : "", last->wrappers[j]);
		if (strcmp(buffer_text(&names), examples[i].wrappers) != 0 ||
		    last->program != examples[i].program)
			fail_msg("%s: through '%s' to %zu", examples[i].text, buffer_text(&names),
				 last->program);
	}
}

static void readers_that_differ_make_a_plan_opaque(void **state _unused_)
{
	static const struct {
		const char *text;
		enum opacity opacity;
	} examples[] = {
		{"ls -l | head; make", OPAQUE_NOT},
		{"a >b c <d e", OPAQUE_NOT},
		{"time make", OPAQUE_NOT},
		{"a | time b", OPAQUE_NOT},
		{"time { a; }", OPAQUE_DISPUTED},
		{"coproc X { a; }", OPAQUE_NOT},
		{"coproc X { a; b; }; c", OPAQUE_NOT},
		{"coproc a b", OPAQUE_NOT},
		{"coproc X ( a )", OPAQUE_DISPUTED},
		{"((x = 1)); a", OPAQUE_NOT},
		{"a; }", OPAQUE_DISPUTED},
		{"a `b \\`c\\``", OPAQUE_DISPUTED},
		{"rm\r-rf x", OPAQUE_DISPUTED},
		{"rm\v-rf x", OPAQUE_DISPUTED},
		{"cat <<E\n`a`\nE", OPAQUE_DISPUTED},
		{"$a", OPAQUE_NAME},
		{"a 'b", OPAQUE_UNREAD},
		{"if a; then b", OPAQUE_DISPUTED},
	};

	for (size_t i = 0; i < ELEMENTS(examples); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct plan plan;

		parse_shell(arena, examples[i].text, strlen(examples[i].text), &plan);
		if (plan.opacity != examples[i].opacity)
			fail_msg("%s: opacity %d (%s)", examples[i].text, plan.opacity,
				 plan.opaque_why ? plan.opaque_why : "none");
	}
}

/* Long text of each kind, through both readers. */
static void the_grammar_is_bounded(void **state _unused_)
{
	static const char *const pieces[] = {
		"<<a ",	  "cat <<E\n", "$(",  "`",   "a;",	  "a ",	  "((",	     "[[ ",
		"if a\n", "\"",	       "$x$", "a=(", "case x in", "\\\n", "<<-\\\n", "{a,"};

	for (size_t i = 0; i < ELEMENTS(pieces); i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		_cleanup_buffer_ struct buffer text = {0};
		uint64_t start = monotonic_ns();
		struct plan plan;

		while (text.length < 24000) /* the most that surely comes to the grammar */
			buffer_add_text(&text, pieces[i]);
		parse_shell(arena, buffer_text(&text), text.length, &plan);
		while (text.length < 300000)
			buffer_add_text(&text, pieces[i]);
		parse_shell(arena, buffer_text(&text), text.length, &plan);
		if (monotonic_ns() - start > 20000000000)
			fail_msg("'%s' takes too long", pieces[i]);
	}
}

static void texts_inside_texts_are_bounded(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct request request;
	struct plan plan;

	request_init(&request);
	for (size_t i = 0; i < 100000; i++)
		list_add(&request.argv, "eval");
	list_add(&request.argv, "a;"); /* read anew by each of them */
	parse_request(arena, &request, &plan);
	assert_true(plan.opaque);
	request_done(&request);
}

/* Of words that stay what they are however often they are read, there is one text. */
static void an_eval_of_evals_is_one(void **state _unused_)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct request request;
	struct plan plan;

	request_init(&request);
	for (size_t i = 0; i < 100000; i++)
		list_add(&request.argv, "eval");
	list_add(&request.argv, "rm");
	list_add(&request.argv, "x");
	parse_request(arena, &request, &plan);
	assert_false(plan.opaque);
	assert_int_equal(plan.count, 2);
	assert_string_equal(plan.commands[1].argv[0], "rm");
	request_done(&request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotes_are_removed),
		cmocka_unit_test(operators_part_commands),
		cmocka_unit_test(carriage_return_and_vertical_tab_are_letters),
		cmocka_unit_test(compound_commands_are_looked_into),
		cmocka_unit_test(substitutions_are_looked_into),
		cmocka_unit_test(expansions_make_a_command_dynamic),
		cmocka_unit_test(assignments_are_told_from_words),
		cmocka_unit_test(redirections_keep_descriptor_and_target),
		cmocka_unit_test(here_documents_end_where_bash_ends_them),
		cmocka_unit_test(what_cannot_be_followed_is_opaque),
		cmocka_unit_test(size_depth_and_number_are_bounded),
		cmocka_unit_test(an_argv_is_one_command_taken_literally),
		cmocka_unit_test(the_text_of_sh_c_is_looked_into),
		cmocka_unit_test(texts_inside_texts_are_looked_into),
		cmocka_unit_test(what_is_looked_through_is_told),
		cmocka_unit_test(readers_that_differ_make_a_plan_opaque),
		cmocka_unit_test(the_grammar_is_bounded),
		cmocka_unit_test(texts_inside_texts_are_bounded),
		cmocka_unit_test(an_eval_of_evals_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
