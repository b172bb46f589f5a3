/* SPDX-License-Identifier: Apache-2.0 */
/* Everything inside ends when init does, but init must get a processor to hear that it is killed,
 * and whoever is of its session may put the whole session behind all others
 * (/proc/PID/autogroup).
 *
 * A signal must never reach a process outside. A directory of the sandbox's own /proc is that of
 * one process inside, whatever becomes of its number, and the kernel takes it for a pidfd. */
#include "ends.h"
#include "../base/macro.h"
#include "../sys/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

void ends_each(int proc)
{
	int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *processes = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!processes)
		close_fd(&fd);
	while (processes && (entry = readdir(processes))) {
		_cleanup_close_ int process = -1;

		if (strtol(entry->d_name, NULL, 10) <= 1)
			continue;
		process = openat(proc, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process >= 0)
			(void)sys_pidfd_send_signal(process, SIGKILL);
	}
	if (processes)
		closedir(processes);
}
