/* SPDX-License-Identifier: Apache-2.0 */
/* A socket that is on its way to itself is nobody's once it is closed, and with what travels beside
 * it it is left to the kernel's collector. That works in a thread of its own; before about
 * Linux 6.9 it worked in the close below, which then takes as long as any. */
#include "behind.h"
#include "../base/macro.h"

#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

static bool send_to_itself(int from, int to, int fd)
{
	const int fds[] = {to, fd};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(fds))];
	} control = {0};
	struct iovec byte = {"", 1};
	struct msghdr message = {.msg_iov = &byte,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control.room)};

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	return sendmsg(from, &message, MSG_NOSIGNAL) == 1;
}

void close_behind(int *fd)
{
	int ends[2] = {-1, -1};

	if (*fd >= 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
		(void)!send_to_itself(ends[1], ends[0], *fd);
	close_fd(fd);
	close_fd(&ends[0]);
	close_fd(&ends[1]); /* last: this is what the collector is called by */
}
