/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force as text and as JSON. */
#include "policy_show.h"
#include "output.h"
#include "../../src/decide/remember.h"
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
static void print_quoted(const char *text)
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

static void print_list(const char *indent, const char *key, const struct list *list)
{
	if (list->count == 0)
		return;
	printf("%s%s: [", indent, key);
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			fputs(", ", stdout);
		print_quoted(list->items[i]);
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
		print_quoted(value + 1);
	}
	puts("}");
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
	print_list(deeper, "read", &sandbox->read);
	print_list(deeper, "write", &sandbox->write);
	print_list(deeper, "read_only", &sandbox->read_only);
	print_list(deeper, "# read_only, by a file that may only narrow", &sandbox->hold);
	print_list(deeper, "make", &sandbox->make);
	print_list(deeper, "deny", &sandbox->deny);
	printf("%snetwork:\n%smode: %s%s\n", indent, deeper, network_name(sandbox->network),
	       sandbox->has_network ? "" : "  # default");
	print_list(deeper, "allow", &sandbox->allow_hosts);
	print_list(deeper, "deny", &sandbox->deny_hosts);
	print_list(deeper, "publish", &sandbox->publish);
	print_list(indent, "sockets", &sandbox->sockets);
	print_limits(indent, &sandbox->limits);
	if (sandbox->keep_env.count + sandbox->set_env.count > 0)
		printf("%senvironment:\n", indent);
	print_list(deeper, "keep", &sandbox->keep_env);
	print_variables(indent, &sandbox->set_env);
	if (sandbox->has_caches)
		printf("%scaches: %s\n", indent, caches_name(sandbox->caches));
	print_list(indent, "require", &sandbox->require);
	if (sandbox->has_trace_reads)
		printf("%strace_reads: %s\n", indent, sandbox->trace_reads ? "true" : "false");
	if (sandbox->allow_calls.count + sandbox->deny_calls.count > 0)
		printf("%ssyscalls:\n", indent);
	print_list(deeper, "allow", &sandbox->allow_calls);
	print_list(deeper, "deny", &sandbox->deny_calls);
}

static void print_origin(const char *file, int line)
{
	fputs("  # ", stdout);
	if (!file) {
		puts("built in");
		return;
	}
	output_text(COLOUR_NONE, file);
	printf(":%d\n", line);
}

/* Words of a command may hold line breaks, and what cannot be seen. */
static void print_escaped(const char *text)
{
	_cleanup_buffer_ struct buffer quoted = {0};

	(void)remember_quote(&quoted, text); /* it was read from YAML */
	output_text(COLOUR_NONE, buffer_text(&quoted));
}

static void print_words(const struct list *words)
{
	fputs("  - exactly: [", stdout);
	for (size_t i = 0; i < words->count; i++) {
		fputs(i ? ", " : "", stdout);
		print_escaped(words->items[i]);
	}
	putchar(']');
}

static void print_rule(const struct rule *rule)
{
	if (rule->exactly.count) {
		print_words(&rule->exactly);
	} else {
		fputs("  - command: ", stdout);
		print_quoted(rule->pattern);
	}
	print_origin(rule->file, rule->line);
	if (rule->in) {
		fputs("    in: ", stdout);
		print_escaped(rule->in);
		putchar('\n');
	}
	printf("    do: %s\n", verdict_name(rule->kind));
	if (rule->why) {
		fputs("    why: ", stdout);
		print_quoted(rule->why);
		putchar('\n');
	}
	print_list("    ", "permissions", &rule->permissions);
}

static void print_caller(const struct caller_rule *rule)
{
	fputs("  - program: ", stdout);
	print_quoted(rule->program);
	print_origin(rule->file, rule->line);
	if (rule->has_uid)
		printf("    uid: %u\n", rule->uid);
	printf("    may: [%s]\n", rule->approve ? "approve" : "");
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
	puts("sandbox:");
	print_sandbox("  ", &policy->sandbox);
	puts("profiles:");
	for (size_t i = 0; i < policy->profile_count; i++) {
		printf("  %s:", policy->profiles[i].name);
		print_origin(policy->profiles[i].file, policy->profiles[i].line);
		print_sandbox("    ", &policy->profiles[i].sandbox);
	}
	if (policy->caller_count)
		puts("callers:");
	for (size_t i = 0; i < policy->caller_count; i++)
		print_caller(&policy->callers[i]);
	if (policy->rule_count)
		puts("rules:");
	for (size_t i = 0; i < policy->rule_count; i++)
		print_rule(&policy->rules[i]);
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
	json_put_list(object, "require", &sandbox->require);
	json_put(object, "trace_reads", json_boolean(sandbox->trace_reads));
	json_put_list(calls, "allow", &sandbox->allow_calls);
	json_put_list(calls, "deny", &sandbox->deny_calls);
	json_put(object, "syscalls", calls);
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
	json_put(object, "sandbox", sandbox_object(&policy->sandbox));
	for (size_t i = 0; i < policy->profile_count; i++) {
		const struct profile *profile = &policy->profiles[i];
		json_t *entry = sandbox_object(&profile->sandbox);

		json_put_text(entry, "file", profile->file);
		json_put(entry, "line", json_integer(profile->line));
		json_put(profiles, profile->name, entry);
	}
	json_put(object, "profiles", profiles);
	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct rule *rule = &policy->rules[i];
		json_t *entry = json_object();

		if (rule->exactly.count)
			json_put_list(entry, "exactly", &rule->exactly);
		else
			json_put_text(entry, "command", rule->pattern);
		if (rule->in)
			json_put_text(entry, "in", rule->in);
		json_put_text(entry, "do", verdict_name(rule->kind));
		json_put_text(entry, "why", rule->why);
		json_put_list(entry, "permissions", &rule->permissions);
		json_put_text(entry, "file", rule->file);
		json_put(entry, "line", json_integer(rule->line));
		json_put(entry, "trusted", json_boolean(rule->trusted));
		json_array_append_new(rules, entry);
	}
	json_put(object, "rules", rules);
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
	json_put_list(object, "warnings", &policy->warnings);
	return object;
}
