/* SPDX-License-Identifier: Apache-2.0 */
/* Whether an answer from a webhook counts: signed by the channel, just now, once, to a question
 * that was put to it and still stands. */
#include "callback.h"
#include "../base/io.h"
#include "../request/text_json.h"
#include "ask_json.h"
#include "queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A signature is good for minutes, by a clock that may not be ours. */
enum { REPLIES_MOST = 20000, REPLY_SECONDS = 3600 };

const char *callback_word(enum callback_verdict verdict)
{
	static const char *const words[] = {
		[CALLBACK_TAKEN] = "taken",
		[CALLBACK_BAD_SIGNATURE] = "bad signature",
		[CALLBACK_TOO_OLD] = "too old",
		[CALLBACK_MALFORMED] = "malformed",
		[CALLBACK_REPLAYED] = "replayed",
		[CALLBACK_WRONG_CHANNEL] = "wrong channel",
		[CALLBACK_GONE] = "question gone",
		[CALLBACK_NO_CHOICE] = "no answer to the question from there",
		[CALLBACK_FAILED] = "failed",
	};

	return words[verdict];
}

int callback_status(enum callback_verdict verdict)
{
	static const int statuses[] = {
		[CALLBACK_TAKEN] = 200,	   [CALLBACK_BAD_SIGNATURE] = 401,
		[CALLBACK_TOO_OLD] = 401,  [CALLBACK_MALFORMED] = 400,
		[CALLBACK_REPLAYED] = 409, [CALLBACK_WRONG_CHANNEL] = 403,
		[CALLBACK_GONE] = 410,	   [CALLBACK_NO_CHOICE] = 422,
		[CALLBACK_FAILED] = 503,
	};

	return statuses[verdict];
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

void callback_nonce(const char *secret, const char *channel, json_t *entry,
		    char ret_nonce[static SIGN_TEXT])
{
	const char *id = text_of(entry, "id"), *nonce = text_of(entry, "nonce"),
		   *hash = text_of(entry, "hash");
	/* With the end of each text, so that none can lend its end to the next. */
	const struct sign_part parts[] = {{"ward ask", sizeof("ward ask")},
					  {channel, strlen(channel) + 1},
					  {id, strlen(id) + 1},
					  {nonce, strlen(nonce) + 1},
					  {hash, strlen(hash) + 1}};

	sign_parts(secret, parts, ELEMENTS(parts), ret_nonce);
}

static enum callback_verdict check_signature(const struct callback *callback,
					     const struct notify_channel *channel,
					     const char *secret)
{
	enum signature_verdict verdict = SIGNATURE_BAD;

	if (channel->shape == SHAPE_GENERIC && callback->signature)
		verdict = signature_check(secret, callback->signature, callback->now,
					  callback->body, callback->length);
	if (channel->shape == SHAPE_SLACK && callback->slack_signature && callback->slack_time)
		verdict = signature_check_slack(secret, callback->slack_signature,
						callback->slack_time, callback->now, callback->body,
						callback->length);
	return verdict == SIGNATURE_GOOD  ? CALLBACK_TAKEN
	       : verdict == SIGNATURE_OLD ? CALLBACK_TOO_OLD
					  : CALLBACK_BAD_SIGNATURE;
}

/* Those that are too old to be taken again. */
static int sweep(int directory, int64_t now)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	DIR *listing = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;

	if (!listing)
		return copy < 0 ? -errno : (close(copy), -ENOMEM);
	while ((entry = readdir(listing))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime + REPLY_SECONDS < now)
			count -= unlinkat(directory, entry->d_name, 0) == 0;
	}
	closedir(listing);
	return count;
}

/* Who makes the file was first. Its name goes by the body, not by the header, in which the same
 * could be said in several ways. */
static enum callback_verdict note_reply(const struct callback *callback, const char *secret,
					int *ret_directory, char ret_name[static SIGN_TEXT],
					struct error **ret_error)
{
	const struct sign_part parts[] = {{"ward reply", sizeof("ward reply")},
					  {callback->channel, strlen(callback->channel) + 1},
					  {callback->body, callback->length}};
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	int r, count;

	if (asprintf(&path, "%s/notify/replies", callback->state) < 0)
		abort();
	sign_parts(secret, parts, ELEMENTS(parts), ret_name);
	r = make_directories(path, 0700);
	*ret_directory = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_directory < 0) {
		fail_errno(ret_error, E_ENGINE, r < 0 ? -r : errno, "opening %s", path);
		return CALLBACK_FAILED;
	}
	count = sweep(*ret_directory, callback->now);
	if (count < 0 || count > REPLIES_MOST) {
		fail(ret_error, E_ENGINE, "too many answers have come within minutes");
		return CALLBACK_FAILED;
	}
	fd = openat(*ret_directory, ret_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 && errno == EEXIST) {
		fail(ret_error, E_INPUT, "this answer has come before");
		return CALLBACK_REPLAYED;
	}
	if (fd < 0 || fsync(fd) < 0 || fsync(*ret_directory) < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "noting an answer");
		return CALLBACK_FAILED;
	}
	return CALLBACK_TAKEN;
}

static bool is_waited_for(const char *state, const char *id)
{
	json_t *entry = NULL;
	bool stands = queue_get(state, id, &entry, NULL) == 0;

	json_decref(entry);
	return stands;
}

static enum callback_verdict give(const struct callback *callback, const char *secret,
				  struct callback_words *words, struct error **ret_error)
{
	/* Who answers is for the channel to say, and through which it came for us. */
	_cleanup_approver_id_ struct approver_id who =
		approver_of_hook(callback->channel, words->user, words->name);
	_cleanup_answer_ struct answer checked = {0};
	enum callback_verdict verdict = CALLBACK_TAKEN;
	char nonce[SIGN_TEXT];
	json_t *entry = NULL;
	int r;

	if (queue_get(callback->state, words->ask, &entry, ret_error) < 0)
		return CALLBACK_GONE;
	callback_nonce(secret, callback->channel, entry, nonce);
	if (strcmp(words->hash, text_of(entry, "hash")) != 0) {
		fail(ret_error, E_INPUT, "the question has changed since");
		verdict = CALLBACK_GONE;
	} else if (sodium_memcmp(nonce, words->nonce, SIGN_TEXT - 1) != 0) {
		fail(ret_error, E_INPUT, "the question was not put to this channel");
		verdict = CALLBACK_WRONG_CHANNEL;
	} else if (answer_from_json(words->answer, json_object_get(entry, "ask"), &checked,
				    ret_error) < 0) {
		verdict = CALLBACK_NO_CHOICE;
	} else if ((r = queue_answer(callback->state, entry, words->answer, &who, ret_error)) < 0) {
		/* It stands, and is not for him to answer, or not so: the error says how. */
		bool stands = r == -E_INPUT && is_waited_for(callback->state, words->ask);

		verdict = r != -E_INPUT ? CALLBACK_FAILED
			  : stands	? CALLBACK_NO_CHOICE
					: CALLBACK_GONE;
	}
	json_decref(entry);
	return verdict;
}

static enum callback_verdict take(const struct callback *callback, const char *secret,
				  enum channel_shape shape, struct error **ret_error)
{
	_cleanup_(callback_words_done) struct callback_words words = {0};
	_cleanup_close_ int directory = -1;
	enum callback_verdict verdict;
	char name[SIGN_TEXT];

	if (callback_read(shape, callback->body, callback->length, &words, ret_error) < 0)
		return CALLBACK_MALFORMED;
	verdict = note_reply(callback, secret, &directory, name, ret_error);
	if (verdict != CALLBACK_TAKEN)
		return verdict;
	verdict = give(callback, secret, &words, ret_error);
	if (verdict == CALLBACK_FAILED)
		(void)unlinkat(directory, name, 0);
	return verdict;
}

enum callback_verdict callback_take(const struct callback *callback, struct error **ret_error)
{
	const struct notify_channel *channel =
		callback->channel ? notify_find(callback->notify, callback->channel) : NULL;
	_cleanup_free_ char *secret = NULL;
	enum callback_verdict verdict = CALLBACK_BAD_SIGNATURE;

	if (channel && channel->kind == CHANNEL_WEBHOOK &&
	    channel_can_answer(callback->notify, channel)) {
		if (channel_secret(channel, callback->home, &secret, ret_error) < 0)
			return CALLBACK_FAILED;
		verdict = check_signature(callback, channel, secret);
	}
	if (verdict == CALLBACK_TAKEN)
		verdict = take(callback, secret, channel->shape, ret_error);
	else
		fail(ret_error, E_REJECTED, "%s", callback_word(verdict));
	if (secret)
		sodium_memzero(secret, strlen(secret));
	return verdict;
}
