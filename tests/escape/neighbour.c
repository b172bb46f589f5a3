/* SPDX-License-Identifier: Apache-2.0 */
/* Two agents on one workspace: what one leaves behind or offers, looked for by the other. */
#include "attack.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { PATIENCE_MS = 90000, SIZE = 4096 };

static struct sockaddr_un abstract(const char *name, socklen_t *ret_length)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strncpy(address.sun_path + 1, name, sizeof(address.sun_path) - 2);
	*ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
	return address;
}

static struct sockaddr_in port(const char *name)
{
	/* Below those that the kernel gives to whoever connects. */
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons((uint16_t)(20000 + (atoi(name) % 12000))),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static key_t key(const char *name)
{
	return (key_t)(0x57000000 | (atoi(name) & 0xffffff));
}

static void path_in(char *path, size_t size, const char *directory, const char *name)
{
	snprintf(path, size, "%s/neighbour-%s", directory, name);
}

/* The name is a number, of this test's own. */
static int hold_file(const char *directory, const char *name)
{
	char path[200];
	int fd;

	path_in(path, sizeof(path), directory, name);
	fd = open(path, O_CREAT | O_RDWR, 0666);
	return fd >= 0 && write(fd, "held", 4) == 4 ? 0 : -1;
}

static int look_file(const char *directory, const char *name)
{
	char path[200];

	path_in(path, sizeof(path), directory, name);
	return verdict(access(path, R_OK) == 0, path);
}

static int hold_tmp(const char *name)
{
	return hold_file("/tmp", name);
}

static int look_tmp(const char *name)
{
	return look_file("/tmp", name);
}

static int hold_memory(const char *name)
{
	return hold_file("/dev/shm", name);
}

static int look_memory(const char *name)
{
	return look_file("/dev/shm", name);
}

static int hold_segment(const char *name)
{
	return shmget(key(name), SIZE, IPC_CREAT | 0666) < 0 ? -1 : 0;
}

static int look_segment(const char *name)
{
	int found = shmget(key(name), SIZE, 0);

	if (found >= 0)
		shmctl(found, IPC_RMID, NULL);
	return verdict(found >= 0, "shmget");
}

static int hold_queue(const char *name)
{
	char path[100] = "";

	path_in(path, sizeof(path), "", name);
	return mq_open(path, O_CREAT | O_RDWR, 0666, NULL) < 0 ? -1 : 0;
}

static int look_queue(const char *name)
{
	char path[100] = "";
	mqd_t found;

	path_in(path, sizeof(path), "", name);
	found = mq_open(path, O_RDONLY);
	if (found >= 0)
		mq_unlink(path);
	return verdict(found >= 0, "mq_open");
}

static int hold_abstract(const char *name)
{
	socklen_t length;
	struct sockaddr_un address = abstract(name, &length);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&address, length) < 0 ? -1 : listen(fd, 5);
}

static int look_abstract(const char *name)
{
	socklen_t length;
	struct sockaddr_un address = abstract(name, &length);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	return verdict(connect(fd, (struct sockaddr *)&address, length) == 0, "connect");
}

static int hold_loopback(const char *name)
{
	struct sockaddr_in address = port(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -1
										    : listen(fd, 5);
}

static int look_loopback(const char *name)
{
	struct sockaddr_in address = port(name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return verdict(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0, "connect");
}

static int hold_process(const char *name)
{
	(void)name; /* the command line holds it */
	return 0;
}

/* Another process that says `hold` and the same name. */
static int look_process(const char *name)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	bool found = false;

	while (directory && (entry = readdir(directory))) {
		char path[300], line[4096];
		ssize_t length;
		int fd;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		if (atoi(entry->d_name) <= 0 || (fd = open(path, O_RDONLY)) < 0)
			continue;
		length = read(fd, line, sizeof(line));
		close(fd);
		/* ward's own command line, outside, holds the word as well: it is another's, too.
		 */
		found |= length > 0 && memmem(line, (size_t)length, "hold", 5) &&
			 memmem(line, (size_t)length, name, strlen(name));
	}
	errno = ESRCH;
	return verdict(found, "looking for the process");
}

static const struct {
	const char *name;
	int (*hold)(const char *name);
	int (*look)(const char *name);
} kinds[] = {
	{"tmp", hold_tmp, look_tmp},
	{"memory", hold_memory, look_memory},
	{"segment", hold_segment, look_segment},
	{"queue", hold_queue, look_queue},
	{"abstract", hold_abstract, look_abstract},
	{"loopback", hold_loopback, look_loopback},
	{"process", hold_process, look_process},
};

static size_t kind_of(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(kinds); i++)
		if (strcmp(kinds[i].name, name) == 0)
			return i;
	errno = EINVAL;
	cannot_try(name);
}

/* KIND NAME: holds it until the file "done" is in the workspace. */
static int attack_hold(char **arguments)
{
	size_t kind = kind_of(arguments[0]);

	if (kinds[kind].hold(arguments[1]) < 0)
		cannot_try(arguments[0]);
	close(open("held", O_CREAT | O_WRONLY, 0666));
	for (uint64_t end = now_ms() + PATIENCE_MS; now_ms() < end && access("done", F_OK) < 0;)
		usleep(10000);
	return SUCCEEDED;
}

static int attack_look(char **arguments)
{
	return kinds[kind_of(arguments[0])].look(arguments[1]);
}

static const struct attack attacks[] = {{"hold", 2, attack_hold}, {"look", 2, attack_look}};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
