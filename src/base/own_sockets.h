/* SPDX-License-Identifier: Apache-2.0 */
/* Where the daemon's sockets lie, and which ports are the inbox's: whoever opens them asks here,
 * and so does whoever keeps commands away from them. */
#pragma once

#include "list.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#define SOCKET_AGENT	"agent.sock"
#define SOCKET_APPROVER "approver.sock"
#define SOCKETS_SYSTEM	"/run/ward"

/* The calling user's: $XDG_RUNTIME_DIR/ward, else /run/user/UID/ward if there is such a directory;
 * NULL: neither. Caller frees. */
char *own_sockets_directory(void);
/* True of a socket that leads to a daemon: it lies where they lie, whatever its name, or is one of
 * them under another name. path: its real one. */
bool is_own_socket(const char *path, const struct stat *st);

/* Marks a port as one that the inbox (ward web) listens on, as long as the fd is open: a name in
 * the same network, for it is there that ports are, and gone with whoever held it. -1 with errno.
 */
int own_port_mark(uint16_t port);
/* True of a port that is marked, whoever's it is, or where that cannot be told. */
bool is_own_port(uint16_t port);
