/* SPDX-License-Identifier: Apache-2.0 */
/* A request carried out from its first look to its record. */
#pragma once

#include "request/result.h"
#include <sys/types.h>

/* Who hears what there is to say to a person besides the result, when there is: one line each,
 * already fit for a terminal. */
struct approver;
struct audience {
	void (*say)(void *data, const char *text);
	void *data;
	const struct approver *approver;     /* who is asked; NULL: whoever sits at the terminal */
	const struct resumption *resumption; /* NULL: it ends with its caller */
};

/* A request that goes on without its caller, or could. Any may be NULL. */
struct deferred;
struct resumption {
	/* The command begins when this has returned 0, and not before. */
	int (*begin)(void *data, const char *run, struct error **ret_error);
	/* What it was refused when it ran before: asked for before the start, with how that is put
	 * to a person. Empty: nothing. */
	const struct list *missing, *refused;
	/* A yes came, and the policy is not what it was when its question was put: nothing was
	 * taken of it, and all begins anew. */
	void (*stale)(void *data);
	/* The workspace that was asked about; inode 0: whichever has the name. Without the device,
	 * whose number may be another after a boot. */
	ino_t inode;
	uid_t owner;
	/* A person answers later: makes a ticket of it, by which it goes on. NULL: that cannot be.
	 * Caller frees. */
	int (*defer)(void *data, const char *state, const struct request *request,
		     const struct deferred *deferred, char **ret_ticket, struct error **ret_error);
	void *data;
};

/* What is left to do of a request that waits for its answer. */
struct deferred {
	const char *question; /* the id under which it stands in the queue; NULL: nowhere yet */
	const char *session;  /* may be NULL */
	uint64_t patience_ns; /* for its answer; 0: as long as any */
	const struct list *missing; /* of a command that has run: what it was refused; NULL: it is
				       yet to start */
	const struct list *refused;
	ino_t inode; /* of the workspace, with its owner */
	uid_t owner;
};

struct assessment;
struct plan;
struct verdict;

/* What would be decided about a request, with nothing run and nothing recorded: show is called once
 * with what was found. Reports as if a person could be asked. */
int flow_check(const struct request *request,
	       void (*show)(const struct plan *plan, const struct assessment *assessment,
			    const struct verdict *verdict, void *data),
	       void *data, struct error **ret_error);
/* Whether a route of the policy says who answers the question whether the request may have these:
 * then nobody else's yes is one. In doubt it does. */
struct list;
bool flow_is_routed(const struct request *request, const struct list *grants);
/* Reads the policy that the request would be judged by, so that children of this process need not.
 * What is wrong with it is said when the request is carried out. */
void flow_warm(const struct request *request);

/* A person's command line that is an agent's program and says nothing else about its profile or
 * network takes the profile of that agent, where the policy does not close the network. */
void flow_imply_profile(struct request *request);

/* Always fills *ret_result, whatever happens. audience may be NULL. */
void flow_run(const struct request *request, const struct audience *audience,
	      struct result *ret_result);
