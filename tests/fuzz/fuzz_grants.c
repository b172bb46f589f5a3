/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the answers of a session, and as changes of the index beside them. By the index the
 * same is found as without it, a spoiled one is passed by, and what was revoked is gone. */
#include "../../src/decide/grants.h"
#include "../../src/decide/grants_index.h"
#include "files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct grants_wanted wanted = {"k", "k", "run", NULL};

static void load(struct grants *ret_grants)
{
	if (grants_load(place, "s", &wanted, ret_grants, NULL) < 0)
		abort();
}

/* ward writes the key of a grant with its use and its end: where somebody has written another one,
 * the index does not lead there. */
static bool is_wards(const char *text, size_t length)
{
	for (const char *line = text, *end;
	     (end = memchr(line, '\n', length - (size_t)(line - text))); line = end + 1) {
		json_t *object = json_loadb(line, (size_t)(end - line), 0, NULL);
		const char *key = json_string_value(json_object_get(object, "key"));
		bool other =
			key && strcmp(key, "k") != 0 &&
			(json_object_get(object, "revoked") || json_object_get(object, "used"));

		json_decref(object);
		if (other)
			return false;
	}
	return true;
}

static void compare(const struct grants *one, const struct grants *other)
{
	if (one->count != other->count)
		abort();
	for (size_t i = 0; i < one->count; i++)
		if (strcmp(one->items[i].id, other->items[i].id) != 0 ||
		    one->items[i].used != other->items[i].used)
			abort();
}

/* A byte somewhere else than it was: three for the place, one for the change. */
static void spoil(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int fd = -1;

	if (asprintf(&path, "%s/sessions/s/grants.index", place) < 0)
		abort();
	fd = open(path, O_RDWR | O_CLOEXEC);
	for (; fd >= 0 && size >= 4; data += 4, size -= 4) {
		off_t at = data[0] | data[1] << 8 | data[2] << 16;
		uint8_t byte = 0;

		if (pread(fd, &byte, 1, at) < 0)
			abort();
		byte ^= data[3];
		if (pwrite(fd, &byte, 1, at) != 1)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char room[GRANTS_INDEX_FROM + 1];
	const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	_cleanup_free_ char *text = malloc(sizeof(room) + length), *path = NULL;
	struct grants whole, found, left;
	uint64_t ignored;
	struct stat st;
	bool wards;

	make_place();
	make_directory("sessions/s");
	/* So long that there is an index: a line of nothing first. */
	memset(room, ' ', sizeof(room));
	room[sizeof(room) - 1] = '\n';
	memcpy(text, room, sizeof(room));
	memcpy(text + sizeof(room), data, length);
	put_file("sessions/s/grants", text, sizeof(room) + length);
	put_file("sessions/s/grants.index", "\xff", 1);
	load(&whole);
	if (asprintf(&path, "%s/sessions/s/grants", place) < 0)
		abort();
	{
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 || fstat(fd, &st) < 0)
			abort();
		grants_index_extend(path, fd, st.st_size);
	}
	load(&found);
	wards = is_wards(text, sizeof(room) + length);
	if (wards)
		compare(&whole, &found);
	grants_done(&found);
	if (end)
		spoil(end + 1, size - length - 1);
	if (grants_load(place, "s", &wanted, &found, NULL) == 0)
		grants_done(&found);
	put_file("sessions/s/grants.index", "\xff", 1);
	for (size_t i = 0; i < whole.count; i++)
		wards &= strcmp(whole.items[i].session, "s") == 0;
	if (wards && whole.count && grants_revoke(place, "s", &whole, &ignored, NULL) == 0) {
		load(&left);
		if (left.count)
			abort();
		grants_done(&left);
	}
	grants_done(&whole);
	return 0;
}
