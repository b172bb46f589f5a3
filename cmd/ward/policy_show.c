/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force as text and as JSON. */
#include "policy_show.h"
#include "output.h"
#include "../../src/base/buffer.h"
#include "../../src/request/text_json.h"

#include <inttypes.h>
#include <stdio.h>

enum unit { BYTES, NANOSECONDS, MILLICPUS, COUNT };

static const struct {
	const char *name;
	size_t offset;
	enum unit unit;
} limits[] = {
	{"memory", offsetof(struct limits, memory), BYTES},
	{"cpu", offsetof(struct limits, millicpus), MILLICPUS},
	{"cpu_time", offsetof(struct limits, cpu_ns), NANOSECONDS},
	{"processes", offsetof(struct limits, processes), COUNT},
	{"disk", offsetof(struct limits, disk), BYTES},
	{"output", offsetof(struct limits, output), BYTES},
	{"time", offsetof(struct limits, time_ns), NANOSECONDS},
	{"idle", offsetof(struct limits, idle_ns), NANOSECONDS},
	{"files", offsetof(struct limits, files), COUNT},
};

static uint64_t limit_at(const struct limits *from, size_t i)
{
	return *(const uint64_t *)((const char *)from + limits[i].offset);
}

/* As it can be written in a policy. */
static void add_amount(struct buffer *text, uint64_t amount, enum unit unit)
{
	static const struct {
		const char *name;
		uint64_t size;
	} sizes[] = {{"G", UINT64_C(1) << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"", 1}};
	size_t i = 0;

	switch (unit) {
	case BYTES:
		while (amount % sizes[i].size)
			i++;
		buffer_printf(text, "%" PRIu64 "%s", amount / sizes[i].size, sizes[i].name);
		break;
	case NANOSECONDS:
		buffer_printf(text, "%.9g%s", (double)amount / (amount % 1000000000 ? 1e6 : 1e9),
			      amount % 1000000000 ? "ms" : "s");
		break;
	case MILLICPUS:
		buffer_printf(text, "%.9g", (double)amount / 1000);
		break;
	case COUNT:
		buffer_printf(text, "%" PRIu64, amount);
		break;
	}
}

/* Quoted always: it is then YAML whatever the text holds. */
void policy_print_quoted(const char *text)
{
	_cleanup_buffer_ struct buffer quoted = {0};

	buffer_add_char(&quoted, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buffer_add_char(&quoted, '\'');
		buffer_add_char(&quoted, *text);
	}
	buffer_add_char(&quoted, '\'');
	output_text(COLOUR_NONE, buffer_text(&quoted));
}

void policy_print_list(const char *indent, const char *key, const struct list *list)
{
	if (list->count == 0)
		return;
	printf("%s%s: [", indent, key);
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			fputs(", ", stdout);
		policy_print_quoted(list->items[i]);
	}
	puts("]");
}

static void print_limits(const char *indent, const struct limits *from)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < ELEMENTS(limits); i++) {
		if (!limit_at(from, i))
			continue;
		buffer_printf(&text, "%s%s: ", text.length ? ", " : "", limits[i].name);
		add_amount(&text, limit_at(from, i), limits[i].unit);
	}
	if (text.length)
		printf("%slimits: {%s}\n", indent, buffer_text(&text));
}

static void print_variables(const char *indent, const struct list *set)
{
	if (set->count == 0)
		return;
	printf("%s  set: {", indent);
	for (size_t i = 0; i < set->count; i++) {
		const char *value = strchr(set->items[i], '=');

		printf("%s%.*s: ", i ? ", " : "", (int)(value - set->items[i]), set->items[i]);
		policy_print_quoted(value + 1);
	}
	puts("}");
}

static void print_container(const char *indent, const struct list *words)
{
	bool any = false;

	if (words->count == 0)
		return;
	printf("%scontainer:\n", indent);
	for (size_t i = 0; i < words->count; i++) {
		const char *value = strchr(words->items[i], '=');

		if (strncmp(words->items[i], "mount:", 6) == 0)
			continue;
		printf("%s  %.*s: ", indent, (int)(value - words->items[i]), words->items[i]);
		policy_print_quoted(value + 1);
		puts("");
	}
	for (size_t i = 0; i < words->count; i++) {
		const char *value = strchr(words->items[i], '=');
		_cleanup_free_ char *target = NULL;

		if (strncmp(words->items[i], "mount:", 6) != 0)
			continue;
		if (!any)
			printf("%s  mounts:\n", indent);
		any = true;
		target = strndup(words->items[i] + 6, (size_t)(value - words->items[i]) - 6);
		printf("%s    ", indent);
		policy_print_quoted(target);
		printf(": ");
		policy_print_quoted(value + 1);
		puts("");
	}
}

static void print_sandbox(const char *indent, const struct sandbox_policy *sandbox)
{
	_cleanup_free_ char *deeper = NULL;

	if (asprintf(&deeper, "%s  ", indent) < 0)
		abort();
	printf("%slevel: %s%s\n", indent, level_name(sandbox->level),
	       sandbox->has_level ? "" : "  # default");
	if (sandbox->read.count + sandbox->write.count + sandbox->read_only.count +
		    sandbox->make.count + sandbox->hold.count + sandbox->deny.count >
	    0)
		printf("%sfiles:\n", indent);
	policy_print_list(deeper, "read", &sandbox->read);
	policy_print_list(deeper, "write", &sandbox->write);
	policy_print_list(deeper, "read_only", &sandbox->read_only);
	policy_print_list(deeper, "# read_only, by a file that may only narrow", &sandbox->hold);
	policy_print_list(deeper, "make", &sandbox->make);
	policy_print_list(deeper, "deny", &sandbox->deny);
	printf("%snetwork:\n%smode: %s%s\n", indent, deeper, network_name(sandbox->network),
	       sandbox->has_network ? "" : "  # default");
	policy_print_list(deeper, "allow", &sandbox->allow_hosts);
	policy_print_list(deeper, "deny", &sandbox->deny_hosts);
	policy_print_list(deeper, "publish", &sandbox->publish);
	policy_print_list(indent, "sockets", &sandbox->sockets);
	print_limits(indent, &sandbox->limits);
	if (sandbox->keep_env.count + sandbox->set_env.count > 0)
		printf("%senvironment:\n", indent);
	policy_print_list(deeper, "keep", &sandbox->keep_env);
	print_variables(indent, &sandbox->set_env);
	if (sandbox->has_escalation)
		printf("%sescalation: %s\n", indent, escalation_name(sandbox->escalation));
	if (sandbox->has_caches)
		printf("%scaches: %s\n", indent, caches_name(sandbox->caches));
	print_container(indent, &sandbox->container);
	policy_print_list(indent, "require", &sandbox->require);
	if (sandbox->has_trace_reads)
		printf("%strace_reads: %s\n", indent, sandbox->trace_reads ? "true" : "false");
	if (sandbox->has_on_violation)
		printf("%son_violation: %s\n", indent, sandbox->kills ? "kill" : "freeze");
	if (sandbox->allow_calls.count + sandbox->deny_calls.count > 0)
		printf("%ssyscalls:\n", indent);
	policy_print_list(deeper, "allow", &sandbox->allow_calls);
	policy_print_list(deeper, "deny", &sandbox->deny_calls);
}

void policy_print_origin(const char *file, int line)
{
	fputs("  # ", stdout);
	if (!file) {
		puts("built in");
		return;
	}
	output_text(COLOUR_NONE, file);
	printf(":%d\n", line);
}

static void print_caller(const struct caller_rule *rule)
{
	fputs("  - program: ", stdout);
	policy_print_quoted(rule->program);
	policy_print_origin(rule->file, rule->line);
	if (rule->has_uid)
		printf("    uid: %u\n", rule->uid);
	printf("    may: [%s]\n", rule->approve ? "approve" : "");
}

/* Agents that no tier binds need none. */
static void print_tiers(const struct policy *policy)
{
	const struct tiers *tiers = &policy->tiers;
	_cleanup_buffer_ struct buffer text = {0};

	if (tiers->agents.count == 0)
		return;
	policy_print_trust(policy);
	puts("tiers:");
	for (enum tier tier = 0; tier < TIERS; tier++) {
		policy_print_list("  ", tier_name(tier), &tiers->says[tier]);
		policy_print_list("  ",
				  tier == TIER_LOW	? "# low, by a file that may only raise"
				  : tier == TIER_MEDIUM ? "# medium, by a file that may only raise"
				  : tier == TIER_HIGH	? "# high, by a file that may only raise"
						      : "# critical, by a file that may only raise",
				  &tiers->raises[tier]);
	}
	buffer_add_text(&text, "  objection: ");
	add_amount(&text, tiers_objection(tiers), NANOSECONDS);
	buffer_add_text(&text, "\n  answer: ");
	add_amount(&text, tiers_answer(tiers), NANOSECONDS);
	puts(buffer_text(&text));
}

static void print_listener(const struct listener_rule *rule)
{
	policy_print_list("  - ", "program", &rule->program);
	policy_print_list("    ", "kinds", &rule->kinds);
	policy_print_list("    ", "agents", &rule->agents);
	printf("    timeout: %.17g\n", (double)rule->timeout_ns / 1e9);
}

/* Quoted, for a name may hold anything. */
static void print_quoted(const char *key, const char *text)
{
	_cleanup_buffer_ struct buffer quoted = {0};

	if (!text)
		return;
	for (const char *c = text; *c; c++) {
		buffer_add_char(&quoted, *c);
		if (*c == '\'')
			buffer_add_char(&quoted, *c);
	}
	printf("  %s: '%s'\n", key, buffer_text(&quoted));
}

static void print_assessor(const struct assessor *assessor)
{
	if (!assessor->url)
		return;
	puts("assessor:");
	print_quoted("url", assessor->url);
	print_quoted("model", assessor->model);
	print_quoted("key_file", assessor->key_file);
	print_quoted("key_variable", assessor->key_variable);
	print_quoted("ca_file", assessor->ca_file);
	printf("  timeout: %.17g\n", (double)assessor->timeout_ns / 1e9);
	printf("  send: [command%s%s]\n", assessor->without_directory ? "" : ", directory",
	       assessor->without_denial ? "" : ", denial");
}

void policy_print(const struct policy *policy)
{
	for (size_t i = 0; i < policy->files.count; i++) {
		fputs("# from ", stdout);
		output_text(COLOUR_NONE, policy->files.items[i]);
		putchar('\n');
	}
	for (size_t i = 0; i < policy->warnings.count; i++) {
		fputs("# warning: ", stdout);
		output_text(COLOUR_YELLOW, policy->warnings.items[i]);
		putchar('\n');
	}
	printf("version: 1\napproval: %s%s\n", approval_name(policy->approval),
	       policy->has_approval ? "" : "  # default");
	if (policy->wait_ns)
		printf("wait: %.17g\n", (double)policy->wait_ns / 1e9);
	print_tiers(policy);
	puts("sandbox:");
	print_sandbox("  ", &policy->sandbox);
	puts("profiles:");
	for (size_t i = 0; i < policy->profile_count; i++) {
		printf("  %s:", policy->profiles[i].name);
		policy_print_origin(policy->profiles[i].file, policy->profiles[i].line);
		print_sandbox("    ", &policy->profiles[i].sandbox);
	}
	if (policy->caller_count)
		puts("callers:");
	for (size_t i = 0; i < policy->caller_count; i++)
		print_caller(&policy->callers[i]);
	if (policy->listener_count)
		puts("events:");
	for (size_t i = 0; i < policy->listener_count; i++)
		print_listener(&policy->listeners[i]);
	print_assessor(&policy->assessor);
	policy_print_notify(&policy->notify);
	policy_print_routes(&policy->routing);
	policy_print_rules(policy);
}

static json_t *sandbox_object(const struct sandbox_policy *sandbox)
{
	json_t *object = json_object(), *files = json_object(), *network = json_object(),
	       *environment = json_object(), *bounds = json_object(), *calls = json_object();

	for (size_t i = 0; i < ELEMENTS(limits); i++) {
		_cleanup_buffer_ struct buffer text = {0};

		if (!limit_at(&sandbox->limits, i))
			continue;
		add_amount(&text, limit_at(&sandbox->limits, i), limits[i].unit);
		json_put_text(bounds, limits[i].name, buffer_text(&text));
	}
	json_put_text(object, "level", level_name(sandbox->level));
	json_put_list(files, "read", &sandbox->read);
	json_put_list(files, "write", &sandbox->write);
	json_put_list(files, "read_only", &sandbox->read_only);
	json_put_list(files, "hold", &sandbox->hold);
	json_put_list(files, "make", &sandbox->make);
	json_put_list(files, "deny", &sandbox->deny);
	json_put(object, "files", files);
	json_put_text(network, "mode", network_name(sandbox->network));
	json_put_list(network, "allow", &sandbox->allow_hosts);
	json_put_list(network, "deny", &sandbox->deny_hosts);
	json_put_list(network, "publish", &sandbox->publish);
	json_put(object, "network", network);
	json_put_list(object, "sockets", &sandbox->sockets);
	json_put(object, "limits", bounds);
	json_put_list(environment, "keep", &sandbox->keep_env);
	json_put_list(environment, "set", &sandbox->set_env);
	json_put(object, "environment", environment);
	json_put_text(object, "caches", caches_name(sandbox->caches));
	json_put_list(object, "container", &sandbox->container);
	json_put_list(object, "require", &sandbox->require);
	json_put(object, "trace_reads", json_boolean(sandbox->trace_reads));
	json_put_text(object, "on_violation", sandbox->kills ? "kill" : "freeze");
	json_put_list(calls, "allow", &sandbox->allow_calls);
	json_put_list(calls, "deny", &sandbox->deny_calls);
	json_put(object, "syscalls", calls);
	return object;
}

static json_t *tiers_to_json(const struct tiers *tiers)
{
	json_t *object = json_object();

	json_put_list(object, "agents", &tiers->agents);
	for (enum tier tier = 0; tier < TIERS; tier++) {
		json_t *says = json_object();

		json_put_list(says, "says", &tiers->says[tier]);
		json_put_list(says, "raises", &tiers->raises[tier]);
		json_put(object, tier_name(tier), says);
	}
	json_put(object, "objection_ms", json_real((double)tiers_objection(tiers) / 1e6));
	json_put(object, "answer_ms", json_real((double)tiers_answer(tiers) / 1e6));
	return object;
}

static json_t *listeners_to_json(const struct policy *policy)
{
	json_t *listeners = json_array();

	for (size_t i = 0; i < policy->listener_count; i++) {
		const struct listener_rule *rule = &policy->listeners[i];
		json_t *entry = json_object();

		json_put_list(entry, "program", &rule->program);
		json_put_list(entry, "kinds", &rule->kinds);
		json_put_list(entry, "agents", &rule->agents);
		json_put(entry, "timeout_ms", json_real((double)rule->timeout_ns / 1e6));
		json_put_text(entry, "file", rule->file);
		json_put(entry, "line", json_integer(rule->line));
		json_array_append_new(listeners, entry);
	}
	return listeners;
}

static json_t *assessor_to_json(const struct assessor *assessor)
{
	json_t *object = json_object(), *send = json_pack("[s]", "command");

	if (!assessor->without_directory)
		json_array_append_new(send, json_string("directory"));
	if (!assessor->without_denial)
		json_array_append_new(send, json_string("denial"));
	json_put_text(object, "url", assessor->url);
	json_put_text(object, "model", assessor->model);
	json_put_text(object, "key_file", assessor->key_file);
	json_put_text(object, "key_variable", assessor->key_variable);
	json_put_text(object, "ca_file", assessor->ca_file);
	json_put(object, "timeout_ms", json_real((double)assessor->timeout_ns / 1e6));
	json_put(object, "send", send);
	json_put_text(object, "file", assessor->file);
	json_put(object, "line", json_integer(assessor->line));
	return object;
}

json_t *policy_object(const struct policy *policy)
{
	json_t *object = json_object(), *profiles = json_object(), *rules = json_array(),
	       *callers = json_array();

	json_put(object, "version", json_integer(1));
	json_put(object, "configured", json_boolean(policy->configured));
	json_put_list(object, "files", &policy->files);
	json_put_text(object, "approval", approval_name(policy->approval));
	json_put(object, "wait_ms", json_real((double)policy->wait_ns / 1e6));
	json_put(object, "trust", policy_trust_object(policy));
	json_put(object, "tiers", tiers_to_json(&policy->tiers));
	json_put(object, "sandbox", sandbox_object(&policy->sandbox));
	for (size_t i = 0; i < policy->profile_count; i++) {
		const struct profile *profile = &policy->profiles[i];
		json_t *entry = sandbox_object(&profile->sandbox);

		json_put_text(entry, "file", profile->file);
		json_put(entry, "line", json_integer(profile->line));
		json_put(profiles, profile->name, entry);
	}
	json_put(object, "profiles", profiles);
	for (size_t i = 0; i < policy->rule_count; i++)
		json_array_append_new(rules, policy_rule_object(&policy->rules[i]));
	json_put(object, "rules", rules);
	json_put(object, "sets", policy_sets_object(policy));
	for (size_t i = 0; i < policy->caller_count; i++) {
		const struct caller_rule *rule = &policy->callers[i];
		json_t *entry = json_object();

		json_put_text(entry, "program", rule->program);
		json_put(entry, "uid", rule->has_uid ? json_integer(rule->uid) : json_null());
		json_put(entry, "approve", json_boolean(rule->approve));
		json_put_text(entry, "file", rule->file);
		json_put(entry, "line", json_integer(rule->line));
		json_array_append_new(callers, entry);
	}
	json_put(object, "callers", callers);
	json_put(object, "events", listeners_to_json(policy));
	if (policy->assessor.url)
		json_put(object, "assessor", assessor_to_json(&policy->assessor));
	json_put(object, "notify", policy_notify_object(&policy->notify));
	policy_put_routes(object, &policy->routing);
	json_put_list(object, "warnings", &policy->warnings);
	return object;
}
