/* SPDX-License-Identifier: Apache-2.0 */
/* What targets of the log share: lines of the input as records of a log that holds. */
#pragma once

#include "../../src/record/audit.h"
#include "files.h"

enum { RECORDS_MOST = 50 };

/* A line that is no object is left out. Kind and run are its own, the chain is ward's. */
static void put_record(struct audit *audit, const char *line, size_t length)
{
	static const char *const made[] = {"seq", "time", "kind", "run", "prev", "hash"};
	json_t *body = json_loadb(line, length, 0, NULL);
	_cleanup_free_ char *kind = NULL, *run = NULL;

	if (json_is_object(body)) {
		const char *said = json_string_value(json_object_get(body, "kind"));

		kind = strdup(said ? said : "run.start");
		said = json_string_value(json_object_get(body, "run"));
		run = said ? strdup(said) : NULL;
		for (size_t i = 0; i < ELEMENTS(made); i++)
			json_object_del(body, made[i]);
		(void)audit_append(audit, kind, run, body, NULL);
	}
	json_decref(body);
}

static void put_records(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct audit *audit = NULL;

	if (audit_open(place, &audit, NULL) < 0)
		abort();
	for (int i = 0; i < RECORDS_MOST && at < end; i++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);

		put_record(audit, at, length);
		at += length + 1;
	}
	audit_close(audit);
}
