/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the search for secrets in a tree: walk TREE STATE ROUNDS prints, for each way, the best
 * and the median time in microseconds, and how many directories were read.
 *
 * The kernel's own caches are warm in all of them: what is compared is reading every directory, the
 * first walk that also writes the cache, and one that finds the cache. */
#include "../../src/base/units.h"
#include "../../src/sandbox/find.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 1000 };

static int by_time(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

static double search_once(const char *tree, const struct file_rules *rules, const char *cache)
{
	static const struct list none;
	const struct search search = {
		.workspace = tree, .rules = rules, .not_names = &none, .cache = cache};
	struct error *error = NULL;
	struct masks masks = {0};
	uint64_t begin = monotonic_ns();
	double taken;

	if (find_masks(&search, &masks, &error) < 0) {
		fprintf(stderr, "%s\n", error->message);
		exit(1);
	}
	taken = (double)(monotonic_ns() - begin) / 1e3;
	masks_done(&masks);
	return taken;
}

static void forget(const char *cache)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", cache);
	if (system(command) != 0)
		exit(1);
}

int main(int argc, char **argv)
{
	static double times[ROUNDS_MOST];
	static const char *const ways[] = {"none", "first", "warm"};
	char tree[PATH_MAX], pattern[PATH_MAX + 16];
	struct file_rules rules = {0};
	int rounds = argc == 4 ? atoi(argv[3]) : 0;

	if (rounds < 1 || rounds > ROUNDS_MOST || !realpath(argv[1], tree)) {
		fprintf(stderr, "usage: walk TREE STATE ROUNDS\n");
		return 2;
	}
	file_rules_add(&rules, ACCESS_WRITE, WEIGHT_SAID, tree, NULL);
	for (int i = 0; i < 2; i++) {
		snprintf(pattern, sizeof(pattern), "%s/**/%s", tree, i ? ".env.*" : ".env");
		file_rules_add(&rules, ACCESS_DENY, WEIGHT_DEFAULT, pattern, NULL);
	}
	for (int way = 0; way < 3; way++) {
		for (int i = -1; i < rounds; i++) {
			double taken;

			if (way == 1)
				forget(argv[2]);
			taken = search_once(tree, &rules, way == 0 ? NULL : argv[2]);
			if (i >= 0)
				times[i] = taken;
		}
		qsort(times, (size_t)rounds, sizeof(*times), by_time);
		printf("%s\t%.1f\t%.1f\t%.1f\n", ways[way], times[0], times[rounds / 2],
		       times[rounds * 9 / 10]);
	}
	file_rules_done(&rules);
	return 0;
}
