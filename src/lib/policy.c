/* SPDX-License-Identifier: Apache-2.0 */
/* Policies of the host's, how they combine, and the registry that has them by name. */
#include "lib.h"

#include <stdlib.h>
#include <string.h>

struct ward_policy {
	atomic_uint references;
	int (*decide)(ward_policy *policy, const ward_ask *ask, ward_answer *answer);
	ward_policy_function *function;
	void *data;
	void (*free_data)(void *data);
	char *reason;
	ward_policy **parts;
	size_t count;
};

static struct entry {
	char *name;
	ward_policy *policy;
	struct entry *next;
} * registry;
static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;

static int approve(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	(void)policy, (void)ask, (void)answer;
	return WARD_APPROVE;
}

static int deny(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	(void)ask;
	if (policy->reason)
		(void)ward_answer_set(answer, "reason", policy->reason, NULL);
	return WARD_DENY;
}

static int by_function(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	int word = policy->function(ask, answer, policy->data);

	return word < WARD_PASS || word > WARD_LATER ? WARD_DENY : word;
}

/* What one of several says, in an answer of its own. */
static int decide_apart(ward_policy *policy, const ward_ask *ask, json_t **ret_said)
{
	ward_answer *answer = ward_answer_new();
	int word = answer ? policy_decide(policy, ask, answer) : WARD_DENY;

	*ret_said = answer ? json_incref(answer->object) : NULL;
	ward_answer_free(answer);
	return word;
}

static void say(ward_answer *answer, json_t *said)
{
	(void)json_object_clear(answer->object);
	if (said)
		(void)json_object_update(answer->object, said);
}

static int decide_first(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	int word = WARD_PASS;

	for (size_t i = 0; i < policy->count && word == WARD_PASS; i++) {
		json_t *said;

		word = decide_apart(policy->parts[i], ask, &said);
		if (word != WARD_PASS)
			say(answer, said);
		json_decref(said);
	}
	return word;
}

static int decide_all(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	bool later = false;
	size_t yes = 0;

	for (size_t i = 0; i < policy->count; i++) {
		json_t *said;
		int word = decide_apart(policy->parts[i], ask, &said);
		bool no = word == WARD_DENY || word == WARD_ABORT;

		later = later || word == WARD_LATER;
		yes += word == WARD_APPROVE;
		if (no || (word == WARD_APPROVE && yes == 1))
			say(answer, said);
		json_decref(said);
		if (no)
			return word;
	}
	if (later || yes != 1)
		say(answer, NULL);
	return later ? WARD_LATER : yes ? WARD_APPROVE : WARD_PASS;
}

static int decide_any(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	int no = WARD_PASS;
	bool later = false;

	for (size_t i = 0; i < policy->count; i++) {
		json_t *said;
		int word = decide_apart(policy->parts[i], ask, &said);
		bool first_no = no == WARD_PASS && (word == WARD_DENY || word == WARD_ABORT);

		later = later || word == WARD_LATER;
		if (first_no)
			no = word;
		if (first_no || word == WARD_APPROVE)
			say(answer, said);
		json_decref(said);
		if (word == WARD_APPROVE)
			return word;
	}
	if (later)
		say(answer, NULL);
	return later ? WARD_LATER : no;
}

int policy_decide(ward_policy *policy, const ward_ask *ask, ward_answer *answer)
{
	return policy->decide(policy, ask, answer);
}

static ward_policy *new_policy(int (*decide)(ward_policy *, const ward_ask *, ward_answer *))
{
	ward_policy *policy = calloc(1, sizeof(*policy));

	if (policy) {
		atomic_init(&policy->references, 1);
		policy->decide = decide;
	}
	return policy;
}

ward_policy *ward_policy_new(ward_policy_function *function, void *data,
			     void (*free_data)(void *data), ward_error **ret_error)
{
	ward_policy *policy;

	if (!function) {
		give_error(ret_error, "usage", NULL, "a policy without a function decides nothing");
		return NULL;
	}
	policy = new_policy(by_function);
	if (!policy) {
		out_of_memory(ret_error);
		return NULL;
	}
	policy->function = function;
	policy->data = data;
	policy->free_data = free_data;
	return policy;
}

ward_policy *ward_policy_allow(void)
{
	return new_policy(approve);
}

ward_policy *ward_policy_deny(const char *reason)
{
	ward_policy *policy = new_policy(deny);

	if (policy && reason && !(policy->reason = strdup(reason))) {
		ward_policy_free(policy);
		policy = NULL;
	}
	return policy;
}

ward_policy *ward_policy_combine(enum ward_combination how, ward_policy *const policies[],
				 size_t count, ward_error **ret_error)
{
	static int (*const ways[])(ward_policy *, const ward_ask *, ward_answer *) = {
		[WARD_FIRST] = decide_first, [WARD_ALL] = decide_all, [WARD_ANY] = decide_any};
	ward_policy *policy;

	if ((unsigned)how >= sizeof(ways) / sizeof(*ways) || !policies || !count) {
		give_error(ret_error, "usage", NULL, "nothing to combine");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		if (!policies[i]) {
			give_error(ret_error, "usage", NULL, "policy %zu is none", i);
			return NULL;
		}
	policy = new_policy(ways[how]);
	if (policy && !(policy->parts = calloc(count, sizeof(*policy->parts)))) {
		ward_policy_free(policy);
		policy = NULL;
	}
	if (!policy) {
		out_of_memory(ret_error);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		policy->parts[policy->count++] = policy_share(policies[i]);
	return policy;
}

ward_policy *policy_share(ward_policy *policy)
{
	if (policy)
		atomic_fetch_add(&policy->references, 1);
	return policy;
}

void ward_policy_free(ward_policy *policy)
{
	if (!policy || atomic_fetch_sub(&policy->references, 1) > 1)
		return;
	for (size_t i = 0; i < policy->count; i++)
		ward_policy_free(policy->parts[i]);
	if (policy->free_data)
		policy->free_data(policy->data);
	free(policy->parts);
	free(policy->reason);
	free(policy);
}

int ward_policy_register(const char *name, ward_policy *policy, ward_error **ret_error)
{
	struct entry *new, **at;
	ward_policy *before = NULL;

	if (!name || !*name)
		return give_error(ret_error, "usage", NULL, "a policy is registered by a name");
	new = policy ? calloc(1, sizeof(*new)) : NULL;
	if (policy && (!new || !(new->name = strdup(name)))) {
		free(new);
		return out_of_memory(ret_error);
	}
	pthread_mutex_lock(&registry_lock);
	for (at = &registry; *at && strcmp((*at)->name, name) != 0; at = &(*at)->next)
		;
	if (*at) {
		struct entry *gone = *at;

		*at = gone->next;
		before = gone->policy;
		free(gone->name);
		free(gone);
	}
	if (new) {
		new->policy = policy_share(policy);
		new->next = registry;
		registry = new;
	}
	pthread_mutex_unlock(&registry_lock);
	ward_policy_free(before); /* it may call the host */
	return 0;
}

int ward_use_policy(ward *handle, const char *name, ward_error **ret_error)
{
	ward_policy *policy = NULL, *before;

	if (!handle_is_ours(handle, ret_error))
		return -1;
	pthread_mutex_lock(&registry_lock);
	for (struct entry *at = registry; at && name && !policy; at = at->next)
		if (strcmp(at->name, name) == 0)
			policy = policy_share(at->policy);
	pthread_mutex_unlock(&registry_lock);
	if (name && !policy)
		return give_error(ret_error, "usage", "ward_policy_register gives it a name",
				  "there is no policy '%s'", name);
	pthread_mutex_lock(&handle->lock);
	before = handle->policy;
	handle->policy = policy;
	pthread_mutex_unlock(&handle->lock);
	ward_policy_free(before);
	return 0;
}
