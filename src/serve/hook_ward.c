/* SPDX-License-Identifier: Apache-2.0 */
/* A call of ward stands outside the sandbox, where the shell around it could give it another home,
 * directory or workspace. So it is never taken as it was written, but for its words: they are read
 * as ward reads them, and only a line of ward's own goes on. */
#include "hook_ward.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"
#include "../decide/policy.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Flags of `ward run` that give nothing; those with a value end in '='. */
static const char *const narrow_flags[] = {
	"--quiet",	"--json",	"--no-pty",	   "--trace-reads", "--deny=",
	"--read-only=", "--deny-host=", "--deny-syscall=", "--require=",    "--reason=",
};
/* A limit is one where the policy has none; else it would stand in the place of the policy's. */
static const struct {
	const char *flag;
	size_t offset;
} limit_flags[] = {
	{"--timeout=", offsetof(struct limits, time_ns)},
	{"--idle=", offsetof(struct limits, idle_ns)},
	{"--memory=", offsetof(struct limits, memory)},
	{"--processes=", offsetof(struct limits, processes)},
	{"--cpu-time=", offsetof(struct limits, cpu_ns)},
	{"--disk=", offsetof(struct limits, disk)},
	{"--output=", offsetof(struct limits, output)},
	{"--cpu=", offsetof(struct limits, millicpus)},
};
/* Verbs that only tell. */
static const char *const telling_verbs[] = {"check",  "log",	   "show", "doctor",
					    "--help", "--version", "help"};

/* Who asks and where: a call says what the agent's own object says, or nothing. */
enum { WHO_AGENT, WHO_SESSION, WHO_TOOL, WHO_WORKSPACE, WHO_CWD, WHO_COUNT };
/* A bit beside theirs: the call asks nothing at a terminal. */
enum { SAID_UNATTENDED = 1 << WHO_COUNT };

struct who {
	const char *flag, *value;
};

static void who_asks(const struct request *request, struct who who[static WHO_COUNT])
{
	who[WHO_AGENT] = (struct who){"--agent", request->agent};
	who[WHO_SESSION] = (struct who){"--session", request->session};
	who[WHO_TOOL] = (struct who){"--tool", request->tool};
	who[WHO_WORKSPACE] = (struct who){"--workspace", request->workspace};
	who[WHO_CWD] = (struct who){"--cwd", request->cwd};
}

static bool is_given(const char *text)
{
	return text && *text;
}

/* True if flag and value are those of whoever asks; said has a bit for each that was met. */
static bool is_same(const struct request *request, const char *flag, const char *value,
		    unsigned *said)
{
	struct who who[WHO_COUNT];

	/* These only go on record. */
	if (strcmp(flag, "--turn") == 0 || strcmp(flag, "--call-id") == 0)
		return true;
	who_asks(request, who);
	for (unsigned i = 0; i < WHO_COUNT; i++)
		if (strcmp(flag, who[i].flag) == 0) {
			*said |= 1u << i;
			return who[i].value && strcmp(value, who[i].value) == 0;
		}
	return false;
}

/* How many words the flag has, 0 where word is another; flags with a value end in '='. */
static size_t words_of(const char *word, const char *flag)
{
	size_t length = strcspn(flag, "=");
	bool valued = flag[length] == '=';

	if (strncmp(word, flag, length) != 0)
		return 0;
	if (!word[length])
		return valued ? 2 : 1;
	return valued && word[length] == '=' ? 1 : 0;
}

static size_t narrow_words(const struct limits *limits, const char *word)
{
	for (size_t i = 0; i < ELEMENTS(narrow_flags); i++)
		if (words_of(word, narrow_flags[i]))
			return words_of(word, narrow_flags[i]);
	for (size_t i = 0; i < ELEMENTS(limit_flags); i++)
		if (*(const uint64_t *)((const char *)limits + limit_flags[i].offset) == 0 &&
		    words_of(word, limit_flags[i].flag))
			return words_of(word, limit_flags[i].flag);
	return 0;
}

/* What a call of `ward run` says beside who asks; false where it wants more. Flags may follow the
 * script. */
static bool read_run(const struct request *request, const struct limits *limits,
		     const struct command *command, struct list *ret_words, unsigned *ret_said)
{
	bool begun = false;
	size_t at = 2;

	while (at < command->argc) {
		const char *word = command->argv[at];
		const char *next = at + 1 < command->argc ? command->argv[at + 1] : NULL;
		size_t count = narrow_words(limits, word);

		if (next && is_same(request, word, next, ret_said)) {
			at += 2;
			continue;
		}
		if (!begun && strcmp(word, "--unattended") == 0) {
			*ret_said |= SAID_UNATTENDED;
			at++;
			continue;
		}
		if (strcmp(word, "-c") == 0) {
			begun = true;
			count = 2;
		} else if (strcmp(word, "--") == 0 || word[0] != '-') {
			size_t first = at + (word[0] == '-');

			begun = true;
			count = command->argc - at;
			/* An agent as the command has a profile of its own. */
			if (first < command->argc && policy_profile_of(command->argv[first]))
				return false;
		}
		if (count == 0 || count > command->argc - at)
			return false;
		while (count-- > 0)
			list_add(ret_words, command->argv[at++]);
	}
	return begun;
}

static bool tells(const struct command *command)
{
	for (size_t i = 0; i < ELEMENTS(telling_verbs); i++)
		if (strcmp(command->argv[1], telling_verbs[i]) == 0)
			return true;
	return false;
}

static bool widens(const struct request *request, const struct limits *limits,
		   const struct command *command)
{
	_cleanup_list_ struct list words = {0};
	unsigned said = 0;

	if (command->dynamic || command->argc < 2 || command->assignment_count > 0)
		return true;
	return !tells(command) && (strcmp(command->argv[1], "run") != 0 ||
				   !read_run(request, limits, command, &words, &said));
}

/* Behind wrappers, too. */
static bool calls_for_more(const struct request *request, const struct limits *limits,
			   const struct command *command)
{
	struct command part = *command;

	for (size_t at = 0; part.argc > 0; at = parse_wrapped(&part, 0)) {
		part.argv += at;
		part.argc -= at;
		if (strcmp(path_last(part.argv[0]), "ward") == 0 && widens(request, limits, &part))
			return true;
		if (parse_wrapped(&part, 0) == 0)
			return false;
	}
	return false;
}

char *ward_words(const struct command *command)
{
	struct buffer line = {0};

	for (size_t i = 0; i < command->argc; i++) {
		if (i)
			buffer_add_char(&line, ' ');
		escape_for_shell(&line, command->argv[i]);
	}
	return buffer_steal(&line);
}

/* One call of this ward, which gives nothing more. */
static void take_line(const struct command *command, const char *text,
		      const struct request *request, const struct limits *limits,
		      const char *program, struct ward_call *call)
{
	_cleanup_free_ char *plain = ward_words(command);
	_cleanup_list_ struct list words = {0};
	struct who who[WHO_COUNT];
	unsigned said = 0;

	call->same = strcmp(plain, text) == 0;
	if (tells(command)) {
		call->line = STEAL(plain);
		return;
	}
	(void)read_run(request, limits, command, &words, &said);
	call->line = ward_line(program, request, NULL, &words);
	who_asks(request, who);
	for (unsigned i = 0; i < WHO_COUNT; i++)
		call->same &= !is_given(who[i].value) || (said & 1u << i);
	call->same &= (said & SAID_UNATTENDED) != 0;
}

void ward_call_read(const struct plan *plan, const char *text, const struct request *request,
		    const struct limits *limits, const char *program, struct ward_call *ret_call)
{
	const struct command *command = plan->count == 1 ? &plan->commands[0] : NULL;

	*ret_call = (struct ward_call){0};
	for (size_t i = 0; i < plan->count; i++)
		ret_call->widens |= calls_for_more(request, limits, &plan->commands[i]);
	if (!command || plan->opaque || command->argc < 2 || command->redirect_count > 0 ||
	    command->wrapper_count > 0 || ret_call->widens)
		return;
	/* Anything can be called ward; what lies at our own path is. */
	if (strcmp(command->argv[0], program) == 0)
		take_line(command, text, request, limits, program, ret_call);
}

void ward_call_done(struct ward_call *call)
{
	free(call->line);
	*call = (struct ward_call){0};
}

static void add_flag(struct buffer *line, const char *flag, const char *value)
{
	if (!is_given(value))
		return;
	buffer_printf(line, " %s ", flag);
	escape_for_shell(line, value);
}

char *ward_line(const char *program, const struct request *request, const char *asked,
		const struct list *words)
{
	_cleanup_buffer_ struct buffer line = {0};

	escape_for_shell(&line, program);
	buffer_add_text(&line, " run --unattended");
	add_flag(&line, "--agent", request->agent);
	add_flag(&line, "--session", request->session);
	add_flag(&line, "--tool", request->tool);
	add_flag(&line, "--call-id", request->call_id);
	add_flag(&line, "--turn", request->turn);
	add_flag(&line, "--workspace", request->workspace);
	add_flag(&line, "--cwd", request->cwd);
	add_flag(&line, "--asked", asked);
	for (size_t i = 0; i < words->count; i++) {
		buffer_add_char(&line, ' ');
		escape_for_shell(&line, words->items[i]);
	}
	return buffer_steal(&line);
}
