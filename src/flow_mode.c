/* SPDX-License-Identifier: Apache-2.0 */
/* The mode of an agent under trust, as its runs meet it: whether a run begins in safe mode, that it
 * can be told to stand still from then on, and what becomes of it. */
#include "flow_state.h"
#include "base/escape.h"
#include "base/path.h"
#include "base/units.h"
#include "decide/bounds.h"
#include "decide/violations.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct violation_limits flow_violation_limits(const struct flow *flow)
{
	const struct trust_rules *rules = &flow->policy->trust;

	return (struct violation_limits){.medium = rules->medium,
					 .within_ns = rules->within_ns,
					 .kill = flow->verdict.kills ||
						 rules->then == TRUST_THEN_KILL};
}

void flow_lose_trust(struct flow *flow, const struct violation *violation)
{
	_cleanup_buffer_ struct buffer why = {0};
	_cleanup_error_ struct error *error = NULL;

	buffer_printf(&why, "%s (%s): ", violation->kind, violation->why);
	buffer_add_text(&why, violation->object);
	/* What it did is on record whether or not the score could be written, and what was learnt
	 * be withdrawn; a person is to know. */
	if (trust_note(flow->safety.state, flow->policy, flow->request->agent, TRUST_VIOLATION,
		       buffer_text(&why), &error) < 0)
		list_add_printf(&flow->remarks, "trust: %s", error->message);
}

/* -- Before the start ----------------------------------------------------------------------------
 */

/* What is left of permissions: the workspace and logs, to be read. */
static int make_bounds(struct flow *flow, struct error **ret_error)
{
	const char *home =
		flow->identity.account_home ? flow->identity.account_home : flow->identity.home;
	_cleanup_free_ char *escaped = NULL;
	struct list allowed = {0};
	char real[PATH_MAX];
	int r;

	if (!realpath(flow->request->workspace, real))
		return fail_errno(ret_error, E_ENGINE, errno, "%s", flow->request->workspace);
	escaped = path_escape(real);
	list_add_printf(&allowed, "read %s/**", escaped);
	list_add(&allowed, "read /var/log/**");
	r = bounds_make(&allowed, 1, real, home, &flow->safety.bounds, ret_error);
	if (r == 0)
		bounds_named(&allowed, 1, real, home, &flow->safety.bounds, &flow->safety.named);
	list_done(&allowed);
	return r;
}

static int read_mode(const struct flow *flow, const char *state, struct agent_mode *ret_mode,
		     struct error **ret_error)
{
	if (!(checks_switched_off() & CHECK_BIT(CHECK_MODE)))
		return mode_read(state, flow->request->agent, ret_mode, ret_error);
	*ret_mode = (struct agent_mode){0};
	return 0;
}

/* What either of them says against the agent. */
static void add_mode(const struct agent_mode *other, struct agent_mode *mode)
{
	int64_t voided = MAX(mode->voided, other->voided);

	if (other->safe)
		*mode = *other;
	mode->voided = voided;
}

int flow_find_mode(struct flow *flow, struct error **ret_error)
{
	struct safety *safety = &flow->safety;
	struct agent_mode own = {0};
	int r;

	if (!flow_is_tiered(flow))
		return 0;
	safety->bound = true;
	r = read_mode(flow, flow->state, &safety->mode, ret_error);
	/* Where ward becomes another user, what that one's runs have done is kept there. */
	if (r == 0 && flow->identity.changes)
		r = read_mode(flow, flow->own_state, &own, ret_error);
	add_mode(&own, &safety->mode);
	if (r == 0 && flow->token)
		r = mode_check_token(&safety->mode, flow->request->agent, flow->powers.issued,
				     ret_error);
	if (r < 0 || !safety->mode.safe)
		return r;
	free(flow->result->incident);
	flow->result->incident = strdup(safety->mode.incident);
	return make_bounds(flow, ret_error);
}

static int refuse(const struct flow *flow, struct error **ret_error)
{
	fail(ret_error, E_REJECTED, "refused: agent %s was put in safe mode meanwhile",
	     flow->request->agent);
	return error_hint(ret_error, "`ward incidents list` says why");
}

/* From here on it can be told; so what it was told before is looked at behind that. */
int flow_enter_mode(struct flow *flow, bool sandboxed, struct error **ret_error)
{
	struct safety *safety = &flow->safety;
	_cleanup_free_ char *place = NULL;
	struct agent_mode now;
	int r;

	if (!safety->bound)
		return 0;
	safety->state = flow->identity.changes && sandboxed ? flow->own_state : flow->state;
	place = agent_place(safety->state, flow->request->agent);
	if ((r = agent_place_make(safety->state, flow->request->agent, ret_error)) < 0 ||
	    (r = holder_begin(place, flow->result->run, &safety->holder, ret_error)) < 0 ||
	    (r = read_mode(flow, safety->state, &now, ret_error)) < 0 ||
	    (r = refused_load(safety->state, flow->request->agent, flow->result->run,
			      &safety->refused, ret_error)) < 0)
		return r;
	safety->freezes = now.freezes;
	if (now.safe && !safety->mode.safe)
		return refuse(flow, ret_error);
	if (safety->mode.safe) {
		flow_decided(flow, "mode", "safe", "trust");
		flow_say(flow,
			 "agent %s is in safe mode: it reads the workspace and logs, and nothing "
			 "else (ward incidents show %s)",
			 flow->request->agent, safety->mode.incident);
	}
	return 0;
}

/* Just before the command begins: what was judged may have been judged in another mode. */
int flow_check_mode(const struct flow *flow, struct error **ret_error)
{
	const struct safety *safety = &flow->safety;
	struct agent_mode now;
	int r;

	if (!safety->bound)
		return 0;
	r = read_mode(flow, safety->state, &now, ret_error);
	if (r < 0 || (now.freezes == safety->freezes && (!now.safe || safety->mode.safe)))
		return r;
	return refuse(flow, ret_error);
}

/* -- While it runs -------------------------------------------------------------------------------
 */

void flow_stand_still(struct flow *flow)
{
	struct safety *safety = &flow->safety;

	if (!(checks_switched_off() & CHECK_BIT(CHECK_REVOKE)))
		safety->voided = flow->answers_changed = true;
	safety->over = !flow->run || run_is_over(flow->run);
	if (safety->over)
		return;
	if (flow_violation_limits(flow).kill)
		run_end(flow->run);
	else
		(void)run_freeze(flow->run);
	safety->until = monotonic_ns() + tiers_answer(&flow->policy->tiers);
}

static void end_still(struct flow *flow, const char *why)
{
	if (!flow->failure) {
		fail(&flow->failure, E_REJECTED, "ended: agent %s is in safe mode, and %s",
		     flow->request->agent, why);
		error_hint(&flow->failure, "ward incidents show %s", flow->safety.incident);
	}
	run_end(flow->run);
}

/* A person can be told while the command has the terminal: it does not use it now. */
void flow_tell_still(struct flow *flow, const struct violation *violation)
{
	_cleanup_buffer_ struct buffer text = {0};
	bool over = flow->safety.over, frozen = !over && run_is_frozen(flow->run);

	buffer_printf(&text, "agent %s is in safe mode now (", flow->request->agent);
	if (violation) {
		buffer_printf(&text, "%s", violation->kind);
		buffer_add_text(&text, ": ");
		escape_for_terminal(&text, violation->object, strlen(violation->object));
	} else {
		buffer_add_text(&text, "by another of its runs");
	}
	buffer_printf(&text, ")%s: ward incidents show %s",
		      frozen  ? "; this command stands still until a person resumes it"
		      : !over ? "; this command is ended"
			      : "",
		      flow->safety.incident);
	if (!over && !frozen)
		end_still(flow, "nothing of it runs on");
	if (!flow->run || flow->streams.terminal < 0) {
		flow_say(flow, "%s", buffer_text(&text));
		return;
	}
	run_pause(flow->run);
	flow->approver->tell(flow->approver->data, buffer_text(&text));
	run_resume(flow->run);
	list_add(&flow->remarks, buffer_text(&text));
}

/* Another run of the agent has done it. */
static void stand_still_too(struct flow *flow, const struct agent_mode *mode)
{
	struct safety *safety = &flow->safety;
	json_t *fact;

	safety->freezes = mode->freezes;
	memcpy(safety->incident, mode->incident, ID_TEXT);
	flow_stand_still(flow);
	flow_drop_own_token(flow);
	fact = json_pack("{s:s, s:i, s:s}", "run", flow->result->run, "pid", (int)getpid(),
			 "commands", flow->run && run_is_frozen(flow->run) ? "frozen" : "killed");
	(void)incident_append(safety->state, flow->request->agent, safety->incident, "stopped",
			      fact, NULL);
	(void)flow_record(flow, "incident.stopped",
			  json_pack("{s:s}", "incident", safety->incident), NULL);
	free(flow->result->incident);
	flow->result->incident = strdup(safety->incident);
	flow_tell_still(flow, /* violation= */ NULL);
}

/* It was to stand still and did not hear of it until a person had closed the incident, which ends
 * what stands still. */
static void end_late(struct flow *flow, uint64_t freezes)
{
	flow->safety.freezes = freezes;
	if (!flow->failure) {
		fail(&flow->failure, E_REJECTED, "ended: agent %s was in safe mode meanwhile",
		     flow->request->agent);
		error_hint(&flow->failure, "`ward incidents list --all` says why");
	}
	run_end(flow->run);
}

/* Whoever takes something back waits for its holders: nothing is served here, so all is let go. */
static void let_go(struct flow *flow)
{
	flow_recall(flow);
	holder_tell(&flow->holder, (uint64_t)flow->answers.st_size);
	if (flow->book) {
		(void)book_changed(flow->book);
		holder_tell(&flow->token_holder, book_seen(flow->book));
	}
	flow->answers_changed = true; /* for the observer, when it serves again */
}

static void hear_people(struct flow *flow)
{
	struct safety *safety = &flow->safety;
	enum incident_word word = INCIDENT_WAIT;
	json_t *incident = NULL;

	if (incident_read(safety->state, flow->request->agent, safety->incident, &incident, NULL) ==
	    0)
		word = incident_word(incident, safety->freezes);
	json_decref(incident);
	let_go(flow);
	if (word == INCIDENT_RESUME) {
		(void)flow_record(flow, "incident.resumed",
				  json_pack("{s:s}", "incident", safety->incident), NULL);
		run_thaw(flow->run);
	} else if (word == INCIDENT_KILL) {
		end_still(flow, "a person has ended this command");
	} else if (monotonic_ns() >= safety->until) {
		end_still(flow, "nobody has let this command go on");
	}
}

void flow_look_at_mode(void *data)
{
	struct flow *flow = data;
	struct safety *safety = &flow->safety;
	struct agent_mode now;

	if (!safety->bound || !flow->run)
		return;
	/* What cannot be read says nothing good. */
	if (mode_read(safety->state, flow->request->agent, &now, NULL) < 0) {
		memcpy(safety->incident, "unknown", sizeof("unknown"));
		end_still(flow, "its mode cannot be read");
		return;
	}
	if (now.freezes > safety->freezes) {
		if (run_is_frozen(flow->run))
			safety->freezes = now.freezes; /* a word of before was not to this */
		else if (now.safe)
			stand_still_too(flow, &now);
		else
			end_late(flow, now.freezes);
	}
	if (run_is_frozen(flow->run))
		hear_people(flow);
}

void safety_done(struct safety *safety)
{
	holder_end(&safety->holder);
	list_done(&safety->counted);
	list_done(&safety->refused);
	list_done(&safety->bounds);
	list_done(&safety->named);
}
