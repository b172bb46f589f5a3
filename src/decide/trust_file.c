/* SPDX-License-Identifier: Apache-2.0 */
/* The history of a score: STATE/agents/NAME/trust.jsonl, one JSON object a line, only ever appended
 * to. When it has grown long it becomes trust.1.jsonl, which is still read. */
#include "../base/units.h"
#include "policy.h"
#include "trust_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILE_FULL = 4 * 1024 * 1024, TEXT_MOST = 500 };

#define FILE_NAME "trust.jsonl"
#define FILE_OLD  "trust.1.jsonl"

/* --- reading --- */

static char *copy_or_null(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? strdup(text) : NULL;
}

static bool take_line(struct trust_history *history, const char *line, size_t length)
{
	json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
	const json_t *score = json_object_get(object, "score");
	struct trust_change change = {
		.kind = copy_or_null(object, "kind"),
		.time = json_integer_value(json_object_get(object, "at")),
		.delta = json_number_value(json_object_get(object, "delta")),
		.score = json_number_value(score),
		.why = copy_or_null(object, "why"),
		.by = copy_or_null(object, "by"),
		.key = copy_or_null(object, "key"),
	};
	bool whole = json_is_number(score) && change.kind && change.time > 0;

	json_decref(object);
	if (history->count == history->room) {
		history->room = MAX(history->room * 2, (size_t)32);
		history->items =
			reallocarray(history->items, history->room, sizeof(*history->items));
		if (!history->items)
			abort();
	}
	if (!change.kind)
		change.kind = strdup("");
	history->items[history->count++] = change;
	return whole;
}

static int take_change(void *data, const char *line, size_t length)
{
	return take_line(data, line, length) ? 0 : -EBADMSG;
}

/* Half a line at the end of the old one has been made up for in the new one. */
static int read_both(int directory, struct trust_history *history, off_t *ret_whole)
{
	int r = lines_read(directory, FILE_OLD, take_change, history, ret_whole, &history->torn);

	return r < 0 ? r
		     : lines_read(directory, FILE_NAME, take_change, history, ret_whole,
				  &history->torn);
}

int trust_read(const char *state, const char *agent, struct trust_history *ret_history,
	       struct error **ret_error)
{
	_cleanup_close_ int directory = -1, lock = -1;
	_cleanup_trust_history_ struct trust_history history = {0};
	off_t whole;
	int r = trust_open_directory(state, agent, /* make= */ false, &directory, ret_error);

	*ret_history = (struct trust_history){0};
	if (r < 0 || directory < 0)
		return r;
	r = read_both(directory, &history, &whole);
	/* It may only be in the middle of being written. */
	if (r == 0 && history.torn && lines_lock(directory, &lock) == 0) {
		trust_history_done(&history);
		r = read_both(directory, &history, &whole);
	}
	if (r < 0)
		return lines_refuse(ret_error, -r, agent, "cannot read the history");
	*ret_history = history;
	history = (struct trust_history){0};
	return 0;
}

int trust_score(const char *state, const struct policy *policy, const char *agent,
		double *ret_score, struct error **ret_error)
{
	_cleanup_trust_history_ struct trust_history history = {0};
	int r = trust_read(state, agent, &history, ret_error);

	*ret_score = r < 0 ? 0 : trust_score_at(&policy->trust, &history, time(NULL));
	return r;
}

/* --- writing --- */

static json_t *shortened(const char *text)
{
	_cleanup_free_ char *copy = text ? strndup(text, TEXT_MOST) : NULL;

	/* What is no UTF-8, or cut in the middle of a character, is no string to jansson. */
	for (size_t length = copy ? strlen(copy) : 0; copy && length > 0; copy[--length] = '\0') {
		json_t *string = json_string(copy);

		if (string)
			return string;
	}
	return json_null();
}

static int append_change(int directory, off_t whole, const json_t *line)
{
	_cleanup_free_ char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));

	if (!text)
		return -EINVAL;
	if (whole > FILE_FULL) {
		if (renameat(directory, FILE_NAME, directory, FILE_OLD) < 0)
			return -errno;
		whole = 0;
	}
	return lines_append(directory, FILE_NAME, whole, text);
}

struct noting {
	const char *kind, *why, *by, *key;
	int points;
	bool reset;
	int counted; /* a trust_kind whose bounds hold; -1: none do */
};

static json_t *make_line(const struct noting *noting, const struct timespec *now, double delta,
			 double score)
{
	char stamp[TIME_TEXT];
	json_t *line;

	time_text_of(now, stamp);
	line = json_pack("{s:s, s:I, s:s, s:f, s:f, s:o, s:o}", "time", stamp, "at",
			 (json_int_t)now->tv_sec, "kind", noting->kind, "delta", delta, "score",
			 round(score * 1e4) / 1e4, "why", shortened(noting->why), "by",
			 shortened(noting->by));
	if (line && noting->key)
		json_object_set_new(line, "key", shortened(noting->key));
	return line;
}

/* Half a line makes way for one that says so: what it was to say nobody knows. */
static int append_lost(int directory, off_t whole, const struct policy *policy,
		       struct trust_history *history, const struct timespec *now)
{
	const struct noting lost = {
		.kind = "lost",
		.why = "a change that was torn while it was written, taken for the worst",
		.by = "ward"};
	double after = trust_score_at(&policy->trust, history, now->tv_sec), before;
	json_t *line;
	int r;

	history->torn = false;
	before = trust_score_at(&policy->trust, history, now->tv_sec);
	line = make_line(&lost, now, after - before, after);
	r = line ? append_change(directory, whole, line) : -EINVAL;
	json_decref(line);
	return r;
}

static int append_noted(int directory, off_t whole, const struct policy *policy,
			const struct trust_history *history, const struct noting *noting,
			const struct timespec *now)
{
	double before = trust_score_at(&policy->trust, history, now->tv_sec), score;
	json_t *line;
	int r;

	score = noting->reset
			? policy->trust.start
			: trust_score_after(&policy->trust, history, noting->points, now->tv_sec);
	line = make_line(noting, now, noting->reset ? score - before : (double)noting->points,
			 score);
	r = line ? append_change(directory, whole, line) : -EINVAL;
	json_decref(line);
	return r;
}

static int note(const char *state, const struct policy *policy, const char *agent,
		const struct noting *noting, struct error **ret_error)
{
	_cleanup_trust_history_ struct trust_history history = {0};
	_cleanup_close_ int directory = -1, lock = -1;
	struct timespec now;
	off_t whole = 0;
	int r = trust_open_directory(state, agent, /* make= */ true, &directory, ret_error);

	if (r < 0)
		return r;
	r = lines_lock(directory, &lock);
	if (r == 0)
		r = read_both(directory, &history, &whole);
	clock_gettime(CLOCK_REALTIME, &now);
	if (r == 0 && history.torn) {
		r = append_lost(directory, whole, policy, &history, &now);
		trust_history_done(&history);
		if (r == 0)
			r = read_both(directory, &history, &whole);
	}
	if (r == 0 && noting->counted >= 0 &&
	    !trust_may_count(&history, (enum trust_kind)noting->counted, noting->key, now.tv_sec))
		return 0;
	if (r == 0)
		r = append_noted(directory, whole, policy, &history, noting, &now);
	return r < 0 ? lines_refuse(ret_error, -r, agent, "cannot change the score") : 0;
}

int trust_note_by(const char *state, const struct policy *policy, const char *agent,
		  enum trust_kind kind, const char *why, const char *by, const char *key,
		  struct error **ret_error)
{
	const struct noting noting = {.kind = trust_kind_name(kind),
				      .why = why,
				      .by = by ? by : "ward",
				      .key = key,
				      .points = policy->trust.points[kind],
				      .counted = (int)kind};

	int r = trust_binds(policy, agent) ? note(state, policy, agent, &noting, ret_error) : 0;

	/* Whoever notes one need not think of it. */
	if (r == 0 && kind == TRUST_VIOLATION && trust_binds(policy, agent))
		r = trust_learn_withdraw(state, policy, agent, why, /* ret_count= */ NULL,
					 ret_error);
	return r;
}

int trust_note(const char *state, const struct policy *policy, const char *agent,
	       enum trust_kind kind, const char *why, struct error **ret_error)
{
	return trust_note_by(state, policy, agent, kind, why, NULL, NULL, ret_error);
}

int trust_reset(const char *state, const struct policy *policy, const char *agent, const char *why,
		const char *by, struct error **ret_error)
{
	const struct noting noting = {
		.kind = "reset", .why = why, .by = by ? by : "ward", .reset = true, .counted = -1};

	return note(state, policy, agent, &noting, ret_error);
}
