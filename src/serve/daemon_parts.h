/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the daemon share. One process, one loop: everything that is waited for is a
 * source, and one is served at a time. What could take long is done in a process of its own
 * (daemon_work.c). */
#pragma once

#include "daemon.h"
#include "../request/request.h"
#include "jsonrpc.h"
#include "wire.h"
#include <stdint.h>
#include <sys/socket.h>

/* The bounds on what clients control; docs/protocol.md states them. */
enum {
	CLIENT_LINE = 1 << 20,	      /* bytes of a message */
	CLIENT_KEEPS = 8 << 20,	      /* bytes that wait for a reader before he is left */
	CLIENT_PAUSES = 256 << 10,    /* bytes that wait before nothing more is made for him */
	CLIENT_CALLS = 64,	      /* of a connection that are not answered yet */
	CLIENT_BURST = 200,	      /* messages at once, */
	CLIENT_RATE = 100,	      /* and in each second after that */
	CLIENT_PATIENCE_SECONDS = 30, /* with half a line, or with one who does not read */
	CONNECTIONS_AGENT = 320,      /* at once */
	CONNECTIONS_APPROVER = 32,
	CONNECTIONS_PROCESS = 240, /* of one peer */
	CONNECTIONS_SHARE = 4,	   /* of the system's, one user but root has at most this part */
	WORKERS = 8,		   /* at once */
	WORKERS_CLIENT = 4,
	WORKER_SECONDS = 60,
	WORKER_MOST = 6 << 20, /* bytes of an answer */
	AGENT_TICKETS = 300,   /* that wait or run, of one named agent */
	LIST_MOST = 1000,      /* entries of a list */
	LIST_BYTES = 4 << 20,
	ID_MOST = 256, /* bytes of a request's id */
};

struct daemon;
struct client;

struct source {
	int fd;
	void (*serve)(struct source *source, uint32_t events);
};

/* A request that was not answered yet. */
struct call {
	struct client *client;
	json_t *id;
	struct call *next;
	uint64_t deadline; /* 0: none */
	/* Looks whether it can be answered. */
	void (*look)(struct call *call);
	void (*expire)(struct call *call);
	void (*leave)(struct call *call); /* before it is freed; may be NULL */

	/* Of work in a process of its own. */
	struct source pipe;
	int pid;
	struct buffer heard;
	void (*done)(struct call *call, json_t *answer); /* NULL: it goes to the client as it is */

	/* Of one that waits for a ticket. */
	char *ticket;
	int watch; /* -1: none */
	bool streams, ends_with_client, cancelled;
	bool bare;   /* its answer is the result alone */
	bool queued; /* and is that it is put off, where somebody is asked before its start */
	int force;   /* how hard it was told to end */
	uint64_t offsets[3];
	uint64_t until; /* when the wait ends without a result; 0: never */
};

struct client {
	struct source source;
	struct daemon *daemon;
	struct client *next;
	enum door_side side;
	struct ucred peer;
	int pidfd;
	struct caller caller; /* in a process of its own for work: whose program it is */
	char *by;	      /* "python3[4711]": for records */
	struct wire wire;
	struct call *calls;
	size_t call_count, worker_count;
	uint32_t listens;		  /* what is waited for */
	double tokens;			  /* messages that it may still send at once */
	uint64_t counted;		  /* when they were counted */
	uint64_t line_since, stuck_since; /* half a line, or unread answers, are there */
	bool gone;
	bool unsettled;	  /* system: it has yet to say for whom it speaks */
	bool leaves_runs; /* the daemon ends, not the client: what it began goes on */
	bool follows_asks, follows_tickets;
};

struct daemon {
	const struct daemon_options *options;
	const char *state;
	int epoll, watched; /* watched: says that questions may be put to the queue */
	struct source signals, timer, listeners[DOOR_SIDES], changes;
	int asks_watch, tickets_watch;
	struct client *clients;
	size_t counts[DOOR_SIDES], worker_count;
	struct daemon_peer {
		pid_t pid;
		uid_t uid;
		enum door_side side;
	} * peers; /* system: the processes that serve one each */
	size_t peer_count;
	pid_t pid;
	pid_t parent;  /* of a process that serves one peer: the daemon */
	uint64_t next; /* that the timer is set to */
	bool over;
};

/* daemon.c */
int daemon_add(struct daemon *daemon, struct source *source, uint32_t events);
void daemon_change(struct daemon *daemon, struct source *source, uint32_t events);
void daemon_remove(struct daemon *daemon, struct source *source);

/* daemon_client.c: takes fd over. */
void client_accept(struct daemon *daemon, enum door_side side, int fd);
void client_free(struct client *client);
/* What it is to be waited for now; or its end. Called after all that may have changed it. */
void client_settle(struct client *client);
/* When something must be done about it by itself; 0: never. */
uint64_t client_deadline(const struct client *client);
void client_expire(struct client *client, uint64_t now);
/* Answers; each takes its object over. */
void client_result(struct client *client, json_t *id, json_t *result);
void client_error(struct client *client, json_t *id, int code, const char *message,
		  const char *hint);
void client_failure(struct client *client, json_t *id, const struct error *failure);
void client_notify(struct client *client, const char *method, json_t *params);
int failure_code(const struct error *failure);
/* A request of that client, as a run gets it. */
int client_request(struct client *client, json_t *params, struct request *request,
		   struct error **ret_error);
/* The session of its process, where the request names none. Caller frees. */
char *client_session(const struct client *client, const struct request *request);
struct call *call_new(struct client *client, json_t *id);
void call_free(struct call *call);

enum {
	TOO_MANY = -32000,
	CANCELLED = -32001,
	NOT_FOUND = -32002,
};

/* daemon_methods.c: one line of a client. Safe for any bytes. */
void methods_serve(struct client *client, const char *line, size_t length);
/* The table, for the test that holds the document against it: NULL at its end. */
const char *method_name(size_t number, bool *ret_agent, bool *ret_approver);

typedef void method_function(struct client *client, json_t *id, json_t *params);
/* daemon_runs.c */
method_function method_run, method_start, method_tickets, method_retry;
/* daemon_waits.c */
method_function method_wait, method_output, method_stream, method_status, method_cancel;
/* The id of a ticket among the params; NULL, and an error was sent, where there is none. */
const char *param_ticket(struct client *client, json_t *id, json_t *params);
/* A call that is answered when the ticket has ended; and a look whether it has, which may free it.
 */
struct call *wait_start(struct client *client, json_t *id, const char *ticket, bool streams);
void wait_look(struct call *call);
/* daemon_asks.c */
method_function method_ask_status, method_pending, method_show, method_seen, method_approve,
	method_deny, method_defer, method_reply, method_abort;
/* daemon_looks.c */
method_function method_check, method_sessions, method_runs, method_follow;
/* daemon_events.c */
method_function method_events;
/* daemon_policy.c */
method_function method_policy_register, method_policy_forget, method_policies;
/* daemon_trust.c */
method_function method_trust_score, method_trust_note;

/* daemon_work.c: work(params, ...) in a process of its own, that is the user's alone to hold up. It
 * makes a result, or fails. done: NULL, or what becomes of the answer, an object with result or
 * error. */
typedef int work_function(struct client *client, json_t *params, json_t **ret_result,
			  struct error **ret_error);
void work_start(struct client *client, json_t *id, json_t *params, work_function *work,
		void (*done)(struct call *call, json_t *answer));

/* In the child of such a work: nothing of the daemon's is left but the pipe, which is fd 3. */
int work_settle_in(int pipe, pid_t daemon);
/* A response with that result, or that failure. */
json_t *work_answer(json_t *id, json_t *result, const struct error *error);
/* Tickets that nobody keeps get a keeper. */
void work_adopt(struct daemon *daemon);

/* daemon_looks.c: a list of bounded length, the newest; "more" says that there is more. */
struct listing {
	json_t *items;
	size_t limit, bytes;
	bool more;
};
struct listing listing_new(json_t *params);
void listing_add(struct listing *listing, json_t *item);
json_t *listing_end(struct listing *listing, const char *name);

/* daemon_watch.c: waits for changes of files. */
int watch_open(struct daemon *daemon, struct error **ret_error);
int watch_ticket(struct daemon *daemon, const char *ticket);
void watch_forget(struct daemon *daemon, int watch);
void watch_directories(struct daemon *daemon);

/* daemon_peer.c: in a process of its own, becomes the user with that number. */
int peer_become(struct client *client, uid_t uid, struct error **ret_error);
/* "python3[4711]". Caller frees. */
char *peer_name(const struct ucred *peer);
