/* SPDX-License-Identifier: Apache-2.0 */
/* How a call is held against a fact: tool, verbs, flags. */
#include "facts.h"
#include "../base/path.h"

#include <fnmatch.h>
#include <string.h>

/* Options that stand before the verb and whose value is the next word. */
static const struct {
	const char *tools, *with_value;
} verb_options[] = {
	{"git", "-C -c --git-dir --work-tree --namespace --exec-path --config-env"},
	{"kubectl oc",
	 "-n --namespace --context --cluster --user --kubeconfig -s --server --token --as"},
	{"helm", "-n --namespace --kube-context --kubeconfig"},
	{"docker podman buildah",
	 "-H --host -c --context --config -l --log-level --connection --url"},
	{"npm pnpm yarn bun",
	 "--prefix --registry --userconfig -C --dir --cwd -w --workspace --tag -F --filter"},
	{"cargo", "-C --config --color -Z"},
	{"systemctl", "-H --host -M --machine -t --type -p --property -n --lines"},
	{"twine gem poetry uv hatch gh glab pulumi",
	 "--cwd --directory -C --project -R --repo -s --stack"},
	{"aws", "--profile --region --output --endpoint-url --query --color"},
	{"gcloud", "--project --account --configuration --format --verbosity"},
};

/* One of the words of a list, each of which may be a glob; separator parts them. */
static bool matches_in(const char *patterns, size_t size, char separator, const char *word)
{
	const char *end = patterns + size;
	char pattern[48];

	while (patterns < end) {
		const char *next = memchr(patterns, separator, (size_t)(end - patterns));
		size_t length = (size_t)((next ? next : end) - patterns);

		if (strncmp(patterns, word, length) == 0 && word[length] == '\0')
			return true;
		if (length < sizeof(pattern)) {
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (strpbrk(pattern, "*?[") && fnmatch(pattern, word, 0) == 0)
				return true;
		}
		patterns += length + 1;
	}
	return false;
}

bool match_one(const char *patterns, const char *word)
{
	return matches_in(patterns, strlen(patterns), ' ', word);
}

static bool is_flag(const char *flag, size_t length, const char *word)
{
	size_t given = strcspn(word, "=");

	if (strncmp(flag, word, length) == 0 && given == length)
		return true;
	if (flag[1] == '-')
		return given > 2 && given < length && strncmp(flag, word, given) == 0;
	return length == 2 && word[0] == '-' && word[1] != '-' && strchr(word, flag[1]);
}

bool match_flag(const struct command *command, size_t first, const char *flags)
{
	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (strcmp(word, "--") == 0)
			return false;
		for (const char *flag = flags; *word == '-' && *flag; flag += strspn(flag, " ")) {
			size_t length = strcspn(flag, " ");

			if (is_flag(flag, length, word))
				return true;
			flag += length;
		}
	}
	return false;
}

static bool has_verbs(const struct command *command, size_t first, const char *verbs)
{
	const char *tool = path_last(command->argv[first]), *with_value = NULL;
	size_t i = first + 1;

	for (size_t t = 0; t < ELEMENTS(verb_options); t++)
		if (match_one(verb_options[t].tools, tool))
			with_value = verb_options[t].with_value;
	for (; *verbs; verbs += strspn(verbs, " "), i++) {
		size_t length = strcspn(verbs, " ");

		i = parse_operand(command, i, with_value);
		/* cargo +nightly publish */
		if (i < command->argc && command->argv[i][0] == '+')
			i = parse_operand(command, i + 1, with_value);
		if (i >= command->argc || !matches_in(verbs, length, '|', command->argv[i]))
			return false;
		verbs += length;
	}
	return true;
}

bool match_operand(const struct command *command, size_t first, bool (*test)(const char *word))
{
	bool operands_only = false;

	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];

		if (!operands_only && strcmp(word, "--") == 0)
			operands_only = true;
		else if ((operands_only || word[0] != '-') && test(word))
			return true;
	}
	return false;
}

bool fact_matches(const struct fact *fact, const struct command *command, size_t first)
{
	return match_one(fact->tools, path_last(command->argv[first])) &&
	       (!fact->verbs || has_verbs(command, first, fact->verbs)) &&
	       (!fact->flags || match_flag(command, first, fact->flags)) &&
	       (!fact->holds || fact->holds(command, first));
}
