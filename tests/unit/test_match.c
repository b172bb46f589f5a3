/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of rules: which commands they match, deny and ask in doubt, allow only for certain. */
#include "../../src/base/buffer.h"
#include "../../src/base/units.h"
#include "../../src/decide/layer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

struct example {
	const char *pattern, *text;
	bool deny, allow; /* whether a rule of that kind matches */
};

static bool matches(const char *pattern, const char *text, enum verdict_kind kind)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	struct request request = {.mode = MODE_SHELL, .script = (char *)text};
	_cleanup_error_ struct error *error = NULL;
	struct rule rule = {.kind = kind};
	struct plan plan;
	bool found = false;

	if (pattern_compile(pattern, &rule.compiled, &error) < 0)
		fail_msg("%s: %s", pattern, error->message);
	parse_request(arena, &request, &plan);
	for (size_t i = 0; i < plan.count; i++)
		found |= rule_matches(&rule, &plan.commands[i], 0, "/home/me");
	rule_done(&rule);
	return found;
}

static void check(const struct example *examples, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct example *example = &examples[i];

		if (matches(example->pattern, example->text, VERDICT_DENY) != example->deny)
			fail_msg("deny '%s' and '%s': not %d", example->pattern, example->text,
				 example->deny);
		if (matches(example->pattern, example->text, VERDICT_ALLOW) != example->allow)
			fail_msg("allow '%s' and '%s': not %d", example->pattern, example->text,
				 example->allow);
	}
}

static void words_of_a_pattern_are_the_first_operands(void **state)
{
	static const struct example examples[] = {
		{"git push", "git push", true, true},
		{"git push", "git push origin main", true, true},
		{"git push", "git pull", false, false},
		{"git push", "git", false, false},
		{"git push", "gitk push", false, false},
		{"git push", "git pull push", false, false},
		{"git push", "git stash push", false, false},
		{"git push", "git {push,origin}", true, true},
		{"git push", "x=push; git $x", true, true},
		{"git push", "echo git push", false, false},
		{"git push origin", "git push origin main", true, true},
		{"git push origin", "git push upstream", false, false},
		{"git push *", "git push", true, true},
		{"git *", "git status", true, true},
		{"git", "git -C x status", true, true},
		{"*", "anything at all", true, true},
		{"* push", "git push", true, true},
		{"* push", "git pull", false, false},
		{"npm publish|unpublish", "npm publish", true, true},
		{"npm publish|unpublish", "npm unpublish x", true, true},
		{"npm publish|unpublish", "npm install", false, false},
		{"git|hg push", "hg push", true, true},
		{"kubectl delete ns|namespace", "kubectl delete namespace x", true, true},
		{"kubectl delete [np]*", "kubectl delete pod x", true, true},
		{"kubectl delete [!np]*", "kubectl delete pod x", false, false},
		{"kubectl delete p?d", "kubectl delete pod", true, true},
		{"make \\*", "make '*'", true, true},
		{"make \\*", "make all", false, false},
		{"dd of=/dev/*", "dd of=/dev/sda", true, true},
		{"rm *.key", "rm a.key", true, true},
		{"rm *.key", "rm a.pem", false, false},
	};

	(void)state;
	check(examples, ELEMENTS(examples));
}

static void options_do_not_stand_in_the_way(void **state)
{
	static const struct example examples[] = {
		{"git push", "git -C dir push", true, true},
		{"git push", "git --git-dir x --no-pager push", true, true},
		{"git push", "git --git-dir=x push", true, true},
		{"git push", "git -c push status", false, false},
		{"git push", "git --no-pager push", true, true},
		{"docker run", "docker -H tcp://x run alpine", true, true},
		{"kubectl delete", "kubectl -n prod delete pod x", true, true},
		/* of a program that is not known an option may have a value or not */
		{"tool verb", "tool --option verb", true, false},
		{"tool verb", "tool --option value verb", true, false},
		{"tool verb", "tool --option=value verb", true, true},
		{"tool verb", "tool -- verb", true, true},
		{"tool verb", "tool verb --option", true, true},
		{"tool verb", "tool other --option verb", false, false},
		{"git push --force", "git push --force", true, true},
		{"git push --force", "git push origin main --force", true, true},
		{"git push --force", "git --force push", true, true},
		{"git push --force", "git push", false, false},
		{"git push --force", "git push --force-with-lease", false, false},
		{"git push --force*", "git push --force-with-lease", true, true},
		{"git push --force", "git push --forc", true, false},
		{"git push --force|-f", "git push -f", true, true},
		{"git push -f", "git push -uf origin", true, true},
		{"tar --to-command", "tar x --to-command=sh", true, true},
		{"rm -rf", "rm -rf x", true, true},
		{"rm -rf", "rm -fr x", true, true},
		{"rm -rf", "rm -r -f x", true, true},
		{"rm -rf", "rm -vrf x", true, true},
		{"rm -rf", "rm -r x", false, false},
		{"rm -r", "rm -rf x", true, true},
		{"rm -r", "rm -- -r", true, false},
		{"find -delete", "find . -delete", true, true},
		{"find -delete", "find . -depth -type l -empty", false, false},
		{"rm -rf /", "rm -rf /", true, true},
		{"rm -rf /", "rm -rf //", true, false},
		{"rm build/*", "rm build/x", true, true},
		{"rm build/*", "rm ./build//x", true, false},
		{"rm build/*", "rm build/../x", true, false},
		{"rm -rf /", "rm -rf /tmp/..", true, false},
		{"rm -rf /", "rm / -rf", true, true},
	};

	(void)state;
	check(examples, ELEMENTS(examples));
}

static void wrappers_and_paths_are_seen_through(void **state)
{
	static const struct example examples[] = {
		{"git push", "env X=1 git push", true, false},
		{"git push", "env 'a-b=1' git push", true, false},
		{"git push", "timeout 5 git push", true, true},
		{"git push", "nice -n 5 timeout -k 1 5 git push", true, true},
		{"git push", "sudo git push", true, false},
		{"git push", "sudo -u x env -i git -C y push", true, false},
		{"sudo", "sudo git push", true, true},
		{"sudo git push", "sudo git push", true, true},
		{"git push", "bash -c 'git push'", true, true},
		{"git push", "sh -c \"eval 'git push'\"", true, true},
		{"git push", "true && (git push)", true, true},
		{"git push", "echo \"$(git push)\"", true, true},
		{"git push", "echo origin | xargs git push", true, false},
		{"git push", "echo push | xargs git", true, false},
		{"git push", "echo push | xargs hg", false, false},
		{"git push", "/usr/bin/git push", true, true},
		{"git push", "./git push", true, false},
		{"git push", "/tmp/git push", true, false},
		{"git push", "/usr/bin/../../tmp/git push", true, false},
		{"/usr/bin/git push", "/usr/bin/git push", true, true},
		{"/usr/bin/git push", "git push", true, false},
		{"/usr/bin/git push", "/bin/git push", false, false},
		{"./run.sh", "./run.sh x", true, true},
		{"~/bin/x", "~/bin/x", true, false},
		{"~/bin/x", "/home/me/bin/x", true, true},
	};

	(void)state;
	check(examples, ELEMENTS(examples));
}

static void redirections_and_assignments_match(void **state)
{
	static const struct example examples[] = {
		{"echo > /etc/*", "echo x > /etc/passwd", true, true},
		{"echo > /etc/*", "echo x >> /etc/passwd", true, true},
		{"echo >/etc/*", "echo x 2>/etc/passwd", true, true},
		{"echo > /etc/*", "echo x > /tmp/x", false, false},
		{"echo > /etc/*", "echo x > /tmp/../etc/x", true, false},
		{"echo > /etc/*", "echo x < /etc/passwd", false, false},
		{"echo > /etc/*", "echo /etc/x", false, false},
		{"echo > *", "echo x >&2", false, false},
		{"> ~/.bashrc", "cat x > ~/.bashrc", true, false},
		{"> ~/.bashrc", "cat x > /home/me/.bashrc", true, true},
		{"> /etc/*", "> /etc/x", true, true},
		{"LD_PRELOAD=*", "LD_PRELOAD=./x.so ls", true, true},
		{"LD_PRELOAD=* ls", "env LD_PRELOAD=./x.so ls", true, true},
		{"LD_PRELOAD=* ls", "LD_PRELOAD=./x.so cat", false, false},
		{"LD_PRELOAD=*", "LD_DEBUG=all ls", false, false},
		{"LD_*=*", "LD_DEBUG=all ls", true, true},
		/* a variable can turn a program into another one */
		{"git push", "GIT_SSH_COMMAND=./x git push", true, false},
		{"GIT_TRACE=* git push", "GIT_TRACE=1 git push", true, true},
		{"GIT_TRACE=* git push", "GIT_TRACE=1 PATH=. git push", true, false},
	};

	(void)state;
	check(examples, ELEMENTS(examples));
}

static void what_is_not_known_is_denied_and_never_allowed(void **state)
{
	static const struct example examples[] = {
		{"git push", "git $X", true, false},
		{"git push", "git $X origin", true, false},
		{"git push", "git pu$X", true, false},
		{"git push", "git pull$X", false, false},
		{"git push", "git status $X", false, false},
		{"git push", "git push $X", true, false},
		{"git push", "$X push", true, false},
		{"git push", "$X", true, false},
		{"git push", "hg$X push", false, false},
		{"git push --force", "git push $X", true, false},
		{"git push --force", "git push --fo`x`", true, false},
		{"git push --force", "git push --no`x`", false, false},
		{"git push", "git {push,$X}", true, false},
		{"MODE=prod make", "MODE=$X make", true, false},
		{"MODE=prod make", "MODE=de$X make", false, false},
		{"echo > /etc/x", "echo > $X", true, false},
		{"rm -rf", "rm *.o", false, false},
		{"rm *.key", "rm *", true, false},
		{"rm /etc/*", "rm src/*", false, false},
		{"rm /etc/*", "rm /e*/x", true, false},
		{"echo > /etc/*", "echo > \"/etc/$X\"", true, false},
		{"echo > /etc/*", "echo > \"/srv/$X\"", false, false},
		{"echo > /etc/*", "echo > $X", true, false},
		{"ls", "ls ~/x", true, false},
		{"git push", "echo \"$X\"", false, false},
		{"git push", "[ -n \"$X\" ]", false, false},
		{"git push", "[[ $X == push ]]", false, false},
		{"git push", "grep 'push$' $X", false, false},
		{"rm x", "rm {} $X", false, false},
		{"rm x", "rm 'a$' $X", false, false},
		{"rm x", "rm '$' $X", false, false},
		{"rm -rf", "echo | xargs rm", true, false},
	};

	(void)state;
	check(examples, ELEMENTS(examples));
}

static void patterns_that_make_no_sense_are_refused(void **state)
{
	static const char *const patterns[] = {"",
					       "   ",
					       "git [a",
					       "git a||b",
					       "git |a",
					       "git a|",
					       "git a\\",
					       "git >",
					       "git > >",
					       "cat <",
					       "git [a|b]",
					       "{inside} x",
					       "rm {inside...} x",
					       "git {re:(}",
					       "git {re:a"};
	char many[200] = "";

	(void)state;
	for (size_t i = 0; i < ELEMENTS(patterns); i++) {
		_cleanup_error_ struct error *error = NULL;
		struct pattern *pattern;

		if (pattern_compile(patterns[i], &pattern, &error) == 0)
			fail_msg("'%s' is taken", patterns[i]);
		assert_non_null(error->hint);
	}
	for (size_t i = 0; i < 40; i++)
		strcat(many, "a ");
	assert_true(pattern_compile(many, &(struct pattern *){NULL}, NULL) < 0);
}

static void no_glob_takes_long(void **state)
{
	char pattern[400], text[4001];
	uint64_t start = monotonic_ns();

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "*a", 3);
	strcat(pattern, "b");
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_false(glob_matches(pattern, text));
	assert_true(monotonic_ns() - start < 60000000000ull);
}

static void a_word_too_long_for_a_glob_is_a_doubt(void **state)
{
	_cleanup_buffer_ struct buffer text = {0}, pattern = {0};
	uint64_t start = monotonic_ns();

	(void)state;
	buffer_add_text(&text, "echo ");
	for (size_t i = 0; i < 1000000; i++)
		buffer_add_char(&text, 'a');
	buffer_add_text(&pattern, "echo *");
	for (size_t i = 0; i < 400; i++)
		buffer_add_text(&pattern, "a*");
	buffer_add_char(&pattern, 'b');
	assert_true(matches(buffer_text(&pattern), buffer_text(&text), VERDICT_DENY));
	assert_false(matches(buffer_text(&pattern), buffer_text(&text), VERDICT_ALLOW));
	assert_false(matches("echo *b", buffer_text(&text), VERDICT_DENY));
	memset(text.data + 6, '[', text.length - 6);
	buffer_add_text(&text, " $X");
	assert_false(matches("echo b", buffer_text(&text), VERDICT_DENY));
	assert_true(monotonic_ns() - start < 60000000000ull);
}

static void many_words_take_no_time(void **state)
{
	_cleanup_buffer_ struct buffer text = {0};
	uint64_t start = monotonic_ns();

	(void)state;
	buffer_add_text(&text, "tool");
	for (size_t i = 0; i < 20000; i++)
		buffer_add_text(&text, i % 2 ? " --option" : " -x");
	assert_false(matches("tool a b c d e f g h", buffer_text(&text), VERDICT_DENY));
	assert_false(matches("tool a b c d e f g h", buffer_text(&text), VERDICT_ALLOW));
	assert_true(monotonic_ns() - start < 60000000000ull);
}

static void a_pattern_covers_what_is_more_special(void **state)
{
	static const struct {
		const char *general, *special;
		bool covers;
	} cases[] = {
		{"git push", "git push", true},
		{"git", "git push", true},
		{"git push", "git", false},
		{"*", "git push", true},
		{"git *", "git push --force", true},
		{"git push --force", "git push", false},
		{"git push --force", "git push --force origin", true},
		{"git p*", "git push", true},
		{"git p*", "git pu*", false},
		{"git push|pull", "git pull", true},
		{"git push", "hg push", false},
		{"echo > /etc/*", "echo > /etc/passwd", true},
		{"echo > /etc/*", "echo", false},
		{"X=* git", "git", false},
		{"git", "X=* git", true},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct pattern *general, *special;

		assert_int_equal(pattern_compile(cases[i].general, &general, NULL), 0);
		assert_int_equal(pattern_compile(cases[i].special, &special, NULL), 0);
		if (pattern_covers(general, special) != cases[i].covers)
			fail_msg("'%s' and '%s'", cases[i].general, cases[i].special);
		pattern_free(general);
		pattern_free(special);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_a_pattern_are_the_first_operands),
		cmocka_unit_test(options_do_not_stand_in_the_way),
		cmocka_unit_test(wrappers_and_paths_are_seen_through),
		cmocka_unit_test(redirections_and_assignments_match),
		cmocka_unit_test(what_is_not_known_is_denied_and_never_allowed),
		cmocka_unit_test(patterns_that_make_no_sense_are_refused),
		cmocka_unit_test(no_glob_takes_long),
		cmocka_unit_test(a_word_too_long_for_a_glob_is_a_doubt),
		cmocka_unit_test(many_words_take_no_time),
		cmocka_unit_test(a_pattern_covers_what_is_more_special),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
