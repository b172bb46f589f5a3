/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that leave a set-user-id or set-group-id file behind, or gain rights through one. */
#include "attack.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HIGH_BITS (0xa5ul << 32)

static const char name[] = "planted";

static int make_file(void)
{
	int fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0755);

	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10)
		cannot_try("making a file in the workspace");
	return fd;
}

static int look(int fd, mode_t bits, const char *what)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return verdict(false, what);
	errno = EPERM;
	return verdict(st.st_mode & bits, what);
}

static int attack_chmod(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(SYS_chmod, name, S_ISUID | 0755);
	return look(fd, S_ISUID, "chmod");
}

static int attack_chmod_high_bits(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(SYS_chmod, name, HIGH_BITS | S_ISUID | 0755);
	return look(fd, S_ISUID, "chmod");
}

static int attack_fchmod(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(SYS_fchmod, fd, HIGH_BITS | S_ISUID | 0755);
	return look(fd, S_ISUID, "fchmod");
}

static int attack_fchmodat(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(SYS_fchmodat, AT_FDCWD, name, HIGH_BITS | S_ISUID | 0755);
	return look(fd, S_ISUID, "fchmodat");
}

static int attack_fchmodat2(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(452, AT_FDCWD, name, HIGH_BITS | S_ISUID | 0755, 0);
	return look(fd, S_ISUID, "fchmodat2");
}

static int attack_open(char **arguments)
{
	(void)arguments;
	unlink(name);
	return look((int)syscall(SYS_open, name, HIGH_BITS | O_CREAT | O_RDWR,
				 HIGH_BITS | S_ISUID | 0755),
		    S_ISUID, "open");
}

static int attack_openat(char **arguments)
{
	(void)arguments;
	unlink(name);
	return look((int)syscall(SYS_openat, AT_FDCWD, name, HIGH_BITS | O_CREAT | O_RDWR,
				 HIGH_BITS | S_ISUID | 0755),
		    S_ISUID, "openat");
}

static int attack_creat(char **arguments)
{
	(void)arguments;
	unlink(name);
	return look((int)syscall(SYS_creat, name, HIGH_BITS | S_ISUID | 0755), S_ISUID, "creat");
}

static int attack_mknod(char **arguments)
{
	(void)arguments;
	unlink(name);
	syscall(SYS_mknod, name, HIGH_BITS | S_IFREG | S_ISUID | 0755, 0);
	return look(open(name, O_RDONLY), S_ISUID, "mknod");
}

static int attack_mknodat(char **arguments)
{
	(void)arguments;
	unlink(name);
	syscall(SYS_mknodat, AT_FDCWD, name, HIGH_BITS | S_IFREG | S_ISUID | 0755, 0);
	return look(open(name, O_RDONLY), S_ISUID, "mknodat");
}

static int attack_nameless_open(char **arguments)
{
	(void)arguments;
	return look((int)syscall(SYS_open, ".", O_TMPFILE | O_RDWR, S_ISUID | 0755), S_ISUID,
		    "open O_TMPFILE");
}

static int attack_nameless_openat(char **arguments)
{
	(void)arguments;
	return look((int)syscall(SYS_openat, AT_FDCWD, ".", O_TMPFILE | O_RDWR, S_ISUID | 0755),
		    S_ISUID, "openat O_TMPFILE");
}

static int attack_group_chmod(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(SYS_chmod, name, HIGH_BITS | S_ISGID | 0755);
	return look(fd, S_ISGID, "chmod g+s");
}

static int attack_group_fchmod(char **arguments)
{
	int fd = make_file();

	(void)arguments;
	syscall(SYS_fchmod, fd, HIGH_BITS | S_ISGID | 0755);
	return look(fd, S_ISGID, "fchmod g+s");
}

static int attack_group_open(char **arguments)
{
	(void)arguments;
	unlink(name);
	return look((int)syscall(SYS_open, name, O_CREAT | O_RDWR, S_ISGID | 0755), S_ISGID,
		    "open g+s");
}

/* A link of /proc that means the caller's fd cannot be followed by anyone else. */
static int attack_group_by_fd_link(char **arguments)
{
	int fd = make_file();
	char path[64];

	(void)arguments;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	syscall(SYS_chmod, path, S_ISGID | 0755);
	return look(fd, S_ISGID, "chmod g+s of /proc/self/fd");
}

static int attack_group_by_root_link(char **arguments)
{
	int fd = make_file();
	char path[4096] = "/proc/self/cwd/";

	(void)arguments;
	strcat(path, name);
	syscall(SYS_chmod, path, S_ISGID | 0755);
	return look(fd, S_ISGID, "chmod g+s through /proc/self/cwd");
}

/* A file without a name has no path by which it could be judged. */
static int attack_group_nameless(char **arguments)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0755);

	(void)arguments;
	if (fd < 0)
		cannot_try("O_TMPFILE");
	syscall(452, fd, "", S_ISGID | 0755, AT_EMPTY_PATH);
	return look(fd, S_ISGID, "fchmodat2 g+s of a nameless file");
}

/* The name is not there when it is looked at, and is when it is used. */
static void *let_it_come_and_go(void *unused)
{
	(void)unused;
	for (;;) {
		rename(name, "away");
		linger(3000);
		rename("away", name);
	}
	return NULL;
}

static int attack_group_appearing(char **arguments)
{
	int fd = make_file();
	uint64_t end = now_ms() + RACE_MS;
	struct stat st;

	(void)arguments;
	start_racer(let_it_come_and_go, NULL);
	while (now_ms() < end) {
		syscall(SYS_chmod, name, S_ISGID | 0755);
		if (fstat(fd, &st) == 0 && st.st_mode & S_ISGID)
			break;
	}
	return look(fd, S_ISGID, "chmod g+s of a name that comes and goes");
}

/* A directory when it is looked at, a file when it is used. */
static void *exchange(void *unused)
{
	(void)unused;
	for (;;)
		renameat2(AT_FDCWD, name, AT_FDCWD, "directory", RENAME_EXCHANGE);
	return NULL;
}

static int attack_group_exchanged(char **arguments)
{
	int fd = make_file();
	uint64_t end = now_ms() + RACE_MS;
	struct stat st;

	(void)arguments;
	if (mkdir("directory", 0755) < 0)
		cannot_try("making a directory in the workspace");
	start_racer(exchange, NULL);
	while (now_ms() < end) {
		syscall(SYS_chmod, name, S_ISGID | 0755);
		if (fstat(fd, &st) == 0 && st.st_mode & S_ISGID)
			break;
	}
	return look(fd, S_ISGID, "chmod g+s of a name that is exchanged");
}

/* The path cannot be read when it is looked at, and can when it is used. */
static char *page;

static void *hide_page(void *unused)
{
	(void)unused;
	for (;;) {
		mprotect(page, 4096, PROT_NONE);
		linger(3000);
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static int attack_group_unreadable(char **arguments)
{
	int fd = make_file();
	uint64_t end = now_ms() + RACE_MS;
	struct stat st;

	(void)arguments;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(page, name);
	start_racer(hide_page, NULL);
	while (now_ms() < end) {
		syscall(SYS_chmod, page, S_ISGID | 0755);
		if (fstat(fd, &st) == 0 && st.st_mode & S_ISGID)
			break;
	}
	return look(fd, S_ISGID, "chmod g+s with a path that cannot be read");
}

/* Of a program that may be executed and not read, the supervisor cannot read the memory either. */
static int attack_group_unreadable_program(char **arguments)
{
	char *const again[] = {(char *)"unreadable", (char *)"group-chmod", NULL};

	(void)arguments;
	execv("./unreadable", again);
	cannot_try("executing ./unreadable, a copy of this program with mode 0111");
}

/* Arguments: this program with set-user-id bit, belonging to root. */
static int attack_use(char **arguments)
{
	char *const again[] = {arguments[0], (char *)"am-i-root", NULL};

	execv(arguments[0], again);
	return verdict(false, "executing it");
}

static int attack_am_i_root(char **arguments)
{
	(void)arguments;
	errno = EPERM;
	return verdict(geteuid() == 0, "being root");
}

static const struct attack attacks[] = {
	{"chmod", 0, attack_chmod},
	{"chmod-high-bits", 0, attack_chmod_high_bits},
	{"fchmod", 0, attack_fchmod},
	{"fchmodat", 0, attack_fchmodat},
	{"fchmodat2", 0, attack_fchmodat2},
	{"open", 0, attack_open},
	{"openat", 0, attack_openat},
	{"creat", 0, attack_creat},
	{"mknod", 0, attack_mknod},
	{"mknodat", 0, attack_mknodat},
	{"nameless-open", 0, attack_nameless_open},
	{"nameless-openat", 0, attack_nameless_openat},
	{"group-chmod", 0, attack_group_chmod},
	{"group-fchmod", 0, attack_group_fchmod},
	{"group-open", 0, attack_group_open},
	{"group-by-fd-link", 0, attack_group_by_fd_link},
	{"group-by-root-link", 0, attack_group_by_root_link},
	{"group-nameless", 0, attack_group_nameless},
	{"group-appearing", 0, attack_group_appearing},
	{"group-exchanged", 0, attack_group_exchanged},
	{"group-unreadable", 0, attack_group_unreadable},
	{"group-unreadable-program", 0, attack_group_unreadable_program},
	{"use", 1, attack_use},
	{"am-i-root", 0, attack_am_i_root},
};

int main(int argc, char **argv)
{
	umask(0);
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
