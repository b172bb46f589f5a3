/* SPDX-License-Identifier: Apache-2.0 */
/* The table of facts about tools, and how a call is held against it. */
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
	{"docker podman", "-H --host -c --context --config -l --log-level --connection --url"},
	{"npm pnpm yarn", "--prefix --registry --userconfig -C --dir --cwd -w --workspace --tag"},
	{"cargo", "-C --config --color -Z"},
	{"systemctl", "-H --host -M --machine -t --type -p --property -n --lines"},
	{"twine gem poetry uv hatch gh pulumi",
	 "--cwd --directory -C --project -R --repo -s --stack"},
};

/* One of the words of a list, each of which may be a glob. */
static bool matches_one(const char *patterns, const char *word)
{
	char pattern[32];

	for (; *patterns; patterns += strspn(patterns, " ")) {
		size_t length = strcspn(patterns, " ");

		if (strncmp(patterns, word, length) == 0 && word[length] == '\0')
			return true;
		if (length < sizeof(pattern) && strcspn(patterns, "*?[") < length) {
			memcpy(pattern, patterns, length);
			pattern[length] = '\0';
			if (fnmatch(pattern, word, 0) == 0)
				return true;
		}
		patterns += length;
	}
	return false;
}

/* True if the word is given in a flag's long form, perhaps shortened or with a value, or among
 * short letters. */
static bool is_flag(const char *flag, size_t length, const char *word)
{
	size_t given = strcspn(word, "=");

	if (strncmp(flag, word, length) == 0 && given == length)
		return true;
	if (flag[1] == '-')
		return given > 2 && given < length && strncmp(flag, word, given) == 0;
	return length == 2 && word[0] == '-' && word[1] != '-' && strchr(word, flag[1]);
}

static bool has_flag(const struct command *command, size_t first, const char *flags)
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
		if (matches_one(verb_options[t].tools, tool))
			with_value = verb_options[t].with_value;
	for (; *verbs; verbs += strspn(verbs, " "), i++) {
		const char *end = verbs + strcspn(verbs, " ");
		bool found = false;

		i = parse_operand(command, i, with_value);
		/* cargo +nightly publish */
		if (i < command->argc && command->argv[i][0] == '+')
			i = parse_operand(command, i + 1, with_value);
		if (i >= command->argc)
			return false;
		while (verbs < end) {
			size_t length = MIN(strcspn(verbs, "|"), (size_t)(end - verbs));

			found |= strlen(command->argv[i]) == length &&
				 strncmp(command->argv[i], verbs, length) == 0;
			verbs += length + (verbs + length < end);
		}
		if (!found)
			return false;
	}
	return true;
}

/* Calls test for each operand until it says true. */
static bool any_operand(const struct command *command, size_t first, bool (*test)(const char *word))
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

/* The words of an xargs command are completed from its input. */
static bool takes_more_words(const struct command *command, size_t first)
{
	for (size_t i = 0; i < first; i++)
		if (strcmp(path_last(command->argv[i]), "xargs") == 0)
			return true;
	return false;
}

static bool is_everything(const char *word)
{
	static const char everything[] =
		"/ /* /** /.* ~ ~/* ~/.* $HOME $HOME/* $HOME/.* ${HOME} ${HOME}/* "
		"${HOME}/.* /home /home/*";
	_cleanup_free_ char *path = path_normalise(word);

	return parse_word_in(everything, path, strlen(path));
}

static bool is_outside(const char *word)
{
	static const char here[] = ". * .* .git ~ .. ../*";
	_cleanup_free_ char *path = path_normalise(word);

	if (path[0] == '/')
		return !path_is_under(path, "/tmp") && !path_is_under(path, "/var/tmp");
	return parse_word_in(here, path, strlen(path)) || strncmp(path, "../", 3) == 0 ||
	       strncmp(path, "~/", 2) == 0 || strncmp(path, "$HOME", 5) == 0 ||
	       strncmp(path, "${HOME", 6) == 0 || strncmp(path, "$PWD", 4) == 0 ||
	       strncmp(path, ".git/", 5) == 0 || strcmp(path_last(path), ".git") == 0;
}

/* What the next build does not make again. */
static bool is_precious(const char *word)
{
	static const char regenerable[] =
		"node_modules build target dist out __pycache__ .pytest_cache "
		".mypy_cache .ruff_cache .tox .next coverage *.egg-info";
	_cleanup_free_ char *path = path_normalise(word);

	return !matches_one(regenerable, path_last(path));
}

static bool removes_everything(const struct command *command, size_t first)
{
	return any_operand(command, first, is_everything);
}

static bool removes_outside(const struct command *command, size_t first)
{
	return !removes_everything(command, first) &&
	       (takes_more_words(command, first) || any_operand(command, first, is_outside));
}

static bool removes_precious(const struct command *command, size_t first)
{
	return !removes_everything(command, first) && !removes_outside(command, first) &&
	       any_operand(command, first, is_precious);
}

bool facts_is_disk(const char *path)
{
	static const char disks[] =
		"/dev/sd[a-z]* /dev/hd[a-z]* /dev/vd[a-z]* /dev/xvd* /dev/nvme* /dev/mmcblk* "
		"/dev/disk/* /dev/mapper/* /dev/dm-* /dev/md[0-9]* /dev/mem /dev/kmem";
	_cleanup_free_ char *normal = path_normalise(path);

	return matches_one(disks, normal);
}

static bool writes_disk(const struct command *command, size_t first)
{
	return any_operand(command, first, facts_is_disk);
}

static bool is_disk_output(const char *word)
{
	return strncmp(word, "of=", 3) == 0 && facts_is_disk(word + 3);
}

static bool copies_to_disk(const struct command *command, size_t first)
{
	return any_operand(command, first, is_disk_output);
}

static bool is_forced_refspec(const char *word)
{
	return word[0] == '+' || (word[0] == ':' && word[1]);
}

static bool forces_refspec(const struct command *command, size_t first)
{
	return any_operand(command, first, is_forced_refspec);
}

static const char recursive[] = "-r -R --recursive";

/* clang-format off */
const struct fact facts[] = {
	/* deleting */
	{"rm", NULL, recursive, removes_everything, CLASS_FORBIDDEN, RISK_CRITICAL, true, "data deletion",
	 "it deletes the whole file system or home directory"},
	{"rm", NULL, recursive, removes_outside, CLASS_ASK, RISK_HIGH, true, "data deletion",
	 "it deletes whole directories outside of the work at hand, or all of it"},
	{"rm", NULL, recursive, removes_precious, CLASS_SAFE, RISK_MEDIUM, true, "data deletion",
	 "it deletes whole directories"},
	{"find", NULL, "-delete", NULL, CLASS_SAFE, RISK_MEDIUM, true, "data deletion",
	 "it deletes every file that it finds"},
	{"git", "clean", "-f --force", NULL, CLASS_ASK, RISK_MEDIUM, true, "data deletion",
	 "it deletes files that git has no copy of"},
	{"git", "reset", "--hard", NULL, CLASS_ASK, RISK_MEDIUM, true, "data deletion",
	 "it throws away changes that are not committed"},

	/* disks */
	{"mkfs mkfs.* mke2fs mkswap blkdiscard shred tee", NULL, NULL, writes_disk, CLASS_FORBIDDEN, RISK_CRITICAL, true,
	 "disk", "it overwrites a disk"},
	{"wipefs", NULL, "-a --all -o --offset", writes_disk, CLASS_FORBIDDEN, RISK_CRITICAL, true, "disk",
	 "it overwrites a disk"},
	{"dd", NULL, NULL, copies_to_disk, CLASS_FORBIDDEN, RISK_CRITICAL, true, "disk", "it overwrites a disk"},

	/* what others see */
	{"git", "push", NULL, NULL, CLASS_ASK, RISK_MEDIUM, false, "publishing", "it sends commits to others"},
	{"git", "push", "-f --force --force-with-lease --mirror -d --delete --prune", NULL, CLASS_ASK, RISK_HIGH, true,
	 "history", "it rewrites or deletes what others may already have"},
	{"git", "push", NULL, forces_refspec, CLASS_ASK, RISK_HIGH, true, "history",
	 "it rewrites or deletes what others may already have"},
	{"npm pnpm yarn", "publish|unpublish|deprecate", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "publishing",
	 "it changes a package that the public installs"},
	{"twine", "upload", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "publishing", "it publishes a package"},
	{"cargo", "publish|yank", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "publishing",
	 "it changes a package that the public installs"},
	{"gem", "push|yank", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "publishing",
	 "it changes a package that the public installs"},
	{"poetry uv hatch flit", "publish", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "publishing", "it publishes a package"},
	{"docker podman", "push", NULL, NULL, CLASS_ASK, RISK_HIGH, false, "publishing", "it publishes an image"},

	/* other machines and services */
	{"terraform tofu", "apply|destroy", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "infrastructure",
	 "it changes running infrastructure"},
	{"pulumi", "up|destroy", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "infrastructure",
	 "it changes running infrastructure"},
	{"kubectl oc", "delete|apply|replace|drain|scale|patch|edit", NULL, NULL, CLASS_ASK, RISK_HIGH, true,
	 "infrastructure", "it changes a running cluster"},
	{"helm", "install|upgrade|uninstall|delete|rollback", NULL, NULL, CLASS_ASK, RISK_HIGH, true, "infrastructure",
	 "it changes a running cluster"},
	{"docker podman", "system|volume|image|container|network|builder prune", NULL, NULL, CLASS_ASK, RISK_MEDIUM, true,
	 "data deletion", "it deletes containers, images or volumes that nothing uses right now"},
	{"curl wget", NULL, NULL, NULL, CLASS_SAFE, RISK_LOW, false, "network", "it talks to other machines"},

	/* this machine */
	{"sudo su doas pkexec", NULL, NULL, NULL, CLASS_ASK, RISK_HIGH, false, "privilege", "it runs as another user"},
	{"shutdown reboot poweroff halt", NULL, NULL, NULL, CLASS_ASK, RISK_HIGH, false, "system",
	 "it stops the machine"},
	{"init telinit", "0|6", NULL, NULL, CLASS_ASK, RISK_HIGH, false, "system", "it stops the machine"},
	{"systemctl", "reboot|poweroff|halt|kexec|suspend|hibernate", NULL, NULL, CLASS_ASK, RISK_HIGH, false, "system",
	 "it stops the machine"},
	{"systemctl", "stop|disable|mask|kill|isolate|restart", NULL, NULL, CLASS_ASK, RISK_MEDIUM, false, "system",
	 "it stops services of this machine"},
};
/* clang-format on */
const size_t fact_count = ELEMENTS(facts);

const struct fact fact_fork_bomb = {
	.class = CLASS_FORBIDDEN,
	.risk = RISK_CRITICAL,
	.category = "resource exhaustion",
	.reason = "a function starts itself twice over, without end",
};
const struct fact fact_remote_code = {
	.class = CLASS_ASK,
	.risk = RISK_HIGH,
	.final = true,
	.category = "remote code",
	.reason = "it runs what it downloads, unseen",
};
const struct fact fact_disk_redirect = {
	.class = CLASS_FORBIDDEN,
	.risk = RISK_CRITICAL,
	.final = true,
	.category = "disk",
	.reason = "it overwrites a disk",
};

bool fact_matches(const struct fact *fact, const struct command *command, size_t first)
{
	return matches_one(fact->tools, path_last(command->argv[first])) &&
	       (!fact->verbs || has_verbs(command, first, fact->verbs)) &&
	       (!fact->flags || has_flag(command, first, fact->flags)) &&
	       (!fact->holds || fact->holds(command, first));
}

bool facts_is_downloader(const char *program)
{
	return matches_one("curl wget fetch aria2c http https", path_last(program));
}

static bool is_substitution(const char *word)
{
	return strstr(word, "$(") || strchr(word, '`') || strstr(word, "<(");
}

bool facts_runs_input(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool shell = matches_one("sh bash dash zsh ksh ash mksh", name);
	size_t operand = parse_operand(command, first + 1, "-o -O --rcfile --init-file");

	if (matches_one("eval source .", name))
		return any_operand(command, first, is_substitution);
	if (!shell && !matches_one("python python[23]* perl ruby node", name))
		return false;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '<')
			return is_substitution(command->redirects[i].target);
	if (operand < command->argc && strcmp(command->argv[operand], "-") != 0)
		return (shell && has_flag(command, first, "-s")) ||
		       (command->dynamic && is_substitution(command->argv[operand]));
	/* python -mjson.tool reads data, sh -e reads commands */
	return shell ? !has_flag(command, first, "--version --help") : operand == first + 1;
}
