/* SPDX-License-Identifier: Apache-2.0 */
/* What one command makes ready for another: downloads, decoded texts, secrets, and who runs or
 * sends them. */
#include "facts.h"
#include "../base/path.h"

#include <string.h>

bool is_downloader(const char *program)
{
	return match_one("curl wget fetch aria2c http https nc ncat socat lynx w3m",
			 path_last(program));
}

/* \x72\x6d, \162\155: letters that are not to be seen. */
static bool is_coded(const char *word)
{
	for (const char *at = word; (at = strchr(at, '\\')); at++)
		if (at[1] == 'x' || at[1] == 'u' || (at[1] >= '0' && at[1] <= '7'))
			return true;
	return false;
}

bool is_decoder(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);

	if (match_one("echo printf", name))
		return match_operand(command, first, is_coded);
	return match_one("rev uudecode", name) ||
	       (match_one("base64 base32 basenc", name) &&
		match_flag(command, first, "-d -D --decode")) ||
	       (match_one("xxd", name) && match_flag(command, first, "-r")) ||
	       (match_one("openssl", name) && match_flag(command, first, "-d"));
}

bool shows_file(const struct command *command, size_t first)
{
	return command->argc > first + 1 &&
	       match_one("cat base64 base32 head tail tac xxd od hexdump strings tar gzip zip env "
			 "printenv openssl gpg sed awk grep find ls",
			 path_last(command->argv[first]));
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
bool is_shell(const char *program)
{
	return match_one(shells, path_last(program));
}

static const char interpreters[] =
	"python python[23]* perl ruby node php lua deno bun Rscript osascript";

bool runs_input(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool shell = match_one(shells, name);
	size_t operand = parse_operand(command, first + 1, "-o -O --rcfile --init-file");

	/* $(printf '\x72\x6d') FILE: what the program is called is part of what it is handed */
	if (is_substitution(command->argv[first]))
		return true;
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

/* https://HOST/FILE, HOST.ORG/FILE */
static bool is_url(const char *word)
{
	size_t host = strcspn(word, "/");

	return strstr(word, "://") ||
	       (word[host] && !strchr("-./~$", word[0]) && memchr(word, '.', host));
}

/* wget URL, curl -O URL: the file is called as the URL ends. */
static const char *named_by_url(const struct command *command, size_t first, const char *name)
{
	if (strcmp(name, "curl") == 0 && !match_flag(command, first, "-O --remote-name"))
		return NULL;
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_url(command->argv[i]) && *path_last(command->argv[i]))
			return path_last(command->argv[i]);
	return NULL;
}

const char *download_file(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]), *options;

	options = match_one("wget", name)     ? "-O --output-document"
		  : match_one("curl", name)   ? "-o --output"
		  : match_one("aria2c", name) ? "-o --out"
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
	return *options ? named_by_url(command, first, name) : NULL;
}

/* Files that a tool runs without being told their names. */
static bool runs_by_name(const char *name, const char *file)
{
	static const struct {
		const char *files, *tools;
	} builds[] = {
		{"Makefile makefile GNUmakefile", "make gmake bmake remake"},
		{"build.ninja", "ninja samu"},
		{"package.json .npmrc", "npm pnpm yarn bun npx"},
		{"setup.py pyproject.toml setup.cfg", "pip pip3 uv poetry tox nox hatch"},
		{"Cargo.toml build.rs", "cargo"},
		{"CMakeLists.txt", "cmake"},
		{"meson.build", "meson"},
		{"SConstruct", "scons"},
		{"justfile Justfile .justfile", "just"},
		{"Taskfile.yml Taskfile.yaml", "task go-task"},
		{"Rakefile", "rake"},
		{"Gemfile", "bundle"},
		{"composer.json", "composer"},
		{"build.gradle build.gradle.kts settings.gradle", "gradle gradlew"},
		{"pom.xml", "mvn mvnw"},
		{"build.xml", "ant"},
		{"configure", "configure"},
		{"conftest.py pytest.ini", "pytest py.test"},
	};

	for (size_t i = 0; i < ELEMENTS(builds); i++)
		if (match_one(builds[i].files, file) && match_one(builds[i].tools, name))
			return true;
	return false;
}

const char *stored_by(const struct command *command, size_t first)
{
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].operator[0] == '>' && command->redirects[i].fd<2)
			return command->redirects[i].target;
	for (size_t i = first + 1;
	     match_one("tee sponge", path_last(command->argv[first])) && i < command->argc; i++)
		if (command->argv[i][0] != '-')
			return command->argv[i];
	return NULL;
}

bool runs_file(const struct command *command, size_t first, const char *file)
{
	const char *name = path_last(command->argv[first]);
	size_t operand;

	if (runs_by_name(name, path_last(file)))
		return true;
	if (strcmp(path_last(file), name) == 0 && strchr(command->argv[first], '/'))
		return true;
	if (!match_one(shells, name) && !match_one(interpreters, name) &&
	    !match_one("source . chmod installer dpkg rpm", name) && !runs_recipes(name))
		return false;
	for (operand = first + 1; operand < command->argc; operand++)
		if (strcmp(path_last(command->argv[operand]), path_last(file)) == 0)
			return true;
	return false;
}

bool runs_recipes(const char *name)
{
	return match_one("make gmake bmake nmake remake ninja samu just task go-task rake ant sed "
			 "gsed gdb lldb parallel",
			 name);
}

bool unpacks(const struct command *command, size_t first, bool piped, const char *file,
	     const char **ret_to, bool *ret_flat)
{
	const char *name = path_last(command->argv[first]);
	bool tar = match_one("tar gtar bsdtar", name), found = piped;

	if (!tar && !match_one("unzip 7z 7za 7zz unar cpio bsdcpio unrar", name))
		return false;
	if (tar && !match_flag(command, first, "-x --extract --get") &&
	    !(command->argc > first + 1 && strchr(command->argv[first + 1], 'x') &&
	      !strpbrk(command->argv[first + 1], "-./")))
		return false;
	*ret_to = NULL;
	*ret_flat = false;
	for (size_t i = first + 1; i < command->argc; i++) {
		found |= file && strcmp(path_last(command->argv[i]), path_last(file)) == 0;
		if (i + 1 < command->argc &&
		    match_one("-C --directory -d -D -o", command->argv[i]) &&
		    (tar ? !match_one("-d -D -o", command->argv[i]) : true))
			*ret_to = command->argv[i + 1];
		else if (strncmp(command->argv[i], "--directory=", 12) == 0)
			*ret_to = command->argv[i] + 12;
		*ret_flat |= strncmp(command->argv[i], "--strip", 7) == 0;
	}
	return found;
}

static const char *plain(const char *path)
{
	while (strncmp(path, "./", 2) == 0)
		path += 2;
	return path;
}

/* Below the directory, by what both are called. */
static bool lies_in(const char *path, const char *directory)
{
	size_t length = strlen(directory = plain(directory));

	path = plain(path);
	while (length > 1 && directory[length - 1] == '/')
		length--;
	if (length == 0 || (length == 1 && directory[0] == '.'))
		return path[0] != '/' && path[0] != '~' && strncmp(path, "../", 3) != 0;
	return strncmp(path, directory, length) == 0 && strchr("/", path[length]);
}

bool enters(const struct command *command, const char *to)
{
	const char *word = command->argc == 2 ? command->argv[1] : "";

	if (to && !lies_in("x", to))
		return lies_in(word, to) || (strchr(word, '$') && strcmp(word, to) == 0);
	return *word && !strchr("/~-$", word[0]) && strncmp(word, "..", 2) != 0;
}

bool runs_unpacked(const struct command *command, size_t first, const char *to, bool entered)
{
	const char *name = path_last(command->argv[first]);

	to = to && !entered ? to : ".";
	if (strchr(command->argv[first], '/') && lies_in(command->argv[first], to))
		return true;
	if (entered &&
	    match_one("make gmake bmake ninja samu just task rake ant mvn gradle npm pnpm yarn bun "
		      "pip pip3 uv poetry cargo go cmake meson scons bundle gem composer",
		      name))
		return true;
	if (!match_one(shells, name) && !match_one(interpreters, name) &&
	    !match_one("source . pip pip3 make gmake npm", name))
		return false;
	for (size_t i = first + 1; i < command->argc; i++)
		if (command->argv[i][0] != '-' && (entered || strchr(command->argv[i], '/')) &&
		    lies_in(command->argv[i], to))
			return true;
	return false;
}

/* The environment, or a file of secrets, on standard output. */
bool shows_secrets(const struct command *command, size_t first)
{
	const char *name = path_last(command->argv[first]);
	bool alone = first + 1 == command->argc ||
		     (first + 2 == command->argc && strcmp(command->argv[first + 1], "-p") == 0);

	if (match_one("env printenv export declare set", name))
		return alone;
	if (!match_one("cat tar base64 base32 gzip xxd zip head tail openssl gpg", name))
		return false;
	for (size_t i = first + 1; i < command->argc; i++)
		if (is_secret(command->argv[i]) || strcmp(path_last(command->argv[i]), ".env") == 0)
			return true;
	return false;
}

bool is_sql_client(const char *name)
{
	return match_one("psql mysql mariadb sqlite3 sqlcmd clickhouse-client duckdb redis-cli "
			 "mongosh mongo cockroach",
			 name);
}
