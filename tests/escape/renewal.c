/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that read a secret which somebody outside replaces while they run, and keep ward from
 * covering it again. */
#include "attack.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

/* Arguments of all: the secret and a word that is in it. The test replaces the secret when the file
 * ready is there, and makes the file late when it must be covered again. */
static const char *path, *word;

static bool can_read(void)
{
	static char data[4096];
	int fd = open(path, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (fd >= 0)
		close(fd);
	return length > 0 && memmem(data, (size_t)length, word, strlen(word));
}

static void begin(char **arguments)
{
	path = arguments[0];
	word = arguments[1];
	if (creat("ready", 0600) < 0)
		cannot_try("telling that we are ready");
}

/* Reads on and on, long after it must have become impossible. */
static int read_late(void)
{
	uint64_t end = now_ms() + 20000, late = 0;

	while (now_ms() < end) {
		bool is_late = late > 0;

		if (!late && access("late", F_OK) == 0)
			late = now_ms();
		if (can_read() && is_late)
			return verdict(true, path);
		if (late && now_ms() > late + RACE_MS)
			return verdict((errno = EACCES, false), path);
	}
	cannot_try("waiting for the test");
}

static int attack_read(char **arguments)
{
	begin(arguments);
	return read_late();
}

/* More events than the kernel keeps: the one that matters gets lost among them. */
static void *flood(void *data)
{
	char name[64];

	for (unsigned i = 0;; i++) {
		snprintf(name, sizeof(name), "flood-%u", i % 64);
		close(creat(name, 0600));
		unlink(name);
	}
	return data;
}

static int attack_flood(char **arguments)
{
	for (int i = 0; i < 3; i++)
		start_racer(flood, NULL);
	usleep(300000);
	begin(arguments);
	return read_late();
}

/* No process inside that ward could look into. */
static int attack_closed(char **arguments)
{
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		cannot_try("closing ourselves");
	begin(arguments);
	return read_late();
}

/* Names change all around the secret while ward looks. */
static void *rename_around(void *data)
{
	for (;;) {
		mkdir("around", 0700);
		rename("around", "around2");
		rmdir("around2");
	}
	return data;
}

static int attack_rename(char **arguments)
{
	start_racer(rename_around, NULL);
	begin(arguments);
	return read_late();
}

int main(int argc, char **argv)
{
	static const struct attack attacks[] = {
		{"read", 2, attack_read},
		{"flood", 2, attack_flood},
		{"closed", 2, attack_closed},
		{"rename", 2, attack_rename},
	};

	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
