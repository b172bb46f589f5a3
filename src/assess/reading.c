/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a plan only reads: known tools, used in ways that change nothing. */
#include "assess.h"
#include "../base/path.h"

#include <string.h>

/* Words behind the tool that keep it reading; NULL: it always does. Whatever names an output, runs
 * another program or changes something in place is among the flags that spoil it. */
static const struct {
	const char *tools, *verbs, *spoiled_by;
} readers[] = {
	{"ls cat head tail wc grep egrep fgrep rg stat file du df pwd echo printf true false test "
	 "basename dirname readlink realpath which type id whoami uname date uptime nproc free ps "
	 "diff cmp comm cut tr nl od hexdump strings md5sum sha1sum sha256sum sha512sum "
	 "b2sum cksum jq column fold rev tac expand seq printenv cal locale getconf "
	 "groups tty arch",
	 NULL, "--pre --hostname-bin -s --set -C --compile"},
	{"sort tree", NULL, "-o --output --compress-program"},
	{"find", NULL, "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fprintf -fls"},
	{"git",
	 "status diff log show blame rev-parse ls-files ls-tree describe shortlog cat-file "
	 "rev-list merge-base name-rev grep",
	 "-o --output --ext-diff --textconv -O --open-files-in-pager -c --config-env --exec-path"},
};

static bool only_reads(const struct command *command)
{
	const char *name = path_last(command->argv[0]);

	if (command->dynamic || command->assignment_count > 0 || strchr(command->argv[0], '/'))
		return false;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strchr(command->redirects[i].operator, '>') &&
		    strcmp(command->redirects[i].target, "/dev/null") != 0)
			return false;
	for (size_t i = 0; i < ELEMENTS(readers); i++) {
		size_t verb;

		if (!parse_word_in(readers[i].tools, name, strlen(name)))
			continue;
		for (size_t word = 1; word < command->argc; word++)
			if (parse_word_in(readers[i].spoiled_by, command->argv[word],
					  strcspn(command->argv[word], "=")) ||
			    (parse_word_in(readers[i].spoiled_by, "-o", 2) &&
			     strncmp(command->argv[word], "-o", 2) == 0))
				return false;
		verb = parse_operand(command, 1, "-C --git-dir --work-tree");
		return !readers[i].verbs ||
		       (verb < command->argc && parse_word_in(readers[i].verbs, command->argv[verb],
							      strlen(command->argv[verb])));
	}
	return false;
}

bool assess_only_reads(const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (plan->commands[i].argc == 0 || !only_reads(&plan->commands[i]))
			return false;
	return plan->count > 0 && !plan->opaque;
}
