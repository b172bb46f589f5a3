/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on rules about programs: MARKER must not be made by `touch MARKER`, which a rule denies.
 * Each races what the supervisor has looked at against what the kernel then loads. */
#include "attack.h"

#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define HARMLESS "/usr/bin/true"
#define TOUCH	 "/usr/bin/touch"

extern char **environ;

/* Seen by the racer, in this process, and by those that execute. */
static struct shared {
	char path[64], word[64];
	char *argv[4];
} * shared;

static const char *marker, *harmless; /* of one length */
static int directories[2], moving;
static uint64_t patience = 1000; /* milliseconds */

static void prepare(char **arguments)
{
	static char other[64];

	marker = arguments[0];
	if (arguments[1])
		patience = strtoull(arguments[1], NULL, 10);
	if (strlen(marker) >= sizeof(other))
		cannot_try("the marker's name is too long");
	strcpy(other, marker);
	other[0] = other[0] == 'x' ? 'y' : 'x';
	harmless = other;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		cannot_try("memory");
	strcpy(shared->path, TOUCH);
	strcpy(shared->word, marker);
	shared->argv[0] = (char *)"touch";
	shared->argv[1] = shared->word;
	for (int i = 0; i < 2; i++) {
		const char *const names[] = {"harmless-place", "other-place"};

		mkdir(names[i], 0700);
		directories[i] = open(names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		(void)!symlinkat(i ? TOUCH : HARMLESS, directories[i], "program");
	}
	moving = fcntl(directories[0], F_DUPFD, 50);
	if (moving < 0)
		cannot_try("directories");
}

/* Again and again, with a moment in between that differs, until the marker is there or time is up.
 */
static int race(void *(*racer)(void *), void (*start)(void))
{
	uint64_t end = now_ms() + patience;
	pid_t child;

	start_racer(racer, NULL);
	while (now_ms() < end && access(marker, F_OK) < 0) {
		child = fork();
		if (child == 0) {
			start();
			_exit(0);
		}
		if (child < 0)
			cannot_try("fork");
		waitpid(child, NULL, 0);
	}
	return verdict(access(marker, F_OK) == 0, "touching the marker");
}

static void moment(void)
{
	static unsigned seed = 1;

	seed = seed * 1103515245 + 12345;
	linger((int)(seed >> 16 & 0x3fff));
}

static void *rewrite_words(void *data)
{
	for (;;) {
		strcpy(shared->word, harmless);
		moment();
		strcpy(shared->word, marker);
		moment();
	}
	return data;
}

static void execute(void)
{
	execve(shared->path, shared->argv, environ);
}

static int rewritten_words(char **arguments)
{
	prepare(arguments);
	return race(rewrite_words, execute);
}

static void *rewrite_path(void *data)
{
	for (;;) {
		strcpy(shared->path, HARMLESS);
		moment();
		strcpy(shared->path, TOUCH);
		moment();
	}
	return data;
}

/* A format that only the machine may know, so that nobody can say what will be loaded. */
static void *rewrite_unknown(void *data)
{
	for (;;) {
		strcpy(shared->path, "unknown-place");
		moment();
		strcpy(shared->path, TOUCH);
		moment();
	}
	return data;
}

static int rewritten_unknown(char **arguments)
{
	int fd = open("unknown-place", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	(void)!write(fd, "no format\n", 10);
	close(fd);
	prepare(arguments);
	shared->argv[0] = (char *)"unknown";
	return race(rewrite_unknown, execute);
}

/* The same, and what is loaded then loads the program. */
static void *rewrite_to_loader(void *data)
{
	for (;;) {
		strcpy(shared->path, "unknown-place");
		moment();
		strcpy(shared->path, "/lib64/ld-linux-x86-64.so.2");
		moment();
	}
	return data;
}

static int rewritten_to_loader(char **arguments)
{
	int fd = open("unknown-place", O_WRONLY | O_CREAT | O_CLOEXEC, 0700);

	(void)!write(fd, "no format\n", 10);
	close(fd);
	prepare(arguments);
	shared->argv[0] = (char *)"unknown";
	shared->argv[1] = (char *)TOUCH;
	shared->argv[2] = shared->word;
	return race(rewrite_to_loader, execute);
}

static int rewritten_path(char **arguments)
{
	prepare(arguments);
	shared->argv[0] = (char *)"true";
	return race(rewrite_path, execute);
}

static void *rewrite_pointers(void *data)
{
	static char plain[64];

	strcpy(plain, harmless);
	for (;;) {
		shared->argv[1] = plain;
		moment();
		shared->argv[1] = shared->word;
		moment();
	}
	return data;
}

static int rewritten_pointers(char **arguments)
{
	prepare(arguments);
	return race(rewrite_pointers, execute);
}

/* The racer shares the table of fds, or the working directory, with whoever executes. */
static int share(int flags, int (*body)(void *))
{
	uint64_t end = now_ms() + patience;
	char *stack =
		mmap(NULL, 1 << 18, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	while (now_ms() < end && access(marker, F_OK) < 0) {
		pid_t child = clone(body, stack + (1 << 18), flags | SIGCHLD, NULL);

		if (child < 0)
			cannot_try("clone");
		for (int status; waitpid(child, &status, WNOHANG) == 0;) {
			if (flags & CLONE_FILES) {
				dup2(directories[0], moving);
				moment();
				dup2(directories[1], moving);
			} else {
				(void)!fchdir(directories[0]);
				moment();
				(void)!fchdir(directories[1]);
			}
			moment();
		}
	}
	return verdict(access(marker, F_OK) == 0, "touching the marker");
}

static char *plain_argv[3] = {(char *)"program"};

static int execute_at(void *data)
{
	(void)data;
	syscall(SYS_execveat, moving, "program", plain_argv, environ, 0);
	return 1;
}

static int swapped_directory(char **arguments)
{
	prepare(arguments);
	plain_argv[1] = (char *)marker;
	return share(CLONE_FILES, execute_at);
}

static int execute_here(void *data)
{
	(void)data;
	execve("program", plain_argv, environ);
	return 1;
}

static int changed_directory(char **arguments)
{
	static char absolute[256];

	prepare(arguments);
	if (!getcwd(absolute, sizeof(absolute) - 70))
		cannot_try("the working directory");
	strcat(strcat(absolute, "/"), marker);
	marker = plain_argv[1] = absolute;
	return share(CLONE_FS, execute_here);
}

/* A program that is open, replaced by another under the same number. */
static int execute_open(void *data)
{
	(void)data;
	syscall(SYS_execveat, moving, "", plain_argv, environ, AT_EMPTY_PATH);
	return 1;
}

static int swapped_file(char **arguments)
{
	prepare(arguments);
	plain_argv[1] = (char *)marker;
	directories[0] = open(HARMLESS, O_RDONLY | O_CLOEXEC);
	directories[1] = open(TOUCH, O_RDONLY | O_CLOEXEC);
	return share(CLONE_FILES, execute_open);
}

/* From another thread than the first, whose number the program takes over. */
static void *execute_thread(void *data)
{
	execute();
	return data;
}

static void start_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, execute_thread, NULL) == 0)
		pthread_join(thread, NULL);
}

static int rewritten_by_thread(char **arguments)
{
	prepare(arguments);
	return race(rewrite_words, start_thread);
}

/* Without a race: other names for the program, other ways to it. */
static int ended_with(const char *path, char *const *argv)
{
	pid_t child = fork();

	if (child == 0) {
		execve(path, argv, environ);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	return verdict(access(marker, F_OK) == 0, "touching the marker");
}

static int other_name(char **arguments)
{
	char *argv[] = {(char *)"innocent", arguments[0], NULL};

	marker = arguments[0];
	return ended_with(TOUCH, argv);
}

static int symbolic_link(char **arguments)
{
	char *argv[] = {(char *)"innocent", arguments[0], NULL};

	marker = arguments[0];
	(void)!symlink(TOUCH, "innocent");
	return ended_with("./innocent", argv);
}

static int by_loader(char **arguments)
{
	char *argv[] = {(char *)"ld.so",    (char *)"--argv0",
			(char *)"innocent", (char *)"../../../usr/bin/touch",
			arguments[0],	    NULL};

	marker = arguments[0];
	argv[3] = (char *)TOUCH;
	return ended_with("/lib64/ld-linux-x86-64.so.2", argv);
}

static int by_interpreter(char **arguments)
{
	char *argv[] = {(char *)"./script", NULL}, line[128];
	int fd = open("script", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	marker = arguments[0];
	snprintf(line, sizeof(line), "#!%s %s\n", TOUCH, marker);
	(void)!write(fd, line, strlen(line));
	close(fd);
	return ended_with("./script", argv);
}

static const struct attack attacks[] = {
	{"rewritten-words", 1, rewritten_words},
	{"rewritten-path", 1, rewritten_path},
	{"rewritten-unknown", 1, rewritten_unknown},
	{"rewritten-to-loader", 1, rewritten_to_loader},
	{"rewritten-pointers", 1, rewritten_pointers},
	{"rewritten-by-thread", 1, rewritten_by_thread},
	{"swapped-directory", 1, swapped_directory},
	{"changed-directory", 1, changed_directory},
	{"swapped-file", 1, swapped_file},
	{"other-name", 1, other_name},
	{"symbolic-link", 1, symbolic_link},
	{"by-loader", 1, by_loader},
	{"by-interpreter", 1, by_interpreter},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
