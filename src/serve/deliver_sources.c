/* SPDX-License-Identifier: Apache-2.0 */
/* Where what is to be told comes from: questions from the queue, as long as they wait; the rest
 * from the audit log. Both are found again after a kill, and give the same ids then. */
#include "../base/io.h"
#include "../base/units.h"
#include "../escalate/callback.h"
#include "../escalate/message.h"
#include "../escalate/queue.h"
#include "../request/text_json.h"
#include "deliver_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>

enum { OLD_SECONDS = 24 * 3600, EVENTS_MOST = 10000, MARK_MOST = 256, ROUTED_MS = 2000 };

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Begins with the time of what it is about, so that they are in order; the rest tells what it is
 * and to whom it goes. */
static void make_id(const char *time, const char *const *parts, size_t count,
		    char ret_id[static ID_TEXT])
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	for (size_t i = 0; i < count; i++)
		crypto_hash_sha256_update(&state, (const unsigned char *)parts[i],
					  strlen(parts[i]) + 1);
	crypto_hash_sha256_final(&state, hash);
	memset(ret_id, '0', 10);
	if (id_is_one(time))
		memcpy(ret_id, time, 10);
	for (int i = 0; i < 16; i++)
		ret_id[10 + i] = digits[hash[i] & 31];
	ret_id[ID_TEXT - 1] = '\0';
}

static int put_job(const struct box *box, const struct notify_channel *channel,
		   const struct matter_told *matter, const char *hash, const char *workspace)
{
	_cleanup_free_ char *body = message_make(channel, matter);
	char now[TIME_TEXT];
	json_t *job = json_object();

	time_text(now);
	json_put_text(job, "id", matter->delivery);
	json_put_text(job, "channel", channel->name);
	json_put_text(job, "event", notice_name(matter->notice));
	json_put_text(job, "made", now);
	json_put(job, "attempts", json_integer(0));
	json_put(job, "next", json_integer(0));
	json_put_text(job, "ask", text_of(matter->entry, "id"));
	json_put_text(job, "hash", hash);
	json_put_text(job, "workspace", workspace);
	json_put_text(job, "run", text_of(matter->entry ? matter->entry : matter->event, "run"));
	json_put_text(job, "body", body);
	return box_put(box, job);
}

/* Of a question, to one channel. */
static int tell_ask(const struct box *box, const struct policy *policy,
		    const struct notify_channel *channel, json_t *entry, const char *mark)
{
	const char *parts[] = {"ask", text_of(entry, "id"), mark, channel->name};
	struct matter_told matter = {.notice = NOTICE_ASKED, .entry = entry};
	_cleanup_free_ char *secret = NULL, *url = NULL;
	char id[ID_TEXT], nonce[SIGN_TEXT];

	make_id(parts[1], parts, ELEMENTS(parts), id);
	matter.delivery = id;
	/* Without its secret it cannot be sent either; that is said when it is tried. */
	if (channel->kind == CHANNEL_WEBHOOK && channel_can_answer(&policy->notify, channel) &&
	    channel_secret(channel, policy->home, &secret, NULL) == 0) {
		const char *base = policy->notify.callback;
		bool slash = base[strlen(base) - 1] == '/';

		if (asprintf(&url, "%s%shook/%s", base, slash ? "" : "/", channel->name) < 0)
			abort();
		callback_nonce(secret, channel->name, entry, nonce);
		sodium_memzero(secret, strlen(secret));
		matter.callback = url;
		matter.nonce = nonce;
	}
	return put_job(box, channel, &matter, text_of(entry, "hash"),
		       text_of(json_object_get(entry, "ask"), "workspace"));
}

struct looking {
	struct sources *sources;
	const struct policy *policy;
};

/* A question of a ticket that is asked anew keeps its id, and nobody was told of it yet: what was
 * answered to the old one does not count. */
static bool is_marked(const struct box *box, const char *id, const char *mark)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	return read_file(box->asks, id, MARK_MOST, &text, &length) == 0 && strcmp(text, mark) == 0;
}

/* Which question, and whose turn it was: one that comes to the next is told again, to them. */
static char *mark_of(json_t *entry)
{
	json_t *progress = json_object_get(entry, "progress");
	json_int_t step = json_integer_value(json_object_get(progress, "step"));
	json_int_t groups = json_integer_value(json_object_get(progress, "groups"));
	char *mark;

	if ((progress ? asprintf(&mark, "%s %lld.%lld", text_of(entry, "hash"), (long long)step,
				 (long long)groups)
		      : asprintf(&mark, "%s", text_of(entry, "hash"))) < 0)
		abort();
	return mark;
}

/* Its route has come to an end: whoever waits for it sees that in a moment. */
static bool is_settled(json_t *entry)
{
	const char *state = text_of(json_object_get(entry, "progress"), "state");

	return state && strcmp(state, "open") != 0;
}

/* Marked when all of its messages are on disk: none is sent before. */
static void take_ask(void *data, json_t *entry)
{
	struct looking *looking = data;
	const struct notify *notify = &looking->policy->notify;
	const struct box *box = looking->sources->box;
	json_t *ask = json_object_get(entry, "ask");
	const char *id = text_of(entry, "id");
	_cleanup_free_ char *mark = text_of(entry, "hash") ? mark_of(entry) : NULL;
	int r = 0;

	looking->sources->routed |= json_object_get(entry, "progress") != NULL;
	if (!id_is_one(id) || !mark || is_marked(box, id, mark) || is_settled(entry))
		return;
	for (size_t i = 0; i < notify->count && r == 0; i++)
		if (channel_wants(&notify->channels[i], NOTICE_ASKED, text_of(ask, "agent"),
				  text_of(json_object_get(ask, "risk"), "level")))
			r = tell_ask(box, looking->policy, &notify->channels[i], entry, mark);
	if (r == 0)
		r = write_file(box->asks, id, mark);
	looking->sources->unmarked |= r < 0;
}

/* Marks of questions that are no more. */
static void sweep_marks(const struct sources *sources)
{
	_cleanup_list_ struct list ids = {0};
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int asks = -1;

	if (asprintf(&path, "%s/asks", sources->state) < 0)
		abort();
	asks = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	(void)id_list(sources->box->asks, 10 * DEAD_MOST, NULL, NULL, &ids);
	for (size_t i = 0; i < ids.count; i++)
		if (asks < 0 || (faccessat(asks, ids.items[i], F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
				 errno == ENOENT))
			(void)unlinkat(sources->box->asks, ids.items[i], 0);
}

static unsigned notice_of(json_t *event)
{
	const char *kind = text_of(event, "kind"), *answer = text_of(event, "answer");

	if (!kind)
		return 0;
	if (strcmp(kind, "answered") == 0 && answer && strcmp(answer, "nobody") == 0)
		return NOTICE_UNANSWERED;
	if (strcmp(kind, "grant.expired") == 0)
		return NOTICE_EXPIRED;
	if (strcmp(kind, "near_limit") == 0)
		return NOTICE_NEAR;
	return strcmp(kind, "incident") == 0 || strcmp(kind, "incident.opened") == 0
		       ? NOTICE_INCIDENT
		       : 0;
}

static bool is_old(json_t *event)
{
	struct timespec then;
	char text[TIME_TEXT];
	const char *time = text_of(event, "time");

	clock_gettime(CLOCK_REALTIME, &then);
	then.tv_sec -= OLD_SECONDS;
	time_text_of(&then, text);
	return time && strcmp(time, text) < 0;
}

static int take_event(struct sources *sources, const struct policy *policy, json_t *event)
{
	const struct notify *notify = &policy->notify;
	unsigned notice = notice_of(event);
	const char *run = text_of(event, "run"), *time = text_of(event, "time");
	int r = 0;

	if (!notice || is_old(event))
		return 0;
	for (size_t i = 0; i < notify->count && r == 0; i++) {
		const struct notify_channel *channel = &notify->channels[i];
		const char *parts[] = {"event", text_of(event, "id"), time ? time : "",
				       run ? run : "", channel->name};
		struct matter_told matter = {.notice = notice, .event = event};
		char id[ID_TEXT];

		if (!channel_wants(channel, notice, text_of(event, "agent"),
				   text_of(event, "risk")))
			continue;
		make_id(run, parts, ELEMENTS(parts), id);
		matter.delivery = id;
		r = put_job(sources->box, channel, &matter, NULL, text_of(event, "workspace"));
	}
	return r;
}

static ino_t inode_of_log(const char *state)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/audit.log", state) < 0)
		abort();
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static void save_place(const struct sources *sources, const char *place)
{
	char text[64];

	snprintf(text, sizeof(text), "%s %ju", place, (uintmax_t)sources->inode);
	(void)write_file(sources->box->notify, "cursor", text);
}

static int take_events(struct sources *sources, const struct policy *policy)
{
	char place[32] = "";
	json_t *event = NULL;
	int r = 0;

	sources->more = !sources->broken;
	for (int i = 0; i < EVENTS_MOST && r == 0 && sources->more; i++) {
		const char *id;
		int got = eventlog_next(sources->log, &event, NULL);

		sources->broken |= got < 0;
		sources->more = got > 0;
		if (got <= 0)
			break;
		id = text_of(event, "id");

		if (!sources->inode || strcmp(id ? id : "", "0.1") == 0)
			sources->inode = inode_of_log(sources->state);
		r = take_event(sources, policy, event);
		if (r == 0 && id)
			snprintf(place, sizeof(place), "%s", id);
		json_decref(event);
	}
	if (*place)
		save_place(sources, place);
	return r;
}

/* Where the last reader was; in a log that was begun since, at its beginning. Whoever is the first
 * notes where that was, so that nothing is lost between him and the next. */
static int find_place(struct sources *sources, const char *after, struct event_place *ret_place,
		      struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	char *space, record[32];
	int r = 0;

	if (read_file(sources->box->notify, "cursor", 256, &text, &length) == 0 &&
	    (space = strchr(text, ' '))) {
		*space = '\0';
		if (strtoull(space + 1, NULL, 10) != sources->inode) {
			*ret_place = (struct event_place){0};
			return 0;
		}
		if (event_place_read(text, ret_place))
			return 0;
	}
	if (!after || !event_place_read(after, ret_place))
		r = event_place_now(sources->state, ret_place, ret_error);
	snprintf(record, sizeof(record), "%" PRIu64, ret_place->record);
	if (r == 0 && sources->inode)
		save_place(sources, record);
	return r;
}

int sources_open(const char *state, const char *after, const struct box *box,
		 struct sources *ret_sources, struct error **ret_error)
{
	struct sources sources = {.state = state, .box = box, .changes = -1, .unmarked = true};
	_cleanup_free_ char *asks = NULL, *out = NULL;
	struct event_place place;
	int r;

	sources.inode = inode_of_log(state);
	r = find_place(&sources, after, &place, ret_error);
	if (r == 0)
		r = eventlog_open(state, place, /* follow= */ true, &sources.log, ret_error);
	if (r < 0)
		return r;
	if (asprintf(&asks, "%s/asks", state) < 0)
		abort();
	(void)make_directories(asks, 0700);
	sources.changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (asprintf(&out, "%s/notify/out", state) < 0)
		abort();
	/* What a person wants tried again comes there by itself. */
	if (sources.changes >= 0 &&
	    (inotify_add_watch(sources.changes, asks, IN_MOVED_TO | IN_ONLYDIR) < 0 ||
	     inotify_add_watch(sources.changes, out, IN_MOVED_TO | IN_DELETE | IN_ONLYDIR) < 0))
		close_fd(&sources.changes);
	*ret_sources = sources;
	return 0;
}

int sources_look(struct sources *sources, const struct policy *policy)
{
	struct looking looking = {sources, policy};
	char data[4096];

	sources->changed = sources->changes < 0 || sources->unmarked ||
			   (sources->routed &&
			    monotonic_ns() > sources->looked_ns + (uint64_t)ROUTED_MS * 1000000);
	while (sources->changes >= 0 && read(sources->changes, data, sizeof(data)) > 0)
		sources->changed = true;
	if (sources->changed) {
		sources->unmarked = sources->routed = false;
		sources->looked_ns = monotonic_ns();
		(void)queue_list(sources->state, take_ask, &looking, NULL);
		sweep_marks(sources);
	}
	return take_events(sources, policy);
}

void sources_close(struct sources *sources)
{
	eventlog_close(sources->log);
	close_fd(&sources->changes);
}
