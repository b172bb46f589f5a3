/* SPDX-License-Identifier: Apache-2.0 */
/* ward watch: questions and runs, live; a question is answered as if it had come up here. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/base/io.h"
#include "../../src/base/list.h"
#include "../../src/base/units.h"
#include "../../src/escalate/ask_json.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/state.h"
#include "../../src/record/store.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

static const char help[] =
	"usage: ward watch\n"
	"\n"
	"Shows the questions that wait for an answer, and the latest runs, as they come. As long "
	"as "
	"it goes on,\n"
	"runs of this user that have no terminal ask here, as with --wait.\n"
	"\n"
	"  Up, Down       choose a question\n"
	"  Enter          read it whole and answer it\n"
	"  q, Ctrl-C      end; what is not answered goes on waiting, or is answered with no\n";

enum { GLANCE_MS = 500, RUNS_MOST = 100, QUESTIONS_MOST = 1000 };

struct view {
	const char *state;
	struct termios before;
	unsigned rows, columns;
	json_t *questions; /* an array of entries */
	size_t chosen, seen;
	struct buffer text;
	unsigned room; /* lines that are left */
	bool over;
};

static void leave(struct view *view)
{
	static const char sequence[] = "\033[?25h\033[?1049l";

	(void)write_all(STDOUT_FILENO, sequence, sizeof(sequence) - 1);
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &view->before);
}

static void enter(struct view *view)
{
	static const char sequence[] = "\033[?1049h\033[?25l";
	struct termios modes = view->before;

	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &modes);
	(void)write_all(STDOUT_FILENO, sequence, sizeof(sequence) - 1);
}

/* One line of the screen, cut to its width. */
static void add_line(struct view *view, const char *style, const char *format, ...) _printf_(3, 4);
static void add_line(struct view *view, const char *style, const char *format, ...)
{
	_cleanup_buffer_ struct buffer line = {0};
	_cleanup_free_ char *text = NULL;
	va_list list;

	if (!view->room)
		return;
	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		abort();
	va_end(list);
	escape_for_terminal(&line, text, strlen(text));
	output_shorten(&line, view->columns - 1);
	buffer_printf(&view->text, "%s%s\033[0m\033[K\r\n", style, buffer_text(&line));
	view->room--;
}

static void note_question(void *data, json_t *entry)
{
	json_t *array = data;

	if (json_array_size(array) < QUESTIONS_MOST)
		json_array_append(array, entry);
}

/* The one that was chosen stays chosen when others come and go. */
static int read_questions(struct view *view, struct error **ret_error)
{
	json_t *before = view->questions, *now = json_array(), *item;
	_cleanup_free_ char *id = NULL;
	size_t i, count = json_array_size(before);
	int r = queue_list(view->state, note_question, now, ret_error);

	if (view->chosen < count)
		id = strdup(text_of(json_array_get(before, view->chosen), "id"));
	view->questions = now;
	json_array_foreach (now, i, item)
		if (id && strcmp(id, text_of(item, "id")) == 0)
			view->chosen = i;
	if (view->chosen >= json_array_size(now))
		view->chosen = json_array_size(now) ? json_array_size(now) - 1 : 0;
	if (json_array_size(now) > view->seen) /* somebody may be looking elsewhere */
		buffer_add_text(&view->text, "\a");
	view->seen = json_array_size(now);
	json_decref(before);
	return r;
}

static void draw_question(struct view *view, json_t *entry, bool chosen)
{
	json_t *ask = json_object_get(entry, "ask"), *grants = json_object_get(ask, "grants");
	const char *wants = json_string_value(json_array_get(grants, 0));
	const char *agent = text_of(ask, "agent"),
		   *level = text_of(json_object_get(ask, "risk"), "level");
	char since[WORDS_TEXT];

	output_time(text_of(entry, "since"), "%H:%M:%S", since);
	add_line(view, chosen ? "\033[7m" : "", "%s %s  %-8s %s  |  %s%s%s", chosen ? ">" : " ",
		 since, level ? level : "", wants ? wants : "to run", text_of(ask, "command"),
		 agent ? "  |  " : "", agent ? agent : "");
}

static int draw_run(json_t *run, void *data)
{
	struct view *view = data;
	char when[WORDS_TEXT], outcome[WORDS_TEXT];
	const char *agent = text_of(run, "agent");

	output_time(text_of(run, "time"), "%H:%M:%S", when);
	(void)output_outcome(run, outcome);
	add_line(view, "", "  %s  %-8s %s%s%s", when, outcome, text_of(run, "command"),
		 agent ? "  |  " : "", agent ? agent : "");
	return 0;
}

static int draw(struct view *view, struct error **ret_error)
{
	struct winsize size = {0};
	struct store *store = NULL;
	size_t count, first, fits;
	int r;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	view->rows = size.ws_row ? size.ws_row : 24;
	view->columns = MAX(size.ws_col ? size.ws_col : 80, 20);
	view->room = view->rows - 1;
	view->text.length = 0;
	buffer_add_text(&view->text, "\033[H");
	r = read_questions(view, ret_error);
	if (r < 0)
		return r;
	count = json_array_size(view->questions);
	add_line(view, "\033[1m", "ward watch: %zu question%s   Up, Down, Enter: answer   q: end",
		 count, count == 1 ? "" : "s");
	add_line(view, "", "%s", "");
	fits = MAX(view->room / 2, 1U);
	first = view->chosen >= fits ? view->chosen - fits + 1 : 0;
	for (size_t i = first; i < count && i < first + fits; i++)
		draw_question(view, json_array_get(view->questions, i), i == view->chosen);
	if (count == 0)
		add_line(view, "", "  nothing waits for an answer");
	add_line(view, "", "%s", "");
	add_line(view, "\033[1m", "runs");
	r = store_open(view->state, &store, ret_error);
	if (r == 0)
		r = store_runs(store, MIN(view->room, (unsigned)RUNS_MOST), draw_run, view,
			       ret_error);
	store_close(store);
	buffer_add_text(&view->text, "\033[J");
	if (r == 0 && write_all(STDOUT_FILENO, view->text.data, view->text.length) < 0)
		view->over = true;
	return r;
}

static void serve_nothing(void *data)
{
	(void)data;
}

struct standing {
	const char *state;
	json_t *entry;
};

static bool is_obsolete(void *data)
{
	const struct standing *standing = data;
	json_t *now = NULL;
	bool stands = queue_find(standing->state, text_of(standing->entry, "id"), QUEUE_ID_LEAST,
				 &now, NULL) == 0 &&
		      json_equal(now, standing->entry);

	json_decref(now);
	return !stands;
}

/* The question as it would be at its own terminal. Who leaves without an answer has given none. */
static int answer_chosen(struct view *view, struct error **ret_error)
{
	json_t *entry = json_incref(json_array_get(view->questions, view->chosen)), *said;
	struct standing standing = {view->state, entry};
	const struct meanwhile meanwhile = {-1, serve_nothing, is_obsolete, &standing};
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_answer_ struct answer answer = {0};
	struct ask ask = {0};
	int r = ask_from_json(arena, json_object_get(entry, "ask"), &ask, ret_error);

	leave(view);
	ask.meanwhile = &meanwhile;
	if (r == 0)
		r = ask_terminal(&ask, &answer, ret_error);
	if (r == 0 && answer.kind != ANSWER_NOBODY && !answer.unsaid) {
		_cleanup_error_ struct error *error = NULL;

		said = answer_to_json(&answer);
		/* Another may have been faster: then that is the answer. */
		if (queue_answer(view->state, entry, said, &error) < 0) {
			fprintf(stderr, "ward watch: %s\n", error->message);
			(void)poll(NULL, 0, 1500);
		}
		json_decref(said);
	}
	json_decref(entry);
	enter(view);
	return r;
}

static int take_keys(struct view *view, struct error **ret_error)
{
	char keys[64];
	ssize_t got = read(STDIN_FILENO, keys, sizeof(keys) - 1);
	size_t count = json_array_size(view->questions);

	if (got <= 0) {
		view->over = true;
		return 0;
	}
	keys[got] = '\0';
	if (strcmp(keys, "\033[A") == 0 || strcmp(keys, "\033OA") == 0 || strcmp(keys, "k") == 0)
		view->chosen -= view->chosen > 0;
	else if (strcmp(keys, "\033[B") == 0 || strcmp(keys, "\033OB") == 0 ||
		 strcmp(keys, "j") == 0)
		view->chosen += view->chosen + 1 < count;
	else if (got == 1 && strchr("q\003\004\034", keys[0]))
		view->over = true;
	else if (got == 1 && (keys[0] == '\r' || keys[0] == '\n') && count)
		return answer_chosen(view, ret_error);
	return 0;
}

static bool told_to_end(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1 ||
		sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGQUIT) == 1);
}

static int watch(struct view *view, struct error **ret_error)
{
	sigset_t ends;
	int r = 0;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGQUIT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	enter(view);
	while (r == 0 && !view->over && !told_to_end()) {
		struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};

		r = draw(view, ret_error);
		if (r == 0 && poll(&keys, 1, GLANCE_MS) > 0)
			r = take_keys(view, ret_error);
	}
	leave(view);
	return r;
}

int verb_watch(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	_cleanup_close_ int watched = -1;
	struct view view = {0};
	int r;

	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		printf("%s", help);
		return output_end("watch", 0);
	}
	if (argc > 1)
		return output_usage("watch", "'%s' is not --help", argv[1]);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &view.before) < 0)
		return output_usage("watch",
				    "it needs a terminal; for programs: ward pending --json");
	view.questions = json_array();
	r = state_directory(&state, &error);
	if (r == 0)
		r = queue_watch(state, &watched, &error);
	view.state = state;
	if (r == 0)
		r = watch(&view, &error);
	json_decref(view.questions);
	buffer_done(&view.text);
	return r < 0 ? output_error("watch", error) : 0;
}
