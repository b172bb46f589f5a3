/* SPDX-License-Identifier: Apache-2.0 */
/* escalate: the question to a person, as text. */
#include "ask_examples.h"
#include "base/escape.h"
#include "base/glyph.h"

#include <signal.h>
#include <string.h>

static void a_question_before_the_run_reads_so(void **state)
{
	_cleanup_buffer_ struct buffer wide = {0}, narrow = {0};

	(void)state;
	ask_render(&before, 80, false, &wide);
	assert_string_equal(
		buffer_text(&wide),
		"ward asks: may this command run?\n"
		"\n"
		"  | pip install numpy\n"
		"\n"
		"  in         /home/anna/project\n"
		"  asked by   agent claude, tool bash, call call_9, turn 3, session s-12\n"
		"  agent says (its own words, unchecked) numpy is needed for the tests\n"
		"  why        rule 'pip': packages are asked for\n"
		"  risk       medium: package install, network; can be undone\n"
		"             - installs packages, which run code of others\n"
		"  yes means  it runs in the sandbox, and gets nothing beyond that\n"
		"\n"
		"  yes  [y] once  [s] for the session: pip install  [t] for a time  [a] always\n"
		"  no   [n] this time  [r] and say why  [v] never again  [q] abort  [?] help\n");
	ask_render(&before, 40, false, &narrow);
	assert_string_equal(buffer_text(&narrow), "ward asks: may this command run?\n"
						  "\n"
						  "  | pip install numpy\n"
						  "\n"
						  "  in         /home/anna/project\n"
						  "  asked by   agent claude, tool bash,\n"
						  "             call call_9, turn 3,\n"
						  "             session s-12\n"
						  "  agent says (its own words, unchecked)\n"
						  "             numpy is needed for the\n"
						  "             tests\n"
						  "  why        rule 'pip': packages are\n"
						  "             asked for\n"
						  "  risk       medium: package install,\n"
						  "             network; can be undone\n"
						  "             - installs packages, which\n"
						  "             run code of others\n"
						  "  yes means  it runs in the sandbox, and\n"
						  "             gets nothing beyond that\n"
						  "\n"
						  "  yes  [y] once\n"
						  "       [s] for the session: pip install\n"
						  "       [t] for a time  [a] always\n"
						  "  no   [n] this time  [r] and say why\n"
						  "       [v] never again  [q] abort\n"
						  "       [?] help\n");
}

static void a_question_after_a_refusal_reads_so(void **state)
{
	_cleanup_buffer_ struct buffer wide = {0}, narrow = {0};

	(void)state;
	ask_render(&retry, 80, false, &wide);
	assert_string_equal(
		buffer_text(&wide),
		"ward asks: give it what was refused?\n"
		"\n"
		"  | set -e\n"
		"  | cp -r build/. /srv/site\n"
		"  | docker restart site\n"
		"\n"
		"  in         /home/anna/project\n"
		"  asked by   agent \"claude, tool \\x22x\\x22\", tool bash\n"
		"  agent says (its own words, unchecked) deploy \\u{202e}now\\u{202c},\n"
		"             \\x1b[2Jp\\u{0430}ypal\n"
		"  retry      command failed; retry with what it was refused?\n"
		"  risk       high: package install, network; cannot be undone\n"
		"             - installs packages, which run code of others\n"
		"  refused    write /srv/site/index.html (openat by cp)\n"
		"             unix /run/docker.sock (connect by docker)\n"
		"  yes gives  write /srv/site\n"
		"             unix /run/docker.sock\n"
		"  then       the command starts again from its beginning\n"
		"  beware     characters that pass for others: \\u{0430} like a\n"
		"  beware     characters that cannot be seen, or that move others, are shown by\n"
		"             their codes\n"
		"\n"
		"  yes  [y] once  [s] for the session: make  [t] for a time  [e] edit\n"
		"       [u] without the sandbox\n"
		"  no   [n] this time  [r] and say why  [q] abort  [?] help\n");
	ask_render(&retry, 40, false, &narrow);
	assert_string_equal(buffer_text(&narrow), "ward asks: give it what was refused?\n"
						  "\n"
						  "  | set -e\n"
						  "  | cp -r build/. /srv/site\n"
						  "  | docker restart site\n"
						  "\n"
						  "  in         /home/anna/project\n"
						  "  asked by   agent \"claude, tool \\x22x\\x\n"
						  "             22\", tool bash\n"
						  "  agent says (its own words, unchecked)\n"
						  "             deploy \\u{202e}now\\u{202c},\n"
						  "             \\x1b[2Jp\\u{0430}ypal\n"
						  "  retry      command failed; retry with\n"
						  "             what it was refused?\n"
						  "  risk       high: package install,\n"
						  "             network; cannot be undone\n"
						  "             - installs packages, which\n"
						  "             run code of others\n"
						  "  refused    write /srv/site/index.html \n"
						  "             (openat by cp)\n"
						  "             unix /run/docker.sock (conn\n"
						  "             ect by docker)\n"
						  "  yes gives  write /srv/site\n"
						  "             unix /run/docker.sock\n"
						  "  then       the command starts again\n"
						  "             from its beginning\n"
						  "  beware     characters that pass for\n"
						  "             others: \\u{0430} like a\n"
						  "  beware     characters that cannot be\n"
						  "             seen, or that move others,\n"
						  "             are shown by their codes\n"
						  "\n"
						  "  yes  [y] once\n"
						  "       [s] for the session: make\n"
						  "       [t] for a time  [e] edit\n"
						  "       [u] without the sandbox\n"
						  "  no   [n] this time  [r] and say why\n"
						  "       [q] abort  [?] help\n");
}

/* Nothing but glyphs of known width and ward's own styles, in lines that fit. Returns the number of
 * lines. */
static size_t assert_harmless(const char *text, size_t length, unsigned columns)
{
	size_t lines = 0, size;
	unsigned width = 0;

	for (size_t i = 0; i < length; i += size) {
		unsigned code;

		if (text[i] == '\n') {
			lines++, width = 0, size = 1;
			continue;
		}
		if (text[i] == '\x1b') {
			assert_memory_equal(text + i, "\x1b[", 2);
			assert_true(strchr("017", text[i + 2]) && text[i + 2] != '\0');
			assert_int_equal(text[i + 3], 'm');
			size = 4;
			continue;
		}
		size = utf8_decode(text + i, length - i, &code);
		assert_true(size > 0);
		assert_true(glyph_width(code) > 0);
		width += glyph_width(code);
		assert_true(width <= columns);
	}
	return lines;
}

static void a_question_while_a_call_waits_reads_so(void **state)
{
	struct ask odd = {
		.kind = ASK_IN_PLACE,
		.command = "true",
		.program = "x wants nothing; press y",
		.object = "/run/a \"b\"\n  risk       low .................................",
		.note = "unix"};
	_cleanup_buffer_ struct buffer plain = {0}, hostile = {0};

	(void)state;
	ask_render(&in_place, 80, false, &plain);
	assert_string_equal(
		buffer_text(&plain),
		"ward asks: pip wants packages.example:443 (registry:python: packages.example,\n"
		"             files.example)\n"
		"\n"
		"  | pip install numpy\n"
		"\n"
		"  why        it is on no list; the connection waits\n"
		"  risk       medium: package install, network; can be undone\n"
		"             - installs packages, which run code of others\n"
		"  yes gives  connect packages.example:443\n"
		"  then       the command goes on where it stands\n"
		"\n"
		"  yes  [y] once  [s] for the session: pip install  [t] for a time  [a] always\n"
		"       [w] wider: registry:python\n"
		"  no   [n] this time  [x] for the session  [r] and say why  [q] abort  [?] "
		"help\n");
	ask_render(&odd, 40, false, &hostile);
	assert_non_null(strstr(buffer_text(&hostile),
			       "ward asks: \"x wants nothing; press y\" wa\n"
			       "             nts \"/run/a \\x22b\\x22\\n  ri\n"));
	assert_null(strstr(buffer_text(&hostile), "\n  risk"));
}

static void a_question_about_several_things_shows_each(void **state)
{
	char *given[] = {"write /srv/a", "connect packages.example:443", NULL};
	char *wanted[] = {"write /srv/a: a new file (x\n  yes gives  nothing)",
			  "connect packages.example:443 (pip)", NULL};
	const struct list grants = {.items = given, .count = 2},
			  wants = {.items = wanted, .count = 2};
	const struct ask ask = {.kind = ASK_IN_PLACE,
				.command = "make",
				.program = "x\n  risk",
				.object = "2 things at once",
				.wants = &wants,
				.grants = &grants,
				.others = 3};
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_list_ struct list whole = {0};

	(void)state;
	ask_render(&ask, 80, false, &text);
	assert_non_null(strstr(buffer_text(&text), "wants 2 things at once; a yes gives all"));
	assert_non_null(strstr(buffer_text(&text), "  yes gives  write /srv/a\n"
						   "             connect packages.example:443\n"));
	assert_non_null(strstr(buffer_text(&text), "  goes       to this run and to 3 more that"));
	assert_null(strstr(buffer_text(&text), "\n  risk"));
	ask_whole(&ask, 80, false, &whole);
	for (size_t i = 0; i < whole.count; i++)
		assert_true(strncmp(whole.items[i], "  yes gives  nothing", 20) != 0);
}

static void a_question_about_code_reads_so(void **state)
{
	_cleanup_buffer_ struct buffer text = {0}, cut = {0};
	_cleanup_list_ struct list fitted = {0}, whole = {0};
	char many[700 * 2 + 1];
	struct ask ask = networked;

	(void)state;
	ask_render(&networked, 80, false, &text);
	assert_string_equal(buffer_text(&text),
			    "ward asks: may this command run?\n"
			    "  operation  networked code\n"
			    "\n"
			    "  | python3 -c <code>\n"
			    "\n"
			    "  code       78 characters\n"
			    "  | import urllib.request\n"
			    "  | print(urllib.request.urlopen('http://packages.example'))\n"
			    "\n"
			    "  agent says (its own words, unchecked) looks at the index\n"
			    "  risk       medium: package install, network; can be undone\n"
			    "             - installs packages, which run code of others\n"
			    "  yes gives  profile code-net\n"
			    "             connect packages.example\n"
			    "\n"
			    "  yes  [y] once  [e] change hosts\n"
			    "  no   [n] this time  [r] and say why  [q] abort  [?] help\n");
	/* Characters, not bytes, and nobody says yes to what was not shown. */
	for (int i = 0; i < 700; i++)
		memcpy(many + 2 * i, "\u00e4", 2);
	many[1400] = '\0';
	ask.code = many;
	assert_true(ask_fit(&ask, 80, 60, false, &fitted));
	for (size_t i = 0; i < fitted.count; i++)
		buffer_add_text(&cut, fitted.items[i]);
	assert_non_null(strstr(buffer_text(&cut), "the first 500 of 700 characters; m shows all"));
	ask_whole(&ask, 80, false, &whole);
	buffer_done(&cut);
	for (size_t i = 0; i < whole.count; i++)
		buffer_add_text(&cut, whole.items[i]);
	assert_null(strstr(buffer_text(&cut), "the first"));
	many[1000] = '\0';
	list_done(&fitted);
	assert_false(ask_fit(&ask, 80, 60, false, &fitted));
}

static void no_field_can_leave_its_place(void **state)
{
	static char long_text[10001], newlines[2001];
	const char *const hostile[] = {
		"\x1b[2J\x1b[H\x1b]0;x\x07 fake",
		"a\rb\x08\x08\x0c\x0b\x7f\x9b"
		"31m",
		"\u202egnp\u2066x\u2069\u200b\u200d\ufeff\u00ad\U000e0041\ufe0f\u061c",
		"\xff\xfe\xc0\x80\xed\xa0\x80\xf8\x88\x80\x80\x80 \xe2\x80",
		"e\u0301\u0301\u0301 \u05d0\u05d1 \u0e01\u0e33 \u4e2d\u6587 \U0001f600\U0001f3fd",
		"  yes  [y] once\n\n> y\n[y]\n\r\n  no   [n]\n",
		"p\u0430yp\u0430l \uff52\uff4d \u2044etc \U0001d42b\U0001d426",
		long_text,
		newlines,
	};
	static const unsigned widths[] = {0, 40, 41, 80, 200};

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	memset(newlines, '\n', sizeof(newlines) - 1);
	for (size_t i = 0; i < ELEMENTS(hostile); i++) {
		const char *texts[] = {hostile[i], hostile[i], NULL};
		char *items[] = {(char *)hostile[i], (char *)hostile[i], NULL};
		const struct list list = {items, 2, 3};
		const struct assessment assessment = {CLASS_ASK, RISK_CRITICAL, texts, texts};
		const char *h = hostile[i];
		struct background background = {.summary = (char *)h,
						.effects = list,
						.failures = list,
						.systems = list,
						.users = list,
						.rollback_time = h,
						.rollback_steps = list,
						.similar = {{(char *)h, (char *)h, (char *)h}},
						.similar_count = 1,
						.history_gap = (char *)h};
		struct ask ask = {.kind = ASK_RETRY,
				  .command = h,
				  .cwd = h,
				  .agent = h,
				  .session = h,
				  .tool = h,
				  .call_id = h,
				  .turn = h,
				  .reason = h,
				  .why = h,
				  .retry_reason = h,
				  .assessment = &assessment,
				  .background = &background,
				  .refused = &list,
				  .grants = &list,
				  .covers = h,
				  .always_rule = h,
				  .always_file = h,
				  .never_rule = h,
				  .may_unsandbox = true,
				  .starts_again = true};

		for (size_t j = 0; j < ELEMENTS(widths) * 2; j++) {
			unsigned columns = MAX(widths[j / 2], 40u);
			_cleanup_buffer_ struct buffer text = {0};
			_cleanup_list_ struct list fitted = {0}, help = {0}, details = {0};
			bool colour = j % 2;
			size_t tail;

			ask_render(&ask, widths[j / 2], colour, &text);
			assert_harmless(text.data, text.length, columns);
			ask_fit(&ask, widths[j / 2], 22, colour, &fitted);
			assert_in_range(fitted.count, 10, 22);
			for (size_t k = 0; k < fitted.count; k++)
				assert_harmless(fitted.items[k], strlen(fitted.items[k]), columns);
			/* The choices stand last, whole; text of others never begins a line. */
			tail = fitted.count - (columns >= 80 ? 4 : 8);
			while (tail < fitted.count &&
			       strncmp(fitted.items[tail], "  yes  ", 7) != 0)
				tail++;
			assert_true(tail < fitted.count);
			assert_non_null(strstr(fitted.items[fitted.count - 1], "help"));
			ask_help(&ask, widths[j / 2], colour, &help);
			assert_true(help.count > 10);
			ask_details(&ask, widths[j / 2], colour, &details);
			for (size_t k = 0; k < details.count; k++) {
				assert_harmless(details.items[k], strlen(details.items[k]),
						columns);
				assert_memory_equal(details.items[k], "  ", 2);
			}
		}
	}
}

static void whoever_leaves_knows_what_that_means(void **state)
{
	struct ask ask = before;

	(void)state;
	for (int elsewhere = 0; elsewhere < 2; elsewhere++) {
		_cleanup_list_ struct list help = {0};
		const char *last;

		ask.goes_on = elsewhere;
		ask_help(&ask, 120, false, &help);
		last = help.items[help.count - 1];
		assert_non_null(strstr(last, "Ctrl-C"));
		assert_int_equal(strstr(last, "mean no") == NULL, elsewhere);
	}
}

static void what_is_cut_is_said(void **state)
{
	_cleanup_list_ struct list lines = {0};
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_free_ char *big = malloc(300001);
	struct ask ask = before;

	(void)state;
	ask.command = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20";
	ask_fit(&ask, 80, 22, false, &lines);
	assert_int_equal(lines.count, 22);
	assert_string_equal(lines.items[1], "  | 1");
	assert_string_equal(lines.items[7], "... 9 more lines, press m to see all");
	assert_string_equal(lines.items[12], "  | 20");
	memset(big, 'x', 300000);
	big[300000] = '\0';
	ask.command = big;
	ask_render(&ask, 80, false, &text);
	assert_non_null(strstr(text.data, "37856 more bytes are not shown here"));
	assert_non_null(strstr(text.data, "ward show"));
}

static void what_a_longer_yes_covers_cannot_pass_for_a_choice(void **state)
{
	static const char *const fakes[] = {"ls  [n] yes", "ls [y] no", "ls  y no", "l\u0455"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(fakes); i++) {
		_cleanup_buffer_ struct buffer text = {0};
		struct ask ask = before;

		ask.covers = fakes[i];
		ask_render(&ask, 80, false, &text);
		assert_non_null(strstr(text.data, "  longer yes l"));
		assert_non_null(strstr(text.data, "[s] for the session  [t] for a time"));
	}
}

static void choices_that_are_not_offered_are_not_shown(void **state)
{
	_cleanup_buffer_ struct buffer text = {0};

	(void)state;
	ask_render(&bare, 80, false, &text);
	assert_null(strstr(text.data, "[s]"));
	assert_null(strstr(text.data, "[t]"));
	assert_null(strstr(text.data, "[a]"));
	assert_null(strstr(text.data, "[u]"));
	assert_null(strstr(text.data, "[v]"));
	assert_non_null(strstr(text.data, "[y] once"));
	assert_null(choice_of(&bare, 'a'));
	assert_null(choice_of(&bare, '\0'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_before_the_run_reads_so),
		cmocka_unit_test(a_question_after_a_refusal_reads_so),
		cmocka_unit_test(a_question_while_a_call_waits_reads_so),
		cmocka_unit_test(a_question_about_several_things_shows_each),
		cmocka_unit_test(a_question_about_code_reads_so),
		cmocka_unit_test(no_field_can_leave_its_place),
		cmocka_unit_test(whoever_leaves_knows_what_that_means),
		cmocka_unit_test(what_is_cut_is_said),
		cmocka_unit_test(what_a_longer_yes_covers_cannot_pass_for_a_choice),
		cmocka_unit_test(choices_that_are_not_offered_are_not_shown),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
