/* SPDX-License-Identifier: Apache-2.0 */
/* Policy, assessment, flags and remembered answers brought together into one verdict. The caller's
 * flags are the caller's own word and are laid over the policy. */
#include "decide.h"
#include "caches.h"
#include "consult.h"
#include "network.h"
#include "permissions.h"
#include "policy.h"
#include "../base/path.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* An answer that covers a kind of command covers it only as it is commonly found and called. */
static bool covers(const struct matter *matter, const struct grant *grant)
{
	return grant_covers(grant, matter->exact_key, matter->assessment) ||
	       (!matter->altered && grant_covers(grant, matter->key, matter->assessment));
}

/* What was answered before about such a command. A no beats a yes. */
static void recall(const struct matter *matter, struct standing *standing, struct verdict *verdict)
{
	for (size_t i = 0; matter->grants && i < matter->grants->count; i++) {
		const struct grant *grant = &matter->grants->items[i];

		/* A no that names permissions is one to these alone. */
		if (!covers(matter, grant) || (grant->refusal && grant->permissions.count))
			continue;
		standing->refused |= grant->refusal;
		standing->approved |= !grant->refusal;
		if (!verdict->grant || grant->refusal) {
			free(verdict->grant);
			verdict->grant = strdup(grant->id);
		}
	}
}

static void apply_answers(const struct matter *matter, struct verdict *verdict)
{
	for (size_t i = 0; matter->grants && i < matter->grants->count; i++) {
		const struct grant *grant = &matter->grants->items[i];

		if (!grant->refusal && covers(matter, grant))
			for (size_t p = 0; p < grant->permissions.count; p++)
				permissions_apply(matter, grant->permissions.items[p], true, grant,
						  verdict);
	}
	for (size_t i = 0; i < matter->granted->count; i++)
		if (!matter->kept || !list_has(matter->kept, matter->granted->items[i]))
			permissions_apply(matter, matter->granted->items[i], true,
					  /* grant= */ NULL, verdict);
}

bool decide_is_networked_code(const struct request *request)
{
	return request->profile && strcmp(request->profile, CODE_NET) == 0;
}

static void give_reason(const struct matter *matter, const struct standing *standing,
			const struct rule *rule, struct verdict *verdict)
{
	const char *first = matter->assessment->why;

	if (standing->refused)
		verdict->reason = strdup("a person has said no to this before, for this session");
	else if (list_has(&verdict->wanted, "unsandboxed"))
		verdict->reason = strdup(verdict->escalation < ESCALATION_UNSANDBOXED
						 ? "the policy lets nothing run without the sandbox"
						 : "it is to start without the sandbox");
	else if (list_has(&verdict->wanted, "container"))
		verdict->reason = strdup(verdict->escalation < ESCALATION_CONTAINER
						 ? "the policy lets nothing run in a container"
						 : "it is to start in a container");
	else if (list_has(&verdict->wanted, "profile " CODE_NET))
		verdict->reason = strdup("code that reaches the network is always asked about");
	else if (verdict->wanted.count)
		verdict->reason = strdup("it wants more than the policy gives");
	else if (rule && rule->kind != VERDICT_ALLOW && rule->why)
		verdict->reason = strdup(rule->why);
	else if (rule && rule->kind != VERDICT_ALLOW &&
		 asprintf(&verdict->reason, "the rule '%s' of the policy", rule->pattern) < 0)
		abort();
	else if (!verdict->reason)
		verdict->reason = strdup(first ? first
					 : matter->request->requires_approval
						 ? "whoever sends it wants a yes to it"
						 : "every command is asked about");
}

/* True if the policy gives it anyway: the path lies in the workspace or below what a list names. */
static bool is_given(const struct matter *matter, const struct list *given, const char *wish)
{
	const char *workspace = matter->request->workspace, *home = matter->surroundings->home;
	_cleanup_free_ char *path = path_resolve(workspace, home, wish);

	for (size_t i = 0; i < given->count; i++) {
		_cleanup_free_ char *pattern = path_resolve(workspace, home, given->items[i]);
		_cleanup_free_ char *fixed = path_fixed_part(pattern);
		size_t length = strlen(pattern);

		if (strcmp(given->items[i], wish) == 0 || path_matches(pattern, path, NULL))
			return true;
		/* DIR and DIR / ** give all that lies below. */
		if ((!path_has_glob(pattern) ||
		     (length > 3 && strcmp(pattern + length - 3, "/**") == 0)) &&
		    path_is_under(path, fixed))
			return true;
	}
	return false;
}

/* What the request wants beyond what anybody gets, as permissions. A person's flags are the
 * person's own word; another program's are no more than a wish. */
static void collect_wishes(const struct matter *matter, const struct sandbox_policy *policy,
			   bool none_by_policy, const struct verdict *verdict, struct list *wishes)
{
	const struct request *request = matter->request;
	const struct {
		const struct list *wished, *given;
		const char *operation;
	} lists[] = {{&request->read, &policy->read, "read"},
		     {&request->write, &policy->write, "write"},
		     {&request->make, &policy->make, "write"},
		     {&request->sockets, &policy->sockets, "unix"},
		     {&request->keep_environment, &policy->keep_env, "secret"},
		     {&request->allow_calls, &policy->allow_calls, "syscall"}};

	if (request->escalated || verdict->sandbox == PREFERENCE_FORBID ||
	    (request->foreign && request->level == LEVEL_NONE && !none_by_policy))
		list_add(wishes, "unsandboxed");
	/* Another place than the one that the policy has in mind for it. */
	else if (request->foreign && request->level == LEVEL_CONTAINER &&
		 !(policy->has_level && policy->level == LEVEL_CONTAINER))
		list_add(wishes, "container");
	/* Code with a network is always asked about, and what it may reach is what is answered. */
	if (decide_is_networked_code(request))
		list_add(wishes, "profile " CODE_NET);
	if (!request->foreign)
		return;
	/* The rules of a project hold for the directory that they lie in. */
	if (request->bound && strcmp(request->bound, request->workspace) != 0)
		list_add_printf(wishes, "workspace %s", request->workspace);
	if (request->profile && !request->profile_bound && strcmp(request->profile, "agent") != 0 &&
	    strcmp(request->profile, "code") != 0 && !decide_is_networked_code(request))
		list_add_printf(wishes, "profile %s", request->profile);
	for (size_t l = 0; l < ELEMENTS(lists); l++)
		for (size_t i = 0; i < lists[l].wished->count; i++)
			if (!is_given(matter, lists[l].given, lists[l].wished->items[i]))
				list_add_printf(wishes, "%s %s", lists[l].operation,
						lists[l].wished->items[i]);
	network_wishes(request, policy, verdict->network, wishes);
}

static bool list_gives(const struct list *given, const char *wish)
{
	for (size_t i = 0; i < given->count; i++)
		if (network_permission_covers(given->items[i], wish))
			return true;
	return false;
}

/* Somebody has named this, and said yes. */
static bool is_granted(const struct matter *matter, const struct rule *rule, const char *permission)
{
	if (list_gives(matter->granted, permission) ||
	    (rule && rule->kind == VERDICT_ALLOW && list_gives(&rule->permissions, permission)))
		return true;
	for (size_t i = 0; matter->grants && i < matter->grants->count; i++) {
		const struct grant *grant = &matter->grants->items[i];

		if (!grant->refusal && covers(matter, grant) &&
		    list_gives(&grant->permissions, permission))
			return true;
	}
	return false;
}

bool decide_is_vouched(const struct request *request, const struct policy *policy)
{
	return (request->approved || request->approved_by_policy) && policy &&
	       policy_caller(policy, request);
}

/* Others than the caller would have to answer: then its word is not theirs. */
static bool is_routed(const struct matter *matter, const struct list *wanted)
{
	_cleanup_circumstances_ struct circumstances circumstances = {0};
	struct route_subject subject = {.circumstances = &circumstances,
					.plan = matter->plan,
					.grants = wanted,
					.cwd = matter->request->cwd,
					.login = ""};
	json_t *route;
	bool routed;

	if (matter->policy->routing.rule_count == 0)
		return false;
	circumstances_make(matter->policy, matter->request, matter->plan, matter->assessment,
			   &circumstances);
	route = routes_for(matter->policy, &subject);
	routed = route;
	json_decref(route);
	return routed;
}

/* What the score of an agent says of the commands themselves. */
static void weigh_trust(const struct matter *matter, struct standing *standing,
			struct trust_word *ret_word)
{
	_cleanup_circumstances_ struct circumstances circumstances = {0};

	*ret_word = (struct trust_word){0};
	if (!matter->under_trust || matter->bounds || !matter->policy)
		return;
	circumstances_make(matter->policy, matter->request, matter->plan, matter->assessment,
			   &circumstances);
	trust_weigh(matter->policy, matter->trust, matter->plan, matter->assessment, &circumstances,
		    matter->altered, ret_word);
	standing->trusted = ret_word->kind == TRUST_UNLOCKED;
	standing->locked = ret_word->kind == TRUST_LOCKED;
}

/* In words, where the score has decided. */
static void tell_trust(const struct matter *matter, const struct trust_word *word,
		       struct verdict *verdict)
{
	free(verdict->reason);
	if (asprintf(&verdict->reason, "%s: '%s' is unlocked from a trust of %d on, and %s has %d",
		     verdict->kind == VERDICT_ALLOW ? "trust" : "too little trust", word->pattern,
		     word->at, matter->request->agent, trust_points(matter->trust)) < 0)
		abort();
}

/* No yes goes further than the policy says. */
static bool is_beyond(const struct verdict *verdict)
{
	return (verdict->escalation < ESCALATION_UNSANDBOXED &&
		list_has(&verdict->wanted, "unsandboxed")) ||
	       (verdict->escalation < ESCALATION_CONTAINER &&
		list_has(&verdict->wanted, "container"));
}

static void weigh(const struct matter *matter, const struct consulted *consulted,
		  const struct sandbox_policy *policy, bool none_by_policy, struct verdict *verdict)
{
	_cleanup_list_ struct list wishes = {0};
	const struct rule *rule = NULL;
	struct standing standing = {
		.class = matter->assessment->class,
		.only_reads = matter->assessment->only_reads,
		.none_by_policy = none_by_policy,
		.wants_approval = matter->request->requires_approval,
		.vouched = decide_is_vouched(matter->request, matter->policy),
	};
	struct trust_word trust;
	struct ruling ruling;

	consult_rules(matter, consulted, &standing, &rule);
	if (rule && asprintf(&verdict->rule, "%s:%d", rule->file, rule->line) < 0)
		abort();
	recall(matter, &standing, verdict);
	weigh_trust(matter, &standing, &trust);
	standing.approved |= matter->answered || matter->bounds;
	collect_wishes(matter, policy, none_by_policy, verdict, &wishes);
	for (size_t i = 0; i < wishes.count; i++)
		if (!is_granted(matter, rule, wishes.items[i]) &&
		    !(consulted->unsandboxed && strcmp(wishes.items[i], "unsandboxed") == 0) &&
		    !(consulted->container && strcmp(wishes.items[i], "container") == 0))
			list_add(&verdict->wanted, wishes.items[i]);
	verdict->routed = standing.vouched && is_routed(matter, &verdict->wanted);
	standing.vouched &= !verdict->routed;
	standing.wants_more = wishes.count > 0;
	standing.more_approved = verdict->wanted.count == 0;
	ruling = approve_first(verdict->approval, &standing);
	if (ruling.kind == VERDICT_ASK && is_beyond(verdict))
		ruling = (struct ruling){VERDICT_DENY, "rule"};
	verdict->kind = ruling.kind;
	verdict->source = ruling.kind != VERDICT_ALLOW ? ruling.source
			  : matter->incident	       ? "trust"
			  : matter->bounds	       ? "token"
						       : ruling.source;
	if (list_has(&wishes, "unsandboxed"))
		verdict->level =
			list_has(&verdict->wanted, "unsandboxed") ? LEVEL_RESTRICTED : LEVEL_NONE;
	else if (list_has(&verdict->wanted, "container"))
		verdict->level = LEVEL_RESTRICTED;
	if (verdict->kind != VERDICT_ALLOW)
		give_reason(matter, &standing, rule, verdict);
	if (trust.kind != TRUST_SILENT && strcmp(verdict->source, "trust") == 0)
		tell_trust(matter, &trust, verdict);
}

/* A rule that wants the sandbox means it whoever asks for less. */
static void hold_to_sandbox(const struct request *request, const struct consulted *consulted,
			    struct verdict *verdict)
{
	bool wants_none = request->escalated || request->sandbox == PREFERENCE_FORBID ||
			  request->level == LEVEL_NONE;

	if (verdict->sandbox != PREFERENCE_REQUIRE || !consulted->required)
		return;
	if (verdict->level == LEVEL_NONE)
		verdict->level = LEVEL_RESTRICTED;
	if (!wants_none || verdict->kind == VERDICT_DENY)
		return;
	verdict->kind = VERDICT_DENY;
	verdict->source = "rule";
	free(verdict->reason);
	free(verdict->rule);
	if (asprintf(&verdict->reason, "the rule '%s' of the policy wants the sandbox",
		     consulted->required->pattern) < 0 ||
	    asprintf(&verdict->rule, "%s:%d", consulted->required->file,
		     consulted->required->line) < 0)
		abort();
}

static uint64_t stricter(uint64_t one, uint64_t other)
{
	return !one ? other : !other ? one : MIN(one, other);
}

/* A caller at the command line has the last word; another program's request can only narrow. */
static void choose_limits(const struct request *request, const struct limits *policy,
			  struct limits *ret_limits)
{
	static const size_t members[] = {
		offsetof(struct limits, memory),  offsetof(struct limits, millicpus),
		offsetof(struct limits, cpu_ns),  offsetof(struct limits, processes),
		offsetof(struct limits, disk),	  offsetof(struct limits, output),
		offsetof(struct limits, time_ns), offsetof(struct limits, idle_ns),
		offsetof(struct limits, files),
	};

	for (size_t i = 0; i < ELEMENTS(members); i++) {
		uint64_t said = *(const uint64_t *)((const char *)&request->limits + members[i]);
		uint64_t held = *(const uint64_t *)((const char *)policy + members[i]);

		*(uint64_t *)((char *)ret_limits + members[i]) = request->foreign
									 ? stricter(said, held)
								 : said ? said
									: held;
	}
}

void decide_limits(const struct request *request, const struct policy *policy,
		   struct limits *ret_limits)
{
	static const struct sandbox_policy nothing;
	const struct sandbox_policy *sandbox = policy ? &policy->sandbox : &nothing;

	if (request->profile && policy)
		(void)policy_profile(policy, request->profile, &sandbox, /* ret_error= */ NULL);
	choose_limits(request, &sandbox->limits, ret_limits);
}

static enum approval choose_approval(const struct request *request, const struct policy *policy)
{
	if (!policy || !policy->has_approval)
		return request->approval;
	if (!request->has_approval ||
	    (request->foreign && !approval_is_stricter(request->approval, policy->approval)))
		return policy->approval;
	return request->approval;
}

/* Another program's wish can only narrow. */
static enum caches choose_caches(const struct request *request, const struct sandbox_policy *policy)
{
	if (!request->has_caches || (request->foreign && request->caches == CACHES_PRIVATE))
		return policy->caches;
	return request->caches;
}

bool decide_profile_holds(const struct request *request, const struct policy *policy)
{
	return request->profile && policy &&
	       !(request->profile_implied && policy->sandbox.has_network &&
		 policy->sandbox.network == NETWORK_NONE);
}

int decide(const struct matter *matter, struct verdict *ret_verdict, struct error **ret_error)
{
	static const struct sandbox_policy nothing;
	const struct request *request = matter->request;
	const struct surroundings *surroundings = matter->surroundings;
	const struct sandbox_policy *policy = matter->policy ? &matter->policy->sandbox : &nothing;
	struct verdict verdict = {0};
	struct consulted consulted;
	bool none_by_policy;
	int r = 0;

	if (decide_profile_holds(request, matter->policy) &&
	    (r = policy_profile(matter->policy, request->profile, &policy, ret_error)) < 0)
		return r;
	if ((r = network_check_request(request, ret_error)) < 0)
		return r;
	none_by_policy = policy->has_level && policy->level == LEVEL_NONE;
	verdict.level = request->has_level || !policy->has_level ? request->level : policy->level;
	if (decide_is_networked_code(request) && verdict.level == LEVEL_NONE) {
		fail(ret_error, E_USAGE, "the profile " CODE_NET " is nothing without the sandbox");
		return error_hint(ret_error, "leave out one of --profile and --level none");
	}
	verdict.network = network_choose(request, policy);
	verdict.approval = choose_approval(request, matter->policy);
	verdict.escalation = MIN(request->escalation,
				 matter->policy ? policy->escalation : ESCALATION_UNSANDBOXED);
	if (matter->bounds) { /* in them, and nothing is asked */
		verdict.level = LEVEL_RESTRICTED;
		verdict.network = NETWORK_NONE;
		verdict.approval = APPROVAL_NEVER;
	}
	choose_limits(request, &policy->limits, &verdict.limits);
	for (size_t i = 0; i < policy->container.count; i++)
		list_add(&verdict.container, policy->container.items[i]);
	/* What another program says of it counts for nothing: it would choose what it sees. */
	for (size_t i = 0; i < request->container.count && !request->foreign; i++)
		list_add(&verdict.container, request->container.items[i]);
	for (size_t i = 0; i < policy->require.count; i++)
		list_add(&verdict.require, policy->require.items[i]);
	for (size_t i = 0; i < request->require.count; i++)
		list_add(&verdict.require, request->require.items[i]);
	verdict.wait_ns =
		request->wait_ns || !matter->policy ? request->wait_ns : matter->policy->wait_ns;
	verdict.kills = policy->kills;
	verdict.trace_reads = policy->trace_reads || request->trace_reads || matter->bounds;
	consult(matter, &consulted);
	consult_permissions(matter, &consulted, &verdict.brought);
	verdict.sandbox = consulted.sandbox == PREFERENCE_REQUIRE ? PREFERENCE_REQUIRE
			  : request->sandbox != PREFERENCE_AUTO	  ? request->sandbox
								  : consulted.sandbox;
	if (matter->bounds)
		verdict.sandbox = PREFERENCE_REQUIRE;
	weigh(matter, &consulted, policy, none_by_policy, &verdict);
	hold_to_sandbox(request, &consulted, &verdict);
	consult_done(&consulted);
	if (matter->incident) {
		verdict.incident = strdup(matter->incident);
		if (!verdict.reason &&
		    asprintf(&verdict.reason, "safe mode, by incident %s", matter->incident) < 0)
			abort();
	}
	if (request->level == LEVEL_NONE && !request->foreign && verdict.kind == VERDICT_ASK) {
		verdict.kind = VERDICT_ALLOW;
		verdict.source = "flag"; /* the caller's own word */
	} else if (request->level == LEVEL_NONE && !request->foreign && !matter->bounds &&
		   verdict.kind == VERDICT_ALLOW) {
		verdict.source = "flag";
	}
	if (verdict.kind == VERDICT_DENY) {
		*ret_verdict = verdict;
		return 0;
	}
	if (matter->bounds) {
		r = permissions_bounded(matter, policy, &verdict, ret_error);
	} else if (verdict.level != LEVEL_NONE) {
		r = permissions_files(request, policy, surroundings, &verdict.permissions,
				      ret_error);
		if (r == 0 && matter->under_trust)
			trust_hold(matter->policy, matter->trust, surroundings->home,
				   &verdict.permissions);
		if (r == 0 && !request->foreign)
			r = permissions_sockets(&request->sockets, &verdict.permissions, ret_error);
		if (r == 0)
			r = permissions_calls(request, policy, &verdict.permissions, ret_error);
		if (r == 0)
			r = network_permissions(matter, policy, &verdict, ret_error);
		if (r == 0) {
			(void)permissions_sockets(&policy->sockets, &verdict.permissions, NULL);
			for (size_t i = 0; i < verdict.brought.count; i++)
				permissions_apply(matter, verdict.brought.items[i], false,
						  /* grant= */ NULL, &verdict);
			apply_answers(matter, &verdict);
		}
	}
	if (r < 0) {
		verdict_done(&verdict);
		return r;
	}
	for (size_t i = 0; i < policy->keep_env.count && !matter->bounds; i++)
		list_add(&verdict.keep, policy->keep_env.items[i]);
	for (size_t i = 0;
	     i < request->keep_environment.count && !request->foreign && !matter->bounds; i++)
		list_add(&verdict.keep, request->keep_environment.items[i]);
	decide_environment(request, surroundings, verdict.level, &verdict.keep, &policy->set_env,
			   &verdict.permissions);
	if ((matter->bounds ? list_has(matter->bounds, "unix ssh-agent")
			    : list_has(&request->sockets, "ssh-agent") ||
				      list_has(&policy->sockets, "ssh-agent")) &&
	    getenv("SSH_AUTH_SOCK")) {
		list_add(&verdict.permissions.meant, "SSH_AUTH_SOCK");
		list_add_printf(&verdict.permissions.environment, "SSH_AUTH_SOCK=%s",
				getenv("SSH_AUTH_SOCK"));
	}
	if (verdict.level == LEVEL_NONE || matter->bounds ||
	    choose_caches(request, policy) == CACHES_OFF)
		list_done(&verdict.permissions.caches);
	else {
		caches_need(surroundings->home, matter, &verdict.permissions);
		caches_choose(surroundings->home, &verdict.permissions);
	}
	*ret_verdict = verdict;
	return 0;
}

enum network verdict_reach(const struct verdict *verdict)
{
	return verdict->permissions.hosts.everything ? NETWORK_FULL : verdict->network;
}

void verdict_done(struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;

	free(verdict->reason);
	free(verdict->grant);
	free(verdict->rule);
	free(verdict->answered_by);
	free(verdict->incident);
	list_done(&verdict->require);
	list_done(&verdict->container);
	list_done(&verdict->wanted);
	list_done(&verdict->keep);
	list_done(&verdict->brought);
	free(permissions->workspace);
	file_rules_done(&permissions->rules);
	list_done(&permissions->never);
	list_done(&permissions->own);
	list_done(&permissions->not_deny_names);
	list_done(&permissions->by_products);
	list_done(&permissions->caches);
	list_done(&permissions->needed_caches);
	givens_done(&permissions->given);
	givens_done(&permissions->fixed);
	list_done(&permissions->sockets);
	host_rules_done(&permissions->hosts);
	list_done(&permissions->publish);
	list_done(&permissions->environment);
	list_done(&permissions->meant);
	list_done(&permissions->dropped);
	*verdict = (struct verdict){0};
}
