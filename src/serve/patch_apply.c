/* SPDX-License-Identifier: Apache-2.0 */
/* Applying a patch to the text of one file: each chunk is looked for behind the one before. */
#include "patch.h"
#include "../base/escape.h"

#include <string.h>

enum { SHOWN_MOST = 200, STEPS_MOST = 50 << 20 };

/* The lines of the file, each with its end. */
struct text {
	struct span *lines;
	size_t count;
	bool returns; /* lines end in CR LF */
};

static void text_done(struct text *text)
{
	free(text->lines);
}

static void split(const char *data, size_t length, struct text *ret_text)
{
	size_t count = 0, room = 0;

	*ret_text = (struct text){0};
	for (size_t at = 0; at < length; count++) {
		const char *end = memchr(data + at, '\n', length - at);
		size_t size = end ? (size_t)(end - (data + at)) + 1 : length - at;

		if (count == room) {
			room = room ? room * 2 : 64;
			ret_text->lines = realloc(ret_text->lines, room * sizeof(struct span));
			if (!ret_text->lines)
				abort();
		}
		ret_text->lines[count] = (struct span){data + at, size};
		at += size;
	}
	ret_text->count = count;
	ret_text->returns =
		count && ret_text->lines[0].length > 1 &&
		memcmp(ret_text->lines[0].data + ret_text->lines[0].length - 2, "\r\n", 2) == 0;
}

/* How much two lines must have in common: all but the line's end, all but blanks at its end, all
 * but blanks around it. */
enum likeness { EXACT, END_TRIMMED, TRIMMED, LIKENESSES };

static struct span trimmed(struct span line, enum likeness likeness)
{
	const char *blanks = likeness == EXACT ? "\r\n" : " \t\r\n";

	while (line.length && strchr(blanks, line.data[line.length - 1]))
		line.length--;
	while (likeness == TRIMMED && line.length && strchr(" \t", line.data[0]))
		line = (struct span){line.data + 1, line.length - 1};
	return line;
}

static bool is_like(struct span one, struct span other, enum likeness likeness)
{
	one = trimmed(one, likeness);
	other = trimmed(other, likeness);
	return one.length == other.length && memcmp(one.data, other.data, one.length) == 0;
}

/* What is being looked for, and how far it came. */
struct search {
	const struct text *text;
	const struct patch_chunk *chunk;
	size_t steps;			 /* of comparing, in all */
	size_t best;			 /* lines that matched in the best place */
	const struct patch_line *failed; /* and the one that did not */
	size_t failed_at;		 /* the line of the file there, from 0 */
};

static bool fits_at(struct search *search, size_t at, enum likeness likeness)
{
	size_t matched = 0;

	for (size_t i = 0; i < search->chunk->count; i++) {
		const struct patch_line *line = &search->chunk->lines[i];

		if (line->kind == '+' || line->kind == '@')
			continue;
		search->steps++;
		if (at + matched >= search->text->count ||
		    !is_like(search->text->lines[at + matched], line->text, likeness)) {
			if (!search->failed || matched > search->best) {
				search->best = matched;
				search->failed = line;
				search->failed_at = at + matched;
			}
			return false;
		}
		matched++;
	}
	return !search->chunk->at_end || at + matched == search->text->count;
}

static size_t lines_there(const struct patch_chunk *chunk)
{
	size_t count = 0;

	for (size_t i = 0; i < chunk->count; i++)
		count += chunk->lines[i].kind == ' ' || chunk->lines[i].kind == '-';
	return count;
}

static int not_found(const struct search *search, const struct patch_step *step,
		     struct error **ret_error)
{
	const struct patch_line *line = search->failed;
	struct span text = trimmed(line->text, EXACT);
	_cleanup_buffer_ struct buffer shown = {0};

	escape_for_terminal(&shown, text.data, MIN(text.length, (size_t)SHOWN_MOST));
	if (text.length > SHOWN_MOST)
		buffer_add_text(&shown, "...");
	fail(ret_error, E_INPUT, "%s: patch line %u does not match: '%s'", step->path, line->number,
	     buffer_text(&shown));
	if (search->best)
		return error_hint(ret_error,
				  "the lines before it match up to line %zu of the file: read the "
				  "file again from there",
				  search->failed_at);
	return error_hint(ret_error, "read the file again: nothing in it is like this");
}

/* Where the chunk belongs, at `from` or behind it. */
static int find_chunk(struct search *search, const struct patch_step *step, size_t from,
		      size_t *ret_at, struct error **ret_error)
{
	size_t there = lines_there(search->chunk), count = search->text->count;

	if (there == 0) { /* it only adds: where it was led to, else at the end */
		bool led = search->chunk->count && search->chunk->lines[0].kind == '@';

		*ret_at = led && !search->chunk->at_end ? from : count;
		return 0;
	}
	for (enum likeness likeness = EXACT; likeness < LIKENESSES; likeness++)
		for (size_t at = search->chunk->at_end && there <= count ? MAX(from, count - there)
									 : from;
		     at < MAX(count, from + 1); at++) {
			if (search->steps > STEPS_MOST)
				return fail(ret_error, E_INPUT,
					    "%s: patch line %u: it takes too long to find",
					    step->path, search->chunk->number);
			if (fits_at(search, at, likeness)) {
				*ret_at = at;
				return 0;
			}
		}
	if (search->failed)
		return not_found(search, step, ret_error);
	return fail(ret_error, E_INPUT, "%s: patch line %u: the file does not end there",
		    step->path, search->chunk->number);
}

/* Behind the line that an "@@" names. */
static int follow_anchors(const struct search *search, const struct patch_step *step, size_t *at,
			  struct error **ret_error)
{
	for (size_t i = 0; i < search->chunk->count && search->chunk->lines[i].kind == '@'; i++) {
		size_t found = search->text->count;

		for (enum likeness likeness = EXACT;
		     likeness < LIKENESSES && found == search->text->count; likeness++)
			for (found = *at; found < search->text->count; found++)
				if (is_like(search->text->lines[found],
					    search->chunk->lines[i].text, likeness))
					break;
		if (found == search->text->count) {
			struct search none = {.failed = &search->chunk->lines[i]};

			return not_found(&none, step, ret_error);
		}
		*at = found + 1;
	}
	return 0;
}

static void put(struct buffer *out, struct span line, bool ended, bool returns)
{
	/* The last line of the file may have had no end. */
	if (out->length && out->data[out->length - 1] != '\n')
		buffer_add_text(out, returns ? "\r\n" : "\n");
	buffer_add(out, line.data, line.length);
	if (!ended)
		buffer_add_text(out, returns && (!line.length || line.data[line.length - 1] != '\r')
					     ? "\r\n"
					     : "\n");
}

/* What stays is the file's, blanks and all. */
static size_t put_chunk(const struct search *search, size_t at, struct buffer *out)
{
	for (size_t i = 0; i < search->chunk->count; i++) {
		const struct patch_line *line = &search->chunk->lines[i];

		if (line->kind == '+')
			put(out, line->text, false, search->text->returns);
		if (line->kind == ' ')
			put(out, search->text->lines[at], true, search->text->returns);
		at += line->kind == ' ' || line->kind == '-';
	}
	return at;
}

int patch_apply(const struct patch_step *step, const char *text, size_t length,
		struct buffer *ret_text, struct error **ret_error)
{
	_cleanup_(text_done) struct text lines;
	_cleanup_buffer_ struct buffer out = {0};
	size_t done = 0; /* lines of the file */
	int r;

	split(text, length, &lines);
	for (size_t i = 0; i < step->count; i++) {
		struct search search = {.text = &lines, .chunk = &step->chunks[i]};
		size_t at = done;

		if ((r = follow_anchors(&search, step, &at, ret_error)) < 0 ||
		    (r = find_chunk(&search, step, at, &at, ret_error)) < 0)
			return r;
		while (done < at)
			put(&out, lines.lines[done++], true, lines.returns);
		done = put_chunk(&search, at, &out);
	}
	while (done < lines.count)
		put(&out, lines.lines[done++], true, lines.returns);
	*ret_text = out;
	out = (struct buffer){0};
	return 0;
}
