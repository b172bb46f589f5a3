/* SPDX-License-Identifier: Apache-2.0 */
/* The asking half of the flow: what a person is asked, before the first attempt and after one that
 * failed, and what the answer does. The answer comes back into the flow as data. */
#include "flow_state.h"
#include "base/escape.h"
#include "base/id.h"
#include "base/path.h"
#include "escalate/explain.h"
#include "escalate/keep.h"
#include "record/asked.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ATTEMPTS = 8 };

static const char *const answer_names[] = {[ANSWER_NOBODY] = "nobody",
					   [ANSWER_APPROVE] = "approve",
					   [ANSWER_DENY] = "deny",
					   [ANSWER_ABORT] = "abort",
					   [ANSWER_DEFER] = "defer"};
static const char *const scope_names[] = {[SCOPE_ONCE] = "once",
					  [SCOPE_SESSION] = "session",
					  [SCOPE_TIME] = "time",
					  [SCOPE_ALWAYS] = "always"};

/* What was said, for whoever asked to read. */
static void note_approval(struct flow *flow, const struct answer *answer, const struct list *grants,
			  struct decision *decision)
{
	bool yes = answer->kind == ANSWER_APPROVE;
	struct said *approval = &decision->approval;

	approval->given = true;
	approval->granted = yes;
	approval->monitored = yes && answer->monitor;
	approval->reason = answer->reason ? strdup(answer->reason) : NULL;
	approval->seconds = answer->scope == SCOPE_TIME ? answer->seconds : 0;
	for (size_t i = 0; yes && i < grants->count; i++)
		if (strncmp(grants->items[i], "connect ", 8) == 0)
			list_add(&approval->domains, grants->items[i] + 8);
	if (yes && answer->reason) {
		_cleanup_buffer_ struct buffer text = {0};

		buffer_add_text(&text, "approved, with the words: ");
		escape_for_terminal(&text, answer->reason, strlen(answer->reason));
		list_add(&flow->remarks, buffer_text(&text));
	}
}

/* Where an answer comes from. */
static const char *source_of(const struct answer *answer)
{
	return answer->by_tier					     ? "trust"
	       : answer->kind == ANSWER_NOBODY || answer->by_default ? "default"
								     : "person";
}

static void note_tier(json_t *body, const struct ask *question, const char *source)
{
	if (!question->tier)
		return;
	json_object_set_new(body, "tier", json_string(question->tier));
	if (source)
		json_object_set_new(body, "source", json_string(source));
}

/* On record, remembered, and among the decisions; only then does it take effect. */
static int settle(struct flow *flow, const char *stage, const struct ask *question,
		  struct answer *answer, struct list *grants, struct error **ret_error)
{
	const struct approval_key exact = {.text = flow->key.exact, .exact = flow->key.exact};
	const struct approval_key *key =
		question->covers && flow->key.covers &&
				strcmp(question->covers, flow->key.covers) == 0
			? &flow->key
			: &exact;
	bool kept = answer->kind != ANSWER_NOBODY &&
		    (answer->scope == SCOPE_SESSION || answer->scope == SCOPE_TIME);
	struct decision *decision;
	struct moment now;
	char id[ID_TEXT];
	int r = 0;

	id_make(id);
	if (answer->scope == SCOPE_TIME) {
		moment_now(&now);
		moment_at(now.wall + (int64_t)answer->seconds, &now, &answer->expires);
	}

	if (answer->unsandboxed && !list_has(grants, "unsandboxed"))
		list_add(grants, "unsandboxed");
	if (r == 0) {
		json_t *body = event_answer(
			answer_names[answer->kind],
			answer->kind == ANSWER_NOBODY ? NULL : scope_names[answer->scope],
			answer->by, answer->reason, answer->kind == ANSWER_APPROVE ? grants : NULL,
			kept ? id : NULL,
			question->domains && answer->kind == ANSWER_APPROVE ? &answer->domains
									    : NULL);

		note_tier(body, question, source_of(answer));
		if (answer->question)
			json_object_set_new(body, "question", json_string(answer->question));
		r = flow_record(flow, "answer", body, ret_error);
	}
	if (r == 0 && answer->kind != ANSWER_NOBODY && answer->scope == SCOPE_ALWAYS)
		r = answer_keep_always(answer, question, ret_error);
	else if (r == 0 && kept)
		r = answer_keep(answer, question, key, flow->own_state, id, ret_error);
	if (r < 0)
		return r;
	decision = flow_decided(flow, stage,
				answer->kind == ANSWER_APPROVE ? "allow"
				: answer->kind == ANSWER_DEFER ? "ask"
							       : "deny",
				source_of(answer));
	decision->by = answer->by ? strdup(answer->by) : NULL;
	decision->scope = answer->kind == ANSWER_NOBODY ? NULL : strdup(scope_names[answer->scope]);
	decision->grant = kept ? strdup(id) : NULL;
	if (answer->kind != ANSWER_NOBODY)
		note_approval(flow, answer, grants, decision);
	flow->told.decisions = flow->result->decision_count; /* by the answer's record */
	if (kept) {
		answer->grant = strdup(id);
		flow_recall(flow);
		if (answer->kind == ANSWER_APPROVE &&
		    (r = flow_spend_grant(flow, id, ret_error)) < 0)
			return r;
	}
	if (answer->kind != ANSWER_APPROVE)
		return 0;
	/* Who wanted it followed has said yes to nothing else. */
	if (answer->monitor && (r = flow_monitor(flow, answer->by, ret_error)) < 0)
		return r;
	flow->answered = true;
	for (size_t i = 0; i < grants->count; i++) {
		if (!list_has(&flow->granted, grants->items[i]))
			list_add(&flow->granted, grants->items[i]);
		if (kept && !list_has(&flow->kept, grants->items[i]))
			list_add(&flow->kept, grants->items[i]);
		if (answer->scope == SCOPE_ALWAYS && !list_has(&flow->for_good, grants->items[i]))
			list_add(&flow->for_good, grants->items[i]);
	}
	return 0;
}

/* Whoever is there; else those who look for questions elsewhere, if somebody waits for them. */
static const struct approver *approver_of(const struct flow *flow)
{
	return flow->approver->is_there(flow->approver->data) || !flow->queued.is_there
		       ? flow->approver
		       : &flow->queued;
}

bool flow_is_attended(const struct flow *flow)
{
	const struct approver *approver = approver_of(flow);

	/* Who that is a question's route says. */
	return approver->is_there(approver->data) || routes_wait(flow->policy);
}

void flow_open_queue(struct flow *flow)
{
	flow->queue = (struct queue){.state = flow->own_state,
				     .run = flow->result->run,
				     .request = flow->request,
				     .patience_ns = flow_patience(flow)};
	flow->queued = queue_approver(&flow->queue);
}

/* What is run, with all that makes it another command than its words say. Caller frees. */
static char *shown_command(const struct request *request)
{
	_cleanup_free_ char *command = request_command_text(request);
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < request->environment.count; i++) {
		escape_for_shell(&text, request->environment.items[i]);
		buffer_add_char(&text, ' ');
	}
	if (request->shell || request->login)
		buffer_printf(&text, "%s%s -c: ", request->shell ? request->shell : "bash",
			      request->login ? " --login" : "");
	buffer_add_text(&text, command);
	return buffer_steal(&text);
}

/* What the caller would have a person read in place of the command is the caller's word. */
static char *shown_reason(const struct request *request)
{
	char *reason = NULL;

	if (!request->approval_command)
		return request->reason ? strdup(request->reason) : NULL;
	if (asprintf(&reason, "this is: %s%s%s", request->approval_command,
		     request->reason ? "; " : "", request->reason ? request->reason : "") < 0)
		abort();
	return reason;
}

bool flow_may_ask_in_place(const struct flow *flow)
{
	/* A name outside of what is mounted means another file here than inside. */
	return flow->verdict.level != LEVEL_NONE && !flow_has_own_root(flow) &&
	       !flow_is_apart(flow) && approve_missing(flow->verdict.approval) &&
	       flow_is_attended(flow);
}

/* What was chosen may be wider or narrower: from here on that is what was asked for. */
static void take_extent(struct ask *question, size_t number, struct list *grants)
{
	const struct extent *extent = &question->extents[number];
	struct list taken = {0};

	for (size_t i = 0; i < extent->grants->count; i++)
		list_add(&taken, extent->grants->items[i]);
	list_done(grants);
	*grants = taken;
	question->always_rule = extent->rule;
}

/* The hosts are those that the person has left or written there. */
static void take_domains(const struct answer *answer, struct list *grants)
{
	struct list taken = {0};

	domains_grants(grants, &answer->domains, &taken);
	list_done(grants);
	*grants = taken;
}

/* Less than was asked for. Checked where the answer was read, and here once more: what takes effect
 * is what was compared. */
static int take_edited(const struct ask *question, const struct answer *answer, struct list *grants,
		       struct error **ret_error)
{
	struct list taken = {0};
	int r = ask_is_editable(question)
			? answer_edit(&answer->grants, question->workspace, grants,
				      /* needed= */ NULL, &taken, ret_error)
			: fail(ret_error, E_INPUT, "what was asked for cannot be edited");

	if (r < 0)
		return r;
	list_done(grants);
	*grants = taken;
	return 0;
}

static int record_ask(struct flow *flow, const char *stage, bool kind, const struct ask *question,
		      struct error **ret_error)
{
	const struct event_run run = flow_event(flow);
	json_t *body = event_ask(&run, stage, question->why, question->refused, question->grants);

	note_tier(body, question, /* source= */ NULL);
	if (question->opinion)
		json_object_set_new(body, "opinion", opinion_to_json(question->opinion));
	offers_note(flow, kind, question, body);
	return flow_record(flow, "ask", body, ret_error);
}

int flow_put(struct flow *flow, const char *stage, struct ask *question, struct list *grants,
	     struct answer *ret_answer, struct error **ret_error)
{
	const struct request *request = flow->request;
	const struct approver *approver = approver_of(flow);
	_cleanup_free_ char *command = shown_command(request), *reason = shown_reason(request);
	_cleanup_(offers_done) struct offers rules = {0};
	_cleanup_(routed_done) struct routed routed = {0};
	_cleanup_background_ struct background background = {0};
	_cleanup_second_ struct second second = {0};
	struct assessment given;
	/* Without the sandbox a yes means this command and no other; so it does for code with a
	 * network. */
	bool kind = flow->key.covers && !flow_is_altered(flow->request) && !question->operation &&
		    !list_has(grants, "unsandboxed");
	int r;

	if (!question->command)
		question->command = command;
	question->cwd = request->cwd;
	question->workspace = request->workspace;
	question->agent = request->agent;
	question->session = flow->session.id;
	question->tool = request->tool;
	question->call_id = request->call_id;
	question->turn = request->turn;
	question->reason = reason;
	question->grants = grants;
	flow_weigh_grants(flow, question, &given);
	question->may_defer = flow_may_defer(flow);
	question->covers = !flow->session.id ? NULL
			   : kind	     ? flow->key.covers
					     : "exactly this command";
	if (flow_weigh_gap(flow, question, approver, &second, ret_answer)) {
		r = record_ask(flow, stage, kind, question, ret_error);
		if (r == 0)
			r = settle(flow, stage, question, ret_answer, grants, ret_error);
		if (r == 0)
			flow_tell_tier(flow, question, ret_answer, grants);
		return r;
	}
	flow_route(flow, question, grants, &routed);
	approver = flow_routed_approver(flow, question, approver);
	if (!approver->is_there(approver->data)) {
		*ret_answer = (struct answer){.kind = ANSWER_NOBODY};
		return 0;
	}
	if (!(approver == &flow->queued && flow_is_queued(flow)))
		flow_ask_opinion(flow, question, approver, &second);
	if (question->assessment != routed.assessment) {
		/* Which has made the risk greater: others may have to answer. */
		flow_route(flow, question, grants, &routed);
		approver = flow_routed_approver(flow, question, approver);
	}
	if (!question->operation && !list_has(grants, "unsandboxed") && !flow->identity.changes)
		offers_find(flow, kind, question, &rules);
	r = record_ask(flow, stage, kind, question, ret_error);
	flow_find_background(flow, question, &background);
	question->background = &background;
	if (r == 0 && approver == &flow->queued && flow_is_queued(flow))
		*ret_answer =
			(struct answer){.kind = ANSWER_DEFER, .by = strdup("the session's policy")};
	else if (r == 0)
		r = approver->ask(approver->data, question, ret_answer, ret_error);
	if (r == 0)
		flow_answer_silence(flow, question, grants, ret_answer);
	if (r == 0)
		r = flow_check_policy(flow, ret_answer, ret_error);
	/* It may have been given to the question as it was put before. */
	if (r == 0 && ret_answer->extent >= MAX(question->extent_count, (size_t)1))
		r = fail(ret_error, E_REJECTED, "the answer is to more than is asked by now");
	/* A no is to what was wanted. */
	if (r == 0 && ret_answer->kind == ANSWER_APPROVE && ret_answer->extent != question->extent)
		take_extent(question, ret_answer->extent, grants);
	if (r == 0 && ret_answer->kind == ANSWER_APPROVE && ret_answer->grants.count)
		r = take_edited(question, ret_answer, grants, ret_error);
	if (r == 0 && question->domains)
		take_domains(ret_answer, grants);
	if (r == 0)
		r = settle(flow, stage, question, ret_answer, grants, ret_error);
	if (r == 0)
		flow_tell_tier(flow, question, ret_answer, grants);
	if (r == 0)
		flow_answer_trust(flow, question, ret_answer, grants);
	return r;
}

static int reject(struct flow *flow, const struct answer *answer, struct error **ret_error)
{
	const struct list *wanted = &flow->verdict.wanted;
	_cleanup_buffer_ struct buffer what = {0};
	_cleanup_free_ char *rule = NULL;

	if (answer->by_tier) {
		fail(ret_error, E_REJECTED, "refused: %s", answer->reason);
		return error_hint(ret_error, "ask for something else, or for less");
	}
	if (answer->kind == ANSWER_ABORT) { /* whatever was allowed before */
		flow->result->verdict = verdict_name(VERDICT_DENY);
		flow->result->source = source_of(answer);
	}
	if (answer->kind != ANSWER_NOBODY) {
		fail(ret_error, E_REJECTED, "exec command rejected by user%s%s",
		     answer->reason ? ": " : "", answer->reason ? answer->reason : "");
		return error_hint(ret_error, "ask for something else, or for less");
	}
	for (size_t i = 0; i < wanted->count; i++)
		buffer_printf(&what, "%s%s", i ? ", " : "; it wants: ", wanted->items[i]);
	if (flow->queue.patience_ns)
		fail(ret_error, E_REJECTED,
		     "this needs a person's yes, and nobody has answered in %g s: %s%s",
		     (double)flow->queue.patience_ns / 1e9, flow->verdict.reason,
		     buffer_text(&what));
	else
		fail(ret_error, E_REJECTED,
		     "this needs a person's yes, and nobody can be asked here: %s%s",
		     flow->verdict.reason, buffer_text(&what));
	if (flow->verdict.approval == APPROVAL_ON_REQUEST ||
	    flow->verdict.approval == APPROVAL_UNLESS_TRUSTED)
		return error_hint(ret_error,
				  "run it from a terminal, or with --approval on-failure");
	if (list_has(&flow->verdict.wanted, "unsandboxed"))
		return error_hint(ret_error,
				  "run it from a terminal, or say so yourself: --level none");
	if (list_has(&flow->verdict.wanted, "container"))
		return error_hint(ret_error,
				  "run it from a terminal, or say so yourself: --level container");
	rule = flow_rule_hint(flow);
	return error_hint(ret_error,
			  "run it from a terminal, or with --wait 10m and answer by `ward "
			  "approve`, or permit it by a rule in "
			  "~/.config/ward/ward.yaml: {%s, do: allow}",
			  rule);
}

/* The program that calls ward has asked its user: what was put there, and nothing else, is
 * answered. 1: so it is. */
static int take_asked(struct flow *flow, struct error **ret_error)
{
	_cleanup_free_ char *by = NULL;
	struct ask question = {.kind = ASK_BEFORE, .why = flow->verdict.reason};
	struct answer answer = {.kind = ANSWER_APPROVE, .scope = SCOPE_ONCE};
	_cleanup_list_ struct list grants = {0};
	int r;

	/* Whoever sits before that program has proven nothing that a route could go by. */
	if (!flow->request->asked || flow_has_route(flow, &flow->verdict.wanted) ||
	    !asked_take(flow->state, flow->request->asked, flow->key.exact, &flow->verdict.wanted,
			&by))
		return 0;
	answer.by = by;
	for (size_t i = 0; i < flow->verdict.wanted.count; i++)
		list_add(&grants, flow->verdict.wanted.items[i]);
	r = settle(flow, "ask", &question, &answer, &grants, ret_error);
	if (r == 0)
		r = flow_judge(flow, ret_error);
	flow->result->source = "person";
	return r < 0 ? r : 1;
}

/* Before the first attempt. */
int flow_ask_first(struct flow *flow, struct error **ret_error)
{
	struct ask question = {.kind = ASK_BEFORE, .why = flow->verdict.reason};
	_cleanup_list_ struct list grants = {0}, domains = {0};
	_cleanup_free_ char *command = NULL, *code = NULL;
	struct answer answer = {0};
	int r = take_asked(flow, ret_error);

	if (r != 0)
		return MIN(r, 0);
	if (list_has(&flow->verdict.wanted, "profile code-net")) {
		r = flow_domains(flow, &domains, ret_error);
		if (r < 0)
			return r;
		flow_show_code(flow->request, &command, &code);
		question.operation = "networked code";
		question.command = command;
		question.code = code;
		question.domains = &domains;
	}
	for (size_t i = 0; i < flow->verdict.wanted.count; i++)
		list_add(&grants, flow->verdict.wanted.items[i]);
	for (size_t i = 0; i < flow->verdict.brought.count; i++)
		list_add(&grants, flow->verdict.brought.items[i]);
	for (size_t i = 0; i < domains.count; i++)
		list_add_printf(&grants, "connect %s", domains.items[i]);
	r = flow_put(flow, "ask", &question, &grants, &answer, ret_error);
	if (r == 0)
		r = flow_take_first(flow, &answer, ret_error);
	answer_done(&answer);
	return r;
}

int flow_take_first(struct flow *flow, struct answer *answer, struct error **ret_error)
{
	int r;

	if (answer->kind == ANSWER_DEFER) {
		flow->result->verdict = verdict_name(VERDICT_ASK);
		flow->result->source = "person";
		(void)flow_record_start(flow, ret_error);
		flow->defer_seconds = answer->seconds;
		return flow_defer(flow, answer->question, NULL, NULL, ret_error);
	}
	if (answer->kind != ANSWER_APPROVE) {
		flow->result->verdict = verdict_name(VERDICT_DENY);
		flow->result->source = source_of(answer);
		(void)flow_record_start(flow, ret_error);
		return reject(flow, answer, ret_error);
	}
	r = flow_judge(flow, ret_error); /* with what was answered */
	flow->result->source = source_of(answer);
	return r;
}

/* Somebody, or the terminal, has ended it: that is no failure to be mended. */
static bool was_interrupted(const struct result *result)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL, SIGPIPE};

	for (size_t i = 0; i < ELEMENTS(signals); i++)
		if (result->signal == signals[i] || result->exit_code == 128 + signals[i])
			return true;
	return false;
}

/* A no while a call waited was to it, or to something in it: a directory is given whole. */
static bool holds_refused(const struct flow *flow, const char *permission)
{
	size_t length = strlen(permission);
	bool tree = strncmp(permission, "write ", 6) == 0 &&
		    strcmp(permission + length - 3, "/**") == 0;
	_cleanup_free_ char *path = tree ? strndup(permission + 6, length - 9) : NULL;

	for (size_t i = 0; i < flow->refused.count; i++) {
		const char *refused = flow->refused.items[i], *object = strchr(refused, ' ');

		if (strcmp(refused, permission) == 0 ||
		    (path && object && object[1] == '/' && path_is_under(object + 1, path)))
			return true;
	}
	return false;
}

/* Again, with exactly what was missing, or where that is chosen at the next level. */
static bool can_ask_again(struct flow *flow, struct list *missing, struct list *refused)
{
	const char *next = flow_next_permission(flow);
	const struct result *result = flow->result;
	const struct attempt *attempt = &result->attempts[result->attempt_count - 1];
	struct list *kept = &flow->asked;
	_cleanup_list_ struct list all = {0};
	bool new = false;
	int beyond;

	if (flow->verdict.level == LEVEL_NONE || result->error || result->timed_out ||
	    result->limit != LIMIT_NONE || (result->exit_code == 0 && !result->signal) ||
	    result->told_to_end || was_interrupted(result) || result->attempt_count >= ATTEMPTS ||
	    flow->told_silenced || /* which was a no to all the rest */
	    !approve_missing(flow->verdict.approval))
		return false;
	beyond = explain_missing(attempt, &flow->verdict.permissions.never, &all, refused);
	for (size_t i = 0; i < all.count; i++) {
		if (list_has(&flow->granted, all.items[i]) || holds_refused(flow, all.items[i]))
			continue;
		list_add(missing, all.items[i]);
		if (!list_has(kept, all.items[i])) {
			list_add(kept, all.items[i]); /* the same is not asked twice */
			new = true;
		}
	}
	if (missing->count == 0 && beyond > 0 && next && !list_has(kept, next)) {
		list_add(missing, next);
		list_add(kept, next);
		new = true;
	}
	return new;
}

/* What came up while the command ran, in the order in which it concerns the caller. */
static int conclude_wishes(struct flow *flow, struct error **ret_error)
{
	for (size_t i = 0; i < flow->remarks.count; i++)
		flow_say(flow, "%s", flow->remarks.items[i]);
	list_done(&flow->remarks);
	if (flow->failure) {
		*ret_error = STEAL(flow->failure);
		return -(int)(*ret_error)->code;
	}
	return flow->aborted ? reject(flow, &(struct answer){.kind = ANSWER_ABORT}, ret_error) : 0;
}

/* Reasons are somebody's words, and commands an agent's. */
static void say_no(struct flow *flow, const struct answer *answer)
{
	_cleanup_buffer_ struct buffer reason = {0};

	if (answer->reason)
		escape_for_terminal(&reason, answer->reason, strlen(answer->reason));
	if (answer->by_tier)
		flow_say(flow, "refused: %s", buffer_text(&reason));
	else if (answer->kind == ANSWER_DENY)
		flow_say(flow, "exec command rejected by user%s%s", reason.length ? ": " : "",
			 buffer_text(&reason));
}

int flow_escalate(struct flow *flow, struct error **ret_error)
{
	_cleanup_list_ struct list missing = {0}, refused = {0};
	_cleanup_(extents_done) struct extents levels = {0};
	struct attempt *attempt = &flow->result->attempts[flow->result->attempt_count - 1];
	const struct list *never = &flow->verdict.permissions.never;
	struct answer answer = {0};
	struct ask question = {.kind = ASK_RETRY, .refused = &refused, .starts_again = true};
	int r;

	r = conclude_wishes(flow, ret_error);
	if (r == 0)
		r = flow_defer_wishes(flow, ret_error);
	if (r != 0)
		return MIN(r, 0);
	if (!can_ask_again(flow, &missing, &refused) || !flow_is_attended(flow))
		return 0;
	if (!input_rewind(&flow->streams, &flow->input)) {
		flow_say(flow, "it cannot be run again: its standard input was already read");
		return 0;
	}
	question.why = "the sandbox refused what it needs";
	question.retry_reason = flow_retry(&missing)->asked;
	flow_offer_level(flow, &missing, &question, &levels);
	r = flow_record_attempt(flow, ret_error);
	if (r < 0)
		return r;
	r = flow_put(flow, "retry", &question, &missing, &answer, ret_error);
	if (r == 0 && answer.kind == ANSWER_ABORT) {
		r = reject(flow, &answer, ret_error);
	} else if (r == 0 && answer.kind != ANSWER_APPROVE) {
		explain_mark(attempt, never, &missing, "denied", flow_unsaid_why(&answer),
			     &flow->unsaid);
		if (!flow_unsaid_why(&answer))
			flow_note_nos(flow, &missing);
		flow->defer_seconds = answer.seconds;
		if (answer.kind == ANSWER_DEFER)
			r = flow_defer(flow, answer.question, &missing, &refused, ret_error);
		say_no(flow, &answer);
	} else if (r == 0) {
		explain_mark(attempt, never, &missing, "granted", NULL, NULL);
		/* Nobody has been asked for it there. */
		if (list_has(&missing, "container"))
			list_done(&flow->asked);
		flow_say(flow, "Execution failed: %s", refused.items[0]);
		flow_say(flow, "%s", flow_retry(&missing)->said);
		r = 1;
	}
	answer_done(&answer);
	return r;
}
