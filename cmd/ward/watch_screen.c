/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal of ward watch and ward top. Plain escape sequences that every terminal since the
 * VT220 knows do all that is needed here. */
#include "output.h"
#include "watch.h"
#include "../../src/base/escape.h"
#include "../../src/base/io.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>

/* For a handler of signals, too. */
static struct termios before;
static volatile sig_atomic_t taken;

static const char enter[] = "\033[?1049h\033[?25l\033[2J";
static const char leave[] = "\033[0m\033[?25h\033[?1049l";

int screen_signals(void)
{
	static const int heard[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGWINCH};
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < ELEMENTS(heard); i++)
		sigaddset(&signals, heard[i]);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void screen_enter(void)
{
	struct termios modes = before;

	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	taken = 1;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes);
	(void)write_all(STDOUT_FILENO, enter, sizeof(enter) - 1);
}

void screen_leave(void)
{
	if (!taken)
		return;
	taken = 0;
	(void)write_all(STDOUT_FILENO, leave, sizeof(leave) - 1);
	/* What was typed to this screen is for nobody else. */
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static void restore(int number)
{
	screen_leave();
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

bool screen_begin(void)
{
	static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
	struct sigaction action = {.sa_handler = restore, .sa_flags = (int)SA_RESETHAND};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0)
		return false;
	for (size_t i = 0; i < ELEMENTS(crashes); i++)
		(void)sigaction(crashes[i], &action, NULL);
	return true;
}

void screen_suspend(void)
{
	sigset_t stop, mask;

	screen_leave();
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	(void)raise(SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &stop, &mask); /* here it stops */
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	(void)tcgetattr(STDIN_FILENO, &before);
	screen_enter();
}

void screen_start(struct screen *screen)
{
	struct winsize size = {0};

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	screen->rows = MAX(size.ws_row ? size.ws_row : 24u, 4u);
	screen->columns = MAX(size.ws_col ? size.ws_col : 80u, 20u);
	screen->room = screen->rows - 1;
	screen->text.length = 0;
	buffer_add_text(&screen->text, "\033[H");
}

static bool add(struct screen *screen, enum screen_style style, const char *line)
{
	static const char *const styles[] = {[STYLE_NONE] = "",
					     [STYLE_TITLE] = "\033[1m",
					     [STYLE_CHOSEN] = "\033[7m",
					     [STYLE_ALARM] = "\033[1m"};

	if (!screen->room)
		return false;
	buffer_printf(&screen->text, "%s%s\033[0m\033[K\r\n", styles[style], line);
	screen->room--;
	return true;
}

bool screen_line(struct screen *screen, enum screen_style style, const char *format, ...)
{
	_cleanup_buffer_ struct buffer line = {0};
	_cleanup_free_ char *text = NULL;
	va_list list;
	bool whole;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		abort();
	va_end(list);
	escape_for_terminal(&line, text, strlen(text));
	whole = !output_shorten(&line, screen->columns - 1);
	return add(screen, style, buffer_text(&line)) && whole;
}

void screen_wrapped(struct screen *screen, const char *label, const char *text)
{
	_cleanup_buffer_ struct buffer all = {0};
	size_t width = screen->columns - 11, at = 0;

	if (!text || !*text)
		return;
	escape_for_terminal(&all, text, strlen(text));
	while (at < all.length && screen->room) {
		_cleanup_free_ char *line = NULL;
		size_t end = MIN(at + width, all.length);

		/* Not within a character. */
		while (end < all.length && end > at && (all.data[end] & 0xc0) == 0x80)
			end--;
		if (asprintf(&line, "%-9s %.*s", at ? "" : label, (int)(end - at), all.data + at) <
		    0)
			abort();
		add(screen, STYLE_NONE, line);
		at = MAX(end, at + 1);
	}
}

bool screen_finish(struct screen *screen)
{
	buffer_add_text(&screen->text, "\033[J");
	return write_all(STDOUT_FILENO, screen->text.data, screen->text.length) == 0;
}

enum key screen_key(const char *typed, size_t *ret_length)
{
	static const struct {
		const char *bytes;
		enum key key;
	} keys[] = {
		{"\033[A", KEY_UP},   {"\033OA", KEY_UP}, {"k", KEY_UP},      {"\033[B", KEY_DOWN},
		{"\033OB", KEY_DOWN}, {"j", KEY_DOWN},	  {"\r", KEY_ENTER},  {"\n", KEY_ENTER},
		{"q", KEY_BACK},      {"\003", KEY_BACK}, {"\004", KEY_BACK}, {"\034", KEY_BACK},
		{"\032", KEY_STOP},
	};

	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		*ret_length = strlen(keys[i].bytes);
		if (strncmp(typed, keys[i].bytes, *ret_length) == 0)
			return keys[i].key;
	}
	/* Of a sequence that means nothing here, no part does. */
	*ret_length = typed[0] == '\033' ? strlen(typed) : 1;
	return strcmp(typed, "\033") == 0 ? KEY_BACK : KEY_OTHER;
}

bool screen_is_dumb(void)
{
	const char *terminal = getenv("TERM");

	return !terminal || !*terminal || strcmp(terminal, "dumb") == 0;
}
