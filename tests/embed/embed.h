/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that embed ward for the tests share. */
#pragma once

#include "../../include/ward/ward.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what)                                                                \
	do {                                                                       \
		if (!(what)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

enum { PATIENCE_MS = 90000 };

/* What was heard of a run. */
struct heard {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char output[3][4096];
	size_t bytes[3];
	char notices[4096];
	char ask[64]; /* the last question */
	int asks, withdrawn, ended;
};
#define HEARD                                                                          \
	{                                                                              \
		.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER \
	}

static inline ward *open_ward(void)
{
	ward_error *error = NULL;
	ward *handle = ward_open(NULL, &error);

	if (!handle)
		fprintf(stderr, "%s\n", ward_error_message(error));
	CHECK(handle);
	return handle;
}

static inline void hear_output(ward_run *run, int stream, const char *bytes, size_t length,
			       void *data)
{
	struct heard *heard = data;
	size_t room;

	(void)run;
	pthread_mutex_lock(&heard->lock);
	room = sizeof(heard->output[stream]) - 1;
	if (heard->bytes[stream] + length <= room)
		memcpy(heard->output[stream] + heard->bytes[stream], bytes, length);
	heard->bytes[stream] += length;
	pthread_cond_broadcast(&heard->changed);
	pthread_mutex_unlock(&heard->lock);
}

static inline void hear_notice(ward_run *run, const char *text, void *data)
{
	struct heard *heard = data;

	(void)run;
	pthread_mutex_lock(&heard->lock);
	snprintf(heard->notices + strlen(heard->notices),
		 sizeof(heard->notices) - strlen(heard->notices), "%s\n", text);
	pthread_mutex_unlock(&heard->lock);
}

/* Every question is for later. */
static inline int hear_ask(ward_run *run, const ward_ask *ask, ward_answer *answer, void *data)
{
	struct heard *heard = data;

	(void)run, (void)answer;
	pthread_mutex_lock(&heard->lock);
	snprintf(heard->ask, sizeof(heard->ask), "%s", ward_ask_id(ask));
	heard->asks++;
	pthread_cond_broadcast(&heard->changed);
	pthread_mutex_unlock(&heard->lock);
	return WARD_LATER;
}

static inline void hear_withdrawn(ward_run *run, const char *id, void *data)
{
	struct heard *heard = data;

	(void)run;
	pthread_mutex_lock(&heard->lock);
	heard->withdrawn += strcmp(id, heard->ask) == 0;
	pthread_mutex_unlock(&heard->lock);
}

static inline void hear_ended(ward_run *run, void *data)
{
	struct heard *heard = data;

	CHECK(ward_result_json(run));
	pthread_mutex_lock(&heard->lock);
	heard->ended++;
	pthread_mutex_unlock(&heard->lock);
}

static inline void hear_all(ward *handle)
{
	ward_on_output(handle, hear_output);
	ward_on_notice(handle, hear_notice);
	ward_on_ask(handle, hear_ask);
	ward_on_withdrawn(handle, hear_withdrawn);
	ward_on_ended(handle, hear_ended);
}

static inline ward_run *start_shell(ward *handle, const char *command, void *data)
{
	ward_error *error = NULL;
	ward_run *run = ward_start_shell(handle, command, data, &error);

	if (!run)
		fprintf(stderr, "%s\n", ward_error_message(error));
	CHECK(run);
	return run;
}

static inline void wait_for_asks(struct heard *heard, int count)
{
	pthread_mutex_lock(&heard->lock);
	while (heard->asks < count)
		pthread_cond_wait(&heard->changed, &heard->lock);
	pthread_mutex_unlock(&heard->lock);
}

static inline void wait_for_output(struct heard *heard, size_t bytes)
{
	pthread_mutex_lock(&heard->lock);
	while (heard->bytes[1] < bytes)
		pthread_cond_wait(&heard->changed, &heard->lock);
	pthread_mutex_unlock(&heard->lock);
}

/* The kind of the run's error; "none". */
static inline const char *kind_of(const ward_run *run)
{
	const char *kind = ward_error_kind(ward_run_error(run));

	return kind ? kind : "none";
}
