/* SPDX-License-Identifier: Apache-2.0 */
/* What may be done: the built-in policy and the caller's own flags, brought together into one
 * verdict with its permissions. */
#pragma once

#include "../assess/assess.h"
#include "../base/access.h"
#include "../base/given.h"
#include "../base/hosts.h"
#include "../base/list.h"
#include "../request/request.h"
#include "../sys/calls.h"
#include "approve.h"
#include "grants.h"

/* Paths are absolute and normalised; patterns may hold globs. */
struct permissions {
	char *workspace;	    /* links in it resolved; NULL without a sandbox */
	struct file_rules rules;    /* about files, for the search */
	struct list not_deny_names; /* last components that no default rule means */
	struct list never; /* paths and patterns that no answer opens: ward's own, and what was said
			      to be closed or read-only */
	struct list by_products; /* patterns of what is not worth a question: byproducts.h */
	struct list caches; /* in the home, to get a layer of the workspace's own; those that are
			       there */
	struct list
		needed_caches; /* those of them that are made where they are missing, and others */
	struct list own; /* directories of ward's own: a name that is not there could be made by the
			    command where that is writable */
	struct givens given; /* what answers gave and is carried out call by call, so that it ends
				when it ends: the walls do not have it */
	struct givens fixed; /* what remembered answers gave and the walls are built with */
	struct list sockets; /* real paths of host sockets */
	struct host_rules hosts; /* targets of the network, sets taken apart */
	struct list publish;	 /* "OUTSIDE:INSIDE": ports of the sandbox on the host's loopback */
	struct list environment; /* NAME=VALUE, all of it */
	struct list meant;	 /* names in it that somebody asked for, or that say who runs */
	struct list dropped;	 /* names of variables that looked secret */
	struct call_set allow_calls, deny_calls; /* the latter beat the former */
};

struct verdict {
	enum verdict_kind kind;
	const char *source; /* rule, cache, default, flag ... */
	char *reason;	    /* in words; NULL where there is nothing to say */
	char *grant;	    /* the id of the remembered answer behind it; NULL: none */
	enum approval approval;
	enum level level;
	enum network network;
	enum escalation escalation; /* how far a yes may take it */
	enum preference sandbox;    /* the request's, as far as the rules leave it to it */
	struct list wanted; /* kind ask: permissions that the request itself wants and that are part
			       of the question */
	struct list brought; /* permissions that the rules behind it give */
	struct list keep;    /* variables that are passed on although they look secret */
	char *rule;	     /* "file:line" of the rule behind it; NULL: none */
	const char *tier;    /* of an agent under trust: of what is asked, where nothing runs;
				critical, where that is why it is refused; NULL else */
	char *answered_by;   /* kind ask, where nothing runs: who would, in words; NULL: whoever it
				reaches */
	char *incident;	     /* by which it is held to safe mode; NULL: it is not */
	struct limits limits;
	struct list container; /* KEY=VALUE: what a container is made of */
	struct list require;   /* walls without which nothing runs */
	uint64_t wait_ns; /* for an answer from elsewhere, where nobody is here; 0: not at all */
	bool kills;	  /* commands of an agent that is put in safe mode end at once */
	bool trace_reads; /* what is read is shown to the supervisor, too */
	bool routed;	  /* its caller's yes counts for nothing: a route says whose does */
	struct permissions permissions;
};

/* What decide must know of the world besides the request. Borrowed. */
struct surroundings {
	const char *home, *user;  /* of the identity that will run; may be NULL */
	const char *account_home; /* of the account, whatever $HOME says; may be NULL */
	bool other_user;	  /* not the one whose environment this is */
	bool root;		  /* that identity, which has no powers in a sandbox */
	const char *state;	  /* ward's own state */
	const char *own_state;	  /* that of the identity that will run; may be NULL */
	char *const *environment;
	/* Of the workspace when it was first looked at; inode 0: whichever it is now. */
	dev_t device;
	ino_t inode;
};

struct policy;

/* The profile for code that reaches the network: it runs only after a yes to it, and reaches the
 * hosts that the yes names. */
#define CODE_NET "code-net"
bool decide_is_networked_code(const struct request *request);

/* True if the request says that it was approved, and comes from a caller whose word counts. */
bool decide_is_vouched(const struct request *request, const struct policy *policy);

/* False for a profile that nobody named where the policy says that there is to be no network: that
 * was said, and the profile was not. */
bool decide_profile_holds(const struct request *request, const struct policy *policy);

/* Everything that is looked at. Borrowed. */
struct matter {
	const struct request *request;
	const struct plan *plan;
	const struct assessment *assessment;
	struct arena *arena; /* for what is looked at again */
	const struct surroundings *surroundings;
	const struct policy *policy;
	const char *key;       /* what an answer about it is remembered by */
	const char *exact_key; /* and one about exactly this */
	bool altered; /* variables, shell or program are not the common ones: rules and answers for
			 a kind of command do not mean it */
	bool own_program;	     /* that alone: the name leads to what commands can write */
	const struct grants *grants; /* the session's answers so far; may be NULL */
	const struct list *granted;  /* permissions that answers during this run gave */
	const struct list *kept;     /* those of them that are remembered: among the grants as long
					as they hold; may be NULL */
	bool answered;		     /* a person has said yes to this run */
	bool under_trust;	     /* of an agent that trust binds */
	double trust;		     /* and its score */
	const struct list *bounds;   /* of the token that it runs under; NULL: none */
	const struct list *named;    /* those of the bounds that may open what ward protects */
	char *token;		     /* what the token is called, and when it ends; NULL: the
					bounds are those of safe mode */
	struct moment token_expires;
	const char *incident; /* that put the agent in safe mode; NULL: it is in none */
};

int decide(const struct matter *matter, struct verdict *ret_verdict, struct error **ret_error);
/* The limits alone, which nothing but the request and the policy decides; those of an unknown
 * profile are the request's. */
void decide_limits(const struct request *request, const struct policy *policy,
		   struct limits *ret_limits);
void verdict_done(struct verdict *verdict);
/* The mode as people say it: one of the sandbox's own in which everything is open is full. */
enum network verdict_reach(const struct verdict *verdict);

/* Whether it looks like one by its name. */
bool decide_is_secret_variable(const char *name);
/* Fills environment, meant and dropped. */
void decide_environment(const struct request *request, const struct surroundings *surroundings,
			enum level level, const struct list *keep, const struct list *set,
			struct permissions *permissions);
/* What there is of it in a root that comes with variables of its own. */
void decide_environment_in_image(const struct permissions *permissions, const struct list *image,
				 struct list *ret_environment);
