/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a condition holds. */
#include "condition.h"
#include "pattern.h"
#include "pin.h"
#include "policy.h"
#include "../base/path.h"

#include <string.h>

extern char **environ;

/* Whether some command of the plan may change the directory for those behind it. */
static bool plan_moves(const struct plan *plan)
{
	if (plan->opaque)
		return true;
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];
		const char *name =
			command->program < command->argc ? command->argv[command->program] : "";

		name = path_last(name);
		if (parse_word_in("cd pushd popd source . eval", name, strlen(name)))
			return true;
	}
	return false;
}

static void add_all(struct list *list, const struct list *more)
{
	for (size_t i = 0; i < more->count; i++)
		list_add(list, more->items[i]);
}

void circumstances_make(const struct policy *policy, const struct request *request,
			const struct plan *plan, const struct assessment *assessment,
			struct circumstances *ret_circumstances)
{
	const struct sandbox_policy *sandbox = &policy->sandbox;

	*ret_circumstances = (struct circumstances){.request = request,
						    .assessment = assessment,
						    .now = time(NULL),
						    .home = policy->home,
						    .uid = policy->uid,
						    .moved = !plan || plan_moves(plan)};
	if (policy->rule_count == 0)
		return;
	if (request->profile)
		(void)policy_profile(policy, request->profile, &sandbox, /* ret_error= */ NULL);
	add_all(&ret_circumstances->writable, &sandbox->write);
	add_all(&ret_circumstances->writable, &sandbox->make);
}

void circumstances_done(struct circumstances *circumstances)
{
	list_done(&circumstances->writable);
}

static enum truth truth_of(bool yes)
{
	return yes ? TRUTH_YES : TRUTH_NO;
}

/* Somebody without a name is none of those that are named. */
static enum truth name_is_among(const struct list *globs, const char *name)
{
	for (size_t i = 0; name && i < globs->count; i++)
		if (glob_matches(globs->items[i], name))
			return TRUTH_YES;
	return TRUTH_NO;
}

/* DIR and DIR / ** mean all that lies below. */
static bool directory_means(const char *pattern, const char *directory)
{
	size_t length = strlen(pattern);
	_cleanup_free_ char *fixed = path_fixed_part(pattern);

	if (path_matches(pattern, directory, /* ret_overrun= */ NULL))
		return true;
	return (!path_has_glob(pattern) ||
		(length > 3 && strcmp(pattern + length - 3, "/**") == 0 &&
		 strlen(fixed) == length - 3)) &&
	       path_is_under(directory, fixed);
}

static enum truth directory_is_among(const struct list *patterns,
				     const struct circumstances *circumstances)
{
	const struct request *request = circumstances->request;
	char real[PATH_MAX];

	const char *directory = circumstances->directory ? circumstances->directory : request->cwd;

	if (circumstances->moved || !directory || !request->workspace || !realpath(directory, real))
		return TRUTH_UNKNOWN;
	for (size_t i = 0; i < patterns->count; i++) {
		_cleanup_free_ char *pattern =
			path_resolve(request->workspace, circumstances->home, patterns->items[i]);

		if (directory_means(pattern, real))
			return TRUTH_YES;
	}
	return TRUTH_NO;
}

static bool is_variable(const char *assignment, const char *name, size_t length)
{
	return strncmp(assignment, name, length) == 0 && assignment[length] == '=';
}

/* NAME=VALUE as the command would have it, the last word first; NULL: it is not set. */
static const char *find_variable(const struct request *request, const struct command *command,
				 const char *name, size_t length)
{
	for (size_t i = command->assignment_count; i > 0; i--)
		if (is_variable(command->assignments[i - 1], name, length))
			return command->assignments[i - 1];
	for (size_t i = request->environment.count; i > 0; i--)
		if (is_variable(request->environment.items[i - 1], name, length))
			return request->environment.items[i - 1];
	for (char **variable = environ; *variable; variable++)
		if (is_variable(*variable, name, length))
			return *variable;
	return NULL;
}

/* Each of them is set, to what is named. What a script sets for itself is not seen. */
static enum truth environment_is(const struct list *wanted,
				 const struct circumstances *circumstances,
				 const struct command *command)
{
	enum truth truth = TRUTH_YES;

	for (size_t i = 0; i < wanted->count; i++) {
		size_t length = strcspn(wanted->items[i], "=");
		const char *found =
			find_variable(circumstances->request, command, wanted->items[i], length);

		if (!found)
			return TRUTH_NO;
		if (!wanted->items[i][length])
			continue;
		if (strpbrk(found + length + 1, "$`"))
			truth = TRUTH_UNKNOWN;
		else if (!glob_matches(wanted->items[i] + length + 1, found + length + 1))
			return TRUTH_NO;
	}
	return truth;
}

static enum truth time_is(const struct condition *condition, time_t now)
{
	struct tm local;
	int minute;

	if (!now || !localtime_r(&now, &local))
		return TRUTH_UNKNOWN;
	if (condition->days && !(condition->days >> local.tm_wday & 1))
		return TRUTH_NO;
	minute = local.tm_hour * 60 + local.tm_min;
	for (size_t i = 0; i < condition->hour_count; i++) {
		const struct hours *hours = &condition->hours[i];

		if (hours->from < hours->to ? minute >= hours->from && minute < hours->to
					    : minute >= hours->from || minute < hours->to)
			return TRUTH_YES;
	}
	return truth_of(condition->hour_count == 0);
}

const char *condition_until(const struct condition *condition, char text[static UNTIL_TEXT])
{
	struct tm moment;

	if (!gmtime_r(&condition->until, &moment) ||
	    !strftime(text, UNTIL_TEXT, "%Y-%m-%dT%H:%M:%SZ", &moment))
		text[0] = '\0';
	return text;
}

static enum truth stake_is(const struct condition *condition, const struct assessment *assessment)
{
	bool found = condition->categories.count == 0;

	if (!assessment)
		return TRUTH_UNKNOWN;
	if (condition->risks && !(condition->risks >> assessment->risk & 1))
		return TRUTH_NO;
	for (const char **category = assessment->categories; !found && *category; category++)
		found = list_has(&condition->categories, *category);
	return truth_of(found);
}

static void and (enum truth * truth, enum truth other)
{
	*truth = MIN(*truth, other);
}

enum truth condition_holds(const struct condition *condition,
			   const struct circumstances *circumstances, const struct command *command,
			   size_t first)
{
	static const struct circumstances nothing;
	enum truth truth = TRUTH_YES;

	if (!condition)
		return TRUTH_YES;
	if (!circumstances)
		circumstances = &nothing;
	if (condition->days || condition->hour_count)
		and(&truth, time_is(condition, circumstances->now));
	if (condition->until)
		and(&truth, !circumstances->now ? TRUTH_UNKNOWN
						: truth_of(circumstances->now < condition->until));
	if (condition->risks || condition->categories.count)
		and(&truth, stake_is(condition, circumstances->assessment));
	if (condition->agents.count + condition->sessions.count + condition->tools.count +
		    condition->directories.count + condition->environment.count >
	    0) {
		const struct request *request = circumstances->request;

		if (!request)
			return MIN(truth, TRUTH_UNKNOWN);
		if (condition->agents.count)
			and(&truth, name_is_among(&condition->agents, request->agent));
		if (condition->sessions.count)
			and(&truth, name_is_among(&condition->sessions, request->session));
		if (condition->tools.count)
			and(&truth, name_is_among(&condition->tools, request->tool));
		if (condition->directories.count && truth)
			and(&truth, directory_is_among(&condition->directories, circumstances));
		if (condition->environment.count && truth)
			and(&truth,
			    environment_is(&condition->environment, circumstances, command));
	}
	/* Last: it may have to read a file. */
	if (condition->pin.path && truth != TRUTH_NO)
		and(&truth, pin_holds(&condition->pin, circumstances, command, first));
	return truth;
}
