/* SPDX-License-Identifier: Apache-2.0 */
#include "told.h"

#include <signal.h>

bool told_to_stop(void)
{
	sigset_t pending;

	if (sigpending(&pending) < 0)
		return false;
	return sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGHUP) == 1 ||
	       sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGQUIT) == 1;
}
