/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a user namespace, and with an argument a network namespace in it; nothing else. Run both
 * ways, the difference is what a network namespace costs by itself. */

#include <sched.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	(void)argv;
	if (unshare(CLONE_NEWUSER) < 0 || (argc > 1 && unshare(CLONE_NEWNET) < 0)) {
		perror("namespace: unshare");
		return 1;
	}
	return 0;
}
