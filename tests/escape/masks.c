/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that read, replace or uncover what is masked. */
#include "attack.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Arguments of all: the directory that holds the secret, its name there, a word that is in it. */
static char path[4096];

static int read_fd(int fd, const char *word, const char *what)
{
	static char data[65536];
	ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (length >= 0)
		errno = ENODATA;
	return verdict(length > 0 && memmem(data, (size_t)length, word, strlen(word)), what);
}

static int read_path(const char *format, const char *directory, const char *name, const char *word)
{
	snprintf(path, sizeof(path), format, directory, name);
	return read_fd(open(path, O_RDONLY), word, path);
}

static int attack_read(char **arguments)
{
	return read_path("%s/%s", arguments[0], arguments[1], arguments[2]);
}

static int attack_through_root(char **arguments)
{
	return read_path("/proc/self/root%s/%s", arguments[0], arguments[1], arguments[2]);
}

static int attack_through_thread_root(char **arguments)
{
	return read_path("/proc/thread-self/root%s/%s", arguments[0], arguments[1], arguments[2]);
}

static int attack_through_cwd(char **arguments)
{
	if (chdir(arguments[0]) < 0)
		return verdict(false, "entering its directory");
	return read_path("/proc/self/cwd/%s%s", "", arguments[1], arguments[2]);
}

static int attack_through_directory(char **arguments)
{
	int directory = open(arguments[0], O_PATH);

	return read_fd(openat(directory, arguments[1], O_RDONLY), arguments[2], "openat");
}

static int attack_through_fd(char **arguments)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	fd = open(path, O_PATH);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return read_fd(open(path, O_RDONLY), arguments[2], "an O_PATH fd of it");
}

static int attack_through_link(char **arguments)
{
	char link[4096];

	snprintf(link, sizeof(link), "%s/%s", arguments[0], arguments[1]);
	unlink("leads-there");
	if (symlink(link, "leads-there") < 0)
		cannot_try("making a link in the workspace");
	return read_fd(open("leads-there", O_RDONLY), arguments[2], "a link to it");
}

static int attack_change_mode(char **arguments)
{
	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	chmod(path, 0777);
	return read_fd(open(path, O_RDONLY), arguments[2], "after chmod");
}

static int attack_hard_link(char **arguments)
{
	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	if (link(path, "second-name") < 0)
		return verdict(false, "a second name for it");
	return read_fd(open("second-name", O_RDONLY), arguments[2], "a second name for it");
}

static int attack_rename(char **arguments)
{
	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	if (rename(path, "other-name") < 0)
		return verdict(false, "another name for it");
	return read_fd(open("other-name", O_RDONLY), arguments[2], "another name for it");
}

static int attack_rename_parent(char **arguments)
{
	snprintf(path, sizeof(path), "%s.moved", arguments[0]);
	if (rename(arguments[0], path) < 0)
		return verdict(false, "another name for its directory");
	return read_path("%s.moved/%s", arguments[0], arguments[1], arguments[2]);
}

static int attack_exchange(char **arguments)
{
	int fd = open("decoy", O_CREAT | O_WRONLY, 0600);

	if (fd < 0)
		cannot_try("making a file in the workspace");
	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	if (renameat2(AT_FDCWD, "decoy", AT_FDCWD, path, RENAME_EXCHANGE) < 0)
		return verdict(false, "exchanging it");
	return read_fd(open("decoy", O_RDONLY), arguments[2], "exchanging it");
}

static int attack_remove(char **arguments)
{
	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	return verdict(unlink(path) == 0 || rmdir(path) == 0, "removing it");
}

static int attack_overwrite(char **arguments)
{
	int fd;

	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	fd = open(path, O_WRONLY | O_APPEND);
	return verdict(fd >= 0 && write(fd, "x", 1) == 1, "writing to it");
}

/* A bind mount that does not take the mounts below it along shows what they cover. */
static int attack_bind(char **arguments)
{
	mkdir("elsewhere", 0700);
	if (mount(arguments[0], "elsewhere", NULL, MS_BIND, NULL) < 0)
		return verdict(false, "binding its directory elsewhere");
	return read_path("%s/%s", "elsewhere", arguments[1], arguments[2]);
}

static int attack_unmount(char **arguments)
{
	snprintf(path, sizeof(path), "%s/%s", arguments[0], arguments[1]);
	if (umount2(path, MNT_DETACH) < 0)
		return verdict(false, "taking the mask off");
	return read_fd(open(path, O_RDONLY), arguments[2], "without its mask");
}

static int attack_tree(char **arguments)
{
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, arguments[0], 1 /* OPEN_TREE_CLONE */);

	return read_fd(tree < 0 ? -1 : openat(tree, arguments[1], O_RDONLY), arguments[2],
		       "a clone of its directory's mount");
}

/* Further arguments: the file's handle as the host knows it, type and bytes in hexadecimal. */
static int attack_handle(char **arguments)
{
	struct file_handle *handle = calloc(1, sizeof(*handle) + 128);
	const char *digits = arguments[4];
	unsigned byte;
	int mount = open(arguments[0], O_RDONLY);

	handle->handle_type = atoi(arguments[3]);
	for (; sscanf(digits, "%2x", &byte) == 1; digits += 2)
		handle->f_handle[handle->handle_bytes++] = (unsigned char)byte;
	return read_fd(open_by_handle_at(mount, handle, O_RDONLY), arguments[2], "by its handle");
}

static const struct attack attacks[] = {
	{"read", 3, attack_read},
	{"through-root", 3, attack_through_root},
	{"through-thread-root", 3, attack_through_thread_root},
	{"through-cwd", 3, attack_through_cwd},
	{"through-directory", 3, attack_through_directory},
	{"through-fd", 3, attack_through_fd},
	{"through-link", 3, attack_through_link},
	{"change-mode", 3, attack_change_mode},
	{"hard-link", 3, attack_hard_link},
	{"rename", 3, attack_rename},
	{"rename-parent", 3, attack_rename_parent},
	{"exchange", 3, attack_exchange},
	{"remove", 3, attack_remove},
	{"overwrite", 3, attack_overwrite},
	{"bind", 3, attack_bind},
	{"unmount", 3, attack_unmount},
	{"tree", 3, attack_tree},
	{"handle", 5, attack_handle},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
