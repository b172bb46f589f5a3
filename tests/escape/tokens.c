/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on what can be taken back: tokens NAME DIRECTORY makes use of what was granted in
 * DIRECTORY, "log" to be written, "sock" to be connected to and "tool" to be started, by many
 * threads at once and as fast as they can, until the file "stop" is there. Whether something got
 * through is seen by whoever put these there. A minute at most. */
#include "attack.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { EACH = 4, MOST_MS = 60000 };

extern char **environ;
static char log_file[PATH_MAX], sock[100], tool[PATH_MAX], other[PATH_MAX];
static uint64_t end_ms;

static bool is_over(void)
{
	return now_ms() > end_ms || access("stop", F_OK) == 0;
}

static bool write_once(void)
{
	int fd = open(log_file, O_WRONLY | O_APPEND);
	bool done = fd >= 0 && write(fd, "x", 1) == 1;

	if (fd >= 0)
		close(fd);
	return done;
}

static bool connect_once(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool done;

	strcpy(address.sun_path, sock);
	done = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	close(fd);
	return done;
}

static bool start_once(void)
{
	char *words[] = {tool, "out/ran", NULL};
	int status = 0;
	pid_t pid;

	return posix_spawn(&pid, tool, NULL, NULL, words, environ) == 0 &&
	       waitpid(pid, &status, 0) == pid && status == 0;
}

/* Nobody answers it: a call that stands as long as the run does. */
static bool ask_once(void)
{
	int fd = open(other, O_WRONLY | O_CREAT, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void *again_and_again(void *data)
{
	bool (**act)(void) = data;

	while (!is_over())
		(void)(*act)();
	return NULL;
}

static bool (*const acts[])(void) = {write_once, connect_once, start_once};

/* One after the other, until each was given. */
static int attack_use(char **arguments)
{
	(void)arguments;
	for (size_t i = 0; i < ELEMENTS(acts); i++)
		if (!acts[i]())
			cannot_try(i == 0 ? "writing" : i == 1 ? "connecting" : "starting");
	return SUCCEEDED;
}

static int race(char **arguments, bool asks)
{
	static bool (*act[])(void) = {write_once, connect_once, start_once, ask_once};
	int fd;

	(void)attack_use(arguments);
	for (size_t i = 0; i < ELEMENTS(act) - !asks; i++)
		for (int n = 0; n < EACH; n++)
			start_racer(again_and_again, &act[i]);
	fd = open("ready", O_WRONLY | O_CREAT, 0600);
	if (fd < 0)
		cannot_try("saying that it goes");
	while (!is_over())
		usleep(10000);
	_exit(SUCCEEDED); /* some of them may stand for ever */
}

static int attack_race(char **arguments)
{
	return race(arguments, /* asks= */ false);
}

/* And with calls that wait for a person all the while. */
static int attack_race_asking(char **arguments)
{
	return race(arguments, /* asks= */ true);
}

/* Writes as long as it can; what it ends with is whether it still could after so many seconds. */
static int attack_last(char **arguments)
{
	uint64_t begun = now_ms(), until = (uint64_t)atoi(arguments[1]) * 1000;

	if (!write_once())
		cannot_try("writing");
	while (now_ms() < begun + until) {
		if (!write_once())
			return verdict(false, "writing on");
		usleep(20000);
	}
	return verdict(true, "writing on");
}

int main(int argc, char **argv)
{
	static const struct attack attacks[] = {{"use", 1, attack_use},
						{"race", 1, attack_race},
						{"race-asking", 1, attack_race_asking},
						{"last", 2, attack_last}};

	end_ms = now_ms() + MOST_MS;
	if (argc > 2) {
		snprintf(log_file, sizeof(log_file), "%s/log", argv[2]);
		snprintf(sock, sizeof(sock), "%s/sock", argv[2]);
		snprintf(tool, sizeof(tool), "%s/tool", argv[2]);
		snprintf(other, sizeof(other), "%s/other", argv[2]);
	}
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
