/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for a shell in the options of programs that do other things, too. */
#include "unwrap.h"
#include "../base/path.h"

#include <fnmatch.h>
#include <string.h>

/* Each word in turn: --name=VALUE, --name VALUE, -nVALUE or -n VALUE. NULL where it is none of the
 * options; *ret_at is the word that holds the value. */
static const char *option_value(const struct command *command, size_t i, const char *options,
				size_t *ret_at)
{
	const char *word = command->argv[i], *equals = strchr(word, '=');

	*ret_at = i;
	if (parse_word_in(options, word, strlen(word)) && i + 1 < command->argc) {
		*ret_at = i + 1;
		return command->argv[i + 1];
	}
	if (word[0] == '-' && word[1] == '-')
		return equals && parse_word_in(options, word, (size_t)(equals - word)) ? equals + 1
										       : NULL;
	return word[0] == '-' && word[1] && word[2] && parse_word_in(options, word, 2) ? word + 2
										       : NULL;
}

/* Programs whose options hold whole texts. */
static const struct {
	const char *names, *options;
	const char *prefix; /* the value counts only behind this */
} holders[] = {
	{"tar gtar bsdtar", "--checkpoint-action", "exec="},
	{"tar gtar bsdtar",
	 "--to-command -I --use-compress-program --rsh-command -F --info-script "
	 "--new-volume-script",
	 ""},
	{"rsync", "-e --rsh --rsync-path", ""},
	{"scp sftp", "-S", ""},
	{"ssh scp sftp", "-o", "ProxyCommand="},
	{"ssh scp sftp", "-o", "LocalCommand="},
	{"gdb lldb", "-ex -eval-command --eval-command -o --one-line", "shell "},
	{"gdb lldb", "-ex -eval-command --eval-command -o --one-line", "!"},
	{"zip", "-TT --unzip-command", ""},
	{"sort", "--compress-program", ""},
	{"nix-shell", "--run --command", ""},
	{"mise rtx", "-c --command", ""},
	{"dmsetup", "--exec", ""},
	{"aria2c",
	 "--on-download-complete --on-download-error --on-download-start --on-download-stop "
	 "--on-bt-download-complete --on-download-pause",
	 ""},
	{"split", "--filter", ""},
	{"man", "-P --pager -H --html", ""},
	{"rpm rpmbuild rpmdb rpmquery rpmspec rpmverify", "-E --eval", "%("},
	{"rpm rpmquery rpmverify", "--pipe", ""},
	{"gem", "-e --editor", ""},
	{"restic rclone", "--password-command", ""},
	{"nmap", "--script", "os.execute("},
	{"strace ltrace", "-o --output", "|"},
	{"npx npm pnpx", "-c --call", ""},
	{"psql", "-c --command", "\\!"},
	{"mysql mariadb", "-e --execute", "\\!"},
	{"sqlite3", "-cmd", ".shell "},
	{"lftp", "-c -e", "!"},
	{"wget", "--use-askpass", ""},
	{"emacs", "--eval -eval", "(shell-command "},
	{"mapfile readarray compgen complete", "-C", ""},
};

static bool holder_text(struct texts *texts, const char *name)
{
	const struct command *command = texts->command;

	for (size_t i = 0; i < ELEMENTS(holders); i++) {
		size_t skip = strlen(holders[i].prefix);

		if (!parse_word_in(holders[i].names, name, strlen(name)))
			continue;
		for (size_t j = texts->first + 1; j < command->argc; j++) {
			size_t at;
			const char *value = option_value(command, j, holders[i].options, &at);

			if (value && strncmp(value, holders[i].prefix, skip) == 0 &&
			    unwrap_take(texts, value + skip, unwrap_is_live(command, at)))
				return true;
		}
	}
	return false;
}

/* git. */

/* A setting of git's whose value is a command. */
static bool is_git_command(const char *key)
{
	static const char *const keys[] = {"core.sshcommand",
					   "core.editor",
					   "core.pager",
					   "core.fsmonitor",
					   "core.askpass",
					   "sequence.editor",
					   "diff.external",
					   "gpg.program",
					   "gpg.*.program",
					   "filter.*",
					   "merge.*.driver",
					   "difftool.*.cmd",
					   "mergetool.*.cmd",
					   "diff.*.textconv",
					   "diff.*.command",
					   "interactive.difffilter",
					   "pager.*",
					   "browser.*.cmd",
					   "credential*.helper",
					   "core.gitproxy",
					   "uploadpack.packobjectshook",
					   "remote.*.uploadpack",
					   "remote.*.receivepack"};

	for (size_t i = 0; i < ELEMENTS(keys); i++)
		if (fnmatch(keys[i], key, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

/* alias.x=VALUE, called with the words from `rest` on. */
static bool git_alias(struct texts *texts, const char *value, bool live, size_t rest)
{
	const struct command *command = texts->command;

	texts->inner->kind = PLACE_ALIAS;
	texts->inner->more_words = true;
	texts->inner->arguments = command->argv + MIN(rest, command->argc);
	texts->inner->argument_count = command->argc - MIN(rest, command->argc);
	if (value[0] == '!')
		return unwrap_take(texts, value + 1, live);
	return unwrap_take(texts, arena_printf(texts->arena, "git %s", value), live);
}

/* One setting, as -c KEY=VALUE or `git config KEY VALUE` give it. */
static bool git_setting(struct texts *texts, const char *key, const char *value, bool live,
			size_t rest)
{
	const char *verb = rest < texts->command->argc ? texts->command->argv[rest] : NULL;

	if (strncasecmp(key, "alias.", 6) == 0)
		return git_alias(texts, value, live,
				 verb && strcmp(verb, key + 6) == 0 ? rest + 1
								    : texts->command->argc);
	if (!is_git_command(key))
		return false;
	if (strncasecmp(key, "credential", 10) == 0)
		return value[0] == '!' && unwrap_take(texts, value + 1, live);
	texts->inner->name = key;
	return unwrap_take(texts, value, live);
}

/* Options of git's verbs whose value is a command. */
static bool git_option(struct texts *texts, const char *verb, size_t first)
{
	static const struct {
		const char *verbs, *options;
	} options[] = {
		{"rebase", "-x --exec"},
		{"difftool", "-x --extcmd"},
		{"fetch pull clone ls-remote fetch-pack", "--upload-pack --exec"},
		{"push send-pack", "--receive-pack --exec"},
		{"archive", "--exec"},
		{"filter-branch", "--tree-filter --index-filter --msg-filter --env-filter "
				  "--commit-filter --tag-name-filter --parent-filter"},
	};
	const struct command *command = texts->command;

	for (size_t i = 0; *verb && i < ELEMENTS(options); i++) {
		if (!parse_word_in(options[i].verbs, verb, strlen(verb)))
			continue;
		for (size_t j = first + 1; j < command->argc; j++) {
			size_t at;
			const char *value = option_value(command, j, options[i].options, &at);

			if (unwrap_take(texts, value, unwrap_is_live(command, at)))
				return true;
		}
	}
	return false;
}

static bool git_text(struct texts *texts)
{
	static const char with_value[] = "-C -c --git-dir --work-tree --namespace --exec-path "
					 "--config-env --super-prefix";
	const struct command *command = texts->command;
	size_t verb = parse_operand(command, texts->first + 1, with_value), at;
	const char *name = verb < command->argc ? command->argv[verb] : "";

	for (size_t i = texts->first + 1; i + 1 < verb; i++) {
		const char *equals = strchr(command->argv[i + 1], '=');

		if (strcmp(command->argv[i], "-c") == 0 && equals &&
		    git_setting(texts,
				arena_strndup(texts->arena, command->argv[i + 1],
					      (size_t)(equals - command->argv[i + 1])),
				equals + 1, unwrap_is_live(command, i + 1), verb))
			return true;
	}
	/* git clone -c KEY=VALUE, and what follows a clone takes them, too */
	for (size_t i = verb; strcmp(name, "clone") == 0 && i < command->argc; i++) {
		const char *value = option_value(command, i, "-c --config", &at);
		const char *equals = value ? strchr(value, '=') : NULL;

		if (equals &&
		    git_setting(texts, arena_strndup(texts->arena, value, (size_t)(equals - value)),
				equals + 1, unwrap_is_live(command, at), command->argc))
			return true;
	}
	if (strcmp(name, "config") == 0) {
		at = parse_operand(command, verb + 1, "-f --file --blob --type -t --comment");
		if (at < command->argc && strcmp(command->argv[at], "set") == 0)
			at = parse_operand(command, at + 1, "-f --file --blob --type -t");
		if (at + 1 < command->argc &&
		    git_setting(texts, command->argv[at], command->argv[at + 1],
				unwrap_is_live(command, at + 1), command->argc))
			return true;
	}
	if (git_option(texts, name, verb))
		return true;
	at = verb + 2;
	if (at < command->argc &&
	    ((strcmp(name, "bisect") == 0 && strcmp(command->argv[verb + 1], "run") == 0) ||
	     (strcmp(name, "submodule") == 0 && strcmp(command->argv[verb + 1], "foreach") == 0))) {
		at = parse_operand(command, at, NULL);
		texts->live = false;
		if (unwrap_take(texts, unwrap_joined(texts, at, command->argc), texts->live))
			return true;
	}
	for (size_t i = verb; i < command->argc; i++)
		if (strncmp(command->argv[i], "ext::", 5) == 0 &&
		    unwrap_take(texts, command->argv[i] + 5, unwrap_is_live(command, i)))
			return true;
	return false;
}

/* sed: `e COMMAND` in a script, behind an address or a brace. */
static const char *sed_command(struct arena *arena, const char **script)
{
	for (const char *at = *script; (at = strchr(at, 'e')); at++) {
		const char *before = at, *end;

		while (before > *script && strchr("0123456789,$ ", before[-1]))
			before--;
		if ((before > *script && !strchr(";\n{/!", before[-1])) ||
		    (at[1] != ' ' && at[1] != '\t'))
			continue;
		end = at + strcspn(at, "\n");
		*script = end;
		return arena_strndup(arena, at + 2, end > at + 2 ? (size_t)(end - at - 2) : 0);
	}
	return NULL;
}

static bool sed_text(struct texts *texts)
{
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *script = command->argv[i], *text;

		while (strchr(script, 'e') && (text = sed_command(texts->arena, &script)))
			if (unwrap_take(texts, text, unwrap_is_live(command, i)))
				return true;
	}
	return false;
}

/* vim -c '!rm x', vim +'!rm x' FILE */
static bool vim_text(struct texts *texts)
{
	const struct command *command = texts->command;

	for (size_t i = texts->first + 1; i < command->argc; i++) {
		const char *script = editor_script(command, i);

		if (script && editor_text(texts, script, unwrap_is_live(command, i)))
			return true;
	}
	return false;
}

bool options_text(struct texts *texts, const char *name)
{
	if (holder_text(texts, name))
		return true;
	if (strcmp(name, "git") == 0)
		return git_text(texts);
	if (parse_word_in("sed gsed", name, strlen(name)))
		return sed_text(texts);
	if (parse_word_in("vim vi nvim ex view gvim rvim", name, strlen(name)) && vim_text(texts))
		return true;
	if (parse_word_in("make gmake", name, strlen(name)))
		return make_text(texts);
	return false;
}
