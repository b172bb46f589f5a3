/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that take shell text and run it. */
#include "unwrap.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <string.h>

enum { TEXTS_LIMIT = 64 };

bool unwrap_take(struct texts *texts, const char *text, bool live)
{
	if (!text || !*text)
		return false;
	if (texts->which > 0) {
		texts->which--;
		return false;
	}
	texts->inner->text = text;
	texts->inner->length = strlen(text);
	texts->live = live;
	return true;
}

static bool take_word(struct texts *texts, size_t i)
{
	return i < texts->command->argc &&
	       unwrap_take(texts, texts->command->argv[i], unwrap_is_live(texts->command, i));
}

static bool take_joined(struct texts *texts, size_t first, size_t end)
{
	char *text;

	if (first >= end)
		return false;
	texts->live = false;
	text = unwrap_joined(texts, first, end);
	return unwrap_take(texts, text, texts->live);
}

static const char shells[] =
	"sh bash dash zsh ksh ash mksh rbash fish csh tcsh sash yash posh lksh elvish";

bool is_shell_name(const char *name)
{
	return parse_word_in(shells, name, strlen(name));
}

size_t shell_operand(const struct command *command, size_t first, bool *ret_text)
{
	bool input = false;
	size_t i;

	*ret_text = false;
	for (i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		size_t length = strlen(word);

		if ((word[0] != '-' && word[0] != '+') || length < 2)
			break;
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (word[0] == '-' && word[1] == '-') {
			i += parse_word_in("--rcfile --init-file", word, length);
			continue;
		}
		*ret_text |= word[0] == '-' && strchr(word, 'c');
		input |= word[0] == '-' && strchr(word, 's');
		i += word[length - 1] == 'o' || word[length - 1] == 'O';
	}
	if (!*ret_text && (input || (i < command->argc &&
				     parse_word_in("- /dev/stdin /dev/fd/0 /proc/self/fd/0",
						   command->argv[i], strlen(command->argv[i])))))
		return command->argc;
	return i;
}

/* After -c; the words behind it are $0, $1 and so on. */
static bool shell_text(struct texts *texts)
{
	const struct command *command = texts->command;
	bool text;
	size_t operand = shell_operand(command, texts->first, &text), rest = operand + 2;

	if (!text || !take_word(texts, operand))
		return false;
	texts->inner->arguments = command->argv + MIN(rest, command->argc);
	for (size_t i = rest; i < command->argc; i++) {
		texts->inner->argument_count++;
		if (unwrap_is_live(command, i))
			texts->inner->arguments = NULL;
	}
	return true;
}

static bool eval_text(struct texts *texts)
{
	texts->inner->shares = true;
	return take_joined(texts, unwrap_eval(texts->command, texts->first), texts->command->argc);
}

/* "-" gives a signal its own effect back */
static bool trap_text(struct texts *texts)
{
	const struct command *command = texts->command;
	size_t i = parse_operand(command, texts->first + 1, NULL);

	if (i + 1 >= command->argc || strcmp(command->argv[i], "-") == 0)
		return false;
	texts->inner->shares = true;
	texts->inner->kind = PLACE_TRAP;
	texts->inner->name = command->argv[i + 1];
	return take_word(texts, i);
}

/* The value of -c, joined to it or in the next word. */
static bool command_text(struct texts *texts)
{
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (strncmp(word, "--command=", strlen("--command=")) == 0)
			return unwrap_take(texts, word + strlen("--command="),
					   unwrap_is_live(command, i));
		if (i + 1 < command->argc &&
		    (parse_word_in("--command --session-command", word, strlen(word)) ||
		     (word[0] == '-' && word[1] != '-' && word[1] &&
		      word[strlen(word) - 1] == 'c')))
			return take_word(texts, i + 1);
	}
	return false;
}

/* What each alias stands for. */
static bool alias_text(struct texts *texts)
{
	const struct command *command = texts->command;

	texts->inner->shares = true;
	texts->inner->kind = PLACE_ALIAS;
	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *value = strchr(command->argv[i], '=');

		if (!value)
			continue;
		texts->inner->name = arena_strndup(texts->arena, command->argv[i],
						   (size_t)(value - command->argv[i]));
		if (unwrap_take(texts, value + 1, unwrap_is_live(command, i)))
			return true;
	}
	return false;
}

static bool rest_text(struct texts *texts, const char *with_value)
{
	return take_joined(texts, parse_operand(texts->command, texts->first + 1, with_value),
			   texts->command->argc);
}

static bool watch_text(struct texts *texts)
{
	return rest_text(texts, "-n --interval -q --equexit");
}

static bool parallel_text(struct texts *texts)
{
	const struct command *command = texts->command;
	size_t start = parse_operand(
		       command, texts->first + 1,
		       "-j --jobs -n -N -I -a --arg-file --delay --timeout -L -S -C --colsep "
		       "-d --delimiter --joblog --results --retries --tmpdir -P --max-procs"),
	       end = start;

	while (end < command->argc && strncmp(command->argv[end], ":::", 3) != 0)
		end++;
	if (start < end)
		return take_joined(texts, start, end);
	/* parallel ::: 'make a' 'make b': each is a command */
	for (size_t i = end + 1; i < command->argc; i++)
		if (take_word(texts, i))
			return true;
	return false;
}

static bool ssh_text(struct texts *texts)
{
	static const char with_value[] =
		"-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w";
	const struct command *command = texts->command;
	size_t host = parse_operand(command, texts->first + 1, with_value);
	size_t start = parse_operand(command, MIN(host + 1, command->argc), with_value);

	texts->inner->remote = true;
	return take_joined(texts, start, command->argc);
}

/* env -S "rm -rf": words that env parts by itself, much as a shell would. */
static bool env_text(struct texts *texts)
{
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc && command->argv[i][0] == '-'; i++) {
		const char *word = command->argv[i], *text = NULL, *letter;

		if (strncmp(word, "--s", 3) == 0)
			text = strchr(word, '=') ? strchr(word, '=') + 1 : "";
		else if (word[1] != '-' && (letter = strchr(word, 'S')))
			text = letter + 1;
		if (!text)
			continue;
		texts->live = unwrap_is_live(command, i);
		text = arena_printf(texts->arena, "%s %s", text,
				    unwrap_joined(texts, i + 1, command->argc));
		return unwrap_take(texts, text, texts->live);
	}
	return false;
}

/* tmux send-keys -t x 'rm -rf y' Enter; tmux new-session -d 'rm -rf y' */
static bool terminal_text(struct texts *texts)
{
	const struct command *command = texts->command;
	bool found = false;

	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (found && word[0] != '-' && strpbrk(word, " \t") && take_word(texts, i))
			return true;
		found |=
			parse_word_in("send-keys send new-session new new-window neww split-window "
				      "splitw respawn-pane run-shell run stuff if-shell",
				      word, strlen(word));
	}
	return false;
}

/* tmux -c TEXT: before the verb; behind it -c is a directory */
static bool option_text(struct texts *texts)
{
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc && command->argv[i][0] == '-'; i++)
		if (strcmp(command->argv[i], "-c") == 0)
			return take_word(texts, i + 1);
	return false;
}

/* The command behind the first of the words; *verbs: one of these must come first. */
static bool behind_text(struct texts *texts, const char *verbs, const char *words)
{
	const struct command *command = texts->command;
	size_t i = parse_operand(command, texts->first + 1, "--option");

	if (verbs && (i >= command->argc ||
		      !parse_word_in(verbs, command->argv[i], strlen(command->argv[i]))))
		return false;
	while (i < command->argc &&
	       !parse_word_in(words, command->argv[i], strlen(command->argv[i])))
		i++;
	return i < command->argc &&
	       take_joined(texts, parse_operand(command, i + 1, NULL), command->argc);
}

static bool nix_text(struct texts *texts)
{
	return behind_text(texts, "shell develop env", "-c --command");
}

static bool exec_text(struct texts *texts)
{
	return behind_text(texts, NULL, "exec");
}

static bool hyperfine_text(struct texts *texts)
{
	for (size_t i = texts->first + 1; i < texts->command->argc; i++)
		if (texts->command->argv[i][0] != '-' && strchr(texts->command->argv[i], ' ') &&
		    take_word(texts, i))
			return true;
	return false;
}

/* start-stop-daemon --exec FILE -- ARGUMENTS */
static bool daemon_text(struct texts *texts)
{
	const struct command *command = texts->command;
	const char *program = NULL;
	size_t rest = command->argc;

	for (size_t i = texts->first + 1; i < command->argc && rest == command->argc; i++) {
		if (strcmp(command->argv[i], "--") == 0)
			rest = i + 1;
		else if (parse_word_in("-x --exec -a --startas", command->argv[i],
				       strlen(command->argv[i])) &&
			 i + 1 < command->argc)
			program = command->argv[i + 1];
		else if (strncmp(command->argv[i], "--exec=", 7) == 0)
			program = command->argv[i] + 7;
	}
	if (!program)
		return false;
	return unwrap_take(texts,
			   arena_printf(texts->arena, "%s %s", program,
					unwrap_joined(texts, rest, command->argc)),
			   texts->live);
}

/* less +!COMMAND, sqlite3 FILE ".shell COMMAND": words that hold a text by how they begin. */
static bool marked_text(struct texts *texts)
{
	static const char *const marks[] = {"+!", "+:!", ".shell ", ".system "};
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc; i++)
		for (size_t j = 0; j < ELEMENTS(marks); j++)
			if (strncmp(command->argv[i], marks[j], strlen(marks[j])) == 0 &&
			    unwrap_take(texts, command->argv[i] + strlen(marks[j]),
					unwrap_is_live(command, i)))
				return true;
	return false;
}

static const struct {
	const char *names;
	bool (*text)(struct texts *texts);
} runners[] = {
	{shells, shell_text},
	{"eval", eval_text},
	{"trap", trap_text},
	{"alias", alias_text},
	{"su runuser script flock sg capsh genie tmate", command_text},
	{"watch", watch_text},
	{"parallel", parallel_text},
	{"ssh", ssh_text},
	{"env", env_text},
	{"tmux screen", terminal_text},
	{"tmux", option_text},
	{"nix", nix_text},
	{"xdotool", exec_text},
	{"hyperfine entr nodemon", hyperfine_text},
	{"start-stop-daemon", daemon_text},
	{"less more sqlite3", marked_text},
};

static bool find_text(struct texts *texts)
{
	const struct command *command = texts->command;
	const char *name =
		command->program < command->argc ? path_last(command->argv[command->program]) : "";

	if (variable_again(texts, name))
		return true;
	if (!*name)
		return false;
	if (variable_text(texts, name))
		return true;
	*texts->inner = (struct inner){.kind = PLACE_TEXT};
	for (size_t i = 0; i < ELEMENTS(runners); i++)
		if (parse_word_in(runners[i].names, name, strlen(name)) && runners[i].text(texts))
			return true;
	*texts->inner = (struct inner){.kind = PLACE_TEXT};
	return options_text(texts, name) || code_text(texts, name);
}

bool unwrap_text(struct arena *arena, struct plan *plan, size_t i, size_t which,
		 struct inner *ret_inner)
{
	const struct command *command = &plan->commands[i];
	struct texts texts = {.arena = arena,
			      .command = command,
			      .first = command->program,
			      .which = which,
			      .inner = ret_inner};

	*ret_inner = (struct inner){.kind = PLACE_TEXT};
	if (which > TEXTS_LIMIT) {
		plan_opaque(arena, plan, OPAQUE_UNREAD, "it runs too many texts", command->span);
		return false;
	}
	if (!find_text(&texts))
		return false;
	if (texts.live)
		plan_opaque(arena, plan, OPAQUE_NAME,
			    "the text that a shell is to run is known only then", command->span);
	if (ret_inner->remote)
		plan_opaque(arena, plan, OPAQUE_NAME, "part of it runs on another machine",
			    command->span);
	return true;
}
