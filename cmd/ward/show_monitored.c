/* SPDX-License-Identifier: Apache-2.0 */
/* What was kept of a run that somebody wanted followed. */
#include "output.h"
#include "show_monitored.h"
#include "../../src/base/buffer.h"
#include "../../src/record/monitor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_SHOWN = 20, LINE_MOST = 64 * 1024 };

static json_t *record_of(json_t *run)
{
	json_t *record, *found = NULL;
	size_t i;

	json_array_foreach (json_object_get(run, "records"), i, record) {
		const char *kind = text_of(record, "kind");

		if (kind && strcmp(kind, "run.monitored") == 0)
			found = record;
	}
	return found;
}

static void print_line(const char *label, const char *text)
{
	printf("%-11s", label);
	output_text(COLOUR_NONE, text);
	putchar('\n');
}

/* What any program reads to start tells nobody anything. */
static bool is_common(json_t *seen)
{
	static const char *const places[] = {"/usr/", "/lib", "/proc/", "/dev/", "/etc/ld.so."};
	const char *operation = text_of(seen, "operation"), *object = text_of(seen, "object");

	for (size_t i = 0; i < ELEMENTS(places) && operation && object; i++)
		if (strcmp(operation, "read") == 0 &&
		    strncmp(object, places[i], strlen(places[i])) == 0)
			return true;
	return false;
}

static bool print_seen(const char *line)
{
	json_t *seen = json_loads(line, 0, NULL);
	const char *parts[] = {text_of(seen, "program"), text_of(seen, "operation"),
			       text_of(seen, "object")};
	_cleanup_buffer_ struct buffer text = {0};
	bool shown = seen && !is_common(seen);

	for (size_t i = 0; shown && i < ELEMENTS(parts); i++)
		buffer_printf(&text, "%s%s", i ? " " : "", parts[i] ? parts[i] : "?");
	if (shown)
		print_line("", buffer_text(&text));
	json_decref(seen);
	return shown;
}

/* As it was left: of a run in somebody else's workspace it lies in his hands. */
static FILE *open_trace(const char *directory)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;
	FILE *trace;

	if (asprintf(&path, "%s/trace", directory) < 0)
		abort();
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_size > (off_t)MONITOR_MOST)
		return NULL;
	trace = fdopen(fd, "r");
	if (trace)
		fd = -1;
	return trace;
}

/* The first of them; how many more there are is said. */
static void print_trace(const char *directory)
{
	unsigned long long shown = 0, more = 0;
	char line[LINE_MOST];
	FILE *trace = open_trace(directory);

	while (trace && fgets(line, sizeof(line), trace)) {
		if (!strchr(line, '\n')) /* part of one that is too long to be one */
			continue;
		if (shown < LINES_SHOWN && print_seen(line))
			shown++;
		else
			more++;
	}
	if (more)
		printf("%-11sand %llu more in trace\n", "", more);
	if (trace)
		fclose(trace);
	else
		print_line("", "what was kept is gone: the latest 100 such runs are");
}

void show_monitored(json_t *run)
{
	json_t *record = record_of(run), *count;
	_cleanup_buffer_ struct buffer text = {0};
	const char *operation;
	long long missing;

	if (!record)
		return;
	missing = json_integer_value(json_object_get(record, "missing_bytes"));
	if (json_is_true(json_object_get(record, "lost")))
		buffer_add_text(&text, "until whoever carried it out was killed: ");
	else
		buffer_printf(&text,
			      "for %s: ", text_of(record, "by") ? text_of(record, "by") : "?");
	json_object_foreach (json_object_get(record, "seen"), operation, count)
		buffer_printf(&text, "%lld x %s, ", json_integer_value(count), operation);
	buffer_printf(&text, "%lld bytes of output",
		      json_integer_value(json_object_get(record, "output_bytes")));
	print_line("followed", buffer_text(&text));
	if (json_is_true(json_object_get(record, "late")))
		print_line("", "from the answer on, not from the start of the attempt");
	if (json_is_false(json_object_get(record, "reads")))
		print_line("", "what it read is not among it");
	if (missing)
		printf("%-11s%lld bytes are missing: there was no room for them\n", "", missing);
	print_line("", text_of(record, "directory") ? text_of(record, "directory") : "?");
	print_trace(text_of(record, "directory") ? text_of(record, "directory") : "");
}
