/* SPDX-License-Identifier: Apache-2.0 */
/* ward caches: what commands wrote to caches, kept for their workspaces; how much it is, and
 * removing it. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/path.h"
#include "../../src/record/caches.h"
#include "../../src/record/state.h"
#include "../../src/request/text_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
	"usage: ward caches [--json]\n"
	"       ward caches clear [WORKSPACE | --all]\n"
	"\n"
	"Lists what commands wrote to caches in the home directory (.npm, .cache, .cargo/registry\n"
	"...). Each workspace has a layer of its own over them: commands read what is there, and\n"
	"what they write is kept for the workspace, so that the caches themselves stay as they "
	"are.\n"
	"Commands that run at once have a layer each. What is not used for a month, or belongs to "
	"a\n"
	"workspace that is gone, is removed by itself.\n"
	"\n"
	"clear removes what is kept for a workspace, the current directory unless another is\n"
	"named. What root kept while running as somebody else is in that user's list.\n"
	"\n"
	"  --all    of every workspace\n"
	"  --json   one object a line, for programs\n"
	"  --help   this text\n";

static void print_size(uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	double amount = (double)bytes;
	size_t unit = 0;

	for (; amount >= 1024 && unit + 1 < ELEMENTS(units); unit++)
		amount /= 1024;
	printf("%7.*f %-3s", unit ? 1 : 0, amount, units[unit]);
}

static int show(const struct cache *cache, void *data)
{
	const bool *json = data;
	time_t time = (time_t)cache->used;
	char when[64];

	if (*json) {
		json_t *object = json_pack("{s:s, s:o, s:b, s:I, s:I, s:b, s:I, s:i, s:i}", "id",
					   cache->id, "workspace", json_text(cache->workspace),
					   "gone", cache->gone, "bytes", (json_int_t)cache->bytes,
					   "files", (json_int_t)cache->files, "whole", cache->whole,
					   "used", (json_int_t)cache->used, "slots",
					   (int)cache->slots, "in_use", (int)cache->busy);

		output_json(object);
		json_decref(object);
		return 0;
	}
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M", localtime(&time));
	print_size(cache->bytes);
	printf("%s  %s  ", cache->whole ? " " : "+", when);
	output_text(COLOUR_NONE, cache->workspace);
	if (cache->slots > 1)
		printf(", %u layers", cache->slots);
	if (cache->busy)
		printf(", in use");
	puts(cache->gone ? ", gone" : "");
	return 0;
}

struct clearing {
	const char *state;
	struct error *first; /* what stood in the way; the others go all the same */
	unsigned found;
	uint64_t bytes;
};

static int clear(const struct cache *cache, void *data)
{
	struct clearing *clearing = data;
	struct error *error = NULL;

	clearing->found++;
	if (cache_clear(clearing->state, cache->id, &error) == 0) {
		clearing->bytes += cache->bytes;
		return 0;
	}
	error_wrap(&error, "the caches of %s", cache->workspace);
	if (clearing->first)
		error_free(error);
	else
		clearing->first = error;
	return 0;
}

static int clear_all(const char *state, const char *workspace, struct error **ret_error)
{
	_cleanup_free_ char *id = workspace ? cache_id(workspace) : NULL;
	struct clearing clearing = {.state = state};

	(void)cache_list(state, id, clear, &clearing);
	if (workspace && clearing.found == 0) {
		fail(ret_error, E_NOT_FOUND, "nothing is kept for %s", workspace);
		return error_hint(ret_error, "`ward caches` lists the workspaces");
	}
	if (clearing.bytes || !clearing.first) {
		fputs("removed ", stdout);
		print_size(clearing.bytes);
		puts("");
	}
	*ret_error = clearing.first;
	return clearing.first ? -clearing.first->code : 0;
}

/* As ward run takes it: links resolved, where it is still there. */
static char *workspace_named(const char *name)
{
	char here[PATH_MAX], real[PATH_MAX];

	if (realpath(name, real))
		return strdup(real);
	return path_resolve(getcwd(here, sizeof(here)) ? here : "/", NULL, name);
}

int verb_caches(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL, *workspace = NULL;
	bool json = false, clears = false, all = false;
	int r;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("caches", 0);
		}
		if (strcmp(argv[i], "--json") == 0 && !clears)
			json = true;
		else if (strcmp(argv[i], "clear") == 0 && !clears && !json)
			clears = true;
		else if (clears && strcmp(argv[i], "--all") == 0 && !workspace)
			all = true;
		else if (clears && argv[i][0] != '-' && !workspace && !all)
			workspace = workspace_named(argv[i]);
		else
			return output_usage("caches",
					    "'%s' is not --json or clear [WORKSPACE | --all]",
					    argv[i]);
	}
	if (clears && !all && !workspace)
		workspace = workspace_named(".");
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = clears ? clear_all(state, workspace, &error)
			   : cache_list(state, NULL, show, &json);
	return r < 0 ? output_error("caches", error) : output_end("caches", 0);
}
