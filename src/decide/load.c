/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a policy file and what it includes. What is included is believed no more than what
 * includes it, and no more than it would be by itself. */
#include "load.h"
#include "../base/buffer.h"
#include "../base/path.h"

#include <string.h>

enum { DEPTH_LIMIT = 8, SOURCE_LIMIT = 64 };

struct reading_files {
	const struct policy_places *places;
	enum place place;
	struct sources *sources;
	/* The files that include each other down to here. */
	struct {
		dev_t device;
		ino_t inode;
	} open[DEPTH_LIMIT + 1];
	struct error **ret_error;
};

static void source_done(struct source *source)
{
	free(source->path);
	free(source->text);
	free(source->stamp.path);
	layer_free(source->layer);
	*source = (struct source){0};
}

void sources_done(struct sources *sources)
{
	for (size_t i = 0; i < sources->count; i++)
		source_done(&sources->items[i]);
	free(sources->items);
	*sources = (struct sources){0};
}

char *sources_text(const struct sources *sources, size_t *ret_length)
{
	const char *top = sources->items[sources->count - 1].path;
	size_t directory = (size_t)(path_last(top) - top);
	struct buffer text = {0};

	for (size_t i = 0; i < sources->count; i++) {
		const struct source *source = &sources->items[i];
		bool below = strncmp(source->path, top, directory) == 0;

		/* Names as the project has them, by whatever path it was reached. */
		if (sources->count > 1)
			buffer_printf(&text, "%zu %s\n", source->length,
				      source->path + (below ? directory : 0));
		buffer_add(&text, source->text, source->length);
	}
	*ret_length = text.length;
	return buffer_steal(&text);
}

static int refuse(struct reading_files *files, const struct layer *layer, size_t include,
		  const char *hint, const char *what)
{
	fail(files->ret_error, E_POLICY, "%s: '%s'", what, layer->includes.items[include]);
	error_place(files->ret_error, layer->file, layer->include_lines[include], 1);
	error_hint(files->ret_error, "%s", hint);
	return -E_POLICY;
}

/* Where an include leads; NULL: nowhere it may. Caller frees. */
static char *include_path(const struct reading_files *files, const struct layer *layer,
			  const char *written)
{
	_cleanup_free_ char *directory = strdup(layer->file);
	const char *home = files->places->home;
	char *path;

	directory[path_last(directory) - directory] = '\0';
	if (written[0] == '~' && (!home || (written[1] && written[1] != '/')))
		return NULL;
	path = path_resolve(directory, home, written);
	/* A project includes what belongs to it: a file elsewhere is not its to read. */
	if (files->place == PLACE_PROJECT && (strcmp(path, files->places->workspace) == 0 ||
					      !path_is_under(path, files->places->workspace))) {
		free(path);
		return NULL;
	}
	return path;
}

static bool is_read(const struct reading_files *files, const struct stamp *stamp)
{
	for (size_t i = 0; i < files->sources->count; i++)
		if (files->sources->items[i].stamp.device == stamp->device &&
		    files->sources->items[i].stamp.inode == stamp->inode)
			return true;
	return false;
}

static int read_included(struct reading_files *files, const struct source *from, size_t include,
			 unsigned depth);

/* Takes source in any case. Its includes first, then itself. */
static int take(struct reading_files *files, struct source *source, unsigned depth)
{
	const struct policy_places *places = files->places;
	int r = layer_parse(source->text, source->length, source->path, places->walls, places->home,
			    &source->layer, files->ret_error);

	files->open[depth].device = source->stamp.device;
	files->open[depth].inode = source->stamp.inode;
	for (size_t i = 0; r == 0 && i < source->layer->includes.count; i++)
		r = read_included(files, source, i, depth + 1);
	if (r < 0) {
		source_done(source);
		return r;
	}
	files->sources->items = reallocarray(files->sources->items, files->sources->count + 1,
					     sizeof(*files->sources->items));
	if (!files->sources->items)
		abort();
	files->sources->items[files->sources->count++] = *source;
	return 0;
}

static int read_included(struct reading_files *files, const struct source *from, size_t include,
			 unsigned depth)
{
	const struct layer *layer = from->layer;
	struct source source = {.path = include_path(files, layer, layer->includes.items[include])};
	int r;

	if (!source.path)
		return refuse(files, layer, include,
			      files->place == PLACE_PROJECT
				      ? "include files of the project, by their names in it"
				      : "write the whole path of the file",
			      "this cannot be included");
	if (depth > DEPTH_LIMIT || files->sources->count >= SOURCE_LIMIT) {
		source_done(&source);
		return refuse(files, layer, include, "include fewer files, and less deeply",
			      "too many files include each other");
	}
	r = place_read(files->places, files->place, /* included= */ true, source.path,
		       &source.stamp, &source.trusted, &source.text, &source.length,
		       files->ret_error);
	if (r == 0)
		r = refuse(files, layer, include, "make the file, or remove the line",
			   "the file to include is not there");
	for (unsigned i = 0; r > 0 && i < depth; i++)
		if (files->open[i].device == source.stamp.device &&
		    files->open[i].inode == source.stamp.inode)
			r = refuse(files, layer, include, "remove one of the lines",
				   "the files include each other in a circle");
	if (r < 0 || is_read(files, &source.stamp)) {
		source_done(&source);
		return r < 0 ? r : 0;
	}
	source.trusted &= from->trusted || files->place == PLACE_PROJECT;
	return take(files, &source, depth);
}

int sources_read(const struct policy_places *places, enum place place, const char *path,
		 struct sources *ret_sources, struct stamp *ret_stamp, struct error **ret_error)
{
	struct reading_files files = {
		.places = places, .place = place, .sources = ret_sources, .ret_error = ret_error};
	struct source source = {.path = strdup(path)};
	int r = place_read(places, place, /* included= */ false, path, &source.stamp,
			   &source.trusted, &source.text, &source.length, ret_error);

	*ret_sources = (struct sources){0};
	if (r <= 0) {
		if (r == 0)
			*ret_stamp = source.stamp;
		else
			free(source.stamp.path);
		free(source.path);
		return r;
	}
	r = take(&files, &source, 0);
	if (r < 0)
		sources_done(ret_sources);
	return r;
}
