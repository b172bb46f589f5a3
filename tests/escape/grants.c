/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks with a yes: what was granted is used for what was not. DIR/a may be written, or DIR/f;
 * the rest may not. */
#include "granted.h"

#include <dirent.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>

/* A second name, or another place, for what must not be written. */
static int attack_link_into(char **arguments)
{
	be_given(below(arguments[0], "a"));
	if (link(below(arguments[0], "b/x"), below(arguments[0], "a/y")) < 0)
		return verdict(false, "link");
	return verdict(write_file(below(arguments[0], "a/y"), "evil"), "writing by another name");
}

static int attack_rename_into(char **arguments)
{
	be_given(below(arguments[0], "a"));
	return verdict(rename(below(arguments[0], "b/x"), below(arguments[0], "a/y")) == 0,
		       "rename");
}

/* A yes for this run that lasts: a name in the workspace. */
static int attack_link_out(char **arguments)
{
	if (!write_file(below(arguments[0], "f"), "mine"))
		cannot_try("writing what a person says yes to");
	if (link(below(arguments[0], "f"), "name") < 0)
		return verdict(false, "link");
	return verdict(write_file("name", "evil"), "writing by a name in the workspace");
}

/* A yes to delete one name of a file is none to write what has another. */
static int attack_rename_linked(char **arguments)
{
	if (rename(below(arguments[0], "f"), "name") < 0)
		return verdict(false, "rename");
	return verdict(write_file("name", "evil"), "writing what has another name");
}

static int attack_rename_linked_within(char **arguments)
{
	be_given(below(arguments[0], "a"));
	if (rename(below(arguments[0], "f"), below(arguments[0], "a/y")) < 0)
		return verdict(false, "rename");
	return verdict(write_file(below(arguments[0], "a/y"), "evil"),
		       "writing what has another name");
}

/* A yes to a directory's mode is none to what lies in it. */
static int attack_move_directory(char **arguments)
{
	if (chmod(below(arguments[0], "a"), 0750) < 0)
		cannot_try("changing what a person says yes to");
	if (rename(below(arguments[0], "a"), "stolen") < 0)
		return verdict(false, "rename");
	return verdict(write_file("stolen/x", "evil"), "writing what lay in it");
}

/* A repository is moved to where its hooks could be raced for. */
static int attack_move_repository(char **arguments)
{
	be_given(below(arguments[0], "a"));
	return verdict(rename(below(arguments[0], "a/repo"), "repo") == 0, "rename");
}

/* A directory that was opened in the workspace keeps the way by which it was. */
static int attack_move_out(char **arguments)
{
	be_given(below(arguments[0], "a"));
	mkdir("mine", 0700);
	return verdict(rename("mine", below(arguments[0], "a/mine")) == 0, "rename");
}

/* A tree is open, the names that run programs in it are not. */
static int attack_hook(char **arguments)
{
	be_given(below(arguments[0], "a"));
	return verdict(write_file(below(arguments[0], "a/repo/.git/hooks/pre-commit"), "evil") ||
			       rename(below(arguments[0], "a/repo/.git/hooks"),
				      below(arguments[0], "a/hooks")) == 0 ||
			       symlink("x", below(arguments[0], "a/repo/.git/hooks/pre-push")) ==
				       0 ||
			       link(below(arguments[0], "a/repo/.git/hooks/old"),
				    below(arguments[0], "a/y")) == 0 ||
			       chmod(below(arguments[0], "a/repo/.git/hooks/old"), 0777) == 0,
		       "a hook in a granted tree");
}

/* Nor is what a rule denies. */
static int attack_denied(char **arguments)
{
	be_given(below(arguments[0], "a"));
	return verdict(write_file(below(arguments[0], "a/x"), "evil") ||
			       unlink(below(arguments[0], "a/x")) == 0 ||
			       rename(below(arguments[0], "a/x"), below(arguments[0], "a/y")) ==
				       0 ||
			       rename(below(arguments[0], "a"), below(arguments[0], "a2")) == 0,
		       "a denied file in a granted tree");
}

/* A name that reads like a pattern. */
static int attack_star(char **arguments)
{
	if (!write_file(below(arguments[0], "a/**"), "mine"))
		cannot_try("writing what a person says yes to");
	return verdict(write_file(below(arguments[0], "a/x"), "evil"),
		       "writing what the name seems to mean");
}

static int attack_dangling(char **arguments)
{
	be_given(below(arguments[0], "a"));
	symlink(below(arguments[0], "b/n"), "way");
	symlink(below(arguments[0], "b/n"), below(arguments[0], "a/way"));
	return verdict(write_file("way", "evil") ||
			       write_file(below(arguments[0], "a/way"), "evil"),
		       "creating through a link");
}

/* The supervisor's number, as the test tells it once the command waits for the person. */
static const char *supervisor(void)
{
	static char text[32];
	int fd = open("supervisor", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		cannot_try("reading the supervisor's number");
	close(fd);
	return text;
}

static int attack_through_processes(char **arguments)
{
	static const char *const roots[] = {"/proc/self/root", "/proc/thread-self/root",
					    "/proc/1/root", "/proc/self/fd/9"};
	char path[8192];
	bool written = false;

	be_given(below(arguments[0], "a"));
	dup2(open("/", O_PATH), 9);
	for (size_t i = 0; i < ELEMENTS(roots) && !written; i++) {
		snprintf(path, sizeof(path), "%s%s/b/x", roots[i], arguments[0]);
		written = write_file(path, "evil");
	}
	snprintf(path, sizeof(path), "/proc/%s/root%s/b/x", supervisor(), arguments[0]);
	written = written || write_file(path, "evil");
	snprintf(path, sizeof(path), "%s/b/x", arguments[0]);
	chdir("/proc/self/root");
	return verdict(written || write_file(path + 1, "evil"), "writing through a process's root");
}

/* What the supervisor has open: its record, its memory, its sockets. */
static int attack_supervisor(char **arguments)
{
	static const char *const files[] = {"mem",  "fd/0", "fd/3",	     "fd/4", "fd/5", "fd/6",
					    "fd/7", "fd/8", "oom_score_adj", "comm", "root", "cwd"};
	char path[256];

	be_given(below(arguments[0], "a"));
	for (size_t i = 0; i < ELEMENTS(files); i++) {
		snprintf(path, sizeof(path), "/proc/%s/%s", supervisor(), files[i]);
		if (open(path, O_WRONLY) >= 0 || open(path, O_TMPFILE | O_WRONLY) >= 0)
			return verdict(true, path);
	}
	errno = ENOENT;
	return verdict(false, "opening what is the supervisor's");
}

/* Every process that can be seen, every number. */
static int attack_steal(char **arguments)
{
	be_given(below(arguments[0], "a"));
	for (int pid = 1; pid < 64; pid++) {
		int process = (int)syscall(SYS_pidfd_open, pid, 0);
		char path[64], target[256];

		for (int fd = 0; fd < 64; fd++) {
			int copy = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, fd, 0);
			ssize_t length;

			if (copy >= 0)
				snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
			else
				snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
			length = readlink(path, target, sizeof(target) - 1);
			target[length < 0 ? 0 : length] = '\0';
			if (copy >= 0)
				close(copy);
			if (strstr(target, "seccomp") ||
			    (arguments[1] && strstr(target, arguments[1])))
				return verdict(true, "finding the supervisor's descriptor");
		}
		if (process >= 0)
			close(process);
	}
	errno = ENOENT;
	return verdict(false, "finding the supervisor's descriptor");
}

/* Nodes are not made; those that lie there are not opened. */
static int attack_make_node(char **arguments)
{
	be_given(below(arguments[0], "a"));
	return verdict(mknod(below(arguments[0], "a/node"), S_IFCHR | 0600, makedev(1, 11)) == 0,
		       "mknod");
}

static int attack_node(char **arguments)
{
	be_given(below(arguments[0], "a"));
	return verdict(open(below(arguments[0], "a/kmsg"), O_WRONLY) >= 0, "opening a device");
}

/* A path for each word; one of them is enough. */
static int attack_paths(char **arguments)
{
	for (char **path = arguments; *path; path++)
		if (write_file(*path, "evil"))
			return verdict(true, *path);
	return verdict(false, "writing");
}

static int attack_below(char **arguments)
{
	be_given(arguments[0]);
	return attack_paths(arguments + 1);
}

/* True for a directory of the host below another, by a mount that may be written. */
static bool is_of_host(int fd, const char *directory)
{
	char link[64], path[4096];
	struct statvfs fs;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	path[length < 0 ? 0 : length] = '\0';
	return strncmp(path, directory, strlen(directory)) == 0 && fstatvfs(fd, &fs) == 0 &&
	       !(fs.f_flag & ST_RDONLY);
}

/* After every kind of yes: no number leads to a directory of the host. */
static int attack_directories(char **arguments)
{
	static const int flags[] = {O_RDWR,
				    O_RDONLY | O_TRUNC,
				    O_RDWR | O_DIRECTORY,
				    O_RDONLY | O_CREAT,
				    O_TMPFILE | O_RDWR,
				    O_PATH | O_RDWR,
				    O_PATH | O_DIRECTORY | O_CREAT};
	bool found = false;

	be_given(below(arguments[0], "a"));
	mkdir(below(arguments[0], "a/new"), 0700);
	write_file(below(arguments[0], "a/new/file"), "x");
	for (size_t i = 0; i < ELEMENTS(flags); i++) {
		(void)open(below(arguments[0], "a/new"), flags[i], 0600);
		(void)open(below(arguments[0], "a/new/file"), flags[i], 0600);
		(void)open(below(arguments[0], "a/new/other"), flags[i] | O_CREAT, 0600);
	}
	for (int fd = 3; fd < 256 && !found; fd++) {
		int up = openat(fd, "..", O_RDONLY | O_DIRECTORY);

		found = is_of_host(fd, arguments[0]) && up >= 0 && is_of_host(up, arguments[0]);
		if (up >= 0)
			close(up);
	}
	errno = ENOENT;
	return verdict(found, "going up from a descriptor");
}

static pid_t fork_and_write(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		write_file(path, "evil");
		_exit(0);
	}
	return pid;
}

/* Until another process has the number, where the numbers come round at all: since Linux 6.14 a
 * namespace has four million of them. */
static void take_number(pid_t number)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/pid_max", O_RDONLY);
	pid_t pid = 0;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		cannot_try("reading how many numbers there are");
	close(fd);
	for (int forks = 0; pid != number && atoi(text) < 100000 && forks < atoi(text); forks++) {
		pid = vfork();
		if (pid == 0 && getpid() == number)
			execl("/bin/sleep", "sleep", "2", NULL);
		if (pid == 0)
			_exit(0);
		if (pid != number)
			waitpid(pid, NULL, 0);
	}
	fprintf(stderr, "the number %s\n", pid == number ? "is another's" : "does not come again");
}

/* The caller dies while it waits, and another has its number when the person says yes. */
static int attack_died(char **arguments)
{
	pid_t asked, waiting;

	/* Numbers below 300 do not come again. */
	for (int i = 0; i < 300; i++)
		waitpid(fork_and_write("/dev/null"), NULL, 0);
	asked = fork_and_write(below(arguments[0], "g"));
	usleep(100000);
	waiting = fork_and_write(below(arguments[0], "f"));
	usleep(100000);
	kill(waiting, SIGKILL);
	waitpid(waiting, NULL, 0);
	take_number(waiting);
	write_file("reused", "");
	waitpid(asked, NULL, 0);
	usleep(300000);
	errno = EACCES;
	return verdict(access(below(arguments[0], "f"), F_OK) == 0, "a yes to one who died");
}

static const struct attack attacks[] = {
	{"link-into", 1, attack_link_into},
	{"rename-into", 1, attack_rename_into},
	{"link-out", 1, attack_link_out},
	{"rename-linked", 1, attack_rename_linked},
	{"rename-linked-within", 1, attack_rename_linked_within},
	{"move-directory", 1, attack_move_directory},
	{"move-repository", 1, attack_move_repository},
	{"move-out", 1, attack_move_out},
	{"hook", 1, attack_hook},
	{"denied", 1, attack_denied},
	{"star", 1, attack_star},
	{"dangling", 1, attack_dangling},
	{"through-processes", 1, attack_through_processes},
	{"supervisor", 1, attack_supervisor},
	{"steal", 1, attack_steal},
	{"make-node", 1, attack_make_node},
	{"node", 1, attack_node},
	{"paths", 1, attack_paths},
	{"below", 2, attack_below},
	{"directories", 1, attack_directories},
	{"died", 1, attack_died},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
