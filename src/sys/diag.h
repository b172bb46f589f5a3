/* SPDX-License-Identifier: Apache-2.0 */
/* The TCP sockets of this network, as the kernel lists them: who has which connection. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct diag_socket {
	struct in6_addr local, remote; /* IPv4 is mapped */
	uint16_t local_port, remote_port;
	uid_t uid;	/* who made it */
	uint64_t inode; /* 0: nobody has it open any more */
	uint64_t sent, received;
};

/* Each that is connected, or about to be. 0 or -errno. */
int diag_connections(void (*each)(void *data, const struct diag_socket *socket), void *data);
/* Who made the socket at the other end of a connection of ours: 0; -ENOENT where that end is not in
 * this network of this machine; -errno. */
int diag_peer(int fd, uid_t *ret_uid);
