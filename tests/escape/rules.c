/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what is read-only in a writable tree, and on what is denied around something open. */
#include "attack.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static char path[8192];

static const char *join(const char *directory, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* Arguments of those on what is read-only: a writable directory, the name of one in it that is an
 * ancestor of what is held, the held directory, a file in it. */

static bool write_to(const char *name)
{
	int fd = open(name, O_WRONLY);

	return fd >= 0 && write(fd, "planted", 7) == 7;
}

static int attack_overwrite(char **arguments)
{
	return verdict(write_to(arguments[3]), "writing to it");
}

static int attack_cut(char **arguments)
{
	return verdict(truncate(arguments[3], 0) == 0, "cutting it");
}

static int attack_create(char **arguments)
{
	return verdict(open(join(arguments[2], "planted"), O_CREAT | O_WRONLY, 0600) >= 0,
		       "creating beside it");
}

static int attack_remove(char **arguments)
{
	return verdict(unlink(arguments[3]) == 0, "removing it");
}

static int attack_rename_held(char **arguments)
{
	return verdict(rename(arguments[2], join(arguments[0], "moved")) == 0, "renaming it");
}

static int attack_rename_parent(char **arguments)
{
	char parent[4096];

	snprintf(parent, sizeof(parent), "%s/%s", arguments[0], arguments[1]);
	return verdict(rename(parent, join(arguments[0], "moved")) == 0, "renaming its parent");
}

static int attack_exchange_parent(char **arguments)
{
	char parent[4096], decoy[4096];

	snprintf(parent, sizeof(parent), "%s/%s", arguments[0], arguments[1]);
	snprintf(decoy, sizeof(decoy), "%s/decoy", arguments[0]);
	if (mkdir(decoy, 0700) < 0)
		cannot_try("making a decoy");
	return verdict(renameat2(AT_FDCWD, parent, AT_FDCWD, decoy, RENAME_EXCHANGE) == 0,
		       "exchanging its parent");
}

static void make_own(const char *directory, char own[static 4096])
{
	int fd;

	snprintf(own, 4096, "%s/own-%d", directory, getpid());
	fd = open(own, O_CREAT | O_WRONLY, 0600);
	if (fd < 0 || write(fd, "planted", 7) != 7)
		cannot_try("making a file");
	close(fd);
}

static int attack_replace(char **arguments)
{
	char own[4096];

	make_own(arguments[0], own);
	return verdict(rename(own, arguments[3]) == 0, "renaming over it");
}

static int attack_link_in(char **arguments)
{
	char own[4096];

	make_own(arguments[0], own);
	return verdict(link(own, join(arguments[2], "planted")) == 0, "linking into it");
}

static int attack_link_out(char **arguments)
{
	if (link(arguments[3], join(arguments[0], "linked")) < 0)
		return verdict(false, "linking it");
	return verdict(write_to(path), "writing to a second name of it");
}

static int attack_through_fd(char **arguments)
{
	int fd = open(arguments[3], O_RDONLY);

	if (fd < 0)
		cannot_try("opening it for reading");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return verdict(write_to(path), "opening its fd again");
}

static int attack_through_directory_fd(char **arguments)
{
	int fd = open(arguments[2], O_PATH | O_DIRECTORY);

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", fd, strrchr(arguments[3], '/') + 1);
	return verdict(write_to(path), "going through the fd of its directory");
}

static int attack_through_root(char **arguments)
{
	snprintf(path, sizeof(path), "/proc/self/root%s", arguments[3]);
	return verdict(write_to(path), "going through /proc/self/root");
}

static int attack_mode(char **arguments)
{
	return verdict(chmod(arguments[3], 0777) == 0, "changing its mode");
}

static int attack_times(char **arguments)
{
	return verdict(utimensat(AT_FDCWD, arguments[3], NULL, 0) == 0, "changing its times");
}

static int attack_attribute(char **arguments)
{
	return verdict(setxattr(arguments[3], "user.planted", "x", 1, 0) == 0,
		       "giving it an attribute");
}

/* A link that leads now to a directory of our own, now to what is held. */
static void *swap_link(void *data)
{
	char **arguments = data;
	char link[4096], one[4096], other[4096];

	snprintf(link, sizeof(link), "%s/link", arguments[0]);
	snprintf(one, sizeof(one), "%s/link1", arguments[0]);
	snprintf(other, sizeof(other), "%s/link2", arguments[0]);
	for (;;) {
		if (symlink(join(arguments[0], "mine"), one) == 0)
			rename(one, link);
		linger(200);
		if (symlink(arguments[2], other) == 0)
			rename(other, link);
		linger(200);
	}
	return NULL;
}

static int attack_swapped_link(char **arguments)
{
	const char *name = strrchr(arguments[3], '/') + 1;
	char mine[4096], file[4096], target[4096];
	uint64_t end = now_ms() + RACE_MS;
	struct stat before, now;

	snprintf(mine, sizeof(mine), "%s/mine", arguments[0]);
	if (mkdir(mine, 0700) < 0 || stat(arguments[3], &before) < 0)
		cannot_try("making a directory");
	snprintf(file, sizeof(file), "%s/mine/%s", arguments[0], name);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	snprintf(target, sizeof(target), "%s/link/%s", arguments[0], name);
	start_racer(swap_link, arguments);
	while (now_ms() < end) {
		write_to(target);
		if (stat(arguments[3], &now) == 0 && now.st_mtim.tv_nsec != before.st_mtim.tv_nsec)
			return verdict(true, "writing through a link");
	}
	errno = EACCES;
	return verdict(false, "writing through a link");
}

/* Arguments of those on what is denied: the directory, the name of a denied file in it, the name of
 * an open directory in it, a word that is in the denied file. */

static int read_word(int fd, const char *word, const char *what)
{
	static char data[65536];
	ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (length >= 0)
		errno = ENODATA;
	return verdict(length > 0 && memmem(data, (size_t)length, word, strlen(word)), what);
}

static int attack_sibling(char **arguments)
{
	return read_word(open(join(arguments[0], arguments[1]), O_RDONLY), arguments[3],
			 "opening the sibling");
}

static int open_directory(char **arguments)
{
	int fd = open(join(arguments[0], arguments[2]), O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		cannot_try("opening what is open");
	return fd;
}

static int attack_dot_dot(char **arguments)
{
	char name[4096];

	snprintf(name, sizeof(name), "../%s", arguments[1]);
	return read_word(openat(open_directory(arguments), name, O_RDONLY), arguments[3],
			 "going up from an fd");
}

static int attack_dot_dot_through_fd(char **arguments)
{
	snprintf(path, sizeof(path), "/proc/self/fd/%d/../%s", open_directory(arguments),
		 arguments[1]);
	return read_word(open(path, O_RDONLY), arguments[3], "going up through /proc/self/fd");
}

static int attack_dot_dot_from_cwd(char **arguments)
{
	if (fchdir(open_directory(arguments)) < 0)
		cannot_try("entering what is open");
	snprintf(path, sizeof(path), "/proc/self/cwd/../%s", arguments[1]);
	return read_word(open(path, O_RDONLY), arguments[3], "going up from the directory");
}

static int attack_planted_link(char **arguments)
{
	char link[4096], target[4096];

	snprintf(link, sizeof(link), "%s/%s/link", arguments[0], arguments[2]);
	snprintf(target, sizeof(target), "../%s", arguments[1]);
	if (symlink(target, link) < 0)
		cannot_try("making a link in what is open");
	return read_word(open(link, O_RDONLY), arguments[3], "following a link of our own");
}

static int attack_link_sibling(char **arguments)
{
	char target[4096];

	snprintf(target, sizeof(target), "%s/%s/linked", arguments[0], arguments[2]);
	if (link(join(arguments[0], arguments[1]), target) < 0)
		return verdict(false, "linking the sibling");
	return read_word(open(target, O_RDONLY), arguments[3], "reading its second name");
}

static int attack_rename_denied(char **arguments)
{
	char moved[4096];

	snprintf(moved, sizeof(moved), "%s-moved", arguments[0]);
	return verdict(rename(arguments[0], moved) == 0, "renaming the denied directory");
}

static int attack_rename_open(char **arguments)
{
	char moved[4096];

	snprintf(moved, sizeof(moved), "%s-moved", arguments[0]);
	return verdict(rename(join(arguments[0], arguments[2]), moved) == 0,
		       "renaming what is open");
}

static int attack_create_denied(char **arguments)
{
	return verdict(open(join(arguments[0], "planted"), O_CREAT | O_WRONLY, 0600) >= 0,
		       "creating in the denied directory");
}

int main(int argc, char **argv)
{
	static const struct attack attacks[] = {
		{"overwrite", 4, attack_overwrite},
		{"cut", 4, attack_cut},
		{"create", 4, attack_create},
		{"remove", 4, attack_remove},
		{"rename-held", 4, attack_rename_held},
		{"rename-parent", 4, attack_rename_parent},
		{"exchange-parent", 4, attack_exchange_parent},
		{"replace", 4, attack_replace},
		{"link-in", 4, attack_link_in},
		{"link-out", 4, attack_link_out},
		{"through-fd", 4, attack_through_fd},
		{"through-directory-fd", 4, attack_through_directory_fd},
		{"through-root", 4, attack_through_root},
		{"mode", 4, attack_mode},
		{"times", 4, attack_times},
		{"attribute", 4, attack_attribute},
		{"swapped-link", 4, attack_swapped_link},
		{"sibling", 4, attack_sibling},
		{"dot-dot", 4, attack_dot_dot},
		{"dot-dot-through-fd", 4, attack_dot_dot_through_fd},
		{"dot-dot-from-cwd", 4, attack_dot_dot_from_cwd},
		{"planted-link", 4, attack_planted_link},
		{"link-sibling", 4, attack_link_sibling},
		{"rename-denied", 4, attack_rename_denied},
		{"rename-open", 4, attack_rename_open},
		{"create-denied", 4, attack_create_denied},
	};

	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
