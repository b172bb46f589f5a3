/* SPDX-License-Identifier: Apache-2.0 */
/* The real look-up of names, outside and without blocking: by c-ares with the host's own
 * resolv.conf, nsswitch.conf and hosts file. Answers are kept as long as their TTL says. Only names
 * that somebody allowed come here. */
#pragma once

#include "../../base/macro.h"
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADDRESSES_MOST = 16 };

/* IPv4 is mapped. In the order in which they are best tried (IPv6 and IPv4 in turn, RFC 8305). */
struct addresses {
	struct in6_addr items[ADDRESSES_MOST];
	size_t count;
};

struct lookup;

/* found: NULL where there is none, and errnum says why (ENOENT: no such name or no address;
 * ETIMEDOUT; EIO; EAGAIN: too many at once). Not called for what was forgotten. */
typedef void lookup_done(void *data, uint64_t ticket, const struct addresses *found, int errnum);

/* Adds its fds to the epoll with data.fd set to each. Cheap: the library is started with the first
 * name. */
struct lookup *lookup_new(int epoll, lookup_done *done, void *data);
void lookup_free(struct lookup *lookup);
/* Calls done with the ticket: at once from what is kept, from the hosts file, or where nothing is
 * asked (no valid name, an address, too many); else later out of lookup_serve. Done may look up and
 * forget. */
void lookup_name(struct lookup *lookup, const char *name, uint64_t ticket);
/* Whoever waited with this ticket is gone. */
void lookup_forget(struct lookup *lookup, uint64_t ticket);
/* True if the fd is the look-up's, and was served. */
bool lookup_serve(struct lookup *lookup, int fd, uint32_t events);
/* For tests: asks these ("127.0.0.1:5300,[::1]:5300"), and waits that many milliseconds for their
 * first answer. Before the first name. */
void lookup_use(struct lookup *lookup, const char *servers, int patience);
