/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that speak to ward's own daemon: whoever does that could answer his own questions. */
#include "attack.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* True if whoever is at the other end answers as the daemon does. */
static bool answers(int fd)
{
	static const char ping[] = "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}\n";
	struct pollfd event = {fd, POLLIN, 0};
	char said[512];
	ssize_t got;

	if (send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ||
	    poll(&event, 1, 2000) != 1)
		return false;
	got = recv(fd, said, sizeof(said) - 1, MSG_DONTWAIT);
	said[got > 0 ? got : 0] = '\0';
	return strstr(said, "\"result\"") != NULL;
}

static bool reaches(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bool reached;

	if (fd < 0 || strlen(path) >= sizeof(address.sun_path)) {
		if (fd >= 0)
			errno = ENAMETOOLONG;
		cannot_try(path);
	}
	strcpy(address.sun_path, path);
	reached = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && answers(fd);
	close(fd);
	return reached;
}

static int attack_path(char **arguments)
{
	return verdict(reaches(arguments[0]), "connecting");
}

static int attack_link(char **arguments)
{
	unlink("daemon-link");
	if (symlink(arguments[0], "daemon-link") < 0)
		cannot_try("making a link in the workspace");
	return verdict(reaches("daemon-link"), "connecting through a link");
}

static int attack_relative(char **arguments)
{
	char path[108];
	int depth = 0;

	/* Up to the root, and down again. */
	*path = '\0';
	while (depth++ < 12 && strlen(path) + 3 < sizeof(path))
		strcat(path, "../");
	if (strlen(path) + strlen(arguments[0]) >= sizeof(path)) {
		errno = ENAMETOOLONG;
		cannot_try("a relative path");
	}
	strcat(path, arguments[0] + 1);
	return verdict(reaches(path), "connecting by a relative path");
}

/* Some process may see more than we do. */
static int attack_proc_root(char **arguments)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;
	bool reached = false;

	while (processes && !reached && (entry = readdir(processes))) {
		char path[512];

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/root%s", entry->d_name, arguments[0]);
		if (strlen(path) < 108)
			reached = reaches(path);
	}
	return verdict(reached, "connecting through /proc/PID/root");
}

/* Something may have been left open. */
static int attack_inherited(char **arguments)
{
	bool reached = false;

	(void)arguments;
	for (int fd = 3; fd < 256 && !reached; fd++)
		reached = answers(fd);
	return verdict(reached, "a connection that was inherited");
}

static const char *target;

static void *swap_link(void *data)
{
	for (;;) {
		unlink("daemon-new");
		(void)!symlink(target, "daemon-new");
		rename("daemon-new", "daemon-link");
		(void)!symlink(data, "daemon-new");
		rename("daemon-new", "daemon-link");
	}
	return NULL;
}

/* arguments: the daemon's socket, one that was permitted. */
static int attack_swapped_link(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	bool reached = false;

	target = arguments[0];
	start_racer(swap_link, arguments[1]);
	while (!reached && now_ms() < end)
		reached = reaches("daemon-link");
	return verdict(reached, "connecting through a link that changes");
}

static const struct attack attacks[] = {
	{"path", 1, attack_path},	    {"link", 1, attack_link},
	{"relative", 1, attack_relative},   {"proc-root", 1, attack_proc_root},
	{"inherited", 1, attack_inherited}, {"swapped-link", 2, attack_swapped_link},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
