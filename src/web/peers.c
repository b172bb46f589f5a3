/* SPDX-License-Identifier: Apache-2.0 */
#include "peers.h"
#include "../base/units.h"

#include <stdlib.h>
#include <sys/socket.h>

static void end_peer(struct peer *peer)
{
	peer->ended = true;
	(void)shutdown(peer->fd, SHUT_RDWR);
}

/* Whoever can connect could take all connections there may be, by asking for much and reading
 * nothing, too: the oldest makes room. */
static void bound_strangers(struct peers *peers)
{
	struct peer *oldest = NULL;
	size_t count = 0;

	for (struct peer *peer = peers->first; peer; peer = peer->next)
		if (!peer->known && !peer->ended) {
			oldest = peer;
			count++;
		}
	if (count > STRANGERS_MOST)
		end_peer(oldest);
}

struct peer *peers_add(struct peers *peers, int fd)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		abort();
	*peer = (struct peer){.next = peers->first, .fd = fd, .since_ns = monotonic_ns()};
	peers->first = peer;
	bound_strangers(peers);
	return peer;
}

void peers_remove(struct peers *peers, struct peer *peer)
{
	for (struct peer **at = &peers->first; *at; at = &(*at)->next)
		if (*at == peer) {
			*at = peer->next;
			break;
		}
	free(peer);
}

void peers_tick(struct peers *peers)
{
	uint64_t now = monotonic_ns();

	for (struct peer *peer = peers->first; peer; peer = peer->next) {
		uint64_t seconds = peer->busy ? REPLY_SECONDS : REQUEST_SECONDS;

		if (!peer->streams && !peer->ended && now > peer->since_ns + seconds * 1000000000)
			end_peer(peer);
	}
}
