/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers, as a value: a name, and the door that proves it. Every door makes one by what it
 * knows for sure (the kernel's word on a peer, a session that was logged in, a signed callback),
 * never by what the answer says of itself. */
#pragma once

#include "../base/macro.h"
#include <sys/types.h>

struct approver_id {
	char *way; /* "user:alice", "web:alice", "hook:CHANNEL/ID": what policies name */
	char *by;  /* for records: "alice@pts/3" */
};

/* Whoever runs this process: the login that goes with its uid, at its terminal if it has one. */
struct approver_id approver_here(void);
/* The peer of a socket, by the uid that the kernel says it has. by: for records, or NULL. */
struct approver_id approver_of_uid(uid_t uid, const char *by);
/* The session of a browser that was logged in under that name. */
struct approver_id approver_of_web(const char *name);
/* A signed callback of a channel, for the user whom it names, by what he cannot change himself,
 * or NULL: it is the channel's word, and nobody's on a route. name: what people call him, or NULL.
 */
struct approver_id approver_of_hook(const char *channel, const char *user, const char *name);
/* The program that a channel is, which answers by itself: hook:CHANNEL/program. */
struct approver_id approver_of_program(const char *channel);
/* Somebody whom root speaks for. */
struct approver_id approver_as(const char *login);
void approver_id_done(struct approver_id *id);
#define _cleanup_approver_id_ _cleanup_(approver_id_done)

/* The login that goes with a uid, or the number. Caller frees. */
char *login_of(uid_t uid);
/* Whoever calls: "login@pts/3", or "login" where there is no terminal. Caller frees. */
char *approver_name(void);
/* The same for a terminal that is open; -1: none. */
char *approver_name_at(int terminal);
