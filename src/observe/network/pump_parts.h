/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the pump share. */
#pragma once

#include "pump.h"
#include "../../base/macro.h"
#include <stdbool.h>

struct pump;

/* What an event of the pump's epoll is about. */
struct source {
	void (*serve)(struct pump *pump, struct source *source, uint32_t events);
};

struct pair;
struct target;
struct sender;

struct pump {
	int epoll;
	struct pair *all;
	struct pair *ready; /* has more to do than one turn allows */
	struct pair *gone;  /* events of this turn may still point to it */
	unsigned pairs;
	struct target *targets[TARGETS_MOST];
	struct sender *gone_senders;
	unsigned senders;
	uint64_t now_ms;
};

void pump_watch(struct pump *pump, int fd, uint32_t events, struct source *source);

/* Takes ownership of the fds. */
void pump_add_pair(struct pump *pump, int one, int other, uint64_t number);
void pump_part_pairs(struct pump *pump, uint64_t number);
/* A turn for each pair that has more to do. */
void pump_serve_ready(struct pump *pump);
void pump_bury_pairs(struct pump *pump);

/* Takes ownership of inside and teller. */
void pump_set_target(struct pump *pump, unsigned number, int inside, int teller,
		     const struct sockaddr_storage *outside);
void pump_forget_target(struct pump *pump, unsigned number);
void pump_expire_senders(struct pump *pump);
void pump_bury_senders(struct pump *pump);

/* Tells who sent from `sender` to `inside` that nobody listens there, as a host would. */
void pump_tell_refused(int teller, const struct sockaddr_storage *sender,
		       const struct sockaddr_storage *inside);
