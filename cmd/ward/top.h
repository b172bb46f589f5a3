/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of ward top share. */
#pragma once

#include "watch.h"
#include "../../src/serve/top.h"

/* top_gather.c: rows of whoever is meant, again and again. */
struct gathering {
	struct top_wanted wanted;
	bool everybody; /* root: of all users */
	json_t *rows;	/* of the last time; NULL: none yet */
	uint64_t when;
};
int gather(struct gathering *gathering, struct error **ret_error);
void gathering_done(struct gathering *gathering);

/* top_view.c: the table, by the width that there is. */
enum { TOP_SORTS = 5 };
/* "age", "cpu", ...: what it is sorted by. */
const char *top_sort_name(unsigned sort);
/* Those rows in which the filter occurs (NULL, "": all), sorted; borrowed items in a new array. */
json_t *top_order(const json_t *rows, unsigned sort, const char *filter);
void top_title_line(size_t columns, struct buffer *text);
/* A row fit for a terminal; what is near to a limit has a mark behind it. */
void top_line(const json_t *row, size_t columns, bool chosen, struct buffer *text);
/* All of one run: its processes as a tree, its connections, what was refused to it last. */
void top_details(const json_t *row, struct screen *screen);
/* "512M", "1.5G". */
enum { SHORT_TEXT = 16 };
void top_size(uint64_t bytes, char text[static SHORT_TEXT]);
