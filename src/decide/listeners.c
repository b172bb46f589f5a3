/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are told of events: named by the system's or the user's policy, never by a project,
 * for they run outside the sandbox. */
#include "policy.h"
#include "reading.h"
#include "../base/path.h"
#include "../base/units.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LISTENER_LIMIT = 16, WORDS_LIMIT = 100 };

static const uint64_t second_ns = UINT64_C(1000000000);

static int read_words(struct reading *reading, const struct node *node, struct list *ret_words,
		      const char *hint)
{
	if (node->kind != NODE_LIST || node->count == 0 || node->count > WORDS_LIMIT)
		return read_wrong_kind(reading, node, "a list", hint);
	for (size_t i = 0; i < node->count; i++) {
		if (node->items[i]->kind != NODE_TEXT || !*node->items[i]->text)
			return read_wrong_kind(reading, node->items[i], "text", hint);
		list_add(ret_words, node->items[i]->text);
	}
	return 0;
}

int read_listener_program(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	static const char hint[] = "write program: [/usr/local/bin/notify, --chat]";
	int r = read_words(reading, node, &reading->listener->program, hint);

	(void)kind;
	if (r == 0 && reading->listener->program.items[0][0] != '/')
		return yaml_fail(reading->ret_error, reading->layer->file, node->items[0], hint,
				 "a program that runs outside the sandbox is named by its absolute "
				 "path");
	return r;
}

int read_listener_kinds(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_words(reading, node, &reading->listener->kinds, "write kinds: [asked, denial]");
}

int read_listener_agents(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_words(reading, node, &reading->listener->agents, "write agents: [\"claude*\"]");
}

int read_listener_timeout(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	uint64_t *timeout = &reading->listener->timeout_ns;

	(void)kind;
	if (node->kind != NODE_TEXT || parse_duration(node->text, timeout, NULL) < 0 ||
	    *timeout < second_ns / 10 || *timeout > 300 * second_ns)
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "write timeout: 10s", "a time from 100ms to 5m is wanted here");
	return 0;
}

int read_listeners(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct layer *layer = reading->layer;
	int r = 0;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "begin each with a dash: - program: [/usr/bin/notify]");
	if (node->count > LISTENER_LIMIT)
		return yaml_fail(reading->ret_error, layer->file, node->items[LISTENER_LIMIT],
				 "remove some", "more than %d programs for events", LISTENER_LIMIT);
	layer->listeners = calloc(MAX(node->count, (size_t)1), sizeof(*layer->listeners));
	if (!layer->listeners)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i++) {
		reading->listener = &layer->listeners[layer->listener_count++];
		*reading->listener = (struct listener_rule){.timeout_ns = 10 * second_ns,
							    .file = read_copy(layer->file),
							    .line = node->items[i]->line};
		r = read_map(reading, node->items[i], SECTION_LISTENER, NULL);
		if (r == 0 && reading->listener->program.count == 0)
			r = yaml_fail(reading->ret_error, layer->file, node->items[i],
				      "write program: [/usr/local/bin/notify]",
				      "events without a program to take them");
	}
	return r;
}

void listener_rule_done(struct listener_rule *rule)
{
	list_done(&rule->program);
	list_done(&rule->kinds);
	list_done(&rule->agents);
	free(rule->file);
	*rule = (struct listener_rule){0};
}

bool listener_wants_agent(const struct listener_rule *rule, const char *agent)
{
	for (size_t i = 0; i < rule->agents.count; i++)
		if (fnmatch(rule->agents.items[i], agent ? agent : "", 0) == 0)
			return true;
	return rule->agents.count == 0;
}

/* Whoever can change names above it can put another file there. A sticky directory lets nobody
 * touch what is not his. */
static bool is_replaceable(const struct policy *policy, const char *program)
{
	char real[PATH_MAX], *slash;
	struct stat st;

	if (!realpath(program, real))
		return true;
	while ((slash = strrchr(real, '/'))) {
		slash[slash == real] = '\0';
		if (stat(real, &st) < 0 || (st.st_uid != 0 && st.st_uid != policy->uid) ||
		    (!(st.st_mode & S_ISVTX) &&
		     ((st.st_mode & S_IWOTH) || (st.st_mode & S_IWGRP && st.st_gid != getegid()))))
			return true;
		if (slash == real)
			break;
	}
	return false;
}

const char *listener_fault(const struct policy *policy, const struct listener_rule *rule,
			   const struct request *request)
{
	const char *program = rule->program.items[0];
	struct stat st;

	for (size_t i = 0; i < rule->program.count; i++)
		if (policy_exposes(policy, request, rule->program.items[i]))
			return "it lies where commands can write";
	if (stat(program, &st) < 0)
		return "there is no such file";
	if (!S_ISREG(st.st_mode))
		return "it is not a file";
	if ((st.st_uid != 0 && st.st_uid != policy->uid) || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return "others can write to it";
	if (is_replaceable(policy, program))
		return "others can write to a directory above it";
	return NULL;
}
