/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and prints which of its functions were called: by itself, and by those it forks
 * until they execute something else. Each function's first byte is a breakpoint until it is met.
 *
 *     functions-run PROGRAM ARGUMENT... < OFFSETS
 *
 * Offsets into the file, in hexadecimal, one a line; so is what it prints, with the sum of who
 * called it behind it: 1 the program itself before it first forked, 2 it, 4 those it forked. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 64, LARGEST = 16 << 20, BREAKPOINT = 0xcc };
enum { EARLY = 1, ITSELF = 2, FORKED = 4 };

static struct {
	pid_t pid;
	int executes_other;
} traced[PROCESSES];
static size_t count;
static unsigned long base;
static unsigned char original[LARGEST], is_function[LARGEST], seen[LARGEST];
static int has_original;

static unsigned long base_of(pid_t pid, const char *program)
{
	char path[64], line[4400], name[4200];
	unsigned long first = 0, at = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "r");
	while (maps && !first && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%*x %*s %*x %*s %*s %4199s", &at, name) == 2 &&
		    strcmp(name, program) == 0)
			first = at;
	if (maps)
		fclose(maps);
	return first;
}

static void write_byte(pid_t pid, unsigned long at, unsigned char byte)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR);
	if (fd < 0 || pwrite(fd, &byte, 1, (off_t)(base + at)) != 1)
		exit(1);
	close(fd);
}

static void set_breakpoints(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDWR);
	for (unsigned long at = 0; at < LARGEST; at++) {
		const unsigned char byte = BREAKPOINT;

		if (is_function[at] &&
		    ((!has_original && pread(fd, &original[at], 1, (off_t)(base + at)) != 1) ||
		     pwrite(fd, &byte, 1, (off_t)(base + at)) != 1))
			exit(1);
	}
	has_original = 1;
	close(fd);
}

static size_t find(pid_t pid)
{
	size_t i = 0;

	while (i < count && traced[i].pid != pid)
		i++;
	if (i == count) {
		if (count == PROCESSES)
			exit(1);
		traced[count++].pid = pid;
		ptrace(PTRACE_SETOPTIONS, pid, NULL,
		       PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
			       PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL);
	}
	return i;
}

/* True: it was a breakpoint of ours, and is one no more. */
static int passes(pid_t pid, int who)
{
	struct user_regs_struct registers;
	unsigned long at;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &registers) < 0)
		return 0;
	at = registers.rip - 1 - base;
	if (at >= LARGEST || !is_function[at])
		return 0;
	seen[at] |= who;
	write_byte(pid, at, original[at]);
	registers.rip--;
	ptrace(PTRACE_SETREGS, pid, NULL, &registers);
	return 1;
}

int main(int argc, char **argv)
{
	int begun = 0, status = 0;
	size_t known;
	unsigned long offset;
	pid_t pid, who;

	while (scanf("%lx", &offset) == 1)
		if (offset < LARGEST)
			is_function[offset] = 1;
	if (argc < 2 || (pid = fork()) < 0)
		return 1;
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	for (;;) {
		int number, event;
		size_t i;

		who = waitpid(-1, &status, __WALL);
		if (who < 0 && errno == EINTR)
			continue;
		if (who < 0 || (who == pid && !WIFSTOPPED(status)))
			break;
		if (!WIFSTOPPED(status))
			continue;
		number = WSTOPSIG(status);
		event = status >> 16;
		known = count;
		i = find(who);
		/* It calls again what was called before it was forked. */
		if (begun && known < count)
			set_breakpoints(who);
		if (!begun && who == pid && (base = base_of(pid, argv[1]))) {
			set_breakpoints(pid);
			begun = 1;
			number = SIGTRAP;
		} else if (event == PTRACE_EVENT_EXEC) {
			ptrace(PTRACE_DETACH, who, NULL, NULL);
			traced[i].pid = -1;
			continue;
		} else if (number == SIGTRAP && !event && !passes(who, who != pid ? FORKED : count > 1 ? ITSELF : EARLY)) {
			number = 0;
		}
		ptrace(PTRACE_CONT, who, NULL,
		       number == SIGTRAP || number == SIGSTOP ? 0L : (long)number);
	}
	for (unsigned long at = 0; at < LARGEST; at++)
		if (seen[at])
			printf("%lx %d\n", at, seen[at]);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}
