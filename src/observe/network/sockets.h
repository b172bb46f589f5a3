/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about sockets share. */
#pragma once

#include "../observer.h"
#include <sys/un.h>

/* Before the first of what follows. */
void connects_begin(void);
/* An option of SOL_SOCKET that is a number; `otherwise` where there is none. */
int socket_option(int fd, int option, int otherwise);
/* When a blocking connect that began then gives up (SO_SNDTIMEO); 0: never. Monotonic. */
uint64_t socket_give_up(int fd, uint64_t begun);
/* Until it is said again with false, no call sleeps longer than some milliseconds. May be nested.
 */
void bound_sleep(bool on);
/* Closes our copy of a caller's socket, in bounded time whatever its linger time is. */
void close_copy(int *fd);
/* Connects without blocking whatever the socket's own mode; the caller's flags are as before when
 * it returns. target: O_PATH of a socket of AF_UNIX, or -1. 0 or errno. */
int connect_now(int fd, int target, const struct sockaddr *address, socklen_t length,
		bool *ret_blocking);
/* The same for the caller, who waits for it where it would have to. Takes ownership of fd and
 * target. */
void perform_connect(struct observer *observer, const struct seccomp_notif *call, int fd,
		     int target, const struct sockaddr *address, socklen_t length);

/* What is left to do after connect_now: answer, or wait. Takes ownership of fd and target. */
void conclude_connect(struct observer *observer, const struct seccomp_notif *call, int fd,
		      int target, const struct sockaddr *address, socklen_t length, int error,
		      bool blocking);

/* Those that wait with this socket are refused. */
void waiting_end(struct observer *observer, ino_t inode);

/* unix.c. connect_unix takes ownership of fd. */
void connect_unix(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, int fd, const struct sockaddr_un *address,
		  socklen_t length);
void bind_unix(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	       int fd, const struct sockaddr_un *address, socklen_t length);
