/* SPDX-License-Identifier: Apache-2.0 */
/* What questions about one wish and about several share. */
#pragma once

#include "flow_state.h"

/* A wish that is asked about: it may be gone before the person has answered. */
struct asked {
	uint64_t number;
	char *operation, *object, *program, *permission;
	char *shown; /* of a program all its words; else the object */
};

struct asking_about {
	struct flow *flow;
	const struct asked *items;
	size_t count;
	uint64_t missed; /* since when none of them is there; 0: one is */
};

void asked_make(const struct wish *wish, const char *permission, struct asked *ret_asked);
void asked_done(struct asked *asked);
/* Exactly what it wants. */
void wish_permission(const struct wish *wish, struct list *grants);
bool wish_is_file(const struct wish *wish);
/* A yes may end what is there now. */
bool wish_destroys(const struct wish *wish);
/* What is there now: "a new file". */
void wish_describe_file(const struct wish *wish, struct buffer *note);
/* A no that still holds names it. */
bool wish_is_refused(const struct flow *flow, const char *permission);
/* The run goes on while a person thinks, and the question ends when nobody waits for it any more.
 * data: struct asking_about. */
void wish_serve_others(void *data);
bool wish_is_obsolete(void *data);
/* What was said, where it was not yes. */
void wish_note_refusal(struct flow *flow, const struct asked *asked, const struct answer *answer);
/* The run cannot go on: what must be recorded before it takes effect could not be. */
void wish_give_up(struct flow *flow, struct error *failure);

/* flow_burst.c: waits a moment for others to come, so that a burst is asked about at once. */
void burst_gather(struct flow *flow);
/* The wish that is to be asked about by itself before all others, or NULL: the gravest. */
const struct wish *burst_grave(struct flow *flow);
/* Asks about several at once, and settles them; false where there are none to be asked together. */
bool burst_ask(struct flow *flow);
