/* SPDX-License-Identifier: Apache-2.0 */
#include "detach.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

bool signals_reset(void)
{
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		(void)signal(number, SIG_DFL);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

bool detach(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || !signals_reset() || setsid() < 0 || chdir("/") < 0)
		return false;
	for (int fd = 0; fd < 3; fd++)
		if (dup2(null, fd) < 0)
			return false;
	return true;
}
