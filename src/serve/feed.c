/* SPDX-License-Identifier: Apache-2.0 */
/* One program, one run. The log is the queue: what the program does not take waits there, so there
 * is nothing to bound but the time. */
#include "feed.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../record/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

struct feeding {
	const struct feed *feed;
	struct eventlog *log;
	pid_t program; /* 0: not started yet */
	int exited;    /* its pidfd */
	int input;     /* its standard input; -1: closed */
	struct buffer line;
	size_t written;
	char id[64], taken[64]; /* of the event that is written, and of the last that was taken */
	json_t *last;		/* event that was read, for who it is about */
	bool ended;		/* the run: no more is to come */
	bool gone;		/* its process */
	uint64_t deadline;
	char why[128]; /* it failed; empty: it has not */
};

static void fail_feeding(struct feeding *feeding, const char *why)
{
	if (!feeding->why[0])
		snprintf(feeding->why, sizeof(feeding->why), "%s", why);
}

/* With a session of its own, so that all of it can be ended. */
static void start(struct feeding *feeding)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t broken;
	char why[128];
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		fail_feeding(feeding, "no pipe can be had");
		return;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE); /* is ignored here alone */
	posix_spawnattr_setsigdefault(&attributes, &broken);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF);
	r = posix_spawn(&feeding->program, feeding->feed->program[0], &actions, &attributes,
			feeding->feed->program, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	close(ends[0]);
	feeding->input = ends[1];
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	if (r != 0) {
		feeding->program = 0;
		snprintf(why, sizeof(why), "it cannot be started: %s", strerror(r));
		fail_feeding(feeding, why);
		return;
	}
	feeding->exited = (int)syscall(SYS_pidfd_open, feeding->program, 0);
}

static bool is_wanted(const struct feed *feed, const json_t *event)
{
	const char *kind = json_string_value(json_object_get(event, "kind"));
	const char *at = kind ? feed->kinds : "";
	size_t length = kind ? strlen(kind) : 0;

	if (!*feed->kinds)
		return true;
	for (; *at; at += *at == ',') {
		size_t word = strcspn(at, ",");

		if (word == length && strncmp(at, kind, length) == 0)
			return true;
		at += word;
	}
	return false;
}

/* The next event of this run, as a line to be written. False where there is none now. */
static bool take_next(struct feeding *feeding)
{
	json_t *event;

	while (!feeding->ended && eventlog_next(feeding->log, &event, NULL) > 0) {
		const char *run = json_string_value(json_object_get(event, "run"));
		bool ours = run && strcmp(run, feeding->feed->run) == 0;
		bool wanted = ours && is_wanted(feeding->feed, event);

		if (ours) {
			json_decref(feeding->last);
			feeding->last = json_incref(event);
			feeding->ended = strcmp(json_string_value(json_object_get(event, "kind")),
						"ended") == 0;
		}
		if (wanted) {
			char *text = json_dumps(event, JSON_COMPACT);

			feeding->line.length = 0;
			buffer_printf(&feeding->line, "%s\n", text ? text : "{}");
			feeding->written = 0;
			snprintf(feeding->id, sizeof(feeding->id), "%s",
				 json_string_value(json_object_get(event, "id")));
			free(text);
		}
		json_decref(event);
		if (wanted)
			return true;
	}
	return false;
}

/* False where the pipe is full. */
static bool write_some(struct feeding *feeding)
{
	while (feeding->written < feeding->line.length && !feeding->why[0]) {
		ssize_t wrote = write(feeding->input, feeding->line.data + feeding->written,
				      feeding->line.length - feeding->written);

		if (wrote < 0 && errno == EAGAIN)
			return false;
		if (wrote < 0 && errno != EINTR)
			fail_feeding(feeding, "it ended before it had taken everything");
		feeding->written += wrote > 0 ? (size_t)wrote : 0;
	}
	if (!feeding->why[0])
		memcpy(feeding->taken, feeding->id, sizeof(feeding->taken));
	return true;
}

/* Until there is something to do, or the time is up. */
static void wait_for_more(struct feeding *feeding, bool full)
{
	const struct feed *feed = feeding->feed;
	struct pollfd fds[] = {
		{full ? -1 : eventlog_fd(feeding->log), POLLIN, 0},
		{full ? feeding->input : -1, POLLOUT, 0},
		{feeding->exited, POLLIN, 0},
		{feeding->gone ? -1 : feed->process, POLLIN, 0},
	};
	uint64_t now = monotonic_ns();
	int ms = -1;

	if (feeding->deadline)
		ms = feeding->deadline > now ? (int)((feeding->deadline - now) / 1000000 + 1) : 0;
	if (poll(fds, ELEMENTS(fds), ms) == 0 && feeding->deadline)
		fail_feeding(feeding, "it did not take everything in time");
	if (fds[2].revents)
		fail_feeding(feeding, "it ended before it had taken everything");
	if (fds[3].revents)
		feeding->gone = true;
	if (feeding->gone && !feeding->deadline)
		feeding->deadline = monotonic_ns() + feed->timeout_ns;
}

static void deliver(struct feeding *feeding)
{
	while (!feeding->why[0]) {
		bool full = false;

		while (!feeding->why[0] && !full && take_next(feeding)) {
			if (!feeding->program)
				start(feeding);
			full = !write_some(feeding);
			while (full && !feeding->why[0]) {
				wait_for_more(feeding, /* full= */ true);
				full = !write_some(feeding);
			}
		}
		if (feeding->why[0] || feeding->ended)
			return;
		/* A run that leaves no record is no run. */
		if (feeding->gone && !feeding->last)
			return;
		wait_for_more(feeding, /* full= */ false);
	}
}

static void end_program(struct feeding *feeding)
{
	struct pollfd exited = {.fd = feeding->exited, .events = POLLIN};
	int ms = (int)(feeding->feed->timeout_ns / 1000000);

	close_fd(&feeding->input);
	if (!feeding->program)
		return;
	if (!feeding->why[0] && poll(&exited, 1, ms) == 0)
		fail_feeding(feeding, "it did not end in time");
	if (feeding->why[0])
		(void)kill(-feeding->program, SIGKILL);
	while (waitpid(feeding->program, NULL, 0) < 0 && errno == EINTR)
		;
}

static int note_failure(struct feeding *feeding, struct error **ret_error)
{
	static const char *const who[] = {"agent", "session", "tool", "call_id"};
	struct audit *audit = NULL;
	json_t *body = json_pack("{s:s, s:s, s:s?}", "program", feeding->feed->program[0], "why",
				 feeding->why, "after", feeding->taken[0] ? feeding->taken : NULL);
	int r = audit_open(feeding->feed->state, &audit, ret_error);

	for (size_t i = 0; body && i < ELEMENTS(who); i++)
		if (json_is_string(json_object_get(feeding->last, who[i])))
			json_object_set(body, who[i], json_object_get(feeding->last, who[i]));
	if (r == 0)
		r = audit_append(audit, "events.failed", feeding->feed->run, body, ret_error);
	audit_close(audit);
	json_decref(body);
	return r;
}

int feed_program(const struct feed *feed, struct error **ret_error)
{
	struct feeding feeding = {.feed = feed, .exited = -1, .input = -1};
	_cleanup_error_ struct error *unread = NULL;
	int r = eventlog_open(feed->state, feed->after, /* follow= */ true, &feeding.log, &unread);

	(void)signal(SIGPIPE, SIG_IGN);
	(void)fcntl(feed->process, F_SETFD, FD_CLOEXEC);
	if (r == 0)
		deliver(&feeding);
	else
		fail_feeding(&feeding, unread->message);
	r = 0;
	end_program(&feeding);
	if (feeding.why[0])
		r = note_failure(&feeding, ret_error);
	close_fd(&feeding.exited);
	json_decref(feeding.last);
	buffer_done(&feeding.line);
	eventlog_close(feeding.log);
	return r;
}
