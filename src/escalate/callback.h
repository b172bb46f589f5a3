/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that come back from a webhook, as somebody else's HTTP request: whose word it is, to
 * which question, and whether it counts. */
#pragma once

#include "../base/sign.h"
#include "../decide/notify.h"
#include <jansson.h>

/* As it came; borrowed, each text may be NULL. */
struct callback {
	const char *state, *home; /* ward's state; what ~ means in a secret's path */
	const struct notify *notify;
	const char *channel;	     /* of the URL: /hook/CHANNEL */
	const char *signature;	     /* Ward-Signature */
	const char *slack_signature; /* X-Slack-Signature, and X-Slack-Request-Timestamp */
	const char *slack_time;
	const char *body;
	size_t length;
	int64_t now; /* seconds since 1970 */
};

enum callback_verdict {
	CALLBACK_TAKEN,
	CALLBACK_BAD_SIGNATURE, /* or no such channel: nobody learns which there are */
	CALLBACK_TOO_OLD,
	CALLBACK_MALFORMED,
	CALLBACK_REPLAYED,
	CALLBACK_WRONG_CHANNEL, /* the question was not put to that channel */
	CALLBACK_GONE,		/* nobody waits for an answer to it, or it has changed */
	CALLBACK_NO_CHOICE,	/* the answer is none of those that it has, or not his to give */
	CALLBACK_FAILED,	/* ward itself could not: it may be tried again */
};
enum { CALLBACK_MOST = 64 << 10 }; /* bytes of a body */

/* Checks all of it and answers the question. *ret_error says why not. */
enum callback_verdict callback_take(const struct callback *callback, struct error **ret_error);
/* In a word, and as an HTTP status. */
const char *callback_word(enum callback_verdict verdict);
int callback_status(enum callback_verdict verdict);

/* What an answer to that question must bring along from that channel and no other. */
void callback_nonce(const char *secret, const char *channel, json_t *entry,
		    char ret_nonce[static SIGN_TEXT]);

/* What the body says, without a look at whether it is true. Safe for any bytes. */
struct callback_words {
	char *ask, *nonce, *hash;
	json_t *answer; /* as definitions/answer of docs/ask.schema.json */
	char *user;	/* who says it, says the channel: a name that does not change; or NULL */
	char *name;	/* what people call him; or NULL */
};
int callback_read(enum channel_shape shape, const char *body, size_t length,
		  struct callback_words *ret_words, struct error **ret_error);
void callback_words_done(struct callback_words *words);
