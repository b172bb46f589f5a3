/* SPDX-License-Identifier: Apache-2.0 */
/* Showing records to people and programs. */
#include "output.h"
#include "../../src/base/escape.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void output_begin(void)
{
	signal(SIGPIPE, SIG_IGN);
}

bool output_is_closed(void)
{
	return ferror(stdout);
}

int output_end(const char *verb, int status)
{
	struct pollfd reader = {.fd = STDOUT_FILENO, .events = POLLOUT};
	int errnum;

	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	errnum = errno;
	/* stdio may have met the failure long ago, and errno is gone; a pipe still knows. */
	if (errnum == EPIPE || (poll(&reader, 1, 0) == 1 && (reader.revents & (POLLERR | POLLHUP))))
		return status;
	fprintf(stderr, "ward %s: cannot write the output%s%s\n", verb, errnum ? ": " : "",
		errnum ? strerror(errnum) : "");
	return EXIT_WARD;
}

static void say(const char *verb, const char *message, const char *hint)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_printf(&text, "ward %s: ", verb);
	escape_for_terminal(&text, message, strlen(message));
	buffer_add_char(&text, '\n');
	if (hint) {
		buffer_add_text(&text, "hint: ");
		escape_for_terminal(&text, hint, strlen(hint));
		buffer_add_char(&text, '\n');
	}
	fflush(stdout);
	fputs(buffer_text(&text), stderr);
}

int output_error(const char *verb, const struct error *error)
{
	_cleanup_buffer_ struct buffer message = {0};

	if (error->file)
		buffer_add_text(&message, error->file);
	if (error->file && error->line > 0)
		buffer_printf(&message, ":%d:%d", error->line, error->column);
	buffer_printf(&message, "%s%s", error->file ? ": " : "", error->message);
	say(verb, buffer_text(&message), error->hint);
	return EXIT_WARD;
}

int output_usage(const char *verb, const char *format, ...)
{
	_cleanup_free_ char *message = NULL, *hint = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		abort();
	va_end(args);
	if (asprintf(&hint, "`ward %s --help` lists what there is", verb) < 0)
		abort();
	say(verb, message, hint);
	return EXIT_WARD;
}

int output_bad_option(const char *verb, char *const argv[], const struct option *options,
		      int answer)
{
	const char *word = argv[optind - 1];

	if (answer == ':')
		return output_usage(verb, "option %s needs a value", word);
	if (optopt == 0)
		return output_usage(verb, "unknown option %s", word);
	for (; options->name; options++)
		if (options->val == optopt)
			return output_usage(verb, "option --%s takes no value", options->name);
	return output_usage(verb, "unknown option -%c", optopt);
}

static bool wants_colour(void)
{
	static int wants = -1;

	if (wants < 0) {
		const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

		wants = isatty(STDOUT_FILENO) && !(no && *no) &&
			!(terminal && strcmp(terminal, "dumb") == 0);
	}
	return wants;
}

void output_text(enum colour colour, const char *text)
{
	static const char *const codes[] = {
		[COLOUR_BOLD] = "\033[1m",
		[COLOUR_RED] = "\033[31m",
		[COLOUR_GREEN] = "\033[32m",
		[COLOUR_YELLOW] = "\033[33m",
	};
	_cleanup_buffer_ struct buffer escaped = {0};
	bool coloured = colour != COLOUR_NONE && wants_colour();

	escape_for_terminal(&escaped, text, strlen(text));
	if (coloured)
		fputs(codes[colour], stdout);
	fputs(buffer_text(&escaped), stdout);
	if (coloured)
		fputs("\033[0m", stdout);
}

void output_json(const json_t *object)
{
	json_dumpf(object, stdout,
		   JSON_COMPACT | JSON_REAL_PRECISION(15) |
			   (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
	putchar('\n');
}

void output_time(const char *utc, const char *format, char ret_text[static WORDS_TEXT])
{
	struct tm tm = {0};
	time_t seconds;

	if (utc && strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm)) {
		seconds = timegm(&tm);
		if (localtime_r(&seconds, &tm) && strftime(ret_text, WORDS_TEXT, format, &tm) > 0)
			return;
	}
	/* What is no time is not shown: it may be anything. */
	snprintf(ret_text, WORDS_TEXT, "%s", !utc ? "-" : *utc ? "?" : "");
}

void output_duration(double ms, char ret_text[static WORDS_TEXT])
{
	static const struct {
		double below; /* ms */
		double unit;
		int digits;
		const char *name;
	} steps[] = {
		{10, 1, 1, "ms"},	    {1000, 1, 0, "ms"},
		{100e3, 1e3, 1, "s"},	    {100 * 60e3, 60e3, 1, "min"},
		{INFINITY, 3600e3, 1, "h"},
	};

	for (size_t i = 0; i < ELEMENTS(steps); i++) {
		if (ms >= steps[i].below)
			continue;
		snprintf(ret_text, WORDS_TEXT, "%.*f %s", steps[i].digits, ms / steps[i].unit,
			 steps[i].name);
		return;
	}
	snprintf(ret_text, WORDS_TEXT, "-");
}

/* Why a command did not start, short enough for a column. */
static const char *error_word(const char *kind)
{
	static const struct {
		const char *kind, *word;
	} words[] = {
		{"rejected", "refused"},
		{"deferred", "deferred"},
		{"sandbox_denied", "sandbox"},
		{"timeout", "timeout"},
	};

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (strcmp(kind, words[i].kind) == 0)
			return words[i].word;
	return "error";
}

enum colour output_outcome(const json_t *run, char ret_text[static WORDS_TEXT])
{
	json_int_t code = json_integer_value(json_object_get(run, "exit_code"));
	int number = (int)json_integer_value(json_object_get(run, "signal"));
	const char *limit = text_of(run, "limit"), *error = text_of(run, "error");
	const char *name = number > 0 ? sigabbrev_np(number) : NULL;

	if (!json_is_true(json_object_get(run, "ended"))) {
		snprintf(ret_text, WORDS_TEXT, "-");
		return COLOUR_YELLOW;
	}
	if (error && strcmp(error, "killed") == 0)
		snprintf(ret_text, WORDS_TEXT, "killed");
	else if (json_is_true(json_object_get(run, "timed_out")))
		snprintf(ret_text, WORDS_TEXT, "timeout");
	else if (limit)
		snprintf(ret_text, WORDS_TEXT, "%s", limit);
	else if (name)
		snprintf(ret_text, WORDS_TEXT, "SIG%s", name);
	else if (number > 0)
		snprintf(ret_text, WORDS_TEXT, "signal %d", number);
	else if (error && code < 0)
		snprintf(ret_text, WORDS_TEXT, "%s", error_word(error));
	else
		snprintf(ret_text, WORDS_TEXT, "%lld", (long long)code);
	return strcmp(ret_text, "0") == 0 ? COLOUR_GREEN : COLOUR_RED;
}

/* The columns that a character fills on a terminal. */
static size_t columns_of(unsigned code)
{
	static const struct {
		unsigned first, last;
	} wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0xa4cf},	{0xac00, 0xd7a3},   {0xf900, 0xfaff},
		{0xfe30, 0xfe6f},   {0xff00, 0xff60},	{0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
		{0x1f680, 0x1f6ff}, {0x1f900, 0x1faff}, {0x20000, 0x3fffd},
	};

	for (size_t i = 0; i < ELEMENTS(wide); i++)
		if (code >= wide[i].first && code <= wide[i].last)
			return 2;
	return 1;
}

size_t output_columns(const struct buffer *text)
{
	size_t used = 0, size;

	for (size_t at = 0; at < text->length; at += size) {
		unsigned code = 0;

		size = MAX(utf8_decode(text->data + at, text->length - at, &code), (size_t)1);
		used += columns_of(code);
	}
	return used;
}

bool output_shorten(struct buffer *text, size_t width)
{
	size_t used = 0, fits = 0, size;

	for (size_t at = 0; at < text->length; at += size) {
		unsigned code = 0;

		size = MAX(utf8_decode(text->data + at, text->length - at, &code), (size_t)1);
		if (used + 1 <= width)
			fits = at; /* an ellipsis could still stand here */
		used += columns_of(code);
		if (used > width) {
			text->length = fits;
			buffer_add_text(text, "\xe2\x80\xa6");
			return true;
		}
	}
	return false;
}
