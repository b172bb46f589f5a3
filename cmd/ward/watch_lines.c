/* SPDX-License-Identifier: Apache-2.0 */
/* ward watch, a line for each thing that happens: for terminals that can do no more, and for logs.
 */
#include "output.h"
#include "watch.h"
#include "../../src/escalate/queue.h"
#include "../../src/record/eventlog.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>

int questions_watch(const char *state)
{
	_cleanup_free_ char *path = NULL;
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (asprintf(&path, "%s/asks", state) < 0)
		abort();
	(void)inotify_add_watch(fd, path,
				IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
	return fd;
}

/* Those that were not there the last time, with what answers them. */
static void show_question(void *data, json_t *entry)
{
	json_t *seen = data, *ask = json_object_get(entry, "ask");
	const char *id = text_of(entry, "id"), *agent = text_of(ask, "agent");
	_cleanup_buffer_ struct buffer line = {0};
	char when[WORDS_TEXT];

	if (json_object_get(seen, id))
		return;
	json_object_set_new(seen, id, json_true());
	output_time(text_of(entry, "since"), "%H:%M:%S", when);
	buffer_printf(&line, "%s  question  ", when);
	question_risk(entry, &line);
	buffer_printf(&line, "  %s  |  %s%s%s  |  ward approve %s, ward deny %s",
		      question_wants(entry), text_of(ask, "command"), agent ? "  |  " : "",
		      agent ? agent : "", id, id);
	output_text(COLOUR_BOLD, buffer_text(&line));
	putchar('\n');
}

static void show_event(const json_t *event)
{
	const char *run = text_of(event, "run"), *agent = text_of(event, "agent");
	_cleanup_buffer_ struct buffer line = {0};
	char when[WORDS_TEXT];

	output_time(text_of(event, "time"), "%H:%M:%S", when);
	buffer_printf(&line, "%s  %s  ", when, run ? run : "-");
	event_words(event, &line);
	if (agent)
		buffer_printf(&line, "  |  %s", agent);
	output_text(COLOUR_NONE, buffer_text(&line));
	putchar('\n');
}

static bool wait_for_more(struct eventlog *log, int questions)
{
	struct pollfd fds[] = {
		{eventlog_fd(log), POLLIN, 0}, {questions, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
	char data[4096];

	while (poll(fds, ELEMENTS(fds), -1) < 0)
		if (errno != EINTR)
			return false;
	while (read(questions, data, sizeof(data)) > 0)
		;
	return !(fds[2].revents & (POLLERR | POLLHUP | POLLNVAL));
}

int watch_lines(const char *state, struct error **ret_error)
{
	struct event_place now;
	struct eventlog *log = NULL;
	_cleanup_close_ int questions = -1;
	json_t *seen = json_object(), *event;
	int r = event_place_now(state, &now, ret_error);

	if (r == 0)
		r = eventlog_open(state, now, /* follow= */ true, &log, ret_error);
	questions = questions_watch(state);
	while (r == 0) {
		while ((r = eventlog_next(log, &event, ret_error)) > 0) {
			show_event(event);
			json_decref(event);
		}
		if (r == 0)
			r = queue_list(state, show_question, seen, ret_error);
		if (fflush(stdout) != 0 || r < 0 || !wait_for_more(log, questions))
			break;
	}
	json_decref(seen);
	eventlog_close(log);
	return r;
}
