/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's name server: the sockets at port 53 of its loopback, and the resolver behind them.
 * Whoever asks is hostile: nothing here blocks, and what one asker can hold is bounded. */
#pragma once

#include "resolver.h"
#include "../../sandbox/sandbox.h"

struct nameserver;

/* Adds its fds to the epoll with data.fd set to each. sockets: borrowed, those at -1 are not there.
 * NULL with errno where they cannot be watched. */
struct nameserver *nameserver_new(int epoll, const int sockets[static NAME_SOCKETS],
				  struct resolver *resolver);
/* The sockets have come into being, where none was there before. 0 or -1. */
int nameserver_watch(struct nameserver *nameserver);
void nameserver_free(struct nameserver *nameserver);
/* True if the fd is the name server's, and was served. */
bool nameserver_serve(struct nameserver *nameserver, int fd);

enum {
	STREAM_QUERY = 2 + 4096, /* longer ones end the connection */
	STREAM_REPLY = 2 + 512,
};
/* Answers the first query of a stream, each of which has its length in front. Returns how much of
 * `in` it was; 0 where some of it is missing; -1 where it is too long. *ret_length: of the reply,
 * with its own length in front; 0: none. */
ssize_t nameserver_answer(struct resolver *resolver, const uint8_t *in, size_t in_length,
			  uint8_t out[static STREAM_REPLY], size_t *ret_length);
