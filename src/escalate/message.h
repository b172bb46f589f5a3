/* SPDX-License-Identifier: Apache-2.0 */
/* What is told through a channel, as text for its medium: JSON, Slack's blocks, mail, a
 * notification. The same matter always gives the same text, so that whoever gets it twice can tell.
 * All that an agent wrote is escaped for where it goes. */
#pragma once

#include "../base/buffer.h"
#include "../decide/notify.h"
#include <jansson.h>

struct matter_told {
	enum notice notice;
	const char *delivery; /* the id under which it is sent */
	json_t *entry;	      /* of a question, as of queue_list; else NULL */
	json_t *event;	      /* of anything else: as of docs/events.md */
	/* Of a question that can be answered from there: what an answer must bring along, and where
	 * to; NULL: nothing comes back. */
	const char *nonce, *callback;
};

/* Caller frees. */
char *message_make(const struct notify_channel *channel, const struct matter_told *matter);

/* The parts. */
json_t *message_generic(const struct notify_channel *channel, const struct matter_told *matter);
json_t *message_slack(const struct notify_channel *channel, const struct matter_told *matter);
/* Headers, a blank line, plain text; for `sendmail -i`. Caller frees. */
char *message_mail(const struct notify_channel *channel, const struct matter_told *matter);
/* {"summary", "body", "urgent"}: the words of notify-send, whose body may be taken for markup. */
json_t *message_desktop(const struct matter_told *matter);

/* One line that says what it is; nothing of an agent's is in it. */
void message_title(const struct matter_told *matter, struct buffer *ret_text);
/* The text of a key of a question, fit for a terminal; empty where there is none. */
void message_add_key(struct buffer *buffer, json_t *object, const char *key);
/* & < > as Slack wants them, over what is fit for a terminal. */
void message_add_slack(struct buffer *buffer, const char *text);
/* The same for text that Slack reads as markup: nothing in it is a mention, a link or the end of
 * code. */
void message_add_code(struct buffer *buffer, const char *text);
