/* SPDX-License-Identifier: Apache-2.0 */
/* Reading events from the audit log, and waiting for more. The head beside the log tells how far it
 * holds, without a lock: a reader, however slow, is in nobody's way. */
#include "eventlog.h"
#include "chain.h"
#include "eventlog_runs.h"
#include "../request/text_json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

enum { LOOK_MS = 250 };

struct eventlog {
	char *state;
	bool follow;
	int head;
	struct lines lines; /* its fd is the log's, -1 where there is none yet */
	ino_t inode;	    /* of the log */
	struct event_place after;
	json_t *events; /* of the record that is being told */
	size_t next;
	int epoll, changes;
	struct watched_runs runs;
};

bool event_place_read(const char *text, struct event_place *ret_place)
{
	struct event_place place = {.part = UINT32_MAX};
	int end = 0;

	if (strspn(text, "0123456789.") != strlen(text) || strlen(text) > 24)
		return false;
	if (strchr(text, '.'))
		(void)sscanf(text, "%20" SCNu64 ".%9u%n", &place.record, &place.part, &end);
	else
		(void)sscanf(text, "%20" SCNu64 "%n", &place.record, &end);
	if (end == 0 || text[end] != '\0')
		return false;
	*ret_place = place;
	return true;
}

static int open_file(const struct eventlog *log, const char *name, int *ret_fd,
		     struct error **ret_error)
{
	_cleanup_free_ char *path = chain_words("%s/%s", log->state, name);

	*ret_fd = open(path, O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (*ret_fd < 0 && errno != ENOENT)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot open %s", path);
	return 0;
}

/* Where the next line begins from an offset on. */
static int next_line(int fd, uint64_t offset, uint64_t end, uint64_t *ret_offset)
{
	char data[4096];

	while (offset < end) {
		ssize_t got = pread(fd, data, MIN(sizeof(data), end - offset), (off_t)offset);
		const char *newline = got > 0 ? memchr(data, '\n', (size_t)got) : NULL;

		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		if (newline) {
			*ret_offset = offset + (uint64_t)(newline - data) + 1;
			return 0;
		}
		offset += (uint64_t)got;
	}
	*ret_offset = end;
	return 0;
}

/* True if the line is before what is looked for: every line begins with its number and its time. */
struct sought {
	uint64_t record;  /* 0: the time counts */
	const char *time; /* as it is recorded */
};

static bool is_before(const char *line, const struct sought *sought, uint64_t *ret_record)
{
	char time[40] = "";
	uint64_t record = 0;

	if (sscanf(line, "{\"seq\":%20" SCNu64 ",\"time\":\"%39[^\"]\"", &record, time) < 1)
		return false;
	*ret_record = record;
	return sought->time ? strcmp(time, sought->time) < 0 : record < sought->record;
}

/* The offset of the first line that is not before what is sought; *ret_record is the number of the
 * one in front of it. Lines are in order, so half of the rest is left out at each step. */
static int find_line(int fd, uint64_t end, const struct sought *sought, uint64_t *ret_offset,
		     uint64_t *ret_record)
{
	uint64_t low = 0, high = end; /* the line at low, or one behind it */

	*ret_record = 0;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2, start = low, record = 0;
		char line[128] = "";
		ssize_t got;
		int r = middle > low ? next_line(fd, middle - 1, high, &start) : 0;

		if (r < 0)
			return r;
		if (start >= high) { /* no line begins in the upper half */
			high = middle;
			continue;
		}
		got = pread(fd, line, sizeof(line) - 1, (off_t)start);
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		if (!is_before(line, sought, &record)) {
			if (start == low)
				break;
			high = start;
			continue;
		}
		*ret_record = record;
		r = next_line(fd, start, end, &low);
		if (r < 0)
			return r;
	}
	*ret_offset = low;
	return 0;
}

/* How far the log holds. 1: the files are another log's than before. */
static int refresh(struct eventlog *log, struct error **ret_error)
{
	_cleanup_free_ char *path = chain_words("%s/" LOG_NAME, log->state);
	struct head head;
	struct stat st;
	bool there = stat(path, &st) == 0;
	int r;

	if (log->lines.fd >= 0 && (!there || st.st_ino != log->inode))
		return there ? 1 : 0; /* between two logs there is nothing to read */
	if (log->lines.fd < 0) {
		r = open_file(log, LOG_NAME, &log->lines.fd, ret_error);
		if (r < 0 || log->lines.fd < 0)
			return r;
		(void)fstat(log->lines.fd, &st);
		log->inode = st.st_ino;
	}
	if (log->head < 0 && (r = open_file(log, HEAD_NAME, &log->head, ret_error)) < 0)
		return r; /* it comes into being after the log */
	if (log->head < 0 || head_read(log->head, &head) != HEAD_GOOD)
		return 0;
	if (head.size < log->lines.offset)
		return 1;
	log->lines.end = head.size;
	return 0;
}

static void forget_log(struct eventlog *log)
{
	close_fd(&log->lines.fd);
	close_fd(&log->head);
	log_lines_done(&log->lines);
	log->lines = (struct lines){.fd = -1};
	log->after = (struct event_place){0};
}

/* A person has moved the log aside: numbers begin again, and whoever reads is told so. */
static void begin_again(struct eventlog *log)
{
	forget_log(log);
	json_decref(log->events);
	log->events = json_pack("[{s:s, s:n, s:s, s:n, s:n, s:n, s:n, s:n}]", "id", "0.1", "time",
				"kind", "log.begun", "run", "agent", "session", "tool", "call_id");
	log->next = 0;
}

/* A user's inotify instances are few and may all be taken: then it is looked four times a second.
 */
static int look_now_and_then(void)
{
	const struct itimerspec often = {.it_interval.tv_nsec = LOOK_MS * 1000 * 1000,
					 .it_value.tv_nsec = LOOK_MS * 1000 * 1000};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	(void)timerfd_settime(timer, 0, &often, NULL);
	return timer;
}

static int watch(struct eventlog *log, struct error **ret_error)
{
	struct epoll_event event = {.events = EPOLLIN};

	log->epoll = epoll_create1(EPOLL_CLOEXEC);
	log->runs.epoll = log->epoll;
	log->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	/* Of the directory only what comes and goes there: others write in it, too. */
	if (log->changes >= 0 &&
	    inotify_add_watch(log->changes, log->state,
			      IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK) < 0)
		close_fd(&log->changes);
	if (log->changes < 0)
		log->changes = look_now_and_then();
	if (log->epoll < 0 || log->changes < 0 ||
	    epoll_ctl(log->epoll, EPOLL_CTL_ADD, log->changes, &event) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "cannot watch %s", log->state);
	return 0;
}

/* The head is written last. */
static void watch_head(struct eventlog *log)
{
	_cleanup_free_ char *path = chain_words("%s/" HEAD_NAME, log->state);

	(void)inotify_add_watch(log->changes, path, IN_MODIFY);
}

static int go_to(struct eventlog *log, struct error **ret_error)
{
	const struct sought sought = {.record = log->after.record};
	uint64_t before;
	int r;

	if (log->lines.fd < 0 || log->after.record == 0)
		return 0;
	r = find_line(log->lines.fd, log->lines.end, &sought, &log->lines.offset, &before);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "cannot read %s/" LOG_NAME, log->state)
		     : 0;
}

static void note_alive(void *data, const char *run, pid_t supervisor)
{
	struct eventlog *log = data;

	if (log->follow)
		watched_runs_add(&log->runs, run, supervisor);
}

int eventlog_open(const char *state, struct event_place after, bool follow,
		  struct eventlog **ret_log, struct error **ret_error)
{
	struct eventlog *log = calloc(1, sizeof(*log));
	_cleanup_error_ struct error *unsettled = NULL;
	int r = 0;

	if (!log)
		abort();
	*log = (struct eventlog){.state = strdup(state),
				 .follow = follow,
				 .head = -1,
				 .lines.fd = -1,
				 .after = after,
				 .epoll = -1,
				 .changes = -1,
				 .runs.timer = -1};
	if (follow && (r = watch(log, ret_error)) == 0)
		watch_head(log); /* before it is read: nothing is missed */
	/* What cannot be settled, because the log was tampered with perhaps, can still be read. */
	if (r == 0 && access(state, F_OK) == 0)
		(void)runs_settle(state, note_alive, log, &unsettled);
	if (r == 0)
		r = refresh(log, ret_error);
	if (r >= 0)
		r = go_to(log, ret_error);
	if (r < 0) {
		eventlog_close(log);
		return r;
	}
	*ret_log = log;
	return 0;
}

int eventlog_fd(const struct eventlog *log)
{
	return log->epoll;
}

/* The events of the record: those that are known are left out. */
static void take_record(struct eventlog *log, json_t *record)
{
	uint64_t number = (uint64_t)json_integer_value(json_object_get(record, "seq"));

	json_decref(log->events);
	log->events = events_of_record(record);
	log->next = number == log->after.record ? MIN(log->after.part, json_array_size(log->events))
						: 0;
	if (log->follow)
		watched_runs_note(&log->runs, record);
}

/* 1: a record was taken; 0: there is none now. */
static int read_record(struct eventlog *log, struct error **ret_error)
{
	const char *line = NULL;
	size_t length = 0;
	int state = log->lines.fd < 0 ? LINE_NONE : lines_next(&log->lines, &line, &length);
	json_t *record;

	if (state == LINE_NONE)
		return 0;
	if (state < 0)
		return fail_errno(ret_error, E_ENGINE, -state, "cannot read %s/" LOG_NAME,
				  log->state);
	record = state == LINE_WHOLE ? json_loadb(line, length, JSON_ALLOW_NUL, NULL) : NULL;
	if (!json_is_object(record)) {
		json_decref(record);
		fail(ret_error, E_INPUT,
		     "%s/" LOG_NAME ": what stands before byte %" PRIu64 " is not a record",
		     log->state, log->lines.offset);
		return error_hint(ret_error, "run `ward audit verify`");
	}
	take_record(log, record);
	json_decref(record);
	return 1;
}

/* What was told of before the look is looked at: what comes after it tells again. */
static void hear(struct eventlog *log)
{
	char data[4096];
	bool heard = false;

	while (log->changes >= 0 && read(log->changes, data, sizeof(data)) > 0)
		heard = true;
	if (heard)
		watch_head(log); /* it may be a new one */
}

/* 1: there is something to read, or to tell. */
static int look_further(struct eventlog *log, struct error **ret_error)
{
	int r = refresh(log, ret_error);

	if (r > 0)
		begin_again(log);
	return r == 0 ? log->lines.fd >= 0 && log->lines.offset < log->lines.end : r;
}

int eventlog_next(struct eventlog *log, json_t **ret_event, struct error **ret_error)
{
	for (;;) {
		int r;

		if (log->next < json_array_size(log->events)) {
			*ret_event = json_incref(json_array_get(log->events, log->next++));
			return 1;
		}
		r = read_record(log, ret_error);
		if (r == 0 && log->follow)
			hear(log);
		if (r == 0)
			r = look_further(log, ret_error);
		/* Only with all read: the end of most is there. */
		if (r == 0 && watched_runs_settle(&log->runs, log->state))
			r = look_further(log, ret_error);
		if (r <= 0)
			return r;
	}
}

void eventlog_close(struct eventlog *log)
{
	if (!log)
		return;
	watched_runs_done(&log->runs);
	close_fd(&log->lines.fd);
	close_fd(&log->head);
	close_fd(&log->epoll);
	close_fd(&log->changes);
	log_lines_done(&log->lines);
	json_decref(log->events);
	free(log->state);
	free(log);
}

static int find_place(const char *state, const struct sought *sought, struct event_place *ret_place,
		      struct error **ret_error)
{
	struct eventlog *log = NULL;
	uint64_t offset, record = 0;
	int r = eventlog_open(state, (struct event_place){0}, /* follow= */ false, &log, ret_error);

	if (r < 0)
		return r;
	if (log->lines.fd >= 0)
		r = find_line(log->lines.fd, log->lines.end, sought, &offset, &record);
	if (r < 0)
		r = fail_errno(ret_error, E_ENGINE, -r, "cannot read %s/" LOG_NAME, state);
	*ret_place = (struct event_place){record, UINT32_MAX};
	eventlog_close(log);
	return r;
}

int event_place_now(const char *state, struct event_place *ret_place, struct error **ret_error)
{
	return find_place(state, &(struct sought){.record = UINT64_MAX}, ret_place, ret_error);
}

int event_place_since(const char *state, const char *time, struct event_place *ret_place,
		      struct error **ret_error)
{
	return find_place(state, &(struct sought){.time = time}, ret_place, ret_error);
}
