/* SPDX-License-Identifier: Apache-2.0 */
/* ward top: the runs under way, what they use and how near they are to their limits, live. */
#include "others.h"
#include "output.h"
#include "top.h"
#include "verbs.h"
#include "../../src/base/units.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

static const char help[] =
	"usage: ward top [--once] [--json] [--agent ID] [--session ID] [--user USER | --all]\n"
	"\n"
	"Shows the runs under way: CPU (100 is one CPU), memory, processes, what they wrote, "
	"their\n"
	"connections, how much was refused and how many questions wait, each with its limit where\n"
	"there is one. What is beyond 80 % of a limit has a ! behind it, and so has its row.\n"
	"\n"
	"  Up, Down, j, k  choose a run\n"
	"  Enter           its processes, its connections and what was refused to it last\n"
	"  s               sort by the next of age, cpu, memory, processes, disk\n"
	"  /               show only those in which a text occurs; Enter ends it, Escape clears "
	"it\n"
	"  p               pause, or go on\n"
	"  q, Ctrl-C       back, or end\n"
	"\n"
	"  --once          one table; so it is also where there is no terminal\n"
	"  --json          one object a second, with --once one alone (docs/top.schema.json)\n"
	"  --agent ID      of this agent alone\n"
	"  --session ID    of this session alone\n"
	"  --user USER     that user's, by name or number; for root\n"
	"  --all           of all users; for root\n"
	"  --help          this text\n";

enum { TICK_MS = 1000, FIRST_MS = 300, FILTER_MOST = 64, COLUMNS_PLAIN = 140 };

struct view {
	struct gathering gathering;
	struct screen screen;
	json_t *rows; /* as they are shown */
	char *chosen; /* a run; NULL: the first */
	bool details, paused, typing, over;
	unsigned sort;
	char filter[FILTER_MOST];
	int signals;
};

static size_t chosen_place(const struct view *view)
{
	const json_t *row;
	size_t i;

	json_array_foreach (view->rows, i, row)
		if (view->chosen && strcmp(text_of(row, "run"), view->chosen) == 0)
			return i;
	return 0;
}

static void choose(struct view *view, size_t place)
{
	const json_t *row = json_array_get(view->rows, place);

	view->gathering.wanted.details = NULL; /* it is the same text */
	free(view->chosen);
	view->chosen = row ? strdup(text_of(row, "run")) : NULL;
}

static void draw_list(struct view *view)
{
	struct screen *screen = &view->screen;
	size_t count = json_array_size(view->rows), chosen = chosen_place(view), room, first;
	_cleanup_buffer_ struct buffer title = {0};
	const json_t *row;

	screen_line(screen, STYLE_TITLE, "ward top: %zu running   by %s%s   Enter, s, /, p, q",
		    json_array_size(view->gathering.rows), top_sort_name(view->sort),
		    view->paused ? "   PAUSED" : "");
	if (view->typing || *view->filter)
		screen_line(screen, STYLE_NONE, "/%s%s", view->filter, view->typing ? "_" : "");
	top_title_line(screen->columns - 1, &title);
	screen_line(screen, STYLE_TITLE, "%s", buffer_text(&title));
	room = screen->room > 1 ? screen->room - (count > screen->room) : 1;
	first = chosen >= room ? chosen - room + 1 : 0;
	for (size_t i = first; i < count && i < first + room; i++) {
		_cleanup_buffer_ struct buffer line = {0};

		row = json_array_get(view->rows, i);
		top_line(row, screen->columns - 1, i == chosen, &line);
		screen_line(screen,
			    i == chosen					    ? STYLE_CHOSEN
			    : json_array_size(json_object_get(row, "near")) ? STYLE_ALARM
									    : STYLE_NONE,
			    "%s", buffer_text(&line));
	}
	if (count > room)
		screen_line(screen, STYLE_NONE, "  ... %zu more", count - room);
	if (count == 0)
		screen_line(screen, STYLE_NONE, "  nothing runs");
}

static void draw(struct view *view)
{
	const json_t *row;

	json_decref(view->rows);
	view->rows = top_order(view->gathering.rows, view->sort, view->filter);
	row = json_array_get(view->rows, chosen_place(view));
	screen_start(&view->screen);
	if (view->details && row && view->chosen && strcmp(text_of(row, "run"), view->chosen) == 0)
		top_details(row, &view->screen);
	else if (view->details)
		screen_line(&view->screen, STYLE_NONE, "that run has ended   q: back");
	else
		draw_list(view);
	if (!screen_finish(&view->screen))
		view->over = true;
}

static void take_typed(struct view *view, char c)
{
	size_t length = strlen(view->filter);

	if (c == '\r' || c == '\n') {
		view->typing = false;
	} else if (c == '\033' || c == '\003') {
		view->typing = false;
		view->filter[0] = '\0';
	} else if ((c == '\177' || c == '\b') && length > 0) {
		view->filter[length - 1] = '\0';
	} else if ((unsigned char)c >= ' ' && c != '\177' && length + 1 < sizeof(view->filter)) {
		view->filter[length] = c;
		view->filter[length + 1] = '\0';
	}
}

static void take_letter(struct view *view, char letter)
{
	if (letter == 's')
		view->sort = (view->sort + 1) % TOP_SORTS;
	else if (letter == 'p')
		view->paused = !view->paused;
	else if (letter == '/' && !view->details)
		view->typing = true;
}

static void take_key(struct view *view, enum key key, char letter)
{
	size_t place = chosen_place(view), count = json_array_size(view->rows);

	if (key == KEY_STOP)
		screen_suspend();
	else if (key == KEY_BACK && view->details)
		view->details = false;
	else if (key == KEY_BACK)
		view->over = true;
	else if (key == KEY_UP && !view->details)
		choose(view, place - (place > 0));
	else if (key == KEY_DOWN && !view->details)
		choose(view, MIN(place + 1, MAX(count, (size_t)1) - 1));
	else if (key == KEY_ENTER && !view->details && count) {
		choose(view, place);
		view->details = true;
	} else if (key == KEY_OTHER) {
		take_letter(view, letter);
	}
}

static void take_keys(struct view *view)
{
	char typed[64];
	ssize_t got = read(STDIN_FILENO, typed, sizeof(typed) - 1);
	size_t length;

	if (got <= 0) {
		view->over = true;
		return;
	}
	typed[got] = '\0';
	for (const char *at = typed; *at && !view->over; at += length) {
		enum key key = screen_key(at, &length);

		if (view->typing) {
			length = *at == '\033' ? strlen(at) : 1;
			take_typed(view, *at);
		} else {
			take_key(view, key, *at);
		}
	}
}

static void take_signal(struct view *view)
{
	struct signalfd_siginfo signal;

	while (read(view->signals, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGTSTP)
			screen_suspend();
		else if (signal.ssi_signo != SIGWINCH)
			view->over = true;
	}
}

/* Until it is time to look again; a key or a new size of the window is drawn at once. */
static void wait_for_more(struct view *view, uint64_t until)
{
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {view->signals, POLLIN, 0}};
	uint64_t now = monotonic_ns();

	if (poll(fds, ELEMENTS(fds),
		 until == UINT64_MAX ? -1
		 : until > now	     ? (int)((until - now) / 1000000) + 1
				     : 0) <= 0)
		return;
	if (fds[1].revents)
		take_signal(view);
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		view->over = true;
	else if (fds[0].revents)
		take_keys(view);
}

static int live(struct view *view, struct error **ret_error)
{
	uint64_t next = 0;
	unsigned looks = 0;
	int r = 0;

	view->signals = screen_signals();
	screen_enter();
	while (r == 0 && !view->over) {
		bool opened = view->details &&
			      (!view->gathering.wanted.details ||
			       strcmp(view->gathering.wanted.details, view->chosen) != 0);

		view->gathering.wanted.details = view->details ? view->chosen : NULL;
		if (opened || (!view->paused && monotonic_ns() >= next)) {
			r = gather(&view->gathering, ret_error);
			next = monotonic_ns() + (uint64_t)(looks++ ? TICK_MS : FIRST_MS) * 1000000;
		}
		if (r == 0)
			draw(view);
		if (r == 0 && !view->over)
			wait_for_more(view, view->paused ? UINT64_MAX : next);
	}
	screen_leave();
	close_fd(&view->signals);
	return r;
}

static void print_table(const json_t *rows)
{
	_cleanup_buffer_ struct buffer title = {0};
	const json_t *row;
	size_t i;

	if (json_array_size(rows) == 0) {
		puts("nothing runs");
		return;
	}
	top_title_line(COLUMNS_PLAIN, &title);
	puts(buffer_text(&title));
	json_array_foreach (rows, i, row) {
		_cleanup_buffer_ struct buffer line = {0};

		top_line(row, COLUMNS_PLAIN, /* chosen= */ false, &line);
		puts(buffer_text(&line));
	}
}

static void print_json(const json_t *rows)
{
	char now[TIME_TEXT];
	json_t *object;

	time_text(now);
	object = json_pack("{s:s, s:O}", "time", now, "runs", rows);
	output_json(object);
	json_decref(object);
	(void)fflush(stdout);
}

/* What needs two looks (a share of the CPU, names behind addresses) is there after the second. */
static int print(struct gathering *gathering, bool json, bool once, struct error **ret_error)
{
	int r = gather(gathering, ret_error);

	if (r == 0 && (!once || json_array_size(gathering->rows) > 0)) {
		(void)poll(NULL, 0, FIRST_MS);
		r = gather(gathering, ret_error);
	}
	while (r == 0) {
		if (json)
			print_json(gathering->rows);
		else
			print_table(gathering->rows);
		if (once || output_is_closed())
			break;
		(void)poll(NULL, 0, TICK_MS);
		r = gather(gathering, ret_error);
	}
	return r;
}

int verb_top(int argc, char **argv)
{
	static const struct option options[] = {
		{"once", no_argument, NULL, 'o'},	 {"json", no_argument, NULL, 'j'},
		{"agent", required_argument, NULL, 'a'}, {"session", required_argument, NULL, 's'},
		{"user", required_argument, NULL, 'u'},	 {"all", no_argument, NULL, 'A'},
		{"help", no_argument, NULL, 'h'},	 {0}};
	_cleanup_error_ struct error *error = NULL;
	struct view view = {.signals = -1};
	struct gathering *gathering = &view.gathering;
	bool json = false, once = false;
	const char *user = NULL;
	int option, r = 0;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) >= 0) {
		switch (option) {
		case 'o':
			once = true;
			break;
		case 'j':
			json = true;
			break;
		case 'a':
			gathering->wanted.agent = optarg;
			break;
		case 's':
			gathering->wanted.session = optarg;
			break;
		case 'u':
			user = optarg;
			break;
		case 'A':
			gathering->everybody = true;
			break;
		case 'h':
			printf("%s", help);
			return output_end("top", 0);
		default:
			return output_bad_option("top", argv, options, option);
		}
	}
	if (optind < argc)
		return output_usage("top", "unexpected word '%s'", argv[optind]);
	if (user && gathering->everybody)
		return output_usage("top", "--user and --all are not for each other");
	if (gathering->everybody && geteuid() != 0)
		return output_usage("top", "--all is for root");
	output_begin();
	if (user)
		r = others_become(user, &error);
	if (json)
		gathering->wanted.details = "";
	if (r == 0 && (json || once || screen_is_dumb() || !screen_begin()))
		r = print(gathering, json, once || !json, &error);
	else if (r == 0)
		r = live(&view, &error);
	gathering_done(gathering);
	json_decref(view.rows);
	free(view.chosen);
	buffer_done(&view.screen.text);
	return r < 0 ? output_error("top", error) : output_end("top", 0);
}
