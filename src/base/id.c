/* SPDX-License-Identifier: Apache-2.0 */
/* Making ids, and finding them again. */
#include "id.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

void id_make(char text[static ID_TEXT])
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz"; /* none that look alike */
	uint8_t random[16];
	struct timespec now;
	uint64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		abort();
	for (int i = 9; i >= 0; i--, ms >>= 5)
		text[i] = digits[ms & 31];
	for (int i = 0; i < 16; i++)
		text[10 + i] = digits[random[i] & 31];
	text[26] = '\0';
}

bool id_is_one(const char *text)
{
	return text && strlen(text) == ID_TEXT - 1 &&
	       strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz") == ID_TEXT - 1;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int id_list(int directory, int most, void (*other)(void *data, const char *name), void *data,
	    struct list *ret_ids)
{
	int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!entries) {
		int error = errno;

		if (copy >= 0)
			close(copy);
		return -error;
	}
	for (int i = 0; i < most && (entry = readdir(entries)); i++)
		if (id_is_one(entry->d_name))
			list_add(ret_ids, entry->d_name);
		else if (other)
			other(data, entry->d_name);
	closedir(entries);
	if (ret_ids->count)
		qsort(ret_ids->items, ret_ids->count, sizeof(*ret_ids->items), compare);
	return 0;
}
