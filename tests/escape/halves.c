/* SPDX-License-Identifier: Apache-2.0 */
/* Two runs in one workspace, each of which does a half of what neither may do: one of the two names
 * by which git knows a repository each, at the same moment; or one has a harmless configuration
 * installed, over and over, and the other opens what is installed; or one makes a repository, and
 * the other opens its configuration by a path that it changes meanwhile. The arguments are the
 * command that would run, and the half. */
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

static const char theirs[] = "deep/er/.git/config", beside[] = "deep/er/.git/config.lock";

static bool install(const char *text, size_t length)
{
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd >= 0)
		(void)!write(fd, text, length);
	close(fd);
	return fd >= 0 && rename(beside, theirs) == 0;
}

/* Whoever holds what is installed open ends it for both, before the next is installed. */
static bool take_over(void)
{
	int fd = open(beside, O_WRONLY);
	struct stat mine, installed;
	bool taken = false;

	if (fd < 0)
		return false;
	for (int i = 0; i < 100 && !taken; i++)
		taken = fstat(fd, &mine) == 0 && stat(theirs, &installed) == 0 &&
			mine.st_ino == installed.st_ino;
	if (taken && ftruncate(fd, 0) == 0)
		(void)!pwrite(fd, evil_config, strlen(evil_config), 0);
	close(fd);
	return taken;
}

static int attack_installed(char **arguments)
{
	uint64_t end = now_ms() + 2 * PATIENCE_MS;
	bool first = strcmp(half, "install") == 0, taken = false;
	char text[4096];
	int fd = open(theirs, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text));

	(void)arguments;
	if (length < 0)
		cannot_try("a configuration");
	while (!taken && access("taken", F_OK) < 0 && now_ms() < end) {
		if (first && install(text, (size_t)length))
			usleep(200);
		else if (!first)
			taken = take_over();
	}
	if (taken)
		put("taken", "");
	return verdict(taken, half);
}

static volatile char path[16] = "plain";

static void *change_path(void *data)
{
	static const char plain[16] = "plain", config[16] = "new/.git/config";

	for (;;) {
		memcpy((char *)path, plain, sizeof(path));
		linger(3000);
		memcpy((char *)path, config, sizeof(path));
		linger(3000);
	}
	return data;
}

static bool is_made(void)
{
	uint64_t end = now_ms() + 5 * PATIENCE_MS;

	while (access("new/.git/config", F_OK) < 0)
		if (now_ms() > end)
			return false;
	return true;
}

static int attack_changed(char **arguments)
{
	uint64_t end;
	struct stat mine, other;
	bool opened = false;
	int fd;

	(void)arguments;
	if (strcmp(half, "open") != 0) {
		while (access("ready", F_OK) < 0)
			usleep(1000);
		mkdir("new", 0755);
		mkdir("new/.git", 0755);
		put("new/.git/config.lock", "[core]\n\trepositoryformatversion = 0\n");
		rename("new/.git/config.lock", "new/.git/config");
		usleep(PATIENCE_MS * 1000);
		return verdict(false, half);
	}
	put("plain", "");
	put("ready", "");
	if (!is_made())
		cannot_try("a repository of the other's");
	start_racer(change_path, NULL);
	for (end = now_ms() + PATIENCE_MS; !opened && now_ms() < end; close(fd)) {
		fd = open((char *)path, O_WRONLY);
		opened = fd >= 0 && fstat(fd, &mine) == 0 && stat("new/.git/config", &other) == 0 &&
			 mine.st_ino == other.st_ino;
	}
	return verdict(opened, "opening it");
}

static const struct attack attacks[] = {
	{"halves", 2, attack_halves},
	{"changed", 2, attack_changed},
	{"installed", 2, attack_installed},
};

int main(int argc, char **argv)
{
	prepare_evil(argc, argv);
	half = argc > 3 ? argv[3] : "";
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
