/* SPDX-License-Identifier: Apache-2.0 */
/* How tools are called: what their flags and verbs come to where a list of them cannot say. */
#include "facts.h"
#include "../base/path.h"

#include <string.h>

bool pushes(const struct command *command, size_t first)
{
	return !match_flag(command, first, "-n --dry-run --help");
}

static bool is_forced_refspec(const char *word)
{
	return word[0] == '+' || (word[0] == ':' && word[1]);
}

bool forces_refspec(const struct command *command, size_t first)
{
	return match_operand(command, first, is_forced_refspec);
}

bool cleans(const struct command *command, size_t first)
{
	return !match_flag(command, first, "-n --dry-run");
}

static bool is_here(const char *word)
{
	return parse_word_in(". ./ :/ * ./*", word, strlen(word));
}

/* git checkout COMMIT PATH... */
static bool has_paths(const struct command *command, size_t first)
{
	size_t i = first + 1, operands = 0;

	while (i < command->argc && strcmp(command->argv[i], "checkout") != 0)
		i++;
	for (i++; i < command->argc; i++)
		operands += command->argv[i][0] != '-' && command->argv[i][0] != '>';
	return operands > 1;
}

/* git checkout with paths, or by force. */
bool discards_files(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (strcmp(command->argv[i], "--") == 0)
			return i + 1 < command->argc;
	if (match_flag(command, first, "-b -B -t --track --orphan"))
		return false;
	return match_flag(command, first, "-f --force --ours --theirs") ||
	       match_operand(command, first, is_here) || has_paths(command, first);
}

/* git restore, unless it is only the index that is restored. */
bool restores_files(const struct command *command, size_t first)
{
	return !match_flag(command, first, "-S --staged") ||
	       match_flag(command, first, "-W --worktree");
}

static bool is_goal(const char *word)
{
	static const char goals[] = "deploy deploy:* *:deploy release:perform publish publish* "
				    "*:publish* db:drop* db:reset* "
				    "db:purge migrate:fresh migrate:reset db:wipe ecto.drop "
				    "ecto.reset hex.publish flush";

	return match_one(goals, word) && strcmp(word, "publishToMavenLocal") != 0;
}

bool has_goal(const struct command *command, size_t first)
{
	return match_operand(command, first, is_goal);
}

static bool is_deploy_goal(const char *word)
{
	return match_one("deploy deploy:* deploy-* *:deploy", word);
}

bool has_deploy_goal(const struct command *command, size_t first)
{
	return match_operand(command, first, is_deploy_goal);
}

static bool is_cloud_verb(const char *word)
{
	static const char verbs[] =
		"delete delete-* terminate-* remove remove-* rm rb mb mv sync cp put-* create "
		"create-* "
		"update update-* modify-* stop stop-* start-* reboot-* run-instances deregister-* "
		"detach-* disable disable-* revoke-* purge purge-* deallocate reset reset-* deploy "
		"destroy restart set-iam-policy add-iam-policy-binding publish invoke resize "
		"failover";

	return match_one(verbs, word);
}

/* aws s3 cp s3://there here */
static bool is_fetch(const struct command *command, size_t first)
{
	const char *last = command->argv[command->argc - 1];
	bool copies = false;

	for (size_t i = first + 1; i < command->argc; i++)
		copies |= parse_word_in("cp sync", command->argv[i], strlen(command->argv[i]));
	return copies && !strstr(last, "://") && last[0] != '-';
}

bool has_cloud_verb(const struct command *command, size_t first)
{
	if (is_fetch(command, first))
		return false;
	return match_operand(command, first, is_cloud_verb);
}

/* gh api and curl, with a method that changes something, or a body. */
bool writes_api(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i], *method = NULL;

		if (match_one("-X --method --request", word))
			method = i + 1 < command->argc ? command->argv[i + 1] : NULL;
		else if (strncmp(word, "-X", 2) == 0)
			method = word + 2;
		else if (strncmp(word, "--method=", 9) == 0)
			method = word + 9;
		else if (strncmp(word, "--request=", 10) == 0)
			method = word + 10;
		if (method && match_one("DELETE PUT PATCH delete put patch", method))
			return true;
		if (method && match_one("POST post", method) &&
		    strcmp(path_last(command->argv[first]), "gh") == 0)
			return true;
	}
	return false;
}

bool installs_globally(const struct command *command, size_t first)
{
	return match_flag(command, first, "-g --global --location=global") ||
	       (command->argc > first + 1 && strcmp(command->argv[first + 1], "global") == 0);
}

bool replaces_crontab(const struct command *command, size_t first)
{
	return !match_flag(command, first, "-l --help");
}

bool calls_remote(const struct command *command, size_t first)
{
	size_t host =
		parse_operand(command, first + 1,
			      "-B -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w");

	return host < command->argc;
}

/* Calls that change nothing, whatever they are given. */
static const struct {
	const char *tools, *verbs; /* verbs: the first operand must be one of them */
	const char *not_flags;
} readers[] = {
	{"ls cat head tail grep egrep fgrep rg ag wc uniq cut tr nl tac rev diff cmp comm file "
	 "stat du "
	 "df pwd echo printf true false : test [ [[ which type whoami id date uname hostname "
	 "printenv "
	 "ps tree realpath readlink basename dirname md5sum sha1sum sha256sum sha512sum cksum jq "
	 "seq sleep exit return cd pushd popd dirs hash ulimit umask nproc free uptime lsof "
	 "strings "
	 "od xxd hexdump fold column paste join expand less more bat function local declare "
	 "typeset "
	 "export readonly set shopt shift break continue read wait jobs getopts unset",
	 NULL, NULL},
	{"find fd", NULL, "-delete -exec -execdir -ok -okdir -fprint -fprintf -fls -x -X --exec"},
	{"sed", NULL, "-i --in-place"},
	{"sort", NULL, "-o --output"},
	{"git",
	 "status diff log show blame ls-files ls-tree rev-parse rev-list grep describe shortlog "
	 "cat-file whatchanged name-rev merge-base count-objects version help",
	 "--output"},
	{"cargo", "tree metadata version", NULL},
	{"go", "list version env", "-w -u"},
	{"npm pnpm yarn", "ls list outdated why view", NULL},
	{"pip pip3", "list show freeze", NULL},
	{"docker podman", "ps images inspect version info", NULL},
	{"kubectl oc", "get describe logs version", NULL},
};

bool only_reads(const struct command *command, size_t first)
{
	const char *tool = path_last(command->argv[first]);

	for (size_t i = 0; i < command->redirect_count; i++)
		if (strchr(command->redirects[i].operator, '>') &&
		    !match_one("[0-9] -", command->redirects[i].target) &&
		    path_reach(command->redirects[i].target) != REACH_NONE)
			return false;
	for (size_t i = 0; i < ELEMENTS(readers); i++) {
		size_t verb = parse_operand(command, first + 1, "-C -c");

		if (!match_one(readers[i].tools, tool))
			continue;
		if (readers[i].verbs &&
		    (verb >= command->argc || !match_one(readers[i].verbs, command->argv[verb])))
			return false;
		return !readers[i].not_flags || !match_flag(command, first, readers[i].not_flags);
	}
	return false;
}

bool is_downloader(const char *program)
{
	return match_one("curl wget fetch aria2c http https nc ncat socat lynx w3m",
			 path_last(program));
}

bool is_decoder(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	return (match_one("base64 base32 basenc", name) &&
		match_flag(command, first, "-d -D --decode")) ||
	       (match_one("xxd", name) && match_flag(command, first, "-r")) ||
	       (match_one("openssl", name) && match_flag(command, first, "-d"));
}

static bool is_substitution(const char *word)
{
	return strstr(word, "$(") || strchr(word, '`') || strstr(word, "<(");
}

bool sends_input(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	if (match_one("nc ncat socat telnet", name))
		return true;
	for (size_t i = first + 1; is_downloader(name) && i < command->argc; i++) {
		const char *word = command->argv[i];

		if (strstr(word, "@-") || strstr(word, "@/dev/stdin") || strcmp(word, ".") == 0 ||
		    strcmp(word, "-") == 0 || (command->dynamic && is_substitution(word)))
			return true;
	}
	return false;
}

static const char shells[] = "sh bash dash zsh ksh ash mksh fish";
static const char interpreters[] =
	"python python[23]* perl ruby node php lua deno bun Rscript osascript";

bool runs_input(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool shell = match_one(shells, name);
	size_t operand = parse_operand(command, first + 1, "-o -O --rcfile --init-file");

	if (match_one("eval source .", name))
		return match_operand(command, first, is_substitution);
	if (!shell && !match_one(interpreters, name))
		return false;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '<')
			return is_substitution(command->redirects[i].target);
	if (operand < command->argc &&
	    !match_one("- /dev/stdin /dev/fd/0 /proc/self/fd/0", command->argv[operand]))
		return (shell && match_flag(command, first, "-s")) ||
		       (command->dynamic && is_substitution(command->argv[operand]));
	/* python -mjson.tool reads data, sh -e reads commands */
	return shell ? !match_flag(command, first, "--version --help") : operand == first + 1;
}

const char *download_file(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]), *options;

	options = match_one("wget", name)   ? "-O --output-document"
		  : match_one("curl", name) ? "-o --output"
					    : "";
	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		size_t length = strlen(word);

		if (i + 1 < command->argc && (parse_word_in(options, word, length) ||
					      (*options && word[0] == '-' && word[1] != '-' &&
					       length > 2 && word[length - 1] == options[1])))
			return command->argv[i + 1];
	}
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '>' && command->redirects[i].fd<2)
			return command->redirects[i].target;
	return NULL;
}

bool runs_file(const struct command *command, size_t first, const char *file)
{
	const char *name = path_last(command->argv[first]);
	size_t operand;

	if (strcmp(path_last(file), name) == 0 && strchr(command->argv[first], '/'))
		return true;
	if (!match_one(shells, name) && !match_one(interpreters, name) &&
	    !match_one("source . chmod installer dpkg rpm", name))
		return false;
	for (operand = first + 1; operand < command->argc; operand++)
		if (strcmp(path_last(command->argv[operand]), path_last(file)) == 0)
			return true;
	return false;
}
