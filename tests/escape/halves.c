/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs in one workspace, each of which makes one of the two names by which git knows a
 * repository, at the same moment: neither may see it coming. The arguments are the command that
 * would run, and the name: objects or refs. */
#include "evil.h"

#include <sys/mman.h>

enum { TRIES = 300, PATIENCE_MS = 2000 };

static const char *half;

/* Each waits for the other; false where it does not come. */
static bool meet(volatile unsigned *counters, bool first)
{
	uint64_t end = now_ms() + PATIENCE_MS;
	unsigned mine = __atomic_add_fetch(&counters[first], 1, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&counters[!first], __ATOMIC_SEQ_CST) < mine)
		if (now_ms() > end)
			return false;
	return true;
}

static int attack_halves(char **arguments)
{
	bool first = strcmp(half, "objects") == 0;
	volatile unsigned *counters;
	char name[64];
	int fd = open("counters", O_RDWR | O_CREAT, 0600);

	(void)arguments;
	if (fd < 0 || ftruncate(fd, 4096) < 0)
		cannot_try("a file that both have");
	counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (counters == MAP_FAILED)
		cannot_try("a page that both have");
	for (int i = 0; i < TRIES; i++) {
		snprintf(name, sizeof(name), "half%d", i);
		if (first && mkdir(name, 0755) == 0) {
			snprintf(name, sizeof(name), "half%d/config", i);
			put(name, evil_config);
			snprintf(name, sizeof(name), "half%d/HEAD", i);
			put(name, "ref: refs/heads/main\n");
		}
		snprintf(name, sizeof(name), "half%d/%s", i, half);
		if (!meet(counters, first))
			break;
		mkdir(name, 0755);
		if (!meet(counters, first))
			break;
	}
	return verdict(true, "halves");
}

static const struct attack attacks[] = {
	{"halves", 2, attack_halves},
};

int main(int argc, char **argv)
{
	prepare_evil(argc, argv);
	half = argc > 3 ? argv[3] : "";
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
