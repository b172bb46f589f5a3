/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on a run that is made to stand still: freeze NAME DENIED COUNT opens what is denied,
 * which is a violation, and tries to go on counting in the file COUNT all the same. A minute at
 * most. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICKS = 60 * 200 };

static const char *denied, *file;

/* By a descriptor that is open already: no call that the supervisor would have to answer. */
static void tick(long number)
{
	static int fd = -1;
	char text[32];
	int length = snprintf(text, sizeof(text), "%8ld", number);

	if (fd < 0)
		fd = open(file, O_WRONLY | O_CREAT, 0600);
	(void)!pwrite(fd, text, length, 0);
	usleep(5000);
}

/* By its name each time: by what was granted, as long as that holds. */
static void tick_anew(long number)
{
	char text[32];
	int fd = open(file, O_WRONLY | O_CREAT, 0600);
	int length = snprintf(text, sizeof(text), "%8ld", number);

	if (fd >= 0) {
		(void)!pwrite(fd, text, length, 0);
		close(fd);
	}
	usleep(5000);
}

static void count(void)
{
	for (long i = 1; i < TICKS; i++)
		tick(i);
	_exit(0);
}

/* Not before somebody counts. */
static void violate(void)
{
	for (int i = 0; i < 1000 && access(file, F_OK) < 0; i++)
		usleep(5000);
	(void)open(denied, O_RDONLY);
}

static void attack_fork(void)
{
	if (fork() == 0)
		count();
	violate();
}

static void attack_setsid(void)
{
	if (fork() == 0) {
		setsid();
		count();
	}
	violate();
}

/* A child that lets its parent go on. */
static void attack_sigcont(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		for (int i = 0; i < TICKS * 5; i++) {
			kill(parent, SIGCONT);
			usleep(1000);
		}
		_exit(0);
	}
	tick(1);
	violate();
	count();
}

/* Never the same process for long, and nobody's child. */
static void attack_double_fork(void)
{
	if (fork() == 0) {
		for (long i = 1; i < TICKS; i++) {
			tick(i);
			if (fork() != 0)
				_exit(0);
			setsid();
		}
		_exit(0);
	}
	violate();
}

/* As many as there may be, being made while it happens. */
static void attack_storm(void)
{
	if (fork() == 0)
		count();
	for (int i = 0; i < 4; i++)
		if (fork() == 0) {
			for (int k = 0; k < TICKS; k++) {
				pid_t pid = fork();

				if (pid == 0)
					_exit(0);
				waitpid(pid, NULL, 0);
			}
			_exit(0);
		}
	violate();
}

/* One step more than the one that is refused; by many at once, so that some of them are answered
 * while the supervisor is still busy with the others. */
static void attack_next(void)
{
	int fd = open(file, O_WRONLY | O_CREAT, 0600), gate[2];
	char byte;

	if (pipe(gate) < 0)
		_exit(1);
	for (int i = 0; i < 64; i++)
		if (fork() == 0) {
			close(gate[1]);
			(void)!read(gate[0], &byte, 1); /* until the last one is there */
			(void)open(denied, O_RDONLY);
			(void)!pwrite(fd, "1", 1, 0);
			_exit(0);
		}
	close(gate[1]);
}

/* Writes to what was granted as long as it can; the file "go" says that it is to violate, too. */
static void attack_race(void)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_APPEND, 0600);

	if (fd < 0)
		_exit(1);
	close(fd);
	if (access("go", F_OK) < 0)
		_exit(0);
	if (fork() == 0) {
		for (long i = 1; i < TICKS; i++)
			tick_anew(i);
		_exit(0);
	}
	violate();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*attack)(void);
	} attacks[] = {{"fork", attack_fork},	    {"setsid", attack_setsid},
		       {"sigcont", attack_sigcont}, {"double-fork", attack_double_fork},
		       {"storm", attack_storm},	    {"next", attack_next},
		       {"race", attack_race}};

	if (argc < 4)
		return 2;
	denied = argv[2];
	file = argv[3];
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++)
		if (strcmp(attacks[i].name, argv[1]) == 0)
			attacks[i].attack();
	for (int i = 0; i < 60; i++)
		sleep(1);
	return 0;
}
