/* SPDX-License-Identifier: Apache-2.0 */
/* Watching the processes that carry runs out. */
#include "eventlog_runs.h"
#include "../base/macro.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

/* Beyond these the end of one is noticed when somebody looks next. */
enum { WATCHED_MOST = 512, AGAIN_MS = 100, TRIES_MOST = 100 };

static struct watched_run *find(struct watched_runs *runs, const char *run)
{
	for (size_t i = 0; i < runs->count; i++)
		if (strcmp(runs->items[i].run, run) == 0)
			return &runs->items[i];
	return NULL;
}

static void drop(struct watched_runs *runs, struct watched_run *item)
{
	close_fd(&item->process); /* which takes it out of the epoll */
	free(item->run);
	*item = runs->items[--runs->count];
}

void watched_runs_add(struct watched_runs *runs, const char *run, pid_t supervisor)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct watched_run item = {.process = -1};

	if (runs->count >= WATCHED_MOST || supervisor <= 0 || find(runs, run))
		return;
	item.process = (int)syscall(SYS_pidfd_open, supervisor, 0);
	if (item.process < 0 && errno != ESRCH)
		return;
	item.run = strdup(run);
	runs->items = reallocarray(runs->items, runs->count + 1, sizeof(item));
	if (!item.run || !runs->items)
		abort();
	if (item.process >= 0)
		(void)epoll_ctl(runs->epoll, EPOLL_CTL_ADD, item.process, &event);
	runs->items[runs->count++] = item;
}

void watched_runs_note(struct watched_runs *runs, const json_t *record)
{
	const char *run = json_string_value(json_object_get(record, "run"));
	const char *kind = json_string_value(json_object_get(record, "kind"));
	json_t *supervisor = json_object_get(record, "pid");
	struct watched_run *item;

	if (!run || !kind)
		return;
	if (strcmp(kind, "run.end") != 0 && strcmp(kind, "run.lost") != 0) {
		if (supervisor)
			watched_runs_add(runs, run, (pid_t)json_integer_value(supervisor));
		return;
	}
	item = find(runs, run);
	if (item)
		drop(runs, item);
}

/* A helper of it may be about to end. */
static void try_again(struct watched_runs *runs)
{
	const struct itimerspec soon = {.it_value = {.tv_nsec = AGAIN_MS * 1000 * 1000}};
	struct epoll_event event = {.events = EPOLLIN};

	if (runs->timer < 0) {
		runs->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		(void)epoll_ctl(runs->epoll, EPOLL_CTL_ADD, runs->timer, &event);
	}
	(void)timerfd_settime(runs->timer, 0, &soon, NULL);
}

/* One that has ended well is noted by its record, which is on its way to the reader. Whether it has
 * one is looked at by who settles it. */
bool watched_runs_settle(struct watched_runs *runs, const char *state)
{
	bool any = false;
	uint64_t ticks;

	if (runs->timer >= 0)
		(void)!read(runs->timer, &ticks, sizeof(ticks));
	for (size_t i = runs->count; i > 0; i--) {
		struct watched_run *item = &runs->items[i - 1];
		struct pollfd gone = {.fd = item->process, .events = POLLIN};

		if (item->process >= 0 && poll(&gone, 1, 0) <= 0)
			continue;
		any = true;
		if (run_settle(state, item->run, /* ret_error= */ NULL) == 1 &&
		    ++item->tries < TRIES_MOST) {
			close_fd(&item->process);
			try_again(runs);
			continue;
		}
		drop(runs, item);
	}
	return any;
}

void watched_runs_done(struct watched_runs *runs)
{
	while (runs->count > 0)
		drop(runs, &runs->items[runs->count - 1]);
	close_fd(&runs->timer);
	free(runs->items);
	runs->items = NULL;
}
