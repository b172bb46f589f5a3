/* SPDX-License-Identifier: Apache-2.0 */
/* One command exactly as it stands, in a rule and in a request. */
#include "exact.h"
#include "decide.h"
#include "index.h"
#include "../base/buffer.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <string.h>

static bool add_option(struct list *words, const char *option, const char *value)
{
	list_add(words, option);
	list_add(words, value);
	return true;
}

/* The first word of a command that looks like an option stands behind a --. */
static void add_command(struct list *words, char *const *argv, size_t count)
{
	if (argv[0][0] == '-')
		list_add(words, "--");
	for (size_t i = 0; i < count; i++)
		list_add(words, argv[i]);
}

bool exact_words(const struct request *request, struct list *ret_words)
{
	for (size_t i = 0; i < request->environment.count; i++)
		add_option(ret_words, "--env", request->environment.items[i]);
	if (request->shell)
		add_option(ret_words, "--shell", request->shell);
	if (request->login)
		list_add(ret_words, "--login");
	if (request->mode == MODE_SHELL && request->script)
		return add_option(ret_words, "-c", request->script);
	if (request->mode != MODE_EXEC || request->argv.count == 0)
		return false;
	add_command(ret_words, request->argv.items, request->argv.count);
	return true;
}

static int refuse(struct error **ret_error, const char *what, const char *word)
{
	fail(ret_error, E_POLICY, what, word);
	return error_hint(ret_error, "write the words that ward run gets: [make, test] or "
				     "[-c, 'make && make test'], after --env NAME=VALUE, --shell "
				     "PATH and --login in this order");
}

/* The options in front, which come in one order only; the index of what follows, or an error. */
static int read_options(const struct list *said, struct list *words, struct error **ret_error)
{
	static const char *const options[] = {"--env", "--shell", "--login"};
	size_t i = 0, least = 0;

	while (i < said->count && said->items[i][0] == '-') {
		const char *word = said->items[i];
		size_t option = least;

		if (strcmp(word, "-c") == 0 || strcmp(word, "--") == 0)
			break;
		while (option < ELEMENTS(options) && strcmp(options[option], word) != 0)
			option++;
		if (option == ELEMENTS(options))
			return refuse(ret_error, "'%.100s' is no option that stands there", word);
		least = option == 0 ? 0 : option + 1;
		list_add(words, word);
		i++;
		if (option == 2)
			continue;
		if (i == said->count || (option == 0 && !strchr(said->items[i], '=')))
			return refuse(ret_error, "nothing that fits follows %s", word);
		list_add(words, said->items[i++]);
	}
	return (int)i;
}

int exact_read(const struct list *said, struct list *ret_words, struct error **ret_error)
{
	size_t length = 0, at;
	int r = read_options(said, ret_words, ret_error);

	if (r < 0)
		return r;
	at = (size_t)r;
	for (size_t i = 0; i < said->count; i++)
		length += strlen(said->items[i]) + 1;
	if (said->count > EXACT_WORDS || length > EXACT_LENGTH) {
		fail(ret_error, E_POLICY, "a command of more than %d words or %d bytes",
		     EXACT_WORDS, EXACT_LENGTH);
		return error_hint(ret_error, "put it into a file");
	}
	if (at < said->count && strcmp(said->items[at], "-c") == 0) {
		if (at + 2 != said->count)
			return refuse(ret_error, "%s is followed by the script and nothing else",
				      "-c");
		add_option(ret_words, "-c", said->items[at + 1]);
		return 0;
	}
	if (at < said->count && strcmp(said->items[at], "--") == 0)
		at++;
	if (at == said->count || !*said->items[at])
		return refuse(ret_error, "%s: there is no command", "exactly");
	add_command(ret_words, said->items + at, said->count - at);
	return 0;
}

char *exact_text(const struct list *words)
{
	struct buffer text = {0};

	for (size_t i = 0; i < words->count; i++) {
		if (i)
			buffer_add_char(&text, ' ');
		escape_for_bash(&text, words->items[i]);
	}
	return buffer_steal(&text);
}

bool exact_is_keepable(const struct request *request)
{
	_cleanup_list_ struct list words = {0}, same = {0};
	_cleanup_error_ struct error *error = NULL;

	for (size_t i = 0; i < request->environment.count; i++) {
		_cleanup_free_ char *name = strdup(request->environment.items[i]);

		name[strcspn(name, "=")] = '\0';
		if (decide_is_secret_variable(name))
			return false;
	}
	return exact_words(request, &words) && exact_read(&words, &same, &error) == 0;
}

static bool means(const struct rule *rule, const struct list *words, const char *cwd,
		  const char *home)
{
	_cleanup_free_ char *directory = rule->in ? path_resolve("/", home, rule->in) : NULL;

	if (rule->exactly.count != words->count || (directory && strcmp(directory, cwd) != 0))
		return false;
	for (size_t i = 0; i < words->count; i++)
		if (strcmp(rule->exactly.items[i], words->items[i]) != 0)
			return false;
	return true;
}

/* Where in the index those of one hash begin. */
static size_t first_of(const struct policy_index *index, uint64_t hash)
{
	size_t low = 0, high = index->exact_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (index->exact_hashes[middle] < hash)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct rule *policy_match_exactly(const struct policy *policy,
					const struct circumstances *circumstances,
					const struct request *request, bool own_program)
{
	const struct policy_index *index = policy->index;
	const struct command command = {.argv = (const char **)request->argv.items,
					.argc = request->argv.count};
	_cleanup_list_ struct list words = {0};
	const struct rule *best = NULL;
	uint64_t hash;

	if (!index || index->exact_count == 0 || !exact_words(request, &words))
		return NULL;
	hash = index_hash_words(&words);
	for (size_t i = first_of(index, hash);
	     i < index->exact_count && index->exact_hashes[i] == hash; i++) {
		const struct rule *rule = &policy->rules[index->exact[i]];
		enum truth truth;

		if ((own_program && rule->kind == VERDICT_ALLOW) ||
		    (best && (rule->kind < best->kind ||
			      (rule->kind == best->kind && rule->layer <= best->layer))))
			continue;
		if (!means(rule, &words, request->cwd, policy->home))
			continue;
		truth = MIN(condition_holds(rule->when, circumstances, &command, 0),
			    rule->unless ? (enum truth)(TRUTH_YES - condition_holds(rule->unless,
										    circumstances,
										    &command, 0))
					 : TRUTH_YES);
		if (rule->kind == VERDICT_ALLOW ? truth == TRUTH_YES : truth != TRUTH_NO)
			best = rule;
	}
	return best;
}
