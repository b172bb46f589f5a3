/* SPDX-License-Identifier: Apache-2.0 */
/* From a plan to what a yes to it covers. */
#include "key.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <string.h>

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
	{"docker podman kubectl helm", 1},
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
static size_t skip_interpreter(const struct command *command)
{
	const char *name = path_last(command->argv[0]);

	return strncmp(name, "python", 6) == 0 && command->argc > 2 &&
			       strcmp(command->argv[1], "-m") == 0
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

/* The words that say what the command does, into *ret_words; false where it is not known by any. */
static bool known_words(const struct command *command, struct list *ret_words)
{
	size_t first = skip_interpreter(command), at;
	const char *name = path_last(command->argv[first]);

	/* A tool that lies somewhere else than the usual one is another tool. */
	if (strchr(command->argv[0], '/') || strchr(command->argv[first], '/'))
		return false;
	for (size_t i = 0; i < ELEMENTS(tools); i++) {
		if (!parse_word_in(tools[i].tools, name, strlen(name)))
			continue;
		for (size_t word = 0; word <= first; word++)
			list_add(ret_words, word == first ? name : command->argv[word]);
		at = first + 1;
		for (unsigned word = 0; word < tools[i].words; word++, at++) {
			/* An option before the words may turn them into anything. */
			if (at >= command->argc || !is_plain(command->argv[at]))
				return false;
			list_add(ret_words, command->argv[at]);
		}
		return true;
	}
	return false;
}

static bool is_general(const struct plan *plan)
{
	const struct command *command = &plan->commands[0];

	return plan->count == 1 && !plan->opaque && !command->dynamic && command->argc > 0 &&
	       command->redirect_count == 0 && command->assignment_count == 0 &&
	       parse_wrapped(command, 0) == skip_interpreter(command);
}

/* Exactly as it stands: the command, its directory, and what it is run with. */
static void add_exactly(const struct request *request, struct buffer *text)
{
	add_part(text, request->tool ? request->tool : "");
	add_part(text, "is");
	add_part(text, request->workspace);
	add_part(text, request->cwd);
	add_part(text, request->shell ? request->shell : "");
	add_part(text, request->login ? "login" : "");
	for (size_t i = 0; i < request->environment.count; i++)
		add_part(text, request->environment.items[i]);
	add_part(text, request->script ? "script" : "argv");
	if (request->script)
		add_part(text, request->script);
	for (size_t i = 0; i < request->argv.count; i++)
		add_part(text, request->argv.items[i]);
	buffer_add_char(text, ']');
}

void approval_key_make(const struct request *request, const struct plan *plan,
		       struct approval_key *ret_key)
{
	_cleanup_buffer_ struct buffer text = {0}, exact = {0}, covers = {0};
	_cleanup_list_ struct list words = {0};

	*ret_key = (struct approval_key){0};
	add_exactly(request, &exact);
	ret_key->exact = buffer_steal(&exact);
	if (plan->count == 0 || !is_general(plan) || !known_words(&plan->commands[0], &words)) {
		ret_key->text = strdup(ret_key->exact);
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
	ret_key->text = buffer_steal(&text);
}

void approval_key_done(struct approval_key *key)
{
	free(key->text);
	free(key->exact);
	free(key->covers);
	*key = (struct approval_key){0};
}
