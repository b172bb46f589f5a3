/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what is read about control groups: the input is a mountinfo and, behind a NUL, a
 * /proc/self/cgroup; and as a whole an answer of a bus. */
#include "sandbox/cgroup_parts.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_paths(const char *mounts, const char *groups)
{
	struct hierarchies found;

	hierarchies_parse(mounts, groups, &found);
	require(found.count <= HIERARCHIES);
	for (size_t i = 0; i < found.count; i++) {
		const struct hierarchy *item = &found.items[i];

		require(item->mount[0] == '/');
		require(strncmp(item->path, item->mount, strlen(item->mount)) == 0);
		/* Never out of what is mounted. */
		require(!strstr(item->path + strlen(item->mount), "/.."));
		require(item->unified || item->controllers);
	}
	hierarchies_done(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	size_t length, first;
	uint8_t *answer;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	first = strlen(text);
	check_paths(text, first < size ? text + first + 1 : "0::/\n");
	free(text);
	answer = malloc(size ? size : 1); /* of its own, so that a read past it is seen */
	require(answer != NULL);
	memcpy(answer, data, size);
	if (scope_answer(answer, size, 2, &length) != 0)
		require(length == 0 || length >= 16);
	free(answer);
	return 0;
}
