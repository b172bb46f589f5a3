/* SPDX-License-Identifier: Apache-2.0 */
/* Times several commands in turn, round by round, so that whatever the machine does meanwhile hits
 * all of them alike.
 *
 *     startup [-u] [-n ROUNDS] [-w WARMUPS] [-C DIR] [-i FILE] [-p SHELL-TEXT] COMMAND... [:::
 * COMMAND...]
 *
 * -i is what each reads on standard input. -p runs before each command and is not timed. -u counts
 * the time of processors that the command and all that it waited for have used, instead of the
 * clock's. Prints one line a command: the best time, p50 and p90 in microseconds, the ratio of its
 * p50 to that of the first, and the command, separated by tabs. A command that fails ends it all: a
 * failure is fast and would look like speed. */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_COMMANDS = 16, MAX_ROUNDS = 100000 };

extern char **environ;

static const char *input = "/dev/null";

struct contender {
	char **argv;
	char *path;	/* found once, so that no round pays for the search */
	uint64_t *took; /* nanoseconds, one per round */
};

__attribute__((noreturn, format(printf, 1, 2))) static void die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fputs("startup: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	exit(1);
}

static bool used; /* -u */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static char *find_program(const char *name)
{
	const char *search = getenv("PATH");

	if (strchr(name, '/'))
		return strdup(name);
	if (!search)
		search = "/usr/bin:/bin";
	for (const char *at = search; *at;) {
		size_t length = strcspn(at, ":");
		char *path = NULL;

		if (asprintf(&path, "%.*s/%s", (int)length, at, name) < 0)
			die("no memory");
		if (access(path, X_OK) == 0)
			return path;
		free(path);
		at += length;
		at += *at == ':';
	}
	die("%s: not found", name);
}

/* Its output goes nowhere; what it has to complain about stays visible. */
static uint64_t run_once(const struct contender *contender)
{
	posix_spawn_file_actions_t actions;
	uint64_t began, ended;
	struct rusage usage;
	int status, error;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);

	began = now_ns();
	error = posix_spawn(&pid, contender->path, &actions, NULL, contender->argv, environ);
	if (error)
		die("%s: %s", contender->path, strerror(error));
	while (wait4(pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			die("wait4: %s", strerror(errno));
	ended = now_ns();

	posix_spawn_file_actions_destroy(&actions);
	if (WIFSIGNALED(status))
		die("%s: killed by signal %d", contender->path, WTERMSIG(status));
	if (WEXITSTATUS(status))
		die("%s: exit status %d", contender->path, WEXITSTATUS(status));
	if (used)
		return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
		       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
	return ended - began;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static long number(const char *text, long least, long most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < least || value > most)
		die("%s: expected a number from %ld to %ld", text, least, most);
	return value;
}

int main(int argc, char **argv)
{
	struct contender contenders[MAX_COMMANDS] = {0};
	char *prepare_argv[] = {"sh", "-c", NULL, NULL};
	struct contender prepare = {.argv = prepare_argv, .path = "/bin/sh"};
	size_t count = 0;
	long rounds = 300, warmups = 5;
	double first = 0;
	int option;

	while ((option = getopt(argc, argv, "+un:w:C:i:p:")) != -1) {
		switch (option) {
		case 'u':
			used = true;
			break;
		case 'n':
			rounds = number(optarg, 1, MAX_ROUNDS);
			break;
		case 'w':
			warmups = number(optarg, 0, MAX_ROUNDS);
			break;
		case 'C':
			if (chdir(optarg) < 0)
				die("%s: %s", optarg, strerror(errno));
			break;
		case 'i':
			input = optarg;
			break;
		case 'p':
			prepare_argv[2] = optarg;
			break;
		default:
			return 2;
		}
	}

	for (int at = optind; at < argc; at++) {
		if (count == MAX_COMMANDS)
			die("at most %d commands", MAX_COMMANDS);
		contenders[count++].argv = &argv[at];
		while (at < argc && strcmp(argv[at], ":::") != 0)
			at++;
		if (contenders[count - 1].argv == &argv[at])
			die("an empty command");
		argv[at] = NULL; /* either the separator or the end, which is NULL already */
	}
	if (!count)
		die("no command");
	for (size_t i = 0; i < count; i++) {
		contenders[i].path = find_program(contenders[i].argv[0]);
		contenders[i].took = calloc((size_t)rounds, sizeof(uint64_t));
		if (!contenders[i].took)
			die("no memory");
	}

	for (long round = -warmups; round < rounds; round++) {
		for (size_t turn = 0; turn < count; turn++) {
			/* Another one begins each round: none always follows the same one. */
			size_t i = (turn + (size_t)(round + warmups)) % count;
			uint64_t took;

			if (prepare_argv[2])
				run_once(&prepare);
			took = run_once(&contenders[i]);
			if (round >= 0)
				contenders[i].took[round] = took;
		}
	}

	for (size_t i = 0; i < count; i++) {
		uint64_t *took = contenders[i].took;
		double best, p50, p90;

		qsort(took, (size_t)rounds, sizeof(*took), by_size);
		best = (double)took[0] / 1e3;
		p50 = (double)took[rounds / 2] / 1e3;
		p90 = (double)took[rounds * 9 / 10] / 1e3;
		if (i == 0)
			first = p50;
		printf("%.1f\t%.1f\t%.1f\t%.3f\t", best, p50, p90, p50 / first);
		for (char **word = contenders[i].argv; *word; word++)
			printf("%s%s", word == contenders[i].argv ? "" : " ", *word);
		putchar('\n');
		free(took);
		free(contenders[i].path);
	}
	return 0;
}
