/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a person, and the answer. The caller fills in an ask, ask_terminal puts it to
 * whoever sits at the controlling terminal, and the answer comes back as a value. */
#pragma once

#include "../assess/assess.h"
#include "../base/buffer.h"
#include "../base/error.h"
#include "../base/list.h"
#include "../base/moment.h"
#include "approver.h"
#include "background.h"
#include <stdint.h>

struct opinion;

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
	ANSWER_DEFER, /* later: it stays in the queue, and its caller gets a ticket */
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

/* Whether one who has said yes may still say it, now that all have. Borrowed. */
struct vetting {
	bool (*may_still)(void *data, const char *way);
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
	const char *workspace; /* what relative paths in an answer mean */
	const char *agent, *session, *tool, *call_id, *turn;
	const char *reason;	  /* the agent's own word */
	const char *tier;	  /* what it is for an agent under trust: "high"; else NULL */
	uint64_t objection_ns;	  /* silence for so long, once somebody has seen it, is a yes; 0: it
				     is a no */
	const char *why;	  /* why it is asked: a rule's words, or the assessment's */
	const char *retry_reason; /* "command failed; retry with what it was refused?" */
	const struct assessment *assessment;
	const struct opinion *opinion;	     /* a model's, beside it; NULL: none was asked */
	const struct background *background; /* what is known around it */
	const struct list *refused;	     /* "write /etc/motd (openat by sh)" */
	const struct list *grants; /* exactly what a yes creates: "write /srv/site"; empty: the yes
				      lets the command run in the sandbox and nothing more */
	const char *covers;	   /* what a longer yes covers: "pip install"; NULL: not offered */
	const char *always_rule, *always_file; /* what "always" would write; NULL: not offered */
	const char *never_rule;		       /* what "never again" would write; the same */
	bool may_unsandbox;		       /* offer "without the sandbox" */
	bool may_defer;			       /* offer "later" */
	size_t others;			       /* runs that wait for the very same answer */
	bool starts_again;		       /* the command would start from its beginning */

	/* Code that is about to run: what kind of thing it is ("networked code"), its text, and the
	 * hosts that it may reach, which the person can change; all NULL: it is none. */
	const char *operation, *code;
	const struct list *domains;

	/* ASK_IN_PLACE: who wants what ("pip", "packages.example:443"), and what is to be known of
	 * it ("udp", "docker: equal to root"). */
	const char *program, *verb, *object, *note; /* verb: "to write", or NULL */
	const struct list *wants; /* of several at once, for which grants is the list: each in
				     words; NULL: it is about one */
	bool destroys;		  /* a yes may end what is there now */
	/* What else a yes could be to, from narrow to wide: grants and always_rule are those of the
	 * one that is asked about. */
	struct extent *extents;
	size_t extent_count, extent;
	const struct meanwhile *meanwhile; /* NULL: nothing */

	/* Who answers it, as docs/ask.schema.json has it; NULL: whoever it reaches. */
	struct json_t *route;
	const struct vetting *vetting; /* NULL: whoever could when it was put */
	const char *said;	       /* how far it has come on it */
	bool wants_reason;	       /* a yes has one */
	bool no_yes;		       /* whoever is shown it cannot say yes */
	bool goes_on;		       /* who leaves it has not answered, and others may */
};

struct answer {
	enum answer_kind kind;
	enum answer_scope scope;
	uint64_t seconds; /* of SCOPE_TIME; of ANSWER_DEFER: so long it waits, 0: as long as any */
	uint64_t uses;	  /* of a yes that lasts: by so many runs, this one included; 0: any */
	bool unsandboxed;
	bool monitor;	     /* a yes whose run is to be followed, and told of at its end */
	bool by_tier;	     /* nobody was asked: its tier says so */
	bool by_default;     /* nobody has answered: what was registered for that says so */
	uint64_t waited_ns;  /* of ANSWER_NOBODY from elsewhere: how long it stood */
	bool unsaid;	     /* a no because the terminal went away, or the one at it */
	size_t extent;	     /* which of them it is to */
	struct list domains; /* owned; of a yes to code: the hosts it may reach, and no others */
	struct list grants; /* owned; of a yes to less than was asked for: just these; else empty */
	char *reason;	    /* owned, may be NULL: for the agent */
	char *by;	    /* owned, NULL for ANSWER_NOBODY: login@terminal */
	char *question; /* owned; the id under which it was put to others, and stands where it is
			 * deferred; or NULL */

	/* Filled in by whoever remembers it. */
	char *grant;	       /* owned; the id that it is remembered under, NULL: it is not */
	struct moment expires; /* no wall: with the session, or with the run */
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
	bool queued; /* by the queue, where it is known whether somebody has seen a question */
};
extern const struct approver terminal_approver;

/* Asks on the controlling terminal, whatever the standard streams are. ANSWER_NOBODY where there is
 * none, or where ward is not in its foreground. Blocks until there is an answer, at most half an
 * hour; a pending HUP, INT, QUIT or TERM counts as a no and stays pending. A question that has
 * become obsolete ends by itself: ANSWER_NOBODY. */
int ask_terminal(const struct ask *ask, struct answer *ret_answer, struct error **ret_error);

/* True if there is somebody at a terminal of ours. */
bool terminal_is_attended(void);

/* The hosts of a line, with blanks or commas between them, each once; an error names what is none.
 */
int domains_read(const char *line, struct list *ret_domains, struct error **ret_error);
/* Grants with these hosts in place of those that were among them. */
void domains_grants(const struct list *before, const struct list *domains, struct list *ret_grants);

/* A yes may be to less than it asks for. */
bool ask_is_editable(const struct ask *ask);
/* What a person wrote in place of what the chosen extent gives: each within it, and still enough
 * for the call that waits. Fails where that is not so. */
int answer_edit(const struct list *texts, const char *workspace, const struct list *asked,
		const char *needed, struct list *ret_grants, struct error **ret_error);

/* The whole question with its choices as lines of at most `columns` (at least 40). */
void ask_render(const struct ask *ask, unsigned columns, bool colour, struct buffer *ret_text);
