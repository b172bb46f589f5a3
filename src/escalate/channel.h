/* SPDX-License-Identifier: Apache-2.0 */
/* Questions put to whoever holds the other end of a socket: one JSON object a line, each way. */
#pragma once

#include "ask.h"
#include <jansson.h>

enum { CHANNEL_LINE = 1 << 20 }; /* the longest line that is read */

struct channel {
	int fd;		     /* borrowed */
	bool answers;	     /* somebody there answers questions */
	struct buffer heard; /* what was read and not looked at yet */
};

/* Takes message over. Fails where nobody is there any more. */
int channel_send(struct channel *channel, json_t *message);
/* Sends {"type": "ask", "ask": {...}} and waits for {"id": ID, "answer": {...}}; {"type":
 * "withdrawn", "id": ID} where the question has become obsolete. Whoever goes away has said no. */
struct approver channel_approver(struct channel *channel);
void channel_done(struct channel *channel);
