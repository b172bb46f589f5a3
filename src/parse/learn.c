/* SPDX-License-Identifier: Apache-2.0 */
/* What commands do to variables, functions and aliases. */
#include "learn.h"
#include "unwrap.h"
#include "../base/buffer.h"

#include <string.h>

enum { NAME_LIMIT = 256 };

/* The shell changes these by itself, or sets them from outside. */
static const char special[] =
	"_ RANDOM SRANDOM SECONDS LINENO BASHPID BASH_COMMAND BASH_SUBSHELL EPOCHSECONDS "
	"EPOCHREALTIME "
	"HISTCMD OPTARG OPTIND PIPESTATUS FUNCNAME GROUPS DIRSTACK UID EUID PPID PWD OLDPWD REPLY "
	"BASH_SOURCE BASH_LINENO BASH_ARGV BASH_ARGC BASH_VERSION BASHOPTS SHELLOPTS COPROC "
	"MAPFILE BASH_REMATCH BASH_ALIASES BASH_CMDS BASH_ARGV0";

bool scope_is_special(const char *name, size_t length)
{
	return parse_word_in(special, name, length);
}

static bool is_name(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!(text[i] == '_' || (text[i] >= 'a' && text[i] <= 'z') ||
		      (text[i] >= 'A' && text[i] <= 'Z') ||
		      (i && text[i] >= '0' && text[i] <= '9')))
			return false;
	return length > 0;
}

static void *add(struct arena *arena, void *items, size_t *count, size_t *room, size_t size)
{
	if (*count >= *room) {
		void *bigger;

		*room = MAX(*room * 2, (size_t)4);
		bigger = arena_alloc(arena, *room * size);
		if (*count)
			memcpy(bigger, items, *count * size);
		items = bigger;
	}
	++*count;
	return items;
}

static struct write *add_write(struct arena *arena, struct scope *scope)
{
	if (scope->write_count >= NAME_LIMIT) {
		scope->unsure = true;
		return NULL;
	}
	scope->writes = add(arena, scope->writes, &scope->write_count, &scope->write_room,
			    sizeof(struct write));
	scope->writes[scope->write_count - 1] = (struct write){0};
	return &scope->writes[scope->write_count - 1];
}

void scope_set(struct arena *arena, struct scope *scope, const char *name, const char **items,
	       size_t count, bool list)
{
	struct write *write = add_write(arena, scope);

	if (write)
		*write = (struct write){.name = name,
					.items = items,
					.count = count,
					.list = list,
					.unknown = !items,
					.resolved = true};
}

static struct write *learn(struct arena *arena, struct scope *scope, const struct command *command,
			   size_t order, const char *name, size_t length)
{
	struct write *write = add_write(arena, scope);

	if (!write)
		return NULL;
	write->name = arena_strndup(arena, name, length);
	write->order = order;
	write->place = command->place;
	write->depends = command->conditional || command->background ||
			 (command->pipeline && command->pipeline->stages > 1);
	write->unknown = scope_is_special(name, length);
	return write;
}

struct write *learn_doubt(const struct learning *learning, const char *name, size_t length)
{
	struct write *write = learn(learning->arena, learning->scope, learning->command,
				    learning->order, name, length);

	if (write)
		write->unknown = true;
	return write;
}

/* NAME=VALUE, NAME=(...) and what else may stand before the sign; source is of the whole. */
static struct write *learn_assignment(struct arena *arena, struct scope *scope,
				      const struct command *command, size_t order, const char *text,
				      struct snippet source)
{
	size_t length = strcspn(text, "=[+");
	struct write *write;
	const char *equals;

	if (!is_name(text, length) || !text[length])
		return NULL;
	write = learn(arena, scope, command, order, text, length);
	if (!write)
		return NULL;
	if (text[length] != '=') {
		write->unknown = true; /* one element, or more of it */
		return write;
	}
	if (!source.text) {
		write->items = arena_new_array(arena, const char *, 1);
		write->items[0] = text + length + 1;
		write->count = 1;
		write->resolved = true;
		return write;
	}
	equals = memchr(source.text, '=', source.length);
	if (!equals) {
		write->unknown = true;
		return write;
	}
	equals++;
	write->source = (struct snippet){equals, source.length - (size_t)(equals - source.text)};
	write->list = write->source.length > 1 && equals[0] == '(';
	return write;
}

static struct snippet source_of(const struct command *command, size_t i)
{
	return command->sources ? command->sources[i] : (struct snippet){0};
}

/* declare x=1. Options that change what is assigned later make all unsure, others but a few the
 * value; what is read-only keeps its value whatever else is written. */
static void learn_declaration(struct arena *arena, struct scope *scope,
			      const struct command *command, size_t order, size_t first)
{
	const struct learning learning = {arena, scope, command, order};
	bool readonly = strcmp(command->argv[first], "readonly") == 0;
	bool unknown = strcmp(command->argv[first], "local") == 0 &&
		       !place_is_within(command->place, PLACE_FUNCTION);

	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		struct snippet source = source_of(command, i);
		size_t length = strcspn(word, "=[+");
		struct write *write = NULL;

		if (word[0] == '-' || word[0] == '+') {
			scope->unsure |= strpbrk(word, "iulcn") != NULL;
			readonly |= strchr(word, 'r') != NULL;
			unknown |= word[1 + strspn(word + 1, "xgrat-")] != '\0';
		} else if (word[length]) {
			write = learn_assignment(arena, scope, command, order, word, source);
		} else if (readonly) {
			write = learn_doubt(&learning, word, length);
		}
		/* "$name=1" */
		scope->unsure |= source.text && (!is_name(word, length) || word[length] != '=');
		if (write) {
			write->any_time |= readonly;
			write->unknown |= unknown;
		}
	}
}

/* read x y, read -ax, unset x: what is written there is not known. */
static void learn_unknown(struct arena *arena, struct scope *scope, const struct command *command,
			  size_t order, size_t first)
{
	const struct learning learning = {arena, scope, command, order};

	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		bool option = word[0] == '-';
		bool value = i > first + 1 && strlen(command->argv[i - 1]) == 2 &&
			     parse_word_in("-p -t -n -N -d -i -u", command->argv[i - 1], 2);

		/* mapfile -C TEXT runs it */
		scope->unsure |=
			(source_of(command, i).text && !value) || strncmp(word, "-C", 2) == 0;
		for (word += option; *word; word++) {
			size_t length = strcspn(word, "=[+-*/%<>&|^ ");

			if (is_name(word, length))
				learn_doubt(&learning, word, length);
			if (!option)
				break;
		}
	}
}

/* printf writes to a variable only if it is told to. */
static void learn_printf(struct arena *arena, struct scope *scope, const struct command *command,
			 size_t order, size_t first)
{
	const struct learning learning = {arena, scope, command, order};
	size_t at = first + 1;
	const char *name;

	if (at < command->argc && source_of(command, at).text && command->argv[at][0] == '$')
		scope->unsure = true; /* it may be -v */
	if (at >= command->argc || strncmp(command->argv[at], "-v", 2) != 0)
		return;
	name = command->argv[at] + 2;
	if (!*name && at + 1 < command->argc)
		name = command->argv[++at];
	if (source_of(command, at).text)
		scope->unsure = true;
	else
		learn_doubt(&learning, name, strcspn(name, "["));
}

/* eval TEXT, trap TEXT SIGNAL: run in this shell. */
static void learn_text(struct arena *arena, struct scope *scope, const struct command *command,
		       size_t order, size_t first)
{
	const struct learning learning = {arena, scope, command, order};
	bool once = strcmp(command->argv[first], "eval") == 0;
	_cleanup_buffer_ struct buffer text = {0};
	size_t i = once ? unwrap_eval(command, first) : first + 1;

	i += i < command->argc && strcmp(command->argv[i], "--") == 0;
	for (; i < command->argc; i++) {
		scope->unsure |= source_of(command, i).text != NULL;
		if (!once && text.length)
			continue;
		if (text.length)
			buffer_add_char(&text, ' ');
		buffer_add_text(&text, command->argv[i]);
	}
	doubt_text(&learning, arena_strndup(arena, buffer_text(&text), text.length), !once);
}

/* Patterns match otherwise from then on, and echo prints something else. */
static void learn_option(struct arena *arena _unused_, struct scope *scope,
			 const struct command *command, size_t order _unused_, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		scope->unsure |= source_of(command, i).text ||
				 strcmp(command->argv[i], "nocasematch") == 0 ||
				 strcmp(command->argv[i], "xpg_echo") == 0;
}

/* set -- a b */
static void learn_arguments(struct arena *arena, struct scope *scope, const struct command *command,
			    size_t order, size_t first)
{
	struct write *write;
	size_t i = first + 1;
	bool live = false;

	while (i < command->argc && strcmp(command->argv[i], "--") != 0 &&
	       (command->argv[i][0] == '-' || command->argv[i][0] == '+')) {
		live |= source_of(command, i).text != NULL;
		i += 1 + (strchr(command->argv[i], 'o') != NULL);
	}
	if (i >= command->argc && !live)
		return;
	i += i < command->argc && strcmp(command->argv[i], "--") == 0;
	write = learn(arena, scope, command, order, "@", 1);
	if (!write)
		return;
	write->list = write->resolved = true;
	write->unknown = live;
	write->count = command->argc - MIN(i, command->argc);
	write->items = arena_new_array(arena, const char *, write->count + 1);
	for (size_t j = 0; j < write->count; j++) {
		write->items[j] = command->argv[i + j];
		write->unknown |= source_of(command, i + j).text != NULL;
	}
}

static void learn_shift(struct arena *arena, struct scope *scope, const struct command *command,
			size_t order, size_t first)
{
	struct where where = {arena, scope, order, command->place, 0, 0};
	const char *word = first + 1 < command->argc ? command->argv[first + 1] : "1";
	size_t places = strtoul(word, NULL, 10);
	struct value value;
	bool known = scope_value(&where, "@", &value) && value.certain && places <= value.count &&
		     word[strspn(word, "0123456789")] == '\0' &&
		     !place_is_within(command->place, PLACE_LOOP);
	struct write *write = learn(arena, scope, command, order, "@", 1);

	if (!write)
		return;
	write->list = write->resolved = true;
	write->unknown = !known;
	if (known) {
		write->items = value.items + places;
		write->count = value.count - places;
	}
}

static void learn_alias(struct arena *arena, struct scope *scope, const struct command *command,
			size_t order, size_t first)
{
	const struct learning learning = {arena, scope, command, order};

	for (size_t i = first + 1; i < command->argc && scope->alias_count < NAME_LIMIT; i++) {
		const char *equals = strchr(command->argv[i], '=');

		if (!equals || equals == command->argv[i])
			continue;
		scope->aliases = add(arena, scope->aliases, &scope->alias_count, &scope->alias_room,
				     sizeof(struct alias));
		scope->aliases[scope->alias_count - 1] = (struct alias){
			arena_strndup(arena, command->argv[i], (size_t)(equals - command->argv[i])),
			equals + 1, order};
		doubt_text(&learning, equals + 1, true);
	}
}

/* hash -p /bin/rm ls: ls is rm from now on. */
static void learn_hash(struct arena *arena, struct scope *scope, const struct command *command,
		       size_t order, size_t first)
{
	if (first + 3 >= command->argc || strcmp(command->argv[first + 1], "-p") != 0 ||
	    scope->alias_count >= NAME_LIMIT)
		return;
	scope->aliases = add(arena, scope->aliases, &scope->alias_count, &scope->alias_room,
			     sizeof(struct alias));
	scope->aliases[scope->alias_count - 1] =
		(struct alias){command->argv[first + 3], command->argv[first + 2], order};
}

/* for x in ...: what x is behind the loop is not known, nor whether the loop ran. */
static void learn_loop(struct arena *arena, struct scope *scope, const struct command *command,
		       size_t order, const struct spot *loop)
{
	struct write *write;

	for (size_t i = scope->write_count; i-- > 0;)
		if (scope->writes[i].place == loop && scope->writes[i].loop &&
		    strcmp(scope->writes[i].name, loop->name) == 0)
			return;
	write = learn(arena, scope, command, order, loop->name, strlen(loop->name));
	if (!write)
		return;
	write->unknown = write->loop = true;
	write->place = loop;
}

static void learn_body(struct arena *arena, struct scope *scope, const struct spot *body)
{
	for (size_t i = scope->function_count; i-- > 0;)
		if (scope->functions[i].body == body)
			return;
	if (scope->function_count >= NAME_LIMIT)
		return;
	scope->functions = add(arena, scope->functions, &scope->function_count,
			       &scope->function_room, sizeof(struct function));
	scope->functions[scope->function_count - 1] =
		(struct function){body->name, (struct spot *)body};
}

/* What the command stands in tells of functions and loops. */
static void learn_places(struct arena *arena, struct scope *scope, const struct command *command,
			 size_t order)
{
	const struct learning learning = {arena, scope, command, order};

	for (const struct spot *place = command->place; place; place = place->outer)
		if (place->kind == PLACE_FUNCTION)
			learn_body(arena, scope, place);
		else if (place->kind == PLACE_COPROCESS)
			learn_doubt(&learning, place->name, strlen(place->name));
		else if (place->kind == PLACE_LOOP && place->name)
			learn_loop(arena, scope, command, order, place);
}

/* builtin, command -p and the like before the name */
static size_t skip_command(const struct command *command)
{
	size_t first = 0;

	while (first + 1 < command->argc && (strcmp(command->argv[first], "builtin") == 0 ||
					     strcmp(command->argv[first], "command") == 0))
		do
			first++;
		while (first + 1 < command->argc && command->argv[first][0] == '-');
	return first;
}

bool scope_is_unnamed(const struct command *command)
{
	size_t first = skip_command(command);

	return first < command->argc && source_of(command, first).text;
}

void scope_learn(struct arena *arena, struct scope *scope, const struct command *command,
		 size_t order)
{
	static const struct {
		const char *names;
		void (*learn)(struct arena *arena, struct scope *scope,
			      const struct command *command, size_t order, size_t first);
	} builtins[] = {
		{"declare typeset local export readonly", learn_declaration},
		{"read mapfile readarray getopts unset let wait", learn_unknown},
		{"printf", learn_printf},
		{"set", learn_arguments},
		{"shift", learn_shift},
		{"alias", learn_alias},
		{"hash", learn_hash},
		{"eval trap", learn_text},
		{"shopt", learn_option},
	};
	const struct learning learning = {arena, scope, command, order};
	size_t first = skip_command(command);

	learn_places(arena, scope, command, order);
	doubt_expansions(&learning);
	for (size_t i = 0; i < command->assignment_count; i++) {
		struct write *write = learn_assignment(
			arena, scope, command, order, command->assignments[i],
			command->assignment_sources ? command->assignment_sources[i]
						    : (struct snippet){0});

		/* a function sees it, and behind a special builtin it stays in some shells */
		if (write)
			write->depends |= command->argc > 0;
	}
	if (first >= command->argc)
		return;
	if (parse_word_in("source . unalias enable", command->argv[first],
			  strlen(command->argv[first])))
		scope->unsure = true;
	for (size_t i = 0; i < ELEMENTS(builtins); i++)
		if (parse_word_in(builtins[i].names, command->argv[first],
				  strlen(command->argv[first])))
			builtins[i].learn(arena, scope, command, order, first);
}
