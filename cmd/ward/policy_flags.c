/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's sandbox and a request hold the same things under different names: one table says which
 * is which. */
#include "policy_flags.h"

#include <stddef.h>
#include <string.h>

static const struct {
	size_t policy, request;
} lists[] = {
	{offsetof(struct sandbox_policy, read), offsetof(struct request, read)},
	{offsetof(struct sandbox_policy, write), offsetof(struct request, write)},
	{offsetof(struct sandbox_policy, read_only), offsetof(struct request, read_only)},
	{offsetof(struct sandbox_policy, make), offsetof(struct request, make)},
	{offsetof(struct sandbox_policy, deny), offsetof(struct request, deny)},
	{offsetof(struct sandbox_policy, allow_hosts), offsetof(struct request, allow_hosts)},
	{offsetof(struct sandbox_policy, deny_hosts), offsetof(struct request, deny_hosts)},
	{offsetof(struct sandbox_policy, publish), offsetof(struct request, publish)},
	{offsetof(struct sandbox_policy, container), offsetof(struct request, container)},
	{offsetof(struct sandbox_policy, sockets), offsetof(struct request, sockets)},
	{offsetof(struct sandbox_policy, keep_env), offsetof(struct request, keep_environment)},
	{offsetof(struct sandbox_policy, require), offsetof(struct request, require)},
	{offsetof(struct sandbox_policy, allow_calls), offsetof(struct request, allow_calls)},
	{offsetof(struct sandbox_policy, deny_calls), offsetof(struct request, deny_calls)},
};

static void add_all(struct list *list, const struct list *more)
{
	for (size_t i = 0; i < more->count; i++)
		if (!list_has(list, more->items[i]))
			list_add(list, more->items[i]);
}

/* A flag's variable takes the place of the policy's. */
static void add_variables(struct list *list, const struct list *policy, const struct list *flags)
{
	for (size_t i = 0; i < policy->count; i++) {
		size_t name = strcspn(policy->items[i], "=") + 1;
		bool said = false;

		for (size_t f = 0; f < flags->count; f++)
			said |= strncmp(flags->items[f], policy->items[i], name) == 0;
		if (!said)
			list_add(list, policy->items[i]);
	}
	for (size_t f = 0; f < flags->count; f++)
		list_add(list, flags->items[f]);
}

/* Every limit is a uint64_t, and 0 is none. */
static void choose_limits(const struct limits *policy, const struct limits *flags,
			  struct limits *ret_limits)
{
	uint64_t held[sizeof(*policy) / sizeof(uint64_t)], said[ELEMENTS(held)];

	_Static_assert(sizeof(held) == sizeof(*policy), "a limit is not a uint64_t");
	memcpy(held, policy, sizeof(held));
	memcpy(said, flags, sizeof(said));
	for (size_t i = 0; i < ELEMENTS(held); i++)
		held[i] = said[i] ? said[i] : held[i];
	memcpy(ret_limits, held, sizeof(held));
}

int policy_to_request(const struct policy *policy, const struct request *flags,
		      struct request *ret_request, struct error **ret_error)
{
	const struct sandbox_policy *sandbox = &policy->sandbox;
	int r;

	if (flags->profile && (r = policy_profile(policy, flags->profile, &sandbox, ret_error)) < 0)
		return r;
	request_init(ret_request);
	for (size_t i = 0; i < ELEMENTS(lists); i++) {
		struct list *list = (struct list *)((char *)ret_request + lists[i].request);

		add_all(list, (const struct list *)((const char *)sandbox + lists[i].policy));
		add_all(list, (const struct list *)((const char *)flags + lists[i].request));
	}
	add_variables(&ret_request->environment, &sandbox->set_env, &flags->environment);
	choose_limits(&sandbox->limits, &flags->limits, &ret_request->limits);
	ret_request->has_level = ret_request->has_network = ret_request->has_approval = true;
	ret_request->has_caches = flags->has_caches || sandbox->has_caches;
	ret_request->caches = flags->has_caches ? flags->caches : sandbox->caches;
	ret_request->level = flags->has_level ? flags->level : sandbox->level;
	ret_request->network = flags->has_network ? flags->network : sandbox->network;
	ret_request->approval = flags->has_approval ? flags->approval : policy->approval;
	ret_request->escalation = MIN(flags->escalation, sandbox->escalation);
	ret_request->wait_ns = flags->wait_ns ? flags->wait_ns : policy->wait_ns;
	ret_request->trace_reads = flags->trace_reads || sandbox->trace_reads;
	/* In a network of none nothing is open, and flags that say both contradict each other. */
	if (ret_request->network == NETWORK_NONE) {
		list_done(&ret_request->allow_hosts);
		list_done(&ret_request->publish);
	}
	return 0;
}
