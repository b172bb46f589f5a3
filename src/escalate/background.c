/* SPDX-License-Identifier: Apache-2.0 */
/* From a question, and the plan behind it, to what is known around it. Nothing is guessed: each
 * line stands for a fact of the assessment, of the grants or of the file system. */
#include "background.h"
#include "../assess/radius.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"
#include "../base/units.h"
#include "question.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COMMANDS_MOST = 20, MEASURED_MOST = 3, PROGRAMS_NAMED = 3 };

static bool starts(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_granted(const struct ask *ask, const char *permission)
{
	return ask->grants && list_has(ask->grants, permission);
}

static void add_once(struct list *list, const char *text)
{
	if (!list_has(list, text))
		list_add(list, text);
}

static const char *program_of(const struct command *command)
{
	return command->program < command->argc ? path_last(command->argv[command->program]) : NULL;
}

/* "to write"; where it is a list, of several kinds perhaps, what stands before "3 things at once".
 */
static const char *verb_of(const struct ask *ask, const char *of_a_list)
{
	if (ask->wants && ask->wants->count)
		return of_a_list;
	return given(ask->verb) ? ask->verb : "to connect to";
}

/* "run git, sh and 2 more commands"; "pip wants to write /srv/a". */
static char *summarise(const struct ask *ask, const struct plan *plan)
{
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_list_ struct list names = {0};

	if (ask->kind == ASK_IN_PLACE) {
		const char *verb = verb_of(ask, "");

		buffer_printf(&text, "%s wants %s%s%s", given(ask->program) ? ask->program : "it",
			      verb, *verb ? " " : "", ask->object ? ask->object : "");
		return buffer_steal(&text);
	}
	for (size_t i = 0; plan && i < plan->count; i++)
		if (program_of(&plan->commands[i]))
			add_once(&names, program_of(&plan->commands[i]));
	buffer_add_text(&text, given(ask->operation)	? ask->operation
			       : ask->kind == ASK_RETRY ? "run again, with more"
							: "run");
	for (size_t i = 0; i < MIN(names.count, (size_t)PROGRAMS_NAMED); i++)
		buffer_printf(&text, "%s %s", i == 0 ? ":" : ",", names.items[i]);
	if (names.count > PROGRAMS_NAMED)
		buffer_printf(&text, " and %zu more programs", names.count - PROGRAMS_NAMED);
	return buffer_steal(&text);
}

/* --- what will happen --- */

static void add_command(const struct command *command, struct list *effects)
{
	_cleanup_buffer_ struct buffer text = {0};

	buffer_add_text(&text, command->remote ? "runs on another machine:" : "runs:");
	for (size_t i = 0; i < command->argc; i++) {
		buffer_add_char(&text, ' ');
		escape_for_shell(&text, command->argv[i]);
	}
	if (command->argc)
		list_add(effects, buffer_text(&text));
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strchr(command->redirects[i].operator, '>') && command->redirects[i].target &&
		    !strchr(command->redirects[i].operator, '&'))
			list_add_printf(effects, "writes: %s", command->redirects[i].target);
}

/* What lies now where a permission reaches. */
static void add_measure(const char *permission, size_t *measured, struct buffer *text)
{
	const char *pattern = strchr(permission, ' ');
	_cleanup_free_ char *path = NULL, *damage = NULL;
	struct damage found;

	if (!pattern || pattern[1] != '/' || *measured >= MEASURED_MOST ||
	    !(path = path_fixed_part(pattern + 1)))
		return;
	(*measured)++;
	if (!measure_tree(path, &found)) {
		buffer_add_text(text, ": nothing is there now");
		return;
	}
	damage = measure_text(&found);
	buffer_printf(text, ": %s there now", damage);
}

static void find_effects(const struct ask *ask, const struct plan *plan, struct list *effects)
{
	size_t count = plan ? plan->count : 0, measured = 0;

	if (ask->kind == ASK_IN_PLACE)
		list_add_printf(effects, "%s goes on %s %s%s%s%s",
				given(ask->program) ? ask->program : "it", verb_of(ask, "with"),
				ask->object ? ask->object : "", given(ask->note) ? " (" : "",
				given(ask->note) ? ask->note : "", given(ask->note) ? ")" : "");
	else
		for (size_t i = 0; i < MIN(count, (size_t)COMMANDS_MOST); i++)
			add_command(&plan->commands[i], effects);
	if (ask->kind != ASK_IN_PLACE && count > COMMANDS_MOST)
		list_add_printf(effects, "and %zu more commands: the whole text is above",
				count - COMMANDS_MOST);
	if (ask->kind != ASK_IN_PLACE && plan && plan->opaque)
		list_add_printf(effects, "unknown before it runs: %s",
				plan->opaque_why ? plan->opaque_why : "part of it");
	if (ask->assessment && ask->assessment->damage.measured) {
		_cleanup_free_ char *damage = damage_text(&ask->assessment->damage);

		list_add_printf(effects, "deletes: %s", damage);
	}
	for (size_t i = 0; ask->grants && i < ask->grants->count; i++) {
		_cleanup_buffer_ struct buffer text = {0};

		buffer_printf(&text, "may from then on: %s", ask->grants->items[i]);
		add_measure(ask->grants->items[i], &measured, &text);
		list_add(effects, buffer_text(&text));
	}
}

/* --- who and what is touched --- */

static void find_systems(const struct ask *ask, struct list *systems)
{
	static const char *const reaches[] = {[REACH_WORKSPACE] = "the workspace",
					      [REACH_HOME] = "your home directory",
					      [REACH_SYSTEM] = "this machine's own files"};
	const struct assessment *assessment = ask->assessment;
	bool named = false;

	if (is_granted(ask, "unsandboxed"))
		list_add(systems, "all that your account can reach");
	if (assessment && reaches[assessment->files])
		list_add(systems, reaches[assessment->files]);
	for (size_t i = 0; ask->grants && i < ask->grants->count; i++) {
		const char *grant = ask->grants->items[i], *object = strchr(grant, ' ');

		if (!object)
			continue;
		named |= starts(grant, "connect ");
		if (starts(grant, "unix "))
			list_add_printf(systems, "the program that listens at%s", object);
		else if (!starts(grant, "profile ") && !starts(grant, "exec "))
			add_once(systems, object + 1);
	}
	if (assessment && (assessment->network || assessment->remote) && !named)
		list_add(systems, "other machines: unknown which before it runs");
}

static void add_owner(const char *permission, struct list *users)
{
	const char *pattern = strchr(permission, ' ');
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (!starts(permission, "write ") && !starts(permission, "delete "))
		return;
	path = path_fixed_part(pattern + 1);
	if (path && path[0] == '/' && lstat(path, &st) == 0 && st.st_uid != geteuid())
		list_add_printf(users, "the owner of %s (user %u)", path, st.st_uid);
}

static void find_users(const struct ask *ask, struct list *users)
{
	const struct assessment *assessment = ask->assessment;

	list_add(users, "you");
	if (is_granted(ask, "unsandboxed") || (assessment && assessment->files == REACH_SYSTEM))
		list_add(users, "everybody who uses this machine");
	for (size_t i = 0; ask->grants && i < ask->grants->count; i++)
		add_owner(ask->grants->items[i], users);
	if (assessment && assessment->remote)
		list_add(users, "whoever uses what changes on other machines: unknown who");
}

/* --- what can go wrong, and the way back --- */

static void find_failures(const struct ask *ask, const struct plan *plan, struct list *failures)
{
	const struct assessment *assessment = ask->assessment;

	if (ask->destroys)
		list_add(failures, "what is there now is lost, ward keeps no copy");
	if (is_granted(ask, "unsandboxed"))
		list_add(failures, "no wall stops a mistake");
	if (ask->starts_again)
		list_add(failures, "what it did before it failed is done a second time");
	if (plan && plan->opaque)
		list_add(failures, "it may do more than its text shows");
	if (!assessment)
		return;
	if (!assessment->reversible && !ask->destroys)
		list_add(failures, "what it changes cannot be undone");
	if (assessment->unknown)
		list_add_printf(failures,
				"nothing is known of '%s': it may do anything that the "
				"sandbox lets it do",
				assessment->unknown);
	if (assessment->network)
		list_add(failures, "another machine does not answer, or answers something else");
	if (assessment->remote)
		list_add(failures, "it ends half-way, and the other machine is left as it is then");
}

static void find_way_back(const struct ask *ask, struct background *background)
{
	const struct assessment *assessment = ask->assessment;
	const struct damage *damage = assessment ? &assessment->damage : NULL;
	bool in_git = damage && damage->measured && damage->files && !damage->more &&
		      damage->restorable == damage->files;

	background->rollback_time = "unknown";
	if (ask->destroys || (assessment && !assessment->reversible)) {
		background->can_roll_back = KNOWN_NO;
		return;
	}
	if (!assessment || assessment->unknown || is_granted(ask, "unsandboxed"))
		return; /* nobody knows */
	background->can_roll_back = KNOWN_YES;
	if (assessment->only_reads)
		background->rollback_time = "none needed";
	else if (in_git)
		background->rollback_time = "seconds";
	if (assessment->way_back)
		list_add(&background->rollback_steps, assessment->way_back);
}

void background_make(const struct ask *ask, const struct plan *plan,
		     struct background *ret_background)
{
	*ret_background = (struct background){.summary = summarise(ask, plan)};
	find_effects(ask, plan, &ret_background->effects);
	find_failures(ask, plan, &ret_background->failures);
	find_systems(ask, &ret_background->systems);
	find_users(ask, &ret_background->users);
	find_way_back(ask, ret_background);
}

void background_done(struct background *background)
{
	free(background->summary);
	free(background->history_gap);
	list_done(&background->effects);
	list_done(&background->failures);
	list_done(&background->systems);
	list_done(&background->users);
	list_done(&background->rollback_steps);
	for (size_t i = 0; i < background->similar_count; i++) {
		free(background->similar[i].description);
		free(background->similar[i].outcome);
		free(background->similar[i].date);
	}
	*background = (struct background){0};
}

char *background_past(const struct background *background)
{
	const struct past *last = &background->similar[0];
	_cleanup_buffer_ struct buffer text = {0};

	if (background->similar_count == 0)
		return NULL;
	if (background->ran)
		buffer_printf(&text, "%llu of %llu like it went well; ",
			      (unsigned long long)background->succeeded,
			      (unsigned long long)background->ran);
	buffer_printf(&text, "last on %.10s: %s", last->date, last->outcome);
	return buffer_steal(&text);
}
