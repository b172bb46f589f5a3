/* SPDX-License-Identifier: Apache-2.0 */
/* Asking while a call waits: what the observer holds back becomes a question, and what a person
 * says to it takes effect at once, in the run that stands there. */
#include "flow_wish.h"
#include "base/escape.h"
#include "base/path.h"
#include "base/units.h"
#include "decide/sockets.h"
#include "escalate/hint.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MISSED_MS = 500 /* a call that a signal interrupted comes again within this time */ };

void asked_make(const struct wish *wish, const char *permission, struct asked *ret_asked)
{
	*ret_asked = (struct asked){.number = wish->number,
				    .operation = strdup(wish->operation),
				    .object = strdup(wish->object),
				    .program = strdup(wish->program),
				    .permission = strdup(permission),
				    .shown = strdup(wish->command ? wish->command : wish->object)};
}

void asked_done(struct asked *asked)
{
	free(asked->operation);
	free(asked->object);
	free(asked->program);
	free(asked->permission);
	free(asked->shown);
}

void wish_serve_others(void *data)
{
	struct asking_about *about = data;

	observer_serve(about->flow->observer);
	flow_weigh_denials(about->flow);
	flow_tell(about->flow);
}

static bool is_about(const struct asking_about *about, const struct wish *wish)
{
	for (size_t i = 0; i < about->count; i++)
		if (strcmp(wish->operation, about->items[i].operation) == 0 &&
		    strcmp(wish->object, about->items[i].object) == 0)
			return true;
	return false;
}

bool wish_is_obsolete(void *data)
{
	struct asking_about *about = data;
	struct observer *observer = about->flow->observer;

	run_look(about->flow->run);	     /* which may end it */
	if (run_is_frozen(about->flow->run)) /* its agent is not given anything now */
		return true;
	for (const struct wish *wish = observer_wish(observer); wish;
	     wish = observer_wish_after(observer, wish->number))
		if (is_about(about, wish)) {
			about->missed = 0;
			return false;
		}
	if (about->missed == 0)
		about->missed = monotonic_ns();
	return monotonic_ns() > about->missed + MISSED_MS * 1000000ull;
}

static bool is_socket(const struct wish *wish)
{
	return strcmp(wish->operation, "unix") == 0;
}

bool wish_is_file(const struct wish *wish)
{
	static const char *const operations[] = {"read", "write", "delete"};

	for (size_t i = 0; i < ELEMENTS(operations); i++)
		if (strcmp(wish->operation, operations[i]) == 0)
			return true;
	return false;
}

/* Exactly what it wants; of a directory all that lies in it. Where a name is allowed and leads to
 * an address that must be named itself, that address. */
void wish_permission(const struct wish *wish, struct list *grants)
{
	bool plain = checks_switched_off() & CHECK_BIT(CHECK_NAMES);
	_cleanup_free_ char *path = !wish_is_file(wish) ? NULL
				    : plain		? strdup(wish->object)
							: path_escape(wish->object);

	if (wish->command)
		list_add_printf(grants, "%s %s", wish->operation, wish->command);
	else if (path)
		list_add_printf(grants, "%s %s%s", wish->operation, path, wish->tree ? "/**" : "");
	else if (!wish->warning || !wish->address)
		list_add_printf(grants, "%s %s", wish->operation, wish->object);
	else if (strchr(wish->address, ':'))
		list_add_printf(grants, "connect [%s]:%u", wish->address, wish->port);
	else
		list_add_printf(grants, "connect %s:%u", wish->address, wish->port);
}

/* What is there now, for it is what could be lost. */
void wish_describe_file(const struct wish *wish, struct buffer *note)
{
	char size[SIZE_TEXT];
	struct stat st;

	if (lstat(wish->object, &st) < 0) {
		buffer_add_text(note, wish->tree ? "a new directory and all in it" : "a new file");
	} else if (S_ISDIR(st.st_mode)) {
		buffer_add_text(note, wish->tree ? "the directory and all in it" : "a directory");
	} else if (S_ISREG(st.st_mode)) {
		size_text((uint64_t)st.st_size, size);
		buffer_printf(note, "a file of %s", size);
		if (st.st_nlink > 1)
			buffer_printf(note, ", with %ju other names", (uintmax_t)st.st_nlink - 1);
	}
}

/* What is written over or removed outside the workspace nobody brings back. */
bool wish_destroys(const struct wish *wish)
{
	struct stat st;

	return wish_is_file(wish) && strcmp(wish->operation, "read") != 0 &&
	       lstat(wish->object, &st) == 0;
}

/* "docker: equal to root", "udp, which is 10.1.2.3", "registry:python: pypi.org". Caller frees. */
static char *make_note(const struct wish *wish, const struct known_socket *socket,
		       const struct extents *extents)
{
	_cleanup_buffer_ struct buffer note = {0};

	if (socket)
		buffer_printf(&note, "%s: %s", socket->name, socket->means);
	else if (wish_is_file(wish))
		wish_describe_file(wish, &note);
	else if (wish->protocol && strcmp(wish->protocol, "udp") == 0)
		buffer_add_text(&note, "udp");
	if (note.length && (wish->warning || extents->set))
		buffer_add_text(&note, ", ");
	if (wish->warning && wish->address)
		buffer_printf(&note, "which is %s", wish->address);
	else if (extents->set)
		extents_describe_set(extents, &note);
	return buffer_steal(&note);
}

/* What it wants to do with it; NULL where the object says it all. */
static const char *verb_of(const struct wish *wish)
{
	static const char *const verbs[][2] = {{"read", "to read"},
					       {"write", "to write"},
					       {"delete", "to delete"},
					       {"exec", "to run"}};

	for (size_t i = 0; i < ELEMENTS(verbs); i++)
		if (strcmp(wish->operation, verbs[i][0]) == 0)
			return verbs[i][1];
	return NULL;
}

static char *make_why(const struct wish *wish, const struct known_socket *socket)
{
	_cleanup_buffer_ struct buffer why = {0};

	if (socket)
		buffer_printf(&why, "a socket of the host; %s", socket->risk);
	else if (wish->command)
		buffer_printf(&why, "%s; it waits, and has not started yet", wish->rule);
	else if (wish_is_file(wish))
		buffer_printf(&why, "%s; the call waits, and nothing was %s yet", wish->rule,
			      strcmp(wish->operation, "read") == 0 ? "read" : "changed");
	else if (is_socket(wish))
		buffer_add_text(&why, "a socket of the host: whatever listens there runs outside "
				      "the sandbox, and does what it is told");
	else if (wish->warning)
		buffer_printf(&why, "%s; the connection waits", wish->warning);
	else
		buffer_add_text(&why, "no rule allows it; the connection waits, and nothing was "
				      "sent yet, not even its name");
	return buffer_steal(&why);
}

/* A no that still holds names it: this run's, or the session's. */
bool wish_is_refused(const struct flow *flow, const char *permission)
{
	bool altered = flow->grants.count && flow_is_altered(flow->request);

	if (list_has(&flow->refused, permission))
		return true;
	for (size_t i = 0; i < flow->grants.count; i++) {
		const struct grant *grant = &flow->grants.items[i];

		if (grant->refusal && list_has(&grant->permissions, permission) &&
		    (grant_covers(grant, flow->key.exact, &flow->assessment) ||
		     (!altered && grant_covers(grant, flow->key.text, &flow->assessment))))
			return true;
	}
	return false;
}

/* The run cannot go on: what must be recorded before it takes effect could not be. */
void wish_give_up(struct flow *flow, struct error *failure)
{
	error_free(flow->failure);
	flow->failure = failure;
	run_end(flow->run);
}

void wish_note_refusal(struct flow *flow, const struct asked *asked, const struct answer *answer)
{
	const char *why = flow_unsaid_why(answer);

	list_add(&flow->refused, asked->permission);
	if (!why && answer->kind != ANSWER_NOBODY)
		flow_note_no(flow, asked->operation, asked->object);
	if (why)
		unsaid_add(&flow->unsaid, asked->operation, asked->object, why);
	if (answer->kind == ANSWER_DEFER) {
		list_add(&flow->deferred, asked->permission);
		flow->defer_seconds = MAX(flow->defer_seconds, answer->seconds);
		if (!flow->question)
			flow->question = answer->question ? strdup(answer->question) : NULL;
		return;
	}
	if (answer->reason) {
		_cleanup_buffer_ struct buffer text = {0};

		buffer_printf(&text, "%s ", asked->operation);
		escape_for_terminal(&text, asked->object, strlen(asked->object));
		buffer_add_text(&text,
				answer->by_tier ? " was refused: " : " was refused by the user: ");
		escape_for_terminal(&text, answer->reason, strlen(answer->reason));
		list_add(&flow->remarks, buffer_text(&text));
	}
	if (answer->kind == ANSWER_ABORT) {
		flow->aborted = true;
		run_end(flow->run);
	}
}

/* Asks, and returns what the observer is to note. */
static const char *ask(struct flow *flow, const struct wish *wish, struct list *grants)
{
	const struct known_socket *socket = is_socket(wish) ? socket_at(wish->object) : NULL;
	_cleanup_(asked_done) struct asked asked;
	struct asking_about about = {.flow = flow, .items = &asked, .count = 1};
	_cleanup_(extents_done) struct extents extents;
	_cleanup_free_ char *note = NULL, *why = make_why(wish, socket);
	const struct meanwhile meanwhile = {observer_fd(flow->observer), wish_serve_others,
					    wish_is_obsolete, &about};
	struct ask question = {.kind = ASK_IN_PLACE,
			       .verb = verb_of(wish),
			       .destroys = wish_destroys(wish),
			       .why = why,
			       .meanwhile = &meanwhile};
	_cleanup_answer_ struct answer answer = {0};
	struct error *error = NULL;

	asked_make(wish, grants->items[0], &asked);
	question.program = asked.program;
	question.object = asked.shown;
	extents_find(flow, wish, grants->items[0], &extents);
	question.note = note = make_note(wish, socket, &extents);
	question.extents = extents.items;
	question.extent_count = extents.count;
	question.extent = extents.asked;
	if (flow_put(flow, "grant", &question, grants, &answer, &error) < 0) {
		wish_give_up(flow, error);
		return "none";
	}
	if (answer.kind == ANSWER_NOBODY)
		return "none";
	if (answer.kind != ANSWER_APPROVE) {
		wish_note_refusal(flow, &asked, &answer);
		return "denied";
	}
	if (answer.grant)
		flow_hold(flow);
	for (size_t i = 0; i < grants->count; i++)
		observer_permit(flow->observer, grants->items[i],
				&(struct term){answer.grant, answer.expires});
	return "granted";
}

/* What needs no question: it is over, given or refused already. NULL: it needs one. */
static const char *settled_before(struct flow *flow, const struct wish *wish,
				  const char *permission)
{
	if (flow->aborted || flow->failure || (wish->tree && hint_is_broad(wish->object)))
		return "none";
	if (flow->safety.voided || flow_was_refused(flow, wish->operation, wish->object))
		return "denied";
	if (observer_permits(flow->observer, wish))
		return "granted";
	return wish_is_refused(flow, permission) ? "denied" : NULL;
}

/* All that needs no question; what is left is to be asked. */
static void settle_known(struct flow *flow)
{
	const struct wish *wish = observer_wish(flow->observer);

	while (wish) {
		_cleanup_list_ struct list grants = {0};
		uint64_t number = wish->number;
		const char *answer;

		wish_permission(wish, &grants);
		answer = settled_before(flow, wish, grants.items[0]);
		if (answer)
			observer_settle(flow->observer, number, answer);
		wish = observer_wish_after(flow->observer, number);
	}
}

static void ask_alone(struct flow *flow, const struct wish *wish)
{
	_cleanup_list_ struct list grants = {0};
	uint64_t number = wish->number;

	wish_permission(wish, &grants);
	observer_settle(flow->observer, number, ask(flow, wish, &grants));
}

/* At once, and again where it is looked for later. */
static void tell_silenced(struct flow *flow)
{
	const char *why = observer_silenced(flow->observer);

	if (!why || flow->told_silenced)
		return;
	flow->told_silenced = true;
	run_pause(flow->run);
	flow->approver->tell(flow->approver->data, why);
	run_resume(flow->run);
	list_add(&flow->remarks, why);
	list_add(&flow->result->warnings, why);
}

void flow_serve_wishes(struct flow *flow)
{
	const struct wish *wish;

	while (!run_is_frozen(flow->run)) {
		settle_known(flow);
		tell_silenced(flow);
		if (!observer_wish(flow->observer))
			return;
		run_pause(flow->run);
		burst_gather(flow);
		wish = burst_grave(flow);
		if (wish)
			ask_alone(flow, wish);
		else if (!burst_ask(flow) && (wish = observer_wish(flow->observer)))
			ask_alone(flow, wish);
		run_resume(flow->run);
	}
}
