/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about tickets share: a ticket as it lies on disk.
 *
 *   tickets/ID/lock          held by its keeper, or by whoever gives it one
 *   tickets/ID/state.json    its status
 *   tickets/ID/request.json  all that it takes to carry it out; gone at the end
 *   tickets/ID/cancel        somebody wants it to end
 *   tickets/ID/stdout, stderr, notices, result.json
 */
#pragma once

#include "../request/result.h"
#include "ticket.h"

struct ticket {
	int tickets, directory, lock; /* lock: open; held or not */
	char id[ID_TEXT];
	json_t *state; /* as last read or written */
};
#define TICKET_NONE ((struct ticket){.tickets = -1, .directory = -1, .lock = -1})

enum ticket_word { WAITING, RUNNING, DONE, DENIED, EXPIRED, LOST, CANCELLED };

/* Refuses what is not a ticket of ours: links, others' directories, files that cannot be read. */
int ticket_open(const char *state, const char *id, struct ticket *ret_ticket,
		struct error **ret_error);
void ticket_close(struct ticket *ticket);
#define _cleanup_ticket_ _cleanup_(ticket_close)

int tickets_open(const char *state, bool make, int *ret_fd);

/* Nobody else holds it now; -EAGAIN where somebody does. */
int ticket_lock(struct ticket *ticket);
/* Somebody does, without taking it. */
bool ticket_is_locked(const struct ticket *ticket);

/* The state is read again. */
int ticket_read(struct ticket *ticket, struct error **ret_error);
enum ticket_word ticket_word(const struct ticket *ticket);
const char *ticket_word_name(enum ticket_word word);
/* On disk when it returns, and whoever watches is told. Takes over value of key, which may be NULL.
 */
int ticket_set(struct ticket *ticket, enum ticket_word word, const char *key, json_t *value);
/* A file of it, whole or not at all. */
int ticket_write(int directory, const char *name, json_t *object);
json_t *ticket_load(int directory, const char *name);

/* The request with all that is not in its JSON. Fails where it cannot be written down. */
int ticket_pack(const struct request *request, const struct ticket_options *options,
		json_t **ret_object, struct error **ret_error);
int ticket_unpack(json_t *object, struct request *request, struct list *ret_missing,
		  struct list *ret_refused, struct error **ret_error);
/* Which directory the workspace was. */
void ticket_workspace(json_t *object, ino_t *ret_inode, uid_t *ret_owner);
/* NAME=VALUE of all of them. */
void ticket_environment(json_t *object, struct list *ret_environment);

/* ticket_open.c: those that are open, by their names alone. One that is there too much is no harm;
 * open_forget removes it where its ticket was never made. */
int open_add(const char *state, int tickets, const char *id);
void open_remove(int tickets, const char *id);
void open_forget(int tickets, const char *id);
int open_list(const char *state, int tickets, struct list *ret_ids);

/* One whose maker was killed holds all of a request: it goes at once. */
void sweep_new(int tickets, const char *id);

/* Starts its keeper, who takes over the lock that is held. */
int ticket_launch(const char *state, struct ticket *ticket, const char *program,
		  struct error **ret_error);
/* The end of one that has no keeper, with a result that says why. The lock is held. */
int ticket_conclude(const char *state, struct ticket *ticket, enum ticket_word word,
		    const char *message);
/* What is left of a ticket that is over: its question and its request go. */
void ticket_clear(const char *state, struct ticket *ticket);
