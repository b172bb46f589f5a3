/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files: what is built in, what the machine, the user and the project say, and a file named
 * by the caller, laid over each other into one value. docs/policy.md is the reference.
 *
 * policy_load() once per request (or as long as policy_is_current()), policy_profile() for the
 * profile that was asked for, policy_match() for each simple command of the plan, policy_free(). */
#pragma once

#include "approve.h"
#include "condition.h"
#include "notify.h"
#include "routes.h"
#include "tiers.h"
#include "trust.h"
#include "../parse/plan.h"
#include <sys/types.h>

struct policy_places {
	const char *workspace;	 /* absolute */
	const char *home;	 /* may be NULL: no user file then, unless config_home is given */
	const char *config_home; /* XDG_CONFIG_HOME or NULL */
	const char *state;	 /* where trust is kept; may be NULL: nothing is trusted */
	const char *extra;	 /* --policy or NULL */
	bool foreign_extra;	 /* it was not a person who named it: it can only narrow */
	const char *session;	 /* what was registered for the session, or NULL */
	const char *system;	 /* NULL: /etc/ward/ward.yaml */
	const char *profile; /* the one that is wanted: those of agents are read only then; NULL:
				none, "*": all */
	uid_t uid;	     /* whose word counts */
	bool brief;	     /* what is odd about the rules is not looked for */
	const struct list *walls; /* the names that `require` may hold; NULL: any word */
};

/* What a section `sandbox` or a profile says. Paths, hosts and patterns are as they were written:
 * relative paths are relative to the workspace, ~ is home. */
struct sandbox_policy {
	bool has_level;
	enum level level;
	bool has_network;
	enum network network;
	bool has_caches;
	enum caches caches;
	bool has_escalation;
	enum escalation escalation;
	struct list read, write, read_only, deny;
	struct list make; /* may be made, written, replaced and removed by name, also before they
			     are there: the supervisor does it */
	struct list hold; /* as read_only, but opens nothing: said by a file that may only narrow */
	struct list allow_hosts, deny_hosts;
	struct list publish;   /* OUTSIDE[:INSIDE] */
	struct list container; /* KEY=VALUE, each key once */
	struct list sockets;
	struct list keep_env, set_env;	     /* NAME; NAME=VALUE, each name once */
	struct list require;		     /* names of walls without which nothing runs */
	bool has_trace_reads, trace_reads;   /* what is read is shown to the supervisor */
	bool has_on_violation, kills;	     /* commands of agents in safe mode end at once */
	struct list allow_calls, deny_calls; /* system calls by name */
	struct limits limits;		     /* 0: nothing is said */
};

struct profile {
	char *name;
	struct sandbox_policy sandbox; /* complete: the section `sandbox` is already in it */
	struct limits built_in;	       /* hold where no file sets more or less for the profile */
	char *file;		       /* that spoke of it last; NULL: built in */
	int line;
};

/* How the members of a set become one word about a command. */
enum combine {
	COMBINE_DENY_OVERRIDES,
	COMBINE_FIRST_MATCH,
	COMBINE_PRIORITY,
	COMBINE_ALL_OF,
	COMBINE_ANY_OF,
};
const char *combine_name(enum combine combine);

/* An entry of rules that holds rules. What it says of a command is what one of them says. */
struct rule_set {
	char *name; /* NULL: none */
	enum combine combine;
	int priority;
	struct condition *when, *unless; /* each may be NULL */
	int parent;			 /* the set it stands in; -1: none */
	size_t position;		 /* among the members of what it stands in */
	size_t first, end;		 /* its rules and those of sets in it, as a range of all */
	size_t member_count;		 /* rules and sets right in it */
	size_t otherwise;		 /* the rule for what no member speaks of; SIZE_MAX: none */
	char *file;
	int line;
	bool trusted;
	int layer;
};

struct rule {
	char *pattern;	     /* of an exact rule: what to call it */
	bool any;	     /* no command was named: pattern is a star */
	struct list exactly; /* the words of the one command that it means (exact.h); empty: none */
	char *in;	     /* with exactly: the directory it is run in; NULL: any */
	enum verdict_kind kind;
	char *why;		 /* NULL: none was given */
	struct list permissions; /* "OPERATION RESOURCE" that come with a yes */
	char *file;
	int line;
	bool trusted;
	int layer;			 /* the greater, the later */
	struct pattern *compiled;	 /* of pattern; NULL: it is exact */
	struct condition *when, *unless; /* condition.h; each may be NULL */
	enum preference sandbox;	 /* of whoever runs such a command */
	int priority;			 /* in a set that goes by it */
	int set;			 /* that it stands in; -1: none */
	size_t position;		 /* among the members of that */
};

/* A program whose requests may say that they were approved. */
struct caller_rule {
	char *program; /* absolute */
	bool has_uid;
	uid_t uid; /* whose process it is; else whoever ward runs as */
	bool approve;
	char *file;
	int line;
};

/* How the questions of a session are handled, where somebody has registered that for it. */
struct session_asks {
	bool registered;
	bool queued, allows; /* the caller gets a ticket; what stays in the sandbox may run where
				nobody answers */
	uint64_t timeout_ns; /* 0: the usual */
};
enum { SESSION_ASKS_SECONDS = 7 * 24 * 3600 }; /* that one may wait for at most */

/* A program that is told of events, outside the sandbox. */
struct listener_rule {
	struct list program; /* its argv; the first is absolute */
	struct list kinds;   /* of events; empty: all */
	struct list agents;  /* patterns; empty: all, and runs without one */
	uint64_t timeout_ns; /* for what is left when a run has ended */
	char *file;
	int line;
};

/* A model that is asked for an opinion on what a person is asked about. */
struct assessor {
	char *url, *model; /* NULL: none is asked */
	char *key_file, *key_variable, *ca_file;
	uint64_t timeout_ns;
	bool without_directory, without_denial; /* these are not sent */
	char *file;
	int line;
};
#define ASSESSOR_TIME_NS (5 * UINT64_C(1000000000))

struct policy {
	struct session_asks asks;
	bool configured; /* any file was there */
	bool has_approval;
	enum approval approval;
	uint64_t wait_ns;   /* for an answer from elsewhere; 0: not at all */
	struct tiers tiers; /* whom they bind, and what files say of them */
	struct trust_rules trust;
	struct sandbox_policy sandbox;
	struct profile *profiles;
	size_t profile_count;
	struct rule *rules;
	size_t rule_count;
	struct rule_set *sets; /* each before those in it */
	size_t set_count;
	struct policy_index *index; /* of the rules */
	struct caller_rule *callers;
	size_t caller_count;
	struct listener_rule *listeners;
	size_t listener_count;
	struct routing routing; /* who answers what */
	struct assessor assessor;
	struct notify notify;
	struct list warnings; /* "file:line:column: text" */
	struct list ignored;  /* those of the warnings that trusting the project would lift */
	struct list files;    /* that were read, in their order */
	char *home;
	uid_t uid;	      /* whose word counts */
	struct stamp *stamps; /* of every place that was looked at */
	size_t stamp_count;
};

/* A file that cannot be read, is not safe to believe or does not validate is an error with its
 * place; one that does not exist is no layer. */
int policy_load(const struct policy_places *places, struct policy **ret_policy,
		struct error **ret_error);
/* Where the files lie that policy_load() reads if they exist, in the order of the layers. */
void policy_paths(const struct policy_places *places, struct list *paths);
void policy_free(struct policy *policy);
/* The same, kept from the last call of this process as long as the places are the same and no file
 * has changed. Borrowed, until the next call. */
int policy_current(const struct policy_places *places, const struct policy **ret_policy,
		   struct error **ret_error);
static inline void policy_freep(struct policy **policy)
{
	policy_free(*policy);
}
#define _cleanup_policy_ _cleanup_(policy_freep)

/* No file that it was made from has changed (device, inode, size, ctime), none has come or gone. */
bool policy_is_current(const struct policy *policy);

/* Whether two were made from the same files (what is trusted aside). */
bool policy_same_files(const struct policy *one, const struct policy *other);

/* One file by itself, as text; the file system is not touched. Its warnings are added. */
enum { POLICY_LIMIT = 4 * 1024 * 1024 };
int policy_parse(const char *text, size_t length, const char *name, const struct list *walls,
		 struct list *warnings, struct error **ret_error);
/* The same for a file, whoever it belongs to. */
int policy_check_file(const char *path, const struct list *walls, struct list *warnings,
		      struct error **ret_error);

/* The built-in profile of the agent that is this program, or NULL. */
const char *policy_profile_of(const char *program);
/* Unknown: an error that lists the known ones. */
int policy_profile(const struct policy *policy, const char *name, const struct sandbox_policy **ret,
		   struct error **ret_error);
/* The rule for the simple command that begins at argv[first] and for every command that it wraps,
 * or NULL; exact rules are not among them, exact.h has those. Deny beats ask beats allow, but in
 * sets that say otherwise; within one kind it is the last layer's first rule. Circumstances (may be
 * NULL) that are not known speak against the command. */
const struct rule *policy_match_in(const struct policy *policy,
				   const struct circumstances *circumstances,
				   const struct command *command, size_t first);
/* False where the rule matches only because a word of the command is not known before it runs, or
 * something of the circumstances. */
bool policy_match_is_certain_in(const struct policy *policy, const struct rule *rule,
				const struct circumstances *circumstances,
				const struct command *command, size_t first);
/* The same where nothing is known of the circumstances. */
const struct rule *policy_match(const struct policy *policy, const struct command *command,
				size_t first);
bool policy_match_is_certain(const struct policy *policy, const struct rule *rule,
			     const struct command *command, size_t first);

/* The rule, ask or deny, for a program that is being started, or NULL. names: what it may go by,
 * each a path or a word, the file itself and the path that was used first; one that matches is
 * enough, for whoever starts it chooses some of them. words: its argv, of which the first counts
 * for nothing. Rules about redirections or variables say nothing here. Safe to call for any bytes.
 */
const struct rule *policy_match_started(const struct policy *policy,
					const struct circumstances *circumstances,
					const char *const *names, size_t name_count,
					char *const *words, size_t count);
/* True if any rule could mean a program that is started. */
bool policy_has_rules_for_programs(const struct policy *policy);

/* Runs whatever it is told to, or as somebody else: allowing it allows everything. */
bool policy_is_interpreter(const char *program);

/* True of a file that a command could have put there, or could change, by whatever the policy and
 * the request say anywhere. path: absolute, else it is none. */
bool policy_exposes(const struct policy *policy, const struct request *request, const char *path);
/* The entry that lets whoever sends the request approve it, or NULL. */
const struct caller_rule *policy_caller(const struct policy *policy, const struct request *request);

bool listener_wants_agent(const struct listener_rule *rule, const char *agent);
/* Why its program must not be started, in words, or NULL: a command could have changed it. */
const char *listener_fault(const struct policy *policy, const struct listener_rule *rule,
			   const struct request *request);

/* The key of the assessor; NULL where it needs none. Caller frees. Fails where it cannot be had, or
 * is open to others. */
int assessor_key(const struct policy *policy, char **ret_key, struct error **ret_error);
/* NULL: the system's. Caller frees. */
char *assessor_ca_file(const struct policy *policy);

/* From now on the project file in directory, as it is now, is believed; a change ends that. */
int policy_trust(const char *state, const char *directory, struct error **ret_error);
/* Not being trusted is no error. */
int policy_untrust(const char *state, const char *directory, struct error **ret_error);
