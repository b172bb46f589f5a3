/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the programs that run other programs. */
#include "unwrap.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <string.h>

enum { WRAPPER_LIMIT = 64 };

/* Programs that run the command behind their own words. */
static const struct wrapper {
	const char *names;
	const char *verb;	/* the word that must come first; or NULL */
	const char *with_value; /* options whose value is the next word */
	const char *without;	/* options after which it runs no command */
	unsigned operands;	/* words of its own before the command */
	bool assignments;	/* NAME=VALUE may come before the command */
} wrappers[] = {
	{"env", NULL, "-u --unset -C --chdir -S --split-string", "-S --split-string", 0, true},
	{"sudo", NULL,
	 "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -T "
	 "--command-timeout -U --other-user -r --role -t --type",
	 "-l --list -v --validate -e --edit", 0, true},
	{"doas", NULL, "-u -C", NULL, 0, false},
	{"pkexec", NULL, "-u --user", NULL, 0, false},
	{"runuser", NULL, "-u --user -g --group -G --supp-group -s --shell", "-c --command", 0,
	 false},
	{"timeout", NULL, "-k --kill-after -s --signal", NULL, 1, false},
	{"nice", NULL, "-n --adjustment", NULL, 0, false},
	{"ionice", NULL, "-c --class -n --classdata", "-p --pid", 0, false},
	{"chrt", NULL, "-T -P -D", "-p --pid -m --max", 1, false},
	{"taskset", NULL, NULL, "-p --pid", 1, false},
	{"nohup setsid builtin busybox toybox dbus-run-session xvfb-run catchsegv", NULL, NULL,
	 NULL, 0, false},
	{"stdbuf", NULL, "-i --input -o --output -e --error", NULL, 0, false},
	{"time", NULL, "-f --format -o --output", NULL, 0, false},
	{"command", NULL, NULL, "-v -V", 0, false},
	{"exec", NULL, "-a", NULL, 0, false},
	{"flock", NULL, "-w --timeout -E --conflict-exit-code", "-c --command", 1, false},
	{"chroot", NULL, "--groups --userspec", NULL, 1, false},
	{"unshare nsenter", NULL, "-t --target -S --setuid -G --setgid -w --wd", NULL, 0, false},
	{"strace ltrace", NULL, "-e -o -s -p -u -E -a -I -O -S -P", NULL, 0, false},
	{"valgrind", NULL, NULL, NULL, 0, false},
	{"systemd-run", NULL, "-u --unit -p --property -E --setenv -M --machine -H --host", NULL, 0,
	 false},
	{"poetry pipenv uv pdm rye", "run", "-p --python --with --extra --group --project", NULL, 0,
	 false},
	{"bundle pnpm yarn", "exec", "-C --dir --cwd", NULL, 0, false},
	{"npx bunx", NULL, "-p --package -c --call", NULL, 0, false},
	{"xargs", NULL,
	 "-a --arg-file -d --delimiter -E -I -L --max-lines -n --max-args -P --max-procs -s "
	 "--max-chars --process-slot-var",
	 NULL, 0, false},
};

bool parse_word_in(const char *words, const char *word, size_t length)
{
	for (; words && *words; words += strspn(words, " ")) {
		size_t size = strcspn(words, " ");

		if (size == length && memcmp(words, word, length) == 0)
			return true;
		words += size;
	}
	return false;
}

/* How many words the option takes, its value included. */
static size_t option_size(const char *option, const char *with_value)
{
	if (option[1] == '-')
		return parse_word_in(with_value, option, strlen(option)) ? 2 : 1;
	for (const char *letter = option + 1; *letter; letter++) {
		const char flag[] = {'-', *letter};

		if (parse_word_in(with_value, flag, sizeof(flag)))
			return letter[1] ? 1 : 2;
	}
	return 1;
}

size_t parse_operand(const struct command *command, size_t first, const char *with_value)
{
	size_t i = first;

	while (i < command->argc && command->argv[i][0] == '-' && command->argv[i][1]) {
		if (strcmp(command->argv[i], "--") == 0) {
			i++;
			break;
		}
		i += option_size(command->argv[i], with_value);
	}
	return MIN(i, command->argc);
}

static bool is_assignment(const char *word)
{
	size_t length =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

	return length > 0 && word[length] == '=';
}

static const struct wrapper *find_wrapper(const char *word)
{
	const char *name = path_last(word);

	for (size_t i = 0; i < ELEMENTS(wrappers); i++)
		if (parse_word_in(wrappers[i].names, name, strlen(name)))
			return &wrappers[i];
	return NULL;
}

/* python -m MODULE: the module's name is the program's. */
static size_t python_module(const struct command *command, size_t first)
{
	if (strncmp(path_last(command->argv[first]), "python", 6) != 0)
		return 0;
	for (size_t i = first + 1; i + 1 < command->argc && command->argv[i][0] == '-'; i++) {
		if (strcmp(command->argv[i], "-m") == 0)
			return i + 1;
		i += parse_word_in("-W -X", command->argv[i], strlen(command->argv[i]));
	}
	return 0;
}

size_t parse_wrapped(const struct command *command, size_t first)
{
	const struct wrapper *wrapper =
		first < command->argc ? find_wrapper(command->argv[first]) : NULL;
	size_t inner;

	if (!wrapper)
		return first < command->argc ? python_module(command, first) : 0;
	inner = parse_operand(command, first + 1, wrapper->with_value);
	for (size_t i = first + 1; i < inner; i++)
		if (parse_word_in(wrapper->without, command->argv[i], strlen(command->argv[i])))
			return 0;
	if (wrapper->verb) {
		if (inner >= command->argc || strcmp(command->argv[inner], wrapper->verb) != 0)
			return 0;
		inner = parse_operand(command, inner + 1, wrapper->with_value);
	}
	if (wrapper->assignments && inner < command->argc && strcmp(command->argv[inner], "-") == 0)
		inner++; /* env - is env -i */
	while (wrapper->assignments && inner < command->argc && is_assignment(command->argv[inner]))
		inner++;
	inner += wrapper->operands;
	/* a word of its own may be followed by options again: flock FILE -c TEXT */
	if (inner < command->argc && wrapper->operands && command->argv[inner][0] == '-')
		return 0;
	return inner < command->argc ? inner : 0;
}

static char *joined(struct arena *arena, const struct command *command, size_t first, size_t end)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = first; i < end; i++) {
		if (i > first)
			buffer_add_char(&text, ' ');
		buffer_add_text(&text, command->argv[i]);
	}
	return arena_strndup(arena, buffer_text(&text), text.length);
}

/* The place of what a shell is to run: a text where *ret_text, else a file; argc or beyond where it
 * is told nothing, or to read its input. */
static size_t shell_operand(const struct command *command, size_t first, bool *ret_text)
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

/* After -c, or a here-document or here-string where it reads its standard input. A file says what
 * is no part of the request. */
static const char *shell_text(struct arena *arena _unused_, const struct command *command,
			      size_t first)
{
	bool text;
	size_t operand = shell_operand(command, first, &text);

	if (operand < command->argc)
		return text ? command->argv[operand] : NULL;
	for (size_t i = 0; !text && i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0)
			return command->redirects[i].target;
	return NULL;
}

static const char *eval_text(struct arena *arena, const struct command *command, size_t first)
{
	return joined(arena, command, parse_operand(command, first + 1, NULL), command->argc);
}

static const char *trap_text(struct arena *arena _unused_, const struct command *command,
			     size_t first)
{
	size_t i = parse_operand(command, first + 1, NULL);

	/* "-" gives a signal its own effect back */
	return i + 1 < command->argc && strcmp(command->argv[i], "-") != 0 ? command->argv[i]
									   : NULL;
}

/* The value of an option that holds a text, joined to it or in the next word. */
static const char *option_text(struct arena *arena _unused_, const struct command *command,
			       size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (strncmp(word, "--command=", strlen("--command=")) == 0)
			return word + strlen("--command=");
		if (i + 1 < command->argc &&
		    (parse_word_in("--command --session-command", word, strlen(word)) ||
		     (word[0] == '-' && word[1] != '-' && word[1] &&
		      word[strlen(word) - 1] == 'c')))
			return command->argv[i + 1];
	}
	return NULL;
}

/* What each alias stands for. */
static const char *alias_text(struct arena *arena, const struct command *command, size_t first)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = first + 1; i < command->argc; i++) {
		const char *value = strchr(command->argv[i], '=');

		if (value)
			buffer_printf(&text, "%s\n", value + 1);
	}
	return text.length ? arena_strndup(arena, buffer_text(&text), text.length) : NULL;
}

static const char *watch_text(struct arena *arena, const struct command *command, size_t first)
{
	return joined(arena, command,
		      parse_operand(command, first + 1, "-n --interval -q --equexit"),
		      command->argc);
}

static const char *parallel_text(struct arena *arena, const struct command *command, size_t first)
{
	size_t start = parse_operand(command, first + 1,
				     "-j --jobs -n -N -I -a --arg-file --delay --timeout -L"),
	       end = start;

	while (end < command->argc && strncmp(command->argv[end], ":::", 3) != 0)
		end++;
	return start < end ? joined(arena, command, start, end) : NULL;
}

static const char *ssh_text(struct arena *arena, const struct command *command, size_t first)
{
	static const char with_value[] =
		"-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w";
	size_t host = parse_operand(command, first + 1, with_value);
	size_t start = parse_operand(command, MIN(host + 1, command->argc), with_value);

	return start < command->argc ? joined(arena, command, start, command->argc) : NULL;
}

/* Commands that take shell text and run it. */
static const struct {
	const char *names;
	const char *(*text)(struct arena *arena, const struct command *command, size_t first);
	bool remote;
} runners[] = {
	{"sh bash dash zsh ksh ash mksh rbash", shell_text, false},
	{"eval", eval_text, false},
	{"trap", trap_text, false},
	{"alias", alias_text, false},
	{"su runuser script flock", option_text, false},
	{"watch", watch_text, false},
	{"parallel", parallel_text, false},
	{"ssh", ssh_text, true},
};

static bool add_wrapper(struct arena *arena, struct command *command, const char *name)
{
	const char **names;

	if (command->wrapper_count >= WRAPPER_LIMIT)
		return false;
	/* shared with other commands until now */
	names = arena_new_array(arena, const char *, command->wrapper_count + 2);
	if (command->wrapper_count)
		memcpy(names, command->wrappers, command->wrapper_count * sizeof(*names));
	names[command->wrapper_count++] = name;
	command->wrappers = names;
	return true;
}

/* `env -S TEXT` has its own way of splitting words. */
static bool splits_text(const struct command *command, size_t first)
{
	if (strcmp(path_last(command->argv[first]), "env") != 0)
		return false;
	for (size_t i = first + 1; i < command->argc && command->argv[i][0] == '-'; i++)
		if (command->argv[i][1] == '-' ? strncmp(command->argv[i], "--s", 3) == 0
					       : strchr(command->argv[i], 'S') != NULL)
			return true;
	return false;
}

void unwrap_names(struct arena *arena, struct plan *plan, struct command *command)
{
	command->program = 0;
	while (command->program < command->argc) {
		size_t next = parse_wrapped(command, command->program);

		if (splits_text(command, command->program))
			plan_opaque(plan, OPAQUE_UNREAD,
				    "env is to split a text into a command itself");
		if (next == 0)
			return;
		if (!add_wrapper(arena, command, path_last(command->argv[command->program]))) {
			plan_opaque(plan, OPAQUE_UNREAD, "it is wrapped too many times");
			return;
		}
		command->program = next;
	}
}

const char *unwrap_text(struct arena *arena, struct plan *plan, const struct command *command,
			bool *ret_remote)
{
	const char *name =
		command->program < command->argc ? path_last(command->argv[command->program]) : "";

	for (size_t i = 0; *name && i < ELEMENTS(runners); i++) {
		const char *text;

		if (!parse_word_in(runners[i].names, name, strlen(name)))
			continue;
		text = runners[i].text(arena, command, command->program);
		if (text && command->dynamic && strpbrk(text, "$`*?{~<>"))
			plan_opaque(plan, OPAQUE_NAME,
				    "the text that a shell is to run is known only then");
		if (text && runners[i].remote)
			plan_opaque(plan, OPAQUE_NAME, "part of it runs on another machine");
		*ret_remote |= runners[i].remote;
		return text;
	}
	return NULL;
}

/* A shell that is given neither a text nor a file, or is to read a substitution. */
static bool reads_commands(const struct command *command)
{
	const char *name = path_last(command->argv[command->program]);
	bool text;

	if (parse_word_in("source .", name, strlen(name)))
		return command->program + 1 < command->argc && command->dynamic &&
		       strncmp(command->argv[command->program + 1], "<(", 2) == 0;
	if (!parse_word_in(runners[0].names, name, strlen(name)) ||
	    shell_operand(command, command->program, &text) < command->argc)
		return false;
	for (size_t i = command->program + 1; i < command->argc; i++)
		if (parse_word_in("--version --help", command->argv[i], strlen(command->argv[i])))
			return false;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '<')
			return false;
	return true;
}

/* What the command prints, as far as it is known; or NULL. */
static const char *printed(struct arena *arena, const struct command *command)
{
	const char *name =
		command->program < command->argc ? path_last(command->argv[command->program]) : "";
	size_t first = command->program + 1;
	char *text;

	for (size_t i = 0; strcmp(name, "cat") == 0 && i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0)
			return command->redirects[i].target;
	if (!*name || !parse_word_in("echo printf", name, strlen(name)))
		return NULL;
	while (strcmp(name, "echo") == 0 && first < command->argc && command->argv[first][0] == '-')
		first++;
	text = joined(arena, command, first, command->argc);
	/* as printf and echo -e write it */
	for (char *at = text; (at = strstr(at, "\\n"));)
		memcpy(at, " \n", 2);
	return text;
}

const char *unwrap_input(struct arena *arena, struct plan *plan, const struct command *command,
			 const struct command *before)
{
	if (command->program >= command->argc || !reads_commands(command))
		return NULL;
	plan_opaque(plan, OPAQUE_NAME, "a shell runs what it is handed then");
	return before ? printed(arena, before) : NULL;
}

bool unwrap_words(struct arena *arena, const struct command *command, size_t *at,
		  struct command *ret_inner)
{
	size_t i = MAX(*at, command->program + 1), end;

	if (command->program >= command->argc ||
	    strcmp(path_last(command->argv[command->program]), "find") != 0)
		return false;
	while (i < command->argc && !parse_word_in("-exec -execdir -ok -okdir", command->argv[i],
						   strlen(command->argv[i])))
		i++;
	if (++i >= command->argc)
		return false;
	for (end = i; end < command->argc && strcmp(command->argv[end], ";") != 0; end++)
		if (end > i && strcmp(command->argv[end], "+") == 0 &&
		    strcmp(command->argv[end - 1], "{}") == 0)
			break;
	*at = end;
	*ret_inner = (struct command){.argc = end - i, .dynamic = true};
	ret_inner->argv = arena_new_array(arena, const char *, ret_inner->argc + 1);
	memcpy(ret_inner->argv, command->argv + i, ret_inner->argc * sizeof(*ret_inner->argv));
	return true;
}
