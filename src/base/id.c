/* SPDX-License-Identifier: Apache-2.0 */
/* Making ids. */
#include "id.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

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
