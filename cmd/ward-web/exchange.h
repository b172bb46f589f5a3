/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its reply on a connection of libmicrohttpd. */
#pragma once

#include "../../src/web/peers.h"
#include "../../src/web/web.h"

#include <microhttpd.h>

struct server {
	struct MHD_Daemon *daemon;
	struct web *web;
	struct peers peers;
	struct exchange *streams; /* those whose reply is a stream */
	int lock, signals, mark;
	char *url;
};

/* What libmicrohttpd calls; server is the cls of all. */
void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *connection);
enum MHD_Result exchange_step(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **exchange);
void exchange_end(void *cls, struct MHD_Connection *connection, void **exchange,
		  enum MHD_RequestTerminationCode how);
/* Streams whose page has gone are ended. */
void exchange_tick(struct server *server);
/* Streams that are asleep could not be closed. */
void exchange_wake_all(struct server *server);
