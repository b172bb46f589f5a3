/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose word counts: named by the system's or the user's policy, never by a project. */
#include "policy.h"
#include "reading.h"
#include "../base/path.h"
#include "../base/units.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CALLER_LIMIT = 100 };

/* Whoever can start one of these can have it do anything: its name says nothing. */
static const char *const interpreters[] = {
	"python*", "node",   "nodejs", "bun",	"deno",	  "perl*",  "ruby*", "php*", "lua*",
	"java",	   "dotnet", "bash",   "sh",	"dash",	  "zsh",    "ksh*",  "fish", "busybox",
	"env",	   "sudo",   "su",     "xargs", "tclsh*", "guile*", "pwsh",  "ward",
};

static bool runs_anything(const char *program)
{
	for (size_t i = 0; i < ELEMENTS(interpreters); i++)
		if (fnmatch(interpreters[i], path_last(program), 0) == 0)
			return true;
	return false;
}

int read_program(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct caller_rule *rule = reading->caller;

	(void)kind;
	if (node->kind != NODE_TEXT || node->text[0] != '/' || path_has_glob(node->text))
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "write it as program: /usr/bin/agentd",
				 "a caller is named by the absolute path of its program");
	if (runs_anything(node->text))
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "name a program that does one thing, not what runs it",
				 "'%s' runs whatever it is given: naming it names everybody",
				 node->text);
	rule->program = path_normalise(node->text);
	return 0;
}

int read_uid(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct caller_rule *rule = reading->caller;
	uint64_t number = 0;

	(void)kind;
	if (node->kind != NODE_TEXT || parse_count(node->text, &number, NULL) < 0 ||
	    number > UINT32_MAX - 1)
		return yaml_fail(reading->ret_error, reading->layer->file, node,
				 "write it as uid: 1000", "the number of a user is wanted here");
	rule->has_uid = true;
	rule->uid = (uid_t)number;
	return 0;
}

int read_may(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list", "write may: [approve]");
	for (size_t i = 0; i < node->count; i++) {
		if (node->items[i]->kind != NODE_TEXT ||
		    strcmp(node->items[i]->text, "approve") != 0)
			return yaml_fail(reading->ret_error, reading->layer->file, node->items[i],
					 "write may: [approve]",
					 "callers may approve, nothing else");
		reading->caller->approve = true;
	}
	return 0;
}

int read_callers(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	struct layer *layer = reading->layer;
	int r = 0;

	(void)kind;
	if (node->kind != NODE_LIST)
		return read_wrong_kind(reading, node, "a list",
				       "begin each with a dash: - program: /usr/bin/agentd");
	if (node->count > CALLER_LIMIT)
		return yaml_fail(reading->ret_error, layer->file, node->items[CALLER_LIMIT],
				 "remove some", "more than %d callers", CALLER_LIMIT);
	layer->callers = calloc(MAX(node->count, (size_t)1), sizeof(*layer->callers));
	if (!layer->callers)
		abort();
	for (size_t i = 0; i < node->count && r == 0; i++) {
		reading->caller = &layer->callers[layer->caller_count++];
		*reading->caller = (struct caller_rule){.file = read_copy(layer->file),
							.line = node->items[i]->line};
		r = read_map(reading, node->items[i], SECTION_CALLER, NULL);
		if (r == 0 && !reading->caller->program)
			r = yaml_fail(reading->ret_error, layer->file, node->items[i],
				      "write program: /usr/bin/agentd",
				      "a caller without a program");
		if (r == 0 && !reading->caller->approve)
			read_warn_at(layer, node->items[i]->line, node->items[i]->column,
				     "this caller may do nothing: it lacks may: [approve]");
	}
	return r;
}

void caller_rule_done(struct caller_rule *rule)
{
	free(rule->program);
	free(rule->file);
	*rule = (struct caller_rule){0};
}

/* What a command could have put there, or somebody else may write, is nobody's program. */
static bool is_settled(const struct policy *policy, const struct request *request,
		       const char *program, const struct stat *st)
{
	char real[PATH_MAX];

	return S_ISREG(st->st_mode) && (st->st_uid == 0 || st->st_uid == policy->uid) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH)) && realpath(program, real) &&
	       !runs_anything(real) && !policy_exposes(policy, request, real);
}

const struct caller_rule *policy_caller(const struct policy *policy, const struct request *request)
{
	const struct caller *caller = &request->caller;

	for (size_t i = 0; caller->program && i < policy->caller_count; i++) {
		const struct caller_rule *rule = &policy->callers[i];
		struct stat st;

		if (rule->approve && stat(rule->program, &st) == 0 && st.st_dev == caller->device &&
		    st.st_ino == caller->inode &&
		    caller->uid == (rule->has_uid ? rule->uid : policy->uid) &&
		    is_settled(policy, request, rule->program, &st))
			return rule;
	}
	return NULL;
}
