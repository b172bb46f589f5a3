/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a request: what it says outright, and what the shells, wrappers and evals in it go on
 * to run. */
#include "plan.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <string.h>

enum {
	COMMAND_LIMIT = 10000,
	TEXT_LIMIT = 4 * 1024 * 1024, /* of all the texts inside texts together */
};

/* Programs that run the command behind their own words. */
static const struct wrapper {
	const char *name;
	const char *with_value; /* options whose value is the next word */
	const char *without;	/* options after which it runs no command */
	unsigned operands;	/* words of its own before the command */
	bool assignments;	/* NAME=VALUE may come before the command */
} wrappers[] = {
	{"env", "-u --unset -C --chdir -S --split-string", "-S --split-string", 0, true},
	{"sudo",
	 "-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -T "
	 "--command-timeout -U --other-user -r --role -t --type",
	 "-l --list -v --validate -e --edit", 0, true},
	{"doas", "-u -C", NULL, 0, false},
	{"pkexec", "-u --user", NULL, 0, false},
	{"timeout", "-k --kill-after -s --signal", NULL, 1, false},
	{"nice", "-n --adjustment", NULL, 0, false},
	{"ionice", "-c --class -n --classdata", "-p --pid", 0, false},
	{"nohup", NULL, NULL, 0, false},
	{"setsid", NULL, NULL, 0, false},
	{"stdbuf", "-i --input -o --output -e --error", NULL, 0, false},
	{"time", "-f --format -o --output", NULL, 0, false},
	{"command", NULL, "-v -V", 0, false},
	{"builtin", NULL, NULL, 0, false},
	{"exec", "-a", NULL, 0, false},
	{"busybox", NULL, NULL, 0, false},
	{"xargs",
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
	for (size_t i = 0; i < ELEMENTS(wrappers); i++)
		if (strcmp(wrappers[i].name, path_last(word)) == 0)
			return &wrappers[i];
	return NULL;
}

size_t parse_wrapped(const struct command *command, size_t first)
{
	const struct wrapper *wrapper =
		first < command->argc ? find_wrapper(command->argv[first]) : NULL;
	size_t inner;

	if (!wrapper)
		return 0;
	inner = parse_operand(command, first + 1, wrapper->with_value);
	for (size_t i = first + 1; i < inner; i++)
		if (parse_word_in(wrapper->without, command->argv[i], strlen(command->argv[i])))
			return 0;
	while (wrapper->assignments && inner < command->argc && is_assignment(command->argv[inner]))
		inner++;
	inner += wrapper->operands;
	return inner < command->argc ? inner : 0;
}

/* The text that a shell is given: after -c, or as here-document or here-string where it reads its
 * standard input. */
static const char *shell_text(struct arena *arena _unused_, const struct command *command,
			      size_t first)
{
	bool text = false, input = false;
	size_t i;

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
		text |= word[0] == '-' && strchr(word, 'c');
		input |= word[0] == '-' && strchr(word, 's');
		i += word[length - 1] == 'o' || word[length - 1] == 'O';
	}
	if (text)
		return i < command->argc ? command->argv[i] : NULL;
	if (i < command->argc && !input && strcmp(command->argv[i], "-") != 0)
		return NULL; /* a file: what it says is not part of the request */
	for (i = 0; i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0)
			return command->redirects[i].target;
	return NULL;
}

static const char *eval_text(struct arena *arena, const struct command *command, size_t first)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = parse_operand(command, first + 1, NULL); i < command->argc; i++) {
		buffer_add_text(&text, command->argv[i]);
		buffer_add_char(&text, ' ');
	}
	return arena_strndup(arena, buffer_text(&text), text.length);
}

static const char *trap_text(struct arena *arena _unused_, const struct command *command,
			     size_t first)
{
	size_t i = parse_operand(command, first + 1, NULL);

	/* "-" gives a signal its own effect back */
	return i + 1 < command->argc && strcmp(command->argv[i], "-") != 0 ? command->argv[i]
									   : NULL;
}

static const char *su_text(struct arena *arena _unused_, const struct command *command,
			   size_t first)
{
	for (size_t i = first + 1; i + 1 < command->argc; i++)
		if (parse_word_in("-c --command --session-command", command->argv[i],
				  strlen(command->argv[i])))
			return command->argv[i + 1];
	return NULL;
}

/* Commands that take shell text and run it. */
static const struct {
	const char *names;
	const char *(*text)(struct arena *arena, const struct command *command, size_t first);
} runners[] = {
	{"sh bash dash zsh ksh ash mksh rbash", shell_text},
	{"eval", eval_text},
	{"trap", trap_text},
	{"su", su_text},
};

static void make_opaque(struct plan *plan, const char *why)
{
	if (!plan->opaque)
		plan->opaque_why = why;
	plan->opaque = true;
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

static const char *inner_text(struct arena *arena, struct plan *plan, const struct command *command)
{
	const char *name;
	size_t first = 0;

	if (command->argc == 0)
		return NULL;
	for (size_t next = 0;; first = next) {
		if (splits_text(command, first))
			make_opaque(plan, "env is to split a text into a command itself");
		next = parse_wrapped(command, first);
		if (next == 0)
			break;
	}
	name = path_last(command->argv[first]);
	for (size_t i = 0; i < ELEMENTS(runners); i++) {
		const char *text;

		if (!parse_word_in(runners[i].names, name, strlen(name)))
			continue;
		text = runners[i].text(arena, command, first);
		if (text && command->dynamic)
			make_opaque(plan, "the text that a shell is to run is known only then");
		return text;
	}
	return NULL;
}

static void append(struct arena *arena, struct plan *plan, size_t *room, const struct plan *inner)
{
	size_t count = MIN(inner->count, COMMAND_LIMIT - plan->count);

	if (count < inner->count)
		make_opaque(plan, "it holds too many commands");
	if (inner->opaque)
		make_opaque(plan, inner->opaque_why);
	if (plan->count + count > *room) {
		struct command *commands;

		*room = (plan->count + count) * 2;
		commands = arena_new_array(arena, struct command, *room);
		memcpy(commands, plan->commands, plan->count * sizeof(*commands));
		plan->commands = commands;
	}
	if (count)
		memcpy(plan->commands + plan->count, inner->commands,
		       count * sizeof(*plan->commands));
	plan->count += count;
}

/* What is appended is looked into in its turn. */
static void follow_texts(struct arena *arena, struct plan *plan)
{
	size_t room = plan->count, total = 0;

	for (size_t i = 0; i < plan->count; i++) {
		const char *text = inner_text(arena, plan, &plan->commands[i]);
		struct plan inner;

		if (!text)
			continue;
		total += strlen(text);
		if (total > TEXT_LIMIT) {
			make_opaque(plan, "the texts in it that run other texts are too long");
			return;
		}
		parse_shell(arena, text, strlen(text), &inner);
		append(arena, plan, &room, &inner);
	}
}

void parse_request(struct arena *arena, const struct request *request, struct plan *ret_plan)
{
	struct plan plan = {0};

	if (request->mode == MODE_SHELL) {
		const char *script = request->script ? request->script : "";

		parse_shell(arena, script, strlen(script), &plan);
	} else if (request->argv.count) {
		const struct list *argv = &request->argv;

		plan.commands = arena_new_array(arena, struct command, 1);
		plan.commands->argv = arena_new_array(arena, const char *, argv->count + 1);
		for (size_t i = 0; i < argv->count; i++)
			plan.commands->argv[i] = arena_strdup(arena, argv->items[i]);
		plan.commands->argc = argv->count;
		plan.count = 1;
	}
	follow_texts(arena, &plan);
	*ret_plan = plan;
}
