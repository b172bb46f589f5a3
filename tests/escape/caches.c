/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the layers over caches: through one to what lies beside the cache, to the cache itself
 * or to where the layer is kept. */
#include "attack.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static int reads(int directory, const char *path)
{
	char byte;
	int fd = openat(directory, path, O_RDONLY);

	return verdict(fd >= 0 && read(fd, &byte, 1) == 1, path);
}

/* cache, path: from the root of the layer upwards, where the overlay has all of the home. */
static int attack_above(char **arguments)
{
	char upwards[4096];
	int fd = open(arguments[0], O_PATH | O_DIRECTORY);

	if (fd < 0)
		cannot_try(arguments[0]);
	snprintf(upwards, sizeof(upwards), "../%s", arguments[1]);
	return reads(fd, upwards);
}

/* path: a file of ward's state. */
static int attack_read(char **arguments)
{
	return reads(AT_FDCWD, arguments[0]);
}

/* cache: the overlay finds what a redirection names below its own root, which is all of the home.
 */
static int attack_redirect(char **arguments)
{
	static const char *const names[] = {"user.overlay.redirect", "trusted.overlay.redirect",
					    "user.overlay.overlay.redirect"};
	char path[4096];
	bool set = false;

	snprintf(path, sizeof(path), "%s/way", arguments[0]);
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		cannot_try(path);
	for (size_t i = 0; i < ELEMENTS(names); i++)
		set |= setxattr(path, names[i], arguments[1], strlen(arguments[1]), 0) == 0;
	return verdict(set, "setting a redirection");
}

/* cache: a whiteout is a device. */
static int attack_whiteout(char **arguments)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/whiteout", arguments[0]);
	return verdict(mknod(path, S_IFCHR | 0666, 0) == 0, "mknod of a whiteout");
}

static int attack_set_id(char **arguments)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/program", arguments[0]);
	fd = open(path, O_CREAT | O_WRONLY, 0755);
	if (fd < 0)
		cannot_try(path);
	return verdict(fchmod(fd, 04755) == 0 || chmod(path, 02755) == 0 ||
			       mknod(path, S_IFREG | 04755, 0) == 0,
		       "a set-id file");
}

/* cache, file: a name in the layer for a file outside of it, and the other way round. */
static int attack_link(char **arguments)
{
	char inside[4096], name[4096], beside[4096];
	int fd;

	snprintf(inside, sizeof(inside), "%s/linked", arguments[0]);
	snprintf(name, sizeof(name), "%s/own", arguments[0]);
	snprintf(beside, sizeof(beside), "%s.linked", arguments[1]);
	fd = open(name, O_CREAT | O_WRONLY, 0644);
	if (fd < 0)
		cannot_try(name);
	return verdict(link(arguments[1], inside) == 0 || link(name, beside) == 0 ||
			       rename(arguments[1], inside) == 0 || rename(name, beside) == 0,
		       "a second name");
}

static int attack_handle(char **arguments)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} of = {.handle.handle_bytes = MAX_HANDLE_SZ};
	int mount, fd = open(arguments[0], O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		cannot_try(arguments[0]);
	return verdict(name_to_handle_at(AT_FDCWD, arguments[0], &of.handle, &mount, 0) == 0 &&
			       open_by_handle_at(fd, &of.handle, O_RDONLY) >= 0,
		       "open_by_handle_at");
}

static char raced[4096];
static const char *const *ends;

static void *flip(void *data)
{
	for (unsigned i = 0;; i++) {
		strcpy(raced, ends[i % 2]);
		linger(300);
	}
	return data;
}

/* cache, directory: a path that is in the layer when it is looked at and outside when it is used.
 */
static int attack_rewritten(char **arguments)
{
	char inside[4096], outside[4096];
	const char *both[] = {inside, outside};
	uint64_t end = now_ms() + RACE_MS;

	snprintf(inside, sizeof(inside), "%s/raced", arguments[0]);
	snprintf(outside, sizeof(outside), "%s/raced", arguments[1]);
	ends = both;
	strcpy(raced, inside);
	start_racer(flip, NULL);
	while (now_ms() < end) {
		int fd = open(raced, O_CREAT | O_WRONLY, 0644);

		if (fd >= 0)
			close(fd);
		mkdir(raced, 0755);
		rmdir(raced);
		unlink(inside);
		if (access(outside, F_OK) == 0)
			return verdict(true, outside);
	}
	errno = EACCES;
	return verdict(false, outside);
}

int main(int argc, char **argv)
{
	static const struct attack attacks[] = {
		{"above", 2, attack_above},	  {"read", 1, attack_read},
		{"redirect", 2, attack_redirect}, {"whiteout", 1, attack_whiteout},
		{"set-id", 1, attack_set_id},	  {"link", 2, attack_link},
		{"handle", 1, attack_handle},	  {"rewritten", 2, attack_rewritten},
	};

	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
