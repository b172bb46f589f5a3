/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a followed run did: a line each, which is an object, within the room that there
 * is. Input: lines of a program and an object, with a tab between. And any name as
 * that of a run whose supervisor was killed. */
#include "../../src/record/monitor.h"
#include "files.h"

#include <jansson.h>

enum { ROOM = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every line of the trace is an object: half a line would hide what stands behind it. */
static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1, count++) {
		json_t *line = json_loadb(text, (size_t)(end - text), 0, NULL);

		if (!json_is_object(line))
			abort();
		json_decref(line);
	}
	if (*text)
		abort();
	return count;
}

static void follow(struct monitor *monitor, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	static const char *const operations[] = {"read", "write", "connect", "exec"};
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n"))) {
		const char *program = strsep(&line, "\t");

		monitor_saw(monitor, program, 1, operations[strlen(program) % 4],
			    line ? line : "/x");
		monitor_output(monitor, program, strlen(program));
	}
}

static int count_unread(const char *run, void *data)
{
	if (!*run)
		abort();
	++*(int *)data;
	return 0;
}

static void check(const char *text)
{
	struct monitor *monitor = NULL;
	_cleanup_free_ char *path = NULL, *trace = NULL;
	json_t *summary;
	size_t length;
	int unread = 0;

	if (monitor_open(place, "run", ROOM, &monitor, NULL) < 0)
		abort();
	follow(monitor, text);
	summary = monitor_summary(monitor);
	monitor_close(monitor, /* unread= */ true);
	if (asprintf(&path, "%s/monitored/run/trace", place) < 0 ||
	    read_file(AT_FDCWD, path, ROOM, &trace, &length) < 0 || strlen(trace) != length)
		abort();
	(void)count_lines(trace);
	if (length + (size_t)json_integer_value(json_object_get(summary, "output_bytes")) > ROOM ||
	    monitor_unread(place, count_unread, &unread) < 0 || unread != 1)
		abort();
	monitor_forget(place, "run");
	json_decref(summary);
}

/* It is told of what lies in its own directory, and of nothing else. */
static void check_lost(const char *run)
{
	_cleanup_free_ char *path = NULL;
	json_t *lost;

	put_file("output", "x", 1);
	lost = monitor_lost(place, run);
	if (asprintf(&path, "%s/unread", place) < 0 || access(path, F_OK) == 0)
		abort();
	json_decref(lost);
	put_file("unread", "x", 1);
	monitor_forget(place, run);
	if (access(path, F_OK) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("");
	check(text);
	check_lost(text);
	return 0;
}
