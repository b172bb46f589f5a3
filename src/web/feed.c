/* SPDX-License-Identifier: Apache-2.0 */
/* Where news comes from: the directory of questions, the audit log, the directory of sessions. What
 * lies in a directory is held against what was known to lie there: no notice of the kernel's that
 * is lost, or comes too often, can make that wrong. */
#include "../base/units.h"
#include "../escalate/queue.h"
#include "session_files.h"
#include "web_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

enum { ASKS_MOST = 30000, EVENTS_AT_ONCE = 1000, LOOK_MS = 250 };
/* So long after a question has gone its answer may still be on its way into the log. */
static const uint64_t answer_ns = UINT64_C(2000000000);
/* So often sessions that have come to their end are looked for: one that only listens sends nothing
 * that would show it. */
static const uint64_t sweep_ns = UINT64_C(10000000000);

static void tell_ask(struct web *web, struct known_ask *ask)
{
	ask->gone_ns = 0;
	hub_tell(&web->hub, "asks",
		 json_pack("{s:s, s:s}", "id", ask->id, "state", ask_state_names[ask->state]));
}

/* -- Questions --------------------------------------------------------------------------------- */

/* ID.answer: somebody has answered, and whoever waits has not taken it yet. */
static void note_other(void *data, const char *name)
{
	struct web *web = data;
	_cleanup_free_ char *id = strndup(name, ID_TEXT - 1);
	struct known_ask *ask;

	if (strlen(name) < ID_TEXT - 1 || strcmp(name + ID_TEXT - 1, ".answer") != 0)
		return;
	ask = known_find(&web->known, id);
	if (ask)
		ask->asked = true;
}

static void note_there(struct web *web, const char *id)
{
	struct known_ask *ask = known_find(&web->known, id);
	json_t *entry = NULL;

	if (ask && (ask->state != ASK_OPEN || ask->gone_ns) && !ask->asked) {
		/* It was put off, and stands again. */
		json_decref(ask->answered);
		ask->answered = NULL;
		ask->state = ASK_OPEN;
		tell_ask(web, ask);
	}
	if (ask) {
		ask->there = true;
		return;
	}
	if (queue_get(web->state, id, &entry, NULL) < 0)
		return; /* nobody waits for it any more */
	ask = known_add(&web->known, id, json_string_value(json_object_get(entry, "run")));
	json_decref(entry);
	tell_ask(web, ask);
}

static void settle_ask(struct web *web, struct known_ask *ask, uint64_t now)
{
	if (ask->asked && ask->state == ASK_OPEN)
		ask->state = ASK_ANSWERED;
	else if (ask->there || ask->state != ASK_OPEN)
		return;
	if (ask->state == ASK_ANSWERED)
		tell_ask(web, ask);
	else if (!ask->gone_ns)
		ask->gone_ns = now; /* answered or withdrawn? the log will tell */
}

/* Where several must say yes, a page that shows how many have is told of each. */
static void look_at_votes(struct web *web, struct known_ask *ask)
{
	char name[ID_TEXT + 8], path[ID_TEXT + 72];
	struct stat st;

	snprintf(name, sizeof(name), "%s.votes", ask->id);
	if (fstatat(web->asks, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", web->asks, name);
	(void)inotify_add_watch(web->changes, path,
				IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_DONT_FOLLOW);
	if (ask->voted.tv_sec &&
	    (ask->voted.tv_sec != st.st_mtim.tv_sec || ask->voted.tv_nsec != st.st_mtim.tv_nsec))
		tell_ask(web, ask);
	ask->voted = st.st_mtim;
}

static void look_at_asks(struct web *web)
{
	_cleanup_list_ struct list ids = {0};
	uint64_t now = monotonic_ns();

	for (size_t i = 0; i < web->known.count; i++)
		web->known.items[i].there = web->known.items[i].asked = false;
	if (id_list(web->asks, ASKS_MOST, note_other, web, &ids) < 0)
		return;
	for (size_t i = 0; i < ids.count; i++)
		note_there(web, ids.items[i]);
	for (size_t i = 0; i < web->known.count; i++) {
		settle_ask(web, &web->known.items[i], now);
		if (web->known.items[i].there && web->known.items[i].state == ASK_OPEN)
			look_at_votes(web, &web->known.items[i]);
	}
}

/* -- The log ----------------------------------------------------------------------------------- */

static const char *text_of(json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

static void note_answer(struct web *web, json_t *event)
{
	static const char *const members[] = {"by", "answer", "scope", "reason", "time"};
	struct known_ask *ask = known_of_run(&web->known, text_of(event, "run"));
	bool nobody = strcmp(text_of(event, "answer"), "nobody") == 0;
	json_t *answered;

	if (!ask || ask->there)
		return;
	if (nobody) {
		ask->state = ASK_WITHDRAWN;
		tell_ask(web, ask);
		return;
	}
	answered = json_object();
	for (size_t i = 0; i < ELEMENTS(members); i++)
		if (json_object_get(event, members[i]))
			json_object_set(answered, members[i], json_object_get(event, members[i]));
	known_answer(ask, answered);
	if (ask->gone_ns)
		tell_ask(web, ask);
}

static void tell_run(struct web *web, json_t *event, const char *state)
{
	hub_tell(&web->hub, "run",
		 json_pack("{s:s, s:s}", "run", text_of(event, "run"), "state", state));
}

static void note_event(struct web *web, json_t *event)
{
	const char *kind = text_of(event, "kind");

	if (strcmp(kind, "answered") == 0) {
		note_answer(web, event);
	} else if (strcmp(kind, "attempt.started") == 0 &&
		   json_integer_value(json_object_get(event, "attempt")) <= 1) {
		tell_run(web, event, "started");
	} else if (strcmp(kind, "near_limit") == 0) {
		hub_tell(&web->hub, "run",
			 json_pack("{s:s, s:s, s:s}", "run", text_of(event, "run"), "state", "near",
				   "limit", text_of(event, "limit")));
	} else if (strcmp(kind, "ended") == 0) {
		hub_run_ended(&web->hub, text_of(event, "run"),
			      json_object_get(event, "exit_code"));
		tell_run(web, event, "ended");
	}
}

static void look_at_log(struct web *web)
{
	json_t *event;

	for (int i = 0; web->log && i < EVENTS_AT_ONCE; i++) {
		int r = eventlog_next(web->log, &event, NULL);

		if (r < 0) {
			/* Damaged, which `ward audit verify` tells: pages still load what they
			 * show. */
			eventlog_close(web->log);
			web->log = NULL;
		}
		if (r <= 0)
			return;
		note_event(web, event);
		json_decref(event);
	}
}

/* -- Sessions ---------------------------------------------------------------------------------- */

static void look_at_sessions(struct web *web)
{
	_cleanup_list_ struct list ids = {0};

	if (id_list(web->sessions, WEB_FILES_MOST, NULL, NULL, &ids) < 0)
		return;
	for (size_t i = 0; i < web->session_ids.count; i++)
		if (!list_has(&ids, web->session_ids.items[i]))
			hub_end_session(&web->hub, web->session_ids.items[i]);
	list_done(&web->session_ids);
	web->session_ids = ids;
	ids = (struct list){0};
}

/* -- All of it --------------------------------------------------------------------------------- */

static int watch_directory(struct web *web, int directory)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", directory);
	return inotify_add_watch(web->changes, path,
				 IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE |
					 IN_EXCL_UNLINK);
}

/* A user's inotify instances are few and may all be taken: then it is looked four times a second.
 */
static int open_changes(struct web *web)
{
	const struct itimerspec often = {.it_interval.tv_nsec = LOOK_MS * 1000 * 1000,
					 .it_value.tv_nsec = LOOK_MS * 1000 * 1000};

	web->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (web->changes >= 0 &&
	    (watch_directory(web, web->asks) < 0 || watch_directory(web, web->sessions) < 0))
		close_fd(&web->changes);
	if (web->changes < 0) {
		web->changes = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		(void)timerfd_settime(web->changes, 0, &often, NULL);
	}
	return web->changes;
}

static int watch_fd(struct web *web, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return fd < 0 ? -1 : epoll_ctl(web->epoll, EPOLL_CTL_ADD, fd, &event);
}

int feed_open(struct web *web, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL;
	struct event_place now;
	int r = queue_watch(web->state, &web->watching, ret_error);

	if (r == 0)
		r = web_file_directory(web->state, "sessions", &web->sessions, ret_error);
	if (r == 0)
		r = event_place_now(web->state, &now, ret_error);
	if (r == 0)
		r = eventlog_open(web->state, now, /* follow= */ true, &web->log, ret_error);
	if (r < 0)
		return r;
	if (asprintf(&path, "%s/asks", web->state) < 0)
		abort();
	web->asks = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	web->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (web->asks < 0 || web->epoll < 0 || watch_fd(web, open_changes(web)) < 0 ||
	    watch_fd(web, eventlog_fd(web->log)) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "watching %s", web->state);
	feed_look(web);
	return 0;
}

void feed_look(struct web *web)
{
	char data[4096];

	while (read(web->changes, data, sizeof(data)) > 0)
		;
	look_at_sessions(web);
	look_at_asks(web);
	look_at_log(web);
}

void feed_tick(struct web *web)
{
	uint64_t now = monotonic_ns();

	if (now > web->swept_ns + sweep_ns) {
		(void)web_session_list(web->state, NULL, NULL, NULL);
		web->swept_ns = now;
	}
	for (size_t i = 0; i < web->known.count; i++) {
		struct known_ask *ask = &web->known.items[i];

		if (!ask->gone_ns || now < ask->gone_ns + answer_ns)
			continue;
		ask->state = ASK_WITHDRAWN;
		tell_ask(web, ask);
	}
}

void feed_close(struct web *web)
{
	eventlog_close(web->log);
	close_fd(&web->changes);
	close_fd(&web->epoll);
	close_fd(&web->asks);
	close_fd(&web->sessions);
	close_fd(&web->watching);
	list_done(&web->session_ids);
}
