/* SPDX-License-Identifier: Apache-2.0 */
/* A child of the supervisor that lives in the sandbox's network and makes sockets there. */
#pragma once

#include "child.h"
#include <stdint.h>
#include <sys/socket.h>

/* Of the sandbox with this init. Every address there leads to the sandbox itself from then on.
 * -EAGAIN: nobody is inside yet, or any more; -ENONET: it has no network of its own; -errno.
 *
 * The calls below wait for an answer, a bounded time. A factory that does not answer is ended, and
 * so is one that could not begin. */
int factory_start(struct child *factory, pid_t init);
/* A datagram socket that hears what is sent inside to that address and port, and one of ICMP by
 * which its senders can be told that nobody hears them (-1 where there is none). -errno. */
int factory_datagrams(struct child *factory, const struct sockaddr_storage *inside,
		      int ret_fds[static 2]);
/* A socket connected, or about to be, to what listens on the loopback inside at that port. -errno.
 */
int factory_stream(struct child *factory, uint16_t port, int *ret_socket);
/* A socket that listens inside at that address and port. -errno. */
int factory_listener(struct child *factory, const struct sockaddr_storage *inside, int *ret_socket);
