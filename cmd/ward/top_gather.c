/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for ward top: the caller's own, and for root, who asks for it, everybody's, each read by a
 * process that is that user's. */
#include "others.h"
#include "output.h"
#include "top.h"
#include "../../src/base/io.h"
#include "../../src/base/units.h"
#include "../../src/record/state.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROWS_LIMIT = 64 * 1024 * 1024 };

/* What a process of another user's is handed by, and hands back by. */
static struct top_wanted wanted_of_others;
static int rows_of_others = -1;

static bool write_rows(const char *name, uid_t uid)
{
	_cleanup_free_ char *state = NULL, *text = NULL;
	json_t *rows = NULL, *row;
	bool any;
	size_t i;

	(void)uid;
	/* Where there is none, nothing is made. */
	if (state_directory(&state, NULL) < 0 || access(state, F_OK) < 0 ||
	    top_read(state, &wanted_of_others, &rows, NULL) < 0)
		return false;
	json_array_foreach (rows, i, row)
		json_object_set_new(row, "user", json_string(name));
	text = json_dumps(rows, JSON_COMPACT);
	any = json_array_size(rows) > 0 && text &&
	      write_all(rows_of_others, text, strlen(text)) == 0 &&
	      write_all(rows_of_others, "\n", 1) == 0;
	json_decref(rows);
	return any;
}

/* A line is an array. What its user could have made it say is shown as that user's. */
static void take_others(json_t *rows, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n"))) {
		json_t *more = json_loads(line, 0, NULL);

		json_array_extend(rows, more);
		json_decref(more);
	}
}

static void gather_others(struct gathering *gathering, json_t *rows)
{
	_cleanup_free_ char *text = NULL;
	off_t length;

	wanted_of_others = gathering->wanted;
	rows_of_others = memfd_create("ward-top", MFD_CLOEXEC);
	if (rows_of_others < 0)
		return;
	(void)others_each(write_rows);
	length = lseek(rows_of_others, 0, SEEK_END);
	text = length > 0 && length < ROWS_LIMIT ? calloc(1, (size_t)length + 1) : NULL;
	if (text && pread(rows_of_others, text, (size_t)length, 0) == length)
		take_others(rows, text);
	close_fd(&rows_of_others);
}

int gather(struct gathering *gathering, struct error **ret_error)
{
	_cleanup_free_ char *state = NULL;
	uint64_t now = monotonic_ns();
	json_t *rows = NULL;
	int r = state_directory(&state, ret_error);

	if (r == 0)
		r = state_directory_make(state, ret_error);
	if (r == 0)
		r = top_read(state, &gathering->wanted, &rows, ret_error);
	if (r < 0)
		return r;
	if (gathering->everybody)
		gather_others(gathering, rows);
	top_compare(gathering->rows, rows, gathering->rows ? now - gathering->when : 0);
	json_decref(gathering->rows);
	gathering->rows = rows;
	gathering->when = now;
	return 0;
}

void gathering_done(struct gathering *gathering)
{
	json_decref(gathering->rows);
}
