/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent wants done. Made once, from flags or JSON, and never changed afterwards. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum mode { MODE_EXEC, MODE_SHELL, MODE_PATCH };
enum level { LEVEL_NONE, LEVEL_RESTRICTED, LEVEL_CONTAINER };
enum network { NETWORK_NONE, NETWORK_RESTRICTED, NETWORK_FULL };
/* When a person is asked: docs/policy.md has the table. */
enum approval {
	APPROVAL_NEVER,
	APPROVAL_ON_FAILURE,
	APPROVAL_ON_REQUEST,
	APPROVAL_UNLESS_TRUSTED,
};
/* Caches in the home directory: a layer of the workspace's own over each, or as all the rest. */
enum caches { CACHES_PRIVATE, CACHES_OFF };
/* What the caller's tool wants of the sandbox. */
enum preference { PREFERENCE_AUTO, PREFERENCE_REQUIRE, PREFERENCE_FORBID };
/* How far beyond its level a command may go if a person says so, each step by its own permission:
 * not at all, into a container, out of any sandbox. */
enum escalation { ESCALATION_NONE, ESCALATION_CONTAINER, ESCALATION_UNSANDBOXED };

/* 0 means: no limit of its own, the default applies. */
struct limits {
	uint64_t memory;    /* bytes */
	uint64_t millicpus; /* thousandths of one CPU */
	uint64_t cpu_ns;
	uint64_t processes;
	uint64_t disk;	 /* bytes written */
	uint64_t output; /* bytes of output after which the run ends */
	uint64_t time_ns;
	uint64_t idle_ns;
	uint64_t files; /* open at once in one process */
};

/* The program that sends a request, as far as that is known for sure. Never part of the JSON. */
struct caller {
	char *program; /* its file; NULL: not known */
	dev_t device;
	ino_t inode;
	uid_t uid;
};

struct request {
	enum mode mode;
	struct list argv;	/* exec and patch: the command; empty for shell */
	char *script;		/* shell: the text after -c */
	char *shell;		/* NULL: bash, else sh */
	bool login;		/* load the user's profile */
	char *approval_command; /* what a person is shown; NULL: the command itself */

	char *workspace; /* absolute; the writable tree */
	char *cwd;	 /* absolute; where the command starts */
	enum level level;
	enum network network;
	enum caches caches;
	bool has_level, has_network, has_approval,
		has_caches; /* said by the caller, not the default */
	enum approval approval;
	enum preference sandbox;
	bool escalated;		    /* wants to start without the sandbox */
	enum escalation escalation; /* and no further than the policy has it */
	char *policy, *profile;	    /* a file of its own, a named profile; each may be NULL */
	bool profile_implied;	    /* nobody named it: the command is that agent */
	struct list read, write, read_only, deny, make; /* file rules as given: paths or globs */
	struct list sockets;				/* host sockets by name or path */
	struct list environment;			/* NAME=VALUE to set */
	struct list keep_environment;			/* names to keep though they look secret */
	struct list allow_calls, deny_calls; /* system calls by name, besides the common ones */
	struct list require;		     /* names of walls without which nothing runs */
	bool trace_reads;		     /* what it reads is shown to the supervisor, too */
	struct list allow_hosts, deny_hosts; /* as a policy writes them */
	struct list publish;		     /* OUTSIDE[:INSIDE]: ports */
	struct list container;		     /* KEY=VALUE, see base/container_word.h */
	struct limits limits;
	uint64_t wait_ns;     /* for an answer from elsewhere, where nobody sits at a terminal */
	uint64_t keep_output; /* bytes of each stream kept for the result */

	char *agent, *session, *tool, *call_id, *turn,
		*reason; /* who asks, and why; each may be NULL */
	char *token;	 /* that it runs under; may be NULL. Never shown, never on record */
	char *asked;	 /* the id of a question that the caller has put to its user; may be NULL */
	bool requires_approval; /* the caller's tool wants a yes, whatever else is said */
	bool approved, approved_by_policy; /* the caller says that somebody has said yes, or its own
					      policy; believed only where ward's policy names it */
	struct list sandbox_warnings;	   /* that the caller has to add to the result */
	struct caller caller;
	bool json, quiet, no_pty;
	bool unattended;    /* the terminal is in the hands of an agent: nobody is asked there */
	bool foreign;	    /* another program's request, not a person's command line */
	char *bound;	    /* foreign: the directory that it was started for; may be NULL */
	bool profile_bound; /* foreign: the profile is that of whoever started it, too */
};

void request_init(struct request *request);
void request_done(struct request *request);
#define _cleanup_request_ _cleanup_(request_done)

/* One word for each value and back; NULL or -1 for what is not one. */
const char *level_name(enum level level);
int level_from_name(const char *name);
const char *network_name(enum network network);
int network_from_name(const char *name);
const char *mode_name(enum mode mode);
const char *approval_name(enum approval approval);
int approval_from_name(const char *name);
const char *caches_name(enum caches caches);
int caches_from_name(const char *name);
const char *preference_name(enum preference preference);
int preference_from_name(const char *name);
const char *escalation_name(enum escalation escalation);
int escalation_from_name(const char *name);

/* The command as one line of shell text, for people and records. Caller frees. */
char *request_command_text(const struct request *request);

enum { CALLER_WARNINGS = 100, CALLER_WARNING_LENGTH = 4096 };

/* The JSON form, keys as the flags of `ward run` are called ("workspace", "cwd", "level", "net",
 * "read", "write", "read_only", "deny", "env", "keep_env", "timeout", ...) plus "argv" or
 * "command". "tool_name" is another word for "tool". At most REQUEST_LIMIT bytes; unknown keys,
 * wrong types, NUL and text that is not UTF-8 are errors that name the key. Fields that are absent
 * keep what request_init gave. On failure nothing in *request has changed. */
enum { REQUEST_LIMIT = 4 * 1024 * 1024 };
int request_from_json(const char *text, size_t length, struct request *request,
		      struct error **ret_error);
json_t *request_to_json(const struct request *request);
