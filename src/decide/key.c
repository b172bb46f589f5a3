/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to what a yes to it covers. */
#include "key.h"
#include "canonical.h"
#include "../assess/call.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <string.h>

enum { DOES_PROGRAMS = 3, DOES_NAME = 64 };

/* How many words behind the tool say what it does. */
static const struct {
	const char *tools;
	unsigned words;
} tools[] = {
	{"git", 1},
	{"npm pnpm yarn bun", 1},
	{"pip pip3 pipx poetry pdm conda mamba", 1},
	{"uv", 2},
	{"cargo rustup", 1},
	{"go", 1},
	{"apt apt-get aptitude dnf yum apk pacman zypper brew", 1},
	{"gem bundle composer mix rebar3 cabal stack nuget dotnet", 1},
	{"docker podman helm", 1},
	{"kubectl", 2},
	{"terraform tofu pulumi", 1},
	{"gh glab aws az gcloud", 2},
	{"systemctl", 1},
	{"npx bunx", 1},
	{"mvn gradle", 1},
};

static void add_part(struct buffer *text, const char *part)
{
	_cleanup_free_ char *utf8 = NULL;
	bool lossy;

	utf8 = escape_to_utf8(part, strlen(part), &lossy);
	json_t *string = json_string(utf8);
	_cleanup_free_ char *json = json_dumps(string, JSON_ENCODE_ANY);

	json_decref(string);
	buffer_add_char(text, text->length ? ',' : '[');
	buffer_add_text(text, json ? json : "null");
	/* What is not UTF-8 would be one and the same otherwise. */
	if (lossy)
		for (; *part; part++)
			buffer_printf(text, ",%u", (unsigned char)*part);
}

/* `python -m pip install x`: the module is the tool. */
static size_t skip_interpreter(const struct list *words)
{
	return strncmp(words->items[0], "python", 6) == 0 && words->count > 2 &&
			       strcmp(words->items[1], "-m") == 0
		       ? 2
		       : 0;
}

/* Nothing that a pattern, a person or a shell would read otherwise. */
static bool is_plain(const char *word)
{
	return word[0] && word[0] != '-' &&
	       strspn(word,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@/-") ==
		       strlen(word);
}

/* Another machine, or a file outside of the work at hand. */
static bool is_elsewhere(const char *word)
{
	size_t first = strcspn(word, "/");

	return strchr(word, ':') || strchr("/~+", word[0]) || strstr(word, "..") ||
	       (word[first] && first > 1 && memchr(word, '.', first));
}

static bool is_plain_option(const struct call *call, const struct word *word)
{
	for (size_t i = 0; i < call->depth; i++)
		if (!word->value &&
		    word_is_option(word, tool_text(call->path[i]->plain), /* exact= */ true))
			return true;
	return false;
}

/* The remote that git takes where none is named; any other is another machine. */
static bool is_other_remote(const struct call *call, const char *operand)
{
	return strcmp(call->command->argv[call->first], "git") == 0 && call->depth > 1 &&
	       parse_word_in("push fetch pull", call->command->argv[call->verbs[1]],
			     strlen(call->command->argv[call->verbs[1]])) &&
	       strcmp(operand, "origin") != 0;
}

/* Behind the words that say what is done nothing makes it another thing: a switch with which more
 * is done, or less, another machine, a file elsewhere. */
static bool is_ordinary(const struct call *call)
{
	struct cursor cursor = {0};
	struct word word;
	size_t operands = 0;

	while (call_next(call, &cursor, &word)) {
		if (word.is_option ? !is_plain_option(call, &word) : is_elsewhere(word.text))
			return false;
		if (!word.is_option && operands++ == 0 && is_other_remote(call, word.text))
			return false;
	}
	return true;
}

/* Verbs behind which any program can be named. */
static bool runs_anything(const char *verb)
{
	return parse_word_in("run run-script exec x dlx eval api ssh shell", verb, strlen(verb));
}

/* The words that say what the command does, into *ret_words; false where it is not known by any. */
static bool known_words(const struct list *words, struct list *ret_words)
{
	const struct command command = {.argv = (const char **)words->items, .argc = words->count};
	size_t first = skip_interpreter(words), deep = 0;
	struct call call;

	/* A tool that lies somewhere else than the usual one is another tool. */
	if (strchr(words->items[0], '/') || strchr(words->items[first], '/'))
		return false;
	call_read(&command, first, words->count, &call);
	for (size_t i = 0; i < ELEMENTS(tools); i++)
		if (parse_word_in(tools[i].tools, words->items[first], strlen(words->items[first])))
			deep = tools[i].words;
	if (deep == 0 || call.depth == 0)
		return false;
	/* docker volume rm is as little docker volume prune as it is docker image rm */
	deep = MAX(deep, call.depth - 1 + call.other);
	for (size_t at = 0; at <= first + deep; at++) {
		/* An option before the words may turn them into anything. */
		if (at >= words->count || (at > first && !is_plain(words->items[at])) ||
		    (at > first && runs_anything(words->items[at])))
			return false;
		list_add(ret_words, words->items[at]);
	}
	return is_ordinary(&call);
}

static bool has_own_path(const struct list *environment)
{
	for (size_t i = 0; i < environment->count; i++)
		if (strncmp(environment->items[i], "PATH=", 5) == 0)
			return true;
	return false;
}

/* Exactly as it stands, or as it is said otherwise: the command, its directory, and what it is run
 * with. */
static void add_exactly(const struct request *request, const struct list *words,
			struct buffer *text)
{
	_cleanup_list_ struct list form = {0};

	add_part(text, request->tool ? request->tool : "");
	add_part(text, "is");
	add_part(text, request->workspace);
	add_part(text, request->cwd);
	add_part(text, request->shell ? request->shell : "");
	add_part(text, request->login ? "login" : "");
	for (size_t i = 0; i < request->environment.count; i++)
		add_part(text, request->environment.items[i]);
	if (words->count) {
		canonical_form(words, has_own_path(&request->environment), &form);
		for (size_t i = 0; i < form.count; i++)
			add_part(text, form.items[i]);
	} else {
		add_part(text, request->script ? "script" : "argv");
		if (request->script)
			add_part(text, request->script);
		for (size_t i = 0; i < request->argv.count; i++)
			add_part(text, request->argv.items[i]);
	}
	buffer_add_char(text, ']');
}

/* The programs of the plan, each once; NULL where none is known. Not what an answer covers: only
 * what is told of the like. */
static char *programs_of(const struct plan *plan)
{
	_cleanup_list_ struct list names = {0};
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < plan->count && names.count < DOES_PROGRAMS; i++) {
		const struct command *command = &plan->commands[i];
		const char *name =
			command->program < command->argc ? command->argv[command->program] : "";

		if (*name && !list_has(&names, path_last(name)))
			list_add(&names, path_last(name));
	}
	for (size_t i = 0; i < names.count; i++)
		buffer_printf(&text, "%s%.*s", i ? ", " : "", DOES_NAME, names.items[i]);
	return names.count ? buffer_steal(&text) : NULL;
}

void approval_key_make(const struct request *request, const struct plan *plan,
		       struct approval_key *ret_key)
{
	_cleanup_buffer_ struct buffer text = {0}, exact = {0}, covers = {0};
	_cleanup_list_ struct list words = {0}, command = {0};

	*ret_key = (struct approval_key){0};
	if (request->mode == MODE_PATCH || request->shell ||
	    !canonical_words(request->script, &request->argv, &command)) {
		list_done(&command);
		command = (struct list){0};
	}
	add_exactly(request, &command, &exact);
	ret_key->exact = buffer_steal(&exact);
	/* a variable can make the tool another one, as it can for a rule */
	if (command.count == 0 || request->environment.count || !known_words(&command, &words)) {
		ret_key->text = strdup(ret_key->exact);
		ret_key->does = programs_of(plan);
		return;
	}
	add_part(&text, request->tool ? request->tool : "");
	add_part(&text, "does");
	for (size_t i = 0; i < words.count; i++) {
		add_part(&text, words.items[i]);
		if (i)
			buffer_add_char(&covers, ' ');
		buffer_add_text(&covers, words.items[i]);
	}
	buffer_add_char(&text, ']');
	ret_key->covers = buffer_steal(&covers);
	ret_key->does = strdup(ret_key->covers);
	ret_key->text = buffer_steal(&text);
}

void approval_key_done(struct approval_key *key)
{
	free(key->text);
	free(key->exact);
	free(key->covers);
	free(key->does);
	*key = (struct approval_key){0};
}
