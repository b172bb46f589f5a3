/* SPDX-License-Identifier: Apache-2.0 */
/* Any objects as records of a log: of each come events with their places in order. Behind a '!' the
 * long way: as a log that holds, where whoever comes back with a place gets what is behind it, no
 * gap and nothing twice; and any bytes as a log whose head vouches for them, told to the end or
 * refused. */
#include "../../src/base/list.h"
#include "../../src/record/chain.h"
#include "../../src/record/eventlog.h"
#include "log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The ids of all events behind a place. -1: it cannot be read. */
static int read_ids(struct event_place after, bool follow, struct list *ret_ids)
{
	struct eventlog *log = NULL;
	json_t *event = NULL;
	int r = eventlog_open(place, after, follow, &log, NULL);

	while (r == 0 && (r = eventlog_next(log, &event, NULL)) > 0) {
		const char *id = json_string_value(json_object_get(event, "id"));

		if (!id || !json_is_string(json_object_get(event, "kind")))
			abort();
		list_add(ret_ids, id);
		json_decref(event);
		r = 0;
	}
	eventlog_close(log);
	return r;
}

static void check_holding(const uint8_t *data, size_t size)
{
	_cleanup_list_ struct list all = {0}, rest = {0};
	struct event_place after, now;
	size_t from;

	(void)remove_tree(AT_FDCWD, place);
	make_directory("monitored");
	put_records(data, size);
	if (read_ids((struct event_place){0}, /* follow= */ false, &all) < 0)
		abort();
	if (all.count == 0)
		return;
	from = size % all.count;
	if (!event_place_read(all.items[from], &after) ||
	    read_ids(after, /* follow= */ size & 1, &rest) < 0 ||
	    rest.count != all.count - from - 1)
		abort();
	for (size_t i = 0; i < rest.count; i++)
		if (strcmp(rest.items[i], all.items[from + 1 + i]) != 0)
			abort();
	if (event_place_now(place, &now, NULL) < 0 || now.record < after.record ||
	    event_place_since(place, "2026-01-31T12:00:00.000Z", &after, NULL) < 0)
		abort();
}

static void check_raw(const uint8_t *data, size_t size)
{
	struct head head = {.seq = 1, .size = size};
	_cleanup_list_ struct list all = {0}, some = {0};
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	(void)remove_tree(AT_FDCWD, place);
	make_directory("");
	put_file(LOG_NAME, data, size);
	memset(head.hash, 'a', HASH_LENGTH);
	if (asprintf(&path, "%s/" HEAD_NAME, place) < 0 ||
	    (fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0 || head_write(fd, &head) < 0)
		abort();
	(void)read_ids((struct event_place){0}, /* follow= */ false, &all);
	(void)read_ids((struct event_place){size % 7, (unsigned)size % 3}, /* follow= */ false,
		       &some);
}

static void check_record(json_t *record)
{
	json_t *events = events_of_record(record), *event;
	size_t i;

	json_array_foreach (events, i, event) {
		const char *id = json_string_value(json_object_get(event, "id"));
		struct event_place at;

		if (!id || !json_is_string(json_object_get(event, "kind")) || !strchr(id, '.') ||
		    (id[0] != '-' && (!event_place_read(id, &at) || at.part != i + 1)))
			abort();
	}
	json_decref(events);
}

static void check_records(const char *at, size_t size)
{
	const char *end = at + size;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		json_t *record = json_loadb(at, length, JSON_ALLOW_NUL, NULL);

		if (json_is_object(record))
			check_record(record);
		json_decref(record);
		at += length + 1;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || data[0] != '!') {
		check_records((const char *)data, size);
		return 0;
	}
	data++;
	size--;
	make_place();
	check_holding(data, size);
	check_raw(data, size);
	return 0;
}
