/* SPDX-License-Identifier: Apache-2.0 */
/* Times one call of each kind, in the directory it is started in, which must be empty:
 *
 *     traps [ROUNDS [NAME]]
 *
 * Prints a line for each kind, or for one: its name and the median in nanoseconds, separated by a
 * tab. Run natively and in `ward run`, the difference is what the walls and the supervisor cost. */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MOST = 100000 };

static uint64_t took[ROUNDS_MOST];
static int directory, file;

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void check(const char *what, int result)
{
	if (result >= 0)
		return;
	fprintf(stderr, "traps: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void make(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	check(name, fd);
	close(fd);
}

static int nothing(void)
{
	return (int)syscall(SYS_getppid);
}

static int set_mask(void)
{
	umask(022);
	return 0;
}

static int read_only(void)
{
	return open("there", O_RDONLY | O_CLOEXEC);
}

static int look(void)
{
	struct stat st;

	return stat("there", &st);
}

static int write_there(void)
{
	return open("there", O_WRONLY | O_CLOEXEC);
}

static int create(void)
{
	return open("new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

static int create_or_open(void)
{
	return open("there", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

static int create_below(void)
{
	return openat(directory, "sub/new", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
}

static int make_directory(void)
{
	return mkdir("new", 0755);
}

static int make_there(void)
{
	return mkdir("sub", 0755) < 0 && errno == EEXIST ? 0 : -1;
}

static int make_link(void)
{
	return symlink("there", "new");
}

static int make_name(void)
{
	return link("there", "new");
}

static int move(void)
{
	return rename("old", "new");
}

static int remove_name(void)
{
	return unlink("old");
}

static int change_mode(void)
{
	return chmod("there", 0600);
}

static int change_times(void)
{
	return utimensat(AT_FDCWD, "there", NULL, 0);
}

static int change_mode_by_fd(void)
{
	return fchmod(file, 0600);
}

static int change_times_by_fd(void)
{
	return futimens(file, NULL);
}

static int cut(void)
{
	return truncate("there", 0);
}

static int bind_path(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "new"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	check("socket", fd);
	check("bind", bind(fd, (struct sockaddr *)&address, sizeof(address)));
	return fd;
}

/* opens: the result is an fd; old: the name must be there before; new: it is there after. */
static const struct {
	const char *name;
	int (*call)(void);
	unsigned opens : 1, old : 1, new : 1;
} kinds[] = {
	{"getppid", nothing, 0, 0, 0},
	{"umask", set_mask, 0, 0, 0},
	{"stat", look, 0, 0, 0},
	{"open for reading", read_only, 1, 0, 0},
	{"open for writing", write_there, 1, 0, 0},
	{"create, and the file is there", create_or_open, 1, 0, 0},
	{"create", create, 1, 0, 1},
	{"create below a directory's fd", create_below, 1, 0, 1},
	{"mkdir", make_directory, 0, 0, 1},
	{"mkdir, and it is there", make_there, 0, 0, 0},
	{"symlink", make_link, 0, 0, 1},
	{"link", make_name, 0, 0, 1},
	{"rename", move, 0, 1, 1},
	{"unlink", remove_name, 0, 1, 0},
	{"chmod", change_mode, 0, 0, 0},
	{"utimensat", change_times, 0, 0, 0},
	{"fchmod", change_mode_by_fd, 0, 0, 0},
	{"futimens", change_times_by_fd, 0, 0, 0},
	{"truncate", cut, 0, 0, 0},
	{"socket and bind to a path", bind_path, 1, 0, 1},
};

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 2000;

	if (rounds < 1 || rounds > ROUNDS_MOST) {
		fputs("usage: traps [ROUNDS [NAME]]\n", stderr);
		return 2;
	}
	check("mkdir", mkdir("sub", 0755));
	make("there");
	directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	check("open", directory);
	file = open("there", O_RDWR | O_CLOEXEC);
	check("open", file);
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		if (argc > 2 && strcmp(argv[2], kinds[kind].name) != 0)
			continue;
		for (int round = 0; round < rounds; round++) {
			uint64_t start;
			int result;

			if (kinds[kind].old)
				make("old");
			start = now();
			result = kinds[kind].call();
			took[round] = now() - start;
			check(kinds[kind].name, result);
			if (kinds[kind].opens)
				close(result);
			if (kinds[kind].new &&unlink("new") < 0 && rmdir("new") < 0)
				check("unlink", unlink("sub/new"));
		}
		qsort(took, (size_t)rounds, sizeof(*took), compare);
		printf("%s\t%llu\n", kinds[kind].name, (unsigned long long)took[rounds / 2]);
	}
	check("unlink", unlink("there"));
	check("rmdir", rmdir("sub"));
	return 0;
}
