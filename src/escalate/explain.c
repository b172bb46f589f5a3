/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals put into sentences. */
#include "explain.h"
#include "hint.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <string.h>

enum { NOTICES = 5 };

/* By a rule that somebody wrote: its words are that person's. */
static bool is_said(const struct denial *denial)
{
	return strncmp(denial->rule, "deny: ", 6) == 0 || strncmp(denial->rule, "ask: ", 5) == 0 ||
	       strncmp(denial->rule, "read-only: ", 11) == 0;
}

/* Its words name a path, which may be called anything. */
static bool is_held(const struct denial *denial)
{
	return strncmp(denial->rule, "held: ", 6) == 0;
}

static bool is_wards(const struct denial *denial)
{
	return is_said(denial) || is_held(denial) || !strstr(denial->rule, "permissions");
}

/* What a program writes in passing has kept it from nothing. */
static bool is_by_product(const struct denial *denial)
{
	return strncmp(denial->rule, "default: by-products", 20) == 0;
}

/* A person was asked while the call waited. */
static bool is_answered(const struct denial *denial)
{
	return denial->answer && strcmp(denial->answer, "none") != 0;
}

void unsaid_add(struct unsaid *unsaid, const char *operation, const char *object, const char *why)
{
	list_add_printf(&unsaid->what, "%s %s", operation, object);
	list_add(&unsaid->why, why);
}

static const char *who_refused(const struct unsaid *unsaid, const struct denial *denial)
{
	size_t length = strlen(denial->operation);

	for (size_t i = 0; i < unsaid->what.count; i++) {
		const char *what = unsaid->what.items[i];

		if (strncmp(what, denial->operation, length) == 0 && what[length] == ' ' &&
		    strcmp(what + length + 1, denial->object) == 0)
			return unsaid->why.items[i];
	}
	return "a person said no";
}

/* Where no flag would help: within an agent's safe mode, and within a token. */
static bool bounds_of(const struct request *request, const struct result *result,
		      struct buffer *ret_why)
{
	if (result->incident)
		buffer_printf(ret_why, "the agent is in safe mode: ward incidents show %s",
			      result->incident);
	else if (request->token)
		buffer_add_text(ret_why, "the token does not permit it: ward token show");
	return ret_why->length;
}

/* A command that failed after something was refused to it most likely failed because of it; which
 * and how to permit it is known exactly, whatever it printed. */
void explain_denials(const struct request *request, const struct list *never,
		     const struct unsaid *unsaid, struct result *result,
		     const struct attempt *attempt, struct list *notices)
{
	_cleanup_buffer_ struct buffer what = {0}, flag = {0}, why = {0};
	_cleanup_list_ struct list told = {0};
	bool bounded = bounds_of(request, result, &why);
	const char *workspace = request->workspace;
	bool failed = result->exit_code != 0 || result->signal;
	size_t shown = 0, beyond = 0, masked = 0;

	for (size_t i = 0; i < attempt->denial_count; i++) {
		const struct denial *denial = &attempt->denials[i];
		_cleanup_free_ char *held = hint_held(denial);
		const char *opens = held ? held : denial->object;

		/* What was granted while the call waited has kept nobody from anything. */
		if (!is_wards(denial) || is_by_product(denial) ||
		    (is_answered(denial) && strcmp(denial->answer, "granted") == 0))
			continue;
		if (shown++ >= NOTICES) {
			beyond++;
			continue;
		}
		buffer_done(&what);
		buffer_done(&flag);
		hint_describe(denial, &what);
		if (is_held(denial)) {
			list_add(&told, opens);
			buffer_add_text(&what, "; ");
			escape_for_terminal(&what, denial->rule, strlen(denial->rule));
		}
		if (is_answered(denial) && strcmp(denial->answer, "denied") == 0)
			list_add_printf(notices, "refused: %s; %s", buffer_text(&what),
					who_refused(unsaid, denial));
		else if (bounded && !is_said(denial))
			list_add_printf(notices, "refused: %s; %s", buffer_text(&what),
					buffer_text(&why));
		else if (!bounded && !path_is_among(opens, never) &&
			 hint_flag(denial, workspace, &flag))
			list_add_printf(notices, "refused: %s; to allow: %s", buffer_text(&what),
					buffer_text(&flag));
		else {
			if (!is_held(denial) && (is_said(denial) || hint_is_final(denial))) {
				buffer_add_text(&what, is_said(denial) ? "; by the rule " : "; ");
				escape_for_terminal(&what, denial->rule, strlen(denial->rule));
			}
			list_add_printf(notices, "refused: %s", buffer_text(&what));
		}
		if (failed && !result->error) {
			fail(&result->error, E_SANDBOX, "the sandbox refused: %s",
			     buffer_text(&what));
			if (flag.length)
				error_hint(&result->error, "to allow it: %s", buffer_text(&flag));
			else if (bounded)
				error_hint(&result->error, "%s", buffer_text(&why));
		}
	}
	if (beyond)
		list_add_printf(notices, "and %zu more; ward show %s", beyond, result->run);
	/* Where reads are not traced, whether a mask was met is not known; a command that failed by
	 * itself may have met one. */
	buffer_done(&what);
	for (size_t i = 0; failed && !bounded && !attempt->traced && result->exit_code < 128 &&
			   i < attempt->masks.count;
	     i++) {
		if (!path_is_under(attempt->masks.items[i], workspace) ||
		    path_is_among(attempt->masks.items[i], never) ||
		    list_has(&told, attempt->masks.items[i]))
			continue;
		if (!masked++)
			escape_for_terminal(&what, attempt->masks.items[i] + strlen(workspace) + 1,
					    strlen(attempt->masks.items[i]) - strlen(workspace) -
						    1);
	}
	if (masked == 1)
		list_add_printf(notices, "%s is masked; to allow: --read %s", buffer_text(&what),
				buffer_text(&what));
	else if (masked)
		list_add_printf(notices,
				"%s is masked; to allow: --read %s (%zu more %s; --trace-reads "
				"tells which one was wanted)",
				buffer_text(&what), buffer_text(&what), masked - 1,
				masked == 2 ? "is" : "are");
}

static bool is_never(const char *permission, const struct list *never)
{
	const char *path = strchr(permission, '/');
	size_t length = path ? strlen(path) : 0;
	bool tree = length > 3 && strcmp(path + length - 3, "/**") == 0;
	_cleanup_free_ char *plain = path ? strndup(path, tree ? length - 3 : length) : NULL;

	return path && path_is_among(plain, never);
}

int explain_missing(const struct attempt *attempt, const struct list *never,
		    struct list *ret_missing, struct list *ret_refused)
{
	int beyond = 0;

	for (size_t i = 0; i < attempt->denial_count; i++) {
		const struct denial *denial = &attempt->denials[i];
		_cleanup_buffer_ struct buffer what = {0};
		_cleanup_free_ char *permission = NULL;
		bool broad;

		if (!is_wards(denial) || is_answered(denial) || is_by_product(denial))
			continue;
		hint_describe(denial, &what);
		list_add(ret_refused, buffer_text(&what));
		if (path_is_among(denial->object, never) || hint_is_final(denial))
			continue;
		permission = hint_permission(denial, &broad);
		if (!permission)
			beyond += !broad;
		else if (is_never(permission, never))
			continue;
		else if (!list_has(ret_missing, permission))
			list_add(ret_missing, permission);
	}
	return beyond;
}

void explain_mark(struct attempt *attempt, const struct list *never, const struct list *permissions,
		  const char *answer, const char *why, struct unsaid *unsaid)
{
	bool all = list_has(permissions, "unsandboxed");

	for (size_t i = 0; i < attempt->denial_count; i++) {
		struct denial *denial = &attempt->denials[i];
		bool broad;
		_cleanup_free_ char *permission = path_is_among(denial->object, never)
							  ? NULL
							  : hint_permission(denial, &broad);

		if (!is_wards(denial) ||
		    !(all || (permission && list_has(permissions, permission))))
			continue;
		denial->answer = (char *)answer;
		if (why)
			unsaid_add(unsaid, denial->operation, denial->object, why);
	}
}
