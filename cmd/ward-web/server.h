/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of the inbox: one loop over libmicrohttpd, the inbox itself and signals. */
#pragma once

#include "../../src/base/error.h"
#include "../../src/base/list.h"
#include <stdbool.h>
#include <stdint.h>

struct server;

struct server_options {
	const char *state;
	const char *program;	  /* ward's own file */
	const char *address;	  /* to listen on; NULL: 127.0.0.1 */
	uint16_t port;		  /* 0: the one of the last time, else any that is free */
	bool anywhere;		  /* the address need not be a loopback one */
	const struct list *names; /* under which it is reached besides */
};

/* Fails where another one serves. From then on it is listened. */
int server_open(const struct server_options *options, struct server **ret_server,
		struct error **ret_error);
/* "http://127.0.0.1:4321/". Borrowed. */
const char *server_url(const struct server *server);
/* Until SIGINT, SIGTERM or SIGHUP. */
int server_serve(struct server *server, struct error **ret_error);
void server_close(struct server *server);
