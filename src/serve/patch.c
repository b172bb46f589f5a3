/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a patch, line by line. */
#include "patch.h"

#include <string.h>

struct reader {
	const char *at, *end;
	unsigned number; /* of the line that was read last */
	struct span line;
};

static bool next_line(struct reader *reader)
{
	const char *end;

	if (reader->at >= reader->end)
		return false;
	end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
	reader->line = (struct span){reader->at, (size_t)((end ? end : reader->end) - reader->at)};
	reader->at = end ? end + 1 : reader->end;
	reader->number++;
	return true;
}

static bool is_line(struct span line, const char *text)
{
	while (line.length && strchr(" \t\r", line.data[line.length - 1]))
		line.length--;
	return line.length == strlen(text) && memcmp(line.data, text, line.length) == 0;
}

/* What follows the mark, NULL where the line does not begin with it. Caller frees. */
static char *behind(struct span line, const char *mark)
{
	size_t length = strlen(mark);

	if (line.length <= length || memcmp(line.data, mark, length) != 0)
		return NULL;
	while (line.length > length && strchr(" \t\r", line.data[line.length - 1]))
		line.length--;
	return strndup(line.data + length, line.length - length);
}

static void *grow(void *items, size_t count, size_t size)
{
	/* Doubled whenever it is full. */
	if (count & (count - 1))
		return items;
	items = realloc(items, (count ? count * 2 : 1) * size);
	if (!items)
		abort();
	return items;
}

static struct patch_step *add_step(struct patch *patch, enum patch_kind kind, char *path,
				   unsigned number)
{
	patch->steps = grow(patch->steps, patch->count, sizeof(*patch->steps));
	patch->steps[patch->count] = (struct patch_step){kind, path, .number = number};
	return &patch->steps[patch->count++];
}

static struct patch_chunk *add_chunk(struct patch_step *step, unsigned number)
{
	step->chunks = grow(step->chunks, step->count, sizeof(*step->chunks));
	step->chunks[step->count] = (struct patch_chunk){.number = number};
	return &step->chunks[step->count++];
}

static void add_line(struct patch_chunk *chunk, char kind, struct span text, unsigned number)
{
	chunk->lines = grow(chunk->lines, chunk->count, sizeof(*chunk->lines));
	chunk->lines[chunk->count++] = (struct patch_line){kind, text, number};
}

static bool is_named(const struct patch *patch, const char *path)
{
	for (size_t i = 0; i < patch->count; i++)
		if (strcmp(patch->steps[i].path, path) == 0 ||
		    (patch->steps[i].move && strcmp(patch->steps[i].move, path) == 0))
			return true;
	return false;
}

/* 1 where the line begins with the work on a file, 0 where it does not. */
static int begin_step(const struct reader *reader, struct patch *patch, struct error **ret_error)
{
	static const char *const marks[] = {[PATCH_ADD] = "*** Add File: ",
					    [PATCH_UPDATE] = "*** Update File: ",
					    [PATCH_DELETE] = "*** Delete File: "};

	for (enum patch_kind kind = PATCH_ADD; kind <= PATCH_DELETE; kind++) {
		char *path = behind(reader->line, marks[kind]);

		if (!path)
			continue;
		if (is_named(patch, path)) {
			fail(ret_error, E_INPUT, "patch line %u: %s is named a second time",
			     reader->number, path);
			free(path);
			return -E_INPUT;
		}
		add_step(patch, kind, path, reader->number);
		return 1;
	}
	return 0;
}

static int wrong(const struct reader *reader, const char *what, struct error **ret_error)
{
	return fail(ret_error, E_INPUT, "patch line %u: %s", reader->number, what);
}

/* Behind "@@": the line to look for, which may be given none, or twice "@@". */
static struct span anchor_of(struct span line)
{
	line.data += 2;
	line.length -= 2;
	if (line.length && line.data[0] == ' ')
		line = (struct span){line.data + 1, line.length - 1};
	while (line.length && strchr(" \t\r", line.data[line.length - 1]))
		line.length--;
	return line;
}

static struct patch_chunk *last_chunk(struct patch_step *step)
{
	return step->count ? &step->chunks[step->count - 1] : NULL;
}

/* Several "@@" after each other lead to one place. */
static void begin_chunk(const struct reader *reader, struct patch_step *step)
{
	struct patch_chunk *chunk = last_chunk(step);
	struct span anchor = anchor_of(reader->line);

	if (!chunk || chunk->at_end || (chunk->count && chunk->lines[chunk->count - 1].kind != '@'))
		chunk = add_chunk(step, reader->number);
	if (anchor.length)
		add_line(chunk, '@', anchor, reader->number);
}

static int read_update_line(const struct reader *reader, struct patch_step *step,
			    struct error **ret_error)
{
	struct span line = reader->line;
	struct patch_chunk *chunk = last_chunk(step);

	if (!step->count && !step->move && (step->move = behind(line, "*** Move to: ")))
		return 0;
	if (line.length >= 2 && memcmp(line.data, "@@", 2) == 0) {
		begin_chunk(reader, step);
		return 0;
	}
	if (is_line(line, "*** End of File")) {
		if (!chunk)
			return wrong(reader, "nothing was said before the end of the file",
				     ret_error);
		chunk->at_end = true;
		return 0;
	}
	if (line.length && !strchr(" +-", line.data[0]))
		return wrong(reader, "a line begins with ' ', '+', '-' or '@@'", ret_error);
	if (!chunk || chunk->at_end)
		chunk = add_chunk(step, reader->number);
	/* An empty line is one whose only blank was lost. */
	add_line(chunk, line.length ? line.data[0] : ' ',
		 line.length ? (struct span){line.data + 1, line.length - 1} : line,
		 reader->number);
	return 0;
}

static int read_line(const struct reader *reader, struct patch *patch, struct error **ret_error)
{
	struct patch_step *step;
	int r = begin_step(reader, patch, ret_error);

	if (r != 0)
		return MIN(r, 0);
	if (!patch->count)
		return wrong(reader, "it begins with *** Add, Update or Delete File: PATH",
			     ret_error);
	step = &patch->steps[patch->count - 1];
	if (step->kind == PATCH_UPDATE)
		return read_update_line(reader, step, ret_error);
	if (step->kind == PATCH_DELETE)
		return wrong(reader, "nothing follows a file that goes", ret_error);
	if (!reader->line.length || reader->line.data[0] != '+')
		return wrong(reader, "each line of a new file begins with '+'", ret_error);
	add_line(step->count ? &step->chunks[0] : add_chunk(step, reader->number), '+',
		 (struct span){reader->line.data + 1, reader->line.length - 1}, reader->number);
	return 0;
}

static int check_steps(const struct patch *patch, struct error **ret_error)
{
	if (!patch->count)
		return fail(ret_error, E_INPUT, "the patch names no file");
	for (size_t i = 0; i < patch->count; i++) {
		const struct patch_step *step = &patch->steps[i];

		if (step->kind == PATCH_UPDATE && !step->count && !step->move)
			return fail(ret_error, E_INPUT, "patch line %u: nothing changes in %s",
				    step->number, step->path);
		for (size_t j = 0; step->move && j < patch->count; j++)
			if (strcmp(patch->steps[j].path, step->move) == 0)
				return fail(ret_error, E_INPUT,
					    "patch line %u: %s is named a second time",
					    step->number, step->move);
	}
	return 0;
}

int patch_parse(const char *text, size_t length, struct patch *ret_patch, struct error **ret_error)
{
	struct reader reader = {.at = text, .end = text + length};
	_cleanup_patch_ struct patch patch = {0};
	bool over = false;
	int r;

	if (length > PATCH_MOST)
		return fail(ret_error, E_INPUT, "the patch is longer than %d bytes", PATCH_MOST);
	if (memchr(text, '\0', length))
		return fail(ret_error, E_INPUT, "the patch holds a NUL byte");
	do {
		if (!next_line(&reader))
			return fail(ret_error, E_INPUT, "a patch begins with *** Begin Patch");
	} while (is_line(reader.line, ""));
	if (!is_line(reader.line, "*** Begin Patch"))
		return wrong(&reader, "a patch begins with *** Begin Patch", ret_error);
	while (!over && next_line(&reader)) {
		over = is_line(reader.line, "*** End Patch");
		if (!over && (r = read_line(&reader, &patch, ret_error)) < 0)
			return r;
	}
	if (!over)
		return fail(ret_error, E_INPUT, "the patch does not end with *** End Patch");
	while (next_line(&reader))
		if (!is_line(reader.line, ""))
			return wrong(&reader, "nothing follows *** End Patch", ret_error);
	if ((r = check_steps(&patch, ret_error)) < 0)
		return r;
	*ret_patch = patch;
	patch = (struct patch){0};
	return 0;
}

size_t patch_count(const struct patch_step *step, char kind)
{
	size_t count = 0;

	for (size_t i = 0; i < step->count; i++)
		for (size_t j = 0; j < step->chunks[i].count; j++)
			count += step->chunks[i].lines[j].kind == kind;
	return count;
}

void patch_done(struct patch *patch)
{
	for (size_t i = 0; i < patch->count; i++) {
		struct patch_step *step = &patch->steps[i];

		for (size_t j = 0; j < step->count; j++)
			free(step->chunks[j].lines);
		free(step->chunks);
		free(step->path);
		free(step->move);
	}
	free(patch->steps);
	*patch = (struct patch){0};
}
