/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor.h"
#include "../base/io.h"
#include "../base/list.h"
#include "../base/units.h"
#include "../request/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { OPERATIONS = 8, ENTRIES_MOST = 10000 };

struct monitor {
	char *directory;
	FILE *trace;
	int output, place;
	uint64_t left, output_bytes, missing;
	struct {
		char name[16];
		uint64_t count;
	} seen[OPERATIONS];
	size_t seen_count;
};

/* Where the name would be a way out of the directory, a place where nothing is. */
static char *path_of(const char *state, const char *run, const char *name)
{
	char *path;

	if (run && (!*run || *run == '.' || strchr(run, '/')))
		run = ".none";

	if (asprintf(&path, "%s/monitored%s%s%s%s", state, run ? "/" : "", run ? run : "",
		     name ? "/" : "", name ? name : "") < 0)
		abort();
	return path;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* An id begins with its time: the first are the oldest. */
static void list_runs(const char *state, struct list *ret_runs)
{
	_cleanup_free_ char *path = path_of(state, NULL, NULL);
	DIR *directory = opendir(path);
	struct dirent *entry;

	for (int i = 0; directory && i < ENTRIES_MOST && (entry = readdir(directory)); i++)
		if (entry->d_name[0] != '.')
			list_add(ret_runs, entry->d_name);
	if (directory)
		closedir(directory);
	if (ret_runs->count)
		qsort(ret_runs->items, ret_runs->count, sizeof(*ret_runs->items), compare);
}

static void sweep(const char *state)
{
	_cleanup_list_ struct list runs = {0};

	list_runs(state, &runs);
	for (size_t i = 0; i + MONITOR_RUNS < runs.count; i++) {
		_cleanup_free_ char *path = path_of(state, runs.items[i], NULL);

		(void)remove_tree(AT_FDCWD, path);
	}
}

static int open_file(struct monitor *monitor, const char *name)
{
	return openat(monitor->place, name,
		      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
}

int monitor_open(const char *state, const char *run, uint64_t most, struct monitor **ret_monitor,
		 struct error **ret_error)
{
	struct monitor *monitor = calloc(1, sizeof(*monitor));
	int r, trace = -1;

	if (!monitor)
		abort();
	*monitor = (struct monitor){.directory = path_of(state, run, NULL),
				    .output = -1,
				    .place = -1,
				    .left = most ? MIN(most, MONITOR_MOST) : MONITOR_MOST};
	r = make_directories(monitor->directory, 0700);
	sweep(state);
	if (r == 0 &&
	    ((monitor->place = open(monitor->directory,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
	     (trace = open_file(monitor, "trace")) < 0 ||
	     (monitor->output = open_file(monitor, "output")) < 0 ||
	     !(monitor->trace = fdopen(trace, "a"))))
		r = -errno;
	if (r < 0) {
		fail_errno(ret_error, E_ENGINE, -r, "following the run in %s", monitor->directory);
		if (!monitor->trace)
			close_fd(&trace);
		monitor_close(monitor, /* unread= */ false);
		return -E_ENGINE;
	}
	/* A line is there when its run is killed. */
	(void)setvbuf(monitor->trace, NULL, _IOLBF, BUFSIZ);
	*ret_monitor = monitor;
	return 0;
}

static void count(struct monitor *monitor, const char *operation)
{
	size_t i = 0;

	while (i < monitor->seen_count && strcmp(monitor->seen[i].name, operation) != 0)
		i++;
	if (i == OPERATIONS)
		return;
	if (i == monitor->seen_count)
		snprintf(monitor->seen[monitor->seen_count++].name, sizeof(monitor->seen[i].name),
			 "%s", operation);
	monitor->seen[i].count++;
}

/* How much of it there is room for; the rest counts as missing. */
static size_t take_room(struct monitor *monitor, size_t length)
{
	size_t taken = (size_t)MIN((uint64_t)length, monitor->left);

	monitor->left -= taken;
	monitor->missing += length - taken;
	return taken;
}

void monitor_saw(struct monitor *monitor, const char *program, pid_t pid, const char *operation,
		 const char *object)
{
	json_t *line = json_object();
	_cleanup_free_ char *text = NULL;
	char now[TIME_TEXT];
	size_t length;

	count(monitor, operation);
	time_text(now);
	json_put(line, "time", json_string(now));
	json_put(line, "pid", json_integer(pid));
	json_put(line, "program", json_text(program));
	json_put(line, "operation", json_text(operation));
	json_put(line, "object", json_text(object));
	text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	if (!text)
		abort();
	length = strlen(text) + 1;
	if (monitor->left < length) { /* half a line is none */
		monitor->missing += length;
		return;
	}
	(void)take_room(monitor, length);
	if (fprintf(monitor->trace, "%s\n", text) < 0)
		monitor->missing += length;
}

void monitor_output(struct monitor *monitor, const char *data, size_t length)
{
	size_t taken = take_room(monitor, length);

	if (write_all(monitor->output, data, taken) < 0)
		monitor->missing += taken;
	else
		monitor->output_bytes += taken;
}

void monitor_miss(struct monitor *monitor, uint64_t bytes)
{
	monitor->missing += bytes;
}

json_t *monitor_summary(const struct monitor *monitor)
{
	json_t *object = json_object(), *seen = json_object();

	for (size_t i = 0; i < monitor->seen_count; i++)
		json_put_count(seen, monitor->seen[i].name, monitor->seen[i].count);
	json_put_text(object, "directory", monitor->directory);
	json_put(object, "seen", seen);
	json_put_count(object, "output_bytes", monitor->output_bytes);
	json_put_count(object, "missing_bytes", monitor->missing);
	return object;
}

void monitor_close(struct monitor *monitor, bool unread)
{
	if (!monitor)
		return;
	if (monitor->trace)
		fclose(monitor->trace);
	if (unread) {
		int fd = open_file(monitor, "unread");

		close_fd(&fd);
	}
	close_fd(&monitor->output);
	close_fd(&monitor->place);
	free(monitor->directory);
	free(monitor);
}

json_t *monitor_lost(const char *state, const char *run)
{
	struct monitor monitor = {.directory = path_of(state, run, NULL)};
	_cleanup_close_ int fd = -1;
	json_t *object = NULL;
	struct stat st;

	monitor.place = open(monitor.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (monitor.place >= 0 && fstatat(monitor.place, "output", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		monitor.output_bytes = (uint64_t)st.st_size;
		object = monitor_summary(&monitor);
		json_put(object, "lost", json_true());
		fd = open_file(&monitor, "unread");
	}
	close_fd(&monitor.place);
	free(monitor.directory);
	return object;
}

int monitor_unread(const char *state, int (*each)(const char *run, void *data), void *data)
{
	_cleanup_list_ struct list runs = {0};
	int r = 0;

	list_runs(state, &runs);
	for (size_t i = 0; r == 0 && i < runs.count; i++) {
		_cleanup_free_ char *path = path_of(state, runs.items[i], "unread");

		if (access(path, F_OK) == 0)
			r = each(runs.items[i], data);
	}
	return r;
}

void monitor_forget(const char *state, const char *run)
{
	_cleanup_free_ char *path = path_of(state, run, "unread");

	(void)unlink(path);
}
