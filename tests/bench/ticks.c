/* SPDX-License-Identifier: Apache-2.0 */
/* Tells until when it ran: ticks FILE PROCESSES [DENIED] starts so many processes, each in a
 * session of its own, that write the time into the file as fast as they can. With DENIED the time
 * is written before all others, and that file opened. Half a minute at most. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, SECONDS = 30 };

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void tick(volatile uint64_t *slot)
{
	uint64_t end = now() + SECONDS * UINT64_C(1000000000);

	setsid();
	while ((*slot = now()) < end)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
	int count = argc > 2 ? atoi(argv[2]) : 0;
	volatile uint64_t *slots;

	if (fd < 0 || count < 1 || count >= MOST || ftruncate(fd, MOST * sizeof(*slots)) < 0)
		return 1;
	slots = mmap(NULL, MOST * sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (slots == MAP_FAILED)
		return 1;
	for (int i = 1; i <= count; i++)
		if (fork() == 0)
			tick(&slots[i]);
	for (int i = 1; i <= count; i++)
		while (!slots[i])
			usleep(1000);
	if (argc > 3) {
		usleep(20000);
		slots[0] = now();
		(void)!open(argv[3], O_RDONLY);
	}
	sleep(SECONDS);
	return 0;
}
