/* SPDX-License-Identifier: Apache-2.0 */
/* Where the inbox listens. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdbool.h>
#include <stdint.h>

struct listener {
	int fd, mark; /* mark: keeps commands in sandboxes away from the port */
	uint16_t port;
	char *url;
	struct list hosts; /* what Host may say */
};

/* address: NULL: 127.0.0.1. port: 0: wished, if it is free, else any. anywhere: it need not be a
 * loopback address. names: other names under which it is reached; may be NULL. */
int listener_open(const char *address, uint16_t port, uint16_t wished, bool anywhere,
		  const struct list *names, struct listener *ret_listener,
		  struct error **ret_error);
void listener_close(struct listener *listener);
