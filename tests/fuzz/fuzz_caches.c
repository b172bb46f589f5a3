/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what is kept of a workspace's caches: the file with its path, and by the first byte
 * which parts of its slots are there, as a run that was killed may have left them. They are listed,
 * used and cleared all the same. */
#include "../../src/record/caches.h"
#include "files.h"

#define WORKSPACE "/srv/w"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(const struct cache *cache, void *data)
{
	if (!cache->id || !cache->workspace || cache->busy > cache->slots)
		abort();
	*(unsigned *)data = cache->slots;
	return 0;
}

static void put_slots(const char *id, uint8_t parts)
{
	static const char *const names[] = {"0/.ward-inside-layer", "0/work", "1/upper", "2/work"};
	char name[128];

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		snprintf(name, sizeof(name), "caches/%s/%s", id, names[i]);
		if (parts & (1u << i))
			make_directory(name);
	}
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "caches/%s/%d", id, i);
		if (parts & (0x10u << i)) {
			make_directory(name);
			strcat(name, "/lock");
			put_file(name, "", 0);
		}
	}
	if (parts & 0x80) { /* a file in its place */
		snprintf(name, sizeof(name), "caches/%s/1", id);
		make_directory(name);
		strcat(name, "/.ward-inside-layer");
		if (!(parts & 4))
			put_file(name, "x", 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *id = cache_id(WORKSPACE);
	struct cache_slot slot = CACHE_SLOT_NONE, other = CACHE_SLOT_NONE;
	uint8_t parts = size ? data[0] : 0;
	unsigned slots = 0;
	char name[128];

	make_place();
	(void)remove_tree(AT_FDCWD, place);
	snprintf(name, sizeof(name), "caches/%s", id);
	make_directory(name);
	put_slots(id, parts);
	strcat(name, "/workspace");
	put_file(name, size ? data + 1 : data, size ? size - 1 : 0);
	if (cache_list(place, NULL, look, &slots) != 0)
		abort();
	if (cache_open(place, WORKSPACE, /* reads= */ false, &slot) == 0) {
		/* Two runs at once never share one, and what is used is not cleared. */
		if (cache_open(place, WORKSPACE, /* reads= */ false, &other) == 0 &&
		    strcmp(slot.path, other.path) == 0)
			abort();
		if (cache_clear(place, id, NULL) == 0 || cache_list(place, id, look, &slots) != 0 ||
		    slots == 0)
			abort();
	}
	cache_close(&other);
	cache_close(&slot);
	cache_sweep(place);
	if (cache_clear(place, id, NULL) < 0)
		abort();
	slots = 0;
	if (cache_list(place, NULL, look, &slots) != 0 || slots != 0)
		abort();
	return 0;
}
