/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print, where that is plain to see: words, here-documents, and the decoders that
 * words are hidden with. */
#include "scope.h"
#include "lexer.h"
#include "../base/path.h"

#include <string.h>

/* FAR: what feeds a command stands shortly before it. */
enum { OUTPUT_LIMIT = 256 * 1024, STAGE_LIMIT = 8, FAR = 64 };

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* An escape of echo -e and printf, behind its backslash; where it ends. */
static const char *add_escape(struct buffer *text, const char *at)
{
	static const char letters[] = "abefnrtv\\'\"", values[] = "\a\b\033\f\n\r\t\v\\'\"";
	const char *letter = *at ? strchr(letters, *at) : NULL;
	int value = 0, most = 3, base = 8;

	if (letter) {
		buffer_add_char(text, values[letter - letters]);
		return at + 1;
	}
	if (*at == 'x' && digit(at[1]) >= 0) {
		at++;
		most = 2;
		base = 16;
	} else if (!(*at >= '0' && *at <= '7')) {
		buffer_add_char(text, '\\');
		return at;
	}
	most += *at == '0' && base == 8; /* \0101 and \101 */
	for (; most > 0 && digit(*at) >= 0 && digit(*at) < base; most--)
		value = value * base + digit(*at++);
	buffer_add_char(text, (char)value);
	return at;
}

static void add_escaped(struct buffer *text, const char *at)
{
	while (*at)
		if (*at == '\\')
			at = add_escape(text, at + 1);
		else
			buffer_add_char(text, *at++);
}

static bool print_echo(const struct command *command, size_t first, struct buffer *text)
{
	bool escapes = false, newline = true;

	for (; first < command->argc && command->argv[first][0] == '-' && command->argv[first][1] &&
	       strspn(command->argv[first] + 1, "neE") == strlen(command->argv[first] + 1);
	     first++) {
		newline &= !strchr(command->argv[first], 'n');
		escapes |= strchr(command->argv[first], 'e') != NULL;
	}
	for (size_t i = first; i < command->argc; i++) {
		if (i > first)
			buffer_add_char(text, ' ');
		if (escapes)
			add_escaped(text, command->argv[i]);
		else
			buffer_add_text(text, command->argv[i]);
	}
	if (newline)
		buffer_add_char(text, '\n');
	return true;
}

/* The format once; false where something in it is not known here. */
static bool print_once(const char *format, const char **arguments, size_t count, size_t *used,
		       struct buffer *text)
{
	while (*format) {
		const char *argument = "";

		if (*format == '\\') {
			format = add_escape(text, format + 1);
			continue;
		}
		if (*format != '%') {
			buffer_add_char(text, *format++);
			continue;
		}
		if (*++format == '%') {
			buffer_add_char(text, *format++);
			continue;
		}
		if (*used < count && *format && strchr("sbdic", *format))
			argument = arguments[(*used)++];
		if ((*format == 'd' || *format == 'i') &&
		    (argument[0] == '0' || argument[strspn(argument, "0123456789")]))
			return false;
		if (*format == 's' || *format == 'd' || *format == 'i')
			buffer_add_text(text, argument);
		else if (*format == 'b')
			add_escaped(text, argument);
		else if (*format == 'c')
			buffer_add(text, argument, argument[0] != '\0');
		else
			return false;
		format++;
	}
	return true;
}

static bool print_format(const struct command *command, size_t first, struct buffer *text)
{
	size_t used = 0, before;

	first += first < command->argc && strcmp(command->argv[first], "--") == 0;
	if (first >= command->argc || command->argv[first][0] == '-')
		return false;
	do {
		before = used;
		if (!print_once(command->argv[first], command->argv + first + 1,
				command->argc - first - 1, &used, text))
			return false;
	} while (used > before && used < command->argc - first - 1 && text->length < OUTPUT_LIMIT);
	return true;
}

/* Decoders. */

static bool decode_base64(const char *input, struct buffer *text)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned bits = 0, held = 0;

	for (; *input && *input != '='; input++) {
		const char *letter = strchr(alphabet, *input);

		if (*input == '\n' || *input == ' ')
			continue;
		if (!letter)
			return false;
		held = held << 6 | (unsigned)(letter - alphabet);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			buffer_add_char(text, (char)(held >> bits & 0xff));
		}
	}
	return true;
}

static bool decode_hex(const char *input, struct buffer *text)
{
	for (; *input; input++) {
		if (*input == '\n' || *input == ' ')
			continue;
		if (digit(input[0]) < 0 || digit(input[1]) < 0)
			return false;
		buffer_add_char(text, (char)(digit(input[0]) * 16 + digit(input[1])));
		input++;
	}
	return true;
}

static bool reverse(const char *input, struct buffer *text)
{
	while (*input) {
		size_t length = strcspn(input, "\n");

		for (size_t i = length; i-- > 0;)
			buffer_add_char(text, input[i]);
		input += length;
		if (*input)
			buffer_add_char(text, *input++);
	}
	return true;
}

/* a-z as all of its letters. */
static bool write_out(const char *set, struct buffer *ret_set)
{
	for (; *set; set++) {
		if (*set == '[' || *set == '\\')
			return false;
		if (set[1] == '-' && set[2] && set[2] >= set[0]) {
			for (int c = (unsigned char)set[0]; c <= (unsigned char)set[2]; c++)
				buffer_add_char(ret_set, (char)c);
			set += 2;
		} else {
			buffer_add_char(ret_set, *set);
		}
	}
	return true;
}

static bool translate(const struct command *command, size_t first, const char *input,
		      struct buffer *text)
{
	_cleanup_buffer_ struct buffer from = {0}, to = {0};
	bool deletes = first < command->argc && strcmp(command->argv[first], "-d") == 0;

	first += deletes;
	if (first + (deletes ? 1 : 2) != command->argc || command->argv[first][0] == '-' ||
	    !write_out(command->argv[first], &from) ||
	    (!deletes && !write_out(command->argv[first + 1], &to)) || (!deletes && !to.length))
		return false;
	for (; *input; input++) {
		const char *found = from.length ? memrchr(from.data, *input, from.length) : NULL;
		size_t which = found ? (size_t)(found - from.data) : 0;

		if (!found)
			buffer_add_char(text, *input);
		else if (!deletes)
			buffer_add_char(text, to.data[MIN(which, to.length - 1)]);
	}
	return true;
}

/* The here-document or here-string that the command reads; NULL: another file, or not known. */
static const char *own_input(struct arena *arena, const struct command *command, const char *input)
{
	for (size_t i = 0; i < command->redirect_count; i++) {
		const struct redirect *redirect = &command->redirects[i];

		if (redirect->operator[0] != '<')
			continue;
		if (strncmp(redirect->operator, "<<", 2) != 0 || redirect->source.text)
			return NULL;
		input = redirect->operator[2] == '<' ? arena_printf(arena, "%s\n", redirect->target)
						     : redirect->target;
	}
	return input;
}

/* Words that are not known. */
static bool is_hidden(const struct command *command)
{
	for (size_t i = 0; command->sources && i < command->argc; i++)
		if (command->sources[i].text)
			return true;
	return false;
}

/* The output goes into a file, not to whatever comes next. */
static bool is_written(const struct command *command)
{
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strchr(command->redirects[i].operator, '>') && command->redirects[i].fd != 2)
			return true;
	return false;
}

static bool has_option(const struct command *command, const char *letters, const char *word)
{
	for (size_t i = command->program + 1; i < command->argc; i++)
		if (command->argv[i][0] == '-' &&
		    (command->argv[i][1] == '-' ? strcmp(command->argv[i] + 2, word) == 0
						: strpbrk(command->argv[i] + 1, letters) != NULL))
			return true;
	return false;
}

static bool has_operand(const struct command *command)
{
	for (size_t i = command->program + 1; i < command->argc; i++)
		if (command->argv[i][0] != '-')
			return true;
	return false;
}

const char *output_of_command(struct arena *arena, const struct command *command, const char *input)
{
	_cleanup_buffer_ struct buffer text = {0};
	size_t first = command->program + 1;
	const char *name;
	bool known = false;

	if (command->program >= command->argc || is_hidden(command))
		return NULL;
	name = path_last(command->argv[command->program]);
	input = own_input(arena, command, input);
	if (strcmp(name, "echo") == 0)
		known = print_echo(command, first, &text);
	else if (strcmp(name, "printf") == 0)
		known = print_format(command, first, &text);
	else if (strcmp(name, "mktemp") == 0 && !has_operand(command) &&
		 !has_option(command, "pu", "dry-run"))
		return "/tmp/tmp.mktemp"; /* a new one, by whatever name */
	else if (!input)
		return NULL;
	else if (strcmp(name, "cat") == 0 ? first == command->argc : strcmp(name, "tee") == 0)
		return input;
	else if (strcmp(name, "base64") == 0 && has_option(command, "dD", "decode"))
		known = !has_operand(command) && decode_base64(input, &text);
	else if (strcmp(name, "xxd") == 0 && has_option(command, "r", "") &&
		 has_option(command, "p", ""))
		known = !has_operand(command) && decode_hex(input, &text);
	else if (strcmp(name, "rev") == 0)
		known = !has_operand(command) && reverse(input, &text);
	else if (strcmp(name, "tr") == 0)
		known = translate(command, first, input, &text);
	if (!known || text.length > OUTPUT_LIMIT ||
	    (text.length && memchr(text.data, 0, text.length)))
		return NULL;
	return arena_strndup(arena, buffer_text(&text), text.length);
}

/* A function, an alias or a file of that name prints what it likes. */
static bool is_another(const struct scope *scope, const struct command *command, size_t order)
{
	return command->argc &&
	       (command->argv[0][0] == '.' || command->assignment_count ||
		scope_writes(scope, "PATH") ||
		(strcmp(command->argv[0], "mktemp") == 0 && scope_writes(scope, "TMPDIR")) ||
		scope_function(scope, command->argv[0]) ||
		scope_alias(scope, command->argv[0], order));
}

/* One stage of a pipeline: a command, or a group of commands that print one after the other. */
static const char *stage_output(struct arena *arena, const struct plan *plan, size_t end,
				const struct pipeline *pipeline, unsigned stage)
{
	size_t start = end > FAR ? end - FAR : 0;
	_cleanup_buffer_ struct buffer text = {0};
	const char *input = NULL;
	bool found = false;

	if (stage > STAGE_LIMIT)
		return NULL;
	if (stage > 1 && !(input = stage_output(arena, plan, end, pipeline, stage - 1)))
		return NULL;
	for (size_t i = start; i < end; i++) {
		const struct command *command = &plan->commands[i];
		const char *printed;

		if (!plan_is_stage(command, pipeline, stage))
			continue;
		if (command->scope && is_another(command->scope, command, command->order))
			return NULL;
		if (command->pipeline == pipeline && !command->of)
			return is_written(command) ? NULL
						   : output_of_command(arena, command, input);
		/* in a group, and that in nothing that may not happen */
		if (!command->place || command->place->kind > PLACE_SUBSHELL ||
		    command->place->pipeline != pipeline || command->pipeline->stages > 1 ||
		    command->conditional || input || is_written(command) ||
		    !(printed = output_of_command(arena, command, NULL)))
			return NULL;
		buffer_add_text(&text, printed);
		found = true;
	}
	return found && text.length <= OUTPUT_LIMIT
		       ? arena_strndup(arena, buffer_text(&text), text.length)
		       : NULL;
}

const char *output_to(struct arena *arena, const struct plan *plan, size_t consumer)
{
	unsigned stage;
	const struct pipeline *pipeline = plan_input(&plan->commands[consumer], &stage);

	return pipeline ? stage_output(arena, plan, consumer, pipeline, stage) : NULL;
}

const char *output_of_text(const struct where *where, const char *text, size_t length)
{
	struct where inside = *where;
	struct plan plan;

	inside.depth++;
	lex_shell(where->arena, text, length, &plan);
	if (plan.opaque || plan.count == 0 || plan.count > STAGE_LIMIT)
		return NULL;
	for (size_t i = 0; i < plan.count; i++) {
		struct command *command = &plan.commands[i];
		struct words words;

		if (command->place || command->pipeline != plan.commands[0].pipeline)
			return NULL;
		if (is_another(where->scope, command, where->order))
			return NULL;
		if (!command->dynamic)
			continue;
		expand_command(&inside, command, command, &words);
		if (words.unknown || words.unsure || words.too_much)
			return NULL;
	}
	return stage_output(where->arena, &plan, plan.count, plan.commands[0].pipeline,
			    plan.commands[0].pipeline->stages);
}
