/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that change a file, a name or its attributes outside the writable paths. */
#include "attack.h"

#include <fcntl.h>
#include <signal.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/socket.h>
#include <sys/xattr.h>
#include <utime.h>

static const char inside[] = "inside";

static void make_inside(void)
{
	int fd = open(inside, O_CREAT | O_WRONLY, 0600);

	if (fd < 0)
		cannot_try("making a file in the workspace");
	close(fd);
}

static const char *below(const char *directory, const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int open_for_reading(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		cannot_try(path);
	return fd;
}

static int write_to(int fd)
{
	return verdict(fd >= 0 && write(fd, "x", 1) == 1, "writing");
}

static int attack_open(char **arguments)
{
	return write_to(open(arguments[0], O_WRONLY | O_APPEND));
}

static int attack_open_and_cut(char **arguments)
{
	return verdict(open(arguments[0], O_RDWR | O_TRUNC) >= 0, "O_TRUNC");
}

/* The flags are an int: what stands above it must not hide them from a filter. */
static int attack_open_high_bits(char **arguments)
{
	return write_to((int)syscall(SYS_openat, AT_FDCWD, arguments[0],
				     (uint64_t)O_WRONLY | 0xfful << 32, 0));
}

static int attack_create(char **arguments)
{
	return write_to(open(below(arguments[1], "new"), O_CREAT | O_WRONLY, 0600));
}

static int attack_nameless(char **arguments)
{
	return write_to(open(arguments[1], O_TMPFILE | O_WRONLY, 0600));
}

static int attack_truncate(char **arguments)
{
	return verdict(truncate(arguments[0], 0) == 0, "truncate");
}

static int attack_rename_out(char **arguments)
{
	make_inside();
	return verdict(rename(inside, below(arguments[1], "new")) == 0, "rename out");
}

static int attack_rename_over(char **arguments)
{
	make_inside();
	return verdict(rename(inside, arguments[0]) == 0, "rename over");
}

static int attack_rename_in(char **arguments)
{
	return verdict(rename(arguments[0], "stolen") == 0, "rename in");
}

static int attack_rename_beside(char **arguments)
{
	return verdict(rename(arguments[0], below(arguments[1], "other")) == 0, "rename");
}

static int attack_link_out(char **arguments)
{
	make_inside();
	return verdict(link(inside, below(arguments[1], "new")) == 0, "link out");
}

/* A second name in the writable tree for a file outside it. */
static int attack_link_in(char **arguments)
{
	if (link(arguments[0], "hard") < 0)
		return verdict(false, "link in");
	return write_to(open("hard", O_WRONLY | O_APPEND));
}

static int attack_link_of_fd(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open_for_reading(arguments[0]));
	if (linkat(AT_FDCWD, path, AT_FDCWD, "hard", AT_SYMLINK_FOLLOW) < 0)
		return verdict(false, "linkat of an fd");
	return write_to(open("hard", O_WRONLY | O_APPEND));
}

static int attack_symlink(char **arguments)
{
	return verdict(symlink("x", below(arguments[1], "new")) == 0, "symlink");
}

static int attack_mkdir(char **arguments)
{
	return verdict(mkdir(below(arguments[1], "new"), 0700) == 0, "mkdir");
}

static int attack_fifo(char **arguments)
{
	return verdict(mknod(below(arguments[1], "new"), S_IFIFO | 0600, 0) == 0, "mknod");
}

static int attack_socket(char **arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s",
		 below(arguments[1], "new")); /* the tests keep it short */
	return verdict(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "bind");
}

static int attack_unlink(char **arguments)
{
	return verdict(unlink(arguments[0]) == 0, "unlink");
}

static int attack_rmdir(char **arguments)
{
	return verdict(rmdir(below(arguments[1], "empty")) == 0, "rmdir");
}

static int attack_chmod(char **arguments)
{
	return verdict(chmod(arguments[0], 0777) == 0, "chmod");
}

static int attack_fchmodat2(char **arguments)
{
	return verdict(syscall(452, AT_FDCWD, arguments[0], 0777, AT_SYMLINK_NOFOLLOW) == 0,
		       "fchmodat2");
}

static int attack_fchmod(char **arguments)
{
	return verdict(fchmod(open_for_reading(arguments[0]), 0777) == 0, "fchmod");
}

/* Set-group-id on a directory is performed by the supervisor: it must not be a way out. */
static int attack_fchmod_directory(char **arguments)
{
	return verdict(fchmod(open_for_reading(arguments[1]), 02777) == 0, "fchmod g+s");
}

static int attack_chmod_directory(char **arguments)
{
	return verdict(chmod(arguments[1], 02777) == 0, "chmod g+s");
}

static int attack_chown(char **arguments)
{
	return verdict(chown(arguments[0], getuid(), getgid()) == 0, "chown");
}

static int attack_fchown(char **arguments)
{
	return verdict(fchown(open_for_reading(arguments[0]), getuid(), getgid()) == 0, "fchown");
}

static int attack_utimes(char **arguments)
{
	return verdict(utime(arguments[0], NULL) == 0, "utime");
}

static int attack_futimens(char **arguments)
{
	return verdict(futimens(open_for_reading(arguments[0]), NULL) == 0, "futimens");
}

static int attack_setxattr(char **arguments)
{
	return verdict(setxattr(arguments[0], "user.ward", "x", 1, 0) == 0, "setxattr");
}

static int attack_fsetxattr(char **arguments)
{
	return verdict(fsetxattr(open_for_reading(arguments[0]), "user.ward", "x", 1, 0) == 0,
		       "fsetxattr");
}

static int attack_file_flags(char **arguments)
{
	int fd = open_for_reading(arguments[0]), flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		cannot_try("FS_IOC_GETFLAGS");
	flags |= FS_NODUMP_FL;
	return verdict(ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0, "FS_IOC_SETFLAGS");
}

/* Whoever wants to write to the file has to wait until we give the lease back. */
static int attack_lease(char **arguments)
{
	return verdict(fcntl(open_for_reading(arguments[0]), F_SETLEASE, F_RDLCK) == 0,
		       "F_SETLEASE");
}

/* A read-only mount does not stop writing to what is not a regular file. Opened for both, it does
 * not wait for a reader. */
static int attack_write_fifo(char **arguments)
{
	return write_to(open(below(arguments[1], "pipe"), O_RDWR | O_NONBLOCK));
}

static int attack_through_link(char **arguments)
{
	unlink("link");
	if (symlink(arguments[0], "link") < 0)
		cannot_try("making a link in the workspace");
	return write_to(open("link", O_WRONLY | O_APPEND));
}

static int attack_through_root(char **arguments)
{
	return write_to(open(below("/proc/self/root", arguments[0]), O_WRONLY | O_APPEND));
}

static int attack_through_parent(char **arguments)
{
	char path[4096] = "../../../../../../../../../../../../../../../..";

	strncat(path, arguments[0], sizeof(path) - strlen(path) - 1);
	return write_to(open(path, O_WRONLY | O_APPEND));
}

static int attack_through_directory(char **arguments)
{
	int directory = open(arguments[1], O_PATH | O_DIRECTORY);

	if (directory < 0)
		cannot_try(arguments[1]);
	return write_to(openat(directory, "file", O_WRONLY | O_APPEND));
}

static int attack_through_fd(char **arguments)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open_for_reading(arguments[0]));
	return write_to(open(path, O_WRONLY | O_APPEND));
}

/* A running program cannot be written, but its file can be held until it has ended: what
 * /proc/self/exe leads to is a name that no path rule knows. */
static int attack_own_program(char **arguments)
{
	uint64_t end = now_ms() + 2000;
	char path[4096], link[64], found[4096];
	int fd = -1;
	pid_t child;

	snprintf(path, sizeof(path), "%s/program", arguments[1]);
	child = fork();
	if (child == 0) {
		execl(path, "sleep", "20", NULL);
		_exit(NOT_TRIED);
	}
	snprintf(link, sizeof(link), "/proc/%d/exe", child);
	while (fd < 0 && now_ms() < end) {
		ssize_t length = readlink(link, found, sizeof(found) - 1);

		found[length > 0 ? length : 0] = '\0';
		if (strcmp(found, path) == 0)
			fd = open(link, O_PATH);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (fd < 0)
		cannot_try(path);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return write_to(open(link, O_WRONLY | O_APPEND));
}

/* The name that the supervisor reads is harmless, the one that the kernel reads is not. */
static char moving_path[4096];
static const char *target;

static void *rewrite_path(void *unused)
{
	(void)unused;
	for (;;) {
		memcpy(moving_path, inside, sizeof(inside));
		linger(2000);
		memcpy(moving_path, target, strlen(target) + 1);
		linger(200);
	}
	return NULL;
}

static int attack_rewritten_path(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	struct stat wanted, got;

	make_inside();
	target = arguments[0];
	if (stat(target, &wanted) < 0)
		cannot_try(target);
	start_racer(rewrite_path, NULL);
	while (now_ms() < end) {
		int fd = open(moving_path, O_WRONLY | O_APPEND);

		if (fd >= 0 && fstat(fd, &got) == 0 && got.st_ino == wanted.st_ino)
			return write_to(fd);
		close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "rewriting the path");
}

/* The name is checked while it leads into the workspace, and used when it leads out. */
static void *swap_link(void *unused)
{
	(void)unused;
	for (;;)
		renameat2(AT_FDCWD, "swap", AT_FDCWD, "swapped", RENAME_EXCHANGE);
	return NULL;
}

static int attack_swapped_link(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	struct stat wanted, got;

	unlink("swap");
	unlink("swapped");
	if (symlink(inside, "swap") < 0 || symlink(arguments[0], "swapped") < 0)
		cannot_try("making links in the workspace");
	make_inside();
	if (stat(arguments[0], &wanted) < 0)
		cannot_try(arguments[0]);
	start_racer(swap_link, NULL);
	while (now_ms() < end) {
		int fd = open("swap", O_WRONLY | O_APPEND);

		if (fd >= 0 && fstat(fd, &got) == 0 && got.st_ino == wanted.st_ino)
			return write_to(fd);
		close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "swapping the link");
}

/* Arguments: a file that exists outside, and the directory that holds it, with an empty directory
 * "empty" and a FIFO "pipe" in it. */
static const struct attack attacks[] = {
	{"open", 2, attack_open},
	{"open-and-cut", 2, attack_open_and_cut},
	{"open-high-bits", 2, attack_open_high_bits},
	{"create", 2, attack_create},
	{"nameless", 2, attack_nameless},
	{"truncate", 2, attack_truncate},
	{"rename-out", 2, attack_rename_out},
	{"rename-over", 2, attack_rename_over},
	{"rename-in", 2, attack_rename_in},
	{"rename-beside", 2, attack_rename_beside},
	{"link-out", 2, attack_link_out},
	{"link-in", 2, attack_link_in},
	{"link-of-fd", 2, attack_link_of_fd},
	{"symlink", 2, attack_symlink},
	{"mkdir", 2, attack_mkdir},
	{"fifo", 2, attack_fifo},
	{"socket", 2, attack_socket},
	{"unlink", 2, attack_unlink},
	{"rmdir", 2, attack_rmdir},
	{"chmod", 2, attack_chmod},
	{"fchmodat2", 2, attack_fchmodat2},
	{"fchmod", 2, attack_fchmod},
	{"chmod-directory", 2, attack_chmod_directory},
	{"fchmod-directory", 2, attack_fchmod_directory},
	{"chown", 2, attack_chown},
	{"fchown", 2, attack_fchown},
	{"utimes", 2, attack_utimes},
	{"futimens", 2, attack_futimens},
	{"setxattr", 2, attack_setxattr},
	{"fsetxattr", 2, attack_fsetxattr},
	{"file-flags", 2, attack_file_flags},
	{"lease", 2, attack_lease},
	{"write-fifo", 2, attack_write_fifo},
	{"through-link", 2, attack_through_link},
	{"through-root", 2, attack_through_root},
	{"through-parent", 2, attack_through_parent},
	{"through-directory", 2, attack_through_directory},
	{"through-fd", 2, attack_through_fd},
	{"own-program", 2, attack_own_program},
	{"rewritten-path", 2, attack_rewritten_path},
	{"swapped-link", 2, attack_swapped_link},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
