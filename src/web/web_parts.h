/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the inbox share. */
#pragma once

#include "../record/eventlog.h"
#include "../record/store.h"
#include "door.h"
#include "known.h"
#include "stream.h"
#include "web.h"

struct web {
	char *state, *program;
	struct door_rules rules;
	struct buckets logins, hooks;
	struct hub hub;
	struct known_asks known;
	int epoll, changes; /* changes: inotify, or a timer where there is none to be had */
	int asks, sessions; /* directories */
	int watching;	    /* says that somebody looks for questions */
	struct list session_ids;
	uint64_t swept_ns; /* when sessions were last looked through */
	struct eventlog *log;
};

/* A request that was let in. */
struct web_call {
	struct web *web;
	const struct web_request *request;
	const struct web_session *session; /* NULL before the log-in */
	const char *cookie;
	char id[ID_TEXT]; /* in the path, where one is */
};

/* feed.c: what has changed, told to the streams. */
int feed_open(struct web *web, struct error **ret_error);
void feed_look(struct web *web);
void feed_tick(struct web *web);
void feed_close(struct web *web);

/* api_hook.c: what comes for webhooks, from whoever signs it. */
bool hook_is_meant(const struct web_request *request);
void hook_handle(struct web *web, const struct web_request *request, struct web_reply *reply);

/* One function per path; each fills the reply. */
void api_login(struct web_call *call, struct web_reply *reply);
void api_session(struct web_call *call, struct web_reply *reply);
void api_revoke(struct web_call *call, struct web_reply *reply);
void api_logout(struct web_call *call, struct web_reply *reply);
void api_asks(struct web_call *call, struct web_reply *reply);
void api_ask(struct web_call *call, struct web_reply *reply);
void api_answer(struct web_call *call, struct web_reply *reply);
void api_history(struct web_call *call, struct web_reply *reply);
void api_run(struct web_call *call, struct web_reply *reply);
void api_output(struct web_call *call, struct web_reply *reply);
void api_agents(struct web_call *call, struct web_reply *reply);
void api_stats(struct web_call *call, struct web_reply *reply);
void api_incidents(struct web_call *call, struct web_reply *reply);
void api_incident(struct web_call *call, struct web_reply *reply);
void api_incident_answer(struct web_call *call, struct web_reply *reply);
void api_events(struct web_call *call, struct web_reply *reply);

/* The body as an object, NULL where the reply says why it is none. Caller frees. */
json_t *api_body(struct web_call *call, struct web_reply *reply);
/* The store, brought up to date as far as that goes at once; NULL where the reply says why not. */
struct store *api_store(struct web_call *call, struct web_reply *reply);
