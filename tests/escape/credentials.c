/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a token in repo/.git/config, by every way to that file. The argument is the token. */
#include "attack.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define CONFIG "repo/.git/config"

static bool holds(const char *text, size_t length, const char *token)
{
	return memmem(text, length, token, strlen(token)) != NULL;
}

static bool fd_holds(int fd, const char *token)
{
	static __thread char text[1 << 16];
	ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof(text), 0);

	if (fd >= 0)
		close(fd);
	return length > 0 && holds(text, (size_t)length, token);
}

static bool file_holds(const char *path, const char *token)
{
	return fd_holds(open(path, O_RDONLY), token);
}

static bool output_holds(const char *command, const char *token)
{
	static char text[1 << 18];
	FILE *pipe = popen(command, "r");
	size_t length = pipe ? fread(text, 1, sizeof(text), pipe) : 0;

	if (!pipe)
		cannot_try(command);
	pclose(pipe);
	return holds(text, length, token);
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644), r;

	if (fd < 0)
		return -1;
	r = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return r;
}

static int attack_read(char **arguments)
{
	char path[256];
	bool seen = file_holds(CONFIG, arguments[0]);

	seen |= file_holds("repo/.git/../.git/config", arguments[0]);
	seen |= file_holds("/proc/self/cwd/" CONFIG, arguments[0]);
	seen |= file_holds("/proc/thread-self/root/proc/self/cwd/" CONFIG, arguments[0]);
	snprintf(path, sizeof(path), "/proc/%d/cwd/" CONFIG, getppid());
	seen |= file_holds(path, arguments[0]);
	seen |= fd_holds(openat(open("repo/.git", O_PATH), "config", O_RDONLY), arguments[0]);
	return verdict(seen, "reading it");
}

static int attack_reopen(char **arguments)
{
	int fd = open(CONFIG, O_PATH);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return verdict(file_holds(path, arguments[0]) ||
			       fd_holds(open(CONFIG, O_RDWR), arguments[0]) ||
			       fd_holds(open(CONFIG, O_RDWR | O_CREAT, 0600), arguments[0]) ||
			       fd_holds(open(path, O_RDWR), arguments[0]),
		       "opening it again");
}

static int attack_map(char **arguments)
{
	int fd = open(CONFIG, O_RDONLY);
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0)
		return verdict(false, "opening it");
	text = mmap(NULL, (size_t)st.st_size + 4096, PROT_READ, MAP_SHARED, fd, 0);
	return verdict(text != MAP_FAILED && holds(text, (size_t)st.st_size, arguments[0]),
		       "mapping it");
}

static int attack_copy(char **arguments)
{
	int fd = open(CONFIG, O_RDONLY), copy = memfd_create("copy", 0);

	sendfile(copy, fd, NULL, 1 << 16);
	if (fd_holds(copy, arguments[0]))
		return verdict(true, "sendfile");
	return verdict(
		output_holds("cp -a repo copy; cat copy/.git/config; cp --reflink=auto " CONFIG
			     " copied; cat copied; tar cf - repo",
			     arguments[0]),
		"copying it");
}

static int attack_git(char **arguments)
{
	return verdict(
		output_holds("cd repo; (git config --list --show-origin; git remote -v; git "
			     "config --get-regexp .; GIT_TRACE=2 GIT_CURL_VERBOSE=1 git "
			     "ls-remote origin; git clone . ../clone; cat "
			     "../clone/.git/config; git worktree add ../tree; git -C ../tree "
			     "config --list) 2>&1",
			     arguments[0]),
		"asking git");
}

static int attack_link(char **arguments)
{
	link(CONFIG, "name");
	linkat(open("repo/.git", O_PATH), "config", AT_FDCWD, "name2", 0);
	link(CONFIG, "repo/.git/objects/name");
	symlink(CONFIG, "name3");
	return verdict(file_holds("name", arguments[0]) || file_holds("name2", arguments[0]) ||
			       file_holds("name3", arguments[0]) ||
			       file_holds("repo/.git/objects/name", arguments[0]),
		       "another name");
}

static int attack_move(char **arguments)
{
	mkdir("else", 0755);
	put("decoy", "decoy");
	renameat2(AT_FDCWD, "decoy", AT_FDCWD, CONFIG, RENAME_EXCHANGE);
	rename(CONFIG, "repo/.git/moved");
	rename(CONFIG, "moved");
	rename("repo/.git", "else/git");
	rename("repo", "else/repo");
	return verdict(output_holds("cat decoy moved else/git/config else/repo/.git/* "
				    "repo/.git/* 2>&1",
				    arguments[0]),
		       "moving it");
}

/* What the supervisor installs it reads itself, and it sees the file. */
static int attack_installed_elsewhere(char **arguments)
{
	bool seen = false;

	mkdir("other.git", 0755);
	mkdir("other.git/objects", 0755);
	mkdir("other.git/refs", 0755);
	put("other.git/HEAD", "ref: refs/heads/main\n");
	symlink("../" CONFIG, "other.git/config.lock");
	rename("other.git/config.lock", "other.git/config");
	seen |= file_holds("other.git/config", arguments[0]);
	unlink("other.git/config.lock");
	link(CONFIG, "other.git/config.lock");
	rename("other.git/config.lock", "other.git/config");
	seen |= file_holds("other.git/config", arguments[0]);
	symlink("config", "repo/.git/config.lock");
	rename("repo/.git/config.lock", "repo/.git/config.worktree");
	rename("repo/.git/config.lock", CONFIG);
	seen |= file_holds("repo/.git/config.worktree", arguments[0]) ||
		file_holds("repo/.git/config.lock", arguments[0]);
	unlink("repo/.git/config.lock");
	return verdict(seen || file_holds(CONFIG, arguments[0]), "having it installed elsewhere");
}

/* The credentials are put back where the address is the same: in a form in which it is not seen as
 * one any more they would be shown. */
static int attack_written_otherwise(char **arguments)
{
	static const char *const texts[] = {
		"[remote \"origin\"]\n\turl = \"https://example.com/a/b.git\"\n",
		"[remote \"origin\"]\n\turl = https://exam\\\nple.com/a/b.git\n",
		"[remote \"origin\"]\n\turl = https://example.com/a/b.git # x\n",
		"[remote \"origin\"] url = https://example.com/a/b.git\n",
		"[REMOTE \"origin\"]\n\tURL=https://example.com/a/b.git\n",
		"[remote \"origin\"]\n\turl = \"https:\"//example.com/a/b.git\n",
		"[remote \"origin\"]\n\turl = https://example.com/a/b.git\n\turl = "
		"https://example.com/a/b.git\n\tpushurl = https://example.com/a/b.git\n",
		"[remote \"origin\"]\n\turl = https://x@example.com/a/b.git\n",
		"[remote \"origin\"]\n\turl = https://example.com/a/b.git\\t\n",
		"[remote \"other\"]\n\turl = https://example.com/a/b.git\n[user]\n\tname = "
		"https://example.com/a/b.git\n",
		"[remote.origin]\n\turl = https://example.com/a/b.git\n",
		"\r\n[remote \"origin\"]\r\n\turl = https://example.com/a/b.git\r\n",
	};
	bool seen = false;

	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		unlink("repo/.git/config.lock");
		put("repo/.git/config.lock", texts[i]);
		rename("repo/.git/config.lock", CONFIG);
		if (file_holds(CONFIG, arguments[0]) ||
		    file_holds("repo/.git/config.lock", arguments[0])) {
			fprintf(stderr, "text %zu\n", i);
			seen = true;
		}
	}
	return verdict(seen, "writing the address otherwise");
}

static volatile bool race_won;

static void *read_on(void *token)
{
	for (;;)
		if (file_holds(CONFIG, token) || file_holds("repo/.git/config.lock", token))
			race_won = true;
	return NULL;
}

static int attack_race(char **arguments)
{
	start_racer(read_on, arguments[0]);
	start_racer(read_on, arguments[0]);
	if (system("cd repo; for i in $(seq 200); do git config user.name $i || exit 1; done") != 0)
		cannot_try("git config");
	return verdict(race_won || file_holds(CONFIG, arguments[0]), "reading while it is written");
}

static const struct attack attacks[] = {
	{"read", 1, attack_read},
	{"reopen", 1, attack_reopen},
	{"map", 1, attack_map},
	{"copy", 1, attack_copy},
	{"git", 1, attack_git},
	{"link", 1, attack_link},
	{"move", 1, attack_move},
	{"race", 1, attack_race},
	/* These need something that puts credentials back. */
	{"installed-elsewhere", 1, attack_installed_elsewhere},
	{"written-otherwise", 1, attack_written_otherwise},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
