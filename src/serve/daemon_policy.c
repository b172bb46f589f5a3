/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that an approver registers for a session. */
#include "../base/io.h"
#include "../decide/policy.h"
#include "../record/session.h"
#include "../record/session_policy.h"
#include "../request/text_json.h"
#include "daemon_parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int read_words(json_t *params, struct session_policy *policy, struct error **ret_error)
{
	const char *asks = json_string_value(json_object_get(params, "asks"));
	const char *otherwise = json_string_value(json_object_get(params, "default"));
	json_t *timeout = json_object_get(params, "timeout");
	static const char *const known[] = {"session", "policy",  "name",
					    "asks",    "default", "timeout"};
	const char *key;
	json_t *value;

	json_object_foreach (params, key, value) {
		size_t i = 0;

		while (i < ELEMENTS(known) && strcmp(known[i], key) != 0)
			i++;
		if (i == ELEMENTS(known))
			return fail(ret_error, E_INPUT, "unknown key '%.100s'", key);
	}
	if (json_object_get(params, "asks") &&
	    (!asks || (strcmp(asks, "sync") != 0 && strcmp(asks, "queued") != 0)))
		return fail(ret_error, E_INPUT, "asks is sync or queued");
	if (json_object_get(params, "default") &&
	    (!otherwise || (strcmp(otherwise, "allow") != 0 && strcmp(otherwise, "deny") != 0)))
		return fail(ret_error, E_INPUT, "default is allow or deny");
	if (timeout && (!json_is_number(timeout) || json_number_value(timeout) < 1 ||
			json_number_value(timeout) > SESSION_ASKS_SECONDS))
		return fail(ret_error, E_INPUT, "timeout is 1 to %d seconds", SESSION_ASKS_SECONDS);
	policy->queued = asks && strcmp(asks, "queued") == 0;
	policy->allows = otherwise && strcmp(otherwise, "allow") == 0;
	if (timeout)
		policy->timeout_ns = (uint64_t)(json_number_value(timeout) * 1e9);
	return 0;
}

/* The text of policies/NAME.yaml beside the user's own policy. Caller frees. */
static int read_named(const char *name, char **ret_text, struct error **ret_error)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool own = config && config[0] == '/';
	_cleanup_free_ char *path = NULL;
	int r;

	if (!session_is_name(name) || (!own && !home))
		return fail(ret_error, E_INPUT, "'%.100s' cannot be the name of a policy", name);
	if (asprintf(&path, "%s%s/ward/policies/%s.yaml", own ? config : home,
		     own ? "" : "/.config", name) < 0)
		abort();
	r = read_file(AT_FDCWD, path, POLICY_LIMIT, ret_text, NULL);
	return r < 0 ? fail_errno(ret_error, E_NOT_FOUND, -r, "the policy %s", path) : 0;
}

static int work_register(struct client *client, json_t *params, json_t **ret_result,
			 struct error **ret_error)
{
	const char *session = json_string_value(json_object_get(params, "session"));
	const char *text = json_string_value(json_object_get(params, "policy"));
	const char *name = json_string_value(json_object_get(params, "name"));
	struct session_policy policy = {.by = client->by};
	_cleanup_list_ struct list warnings = {0};
	_cleanup_free_ char *named = NULL;
	int r;

	if (!session || !session_is_name(session))
		return fail(ret_error, E_INPUT, "params need session, the name of one");
	if ((json_object_get(params, "policy") && !text) ||
	    (json_object_get(params, "name") && !name) || (name && text))
		return fail(ret_error, E_INPUT,
			    "policy is the text of a policy file, or name says which one");
	r = read_words(params, &policy, ret_error);
	if (r == 0 && name)
		r = read_named(name, &named, ret_error);
	policy.text = named ? named : text;
	if (r == 0 && policy.text)
		r = policy_parse(policy.text, strlen(policy.text), "policy", /* walls= */ NULL,
				 &warnings, ret_error);
	if (r < 0)
		return r;
	/* The word of whoever the files of policy belong to counts in full, as they do; anybody
	 * else's can only narrow. */
	policy.trusted = client->peer.uid == geteuid() || client->peer.uid == 0;
	r = session_policy_write(client->daemon->state, session, &policy, ret_error);
	if (r < 0)
		return r;
	*ret_result = json_pack("{s:s, s:b}", "session", session, "trusted", policy.trusted);
	json_put_list(*ret_result, "warnings", &warnings);
	return 0;
}

void method_policy_register(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_register, NULL);
}

void method_policy_forget(struct client *client, json_t *id, json_t *params)
{
	const char *session = json_string_value(json_object_get(params, "session"));
	_cleanup_error_ struct error *error = NULL;

	if (!session || !session_is_name(session))
		client_error(client, id, INVALID_PARAMS, "params need session, the name of one",
			     NULL);
	else if (session_policy_remove(client->daemon->state, session, &error) < 0)
		client_failure(client, id, error);
	else
		client_result(client, id, json_pack("{s:s}", "session", session));
}

struct found {
	const char *state;
	struct listing *listing;
};

static int add_policy(const char *id, bool lives, int64_t used, void *data)
{
	struct found *found = data;
	json_t *object = session_policy_read(found->state, id);

	(void)lives;
	(void)used;
	if (object)
		listing_add(found->listing, object);
	json_decref(object);
	return 0;
}

static int work_policies(struct client *client, json_t *params, json_t **ret_result,
			 struct error **ret_error)
{
	struct listing listing = listing_new(params);
	struct found found = {client->daemon->state, &listing};

	(void)ret_error;
	(void)session_list(client->daemon->state, add_policy, &found);
	*ret_result = listing_end(&listing, "policies");
	return 0;
}

void method_policies(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_policies, NULL);
}
