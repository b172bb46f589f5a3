/* SPDX-License-Identifier: Apache-2.0 */
/* Processes as /proc tells them. Names and command lines are the processes' own words. */
#include "process_tree.h"
#include "../base/io.h"
#include "../request/text_json.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { PROCESSES_MOST = 65536, SHOWN_MOST = 256, COMMAND_MOST = 512, STAT_MOST = 4096 };

struct process {
	pid_t pid, parent;
	char state[2], name[64];
};

/* "PID (NAME) STATE PARENT ...": the name may hold anything, brackets too. */
static bool read_process(int proc, const char *number, struct process *ret_process)
{
	char path[32], text[STAT_MOST];
	_cleanup_close_ int fd = -1;
	ssize_t length;
	char *open, *close;

	snprintf(path, sizeof(path), "%.16s/stat", number);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read_all(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return false;
	text[length] = '\0';
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close < open || strlen(close) < 5)
		return false;
	*close = '\0';
	*ret_process = (struct process){.pid = (pid_t)strtol(text, NULL, 10),
					.parent = (pid_t)strtol(close + 4, NULL, 10),
					.state = {close[2], '\0'}};
	snprintf(ret_process->name, sizeof(ret_process->name), "%s", open + 1);
	return true;
}

static json_t *describe(int proc, const struct process *process)
{
	char path[32], text[COMMAND_MOST + 1];
	_cleanup_close_ int fd = -1;
	json_t *object = json_object();
	ssize_t length;

	snprintf(path, sizeof(path), "%d/cmdline", process->pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	length = fd < 0 ? -1 : read_all(fd, text, COMMAND_MOST);
	length = MAX(length, 0);
	while (length > 0 && text[length - 1] == '\0')
		length--;
	for (ssize_t i = 0; i < length; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	json_put(object, "pid", json_integer(process->pid));
	json_put(object, "parent", json_integer(process->parent));
	json_put_text(object, "state", process->state);
	json_put_text(object, "name", process->name);
	json_put_bytes(object, "command", text, (size_t)length);
	return object;
}

json_t *process_tree(pid_t root)
{
	json_t *tree = json_array();
	struct process *all = calloc(PROCESSES_MOST, sizeof(*all));
	_cleanup_free_ pid_t *known = calloc(SHOWN_MOST, sizeof(*known));
	size_t count = 0, shown = 0;
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!all || !known)
		abort();
	while (proc && count < PROCESSES_MOST && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    read_process(dirfd(proc), entry->d_name, &all[count]))
			count++;
	for (size_t i = 0; i < count && shown == 0; i++)
		if (all[i].pid == root) {
			json_array_append_new(tree, describe(dirfd(proc), &all[i]));
			known[shown++] = root;
		}
	/* One generation behind the other. */
	for (size_t k = 0; k < shown; k++)
		for (size_t i = 0; i < count && shown < SHOWN_MOST; i++)
			if (all[i].parent == known[k] && all[i].pid != known[k]) {
				json_array_append_new(tree, describe(dirfd(proc), &all[i]));
				known[shown++] = all[i].pid;
			}
	if (proc)
		closedir(proc);
	free(all);
	return tree;
}
