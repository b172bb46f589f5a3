/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the flow share: flow.c carries a request out, flow_ask.c asks about it. */
#pragma once

#include "assess/assess.h"
#include "decide/decide.h"
#include "decide/key.h"
#include "decide/policy.h"
#include "escalate/ask.h"
#include "escalate/queue.h"
#include "flow.h"
#include "observe/observe.h"
#include "record/audit.h"
#include "record/caches.h"
#include "record/events.h"
#include "record/session.h"
#include "run/mode.h"
#include "run/run.h"
#include "sandbox/accounts.h"
#include "sandbox/cgroup.h"
#include "sandbox/find.h"
#include "sandbox/identity.h"
#include "sandbox/ladder.h"
#include "sandbox/sandbox.h"

#include <sys/stat.h>

/* Everything one request owns on its way. */
struct flow {
	const struct request *request;
	const struct audience *audience;
	const struct approver *approver; /* who is asked first */
	struct queue queue;		 /* where else questions are put, as long as one waits */
	struct approver queued;
	struct result *result;
	struct arena *arena;
	char *company, *quarantine; /* see struct observed */
	char *state, *own_state;    /* ward's, and that of whoever the command runs as */
	struct audit *audit;
	struct identity identity;
	struct session session;
	struct plan plan;
	struct assessment assessment;
	const struct policy *policy;
	struct approval_key key;
	struct grants grants;	    /* the session's answers so far */
	struct list for_good;	    /* and those that a rule was written for */
	struct list kept;	    /* those of the granted that are remembered */
	struct stat answers;	    /* the file of the session's answers, as it was when read */
	bool answers_changed;	    /* since the observer was told */
	struct list granted, asked; /* by answers during this run; and what was asked for */
	struct list refused;	    /* what was asked for while a call waited, and not given */
	struct list remarks;	    /* to be said when the command no longer has the terminal */
	bool told_silenced;	    /* that it asks too much */
	bool aborted;		    /* a person has ended the run */
	bool told_to_end;	    /* whoever started us wants it to end */
	struct error *failure;	    /* or an answer could not be recorded */
	bool answered;		    /* a person has said yes to it */
	struct dispositions before; /* how signals were when we were called */
	struct input_mark input;    /* and standard input */
	bool begun;		    /* its start is on record */
	struct cgroup *group;	    /* for its limits; NULL: none, or none to be had */

	/* Of one attempt. */
	struct verdict verdict;
	struct prepared prepared;
	struct streams streams;
	struct masks masks;
	struct list mask_paths, writable; /* writable as seen inside, /tmp included */
	struct buffer users, groups;	  /* names inside */
	struct entry entry;
	enum level entry_level;
	enum network entry_network;
	struct observed observed; /* what the observer borrows */
	struct programs programs; /* the same */
	struct list program_rules, candidates;
	struct observer *observer;
	bool traced;		    /* what is read is shown to it */
	struct published published; /* until the observer has it */
	struct run *run;	    /* while it is served */

	/* Layers over caches. */
	struct cache_slot cache_slot; /* where they are kept; empty: not asked for yet */
	struct list caches;	      /* that get one in this attempt */
	char *cache_home;	      /* in which they lie, links in it resolved */
	bool caches_read_only;
};

/* flow_state.c */
void flow_init(struct flow *flow, const struct request *request, struct result *result);
void flow_done(struct flow *flow);

/* flow.c: one line for a person; a decision added to the result; a record appended, body taken
 * over.
 */
void flow_say(const struct flow *flow, const char *format, ...) _printf_(2, 3);
/* flow_notice.c: walls that this machine does not give, variables that were dropped, what is
 * ignored in a policy; each once a session. */
void flow_notice_walls(struct flow *flow);
/* True if connections can be made for the command: it has a network of its own, and is seen. */
bool flow_can_connect(const struct flow *flow);
void flow_notice_environment(struct flow *flow);
void flow_notice_policy(struct flow *flow);
void flow_notice_profile(struct flow *flow);
struct decision *flow_decided(struct flow *flow, const char *stage, const char *verdict,
			      const char *source);
struct event_run flow_event(const struct flow *flow);
int flow_record(struct flow *flow, const char *kind, json_t *body, struct error **ret_error);
int flow_record_start(struct flow *flow, struct error **ret_error);
/* Rules and answers about a kind of command do not mean this one. */
bool flow_is_altered(const struct request *request);
/* One ground for that: the program that its name leads to lies where commands can write. */
bool flow_is_own_program(const struct request *request);
/* The policy that holds for the request; kept until it changes. */
int flow_load_policy(const struct request *request, const char *state,
		     const struct policy **ret_policy, struct error **ret_error);
/* Where what belongs to whoever the command runs as is kept. */
void flow_find_state(struct flow *flow);
/* Parses, assesses and decides. */
int flow_look(struct flow *flow, struct error **ret_error);
/* Decides, with what was answered so far. */
int flow_judge(struct flow *flow, struct error **ret_error);

/* flow_limits.c: makes the control group that the limits want. Before ward changes its user, who
 * may not make one: sandboxed says that it will. */
void flow_make_group(struct flow *flow, bool sandboxed);
/* What of the limits is for the sandbox to hold. */
void flow_limit_sandbox(const struct flow *flow, struct sandbox *sandbox);
/* What of them nothing could hold. */
void flow_warn_limits(struct flow *flow);

/* flow_caches.c: which caches get a layer, for the sandbox; and when it stands, what the observer
 * must know of them. */
void flow_open_caches(struct flow *flow, struct sandbox *sandbox);
void flow_note_caches(struct flow *flow);
/* flow_caller.c: what the caller says of its request goes on record. */
void flow_note_caller(struct flow *flow);
/* flow_grants.c: reads the session's answers again where they have changed. Those that cannot be
 * read hold no longer. */
void flow_recall(struct flow *flow);
/* For the observer, who asks. data: the flow. */
bool flow_answers_changed(void *data);
bool flow_answer_holds(void *data, const char *grant);

/* flow_ask.c: true if there is somebody who could be asked. */
bool flow_is_attended(const struct flow *flow);
/* Questions that nobody here can answer wait elsewhere, for as long as the request says. */
void flow_open_queue(struct flow *flow);
/* True if whoever can answer may be asked while a call of the command waits. */
bool flow_may_ask_in_place(const struct flow *flow);
/* Puts a question, whose command, session and choices are filled in here, and settles the answer:
 * on record, kept, among the decisions. grants: what a yes gives; afterwards what it gave.
 * ANSWER_NOBODY, and nothing recorded, where nobody sits there. */
int flow_put(struct flow *flow, const char *stage, struct ask *question, struct list *grants,
	     struct answer *ret_answer, struct error **ret_error);
/* flow_rules.c: the rules that the answers for good would write, as they are shown. They know no
 * reasons, so there is none that allows what something speaks against; and none that would forbid a
 * command for the sake of one thing that it wants. */
struct offers {
	char *file, *always, *never;
	struct list extents;
};
/* kind: about what its first words say, else about exactly this in this directory. The question
 * borrows what is found. */
void offers_find(const struct flow *flow, bool kind, struct ask *question, struct offers *rules);
void offers_done(struct offers *rules);
/* The first half of a rule that would permit it, on one line. Caller frees. */
char *flow_rule_hint(const struct flow *flow);
/* flow_code.c: the code that a request runs, and the command with it left out; either may be NULL.
 * Caller frees. */
void flow_show_code(const struct request *request, char **ret_command, char **ret_code);
/* The hosts that it asks for, sets taken apart. */
int flow_domains(const struct flow *flow, struct list *ret_domains, struct error **ret_error);
/* Where sets of hosts are looked for; borrows from the flow and from writable, which it fills. */
struct sets_places;
void flow_places(const struct flow *flow, struct list *writable, struct sets_places *ret_places);
/* flow_extent.c: how far a yes to a wish could reach, from narrow to wide; none where there is no
 * choice. permission: exactly what it wants. */
enum { EXTENTS_MOST = 3 };
struct extents {
	struct extent items[EXTENTS_MOST];
	struct list grants[EXTENTS_MOST]; /* of each */
	size_t count, asked;		  /* asked: what it wants */
	char *set;			  /* the name of the set that is one of them, or NULL */
};
void extents_find(const struct flow *flow, const struct wish *wish, const char *permission,
		  struct extents *ret_extents);
void extents_done(struct extents *extents);
/* "registry:python: files.example and 3 more". */
void extents_describe_set(const struct extents *extents, struct buffer *note);
/* flow_wish.c: answers all that waits for an answer, by asking where that was not answered yet.
 * What cannot be recorded ends the run, as an abort does; flow_escalate then says so. */
void flow_serve_wishes(struct flow *flow);
/* flow_programs.c: true if the starts of programs must be seen, because a rule is about them. */
bool flow_judges_programs(const struct flow *flow);
/* What judges them, for the observer; NULL: nobody has to. */
const struct programs *flow_programs(struct flow *flow);
/* The question before the first attempt; fails where the answer is not yes. */
int flow_ask_first(struct flow *flow, struct error **ret_error);
/* The question after an attempt that failed; 1: there is to be another one. */
int flow_escalate(struct flow *flow, struct error **ret_error);
