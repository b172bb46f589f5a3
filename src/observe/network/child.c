/* SPDX-License-Identifier: Apache-2.0 */
/* Beginning, ending and speaking to a child. */
#include "child.h"
#include "../../base/macro.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum { KEPT_MOST = 4 };

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

void close_all_but(int *fds, size_t count)
{
	unsigned next = 0;

	qsort(fds, count, sizeof(*fds), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if ((unsigned)fds[i] > next)
			sys_close_range(next, (unsigned)fds[i] - 1, 0);
		next = (unsigned)fds[i] + 1;
	}
	sys_close_range(next, ~0u, 0);
}

static _Noreturn void run_child(int socket, const char *name, const int *kept, size_t count,
				child_work *work, const void *data)
{
	int all[KEPT_MOST + 1] = {socket};
	sigset_t every;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_NAME, name);
	/* Those of the terminal are meant for the command; a broken pipe is seen by its error. */
	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, NULL);
	for (size_t i = 0; i < count; i++)
		all[1 + i] = kept[i];
	close_all_but(all, count + 1);
	work(socket, data);
	_exit(0);
}

int child_start(struct child *child, const char *name, const int *kept, size_t count,
		child_work *work, const void *data)
{
	struct kernel_clone arguments = {0}; /* no signal at its end */
	int ends[2], r;
	pid_t pid;

	if (count > KEPT_MOST)
		return -EINVAL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0)
		return -errno;
	pid = sys_clone_any(&arguments);
	if (pid == 0)
		run_child(ends[1], name, kept, count, work, data);
	r = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (r < 0)
		close(ends[0]);
	else
		*child = (struct child){pid, ends[0]};
	return r;
}

void child_end(struct child *child)
{
	close_fd(&child->socket);
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
		while (waitpid(child->pid, NULL, __WALL) < 0 && errno == EINTR)
			;
	}
	*child = CHILD_NONE;
}

bool child_has_ended(const struct child *child)
{
	struct pollfd end = {child->socket, 0, 0};

	return poll(&end, 1, 0) > 0;
}

static bool wait_for(int socket, short events, int milliseconds)
{
	struct pollfd ready = {socket, events, 0};
	int r;

	/* A signal begins the wait anew; the supervisor's come once, and a child hears none. */
	while ((r = poll(&ready, 1, milliseconds)) < 0 && errno == EINTR)
		;
	return r > 0;
}

int send_message(int socket, const void *data, size_t length, const int *fds, size_t count,
		 int milliseconds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)data, length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t sent;

	if (count > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(&control.header), fds, count * sizeof(int));
	}
	do
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 &&
	       (errno == EINTR || (errno == EAGAIN && wait_for(socket, POLLOUT, milliseconds))));
	return sent < 0 ? -errno : 0;
}

int receive_message(int socket, void *data, size_t length, int fds[static MESSAGE_FDS],
		    int milliseconds)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
	} control = {0};
	struct iovec part = {data, length};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *header;
	ssize_t got;

	for (int i = 0; i < MESSAGE_FDS; i++)
		fds[i] = -1;
	do
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (got < 0 &&
	       (errno == EINTR || (errno == EAGAIN && wait_for(socket, POLLIN, milliseconds))));
	if (got < 0)
		return -errno;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(header),
		       MIN(header->cmsg_len - CMSG_LEN(0), MESSAGE_FDS * sizeof(int)));
	if ((size_t)got == length)
		return 0;
	for (int i = 0; i < MESSAGE_FDS; i++)
		close_fd(&fds[i]);
	return got == 0 ? -EPIPE : -EBADMSG;
}
