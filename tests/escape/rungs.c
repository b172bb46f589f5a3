/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what stands in for a missing wall. */
#include "attack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

static char path[4096];
static const char *own, *others;

static void *rewrite(void *data)
{
	(void)data;
	for (;;) {
		strcpy(path, others);
		linger(200);
		strcpy(path, own);
		linger(200);
	}
	return NULL;
}

/* Between a look at the path and the act another one stands there. */
static int attack_rewritten_mode(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	struct stat st;
	int fd;

	own = "own-file";
	others = arguments[0];
	fd = open(own, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		cannot_try("making a file in the workspace");
	strcpy(path, own);
	start_racer(rewrite, NULL);
	do {
		chmod(path, 0644);
		if (stat(others, &st) == 0 && (st.st_mode & 0777) == 0644)
			return verdict(true, "chmod of a path that changes");
	} while (now_ms() < end);
	errno = EACCES;
	return verdict(false, "chmod of a path that changes");
}

/* A name that looks like that of a file that was removed. */
static int attack_removed_name(char **arguments)
{
	int fd = open(arguments[0], O_RDONLY);

	if (fd < 0)
		cannot_try(arguments[0]);
	return verdict(fchmod(fd, 0644) == 0, "fchmod of a file whose name looks removed");
}

/* Init's own group can be joined; a signal to one's group would meet it. */
static int attack_join_init(char **arguments)
{
	pid_t init = getppid(), child = fork();
	int status;

	(void)arguments;
	if (child == 0) {
		setpgid(0, init);
		kill(0, SIGKILL);
		kill(-init, SIGKILL);
		kill(init, SIGKILL);
		syscall(SYS_tgkill, init, init, SIGKILL);
		syscall(SYS_tkill, init, SIGKILL);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		cannot_try("fork");
	usleep(100000);
	errno = EPERM;
	return verdict(getppid() != init, "ending init from its own group");
}

/* Whoever opens it for us must not be one who may. */
static int attack_other_memory(char **arguments)
{
	char file[64];

	snprintf(file, sizeof(file), "/proc/%s/mem", arguments[0]);
	return verdict(open(file, O_RDWR) >= 0, file);
}

static const struct attack attacks[] = {
	{"other-memory", 1, attack_other_memory},
	{"rewritten-mode", 1, attack_rewritten_mode},
	{"removed-name", 1, attack_removed_name},
	{"join-init", 0, attack_join_init},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
