/* SPDX-License-Identifier: Apache-2.0 */
/* The difference of two texts: what is the same at both ends is cut off, and of the rest the
 * longest common run of lines stays. */
#include "diff.h"
#include "buffer.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { AROUND = 3, MOST_CELLS = 1 << 21 };

struct line {
	const char *text;
	size_t length; /* with its newline, where it has one */
};

struct lines {
	struct line *items;
	size_t count;
};

static void lines_done(struct lines *lines)
{
	free(lines->items);
}

static struct lines split(const char *text)
{
	struct lines lines = {0};
	size_t room = 1;

	for (const char *c = text; c && *c; c++)
		room += *c == '\n';
	lines.items = calloc(room + 1, sizeof(*lines.items));
	if (!lines.items)
		abort();
	while (text && *text) {
		const char *end = strchr(text, '\n');
		size_t length = end ? (size_t)(end - text) + 1 : strlen(text);

		lines.items[lines.count++] = (struct line){text, length};
		text += length;
	}
	return lines;
}

static bool same(const struct line *a, const struct line *b)
{
	return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* One step per line of the result: ' ' both, '-' the old one, '+' the new one. */
struct steps {
	char *items;
	size_t count;
};

static void step(struct steps *steps, char what, size_t times)
{
	memset(steps->items + steps->count, what, times);
	steps->count += times;
}

/* The lines between the common ends. The table holds for each pair of positions how many lines the
 * rests have in common. */
static void middle(struct steps *steps, const struct line *old, size_t n, const struct line *new,
		   size_t m)
{
	_cleanup_free_ uint32_t *table = NULL;
	size_t i = 0, j = 0;

	if (n == 0 || m == 0 || n > MOST_CELLS / m) {
		step(steps, '-', n);
		step(steps, '+', m);
		return;
	}
	table = calloc((n + 1) * (m + 1), sizeof(*table));
	if (!table)
		abort();
#define AT(a, b) table[(a) * (m + 1) + (b)]
	for (size_t a = n; a-- > 0;)
		for (size_t b = m; b-- > 0;)
			AT(a, b) = same(&old[a], &new[b]) ? AT(a + 1, b + 1) + 1
							  : MAX(AT(a + 1, b), AT(a, b + 1));
	while (i < n && j < m) {
		if (same(&old[i], &new[j])) {
			step(steps, ' ', 1);
			i++;
			j++;
		} else if (AT(i + 1, j) >= AT(i, j + 1)) {
			step(steps, '-', 1);
			i++;
		} else {
			step(steps, '+', 1);
			j++;
		}
	}
#undef AT
	step(steps, '-', n - i);
	step(steps, '+', m - j);
}

static void add_line(struct buffer *diff, char what, const struct line *line)
{
	buffer_add_char(diff, what);
	buffer_add(diff, line->text, line->length);
	if (line->length == 0 || line->text[line->length - 1] != '\n')
		buffer_add_text(diff, "\n\\ No newline at end of file\n");
}

/* Of an empty range the line before it is named, as patch(1) wants it. */
static void add_range(struct buffer *diff, char what, size_t from, size_t count)
{
	buffer_printf(diff, " %c%zu", what, count ? from + 1 : from);
	if (count != 1)
		buffer_printf(diff, ",%zu", count);
}

/* From step `from` on: a change, and all that lie so near that what is around them meets. */
static size_t add_hunk(struct buffer *diff, const struct steps *steps, size_t from,
		       const struct line *old, const struct line *new, size_t at[static 2])
{
	size_t end = from, quiet = 0, counts[2] = {0}, begin[2];
	size_t lead = from < AROUND ? from : AROUND;

	while (end < steps->count && quiet <= 2 * AROUND)
		quiet = steps->items[end++] == ' ' ? quiet + 1 : 0;
	if (quiet > AROUND)
		end -= quiet - AROUND;
	begin[0] = at[0] - lead;
	begin[1] = at[1] - lead;
	for (size_t i = from - lead; i < end; i++) {
		counts[0] += steps->items[i] != '+';
		counts[1] += steps->items[i] != '-';
	}
	buffer_add_text(diff, "@@");
	add_range(diff, '-', begin[0], counts[0]);
	add_range(diff, '+', begin[1], counts[1]);
	buffer_add_text(diff, " @@\n");
	at[0] = begin[0];
	at[1] = begin[1];
	for (size_t i = from - lead; i < end; i++) {
		char what = steps->items[i];

		add_line(diff, what, what == '+' ? &new[at[1]] : &old[at[0]]);
		at[0] += what != '+';
		at[1] += what != '-';
	}
	return end;
}

char *diff_unified(const char *name, const char *before, const char *after)
{
	_cleanup_(lines_done) struct lines old = split(before), new = split(after);
	_cleanup_free_ char *room = malloc(old.count + new.count + 1);
	struct steps steps = {.items = room};
	struct buffer diff = {0};
	size_t head = 0, tail = 0, at[2] = {0, 0};

	if (!room)
		abort();
	while (head < old.count && head < new.count &&same(&old.items[head], &new.items[head]))
		head++;
	while (tail < old.count - head &&
	       tail < new.count - head &&same(&old.items[old.count - 1 - tail],
					      &new.items[new.count - 1 - tail]))
		tail++;
	step(&steps, ' ', head);
	middle(&steps, old.items + head, old.count - head - tail, new.items + head,
	       new.count - head - tail);
	step(&steps, ' ', tail);
	for (size_t i = 0; i < steps.count;) {
		if (steps.items[i] == ' ') {
			at[0]++;
			at[1]++;
			i++;
			continue;
		}
		if (diff.length == 0)
			buffer_printf(&diff, "--- %s\n+++ %s\n", before ? name : "/dev/null",
				      after ? name : "/dev/null");
		i = add_hunk(&diff, &steps, i, old.items, new.items, at);
	}
	return buffer_steal(&diff);
}
