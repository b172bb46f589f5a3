/* SPDX-License-Identifier: Apache-2.0 */
/* Ways between the sandbox's network and the host's for what cannot be handed in as a connected
 * socket: datagrams to a target that was allowed, and ports of the sandbox that are published on
 * the host's loopback.
 *
 * Two children, each started when it is first needed. The factory lives in the sandbox's user and
 * network namespaces (never in its pid namespace, not dumpable, no fds but its own) and makes
 * sockets there on request. The pump lives outside and carries bytes and datagrams between sockets
 * it was handed. Neither decides anything. */
#pragma once

#include "publish.h"
#include "../../base/error.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct relay;

/* Adds its fds to the epoll with data.fd set to each. init: of the sandbox. */
struct relay *relay_new(int epoll, pid_t init);
void relay_free(struct relay *relay);

/* From now on datagrams that are sent inside to `inside` (an address of the resolver's range, or
 * the literal one, with its port) reach `outside` and nothing else, and answers from there come
 * back as if from `inside`. Each sender inside gets a socket of its own outside, connected. True
 * again for the same pair costs nothing. Another outside for the same inside takes over for all
 * senders that were not answered yet. -errno. */
int relay_datagrams(struct relay *relay, const struct sockaddr *inside,
		    const struct sockaddr *outside);
/* True if that is there already. */
bool relay_has(const struct relay *relay, const struct sockaddr *inside);

/* A stream by way of the pump, for a socket inside that no other can take the place of: a listener
 * inside at that address for it to connect to, and what was accepted there joined with a connection
 * outside (which may be about to be one). number: by which it can be ended, 0 none. The caller
 * closes its own fds. -errno. */
int relay_listen(struct relay *relay, const struct sockaddr *inside, int *ret_listener);
int relay_join(struct relay *relay, int inside, int outside, uint64_t number);
/* Ends all streams of that number, or what is sent to that target; where it cannot be told to,
 * everything that the pump carries. There may be no relay (NULL). */
void relay_part(struct relay *relay, uint64_t number);
void relay_forget(struct relay *relay, const struct sockaddr *inside);

/* Each connection that comes to one of these is made again inside, to the sandbox's loopback. Takes
 * ownership of the fds. */
void relay_adopt(struct relay *relay, struct published *published);
/* The same for a port that is listened on from now on; see publish_port. */
int relay_publish(struct relay *relay, uint16_t outside, uint16_t inside, struct error **ret_error);

/* True if the fd is the relay's, and was served. There may be no relay (NULL). */
bool relay_serve(struct relay *relay, int fd, uint32_t events);
