/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for a shell in variables, and in words that a shell looks at twice. */
#include "unwrap.h"

#include <string.h>

/* Options that a program takes from a variable: as if they stood behind its name. A shell takes
 * whole functions. */
static bool take_options(struct texts *texts, const char *assignment, size_t length, bool live)
{
	static const struct {
		const char *names, *program;
	} holders[] = {
		{"MAKEFLAGS GNUMAKEFLAGS", "make"},
		{"PERL5OPT", "perl"},
		{"LESS", "less"},
	};
	const char *value = assignment + length + 1;

	/* most only say how much or how */
	if (!strpbrk(value, "(;!`") && !strstr(value, "exec=") && !strstr(value, "-command") &&
	    !strstr(value, "-program") && !strstr(value, "-script"))
		return false;
	if (strncmp(assignment, "BASH_FUNC_", 10) == 0)
		return unwrap_take(texts, arena_printf(texts->arena, "f%s\nf", value), live);
	/* tar reads quotes by itself */
	if (parse_word_in("TAR_OPTIONS", assignment, length))
		return unwrap_take(texts, arena_printf(texts->arena, "tar %s", value), live);
	for (size_t i = 0; i < ELEMENTS(holders); i++)
		if (parse_word_in(holders[i].names, assignment, length))
			return unwrap_take(
				texts, option_words(texts->arena, holders[i].program, value), live);
	return false;
}

/* Programs that others start are named by variables. */
static bool take_variable(struct texts *texts, const char *assignment, bool live)
{
	static const char names[] =
		"GIT_SSH_COMMAND GIT_SSH GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER "
		"GIT_EXTERNAL_DIFF "
		"GIT_ASKPASS SSH_ASKPASS EDITOR VISUAL PAGER MANPAGER LESSOPEN BROWSER "
		"PROMPT_COMMAND RSYNC_RSH CVS_RSH SVN_SSH GIT_PROXY_COMMAND BORG_RSH "
		"BORG_PASSCOMMAND RESTIC_PASSWORD_COMMAND SUDO_ASKPASS SUDO_EDITOR SYSTEMD_PAGER "
		"SYSTEMD_EDITOR BAT_PAGER DELTA_PAGER AWS_PAGER GH_PAGER GH_EDITOR KUBE_EDITOR "
		"FCEDIT HGEDITOR SVN_EDITOR PSQL_PAGER PSQL_EDITOR LESSCLOSE";
	const char *equals = strchr(assignment, '=');
	size_t length = equals ? (size_t)(equals - assignment) : 0;

	if (!length)
		return false;
	texts->inner->name = arena_strndup(texts->arena, assignment, length);
	if (parse_word_in(names, assignment, length))
		return unwrap_take(texts, equals + 1, live);
	return take_options(texts, assignment, length, live);
}

bool variable_text(struct texts *texts, const char *name)
{
	const struct command *command = texts->command;
	/* env NAME=VALUE stands before the program, export NAME=VALUE behind it */
	bool exports = parse_word_in("export declare typeset readonly", name, strlen(name));
	size_t end = exports ? command->argc : command->program;

	for (size_t i = 0; i < command->assignment_count; i++)
		if (take_variable(texts, command->assignments[i],
				  command->assignment_sources &&
					  command->assignment_sources[i].text))
			return true;
	for (size_t i = 0; i < end; i++)
		if (take_variable(texts, command->argv[i], unwrap_is_live(command, i)))
			return true;
	return false;
}

/* Where a substitution begins that the shell makes when it looks at the text again; NULL: none. */
static const char *substitution_in(const char *text)
{
	const char *dollar = strstr(text, "$("), *quote = strchr(text, '`');

	return dollar && (!quote || dollar < quote) ? dollar : quote;
}

static bool take_again(struct texts *texts, const char *text, bool live)
{
	const char *start = text && !live ? substitution_in(text) : NULL;

	return start && unwrap_take(texts, arena_printf(texts->arena, ": %s", start), live);
}

/* What is quoted once and looked at twice: subscripts, as arithmetic and builtins that take names
 * of variables read them; words to complete; what a shell shows before a command or starts with. */
bool variable_again(struct texts *texts, const char *name)
{
	const struct command *command = texts->command;
	bool words = strcmp(name, "compgen") == 0;

	for (size_t i = 0; i < command->assignment_count; i++) {
		const char *text = command->assignments[i];
		size_t length = strcspn(text, "=");

		if (!parse_word_in("PS4 BASH_ENV ENV", text, length))
			text = strchr(text + length, '[');
		if (take_again(texts, text,
			       command->assignment_sources && command->assignment_sources[i].text))
			return true;
	}
	if (!words && !parse_word_in("test [ [[ printf read let mapfile readarray unset wait "
				     "declare typeset local export readonly getopts",
				     name, strlen(name)))
		return false;
	for (size_t i = texts->first + 1; i < command->argc; i++)
		if (take_again(texts, words ? command->argv[i] : strchr(command->argv[i], '['),
			       unwrap_is_live(command, i)))
			return true;
	return false;
}
