/* SPDX-License-Identifier: Apache-2.0 */
/* Any objects as records of a log that holds: the database is made of them, answers what it is
 * asked, and made anew it answers the same. */
#include "../../src/record/search.h"
#include "../../src/record/search_index.h"
#include "../../src/record/stats.h"
#include "log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct looked {
	struct store *store;
	json_t *runs, *whole;
};

static int look(json_t *run, void *data)
{
	struct looked *looked = data;
	const char *id = json_string_value(json_object_get(run, "id"));
	json_t *whole = NULL;

	if (!id)
		abort();
	json_array_append(looked->runs, run);
	if (store_run(looked->store, id, &whole, NULL) == 0)
		json_array_append_new(looked->whole, whole);
	return 0;
}

/* All that can be asked, as one text. */
static char *ask_all(void)
{
	struct search search = {.text = "ech", .limit = 20};
	struct looked looked = {.runs = json_array(), .whole = json_array()};
	json_t *stats = NULL, *plain = NULL, *rows = NULL, *agents = NULL, *all;
	uint64_t next = 0;
	char *text;

	/* The index beside it finds the same as a look at every run. */
	if (store_open(place, &looked.store, NULL) < 0 ||
	    search_runs(looked.store, &search, &plain, &next, NULL) < 0 ||
	    search_attach(looked.store, place, 10000, &search.indexed, NULL) < 0 ||
	    !search.indexed || store_runs(looked.store, 100, look, &looked, NULL) < 0 ||
	    stats_json(looked.store, STATS_DAYS, NULL, &stats, NULL) < 0 ||
	    search_runs(looked.store, &search, &rows, &next, NULL) < 0 ||
	    search_agents(looked.store, search.indexed, &agents, NULL) < 0 ||
	    !json_equal(plain, rows))
		abort();
	json_decref(plain);
	store_close(looked.store);
	all = json_pack("[o, o, o, o, o]", looked.runs, looked.whole, stats, rows, agents);
	text = json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS);
	if (!text)
		abort();
	json_decref(all);
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *first = NULL, *anew = NULL;
	const char *const files[] = {"state.db", "state.db-wal", "state.db-shm"};

	make_place();
	(void)remove_tree(AT_FDCWD, place);
	make_directory("");
	put_records(data, size / 2);
	free(ask_all()); /* the rest is taken in behind it */
	put_records(data + size / 2, size - size / 2);
	first = ask_all();
	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_free_ char *path = NULL;

		if (asprintf(&path, "%s/%s", place, files[i]) < 0)
			abort();
		(void)unlink(path);
	}
	anew = ask_all();
	if (strcmp(first, anew) != 0)
		abort();
	return 0;
}
