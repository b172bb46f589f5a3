/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the host that have names: where they lie, and what whoever reaches one can do. */
#pragma once

#include "../base/list.h"

/* Adds the paths that the name stands for here, whether or not anything is there; false where it is
 * no name of a socket. */
bool socket_paths(const char *name, struct list *paths);
/* The name of the socket at a path, links aside, or NULL. */
const char *socket_name(const char *path);
/* What is at stake, in a few words; NULL where name is NULL or no name. */
const char *socket_risk(const char *name);
