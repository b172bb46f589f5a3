/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks by one run on the start of another one that shares its workspace: names change while the
 * other looks at them. They go on until the file "enough" appears. */
#include "attack.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

static bool enough(void)
{
	static uint64_t last;

	if (now_ms() == last)
		return false;
	last = now_ms();
	return access("enough", F_OK) == 0;
}

/* Arguments: two names. The first is now there, now called by the second. */
static int attack_move(char **arguments)
{
	while (!enough()) {
		rename(arguments[0], arguments[1]);
		linger(20000);
		rename(arguments[1], arguments[0]);
		linger(20000);
	}
	return SUCCEEDED;
}

/* Arguments: two names that are exchanged. */
static int attack_exchange(char **arguments)
{
	while (!enough()) {
		renameat2(AT_FDCWD, arguments[0], AT_FDCWD, arguments[1], RENAME_EXCHANGE);
		linger(20000);
	}
	return SUCCEEDED;
}

static const struct attack attacks[] = {
	{"move", 2, attack_move},
	{"exchange", 2, attack_exchange},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
