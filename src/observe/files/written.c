/* SPDX-License-Identifier: Apache-2.0 */
/* A lease for reading is given by the kernel only where nobody has the file open for writing. To
 * look for descriptors in /proc instead would miss those that are under way from one process to
 * another. */
#include "written.h"
#include "../../base/macro.h"

#include <fcntl.h>
#include <signal.h>

bool file_is_written(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);

	/* Whoever opens it in this moment makes the kernel send a signal, by default one that ends
	 * us: in its place one that nobody hears. */
	if (fd < 0 || fcntl(fd, F_SETSIG, SIGURG) < 0 || fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return true;
	(void)fcntl(fd, F_SETLEASE, F_UNLCK);
	return false;
}
