/* SPDX-License-Identifier: Apache-2.0 */
/* Children of the supervisor that do one thing for it for the rest of the run: how they begin and
 * end, and messages with fds between them and it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct child {
	pid_t pid;  /* -1: none */
	int socket; /* SEQPACKET, non-blocking */
};
#define CHILD_NONE ((struct child){-1, -1})

/* What it does, with its end of the socket. When this returns the child ends. */
typedef void child_work(int socket, const void *data);

/* Starts one that holds no fd but its socket and the kept ones, hears no signal but SIGKILL, cannot
 * be looked into, and dies with us: by a signal, and by the end of its socket, which it must heed.
 * name: as ps shows it. 0 or -errno. */
int child_start(struct child *child, const char *name, const int *kept, size_t count,
		child_work *work, const void *data);
/* At once, and waits for it. Nothing to do where there is none. */
void child_end(struct child *child);
/* True if it has ended, or closed its socket. */
bool child_has_ended(const struct child *child);

enum { MESSAGE_FDS = 2 };
/* Sends a message; waits at most `milliseconds` for room. 0 or -errno. */
int send_message(int socket, const void *data, size_t length, const int *fds, size_t count,
		 int milliseconds);
/* Receives one of exactly this length, with up to MESSAGE_FDS fds (-1 for those that did not come);
 * waits at most `milliseconds` (-1: without end). 0; -EAGAIN none came; -EPIPE the other end is
 * gone; -errno. */
int receive_message(int socket, void *data, size_t length, int fds[static MESSAGE_FDS],
		    int milliseconds);

/* Sorts the fds. */
void close_all_but(int *fds, size_t count);
