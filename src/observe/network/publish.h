/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of the sandbox that the host's loopback shows. They are listened on before anything runs,
 * so that a port that is taken is an error and nothing has happened yet. */
#pragma once

#include "../../base/error.h"
#include "../../base/list.h"
#include <stddef.h>
#include <stdint.h>

enum { LISTENERS_MOST = 128 };

struct listener {
	int fd;
	uint16_t inside;
};

struct published {
	struct listener items[LISTENERS_MOST];
	size_t count;
};

/* Listens at `outside` on 127.0.0.1 and ::1. A port that is taken is an error that names it. */
int publish_port(uint16_t outside, uint16_t inside, struct published *published,
		 struct error **ret_error);
/* The same for each "OUTSIDE:INSIDE". */
int publish_ports(const struct list *ports, struct published *published, struct error **ret_error);
void publish_done(struct published *published);
