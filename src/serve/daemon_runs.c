/* SPDX-License-Identifier: Apache-2.0 */
/* Runs over the sockets are tickets: a process of their own keeps them, whatever becomes of the
 * daemon. */
#include "../base/id.h"
#include "../record/session.h"
#include "../record/session_policy.h"
#include "../request/text_json.h"
#include "daemon_parts.h"
#include "ticket.h"

#include <stdio.h>
#include <string.h>

#define UNNAMED_AGENT "unnamed"

/* A request as a ticket gets it: another program's word. Whatever is wider than the policy is asked
 * about. */
int client_request(struct client *client, json_t *params, struct request *request,
		   struct error **ret_error)
{
	json_t *plain = json_copy(params);
	_cleanup_free_ char *text = NULL;
	int r;

	json_object_del(plain, "stream");
	text = plain ? json_dumps(plain, JSON_COMPACT) : NULL;
	json_decref(plain);
	if (!text)
		return fail(ret_error, E_INPUT, "params must be a request object");
	r = request_from_json(text, strlen(text), request, ret_error);
	if (r == 0)
		r = session_check_claimed(request->session, client->peer.pid, request->agent,
					  ret_error);
	if (r < 0)
		return r;
	/* What comes over the agents' socket is an agent's: to give no name is no way round what
	 * binds agents. */
	if (!request->agent)
		request->agent = strdup(UNNAMED_AGENT);
	if (!request->workspace) {
		fail(ret_error, E_INPUT, "params need workspace");
		return error_hint(ret_error, "a daemon is in no directory of yours");
	}
	if (!request->cwd)
		request->cwd = strdup(request->workspace);
	request->json = false;
	request->no_pty = request->quiet = true;
	request->foreign = true;
	request->bound = strdup(request->workspace);
	request->caller = client->caller;
	client->caller.program = NULL; /* is the request's now */
	return 0;
}

char *client_session(const struct client *client, const struct request *request)
{
	bool unnamed = strcmp(request->agent, UNNAMED_AGENT) == 0;

	return session_of(client->peer.pid, unnamed ? NULL : request->agent);
}

struct counted {
	const char *agent;
	size_t open;
};

static void count_open(void *data, json_t *status)
{
	struct counted *counted = data;
	const char *agent = json_string_value(json_object_get(status, "agent"));

	counted->open += agent && strcmp(agent, counted->agent) == 0 && !ticket_is_over(status);
}

/* One agent cannot have all the tickets, and so all the questions, that there may be. */
static int bound_agent(const char *state, const char *agent, struct error **ret_error)
{
	struct counted counted = {.agent = agent};
	int r = strcmp(agent, UNNAMED_AGENT) != 0 && ticket_count_open(state) >= AGENT_TICKETS
			? ticket_list_open(state, count_open, &counted, ret_error)
			: 0;

	if (r < 0 || counted.open < AGENT_TICKETS)
		return r;
	fail(ret_error, E_REJECTED, "%zu tickets of the agent %s are open already", counted.open,
	     agent);
	return error_hint(ret_error, "wait for some of them, or cancel some");
}

/* In a process of its own: reading policies and starting programs takes a while. */
static int make_ticket(struct client *client, json_t *params, bool ends_with_client,
		       json_t **ret_result, struct error **ret_error)
{
	_cleanup_request_ struct request request;
	_cleanup_free_ char *session = NULL;
	struct ticket_options options = {0};
	char ticket[ID_TEXT];
	int r;

	request_init(&request);
	r = client_request(client, params, &request, ret_error);
	if (r == 0)
		r = bound_agent(client->daemon->state, request.agent, ret_error);
	if (r < 0)
		return r;
	options.session = session = client_session(client, &request);
	options.patience_ns = request.wait_ns;
	r = ticket_start(client->daemon->state, &request, &options, ticket, ret_error);
	if (r == 0)
		*ret_result = json_pack(
			"{s:s, s:b, s:b}", "ticket", ticket, "ends_with_client", ends_with_client,
			"queued",
			session_policy_is_queued(client->daemon->state,
						 request.session ? request.session : session));
	return r;
}

static int work_run(struct client *client, json_t *params, json_t **ret_result,
		    struct error **ret_error)
{
	return make_ticket(client, params, /* ends_with_client= */ true, ret_result, ret_error);
}

static int work_start_run(struct client *client, json_t *params, json_t **ret_result,
			  struct error **ret_error)
{
	int r = make_ticket(client, params, /* ends_with_client= */ false, ret_result, ret_error);

	if (r == 0) {
		json_object_del(*ret_result, "ends_with_client");
		json_object_del(*ret_result, "queued");
	}
	return r;
}

/* From here on the run is heard of as any other ticket, until it has ended or its caller has. */
static void follow_run(struct call *work, json_t *answer)
{
	struct client *client = work->client;
	const char *ticket =
		json_string_value(json_object_get(json_object_get(answer, "result"), "ticket"));
	struct call *call;

	if (!ticket) {
		wire_send(&client->wire, json_incref(answer));
		return;
	}
	client_notify(client, "run.started",
		      json_pack("{s:O, s:s}", "id", work->id, "ticket", ticket));
	call = wait_start(client, work->id, ticket, work->streams);
	call->bare = call->ends_with_client = true;
	call->queued = json_is_true(json_object_get(json_object_get(answer, "result"), "queued"));
	wait_look(call);
}

static bool wants_stream(json_t *params)
{
	json_t *stream = json_object_get(params, "stream");

	return !stream || json_is_true(stream);
}

void method_run(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_run, follow_run);
	if (client->calls && json_equal(client->calls->id, id))
		client->calls->streams = wants_stream(params);
}

void method_start(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_start_run, NULL);
}

static int work_retry(struct client *client, json_t *params, json_t **ret_result,
		      struct error **ret_error)
{
	const char *ticket = json_string_value(json_object_get(params, "ticket"));
	int r = ticket_retry(client->daemon->state, ticket, /* program= */ NULL, ret_error);

	if (r == 0)
		*ret_result = json_pack("{s:s}", "ticket", ticket);
	return r;
}

void method_retry(struct client *client, json_t *id, json_t *params)
{
	if (param_ticket(client, id, params))
		work_start(client, id, params, work_retry, NULL);
}

static void add_ticket(void *data, json_t *status)
{
	listing_add(data, status);
}

static int work_tickets(struct client *client, json_t *params, json_t **ret_result,
			struct error **ret_error)
{
	struct listing listing = listing_new(params);
	int r = ticket_list(client->daemon->state, add_ticket, &listing, ret_error);

	*ret_result = listing_end(&listing, "tickets");
	return r;
}

void method_tickets(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_tickets, NULL);
}
