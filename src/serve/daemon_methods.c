/* SPDX-License-Identifier: Apache-2.0 */
/* Every message that a client may send, and by which socket. docs/protocol.md has the same table,
 * and a test holds the two against each other. */
#include "daemon_parts.h"

#include <string.h>

static method_function method_ping, method_methods, method_as;

/* clang-format off */
static const struct {
	const char *name;
	bool agent, approver;
	method_function *serve;
} methods[] = {
	{"ping", true, true, method_ping},
	{"methods", true, true, method_methods},
	{"run", true, false, method_run},
	{"start", true, false, method_start},
	{"check", true, false, method_check},
	{"wait", true, true, method_wait},
	{"stream", true, true, method_stream},
	{"output", true, true, method_output},
	{"status", true, true, method_status},
	{"tickets", true, true, method_tickets},
	{"cancel", true, true, method_cancel},
	{"ask.status", true, true, method_ask_status},
	{"as", false, true, method_as},
	{"pending", false, true, method_pending},
	{"show", false, true, method_show},
	{"seen", false, true, method_seen},
	{"approve", false, true, method_approve},
	{"deny", false, true, method_deny},
	{"abort", false, true, method_abort},
	{"defer", false, true, method_defer},
	{"reply", false, true, method_reply},
	{"retry", false, true, method_retry},
	{"sessions", false, true, method_sessions},
	{"runs", false, true, method_runs},
	{"follow", false, true, method_follow},
	{"events", false, true, method_events},
	{"policy.register", false, true, method_policy_register},
	{"policy.forget", false, true, method_policy_forget},
	{"policy.list", false, true, method_policies},
	{"trust.score", false, true, method_trust_score},
	{"trust.note", false, true, method_trust_note},
};
/* clang-format on */

static bool is_open_to(size_t number, enum door_side side)
{
	return side == DOOR_AGENT ? methods[number].agent : methods[number].approver;
}

static void method_ping(struct client *client, json_t *id, json_t *params)
{
	(void)params;
	client_result(client, id,
		      json_pack("{s:s, s:s, s:i, s:i, s:i}", "version", WARD_VERSION, "socket",
				client->side == DOOR_AGENT ? "agent" : "approver", "uid",
				(int)client->peer.uid, "pid", (int)client->peer.pid, "daemon",
				(int)getpid()));
}

static void method_methods(struct client *client, json_t *id, json_t *params)
{
	json_t *names = json_array();

	(void)params;
	for (size_t i = 0; i < ELEMENTS(methods); i++)
		if (is_open_to(i, client->side))
			json_array_append_new(names, json_string(methods[i].name));
	client_result(client, id, names);
}

/* Whoever reaches the approvers' socket of the system may answer for others; by their own word
 * alone, and once. */
static void method_as(struct client *client, json_t *id, json_t *params)
{
	json_t *uid = json_object_get(params, "uid");
	_cleanup_error_ struct error *error = NULL;

	if (!client->unsettled)
		client_error(client, id, INVALID_PARAMS,
			     "for whom somebody speaks is said first, and to the system's daemon",
			     NULL);
	else if (!json_is_integer(uid) || json_integer_value(uid) < 0 ||
		 json_integer_value(uid) >= UINT32_MAX)
		client_error(client, id, INVALID_PARAMS, "params need uid, a number", NULL);
	else if (json_integer_value(uid) == 0 && client->peer.uid != 0)
		client_error(client, id, INVALID_PARAMS, "only root speaks for root", NULL);
	else if (peer_become(client, (uid_t)json_integer_value(uid), &error) < 0)
		client_failure(client, id, error);
	else
		client_result(client, id, json_pack("{s:i}", "uid", (int)geteuid()));
}

/* Before anything else is done for it, its process is the peer's own. */
static bool settle_peer(struct client *client, json_t *id, const char *name)
{
	_cleanup_error_ struct error *error = NULL;

	if (!client->unsettled || strcmp(name, "as") == 0 ||
	    peer_become(client, client->peer.uid, &error) == 0)
		return true;
	client_failure(client, id, error);
	return false;
}

static void call_method(struct client *client, const char *name, json_t *id, json_t *params)
{
	size_t i = 0;

	while (i < ELEMENTS(methods) && strcmp(methods[i].name, name) != 0)
		i++;
	if (i == ELEMENTS(methods) || !is_open_to(i, client->side))
		client_error(client, id, NO_METHOD,
			     i == ELEMENTS(methods) ? "there is no such method"
						    : "that method is not for this socket",
			     "`methods` lists those of this socket");
	else if (params && !json_is_object(params))
		client_error(client, id, INVALID_PARAMS, "params must be an object", NULL);
	else if (settle_peer(client, id, name))
		methods[i].serve(client, id, params);
}

void methods_serve(struct client *client, const char *line, size_t length)
{
	json_error_t at;
	json_t *request = json_loadb(line, length, JSON_REJECT_DUPLICATES, &at);
	json_t *id = json_object_get(request, "id");
	const char *method = json_string_value(json_object_get(request, "method"));

	if (!request)
		client_error(client, NULL, PARSE_ERROR, at.text, NULL);
	else if (!method || !id || !(json_is_string(id) || json_is_number(id)) ||
		 (json_is_string(id) && json_string_length(id) > ID_MOST))
		client_error(client, NULL, INVALID_REQUEST,
			     "a request has a method and an id, a number or a short text", NULL);
	else
		call_method(client, method, id, json_object_get(request, "params"));
	json_decref(request);
}

const char *method_name(size_t number, bool *ret_agent, bool *ret_approver)
{
	if (number >= ELEMENTS(methods))
		return NULL;
	*ret_agent = methods[number].agent;
	*ret_approver = methods[number].approver;
	return methods[number].name;
}
