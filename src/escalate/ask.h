/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a person, and the answer. The caller fills in an ask, ask_terminal puts it to
 * whoever sits at the controlling terminal, and the answer comes back as a value. */
#pragma once

#include "../assess/assess.h"
#include "../base/buffer.h"
#include "../base/error.h"
#include "../base/list.h"
#include <stdint.h>

enum ask_kind {
	ASK_BEFORE,   /* may it run? */
	ASK_RETRY,    /* may it have what it was refused? */
	ASK_IN_PLACE, /* may it have what it waits for? */
};

enum answer_kind {
	ANSWER_NOBODY, /* nobody could be asked */
	ANSWER_APPROVE,
	ANSWER_DENY,
	ANSWER_ABORT,
};

/* Of a no: once, for the session, or always (never again). */
enum answer_scope { SCOPE_ONCE, SCOPE_SESSION, SCOPE_TIME, SCOPE_ALWAYS };

/* What must go on while a person thinks. Borrowed. */
struct meanwhile {
	int fd; /* readable when there is something to do */
	void (*serve)(void *data);
	bool (*obsolete)(void *data); /* nobody waits for the answer any more */
	void *data;
};

/* How far a yes reaches: its name in a few words, exactly what it creates, and the rule that
 * "always" would write, NULL: none. */
struct extent {
	const char *name;
	const struct list *grants;
	const char *rule;
};

/* Borrowed, all of it, and raw as it came from the agent or the kernel: escaping is done here. NULL
 * where there is nothing to say. */
struct ask {
	enum ask_kind kind;
	const char *command, *cwd;
	const char *agent, *session, *tool, *call_id, *turn;
	const char *reason;	  /* the agent's own word */
	const char *why;	  /* why it is asked: a rule's words, or the assessment's */
	const char *retry_reason; /* "command failed; retry with what it was refused?" */
	const struct assessment *assessment;
	const struct list *refused; /* "write /etc/motd (openat by sh)" */
	const struct list *grants;  /* exactly what a yes creates: "write /srv/site"; empty: the yes
				       lets the command run in the sandbox and nothing more */
	const char *covers;	    /* what a longer yes covers: "pip install"; NULL: not offered */
	const char *always_rule, *always_file; /* what "always" would write; NULL: not offered */
	const char *never_rule;		       /* what "never again" would write; the same */
	bool may_unsandbox;		       /* offer "without the sandbox" */
	bool starts_again;		       /* the command would start from its beginning */

	/* Code that is about to run: what kind of thing it is ("networked code"), its text, and the
	 * hosts that it may reach, which the person can change; all NULL: it is none. */
	const char *operation, *code;
	const struct list *domains;

	/* ASK_IN_PLACE: who wants what ("pip", "packages.example:443"), and what is to be known of
	 * it ("udp", "docker: equal to root"). */
	const char *program, *verb, *object, *note; /* verb: "to write", or NULL */
	bool destroys;				    /* a yes may end what is there now */
	/* What else a yes could be to, from narrow to wide: grants and always_rule are those of the
	 * one that is asked about. */
	struct extent *extents;
	size_t extent_count, extent;
	const struct meanwhile *meanwhile; /* NULL: nothing */
};

struct answer {
	enum answer_kind kind;
	enum answer_scope scope;
	uint64_t seconds; /* of SCOPE_TIME */
	bool unsandboxed;
	bool unsaid;	     /* a no because the terminal went away, or the one at it */
	size_t extent;	     /* which of them it is to */
	struct list domains; /* owned; of a yes to code: the hosts it may reach, and no others */
	char *reason;	     /* owned, may be NULL: for the agent */
	char *by;	     /* owned, NULL for ANSWER_NOBODY: login@terminal */

	/* Filled in by whoever remembers it. */
	char *grant;	 /* owned; the id that it is remembered under, NULL: it is not */
	int64_t expires; /* seconds since 1970; 0: with the session, or with the run */
};

void answer_done(struct answer *answer);
#define _cleanup_answer_ _cleanup_(answer_done)

/* Who answers: the person at the terminal, or somebody far away. */
struct approver {
	bool (*is_there)(void *data); /* somebody could be asked now */
	/* Blocks until there is an answer; ANSWER_NOBODY where there is none to be had. */
	int (*ask)(void *data, const struct ask *ask, struct answer *ret_answer,
		   struct error **ret_error);
	void (*tell)(void *data, const char *text); /* one line, to be read and not answered */
	void *data;
};
extern const struct approver terminal_approver;

/* Asks on the controlling terminal, whatever the standard streams are. ANSWER_NOBODY where there is
 * none, or where ward is not in its foreground. Blocks until there is an answer, at most half an
 * hour; a pending HUP, INT, QUIT or TERM counts as a no and stays pending. A question that has
 * become obsolete ends by itself: ANSWER_NOBODY. */
int ask_terminal(const struct ask *ask, struct answer *ret_answer, struct error **ret_error);

/* True if there is somebody at a terminal of ours. */
bool terminal_is_attended(void);
/* Whoever calls: "login@pts/3", or "login" where there is no terminal. Caller frees. */
char *approver_name(void);

/* The hosts of a line, with blanks or commas between them, each once; an error names what is none.
 */
int domains_read(const char *line, struct list *ret_domains, struct error **ret_error);
/* Grants with these hosts in place of those that were among them. */
void domains_grants(const struct list *before, const struct list *domains, struct list *ret_grants);

/* The whole question with its choices as lines of at most `columns` (at least 40). */
void ask_render(const struct ask *ask, unsigned columns, bool colour, struct buffer *ret_text);
