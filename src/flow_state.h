/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the flow share: flow.c carries a request out, flow_ask.c asks about it. */
#pragma once

#include "assess/assess.h"
#include "decide/decide.h"
#include "decide/key.h"
#include "decide/policy.h"
#include "escalate/ask.h"
#include "escalate/explain.h"
#include "escalate/opinion.h"
#include "escalate/queue.h"
#include "flow.h"
#include "observe/observe.h"
#include "record/audit.h"
#include "record/caches.h"
#include "record/events.h"
#include "record/holders.h"
#include "record/incidents.h"
#include "record/session.h"
#include "run/mode.h"
#include "run/run.h"
#include "sandbox/accounts.h"
#include "sandbox/cgroup.h"
#include "sandbox/find.h"
#include "sandbox/identity.h"
#include "sandbox/ladder.h"
#include "sandbox/sandbox.h"
#include "token/book.h"

#include <sys/stat.h>

/* Of an agent under trust: its mode, and what counts against it in this run. */
struct safety {
	bool bound;		/* it is one */
	const char *state;	/* where its mode is kept */
	struct agent_mode mode; /* when the run began */
	struct list bounds;	/* safe mode: all that it may do; and see bounds_named() */
	struct list named;
	struct holder holder;	/* whoever puts the agent in safe mode tells this run */
	struct list refused;	/* targets that people said no to in other runs */
	struct list counted;	/* objects that have counted in this run */
	size_t judged;		/* how many denials of the attempt were looked at */
	uint64_t freezes;	/* of the agent, that this run knows of */
	char incident[ID_TEXT]; /* by which it stands still */
	uint64_t until;		/* when it is ended if nobody says anything */
	bool over;		/* its command had ended by itself by then */
	bool voided;		/* nothing that was granted holds any more */
};

/* Everything one request owns on its way. */
struct flow {
	const struct request *request;
	const struct audience *audience;
	const struct approver *approver; /* who is asked first */
	struct queue queue;		 /* where else questions are put, as long as one waits */
	struct approver queued;
	int present; /* says that this run may have something to tell; -1: nobody is told */
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
	struct holder holder;	    /* whoever takes one back waits for this */
	struct list spent;	    /* ids of those whose use was counted */
	struct list granted, asked; /* by answers during this run; and what was asked for */
	struct list refused;	    /* what was asked for while a call waited, and not given */
	struct unsaid unsaid;	    /* what was refused, and not by a person */
	struct list deferred;	    /* those of them that are answered later */
	char *question;		    /* under which the first of them stood; or NULL */
	uint64_t defer_seconds;	    /* that they wait; 0: as long as any */
	struct list remarks;	    /* to be said when the command no longer has the terminal */
	char *assessor_key;	    /* where it could not be read later; or NULL */
	bool assessor_failed;	    /* the model is asked no more in this run */
	bool told_silenced;	    /* that it asks too much */
	bool aborted;		    /* a person has ended the run */
	struct error *failure;	    /* or an answer could not be recorded */
	bool answered;		    /* a person has said yes to it */
	bool under_trust;	    /* it is of an agent that trust binds */
	double trust;		    /* and this is its score */

	/* The token that it comes with, if any. */
	struct token_book *book;
	struct powers powers;
	struct list bounds;	    /* all that it may do */
	struct list named;	    /* see bounds_named() */
	char *token;		    /* as grants are called; NULL: it runs under none */
	struct holder token_holder; /* whoever revokes it waits for this */
	struct safety safety;
	struct dispositions before; /* how signals were when we were called */
	struct input_mark input;    /* and standard input */
	struct monitor *monitor;    /* the run is followed; NULL: it is not */
	char *monitored_by;	    /* for whom */
	bool monitored_late;	    /* from the middle of an attempt on */
	struct witness witness;
	bool begun; /* its start is on record */
	bool noted; /* something of it is */
	struct {
		size_t decisions, attempts; /* how many of them are on record */
		size_t denials;		    /* of the attempt under way */
		bool lookers;		    /* who looks at the run was told something */
	} told;
	struct cgroup *group; /* for its limits; NULL: none, or none to be had */

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
	struct warden warden;
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

	/* Of a container. */
	char *runtime, *bundle, *rootfs;
	char *begun_runtime; /* what the sandbox was begun for */
	struct list container_mounts;
	struct list environment; /* of one with a root of its own */
};

/* flow_conclude.c */

void flow_conclude(struct flow *flow, const struct outcome *outcome);

/* flow_container.c */
/* What is seen outside the mounts is not the host's. */
bool flow_has_own_root(const struct flow *flow);
/* Its runtime has a kernel of its own. */
bool flow_is_apart(const struct flow *flow);
/* What a container would be made of has a root of its own. */
bool flow_describes_root(const struct flow *flow);
void flow_forget_hidden_masks(struct flow *flow);
/* The runtime that a sandbox is begun for, as far as is known by then; NULL: none is. Borrowed. */
const char *flow_likely_runtime(struct flow *flow);
/* Whether the sandbox that was begun can have the runtime that was judged. */
bool flow_is_begun_for_runtime(const struct flow *flow);
/* Its runtime and its root; and from the latter the variables, without which nobody knows what is
 * to be executed. */
int flow_open_container(struct flow *flow, struct error **ret_error);
int flow_prepare_container(struct flow *flow, struct sandbox *sandbox, struct error **ret_error);

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
/* flow_places.c: ward's own directories, where a command could make them; the names of accounts as
 * they are seen inside; what of /tmp may be written. */
int flow_make_own_places(const struct permissions *permissions, struct error **ret_error);
void flow_write_accounts(struct flow *flow);
void flow_note_tmp(struct flow *flow);
/* flow_listeners.c: whom the policy wants told of events. Before ward becomes somebody else. */
void flow_start_listeners(struct flow *flow);
/* flow_top.c: the run comes near to a limit; somebody looks at it; nobody can any more. */
struct near_limit;
void flow_note_near(void *data, const struct near_limit *near);
void flow_tell_lookers(void *data);
void flow_forget_lookers(struct flow *flow);
/* flow_notify.c: whom it wants told through channels; the same. */
void flow_start_deliverer(struct flow *flow);
/* flow_record.c: what was refused, and which grants have ended, since it was last told. */
void flow_tell(struct flow *flow);
/* An attempt that is about to be asked about is over. */
int flow_record_attempt(struct flow *flow, struct error **ret_error);
void flow_record_end(struct flow *flow);
/* Rules and answers about a kind of command do not mean this one. */
bool flow_is_altered(const struct request *request);
/* One ground for that: the program that its name leads to lies where commands can write. */
bool flow_is_own_program(const struct request *request);
/* The policy that holds for the request; kept until it changes. */
int flow_load_policy(const struct request *request, const char *state,
		     const struct policy **ret_policy, struct error **ret_error);
/* flow_policy.c: how long a question waits elsewhere; 0: as long as somebody looks. */
uint64_t flow_patience(const struct flow *flow);
/* Its caller is not to wait for answers: he gets a ticket. */
bool flow_is_queued(const struct flow *flow);
/* Where nobody has answered: what was registered for the session says what that means. */
void flow_answer_silence(const struct flow *flow, const struct ask *question,
			 const struct list *grants, struct answer *answer);
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
/* The session's answers that are about this command. */
int flow_load_grants(struct flow *flow, struct error **ret_error);
/* An attempt begins: uses are counted, and what was taken back since the judgement counts. */
int flow_begin_grants(struct flow *flow, struct error **ret_error);
void flow_end_grants(struct flow *flow);
/* From now on the command has something that can be taken back. */
void flow_hold(struct flow *flow);
/* Counts a use of what was granted just now; 1 where others were faster. */
int flow_spend_grant(struct flow *flow, const char *id, struct error **ret_error);
/* For the observer, who asks. data: the flow. */
bool flow_answers_changed(void *data);
bool flow_answer_holds(void *data, const char *grant);

/* flow_token.c: admits the request's token, if it has one; a bad one is on record at once. Before
 * ward becomes somebody else. */
int flow_take_token(struct flow *flow, struct error **ret_error);
/* True if something was revoked since it was asked last. */
bool flow_token_changed(struct flow *flow);
/* False where the grant is not the token. */
bool flow_token_holds(const struct flow *flow, const char *grant, bool *ret_holds);
/* What a refusal counts as against whoever holds it: "token", or NULL where it does not. */
const char *flow_token_violation(const struct flow *flow, const struct denial *denial);
/* The token of this run holds no more, for anybody. */
void flow_drop_own_token(struct flow *flow);
void flow_drop_token(struct flow *flow);

/* flow_safe.c: what a refusal counts as against the agent; NULL where it does not. */
const char *flow_violation(const struct flow *flow, const struct denial *denial);
/* Who holds a command by the refusal that may be too much, until that is weighed; NULL: nobody. */
const struct warden *flow_warden(struct flow *flow);
/* What was refused since it was last asked is weighed; too much puts the agent in safe mode. */
void flow_weigh_denials(struct flow *flow);
/* The same when an attempt is over, with its denials marked. */
void flow_mark_violations(struct flow *flow, struct attempt *attempt);
/* What counts besides: a limit, a command that a rule denies or a person has refused, a bad token.
 */
void flow_weigh_limit(struct flow *flow, enum run_limit limit);
void flow_weigh_verdict(struct flow *flow);
void flow_weigh_token(struct flow *flow, const char *why);
/* A person has said no to a target: to try it in a later run is a violation. */
void flow_note_no(struct flow *flow, const char *operation, const char *object);
void flow_note_nos(struct flow *flow, const struct list *permissions);
bool flow_was_refused(const struct flow *flow, const char *operation, const char *object);

/* flow_mode.c: how much an agent is borne, by its policy. */
struct violation_limits {
	uint64_t medium, within_ns;
	bool kill;
};
struct violation_limits flow_violation_limits(const struct flow *flow);
struct violation;
void flow_lose_trust(struct flow *flow, const struct violation *violation);
/* The mode of the agent, and what is left of its permissions; before anything is decided. */
int flow_find_mode(struct flow *flow, struct error **ret_error);
/* From here on the run can be told to stand still. When ward is who the command runs as. */
int flow_enter_mode(struct flow *flow, bool sandboxed, struct error **ret_error);
/* Just before the start: fails where the mode is not the one that it was judged in. */
int flow_check_mode(const struct flow *flow, struct error **ret_error);
/* The command stands still, or is ended; nothing that was granted holds. */
void flow_stand_still(struct flow *flow);
/* Says so. violation: what it did; NULL where it was another run. */
void flow_tell_still(struct flow *flow, const struct violation *violation);
/* For struct attendant. data: the flow. */
void flow_look_at_mode(void *data);
void safety_done(struct safety *safety);

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
/* flow_monitor.c: from now on the run is followed, for whoever said so. */
int flow_monitor(struct flow *flow, const char *by, struct error **ret_error);
/* Begins with an attempt; false where it is not to be followed. */
bool flow_follow(struct flow *flow);
void flow_end_monitor(struct flow *flow);
/* flow_trust.c: the score of the agent, once for a request; 0 where it cannot be read. */
void flow_look_trust(struct flow *flow);
/* What a person's answer says of the agent. */
void flow_answer_trust(struct flow *flow, const struct ask *question, const struct answer *answer,
		       const struct list *grants);
/* What the end of the run says of it: tests that have passed. */
void flow_end_trust(struct flow *flow);

/* flow_tiers.c: the request is of an agent under trust. */
bool flow_is_tiered(const struct flow *flow);
/* Gives the question its tier where it has one, to which a model's opinion may add. True where that
 * answers it: nobody is asked. */
struct second;
bool flow_weigh_gap(struct flow *flow, struct ask *question, const struct approver *approver,
		    struct second *second, struct answer *ret_answer);
/* What a no is by that no person gave; NULL: a person gave it. */
const char *flow_unsaid_why(const struct answer *answer);
/* The tier of what is wanted, for an agent under trust. */
enum tier flow_tier_of(const struct flow *flow, const struct list *grants);
/* The same of what is asked before the command runs. */
enum tier flow_tier_before(const struct flow *flow, const struct list *grants);
/* No agent starts what is never given, whatever rules, answers and scores say of the command. */
void flow_refuse_never(struct flow *flow);
/* A notice of what was given unasked; and of what runs at once although it is not harmless. */
void flow_tell_tier(struct flow *flow, const struct ask *question, const struct answer *answer,
		    const struct list *grants);
void flow_notice_risk(struct flow *flow);
/* flow_routes.c: who answers a question. */
struct routed {
	struct flow *flow;
	const struct list *grants;
	const struct assessment *assessment;
	json_t *route; /* NULL: whoever it reaches */
	struct vetting vetting;
	uint64_t patience_ns; /* of the queue, before */
};
/* Gives the question its route, where the policy has one for it, by its assessment; in place of the
 * one it had. */
void flow_route(struct flow *flow, struct ask *question, const struct list *grants,
		struct routed *routed);
void routed_done(struct routed *routed);
/* One that has a route is put where those can answer who are on it; else approver. */
const struct approver *flow_routed_approver(const struct flow *flow, const struct ask *question,
					    const struct approver *approver);
bool flow_has_route(const struct flow *flow, const struct list *grants);
/* Who would answer, in words; NULL: there is no route. Caller frees. */
char *flow_describe_route(const struct flow *flow, const struct list *grants);
/* flow_policy.c: as it is now, whatever was read before. */
int flow_load_policy_anew(const struct request *request, const char *state,
			  struct policy **ret_policy);
/* flow_opinion.c: before ward becomes somebody who may not read the model's key. */
void flow_keep_key(struct flow *flow);
/* What a model says of the question, and the assessment with that, where it makes the risk greater;
 * the question borrows both. Nothing where the policy wants none, or it was asked. */
struct second {
	struct opinion opinion;
	struct assessment raised;
};
static inline void second_done(struct second *second)
{
	opinion_done(&second->opinion);
}
#define _cleanup_second_ _cleanup_(second_done)
void flow_ask_opinion(struct flow *flow, struct ask *question, const struct approver *approver,
		      struct second *second);
/* flow_gap.c: the question's risk is that of its command and of what a yes gives. given lives as
 * long as the question. */
void flow_weigh_grants(const struct flow *flow, struct ask *question, struct assessment *given);
/* Where programs and settings of the whole machine lie. */
bool flow_is_system_place(const char *path);
/* flow_background.c: what is known around a question. */
void flow_find_background(const struct flow *flow, const struct ask *question,
			  struct background *ret_background);
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
/* Puts them on record with the question: what would have made it needless, for `ward stats`. */
void offers_note(const struct flow *flow, bool kind, const struct ask *question, json_t *body);
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
/* flow_levels.c: the permission for the level after this one, in the order restricted, container,
 * none, where a person may be asked for it after a denial; NULL: he may not. */
const char *flow_next_permission(const struct flow *flow);
/* Beside what was missing, the question offers that level. levels: what it borrows. */
void flow_offer_level(const struct flow *flow, const struct list *missing, struct ask *question,
		      struct extents *levels);
/* How a second attempt with these is asked for, and told of. */
struct retry {
	const char *permission, *asked, *said;
};
const struct retry *flow_retry(const struct list *grants);
/* flow_wish.c: answers all that waits for an answer, by asking where that was not answered yet.
 * What cannot be recorded ends the run, as an abort does; flow_escalate then says so. */
void flow_serve_wishes(struct flow *flow);
/* flow_programs.c: true if the starts of programs must be seen, because a rule is about them. */
bool flow_judges_programs(const struct flow *flow);
/* What judges them, for the observer; NULL: nobody has to. */
const struct programs *flow_programs(struct flow *flow);
/* The question before the first attempt; fails where the answer is not yes. */
int flow_ask_first(struct flow *flow, struct error **ret_error);
/* The same, with the answer at hand: what it does. */
int flow_take_first(struct flow *flow, struct answer *answer, struct error **ret_error);
/* flow_resume.c: what is to be asked before the first attempt, if anything; the request may be one
 * that was deferred after its command had run and was refused something. */
int flow_ask_before(struct flow *flow, struct error **ret_error);
/* Whether what is asked now could be answered later, when the caller is gone. */
bool flow_may_defer(const struct flow *flow);
/* Makes a ticket of the request, which goes on by it. question: where it stands, or NULL; missing:
 * NULL where the command has yet to start. */
int flow_defer(struct flow *flow, const char *question, const struct list *missing,
	       const struct list *refused, struct error **ret_error);
/* What was put off while it ran, if anything. 1: it was. */
int flow_defer_wishes(struct flow *flow, struct error **ret_error);
/* It goes on without its caller, and may wait for days: nothing is begun before its answer. */
bool flow_is_resumed(const struct flow *flow);
/* Its start is on record, and whoever keeps it knows: the command may begin. */
int flow_begin(struct flow *flow, struct error **ret_error);
/* Fails where a yes to one that waited comes under another policy than it was asked under. */
int flow_check_policy(const struct flow *flow, const struct answer *answer,
		      struct error **ret_error);
bool flow_policy_is_stale(const struct flow *flow);
/* Fails where the workspace of one that goes on is not the directory that it was. */
int flow_check_place(const struct flow *flow, struct error **ret_error);
/* The question after an attempt that failed; 1: there is to be another one. */
int flow_escalate(struct flow *flow, struct error **ret_error);
