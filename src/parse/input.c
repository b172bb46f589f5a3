/* SPDX-License-Identifier: Apache-2.0 */
/* What interpreters are handed: here-documents, here-strings, what comes through a pipe, and files
 * that the script itself wrote before. */
#include "scope.h"
#include "unwrap.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <string.h>

enum { FAR = 256 }; /* commands back that a file is looked for in */

static bool is_one_of(const char *words, const char *word)
{
	return parse_word_in(words, word, strlen(word));
}

static bool is_input(const char *word)
{
	return is_one_of("- /dev/stdin /dev/fd/0 /proc/self/fd/0", word);
}

static const char *own_name(const struct command *command)
{
	return command->program < command->argc ? path_last(command->argv[command->program]) : "";
}

/* Where the command's input comes from by a redirection, its own or one of a group that it stands
 * in. */
static const struct redirect *given(const struct plan *plan, size_t i)
{
	const struct command *command = &plan->commands[i];
	const struct redirect *found = NULL;
	size_t end = MIN(plan->count, i + FAR);

	for (size_t j = 0; j < command->redirect_count; j++)
		if (command->redirects[j].operator[0] == '<' && command->redirects[j].fd<1)
			found = &command->redirects[j];
	for (size_t j = i + 1; !found && command->place && command->stage < 2 && j < end; j++) {
		const struct command *other = &plan->commands[j];
		const struct spot *place = command->place;

		while (other->of && place && place != other->of && place->kind <= PLACE_BACKQUOTES)
			place = place->outer;
		for (size_t k = 0; other->of && place == other->of && k < other->redirect_count;
		     k++)
			if (other->redirects[k].operator[0] == '<' && other->redirects[k].fd<1)
				found = &other->redirects[k];
	}
	return found;
}

/* ed, ex and vim -es take commands where others show a screen. */
static bool edits_lines(const struct command *command)
{
	bool lines = is_one_of("ed red ex", own_name(command));

	for (size_t i = command->program + 1; !lines && i < command->argc; i++)
		lines = is_one_of("-e -E -es -Es", command->argv[i]);
	return lines;
}

/* make -f -, ninja -f /dev/stdin: the file that says what is run is the input; or, make -f <(...),
 * what a substitution prints: then the place of that word, else 0. */
static bool is_file_input(const struct command *command, size_t *ret_substituted)
{
	static const struct {
		const char *names, *options;
	} tools[] = {
		{"make gmake bmake nmake remake", "-f --file --makefile"},
		{"ninja samu", "-f"},
		{"just", "-f --justfile"},
		{"task go-task", "-t --taskfile"},
		{"rake", "-f --rakefile"},
		{"ant", "-f -file -buildfile"},
		{"awk gawk mawk nawk sed gsed", "-f --file -E --exec"},
		{"gdb lldb", "-x -s --command --source"},
	};
	const char *name = own_name(command), *options = NULL;

	*ret_substituted = 0;
	for (size_t i = 0; i < ELEMENTS(tools); i++)
		if (is_one_of(tools[i].names, name))
			options = tools[i].options;
	for (size_t i = command->program + 1; options && i < command->argc; i++) {
		const char *word = command->argv[i], *equals = strchr(word, '=');

		if (is_one_of(options, word) && i + 1 < command->argc &&
		    is_input(command->argv[i + 1]))
			return true;
		if (is_one_of(options, word) && i + 1 < command->argc &&
		    strncmp(command->argv[i + 1], "<(", 2) == 0 && unwrap_is_live(command, i + 1)) {
			*ret_substituted = i + 1;
			return true;
		}
		if (equals && parse_word_in(options, word, (size_t)(equals - word)) &&
		    is_input(equals + 1))
			return true;
		if (word[0] == '-' && word[1] && word[1] != '-' && word[2] &&
		    parse_word_in(options, word, 2) && is_input(word + 2))
			return true;
	}
	/* what is to be run stands in the lines */
	return strcmp(name, "parallel") == 0 && !parse_wrapped(command, command->program) &&
	       parse_operand(command, command->program + 1,
			     "-j --jobs -a --arg-file -N -n -L -I -S --sshlogin --delay --timeout "
			     "--retries --results --joblog --halt --tmpdir --memfree --load") >=
		       command->argc;
}

/* The recipes of a makefile as one script; NULL where that is not all it runs, or not plain. */
static const char *recipes_of(struct arena *arena, const char *text)
{
	static const char *const others[] = {"$(",    "${",	      "!=", "define", "include",
					     "SHELL", "RECIPEPREFIX", "$<", "$^",     "$@"};
	_cleanup_buffer_ struct buffer script = {0};

	for (size_t i = 0; i < ELEMENTS(others); i++)
		if (strstr(text, others[i]))
			return NULL;
	while (*text) {
		size_t length = strcspn(text, "\n");
		const char *part = text[0] == '\t' ? text + 1 : memchr(text, ';', length);

		if (part) {
			part += strspn(part, ";@-+ \t");
			for (; part < text + length; part++) {
				part += part[0] == '$' && part[1] == '$';
				buffer_add_char(&script, *part);
			}
			buffer_add_char(&script, '\n');
		}
		text += length + (text[length] == '\n');
	}
	return arena_strndup(arena, buffer_text(&script), script.length);
}

/* sh, sh -s, python3 -: it runs what it reads. An interpreter with an operand reads data. */
static bool reads_commands(const struct command *command, bool *ret_shell)
{
	const char *name = own_name(command);
	size_t first = command->program, operand, substitution;
	bool text;

	*ret_shell = is_shell_name(name);
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_one_of("--version --help -V", command->argv[i]))
			return false;
	if (is_file_input(command, &substitution)) {
		*ret_shell = true;
		return true;
	}
	if (*ret_shell)
		return shell_operand(command, first, &text) >= command->argc && !text;
	if (strcmp(name, "ssh") == 0) {
		*ret_shell = true;
		operand = parse_operand(
			command, first + 1,
			"-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w");
		return operand + 1 == command->argc ||
		       (operand + 2 <= command->argc && is_shell_name(command->argv[operand + 1]));
	}
	if (is_one_of("su sudo doas at batch", name)) {
		*ret_shell = true;
		for (size_t i = first + 1; i < command->argc; i++)
			if (is_one_of("-c --command -l -v -k -f -e", command->argv[i]) &&
			    !(strcmp(name, "su") == 0 && strcmp(command->argv[i], "-l") == 0))
				return false;
		return true;
	}
	if (is_one_of("source .", name)) {
		*ret_shell = true;
		return first + 1 < command->argc && is_input(command->argv[first + 1]);
	}
	if (!code_language(name) || is_one_of("awk gawk mawk nawk", name))
		return false;
	if (strcmp(code_language(name), "ex") == 0)
		return edits_lines(command);
	if (strcmp(code_language(name), "sql") == 0) {
		for (size_t i = first + 1; i < command->argc; i++)
			if (is_one_of("-c --command -e --execute -f --file -l --list",
				      command->argv[i]))
				return false;
		return true;
	}
	for (size_t i = first + 1; i < command->argc && command->argv[i][0] == '-'; i++)
		if (is_one_of("-c -e -E -m -r -p --eval --print", command->argv[i]))
			return false;
	operand = parse_operand(command, first + 1, "-W -X -I -M");
	return operand >= command->argc || is_input(command->argv[operand]);
}

/* What prints into the command's input. */
static const struct command *producer(const struct plan *plan, size_t i)
{
	unsigned stage;
	const struct pipeline *pipeline = plan_input(&plan->commands[i], &stage);

	for (size_t j = i, seen = 0; pipeline && j-- > 0 && seen < FAR; seen++)
		if (plan_is_stage(&plan->commands[j], pipeline, stage) &&
		    *own_name(&plan->commands[j]))
			return &plan->commands[j];
	return NULL;
}

/* It prints its own words, though not all of them are known. */
static bool prints_words(const struct command *command)
{
	const char *name = own_name(command);

	for (size_t i = 0; strcmp(name, "cat") == 0 && i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0)
			return true;
	return is_one_of("echo printf", name);
}

static bool hand_over(struct arena *arena, struct plan *plan, size_t i, bool shell,
		      const char *text, struct inner *ret_inner)
{
	struct command *command = &plan->commands[i];

	size_t substitution;

	if (is_file_input(command, &substitution) && strcmp(own_name(command), "parallel") != 0) {
		const char *language = is_one_of("sed gsed", own_name(command))
					       ? "sed"
					       : code_language(own_name(command));

		if (language && is_one_of("awk sed", language)) {
			code_add(arena, command, language, text);
			return false;
		}
		text = is_one_of("make gmake bmake remake", own_name(command))
			       ? recipes_of(arena, text)
			       : NULL;
		if (!text) {
			command->unseen = true;
			plan_opaque(
				arena, plan, OPAQUE_NAME,
				arena_printf(
					arena,
					"%.40s runs what it reads, and what that is is not known",
					own_name(command)),
				command->span);
			return false;
		}
	}
	if (!shell) {
		code_add(arena, command, code_language(own_name(command)), text);
		return false;
	}
	ret_inner->text = text;
	ret_inner->length = strlen(text);
	ret_inner->remote = strcmp(own_name(command), "ssh") == 0;
	return true;
}

/* source <(...), bash <(...): the text that the substitution prints. */
static bool substituted(struct arena *arena, struct plan *plan, size_t i, const char *word,
			bool shell, struct inner *ret_inner)
{
	struct command *command = &plan->commands[i];
	const struct where where = {.arena = arena,
				    .scope = command->scope,
				    .order = command->order,
				    .place = command->place};
	const char *text = NULL;
	size_t length = strlen(word);

	if (length > 3)
		text = output_of_text(&where, arena_strndup(arena, word + 2, length - 3),
				      length - 3);
	if (text)
		return hand_over(arena, plan, i, shell, text, ret_inner);
	command->unseen = true;
	plan_opaque(arena, plan, OPAQUE_NAME, "it runs what a substitution prints then",
		    command->span);
	return false;
}

/* Before its own words are looked at: code that it reads is part of it. */
static bool standard_input(struct arena *arena, struct plan *plan, size_t i,
			   struct inner *ret_inner)
{
	struct command *command = &plan->commands[i];
	const struct redirect *redirect;
	const struct command *by;
	const char *text, *language;
	size_t substitution;
	bool shell;

	if (!reads_commands(command, &shell))
		return false;
	if (is_file_input(command, &substitution) && substitution)
		return substituted(arena, plan, i, command->argv[substitution], shell, ret_inner);
	redirect = given(plan, i);
	if (redirect && strncmp(redirect->operator, "<<", 2) == 0) {
		if (redirect->source.text && shell)
			plan_opaque(arena, plan, OPAQUE_NAME,
				    "the text that a shell is to run is known only then",
				    command->span);
		return hand_over(arena, plan, i, shell, redirect->target, ret_inner);
	}
	if (redirect && redirect->source.text && strncmp(redirect->target, "<(", 2) == 0)
		return substituted(arena, plan, i, redirect->target, shell, ret_inner);
	if (redirect) {
		plan_opaque(arena, plan, OPAQUE_BODY, "it runs what a file says", command->span);
		return false;
	}
	text = output_to(arena, plan, i);
	by = producer(plan, i);
	if (text)
		return hand_over(arena, plan, i, shell, text, ret_inner);
	language = code_language(own_name(command));
	if (by) {
		bool data = language && is_one_of("sql ex", language);

		command->unseen = !data && !prints_words(by);
		plan_opaque(arena, plan, data ? OPAQUE_BODY : OPAQUE_NAME,
			    arena_printf(arena, "%.40s runs what %.40s prints: code from a pipe",
					 own_name(command), own_name(by)),
			    command->span);
	} else if (is_shell_name(own_name(command)) && !command->remote) {
		/* tee >(sh): what another command prints */
		command->unseen = place_is_within(command->place, PLACE_PROCESS) ||
				  place_is_within(command->place, PLACE_COPROCESS);
		plan_opaque(arena, plan, OPAQUE_NAME, "a shell runs what it is handed then",
			    command->span);
	}
	return false;
}

/* Files. */

static const char *plain_path(const char *path)
{
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path;
}

/* The place of the file whose commands or code the command runs; argc: none. */
static size_t script_file(const struct command *command, bool *ret_shell)
{
	const char *name = own_name(command);
	size_t first = command->program, operand;
	bool text = false;

	*ret_shell = true;
	if (is_one_of("source .", name))
		return first + 1 < command->argc ? first + 1 : command->argc;
	if (is_shell_name(name)) {
		operand = shell_operand(command, first, &text);
		return text ? command->argc : operand;
	}
	if (code_language(name) && !is_one_of("sql ex", code_language(name))) {
		*ret_shell = false;
		operand = parse_operand(command, first + 1, "-W -X -I -M -r -e -c -E -f");
		return operand < command->argc && is_input(command->argv[operand]) ? command->argc
										   : operand;
	}
	return *name && strchr(command->argv[first], '/') ? first : command->argc;
}

/* True if the command writes the file; *ret_text is what, or NULL where that is not known. */
static bool writes_file(struct arena *arena, const struct plan *plan, size_t i, const char *file,
			const char **ret_text)
{
	const struct command *command = &plan->commands[i];
	bool writes = false;

	for (size_t j = 0; j < command->redirect_count; j++)
		writes |= parse_word_in("> >| &>", command->redirects[j].operator,
					strlen(command->redirects[j].operator)) &&
			  command->redirects[j].fd != 2 &&
			  strcmp(plain_path(command->redirects[j].target), file) == 0;
	for (size_t j = command->program + 1;
	     strcmp(own_name(command), "tee") == 0 && j < command->argc; j++)
		writes |= strcmp(plain_path(command->argv[j]), file) == 0;
	if (writes)
		*ret_text = output_of_command(arena, command, output_to(arena, plan, i));
	return writes;
}

/* cat > Makefile <<END; make: the recipes that are run are in the text. */
static bool written_makefile(struct arena *arena, struct plan *plan, size_t i,
			     struct inner *ret_inner)
{
	static const char *const names[] = {"GNUmakefile", "makefile", "Makefile"};
	const struct command *command = &plan->commands[i];
	const char *file = NULL, *text = NULL;

	if (!is_one_of("make gmake bmake remake", own_name(command)))
		return false;
	for (size_t j = command->program + 1; j + 1 < command->argc; j++)
		if (is_one_of("-f --file --makefile", command->argv[j]))
			file = plain_path(command->argv[j + 1]);
	for (size_t j = i, seen = 0; !text && j-- > 0 && seen < FAR; seen++) {
		if (plan->commands[j].redirect_count + plan->commands[j].argc < 2)
			continue;
		for (size_t k = 0; !text && k < (file ? 1 : ELEMENTS(names)); k++)
			(void)writes_file(arena, plan, j, file ? file : names[k], &text);
	}
	text = text ? recipes_of(arena, text) : NULL;
	if (!text)
		return false;
	ret_inner->kind = PLACE_FILE;
	ret_inner->name = file ? file : "Makefile";
	ret_inner->text = text;
	ret_inner->length = strlen(text);
	return true;
}

static bool written_file(struct arena *arena, struct plan *plan, size_t i, struct inner *ret_inner)
{
	struct command *command = &plan->commands[i];
	const char *file, *text = NULL;
	bool shell, found = false;
	size_t operand = script_file(command, &shell);

	if (operand >= command->argc)
		return false;
	file = plain_path(command->argv[operand]);
	if (strncmp(file, "<(", 2) == 0 && unwrap_is_live(command, operand))
		return substituted(arena, plan, i, file, shell, ret_inner);
	for (size_t j = i, seen = 0; !found && j-- > 0 && seen < FAR; seen++) {
		found = plan->commands[j].redirect_count + plan->commands[j].argc > 1 &&
			writes_file(arena, plan, j, file, &text);
		/* as through a pipe: base64 -d x > y; sh y */
		command->unseen |= found && !text &&
				   is_one_of("base64 base32 basenc base58 xxd uudecode openssl",
					     own_name(&plan->commands[j]));
	}
	if (!found &&
	    (is_one_of("source .", own_name(command)) || is_shell_name(own_name(command))))
		plan_opaque(arena, plan, OPAQUE_BODY, "it runs what a file says", command->span);
	if (found && !text)
		plan_opaque(arena, plan, OPAQUE_NAME,
			    "it runs a file that it has written, and what that says is not known",
			    command->span);
	if (!text)
		return false;
	ret_inner->kind = PLACE_FILE;
	ret_inner->name = file;
	ret_inner->shares = is_one_of("source .", own_name(command));
	if (!shell || strncmp(text, "#!", 2) != 0)
		return hand_over(arena, plan, i, shell, text, ret_inner);
	/* a program with an interpreter of its own */
	shell = strcspn(text, "\n") > 4 && strstr(text, "sh") &&
		strstr(text, "sh") < text + strcspn(text, "\n");
	if (shell || is_shell_name(own_name(command)) || ret_inner->shares)
		return hand_over(arena, plan, i, true, text, ret_inner);
	code_add(arena, command, "script", text);
	return false;
}

/* make, npm run: what they run is written down elsewhere. */
static void name_body(struct arena *arena, struct plan *plan, size_t i)
{
	static const struct {
		const char *names, *verbs;
		const char *why;
	} bodies[] = {
		{"make gmake", NULL, "it runs what the makefile says"},
		{"just", NULL, "it runs what the justfile says"},
		{"npm pnpm yarn bun", "run run-script test start exec",
		 "it runs what package.json says"},
		{"rake", NULL, "it runs what the Rakefile says"},
		{"task", NULL, "it runs what the Taskfile says"},
		{"ant gradle gradlew mvn mvnw", NULL, "it runs what the build file says"},
		{"tox nox", NULL, "it runs what the project's settings say"},
	};
	const struct command *command = &plan->commands[i];
	const char *name = own_name(command);

	for (size_t j = 0; j < ELEMENTS(bodies); j++) {
		size_t verb = command->program + 1;

		if (!is_one_of(bodies[j].names, name))
			continue;
		if (!bodies[j].verbs ||
		    (verb < command->argc && is_one_of(bodies[j].verbs, command->argv[verb])))
			plan_opaque(arena, plan, OPAQUE_BODY, bodies[j].why, command->span);
	}
}

bool input_text(struct arena *arena, struct plan *plan, size_t i, struct inner *ret_inner)
{
	if (plan->commands[i].program >= plan->commands[i].argc)
		return false;
	name_body(arena, plan, i);
	return standard_input(arena, plan, i, ret_inner) ||
	       written_makefile(arena, plan, i, ret_inner) ||
	       written_file(arena, plan, i, ret_inner);
}
