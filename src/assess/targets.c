/* SPDX-License-Identifier: Apache-2.0 */
/* What the words of a command name: files that are lost with them, disks, secrets, tables. */
#include "facts.h"
#include "../base/path.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

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
		"${HOME}/.* /home /home/* /root /usr /etc /var /bin /lib /boot /usr/* /etc/* "
		"/var/* /boot/*";
	_cleanup_free_ char *path = path_normalise(word);

	return parse_word_in(everything, path, strlen(path));
}

static bool is_temporary(const char *path)
{
	return strncmp(path, "/tmp/", 5) == 0 || strncmp(path, "/var/tmp/", 9) == 0 ||
	       strncmp(path, "$TMPDIR/", 8) == 0 || strncmp(path, "${TMPDIR}/", 10) == 0;
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

/* Names of what the next build or run makes again. */
static const char regenerable[] =
	"node_modules build build-* cmake-build-* _build target dist out obj __pycache__ "
	".pytest_cache .mypy_cache .ruff_cache .tox .nox .venv venv .eggs *.egg-info .next .nuxt "
	".svelte-kit .turbo .parcel-cache .cache .gradle .nyc_output coverage htmlcov .coverage "
	"tmp "
	"temp .tmp *.o *.a *.so *.pyc *.pyo *.class *.log *.tmp *.bak *.orig *.rej *.swp .DS_Store "
	"*.tsbuildinfo *.gcda *.gcno *.profraw test-results playwright-report storybook-static";

/* Not what a find or an xargs names: these are asked about themselves. */
static bool is_precious(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);
	const char *name = path_last(path);
	size_t above = (size_t)(name - path);

	if (is_temporary(path) || strcmp(word, "{}") == 0 || match_one(regenerable, name))
		return false;
	/* build/sub and build/ with a glob behind it */
	for (char *slash = above ? strchr(path, '/') : NULL; slash;
	     slash = strchr(slash + 1, '/')) {
		bool found;

		*slash = '\0';
		found = match_one(regenerable, path_last(path));
		*slash = '/';
		if (found)
			return false;
	}
	return true;
}

static bool is_all_here(const char *word)
{
	const char *name = path_last(word);

	return (strcmp(name, "*") == 0 || strcmp(name, ".*") == 0) && is_precious(word);
}

bool removes_everything(const struct command *command, size_t first)
{
	return match_operand(command, first, is_everything);
}

bool removes_outside(const struct command *command, size_t first)
{
	return !removes_everything(command, first) &&
	       (takes_more_words(command, first) || match_operand(command, first, is_outside));
}

bool removes_precious(const struct command *command, size_t first)
{
	return !removes_everything(command, first) && !removes_outside(command, first) &&
	       match_operand(command, first, is_precious);
}

bool removes_all_here(const struct command *command, size_t first)
{
	return !match_flag(command, first, "-r -R --recursive") &&
	       match_operand(command, first, is_all_here);
}

/* find with -delete or -exec rm, unless it looks for what is made again. */
bool finds_and_removes(const struct command *command, size_t first)
{
	bool removes = false, harmless = false, either = false;

	for (size_t i = first + 1; i < command->argc; i++) {
		const char *word = command->argv[i];
		const char *next = i + 1 < command->argc ? command->argv[i + 1] : "";

		removes |= strcmp(word, "-delete") == 0;
		either |= parse_word_in("-o -or ! -not ,", word, strlen(word));
		removes |= parse_word_in("-exec -execdir", word, strlen(word)) &&
			   match_one("rm unlink shred", path_last(next)) &&
			   match_flag(command, i + 1, "-r -R --recursive");
		if (parse_word_in("-name -iname", word, strlen(word))) {
			if (!match_one(regenerable, next))
				return removes || match_flag(command, first, "-delete");
			harmless = true;
		}
	}
	if (first + 1 < command->argc && is_temporary(command->argv[first + 1]))
		harmless = true;
	return removes && (!harmless || either);
}

bool is_disk(const char *path)
{
	static const char disks[] =
		"/dev/sd[a-z]* /dev/hd[a-z]* /dev/vd[a-z]* /dev/xvd* /dev/nvme* /dev/mmcblk* "
		"/dev/disk* /dev/disk/* /dev/rdisk* /dev/mapper/* /dev/dm-* /dev/md[0-9]* "
		"/dev/loop[0-9]* /dev/mem /dev/kmem /dev/port";
	_cleanup_free_ char *normal = path_normalise(path);

	return match_one(disks, normal);
}

bool writes_disk(const struct command *command, size_t first)
{
	return match_operand(command, first, is_disk);
}

static bool is_listing(const char *word)
{
	return match_one("print list help unit", word);
}

bool partitions_disk(const struct command *command, size_t first)
{
	return writes_disk(command, first) &&
	       !match_flag(command, first,
			   "-l --list -d --dump -p --print -v --verify --version") &&
	       !match_operand(command, first, is_listing);
}

static bool is_disk_output(const char *word)
{
	return strncmp(word, "of=", 3) == 0 && is_disk(word + 3);
}

bool copies_to_disk(const struct command *command, size_t first)
{
	return command->argc > first + 2 ? is_disk(command->argv[command->argc - 1]) ||
						   match_operand(command, first, is_disk_output)
					 : match_operand(command, first, is_disk_output);
}

bool is_secret(const char *word)
{
	static const char names[] = "id_rsa id_dsa id_ecdsa id_ed25519 id_*_sk .netrc "
				    ".git-credentials .pgpass .vault-token "
				    "*.kdbx credentials.json application_default_credentials.json";
	static const char places[] =
		"*/.ssh/id_* */.aws/credentials */.aws/config */.config/gh/hosts.yml "
		"*/.docker/config.json "
		"*/.kube/config */.gnupg/* */.gnupg */.npmrc */.pypirc */.cargo/credentials* "
		"*/.config/gcloud/* */.azure/* */.local/share/keyrings/* */.password-store/* "
		"*/.bash_history */.zsh_history /etc/shadow /etc/gshadow /etc/sudoers "
		"/proc/*/environ";
	size_t length = strlen(word);

	if (length > 4 && strcmp(word + length - 4, ".pub") == 0)
		return false;
	return match_one(names, path_last(word)) || match_one(places, word);
}

static bool is_secret_argument(const char *word)
{
	const char *file = strrchr(word, '@'); /* curl -d @FILE, -F name=@FILE */

	return is_secret(file ? file + 1 : word);
}

bool reads_secret(const struct command *command, size_t first)
{
	/* also among the options' values, which may stand apart */
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_secret_argument(command->argv[i]))
			return true;
	return false;
}

bool sends_file(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_secret_argument(command->argv[i]) ||
		    strstr(command->argv[i], "@.env") != NULL)
			return true;
	return false;
}

/* The word, not part of another one, whatever its case. */
static const char *find_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)); at += length)
		if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
		    !(isalnum((unsigned char)at[length]) || at[length] == '_'))
			return at;
	return NULL;
}

static bool is_followed_by(const char *text, const char *words)
{
	size_t length;

	text += strspn(text, " \t\n\r");
	length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_");
	for (; *words; words += strspn(words, " ")) {
		size_t size = strcspn(words, " ");

		if (size == length && strncasecmp(words, text, length) == 0)
			return true;
		words += size;
	}
	return false;
}

bool is_ruinous_sql(const char *text)
{
	static const char objects[] =
		"table database schema view index role user tablespace column keyspace collection "
		"materialized sequence type function extension owned";
	const char *at;

	if ((at = find_word(text, "drop")) && is_followed_by(at + 4, objects))
		return true;
	if ((at = find_word(text, "truncate")) && at[8] && !strchr("(,)", at[8]))
		return true;
	if ((at = find_word(text, "delete")) && is_followed_by(at + 6, "from")) {
		const char *end = strchr(at, ';'), *where = find_word(at, "where");

		return !where || (end && where > end);
	}
	return find_word(text, "flushall") || find_word(text, "flushdb") ||
	       strstr(text, "dropDatabase(") || strstr(text, ".drop()") ||
	       strstr(text, "deleteMany({})");
}

bool runs_ruinous_sql(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_ruinous_sql(command->argv[i]))
			return true;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (strncmp(command->redirects[i].operator, "<<", 2) == 0 &&
		    is_ruinous_sql(command->redirects[i].target))
			return true;
	return false;
}

/* scp and rsync: the last word is HOST:PATH. */
bool copies_to_host(const struct command *command, size_t first)
{
	const char *last = command->argc > first + 2 ? command->argv[command->argc - 1] : "";
	const char *colon = strchr(last, ':');

	return colon && colon > last && !memchr(last, '/', (size_t)(colon - last));
}

static bool is_set_id_mode(const char *word)
{
	size_t digits = strspn(word, "01234567");

	if (digits == strlen(word))
		return digits >= 4 && word[digits - 4] != '0' && word[digits - 4] != '1';
	return fnmatch("*[+=]*s*", word, 0) == 0 && strspn(word, "ugoa+-=rwxXst,") == strlen(word);
}

bool gives_set_id(const struct command *command, size_t first)
{
	size_t mode = parse_operand(command, first + 1, NULL);

	return mode < command->argc && is_set_id_mode(command->argv[mode]);
}

/* A process id of -1 means all of them. */
bool kills_all(const struct command *command, size_t first)
{
	for (size_t i = first + 1; i < command->argc; i++)
		if (strcmp(command->argv[i], "-1") == 0 &&
		    (i > first + 1 || i + 1 == command->argc))
			return true;
	return false;
}

enum reach path_reach(const char *word)
{
	_cleanup_free_ char *path = path_normalise(word);

	if (path[0] == '~' || strncmp(path, "$HOME", 5) == 0 || strncmp(path, "${HOME", 6) == 0 ||
	    strncmp(path, "/home/", 6) == 0 || path_is_under(path, "/root"))
		return REACH_HOME;
	if (path[0] != '/' || is_temporary(path))
		return REACH_WORKSPACE;
	if (match_one("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/*", path))
		return REACH_NONE;
	return REACH_SYSTEM;
}
