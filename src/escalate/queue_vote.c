/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that several must answer. ID.votes is a directory with one file for each person who has
 * said yes, so that nobody can say it twice; each is bound to its question as an answer is. Once
 * there are enough, or the time is over, ID.answer says that the votes are the answer: whoever says
 * no at the last moment was first, or hears that it is too late. What the votes come to is made by
 * whoever waits, from the votes as they are once ID.answer is there: one that was given before is
 * among them, and one that may have come later waits to see whether it was taken. */
#include "../base/io.h"
#include "../request/text_json.h"
#include "queue_parts.h"
#include "route.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum {
	LATE_LOOKS = 400,
	LATE_MS = 5,
	VOTES_MOST = 1000,
	VOTE_NAME = 2 * crypto_hash_sha256_BYTES + 1,
	VOTE_PATH = ASKS_NAME + VOTE_NAME
};

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

json_t *asks_route(json_t *entry)
{
	return json_object_get(json_object_get(entry, "ask"), "route");
}

static void vote_name(const char *person, char name[static VOTE_NAME])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const unsigned char *)person, strlen(person));
	sodium_bin2hex(name, VOTE_NAME, hash, sizeof(hash));
}

/* As it lies there, if it is one: to this question, and by the one whose name it has. */
static json_t *read_vote(int votes, const char *name, json_t *entry)
{
	json_t *vote = asks_read(votes, name);
	const char *way = text_of(vote, "way");
	const char *person = way ? route_person(asks_route(entry), way) : NULL;
	char right[VOTE_NAME] = "";

	if (person)
		vote_name(person, right);
	if (!person || strcmp(right, name) != 0 || !asks_is_bound(vote, entry) ||
	    !json_is_object(json_object_get(vote, "answer"))) {
		json_decref(vote);
		return NULL;
	}
	return vote;
}

static json_t *read_votes(int directory, json_t *entry)
{
	char name[ASKS_NAME];
	json_t *all = json_array();
	const struct dirent *found;
	DIR *votes = NULL;
	int fd;

	asks_name(text_of(entry, "id"), ".votes", name);
	fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && !(votes = fdopendir(fd)))
		close_fd(&fd);
	for (int i = 0; votes && i < VOTES_MOST && (found = readdir(votes)); i++) {
		json_t *vote = strlen(found->d_name) == VOTE_NAME - 1
				       ? read_vote(dirfd(votes), found->d_name, entry)
				       : NULL;

		if (vote)
			json_array_append_new(all, vote);
	}
	if (votes)
		closedir(votes);
	return all;
}

void votes_turn(int directory, json_t *entry, struct turn *ret_turn)
{
	struct moment begun, now;
	json_t *votes = read_votes(directory, entry);

	moment_from_json(json_object_get(entry, "begun"), &begun);
	moment_now(&now);
	route_turn(asks_route(entry), &begun, votes, &now, ret_turn);
	json_decref(votes);
}

int votes_open(int directory, const char *id)
{
	char name[ASKS_NAME];

	asks_name(id, ".votes", name);
	return mkdirat(directory, name, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

void votes_remove(int directory, const char *id)
{
	char name[ASKS_NAME];

	asks_name(id, ".votes", name);
	if (unlinkat(directory, name, AT_REMOVEDIR) < 0 && (errno == ENOTEMPTY || errno == EEXIST))
		(void)remove_tree(directory, name);
}

/* From now on the votes are the answer. */
static int close_votes(int directory, json_t *entry)
{
	json_t *object = json_pack("{s:O, s:O, s:b}", "nonce", json_object_get(entry, "nonce"),
				   "hash", json_object_get(entry, "hash"), "votes", true);
	int r = asks_put_part(directory, text_of(entry, "id"), ".answer", object);

	json_decref(object);
	return r;
}

static void open_again(int directory, json_t *entry)
{
	char name[ASKS_NAME];

	asks_name(text_of(entry, "id"), ".answer", name);
	(void)unlinkat(directory, name, 0);
}

static void vote_path(const char *id, const char *person, char path[static VOTE_PATH])
{
	char name[VOTE_NAME], part[ASKS_NAME];

	vote_name(person, name);
	asks_name(id, ".votes", part);
	snprintf(path, VOTE_PATH, "%s/%s", part, name);
}

static void drop_vote(int directory, json_t *entry, const char *person)
{
	char path[VOTE_PATH];

	vote_path(text_of(entry, "id"), person, path);
	(void)unlinkat(directory, path, 0);
}

static void mark_taken(int directory, json_t *entry, json_t *votes)
{
	char path[VOTE_PATH];
	json_t *vote;
	size_t i;

	json_array_foreach (votes, i, vote) {
		vote_path(text_of(entry, "id"),
			  route_person(asks_route(entry), text_of(vote, "way")), path);
		asks_mark_taken(directory, path);
	}
}

/* True where each is still one of those who may say it; what others said goes. */
static bool are_still_theirs(int directory, json_t *entry, const struct vetting *vetting,
			     json_t *votes)
{
	bool all = true;
	json_t *vote;
	size_t i;

	json_array_foreach (votes, i, vote)
		if (vetting && !vetting->may_still(vetting->data, text_of(vote, "way"))) {
			drop_vote(directory, entry,
				  route_person(asks_route(entry), text_of(vote, "way")));
			all = false;
		}
	return all;
}

static void refuse(struct answer *answer, const char *by, const char *reason)
{
	*answer = (struct answer){
		.kind = ANSWER_DENY, .by = strdup(by), .reason = reason ? strdup(reason) : NULL};
}

/* True where they decide it. */
static bool count_votes(int directory, json_t *entry, const struct vetting *vetting,
			struct turn *turn)
{
	turn_done(turn);
	votes_turn(directory, entry, turn);
	return turn->state == TURN_OVER ||
	       (turn->state == TURN_YES &&
		are_still_theirs(directory, entry, vetting, turn->counted));
}

bool votes_take(int directory, json_t *entry, const struct vetting *vetting, bool closed,
		struct answer *ret_answer)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_turn_ struct turn turn = {0};
	_cleanup_buffer_ struct buffer text = {0};

	if (!count_votes(directory, entry, vetting, &turn))
		return false;
	if (!closed && close_votes(directory, entry) == -EEXIST)
		return false; /* somebody was faster: that is heard next */
	/* Whoever said yes before that, and after we looked, counts. */
	if (!closed && !count_votes(directory, entry, vetting, &turn)) {
		open_again(directory, entry);
		return false;
	}
	if (turn.state == TURN_OVER) {
		turn_describe(asks_route(entry), &turn, &text);
		refuse(ret_answer, "nobody in time", buffer_text(&text));
	} else if (votes_agree(json_object_get(entry, "ask"), turn.counted, ret_answer, &error) <
		   0) {
		refuse(ret_answer, "those who said yes", error->message);
	} else {
		mark_taken(directory, entry, turn.counted);
	}
	return true;
}

/* Answering. */

static int refuse_voter(json_t *route, const struct turn *turn, const char *way, const char *why,
			struct error **ret_error)
{
	_cleanup_buffer_ struct buffer text = {0};

	turn_describe(route, turn, &text);
	fail(ret_error, E_INPUT, "%s cannot say yes to this: %s", way, why);
	return error_hint(ret_error, "%s", buffer_text(&text));
}

static bool has_no_name(int vote)
{
	struct stat st;

	return fstat(vote, &st) == 0 && st.st_nlink == 0;
}

/* The answer that lies there is made of the votes. */
static bool votes_decide(int directory, const char *id)
{
	char name[ASKS_NAME];
	json_t *object;
	bool decide;

	asks_name(id, ".answer", name);
	object = asks_read(directory, name);
	decide = json_is_true(json_object_get(object, "votes"));
	json_decref(object);
	return decide;
}

static bool is_there(int directory, const char *id)
{
	return faccessat(directory, id, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

enum fate { FATE_STANDS, FATE_LOST, FATE_UNKNOWN };

/* A vote stands that is there while nothing is decided yet, because whoever waits reads it then;
 * and one that is part of what he took. Where it has been decided, or the time is over, his word is
 * waited for. closed: by us, so that it is read. */
static enum fate await_fate(int directory, json_t *entry, int vote, bool closed)
{
	for (int i = 0; i < LATE_LOOKS; i++) {
		_cleanup_turn_ struct turn turn = {0};
		bool open = closed || !asks_has_answer(directory, entry);

		/* it is marked before it is removed */
		if (has_no_name(vote))
			return asks_is_taken(vote) ? FATE_STANDS : FATE_LOST;
		votes_turn(directory, entry, &turn);
		if (asks_is_taken(vote) ||
		    (open && turn.state != TURN_OVER && is_there(directory, text_of(entry, "id"))))
			return FATE_STANDS;
		(void)poll(NULL, 0, LATE_MS);
	}
	return FATE_UNKNOWN;
}

/* Whoever is to take it may be stopped, or gone: then what is there speaks for itself. What nobody
 * will look at is taken away. */
static bool stands(int directory, json_t *entry, const char *person, int vote, bool closed)
{
	enum fate fate = await_fate(directory, entry, vote, closed);
	const char *id = text_of(entry, "id");
	_cleanup_turn_ struct turn turn = {0};

	if (!is_there(directory, id)) {
		votes_remove(directory, id);
		open_again(directory, entry);
	} else if (fate == FATE_UNKNOWN) {
		votes_turn(directory, entry, &turn);
		if (turn.state != TURN_OVER && votes_decide(directory, id))
			return true;
		drop_vote(directory, entry, person);
	}
	return fate == FATE_STANDS;
}

int votes_cast(int directory, json_t *entry, json_t *answer, const struct approver_id *who,
	       struct error **ret_error)
{
	json_t *route = asks_route(entry), *vote;
	const char *id = text_of(entry, "id"), *reason = text_of(answer, "reason"), *why, *person;
	_cleanup_turn_ struct turn turn = {0};
	_cleanup_close_ int fd = -1;
	char path[VOTE_PATH];
	struct moment now;
	bool closed = false;
	int r;

	votes_turn(directory, entry, &turn);
	person = route_voter(route, &turn, who->way, &why);
	if (!person)
		return refuse_voter(route, &turn, who->way, why, ret_error);
	if (route_wants_reason(route, turn.step) && !(reason && *reason)) {
		fail(ret_error, E_INPUT, "a yes to this needs a reason");
		return error_hint(ret_error, "say why: --reason TEXT");
	}
	moment_now(&now);
	vote = json_pack("{s:O, s:O, s:s, s:o, s:I, s:o, s:O}", "nonce",
			 json_object_get(entry, "nonce"), "hash", json_object_get(entry, "hash"),
			 "way", who->way, "by", json_text(who->by), "step", (json_int_t)turn.step,
			 "moment", moment_to_json(&now), "answer", answer);
	vote_path(id, person, path);
	r = asks_put_file(directory, path, vote, &fd);
	json_decref(vote);
	if (r == -EEXIST)
		return fail(ret_error, E_INPUT, "%s has answered %s already", person, id);
	if (r == -ENOENT)
		return fail(ret_error, E_INPUT, "nobody waits for an answer to %s any more", id);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "answering %s", id);
	turn_done(&turn);
	votes_turn(directory, entry, &turn);
	if (turn.state == TURN_YES && is_there(directory, id))
		closed = close_votes(directory, entry) == 0; /* else whoever waits does it */
	if (stands(directory, entry, person, fd, closed))
		return 0;
	return turn.state == TURN_OVER
		       ? refuse_voter(route, &turn, who->way, "the time is over", ret_error)
		       : fail(ret_error, E_INPUT, "nobody waits for an answer to %s any more", id);
}

int votes_check_no(json_t *entry, const struct approver_id *who, struct error **ret_error)
{
	json_t *route = asks_route(entry);
	_cleanup_buffer_ struct buffer text = {0};

	if (route_person(route, who->way) || route_is_owner(route, who->way))
		return 0;
	route_describe(route, &text);
	fail(ret_error, E_INPUT, "%s is none of those who answer this", who->way);
	return error_hint(ret_error, "%s", buffer_text(&text));
}
