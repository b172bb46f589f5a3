/* SPDX-License-Identifier: Apache-2.0 */
/* The side of those who ask: a question is put, and waited for. */
#include "../base/id.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../decide/tiers.h"
#include "../request/request.h"
#include "../sys/told.h"
#include "ask_json.h"
#include "queue_parts.h"
#include "route.h"
#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>

#define WATCHED ".watched"

enum {
	GLANCE_MS = 100,
	SELDOM_MS = 1000,
	WATCHED_SECONDS = 30 * 60, /* that one who looks may take */
	CLOSING_MOST = 20,	   /* things that are no answers lie in the way */
};

/* The next question is the one that outlives us. */
static bool queue_lasts(const struct queue *queue)
{
	return queue->ticket && queue->id && !queue->asked;
}

/* When nobody waits any more; "": as long as somebody watches. */
static void end_text(const struct queue *queue, char until[static TIME_TEXT])
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += (time_t)(queue->patience_ns / 1000000000);
	time_text_of(&end, until);
	if (!queue->patience_ns)
		until[0] = '\0';
}

/* A question does not show all that its run was given: by a yes to one that looks the same, a run
 * with the whole network or a socket would start like one without. */
static json_t *likeness(const struct request *request)
{
	json_t *object = request_to_json(request);
	_cleanup_free_ char *hash = NULL;

	json_object_del(object, "call_id");
	json_object_del(object, "turn");
	json_object_del(object, "wait");
	hash = asks_hash(object, "");
	json_decref(object);
	return json_string(hash);
}

static json_t *make_entry(const struct queue *queue, json_t *ask)
{
	char now[TIME_TEXT], until[TIME_TEXT], nonce[ID_TEXT];
	_cleanup_free_ char *hash = NULL;
	json_t *entry;

	time_text(now);
	end_text(queue, until);
	id_make(nonce);
	hash = asks_hash(ask, nonce);
	entry = json_pack("{s:O, s:s, s:s, s:s, s:s, s:s, s:O}", "id", json_object_get(ask, "id"),
			  "run", queue->run ? queue->run : "", "since", now, "until", until,
			  "nonce", nonce, "hash", hash, "ask", ask);
	if (asks_route(entry)) {
		struct moment begun;

		moment_now(&begun);
		json_object_set_new(entry, "begun", moment_to_json(&begun));
	}
	if (queue->request)
		json_object_set_new(entry, "likeness", likeness(queue->request));
	if (queue->ticket)
		json_object_set_new(entry, "ticket", json_string(queue->ticket));
	if (queue_lasts(queue))
		json_object_set_new(entry, "lasts", json_true());
	return entry;
}

/* True if it holds. Of a question that has a route a yes is no answer: the votes are. */
static bool read_answer(int directory, json_t *entry, const struct ask *ask, json_t *object,
			struct answer *ret_answer)
{
	if (!asks_is_bound(object, entry))
		return false;
	if (asks_route(entry) && json_is_true(json_object_get(object, "votes")))
		return votes_take(directory, entry, ask->vetting, /* closed= */ true, ret_answer);
	if (answer_from_json(json_object_get(object, "answer"), json_object_get(entry, "ask"),
			     ret_answer, NULL) < 0)
		return false;
	if (!asks_route(entry) || ret_answer->kind != ANSWER_APPROVE)
		return true;
	answer_done(ret_answer);
	return false;
}

/* True if there is one, and it is to this very question. What is not is removed, whatever it is: it
 * would stand in the way of one that is, and the question stands. */
static bool take_answer(int directory, json_t *entry, const struct ask *ask,
			struct answer *ret_answer)
{
	const char *id = json_string_value(json_object_get(entry, "id"));
	char name[ASKS_NAME];
	json_t *object;
	bool holds;

	if (!asks_has_answer(directory, entry))
		return asks_route(entry) && votes_take(directory, entry, ask->vetting,
						       /* closed= */ false, ret_answer);
	asks_name(id, ".answer", name);
	object = asks_read(directory, name);
	if (json_is_true(json_object_get(entry, "lasts")) && asks_defers(object)) {
		json_decref(object);
		(void)unlinkat(directory, name, 0); /* that is what it does */
		return false;
	}
	holds = read_answer(directory, entry, ask, object, ret_answer);
	if (!holds && unlinkat(directory, name, 0) < 0)
		(void)unlinkat(directory, name, AT_REMOVEDIR);
	json_decref(object);
	return holds;
}

/* True if a yes to either is a yes to the other. What else a question says may change with the
 * day. */
static bool means_the_same(json_t *one, json_t *other)
{
	static const char *const keys[] = {
		"id",	   "kind",	  "command",	 "cwd",	       "agent",
		"session", "grants",	  "operation",	 "code",       "domains",
		"covers",  "always_rule", "always_file", "never_rule", "route",
	};

	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		json_t *a = json_object_get(one, keys[i]), *b = json_object_get(other, keys[i]);

		if (a != b && !json_equal(a, b))
			return false;
	}
	return true;
}

/* It says from now on whose it is, and how long it waits. */
static void take_over(const struct queue *queue, json_t *entry)
{
	char until[TIME_TEXT];

	if (!json_is_object(entry) || json_is_true(json_object_get(entry, "lasts")))
		return;
	end_text(queue, until);
	json_object_set_new(entry, "until", json_string(until));
	json_object_set_new(entry, "ticket", json_string(queue->ticket));
	json_object_set_new(entry, "lasts", json_true());
}

/* A question that stands since before we came keeps its number and what was answered to it, if it
 * is the same; else what is left of it goes. */
static json_t *find_standing(int directory, const struct queue *queue, const char *id,
			     json_t *question)
{
	json_t *entry = asks_read(directory, id), *ask = json_object_get(entry, "ask");
	const char *nonce = json_string_value(json_object_get(entry, "nonce"));
	_cleanup_free_ char *hash = ask && nonce ? asks_hash(ask, nonce) : NULL;

	if (hash && means_the_same(ask, question) &&
	    strcmp(hash, json_string_value(json_object_get(entry, "hash"))
				 ? json_string_value(json_object_get(entry, "hash"))
				 : "") == 0) {
		take_over(queue, entry);
		return entry;
	}
	json_decref(entry);
	asks_remove(directory, id);
	return NULL;
}

/* Readable as long as one of the signals that end a question is pending; they stay so. */
static int open_stops(void)
{
	static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
	sigset_t stops;

	sigemptyset(&stops);
	for (size_t i = 0; i < ELEMENTS(numbers); i++)
		sigaddset(&stops, numbers[i]);
	return signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A question may wait for days, with many others: it looks up seldom where nothing else can happen
 * than what wakes it. */
static void wait_a_moment(int wake, int stops, bool seldom, const struct meanwhile *meanwhile)
{
	struct pollfd fds[] = {
		{wake, POLLIN, 0}, {meanwhile ? meanwhile->fd : -1, POLLIN, 0}, {stops, POLLIN, 0}};
	char data[64];

	if (poll(fds, ELEMENTS(fds), seldom && stops >= 0 ? SELDOM_MS : GLANCE_MS) <= 0)
		return;
	if (fds[0].revents)
		(void)!read(wake, data, sizeof(data));
	if (fds[1].revents)
		meanwhile->serve(meanwhile->data);
}

/* Somebody holds the lock that says so. */
static bool is_watched(const char *state)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&path, "%s/asks/" WATCHED, state) < 0)
		abort();
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	/* To ask is not to take it: others ask at the same time. */
	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

int queue_watch(const char *state, int *ret_fd, struct error **ret_error)
{
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	_cleanup_close_ int directory = -1;
	int r = asks_open(state, /* make= */ true, &directory), fd = -1;

	if (r == 0 &&
	    (fd = openat(directory, WATCHED,
			 O_RDONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0 && fcntl(fd, F_OFD_SETLK, &lock) < 0)
		r = -errno;
	if (r < 0) {
		close_fd(&fd);
		return fail_errno(ret_error, E_ENGINE, -r, "watching %s/asks", state);
	}
	*ret_fd = fd;
	return 0;
}

/* By a clock that nobody sets, and that goes on while the machine sleeps. */
static uint64_t ns_since(const struct moment *since)
{
	struct moment now;

	moment_now(&now);
	return moment_ns_between(since, &now);
}

static bool is_over(const struct queue *queue, const struct moment *since)
{
	uint64_t patience =
		queue->patience_ns ? queue->patience_ns : WATCHED_SECONDS * 1000000000ull;

	return ns_since(since) >= patience || (!queue->patience_ns && !is_watched(queue->state));
}

static int put(void *data, const struct ask *ask, struct answer *ret_answer,
	       struct error **ret_error)
{
	struct queue *queue = data;
	const struct meanwhile *meanwhile = ask->meanwhile;
	struct moment since;
	struct objection objection = {monotonic_ns(), 0, ask->objection_ns, queue->patience_ns};
	_cleanup_free_ char *seen_by = NULL;
	_cleanup_close_ int directory = -1, lock = -1, wake = -1, stops = open_stops();
	bool lasts = queue_lasts(queue);
	json_t *question, *entry = NULL;
	char id[ID_TEXT], name[ASKS_NAME];
	int r;

	*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
	moment_now(&since);
	id_make(id);
	if (lasts)
		snprintf(id, sizeof(id), "%s", queue->id);
	question = ask_to_json(ask, id);
	r = asks_open(queue->state, /* make= */ true, &directory);
	if (r == 0 && lasts)
		entry = find_standing(directory, queue, id, question);
	if (r == 0 && !entry)
		entry = make_entry(queue, question);
	if (r == 0 && asks_route(entry))
		r = votes_open(directory, id);
	/* One that stands is put there again, because it says now whose it is. */
	if (r == 0)
		r = asks_put(directory, id, entry, &lock, &wake);
	queue->asked |= lasts;
	while (r == 0 && !take_answer(directory, entry, ask, ret_answer)) {
		if (lasts && faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
			/* Somebody took it for one whose asker is gone. */
			close_fd(&lock);
			close_fd(&wake);
			r = asks_put(directory, id, entry, &lock, &wake);
			if (r == 0 && asks_route(entry))
				r = votes_open(directory, id);
			continue;
		}
		if (meanwhile && meanwhile->obsolete(meanwhile->data))
			break;
		if (told_to_stop())
			break;
		if (ask->objection_ns
			    ? asks_take_silence(directory, entry, &objection, &seen_by, ret_answer)
			    : is_over(queue, &since))
			break;
		if (queue->terminal && asks_route(entry) &&
		    routed_prompt(queue, ask, directory, entry, ret_answer))
			break;
		wait_a_moment(wake, stops, lasts && !meanwhile && !ask->objection_ns, meanwhile);
	}
	if (r == 0 && ret_answer->kind == ANSWER_NOBODY && (!lasts || is_over(queue, &since))) {
		/* Who answers at the last moment was first, and that counts, or hears that it is
		 * too late. */
		for (int i = 0; i < CLOSING_MOST && !asks_close(directory, entry); i++)
			if (take_answer(directory, entry, ask, ret_answer))
				break;
		if (lasts)
			(void)unlinkat(directory, id, 0);
	}
	asks_name(id, ".answer", name);
	if (r == 0 && ret_answer->kind != ANSWER_NOBODY)
		asks_mark_taken(directory, name);
	if (ret_answer->kind == ANSWER_NOBODY)
		ret_answer->waited_ns = queue->age_ns + ns_since(&since);
	if (r == 0 && !ret_answer->question)
		ret_answer->question = strdup(id);
	if (ret_answer->kind == ANSWER_DEFER && ask->kind != ASK_IN_PLACE) {
		queue->held = STEAL_FD(lock);
		queue->held_id = strdup(id);
	} else if (directory >= 0 && !lasts) {
		asks_remove(directory, id);
	}
	json_decref(question);
	json_decref(entry);
	if (r == 0)
		return 0;
	fail_errno(ret_error, E_ENGINE, -r, "putting a question into %s/asks", queue->state);
	return error_hint(ret_error, "it must be writable, and its disk not full");
}

static bool is_there(void *data)
{
	const struct queue *queue = data;

	return queue->patience_ns > 0 || is_watched(queue->state);
}

static void tell(void *data, const char *text)
{
	(void)data;
	(void)text; /* nobody looks: it is among the warnings of the result as well */
}

void queue_release(struct queue *queue, bool stands)
{
	if (queue->held_id && !stands)
		queue_drop(queue->state, queue->held_id);
	if (queue->held_id)
		close_fd(&queue->held);
	free(queue->told);
	queue->told = NULL;
	free(queue->held_id);
	queue->held_id = NULL;
}

void queue_hand_over(const char *state, const char *id, const char *ticket, uint64_t patience_ns)
{
	const struct queue queue = {.state = state, .ticket = ticket, .patience_ns = patience_ns};
	_cleanup_close_ int directory = -1, lock = -1, wake = -1;
	char name[ASKS_NAME];
	json_t *entry;

	if (!id_is_one(id) || asks_open(state, /* make= */ false, &directory) < 0)
		return;
	entry = asks_read(directory, id);
	if (entry) {
		take_over(&queue, entry);
		/* Until now nobody could say anything else to it. */
		if (asks_put(directory, id, entry, &lock, &wake) == 0) {
			asks_name(id, ".answer", name);
			(void)unlinkat(directory, name, 0);
		}
	}
	json_decref(entry);
}

void queue_drop(const char *state, const char *id)
{
	_cleanup_close_ int directory = -1;

	if (id_is_one(id) && asks_open(state, /* make= */ false, &directory) == 0)
		asks_remove(directory, id);
}

struct approver queue_approver(struct queue *queue)
{
	return (struct approver){is_there, put, tell, queue, .queued = true};
}
