/* SPDX-License-Identifier: Apache-2.0 */
/* One policy out of several files. A trusted file says what is; one that is not can only narrow. */
#include "merge.h"
#include "../base/units.h"

#include <stdio.h>
#include <string.h>

/* No flag and no file: docs/policy.md. */
static const enum level default_level = LEVEL_RESTRICTED;
static const enum network default_network = NETWORK_NONE;
static const enum escalation default_escalation = ESCALATION_UNSANDBOXED;
static const enum approval default_approval = APPROVAL_ON_FAILURE;

static char *copy(const char *text)
{
	char *result = strdup(text);

	if (!result)
		abort();
	return result;
}

static struct list *list_of(struct sandbox_policy *sandbox, enum setting_kind kind)
{
	static const size_t offsets[] = {
		[SET_READ] = offsetof(struct sandbox_policy, read),
		[SET_WRITE] = offsetof(struct sandbox_policy, write),
		[SET_READ_ONLY] = offsetof(struct sandbox_policy, read_only),
		[SET_MAKE] = offsetof(struct sandbox_policy, make),
		[SET_DENY] = offsetof(struct sandbox_policy, deny),
		[SET_ALLOW_HOST] = offsetof(struct sandbox_policy, allow_hosts),
		[SET_DENY_HOST] = offsetof(struct sandbox_policy, deny_hosts),
		[SET_PUBLISH] = offsetof(struct sandbox_policy, publish),
		[SET_SOCKET] = offsetof(struct sandbox_policy, sockets),
		[SET_KEEP_ENV] = offsetof(struct sandbox_policy, keep_env),
		[SET_SET_ENV] = offsetof(struct sandbox_policy, set_env),
		[SET_CONTAINER] = offsetof(struct sandbox_policy, container),
		[SET_REQUIRE] = offsetof(struct sandbox_policy, require),
		[SET_ALLOW_CALL] = offsetof(struct sandbox_policy, allow_calls),
		[SET_DENY_CALL] = offsetof(struct sandbox_policy, deny_calls),
	};

	/* No list lies at the beginning of the struct. */
	return kind < ELEMENTS(offsets) && offsets[kind]
		       ? (struct list *)((char *)sandbox + offsets[kind])
		       : NULL;
}

static uint64_t *limit_of(struct limits *limits, enum setting_kind kind)
{
	static const size_t offsets[] = {
		[SET_MEMORY] = offsetof(struct limits, memory),
		[SET_CPU] = offsetof(struct limits, millicpus),
		[SET_CPU_TIME] = offsetof(struct limits, cpu_ns),
		[SET_PROCESSES] = offsetof(struct limits, processes),
		[SET_DISK] = offsetof(struct limits, disk),
		[SET_OUTPUT] = offsetof(struct limits, output),
		[SET_TIME] = offsetof(struct limits, time_ns),
		[SET_IDLE] = offsetof(struct limits, idle_ns),
		[SET_FILES] = offsetof(struct limits, files),
	};

	return kind >= SET_MEMORY && kind <= SET_FILES
		       ? (uint64_t *)((char *)limits + offsets[kind])
		       : NULL;
}

static struct profile *find_profile(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->profile_count; i++)
		if (strcmp(policy->profiles[i].name, name) == 0)
			return &policy->profiles[i];
	return NULL;
}

static struct profile *want_profile(struct policy *policy, const char *name)
{
	struct profile *profile = find_profile(policy, name);

	if (profile)
		return profile;
	policy->profiles = reallocarray(policy->profiles, policy->profile_count + 1,
					sizeof(*policy->profiles));
	if (!policy->profiles)
		abort();
	profile = &policy->profiles[policy->profile_count++];
	*profile = (struct profile){.name = copy(name)};
	return profile;
}

void merge_name_profile(struct policy *policy, const char *name)
{
	(void)want_profile(policy, name);
}

static uint64_t number_of(int (*parse)(const char *, uint64_t *, struct error **), const char *text)
{
	uint64_t number = 0;

	return parse(text, &number, /* ret_error= */ NULL) < 0 ? 0 : number;
}

struct policy *merge_begin(const char *home)
{
	struct policy *policy = calloc(1, sizeof(*policy));
	struct profile *code_net;

	if (!policy)
		abort();
	*policy = (struct policy){.approval = default_approval,
				  .sandbox.level = default_level,
				  .sandbox.network = default_network,
				  .sandbox.escalation = default_escalation,
				  .home = home ? copy(home) : NULL};
	trust_rules_default(&policy->trust);
	want_profile(policy, "agent")->built_in =
		(struct limits){.memory = number_of(parse_size, "2048M"),
				.millicpus = number_of(parse_cpu, "50%"),
				.disk = number_of(parse_size, "5000M"),
				.processes = 20,
				.time_ns = number_of(parse_duration, "3600s"),
				.idle_ns = number_of(parse_duration, "300s")};
	want_profile(policy, "code")->built_in =
		(struct limits){.memory = number_of(parse_size, "512M"),
				.millicpus = number_of(parse_cpu, "25%"),
				.disk = number_of(parse_size, "100M"),
				.processes = 10,
				.time_ns = number_of(parse_duration, "30s"),
				.idle_ns = number_of(parse_duration, "10s")};
	/* As code, for longer; decide() gives it its network. */
	code_net = want_profile(policy, "code-net"); /* may move the other */
	code_net->built_in = find_profile(policy, "code")->built_in;
	code_net->built_in.time_ns = number_of(parse_duration, "60s");
	return policy;
}

static enum level level_now(const struct policy *policy, const struct sandbox_policy *target)
{
	return target->has_level ? target->level : policy->sandbox.level;
}

static bool trace_now(const struct policy *policy, const struct sandbox_policy *target)
{
	return target->has_trace_reads ? target->trace_reads : policy->sandbox.trace_reads;
}

static bool kills_now(const struct policy *policy, const struct sandbox_policy *target)
{
	return target->has_on_violation ? target->kills : policy->sandbox.kills;
}

/* Naming hosts or ports without a mode means the mode in which only they are reached. */
static bool names_targets(const struct sandbox_policy *sandbox)
{
	return sandbox->allow_hosts.count + sandbox->publish.count > 0;
}

static enum network network_now(const struct policy *policy, const struct sandbox_policy *target)
{
	enum network base = policy->sandbox.has_network	      ? policy->sandbox.network
			    : names_targets(&policy->sandbox) ? NETWORK_RESTRICTED
							      : default_network;

	if (target->has_network)
		return target->network;
	return target != &policy->sandbox && names_targets(target) ? MAX(base, NETWORK_RESTRICTED)
								   : base;
}

static enum caches caches_now(const struct policy *policy, const struct sandbox_policy *target)
{
	return target->has_caches ? target->caches : policy->sandbox.caches;
}

static enum escalation escalation_now(const struct policy *policy,
				      const struct sandbox_policy *target)
{
	/* The stricter of the two: whoever said it later. */
	return target->has_escalation ? MIN(target->escalation, policy->sandbox.escalation)
				      : policy->sandbox.escalation;
}

static void set_variable(struct list *list, const char *text)
{
	size_t name = strcspn(text, "=") + 1;

	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->items[i], text, name) != 0)
			continue;
		free(list->items[i]);
		list->items[i] = copy(text);
		return;
	}
	list_add(list, text);
}

static void add_once(struct list *list, enum setting_kind kind, const char *text)
{
	if (kind == SET_SET_ENV || kind == SET_CONTAINER)
		set_variable(list, text);
	else if (!list_has(list, text))
		list_add(list, text);
}

/* 0 is no limit. */
static uint64_t lower(uint64_t one, uint64_t other)
{
	return one == 0 ? other : other == 0 ? one : MIN(one, other);
}

/* The profile's own word, or else the lower of what the sandbox and the built-in profile say. */
static uint64_t limit_now(const struct policy *policy, const struct profile *profile,
			  enum setting_kind kind)
{
	struct limits base = policy->sandbox.limits, own = {0}, built_in = {0};

	if (profile) {
		own = profile->sandbox.limits;
		built_in = profile->built_in;
	}
	if (*limit_of(&own, kind))
		return *limit_of(&own, kind);
	return lower(*limit_of(&base, kind), *limit_of(&built_in, kind));
}

/* Whether the setting makes nothing possible that is not possible now. */
static bool narrows(struct policy *policy, struct profile *profile, const struct setting *setting)
{
	struct sandbox_policy *target = profile ? &profile->sandbox : &policy->sandbox;

	if (limit_of(&target->limits, setting->kind)) {
		uint64_t now = limit_now(policy, profile, setting->kind);

		return now == 0 || setting->number <= now;
	}
	switch (setting->kind) {
	case SET_APPROVAL:
		return approval_is_stricter((enum approval)setting->number, policy->approval);
	case SET_LEVEL:
		return (enum level)setting->number >= level_now(policy, target);
	case SET_NETWORK:
		return (enum network)setting->number <= network_now(policy, target);
	case SET_CACHES:
		return (enum caches)setting->number >= caches_now(policy, target);
	case SET_ESCALATION:
		return (enum escalation)setting->number <= escalation_now(policy, target);
	case SET_TRACE_READS: /* the more is seen, the less is guessed */
		return setting->number || !trace_now(policy, target);
	case SET_ON_VIOLATION:
		return setting->number || !kills_now(policy, target);
	case SET_READ_ONLY: /* see apply() */
	case SET_DENY:
	case SET_DENY_HOST:
	case SET_REQUIRE:
	case SET_DENY_CALL:
	case SET_PROFILE:
	case SET_TIER_LOW: /* see apply(): they are only raised */
	case SET_TIER_MEDIUM:
	case SET_TIER_HIGH:
	case SET_TIER_CRITICAL:
		return true;
	case SET_OBJECTION:
		return setting->number >= tiers_objection(&policy->tiers);
	case SET_ANSWER:
		return setting->number <= tiers_answer(&policy->tiers);
	default:
		return false;
	}
}

/* Something that would widen, did it not hold already. */
static bool holds_already(struct policy *policy, struct sandbox_policy *target,
			  const struct setting *setting)
{
	const struct list *own = list_of(target, setting->kind),
			  *base = list_of(&policy->sandbox, setting->kind);

	return own && (list_has(own, setting->text) || list_has(base, setting->text));
}

static void apply(struct policy *policy, struct sandbox_policy *target,
		  const struct setting *setting, bool trusted)
{
	struct list *list = list_of(target, setting->kind);
	uint64_t *limit = limit_of(&target->limits, setting->kind);

	if (setting->kind == SET_READ_ONLY && !trusted) {
		/* Where more is denied, read-only would open it. */
		add_once(&target->hold, setting->kind, setting->text);
	} else if (list) {
		add_once(list, setting->kind, setting->text);
	} else if (limit) {
		*limit = setting->number;
	} else if (setting->kind == SET_APPROVAL) {
		policy->has_approval = true;
		policy->approval = (enum approval)setting->number;
	} else if (setting->kind == SET_WAIT) {
		policy->wait_ns = setting->number;
	} else if (setting->kind == SET_TRUST_AGENT) {
		add_once(&policy->tiers.agents, setting->kind, setting->text);
	} else if (setting->kind >= SET_TIER_LOW && setting->kind <= SET_TIER_CRITICAL) {
		struct list *lists = trusted ? policy->tiers.says : policy->tiers.raises;

		add_once(&lists[setting->kind - SET_TIER_LOW], setting->kind, setting->text);
	} else if (setting->kind == SET_OBJECTION) {
		policy->tiers.objection_ns = setting->number;
	} else if (setting->kind == SET_ANSWER) {
		policy->tiers.answer_ns = setting->number;
	} else if (setting->kind == SET_LEVEL) {
		target->has_level = true;
		target->level = (enum level)setting->number;
	} else if (setting->kind == SET_NETWORK) {
		target->has_network = true;
		target->network = (enum network)setting->number;
	} else if (setting->kind == SET_CACHES) {
		target->has_caches = true;
		target->caches = (enum caches)setting->number;
	} else if (setting->kind == SET_ESCALATION) {
		target->has_escalation = true;
		target->escalation = (enum escalation)setting->number;
	} else if (setting->kind == SET_TRACE_READS) {
		target->has_trace_reads = true;
		target->trace_reads = setting->number != 0;
	} else if (setting->kind == SET_ON_VIOLATION) {
		target->has_on_violation = true;
		target->kills = setting->number != 0;
	}
}

void merge_ignore(struct policy *policy, const struct layer *layer, int line, int column,
		  const char *remedy, const char *what)
{
	list_add_printf(&policy->ignored, "%s:%d:%d: %s", layer->file, line, column, what);
	list_add_printf(&policy->warnings, "%s:%d:%d: ignored, because it widens: %s; %s",
			layer->file, line, column, what, remedy);
}

static void merge_setting(struct policy *policy, const struct layer *layer,
			  const struct setting *setting, const char *remedy)
{
	struct profile *profile = setting->profile ? want_profile(policy, setting->profile) : NULL;
	struct sandbox_policy *target = profile ? &profile->sandbox : &policy->sandbox;
	_cleanup_free_ char *what = NULL;

	if (layer->trusted || narrows(policy, profile, setting)) {
		apply(policy, target, setting, layer->trusted);
		if (profile && !layer->built_in) {
			free(profile->file);
			profile->file = copy(layer->file);
			profile->line = setting->line;
		}
		return;
	}
	if (!remedy || holds_already(policy, target, setting))
		return;
	if (asprintf(&what, "%s%s%s%s %s",
		     profile ? "profiles."
		     : setting->kind == SET_APPROVAL || setting->kind == SET_WAIT ||
				     setting->kind > SET_ON_VIOLATION
			     ? ""
			     : "sandbox.",
		     profile ? profile->name : "", profile ? "." : "", setting_name(setting->kind),
		     setting->text) < 0)
		abort();
	merge_ignore(policy, layer, setting->line, setting->column, remedy, what);
}

void merge_settings(struct policy *policy, const struct layer *layer)
{
	for (size_t i = 0; i < layer->count; i++)
		merge_setting(policy, layer, &layer->settings[i], /* remedy= */ NULL);
	merge_trust(policy, layer, /* remedy= */ NULL);
}

void merge_layer(struct policy *policy, struct layer *layer, int number, const char *remedy)
{
	policy->configured = true;
	list_add(&policy->files, layer->file);
	for (size_t i = 0; i < layer->warnings.count; i++)
		list_add(&policy->warnings, layer->warnings.items[i]);
	for (size_t i = 0; i < layer->count; i++)
		merge_setting(policy, layer, &layer->settings[i], remedy);
	merge_trust(policy, layer, remedy);
	merge_callers(policy, layer);
	merge_listeners(policy, layer);
	merge_routing(policy, layer, remedy);
	merge_assessor(policy, layer);
	merge_notify(policy, layer);
	merge_rules(policy, layer, number, remedy);
}

void merge_end(struct policy *policy)
{
	struct sandbox_policy *base = &policy->sandbox;

	for (size_t i = 0; i < policy->profile_count; i++) {
		struct sandbox_policy *own = &policy->profiles[i].sandbox, whole = {0};

		whole.level = level_now(policy, own);
		whole.has_level = own->has_level || base->has_level;
		whole.caches = caches_now(policy, own);
		whole.has_caches = own->has_caches || base->has_caches;
		whole.escalation = escalation_now(policy, own);
		whole.has_escalation = own->has_escalation || base->has_escalation;
		whole.trace_reads = trace_now(policy, own);
		whole.has_trace_reads = own->has_trace_reads || base->has_trace_reads;
		whole.kills = kills_now(policy, own);
		whole.has_on_violation = own->has_on_violation || base->has_on_violation;
		whole.network = network_now(policy, own);
		whole.has_network = own->has_network || base->has_network || names_targets(own) ||
				    names_targets(base);
		for (enum setting_kind kind = 0; kind < SET_PROFILE; kind++) {
			uint64_t *limit = limit_of(&whole.limits, kind);
			struct list *list = list_of(&whole, kind), *from;

			if (limit)
				*limit = limit_now(policy, &policy->profiles[i], kind);
			if (!list)
				continue;
			from = list_of(base, kind);
			for (size_t k = 0; k < from->count; k++)
				add_once(list, kind, from->items[k]);
			from = list_of(own, kind);
			for (size_t k = 0; k < from->count; k++)
				add_once(list, kind, from->items[k]);
			list_done(from);
		}
		for (size_t k = 0; k < base->hold.count; k++)
			add_once(&whole.hold, SET_READ_ONLY, base->hold.items[k]);
		for (size_t k = 0; k < own->hold.count; k++)
			add_once(&whole.hold, SET_READ_ONLY, own->hold.items[k]);
		list_done(&own->hold);
		*own = whole;
	}
	base->network = network_now(policy, base);
	base->has_network |= names_targets(base);
}

static void clamp(struct sandbox_policy *sandbox, const struct sandbox_policy *trusted)
{
	struct limits most = trusted->limits;

	sandbox->level = MAX(sandbox->level, trusted->level);
	sandbox->trace_reads |= trusted->trace_reads;
	sandbox->kills |= trusted->kills;
	sandbox->network = MIN(sandbox->network, trusted->network);
	sandbox->caches = MAX(sandbox->caches, trusted->caches);
	for (enum setting_kind kind = 0; kind < SET_PROFILE; kind++) {
		uint64_t *limit = limit_of(&sandbox->limits, kind);

		if (limit)
			*limit = lower(*limit, *limit_of(&most, kind));
	}
}

void merge_clamp(struct policy *policy, const struct policy *trusted)
{
	if (!approval_is_stricter(policy->approval, trusted->approval))
		policy->approval = trusted->approval;
	policy->tiers.objection_ns =
		MAX(tiers_objection(&policy->tiers), tiers_objection(&trusted->tiers));
	policy->tiers.answer_ns = MIN(tiers_answer(&policy->tiers), tiers_answer(&trusted->tiers));
	merge_clamp_trust(policy, trusted);
	clamp(&policy->sandbox, &trusted->sandbox);
	for (size_t i = 0; i < policy->profile_count; i++) {
		const struct profile *known = find_profile(trusted, policy->profiles[i].name);

		clamp(&policy->profiles[i].sandbox, known ? &known->sandbox : &trusted->sandbox);
	}
}
