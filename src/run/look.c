/* SPDX-License-Identifier: Apache-2.0 */
#include "look.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 4096 };

static ssize_t read_of(pid_t pid, const char *file, char text[static TEXT])
{
	char path[64];
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	length = read(fd, text, TEXT - 1);
	close(fd);
	text[MAX(length, 0)] = '\0';
	return length;
}

static void each_child(pid_t pid, void (*each)(void *data, pid_t child), void *data)
{
	char path[64], text[TEXT];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		snprintf(path, sizeof(path), "task/%.20s/children", entry->d_name);
		if (entry->d_name[0] == '.' || read_of(pid, path, text) <= 0)
			continue;
		for (char *at = text, *end; strtol(at, &end, 10) > 0; at = end)
			each(data, (pid_t)strtol(at, NULL, 10));
	}
	if (directory)
		closedir(directory);
}

static void take_init(void *data, pid_t child)
{
	char text[TEXT];

	if (read_of(child, "comm", text) > 0 && strcmp(text, "ward-init\n") == 0)
		*(pid_t *)data = child;
}

pid_t look_init(pid_t supervisor)
{
	pid_t init = -1;

	if (supervisor > 0)
		each_child(supervisor, take_init, &init);
	return init;
}

/* Who is still to be looked at. */
struct waiting {
	struct looked *looked;
	pid_t parent;
};

static void add_process(void *data, pid_t child)
{
	struct waiting *waiting = data;
	struct looked *looked = waiting->looked;

	if (looked->count >= LOOK_PROCESSES)
		return;
	looked->processes =
		reallocarray(looked->processes, looked->count + 1, sizeof(*looked->processes));
	if (!looked->processes)
		abort();
	looked->processes[looked->count++] =
		(struct looked_process){.pid = child, .parent = waiting->parent, .state = '?'};
}

/* What it is called, in brackets where it has no words, as ps does. */
static void read_command(struct looked_process *process)
{
	char text[TEXT];
	ssize_t length = read_of(process->pid, "cmdline", text);

	for (ssize_t i = 0; i < length - 1; i++)
		if (!text[i])
			text[i] = ' ';
	if (length > 0) {
		snprintf(process->command, sizeof(process->command), "%.*s", LOOK_COMMAND - 1,
			 text);
		return;
	}
	length = read_of(process->pid, "comm", text);
	snprintf(process->command, sizeof(process->command), "[%.*s]",
		 (int)MAX(length - 1, (ssize_t)0), text);
}

static void read_numbers(struct looked_process *process)
{
	const uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user, system, pages;
	char text[TEXT], *at;

	if (read_of(process->pid, "stat", text) > 0 && (at = strrchr(text, ')')) &&
	    sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &process->state,
		   &user, &system) == 3)
		process->cpu_ns = (user + system) * tick;
	if (read_of(process->pid, "statm", text) > 0 && sscanf(text, "%*u %llu", &pages) == 1)
		process->memory = pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_sockets(struct looked *looked, pid_t pid)
{
	char path[64], target[64];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && looked->socket_count < LOOK_SOCKETS && (entry = readdir(directory))) {
		ssize_t length =
			readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);
		uint64_t inode;
		size_t i = 0;

		if (length < 9 || memcmp(target, "socket:[", 8) != 0)
			continue;
		target[length] = '\0';
		inode = strtoull(target + 8, NULL, 10);
		while (i < looked->socket_count && looked->sockets[i] != inode)
			i++;
		looked->sockets[i] = inode;
		looked->socket_count = MAX(looked->socket_count, i + 1);
	}
	if (directory)
		closedir(directory);
}

int look(pid_t init, bool details, struct looked *ret_looked)
{
	struct counter counter = {.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				  .memory = -1,
				  .init = init,
				  .only_it = true};
	struct looked looked = {.sockets = calloc(LOOK_SOCKETS, sizeof(*looked.sockets))};
	struct waiting waiting = {&looked, init};
	int r;

	if (!looked.sockets)
		abort();
	r = counter.proc < 0 ? -errno
			     : usage_count(&counter, USAGE_MEMORY | USAGE_CPU | USAGE_BYTES,
					   UINT64_MAX, UINT64_MAX, &looked.usage);
	counter_done(&counter);
	each_child(init, add_process, &waiting);
	for (size_t i = 0; i < looked.count; i++) {
		waiting.parent = looked.processes[i].pid;
		each_child(waiting.parent, add_process, &waiting);
		add_sockets(&looked, looked.processes[i].pid);
		if (details) {
			read_command(&looked.processes[i]);
			read_numbers(&looked.processes[i]);
		}
	}
	*ret_looked = looked;
	return r;
}

void looked_done(struct looked *looked)
{
	free(looked->processes);
	free(looked->sockets);
	*looked = (struct looked){0};
}
