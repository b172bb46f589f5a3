/* SPDX-License-Identifier: Apache-2.0 */
/* escalate: the question to a person, as text and on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/escape.h"
#include "base/glyph.h"
#include "base/units.h"
#include "escalate/ask.h"
#include "escalate/question.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>

static const char *categories[] = {"package install", "network", NULL};
static const char *reasons[] = {"installs packages, which run code of others", NULL};
static const struct assessment medium = {CLASS_ASK, RISK_MEDIUM, categories, reasons,
					 .reversible = true};
static const struct assessment high = {CLASS_ASK, RISK_HIGH, categories, reasons};

static const struct ask before = {
	.kind = ASK_BEFORE,
	.command = "pip install numpy",
	.cwd = "/home/anna/project",
	.agent = "claude",
	.session = "s-12",
	.tool = "bash",
	.call_id = "call_9",
	.turn = "3",
	.reason = "numpy is needed for the tests",
	.why = "rule 'pip': packages are asked for",
	.assessment = &medium,
	.covers = "pip install",
	.always_rule = "- allow: pip install *\n  why: said so",
	.always_file = "/home/anna/.config/ward/ward.yaml",
	.never_rule = "- deny: pip install *",
};

static char *refused_items[] = {"write /srv/site/index.html (openat by cp)",
				"unix /run/docker.sock (connect by docker)", NULL};
static char *granted_items[] = {"write /srv/site", "unix /run/docker.sock", NULL};
static const struct list refused = {refused_items, 2, 3}, granted = {granted_items, 2, 3};

static const struct ask retry = {
	.kind = ASK_RETRY,
	.command = "set -e\ncp -r build/. /srv/site\ndocker restart site\n",
	.cwd = "/home/anna/project",
	.agent = "claude, tool \"x\"",
	.tool = "bash",
	.reason = "deploy \u202enow\u202c, \x1b[2Jp\u0430ypal",
	.retry_reason = "command failed; retry with what it was refused?",
	.assessment = &high,
	.refused = &refused,
	.grants = &granted,
	.covers = "make",
	.may_unsandbox = true,
	.starts_again = true,
};

static char *wished_items[] = {"connect packages.example:443", NULL};
static char *set_items[] = {"connect packages.example:443", "connect files.example:443", NULL};
static const struct list wished = {wished_items, 1, 2}, whole_set = {set_items, 2, 3};
static struct extent extents[] = {
	{"this alone", &wished, "- command: pip install\n  permissions: [one]"},
	{"registry:python", &whole_set, "- command: pip install\n  permissions: [one, two]"},
};

static const struct ask in_place = {
	.kind = ASK_IN_PLACE,
	.command = "pip install numpy",
	.program = "pip",
	.object = "packages.example:443",
	.note = "registry:python: packages.example, files.example",
	.why = "it is on no list; the connection waits",
	.assessment = &medium,
	.grants = &wished,
	.covers = "pip install",
	.always_rule = "- command: pip install\n  permissions: [one]",
	.always_file = "/home/anna/.config/ward/ward.yaml",
	.extents = extents,
	.extent_count = ELEMENTS(extents),
};

static char *domain_items[] = {"packages.example", NULL};
static char *code_items[] = {"profile code-net", "connect packages.example", NULL};
static const struct list domains = {domain_items, 1, 2}, code_grants = {code_items, 2, 3};

static const struct ask networked = {
	.kind = ASK_BEFORE,
	.command = "python3 -c <code>",
	.operation = "networked code",
	.code = "import urllib.request\nprint(urllib.request.urlopen('http://packages.example'))",
	.reason = "looks at the index",
	.assessment = &medium,
	.grants = &code_grants,
	.domains = &domains,
};

static const struct ask bare = {.kind = ASK_BEFORE, .command = "true"};

/* --- the text --- */

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
		"  yes  [y] once  [s] for the session: make  [t] for a time\n"
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
						  "       [t] for a time\n"
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
		struct ask ask = {ASK_RETRY, h,		  h,	 h,	h, h, h, h, h,	  h,
				  h,	     &assessment, &list, &list, h, h, h, h, true, true};

		for (size_t j = 0; j < ELEMENTS(widths) * 2; j++) {
			unsigned columns = MAX(widths[j / 2], 40u);
			_cleanup_buffer_ struct buffer text = {0};
			_cleanup_list_ struct list fitted = {0}, help = {0};
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
		}
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

/* --- the terminal: the test sits at its other side --- */

struct report {
	struct answer answer;
	char reason[128], by[64], domains[256];
	bool same_modes, term_pending, waiting;
};

struct talk {
	int master, pipe;
	pid_t pid;
	struct buffer seen;
};

/* What goes on meanwhile answers each message with itself, until one says that nobody waits. */
static int other[2];
static bool nobody_waits;

static void answer_message(void *data)
{
	char message;

	if (recv(other[1], &message, 1, MSG_DONTWAIT) != 1)
		return;
	assert_ptr_equal(data, other);
	nobody_waits = message == 'x';
	assert_int_equal(send(other[1], &message, 1, 0), 1);
}

static bool is_over(void *data)
{
	(void)data;
	return nobody_waits;
}

/* The message comes back within a second. */
static bool is_served(char message)
{
	struct pollfd ready = {.fd = other[0], .events = POLLIN};
	char back = '\0';

	assert_int_equal(send(other[0], &message, 1, 0), 1);
	return poll(&ready, 1, 1000) == 1 && recv(other[0], &back, 1, 0) == 1 && back == message;
}

static struct meanwhile open_other(void)
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, other), 0);
	return (struct meanwhile){other[1], answer_message, is_over, other};
}

static void close_other(void)
{
	close_fd(&other[0]);
	close_fd(&other[1]);
}

enum how { AT_TERMINAL, RAW, BACKGROUND, NO_TERMINAL, IMPATIENT, TWICE, DUMB };

static void ask_and_report(const struct ask *ask, enum how how, int pipe)
{
	struct report report = {0};
	struct termios modes[2];
	sigset_t signals;
	int tty = open("/dev/tty", O_RDWR | O_NONBLOCK), waiting = 0;

	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	memset(modes, 0, sizeof(modes));
	if (tty >= 0)
		tcgetattr(tty, &modes[0]);
	if (how == RAW) {
		cfmakeraw(&modes[0]);
		tcsetattr(tty, TCSANOW, &modes[0]);
		tcgetattr(tty, &modes[0]);
	}
	if (how == IMPATIENT)
		ask_on(tty, ask, 1000000000, &report.answer);
	else
		ask_terminal(ask, &report.answer, NULL);
	if (tty >= 0)
		tcgetattr(tty, &modes[1]);
	report.same_modes = memcmp(&modes[0], &modes[1], sizeof(modes[0])) == 0;
	report.waiting = tty >= 0 && ioctl(tty, FIONREAD, &waiting) == 0 && waiting > 0;
	sigpending(&signals);
	report.term_pending = sigismember(&signals, SIGTERM);
	snprintf(report.reason, sizeof(report.reason), "%s",
		 report.answer.reason ? report.answer.reason : "");
	snprintf(report.by, sizeof(report.by), "%s", report.answer.by ? report.answer.by : "");
	for (size_t i = 0; i < report.answer.domains.count; i++) {
		strcat(report.domains, i ? " " : "");
		strcat(report.domains, report.answer.domains.items[i]);
	}
	answer_done(&(struct answer){.reason = report.answer.reason,
				     .by = report.answer.by,
				     .domains = report.answer.domains});
	_exit(write(pipe, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

static void start(struct talk *talk, const struct ask *ask, enum how how, const char *typed_ahead)
{
	struct winsize size = {.ws_col = 80, .ws_row = 30};
	int pipes[2], slave;

	*talk = (struct talk){.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
	assert_true(talk->master >= 0 && grantpt(talk->master) == 0 && unlockpt(talk->master) == 0);
	slave = open(ptsname(talk->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0 && pipe2(pipes, O_CLOEXEC) == 0);
	ioctl(talk->master, TIOCSWINSZ, &size);
	if (typed_ahead)
		assert_true(write(talk->master, typed_ahead, strlen(typed_ahead)) > 0);
	talk->pid = fork();
	assert_true(talk->pid >= 0);
	if (talk->pid == 0) {
		int null = open("/dev/null", O_RDWR), child, status;

		for (int i = 0; i < 3; i++)
			dup2(null, i);
		close(talk->master);
		setsid();
		setenv("TERM", how == DUMB ? "dumb" : "xterm", 1);
		unsetenv("NO_COLOR");
		if (how != NO_TERMINAL)
			ioctl(slave, TIOCSCTTY, 0);
		if (how != BACKGROUND && how != TWICE)
			ask_and_report(ask, how, pipes[1]);
		for (int i = 0; i < (how == TWICE ? 2 : 1); i++) {
			child = fork();
			if (child == 0) {
				if (how == BACKGROUND)
					setpgid(0, 0);
				ask_and_report(ask, how, pipes[1]);
			}
		}
		while (waitpid(-1, &status, WUNTRACED) > 0 && !WIFSTOPPED(status))
			;
		_exit(0);
	}
	close(slave);
	close(pipes[1]);
	talk->pipe = pipes[0];
}

/* Reads until a text is seen. */
static void see(struct talk *talk, const char *text)
{
	uint64_t end = monotonic_ns() + 20ull * 1000000000;

	while (!strstr(buffer_text(&talk->seen), text)) {
		struct pollfd ready = {.fd = talk->master, .events = POLLIN};
		char data[4096];
		ssize_t got;

		assert_true(monotonic_ns() < end);
		if (poll(&ready, 1, 100) <= 0)
			continue;
		got = read(talk->master, data, sizeof(data));
		if (got < 0)
			print_error("not seen: %s\nbut: %s\n", text, buffer_text(&talk->seen));
		assert_true(got > 0);
		for (ssize_t i = 0; i < got; i++)
			if (data[i] != '\0')
				buffer_add_char(&talk->seen, data[i]);
	}
}

static void type(struct talk *talk, const char *text)
{
	buffer_done(&talk->seen);
	assert_int_equal(write(talk->master, text, strlen(text)), strlen(text));
}

static void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static bool answered(const struct talk *talk)
{
	struct pollfd ready = {.fd = talk->pipe, .events = POLLIN};

	return poll(&ready, 1, 0) > 0;
}

static void finish(struct talk *talk, struct report *ret_report)
{
	struct pollfd ready[2] = {{.fd = talk->pipe, .events = POLLIN},
				  {.fd = talk->master, .events = POLLIN}};
	char data[4096];
	uint64_t end = monotonic_ns() + 20ull * 1000000000;

	while (!answered(talk) && monotonic_ns() < end) {
		if (poll(ready, talk->master >= 0 ? 2 : 1, 1000) > 0 && talk->master >= 0 &&
		    ready[1].revents && read(talk->master, data, sizeof(data)) < 0)
			pause_ms(10);
	}
	if (!answered(talk))
		kill(talk->pid, SIGKILL);
	memset(ret_report, 0, sizeof(*ret_report));
	assert_int_equal(read(talk->pipe, ret_report, sizeof(*ret_report)), sizeof(*ret_report));
	close_fd(&talk->master);
	close_fd(&talk->pipe);
	waitpid(talk->pid, NULL, 0);
	buffer_done(&talk->seen);
}

enum { STEPS = 5 };
/* The whole question has been drawn. */
#define QUESTION "help\r\n> "

/* All these talks go on at the same time: each waits half a second and more before each key. */
static void each_key_has_its_answer(void **state)
{
	static const struct {
		const struct ask *ask;
		struct {
			const char *see, *type;
		} steps[STEPS];
		struct answer answer;
	} cases[] = {
		{&before, {{QUESTION, "y"}}, {ANSWER_APPROVE, SCOPE_ONCE}},
		{&before, {{QUESTION, "s"}}, {ANSWER_APPROVE, SCOPE_SESSION}},
		{&before, {{QUESTION, "t"}, {"back > ", "5"}}, {ANSWER_APPROVE, SCOPE_TIME, 300}},
		{&before, {{QUESTION, "t"}, {"back > ", "3"}}, {ANSWER_APPROVE, SCOPE_TIME, 1800}},
		{&before, {{QUESTION, "t"}, {"back > ", "1"}}, {ANSWER_APPROVE, SCOPE_TIME, 3600}},
		{&before,
		 {{QUESTION, "t"}, {"back > ", "c"}, {"2h)? ", "10m"}, {"10m", "\r"}},
		 {ANSWER_APPROVE, SCOPE_TIME, 600}},
		/* what is pasted with its Enter is not taken; what is no time is asked for again */
		{&before,
		 {{QUESTION, "t"},
		  {"back > ", "c"},
		  {"2h)? ", "9\r"},
		  {"2h)? 9", "\r"},
		  {"That is no time", "\x03"}},
		 {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before,
		 {{QUESTION, "t"}, {"back > ", "x"}, {QUESTION, "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&before, {{QUESTION, "a"}, {"ward.yaml:", "y"}}, {ANSWER_APPROVE, SCOPE_ALWAYS}},
		{&before,
		 {{QUESTION, "a"}, {"said so", "n"}, {QUESTION, "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&retry,
		 {{QUESTION, "u"}, {"Run it so?", "y"}},
		 {ANSWER_APPROVE, SCOPE_ONCE, .unsandboxed = true}},
		{&retry,
		 {{QUESTION, "u"}, {"every secret", "\r"}, {QUESTION, "y"}},
		 {ANSWER_APPROVE, SCOPE_ONCE}},
		{&before, {{QUESTION, "n"}}, {ANSWER_DENY, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "r"}, {"why not? ", "not \xc3\xa9\x7fx\x7fnow"}, {"not now", "\r"}},
		 {ANSWER_DENY, SCOPE_ONCE, .reason = "not now"}},
		{&before,
		 {{QUESTION, "r"}, {"why not? ", "x"}, {"x", "\x1b"}, {QUESTION, "y"}},
		 {ANSWER_APPROVE, SCOPE_ONCE}},
		{&before, {{QUESTION, "v"}, {"Write it?", "y"}}, {ANSWER_DENY, SCOPE_ALWAYS}},
		{&before, {{QUESTION, "q"}}, {ANSWER_ABORT, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "?"}, {"back: any key", "y"}, {QUESTION, "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "m"}, {"back: any key", "y"}, {QUESTION, "q"}},
		 {ANSWER_ABORT, SCOPE_ONCE}},
		/* what is not offered, and what is no key */
		{&bare,
		 {{QUESTION, "s"}, {"", "t"}, {"", "a"}, {"", "u"}, {"", "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&bare,
		 {{QUESTION, "v"}, {"", "\r"}, {"", "\x1b"}, {"", "Y"}, {"", "q"}},
		 {ANSWER_ABORT, SCOPE_ONCE}},
		{&before,
		 {{QUESTION, "yes"},
		  {"", "y\r"},
		  {"", "\x1b[A"},
		  {"", "\x1b[200~y\x1b[201~"},
		  {"", "n"}},
		 {ANSWER_DENY, SCOPE_ONCE}},
		{&before, {{QUESTION, "\x1a"}, {"", " "}, {"", "y"}}, {ANSWER_APPROVE, SCOPE_ONCE}},
		{&in_place, {{QUESTION, "x"}}, {ANSWER_DENY, SCOPE_SESSION}},
		{&before, {{QUESTION, "x"}, {"", "n"}}, {ANSWER_DENY, SCOPE_ONCE}},
		/* no */
		{&before, {{QUESTION, "\x03"}}, {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before, {{QUESTION, "\x1c"}}, {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before,
		 {{QUESTION, "\x03\x03\x03"}},
		 {ANSWER_DENY, SCOPE_ONCE, .reason = "interrupted"}},
		{&before, {{QUESTION, "\x04"}}, {ANSWER_DENY, SCOPE_ONCE, .reason = "no answer"}},
	};
	struct talk talks[ELEMENTS(cases)];

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		start(&talks[i], cases[i].ask, i % 2 ? RAW : AT_TERMINAL, NULL);
	for (size_t step = 0; step < STEPS; step++) {
		for (size_t i = 0; i < ELEMENTS(cases); i++)
			if (cases[i].steps[step].see)
				see(&talks[i], cases[i].steps[step].see);
		pause_ms(1500);
		for (size_t i = 0; i < ELEMENTS(cases); i++) {
			if (!cases[i].steps[step].type)
				continue;
			if (answered(&talks[i]))
				print_error("case %zu: answered before step %zu\n", i, step);
			assert_false(answered(&talks[i]));
			type(&talks[i], cases[i].steps[step].type);
		}
	}
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const struct answer *expected = &cases[i].answer;
		struct report report;

		finish(&talks[i], &report);
		if (report.answer.kind != expected->kind)
			print_error("case %zu\n", i);
		assert_int_equal(report.answer.kind, expected->kind);
		assert_int_equal(report.answer.scope, expected->scope);
		assert_int_equal(report.answer.seconds, expected->seconds);
		assert_int_equal(report.answer.unsandboxed, expected->unsandboxed);
		assert_string_equal(report.reason, expected->reason ? expected->reason : "");
		assert_non_null(strstr(report.by, "@pts/"));
		assert_true(report.same_modes);
		assert_false(report.waiting);
	}
}

static void something_else_goes_on_while_the_person_thinks(void **state)
{
	const struct meanwhile meanwhile = open_other();
	struct ask ask = in_place;
	struct report report;
	struct talk talk;

	(void)state;
	ask.meanwhile = &meanwhile;
	start(&talk, &ask, RAW, NULL);
	see(&talk, QUESTION);
	assert_true(is_served('q')); /* in the time in which no key counts */
	pause_ms(1200);
	for (char message = 'a'; message < 'k'; message++)
		assert_true(is_served(message));
	type(&talk, "r");
	see(&talk, "why not?");
	assert_true(is_served('e'));
	type(&talk, "too much\r");
	finish(&talk, &report);
	close_other();
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_string_equal(report.reason, "too much");
	assert_true(report.same_modes);
}

static void a_question_that_nobody_waits_for_ends_by_itself(void **state)
{
	static const char *const keys[] = {NULL, "r", "t", "a", "?"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		const struct meanwhile meanwhile = open_other();
		struct ask ask = in_place;
		struct report report;
		struct talk talk;

		ask.meanwhile = &meanwhile;
		start(&talk, &ask, RAW, NULL);
		see(&talk, QUESTION);
		if (keys[i]) {
			pause_ms(1200);
			type(&talk, keys[i]);
			pause_ms(200);
		}
		assert_true(is_served('x'));
		see(&talk, "no longer asked");
		finish(&talk, &report);
		close_other();
		assert_int_equal(report.answer.kind, ANSWER_NOBODY);
		assert_string_equal(report.by, "");
		assert_string_equal(report.reason, "");
		assert_true(report.same_modes);
	}
}

static void who_waits_for_the_terminal_goes_on_meanwhile_too(void **state)
{
	const struct meanwhile meanwhile = open_other();
	struct ask ask = in_place;
	struct report report;
	struct talk talk;

	(void)state;
	ask.meanwhile = &meanwhile;
	start(&talk, &ask, TWICE, NULL);
	see(&talk, QUESTION);
	/* One of the two takes each message, so that both are told in the end. */
	assert_true(is_served('x'));
	assert_int_equal(read(talk.pipe, &report, sizeof(report)), sizeof(report));
	assert_int_equal(report.answer.kind, ANSWER_NOBODY);
	assert_true(is_served('x'));
	finish(&talk, &report);
	close_other();
	assert_int_equal(report.answer.kind, ANSWER_NOBODY);
}

static void a_yes_to_a_set_is_one_to_what_was_shown(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &in_place, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	assert_null(strstr(buffer_text(&talk.seen), "connect files.example:443"));
	pause_ms(1200);
	type(&talk, "w");
	see(&talk, "connect files.example:443");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "o"); /* and back */
	see(&talk, QUESTION);
	assert_null(strstr(buffer_text(&talk.seen), "connect files.example:443"));
	pause_ms(1200);
	type(&talk, "w");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "a");
	see(&talk, "[one, two]");
	see(&talk, "Write it?");
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	assert_int_equal(report.answer.scope, SCOPE_ALWAYS);
	assert_int_equal(report.answer.extent, 1);
}

static void the_hosts_that_code_may_reach_are_the_persons_word(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &networked, RAW, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "e");
	see(&talk, "hosts: packages.example");
	type(&talk, " not/a/host");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "not/a/host'");
	see(&talk, "hosts: packages.example not/a/host");
	type(&talk, "\x15"); /* Ctrl-U */
	pause_ms(200);
	type(&talk, "*.files.example:443, 203.0.113.0/24");
	pause_ms(200);
	type(&talk, "\r");
	see(&talk, "connect *.files.example:443");
	see(&talk, QUESTION);
	assert_non_null(strstr(buffer_text(&talk.seen), "connect 203.0.113.0/24"));
	assert_non_null(strstr(buffer_text(&talk.seen), "profile code-net"));
	assert_null(strstr(buffer_text(&talk.seen), "connect packages.example"));
	pause_ms(1200);
	type(&talk, "e");
	see(&talk, "hosts: *.files.example:443");
	type(&talk, " other.example");
	pause_ms(200);
	type(&talk, "\x1b"); /* changes nothing */
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	assert_string_equal(report.domains, "*.files.example:443 203.0.113.0/24");
	assert_true(report.same_modes);
}

static void what_was_typed_before_the_question_is_no_answer(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, "y\ny\ny");
	see(&talk, QUESTION);
	for (int i = 0; i < 3; i++) {
		type(&talk, "y");
		pause_ms(100);
	}
	pause_ms(1200);
	assert_false(answered(&talk));
	type(&talk, "n");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_true(report.same_modes);
}

static void what_is_pasted_slowly_is_no_answer(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	for (const char *c = "xxyxx"; *c; c++) {
		type(&talk, (char[]){*c, '\0'});
		pause_ms(5);
	}
	pause_ms(300);
	assert_false(answered(&talk));
	type(&talk, "q");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_ABORT);
}

static void the_terminal_is_put_in_order_before_it_asks(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &retry, RAW, NULL);
	see(&talk, QUESTION);
	assert_non_null(strstr(talk.seen.data, "\x1b[?1047l"));
	assert_non_null(strstr(talk.seen.data, "\x1b[?2004l"));
	assert_non_null(strstr(talk.seen.data, "\x1b[?25h"));
	assert_non_null(strstr(talk.seen.data, "\x1b[?1003l"));
	assert_non_null(strstr(talk.seen.data, "refused?\x1b[0m\r\n"));
	pause_ms(1200);
	type(&talk, "n");
	finish(&talk, &report);
	assert_true(report.same_modes);
}

static void a_terminal_that_knows_no_sequences_gets_none(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &retry, DUMB, NULL);
	see(&talk, QUESTION);
	assert_null(strchr(talk.seen.data, '\x1b'));
	pause_ms(1200);
	type(&talk, "n");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
}

static void a_terminal_that_hangs_up_means_no(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(600);
	close_fd(&talk.master);
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
}

static void a_signal_that_ends_ward_means_no_and_stays_pending(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	kill(talk.pid, SIGTERM);
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_string_equal(report.reason, "interrupted");
	assert_true(report.term_pending);
	assert_true(report.same_modes);
}

static void silence_means_no(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, IMPATIENT, NULL);
	see(&talk, QUESTION);
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
	assert_string_equal(report.reason, "no answer");
	assert_true(report.same_modes);
}

static void a_window_that_changes_gets_the_question_anew(void **state)
{
	struct winsize size = {.ws_col = 45, .ws_row = 15};
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, AT_TERMINAL, NULL);
	see(&talk, QUESTION);
	pause_ms(1200);
	buffer_done(&talk.seen);
	ioctl(talk.master, TIOCSWINSZ, &size);
	see(&talk, "m shows all");
	see(&talk, QUESTION);
	pause_ms(1200);
	type(&talk, "y");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
}

static void two_questions_at_one_terminal_take_turns(void **state)
{
	struct report report;
	struct talk talk;

	(void)state;
	start(&talk, &before, TWICE, NULL);
	see(&talk, QUESTION);
	pause_ms(1500);
	assert_null(strstr(strstr(talk.seen.data, "may this") + 1, "may this"));
	type(&talk, "y");
	see(&talk, QUESTION);
	assert_int_equal(read(talk.pipe, &report, sizeof(report)), sizeof(report));
	assert_int_equal(report.answer.kind, ANSWER_APPROVE);
	pause_ms(1500);
	assert_false(answered(&talk));
	type(&talk, "n");
	finish(&talk, &report);
	assert_int_equal(report.answer.kind, ANSWER_DENY);
}

static void without_a_terminal_of_its_own_ward_asks_nobody(void **state)
{
	static const enum how ways[] = {NO_TERMINAL, BACKGROUND};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(ways); i++) {
		struct pollfd ready;
		struct report report;
		struct talk talk;
		int shown = 0;

		start(&talk, &before, ways[i], NULL);
		while (!answered(&talk))
			pause_ms(10);
		ready = (struct pollfd){.fd = talk.master, .events = POLLIN};
		if (poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN))
			ioctl(talk.master, FIONREAD, &shown);
		assert_int_equal(shown, 0);
		finish(&talk, &report);
		assert_int_equal(report.answer.kind, ANSWER_NOBODY);
		assert_string_equal(report.by, "");
		assert_true(report.same_modes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_question_before_the_run_reads_so),
		cmocka_unit_test(a_question_after_a_refusal_reads_so),
		cmocka_unit_test(a_question_while_a_call_waits_reads_so),
		cmocka_unit_test(a_question_about_code_reads_so),
		cmocka_unit_test(no_field_can_leave_its_place),
		cmocka_unit_test(what_is_cut_is_said),
		cmocka_unit_test(what_a_longer_yes_covers_cannot_pass_for_a_choice),
		cmocka_unit_test(choices_that_are_not_offered_are_not_shown),
		cmocka_unit_test(each_key_has_its_answer),
		cmocka_unit_test(something_else_goes_on_while_the_person_thinks),
		cmocka_unit_test(a_question_that_nobody_waits_for_ends_by_itself),
		cmocka_unit_test(who_waits_for_the_terminal_goes_on_meanwhile_too),
		cmocka_unit_test(a_yes_to_a_set_is_one_to_what_was_shown),
		cmocka_unit_test(the_hosts_that_code_may_reach_are_the_persons_word),
		cmocka_unit_test(what_was_typed_before_the_question_is_no_answer),
		cmocka_unit_test(what_is_pasted_slowly_is_no_answer),
		cmocka_unit_test(the_terminal_is_put_in_order_before_it_asks),
		cmocka_unit_test(a_terminal_that_knows_no_sequences_gets_none),
		cmocka_unit_test(a_terminal_that_hangs_up_means_no),
		cmocka_unit_test(a_signal_that_ends_ward_means_no_and_stays_pending),
		cmocka_unit_test(silence_means_no),
		cmocka_unit_test(a_window_that_changes_gets_the_question_anew),
		cmocka_unit_test(two_questions_at_one_terminal_take_turns),
		cmocka_unit_test(without_a_terminal_of_its_own_ward_asks_nobody),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
