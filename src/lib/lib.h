/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of libward share. A handle has one lock, for all that is in it and in its runs,
 * and one thread (talk.c), which alone reads from ward, writes to it, and calls the host's
 * functions, never with the lock held. Nothing here aborts: it is somebody else's process. */
#pragma once

#include "../../include/ward/ward.h"
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RUNS_AT_ONCE = 64, REQUEST_MOST = (4 << 20) - 256, LINE_MOST = 80 << 20 };

/* A growing run of bytes; adding is false for want of memory. */
struct bytes {
	char *data;
	size_t length, room;
};
bool bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_drop(struct bytes *bytes, size_t length); /* from the front */
void bytes_done(struct bytes *bytes);

/* --- error.c --- */
struct ward_error {
	const char *kind; /* static */
	char *message, *hint;
};
/* Always -1, so that it can end a return statement. hint may be NULL. */
int give_error(ward_error **ret_error, const char *kind, const char *hint, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
int out_of_memory(ward_error **ret_error);

/* --- answer.c --- */
struct ward_ask {
	json_t *object;
	char *text; /* the same */
};
struct ward_answer {
	json_t *object; /* without its word */
};
bool ask_begin(struct ward_ask *ask, json_t *object); /* borrows the object */
void ask_done(struct ward_ask *ask);
/* NULL where the word is none. */
const char *word_name(int word);
/* The whole answer, as ward takes it; NULL: no memory. answer may be NULL. */
json_t *answer_object(int word, const ward_answer *answer);
/* That answer is among the choices of the question. */
bool answer_is_offered(json_t *ask, json_t *answer);

/* --- policy.c --- */
ward_policy *policy_share(ward_policy *policy);
int policy_decide(ward_policy *policy, const ward_ask *ask, ward_answer *answer);

/* --- handle.c, run.c, talk.c --- */
enum run_state {
	RUN_HELD,   /* a policy decides later whether it starts */
	RUN_QUEUED, /* too many others go on */
	RUN_BEGUN,
	RUN_ENDED,
};

struct ward_run {
	ward *handle; /* shared */
	unsigned
		references; /* of whoever started it, of the handle, of the thread at work for it */
	json_int_t id;
	void *data;
	json_t *request;
	enum run_state state;
	bool forgotten, cancelled;
	/* Not changed any more once it has ended. */
	json_t *result;
	char *text;
	ward_error *error;
	struct ward_run *next;
};

/* One that stands: until it is withdrawn, its run ends, or ward has taken the answer. */
struct question {
	char *id;
	ward_run *run; /* borrowed: goes with it */
	json_t *ask;
	uint64_t deadline; /* 0: none of ours */
	bool starts, answered;
	struct question *next;
};

struct ward {
	atomic_uint references; /* of the host, of each run */
	pid_t owner, child;
	int socket, wake, process;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	json_t *settings;
	double patience; /* seconds; 0: ward's own */
	ward_policy *policy;
	ward_output_function *output;
	ward_notice_function *notice;
	ward_ask_function *ask;
	ward_withdrawn_function *withdrawn;
	ward_ended_function *ended;
	struct bytes out, heard; /* heard is the thread's own */
	json_t *local;	/* messages of our own, for the thread, as if they came from ward */
	ward_run *runs; /* those that have not ended, in order */
	size_t begun;
	json_int_t last;
	struct question *questions;
	ward_run *calling; /* the host's functions are at work for it */
	char *version;	   /* of the program, once it has said so */
	bool closing, over, closed_inside;
	bool faulty; /* it ended, or went astray, by itself */
};

bool handle_is_ours(const ward *handle, ward_error **ret_error);
void handle_release(ward *handle);
/* When its thread has ended, or as its last act. */
void handle_end(ward *handle);
uint64_t now_ns(void);
/* The same thing by another number, if need be: a host that has closed its standard streams would
 * write its messages there. */
int above_standard(int fd);
int start_program(ward *handle, const char *workspace, ward_error **ret_error);
/* Whatever state it is in. */
void end_program(ward *handle);

/* All of these with the lock held. */
void tell_ward(ward *handle, json_t *message);	 /* takes it over; NULL: no memory, which ends it */
void tell_thread(ward *handle, json_t *message); /* the same */
void wake_thread(ward *handle);
void begin_runs(ward *handle); /* as many as may */
void run_release(ward_run *run);
struct question *question_add(ward *handle, ward_run *run, json_t *ask, bool starts);
struct question *question_of(ward *handle, const char *id);
void questions_drop(ward *handle, const ward_run *run, const char *id); /* id NULL: all */
/* Fails where the question does not offer that. */
int question_settle(ward *handle, struct question *question, int word, const ward_answer *answer,
		    ward_error **ret_error);

/* The end of a run that has no result of ward's, as if ward had told it. hint may be NULL. */
json_t *failure_message(const ward_run *run, const char *kind, const char *message,
			const char *hint);
void *talk(void *handle);
