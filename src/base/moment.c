/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"
#include "io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void moment_now(struct moment *ret_moment)
{
	static char boot[BOOT_TEXT];
	struct timespec since, now;
	_cleanup_free_ char *text = NULL;
	size_t length;

	if (!boot[0] &&
	    read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 256, &text, &length) == 0)
		snprintf(boot, sizeof(boot), "%.*s", (int)strcspn(text, "\n"), text);
	clock_gettime(CLOCK_BOOTTIME, &since);
	clock_gettime(CLOCK_REALTIME, &now);
	*ret_moment = (struct moment){.wall = now.tv_sec,
				      .ns = (uint64_t)since.tv_sec * 1000000000 +
					    (uint64_t)since.tv_nsec};
	memcpy(ret_moment->boot, boot, sizeof(boot));
}

void moment_at(int64_t wall, const struct moment *now, struct moment *ret_moment)
{
	*ret_moment = *now;
	ret_moment->wall = wall;
	if (wall > now->wall)
		ret_moment->ns += (uint64_t)(wall - now->wall) * 1000000000;
}

uint64_t moment_ns_between(const struct moment *from, const struct moment *to)
{
	if (from->boot[0] && strcmp(from->boot, to->boot) == 0)
		return to->ns > from->ns ? to->ns - from->ns : 0;
	return to->wall > from->wall ? (uint64_t)(to->wall - from->wall) * 1000000000 : 0;
}

bool moment_has_come(const struct moment *end, const struct moment *now)
{
	return now->wall >= end->wall || strcmp(now->boot, end->boot) != 0 || now->ns >= end->ns;
}

bool moment_has_surely_come(const struct moment *end, const struct moment *now)
{
	return now->wall >= end->wall && (strcmp(now->boot, end->boot) != 0 || now->ns >= end->ns);
}
