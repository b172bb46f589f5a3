/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the host's name servers and its hosts file, each time anew: lookup.h keeps the answers. */
#pragma once

#include "lookup.h"

struct upstream;

/* found: NULL where there is none, and errnum says why. ttl: seconds to keep it, within bounds. */
typedef void upstream_done(void *item, const struct addresses *found, int errnum, unsigned ttl);

/* Adds its fds to the epoll with data.fd set to each; the library is started with the first name.
 */
struct upstream *upstream_new(int epoll, upstream_done *done);
/* Nobody is told any more. */
void upstream_free(struct upstream *upstream);
/* The name is asked for as it stands, whatever domains resolv.conf would try. Calls done with the
 * item, perhaps at once; done may ask again. */
void upstream_ask(struct upstream *upstream, const char *name, void *item);
bool upstream_serve(struct upstream *upstream, int fd, uint32_t events);
/* See lookup_use. */
void upstream_use(struct upstream *upstream, const char *servers, int patience);
