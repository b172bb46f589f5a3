/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the deliverer, by whoever may have something to tell. */
#include "../base/io.h"
#include "../base/macro.h"
#include "deliver.h"
#include "../sys/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

/* Standard streams that lead nowhere, and nothing else of ours. */
static bool settle_in(void)
{
	return detach() && close_range(3, ~0U, 0) == 0;
}

/* Twice forked: nobody here has to wait for it, and what it leaves is not ours. */
static void start(const char *state, const char *after)
{
	char *words[] = {(char *)"ward",
			 (char *)"notify",
			 (char *)"deliver",
			 (char *)state,
			 (char *)(after ? after : ""),
			 NULL};
	pid_t child = fork();

	if (child == 0) {
		if (!settle_in() || fork() != 0)
			_exit(0);
		execv("/proc/self/exe", words);
		_exit(1);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

static int open_lock(const char *state, const char *name)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/notify/%s", state, name) < 0)
		abort();
	return open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void deliver_start(const char *state, const char *after, int *ret_present)
{
	struct flock shared = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	_cleanup_free_ char *path = NULL;
	_cleanup_close_ int lock = -1, present = -1;

	if (asprintf(&path, "%s/notify", state) < 0)
		abort();
	if (ret_present ? make_directories(path, 0700) < 0 : access(path, F_OK) < 0)
		return;
	present = open_lock(state, "present");
	lock = open_lock(state, "lock");
	/* In this order: a deliverer that leaves looks for us after it has let go of its lock. */
	if (ret_present && present >= 0 && fcntl(present, F_OFD_SETLK, &shared) == 0)
		*ret_present = STEAL_FD(present);
	if (lock >= 0 && fcntl(lock, F_OFD_GETLK, &held) == 0 && held.l_type == F_UNLCK)
		start(state, after);
}
