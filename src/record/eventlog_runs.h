/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that a reader of events sees begin and not end: the kernel tells it when the process of
 * one is gone. For this room alone. */
#pragma once

#include "lost.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct watched_run {
	char *run;
	int process;	/* a pidfd; -1: it is gone */
	unsigned tries; /* to settle it since then */
};

struct watched_runs {
	int epoll; /* borrowed: readable when one of them is gone */
	int timer; /* to try again; -1: not yet needed */
	struct watched_run *items;
	size_t count;
};

void watched_runs_add(struct watched_runs *runs, const char *run, pid_t supervisor);
/* A record that begins or ends one. */
void watched_runs_note(struct watched_runs *runs, const json_t *record);
/* Puts the end of those that are gone on record. True if there were any. */
bool watched_runs_settle(struct watched_runs *runs, const char *state);
void watched_runs_done(struct watched_runs *runs);
