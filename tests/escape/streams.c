/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks through descriptors that a command is given or inherits, and through its terminal. */
#include "attack.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <termios.h>

static int attack_input_reopen(char **arguments)
{
	int fd = open("/proc/self/fd/0", O_RDWR | O_APPEND);

	(void)arguments;
	return verdict(fd >= 0 && write(fd, "x", 1) == 1, "writing to standard input's file");
}

static int attack_input_cut(char **arguments)
{
	(void)arguments;
	return verdict(truncate("/proc/self/fd/0", 0) == 0, "cutting standard input's file");
}

static int attack_input_mode(char **arguments)
{
	(void)arguments;
	return verdict(fchmod(0, 0777) == 0, "changing standard input's mode");
}

static int attack_input_times(char **arguments)
{
	(void)arguments;
	return verdict(futimens(0, NULL) == 0, "changing standard input's times");
}

static int attack_input_attribute(char **arguments)
{
	(void)arguments;
	return verdict(fsetxattr(0, "user.ward", "x", 1, 0) == 0,
		       "changing standard input's attributes");
}

/* Standard input is a directory: is it one in here? */
static int attack_input_directory(char **arguments)
{
	(void)arguments;
	return verdict(openat(0, "file", O_RDONLY) >= 0, "leaving by standard input's directory");
}

/* Standard output and error lead to a file of the caller's. */
static int attack_output_reopen(char **arguments)
{
	struct stat st;

	(void)arguments;
	if (fstat(1, &st) < 0)
		cannot_try("standard output");
	errno = EINVAL;
	return verdict(S_ISREG(st.st_mode) && open("/proc/self/fd/1", O_RDWR | O_TRUNC) >= 0,
		       "reopening standard output's file");
}

static int attack_leaked(char **arguments)
{
	(void)arguments;
	for (int fd = 3; fd < 4096; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return verdict(true, "finding a stray descriptor");
	return verdict(false, "finding a stray descriptor");
}

static int attack_leaked_directory(char **arguments)
{
	(void)arguments;
	for (int fd = 3; fd < 4096; fd++) {
		int file = openat(fd, "file", O_WRONLY | O_APPEND);

		if (file >= 0 && write(file, "x", 1) == 1)
			return verdict(true, "writing below a stray descriptor");
	}
	return verdict(false, "writing below a stray descriptor");
}

static int attack_notifications(char **arguments)
{
	char path[64], target[256];

	(void)arguments;
	for (int fd = 0; fd < 4096; fd++) {
		ssize_t length;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		length = readlink(path, target, sizeof(target) - 1);
		target[length < 0 ? 0 : length] = '\0';
		if (strstr(target, "seccomp"))
			return verdict(true, "finding the supervisor's descriptor");
	}
	errno = ENOENT;
	return verdict(false, "finding the supervisor's descriptor");
}

/* Typing for the user. */
static int attack_type(char **arguments)
{
	(void)arguments;
	return verdict(ioctl(0, TIOCSTI, "x") == 0, "TIOCSTI");
}

static int attack_type_high_bits(char **arguments)
{
	(void)arguments;
	return verdict(syscall(SYS_ioctl, 0, 0xa5ul << 32 | TIOCSTI, "x") == 0, "TIOCSTI");
}

/* A console's ioctl: a pty does not know it, and says so once nothing else refuses it. */
static int attack_console(char **arguments)
{
	char paste = 3;

	(void)arguments;
	return verdict(ioctl(0, TIOCLINUX, &paste) == 0 || errno == ENOTTY || errno == EINVAL,
		       "TIOCLINUX");
}

static int attack_line_discipline(char **arguments)
{
	int terminal = 0;

	(void)arguments;
	return verdict(ioctl(0, TIOCSETD, &terminal) == 0, "TIOCSETD");
}

/* Arguments: the file system that holds the terminal ward was started from, and its number there.
 * A pty of our own may have the same name and number, but not in the same file system. */
static bool is_users_terminal(int fd, char **arguments)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_dev == strtoul(arguments[0], NULL, 10) &&
	       st.st_rdev == strtoul(arguments[1], NULL, 10);
}

static int attack_terminal_inherited(char **arguments)
{
	errno = ENOTTY;
	for (int fd = 0; fd < 4096; fd++)
		if (is_users_terminal(fd, arguments))
			return verdict(true, "holding the user's terminal");
	return verdict(false, "holding the user's terminal");
}

/* Further arguments: its path outside. */
static int attack_terminal_open(char **arguments)
{
	int fd = open(arguments[2], O_RDWR | O_NOCTTY);

	return verdict(fd >= 0 && is_users_terminal(fd, arguments) && write(fd, "typed", 5) == 5,
		       "opening the user's terminal");
}

static const struct attack attacks[] = {
	{"input-reopen", 0, attack_input_reopen},
	{"input-cut", 0, attack_input_cut},
	{"input-mode", 0, attack_input_mode},
	{"input-times", 0, attack_input_times},
	{"input-attribute", 0, attack_input_attribute},
	{"input-directory", 0, attack_input_directory},
	{"output-reopen", 0, attack_output_reopen},
	{"leaked", 0, attack_leaked},
	{"leaked-directory", 0, attack_leaked_directory},
	{"notifications", 0, attack_notifications},
	{"type", 0, attack_type},
	{"type-high-bits", 0, attack_type_high_bits},
	{"console", 0, attack_console},
	{"line-discipline", 0, attack_line_discipline},
	{"terminal-inherited", 2, attack_terminal_inherited},
	{"terminal-open", 3, attack_terminal_open},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
