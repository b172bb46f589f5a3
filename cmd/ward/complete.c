/* SPDX-License-Identifier: Apache-2.0 */
/* ward complete: what may come next on a command line of ward's, for the shells' own completion.
 *
 * What there is to say is in the help of each verb; this reads it, so that the two cannot differ.
 * Printed is one candidate a line, a tab and what it is; or a line that says what to complete
 * instead: ":files", ":directories", ":command N", the words from the Nth on being a command line
 * of their own. */
#include "output.h"
#include "usage.h"
#include "verbs.h"
#include "../../src/base/io.h"
#include "../../src/decide/sockets.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { ANSWER_MOST = 4 << 20, SHOWN_MOST = 200, ABOUT_MOST = 72 };

extern char **environ;

/* Words that the help of these options does not list. */
static const struct {
	const char *verb, *option, *words;
} hints[] = {
	{NULL, "--profile", "agent code code-net claude codex gemini opencode"},
	{"approve", "--scope", "once session always 10m 30m 1h"},
	{"deny", "--scope", "once session always"},
	{"events", "--kind",
	 "assessed verdict caller asked answered attempt.started token violation denial grant.used "
	 "grant.expired grant.revoked near_limit limit incident attempt.ended ended"},
};

/* What the words after a verb name: what another call of ward lists, or files. */
static const struct {
	const char *verb, *second; /* second: NULL where there is none */
	const char *arguments[4];  /* of the call that lists them */
	const char *key;	   /* of its objects */
	const char *more;	   /* another word, or what the shell is to complete */
} operands[] = {
	{"show", NULL, {"log", "--json"}, "id", "last"},
	{"pending", NULL, {"pending", "--json"}, "id", NULL},
	{"approve", NULL, {"pending", "--json"}, "id", NULL},
	{"deny", NULL, {"pending", "--json"}, "id", NULL},
	{"defer", NULL, {"pending", "--json"}, "id", NULL},
	{"wait", NULL, {"wait", "--list", "--json"}, "ticket", NULL},
	{"grants", "revoke", {"grants", "--json"}, "id", NULL},
	{"incidents", "show", {"incidents", "list", "--json"}, "id", NULL},
	{"incidents", "resume", {"incidents", "list", "--json"}, "id", NULL},
	{"incidents", "kill", {"incidents", "list", "--json"}, "id", NULL},
	{"incidents", "close", {"incidents", "list", "--json"}, "id", NULL},
	{"session", "end", {"session", "--json"}, "id", NULL},
	{"notify", "retry", {"notify", "--json"}, "id", NULL},
	{"notify", "drop", {"notify", "--json"}, "id", NULL},
	{"web", "revoke", {"web", "sessions", "--json"}, "id", "all"},
	{"policy", "sets", {"policy", "sets", "--json"}, "name", NULL},
	{"policy", "check", {NULL}, NULL, ":files"},
	{"policy", "test", {NULL}, NULL, ":files"},
	{"policy", "fmt", {NULL}, NULL, ":files"},
	{"policy", "trust", {NULL}, NULL, ":directories"},
	{"policy", "untrust", {NULL}, NULL, ":directories"},
	{"caches", "clear", {NULL}, NULL, ":directories"},
	{"token", "key", {NULL}, NULL, ":files"},
};

struct line {
	char **words; /* after `ward`; the last one is being typed */
	int count;
	const char *current;
	const char *prefix; /* "--net=" where a value is typed behind its option; else "" */
	size_t given;
};

/* What another ward prints; "" where it fails. */
static void ask_ward(const char *const arguments[], struct buffer *ret_text)
{
	char *argv[8] = {"ward"};
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int pipe_fds[2], count = 1;
	char data[4096];
	ssize_t got;
	pid_t child;

	for (; arguments[count - 1] && count < 7; count++)
		argv[count] = (char *)arguments[count - 1];
	if (null < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0) {
		dup2(null, STDIN_FILENO);
		dup2(pipe_fds[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execve("/proc/self/exe", argv, environ);
		_exit(EXIT_WARD);
	}
	close(pipe_fds[1]);
	while (child > 0 && ret_text->length < ANSWER_MOST &&
	       (got = read_all(pipe_fds[0], data, sizeof(data))) > 0)
		buffer_add(ret_text, data, (size_t)got);
	close(pipe_fds[0]);
	if (child > 0)
		(void)waitpid(child, NULL, 0);
}

/* A candidate, where it goes on with what is typed. What it is comes from records, too: no bytes of
 * it steer a terminal, and none is a tab. */
static void offer(struct line *line, const char *word, const char *about)
{
	struct buffer shown = {0};

	if (!word || strncmp(word, line->current, strlen(line->current)) != 0)
		return;
	for (const char *at = word; *at; at++)
		if (iscntrl((unsigned char)*at))
			return;
	for (const char *at = about ? about : ""; *at && *at != '\n' && shown.length < ABOUT_MOST;
	     at++)
		if (!iscntrl((unsigned char)*at))
			buffer_add_char(&shown, *at);
	printf("%s%s\t%s\n", line->prefix, word, buffer_text(&shown));
	buffer_done(&shown);
	line->given++;
}

static void tell(struct line *line, const char *directive)
{
	printf("%s\n", directive);
	line->given++;
}

static void offer_words(struct line *line, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, " ");
		char *word = strndup(words, length);

		if (!word)
			abort();
		offer(line, word, NULL);
		free(word);
		words += length;
		words += strspn(words, " ");
	}
}

/* The objects that a call of ward lists: one a line, or in the one array of an object. */
static void offer_listed(struct line *line, const char *const arguments[], const char *key)
{
	struct buffer text = {0};
	json_error_t error;
	size_t used = 0;

	ask_ward(arguments, &text);
	for (int count = 0; used < text.length && count < SHOWN_MOST; count++) {
		json_t *object = json_loadb(text.data + used, text.length - used,
					    JSON_DISABLE_EOF_CHECK, &error);
		const char *name;
		json_t *value, *each;
		size_t i;

		if (!object || error.position <= 0)
			break;
		used += (size_t)error.position;
		if (text_of(object, key))
			offer(line, text_of(object, key), text_of(object, "command"));
		else
			json_object_foreach (object, name, value)
				json_array_foreach (value, i, each)
					offer(line, text_of(each, key),
					      text_of(each, "description"));
		json_decref(object);
		used += strspn(text.data + used, " \n");
	}
	buffer_done(&text);
}

static void offer_hosts(struct line *line)
{
	offer_listed(line, (const char *const[]){"policy", "sets", "--json", NULL}, "name");
}

static void offer_environment(struct line *line, bool with_value)
{
	for (char **each = environ; *each; each++) {
		char *name = strndup(*each, strcspn(*each, "=") + with_value);

		if (!name)
			abort();
		offer(line, name, NULL);
		free(name);
	}
}

/* "never | on-failure (default) | on-request", "this one: claude, codex" */
static void offer_alternatives(struct line *line, const char *text, char between)
{
	while (*text) {
		size_t length = 0;

		text += strspn(text, " ");
		while (isalnum((unsigned char)text[length]) ||
		       (text[length] && strchr("-.%", text[length])))
			length++;
		if (length > 0) {
			char *word = strndup(text, length);

			if (!word)
				abort();
			offer(line, word, NULL);
			free(word);
		}
		text += strcspn(text, between == '|' ? "|" : ",");
		text += *text != 0;
	}
}

static void complete_value(struct line *line, const char *verb, const struct usage_option *option)
{
	const char *value = option->value, *list = strstr(option->about, ": ");

	for (size_t i = 0; i < ELEMENTS(hints); i++)
		if ((!hints[i].verb || strcmp(hints[i].verb, verb) == 0) &&
		    strcmp(hints[i].option, option->name) == 0) {
			offer_words(line, hints[i].words);
			return;
		}
	if (strcmp(value, "DIR") == 0)
		tell(line, ":directories");
	else if (strcmp(value, "P") == 0 || strcmp(value, "FILE") == 0 ||
		 strcmp(value, "PATH") == 0)
		tell(line, ":files");
	else if (strcmp(value, "H") == 0)
		offer_hosts(line);
	else if (strcmp(option->name, "--env") == 0 || strcmp(option->name, "--keep-env") == 0)
		offer_environment(line, strcmp(option->name, "--env") == 0);
	else if (strcmp(option->name, "--allow-socket") == 0)
		for (const struct known_socket *each = known_sockets; each->name; each++)
			offer(line, each->name, each->means);
	else if (strchr(value, '|') || isdigit((unsigned char)*value))
		offer_alternatives(line, value, '|');
	else if (strstr(option->about, " | "))
		offer_alternatives(line, option->about, '|');
	else if (list && strchr(list, ','))
		offer_alternatives(line, list + 2, ',');
}

static void complete_operand(struct line *line, const char *verb, const char *second)
{
	for (size_t i = 0; i < ELEMENTS(operands); i++) {
		if (strcmp(operands[i].verb, verb) != 0 ||
		    (operands[i].second && (!second || strcmp(second, operands[i].second) != 0)))
			continue;
		if (operands[i].more && *operands[i].more == ':')
			tell(line, operands[i].more);
		else if (operands[i].more)
			offer(line, operands[i].more, NULL);
		if (operands[i].key)
			offer_listed(line, operands[i].arguments, operands[i].key);
	}
}

static void offer_options(struct line *line, const struct usage *usage)
{
	for (size_t i = 0; i < usage->option_count; i++)
		offer(line, usage->options[i].name, usage->options[i].about);
}

/* Where a command of its own begins, as a number of a word after `ward`; 0 where none does. */
static int command_start(const struct line *line, const struct usage *usage)
{
	for (int i = 1; i + 1 < line->count; i++) {
		const struct usage_option *option = usage_option(usage, line->words[i]);

		if (strcmp(line->words[i], "--") == 0)
			return i + 1;
		i += option && option->value;
	}
	return 0;
}

static const char *second_word(const struct line *line)
{
	return line->count > 2 && line->words[1][0] != '-' ? line->words[1] : NULL;
}

static void complete_after(struct line *line, const char *verb)
{
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_usage_ struct usage usage;
	const struct usage_option *option;
	const char *second = second_word(line), *equals = strchr(line->current, '=');
	_cleanup_free_ char *name = NULL, *prefix = NULL;
	int start;

	/* What ward check takes is said there. */
	ask_ward((const char *const[]){verb, "--help", NULL}, &text);
	if (strcmp(verb, "check") == 0)
		ask_ward((const char *const[]){"run", "--help", NULL}, &text);
	usage_read(buffer_text(&text), verb, second, &usage);
	start = command_start(line, &usage);
	option = line->count > 2 ? usage_option(&usage, line->words[line->count - 2]) : NULL;
	if (!(option && option->value) && equals && line->current[0] == '-') {
		name = strndup(line->current, (size_t)(equals - line->current));
		option = name ? usage_option(&usage, name) : NULL;
		if (option && asprintf(&prefix, "%s=", name) < 0)
			abort();
	}
	if (prefix) { /* what is typed so far stays before each word */
		line->prefix = prefix;
		line->current = equals + 1;
	}
	if (start > 0) {
		printf(":command %d\n", start);
	} else if (option && option->value) {
		complete_value(line, verb, option);
	} else if (line->current[0] == '-') {
		offer_options(line, &usage);
	} else {
		if (!second)
			for (size_t i = 0; i < usage.verbs.count; i++)
				offer(line, usage.verbs.items[i], usage.verbs_about.items[i]);
		complete_operand(line, verb, second);
		if (line->given == 0 && !*line->current)
			offer_options(line, &usage);
	}
}

static void complete_verb(struct line *line)
{
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_usage_ struct usage usage;

	ask_ward((const char *const[]){"--help", NULL}, &text);
	usage_read(buffer_text(&text), NULL, NULL, &usage);
	for (size_t i = 0; i < usage.verbs.count; i++)
		offer(line, usage.verbs.items[i], usage.verbs_about.items[i]);
	offer(line, "--help", "this list");
	offer(line, "--version", NULL);
}

int verb_complete(int argc, char **argv)
{
	int first = argc > 1 && strcmp(argv[1], "--") == 0 ? 2 : 1;
	struct line line = {argv + first, argc - first, "", "", 0};

	if (line.count < 1)
		return output_usage(
			"complete",
			"give the words after ward, the last one as far as it is typed");
	line.current = line.words[line.count - 1];
	output_begin();
	if (line.count == 1)
		complete_verb(&line);
	else if (line.words[0][0] != '-')
		complete_after(&line, line.words[0]);
	return output_end("complete", 0);
}
