/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets of the host that programs connect to by path, each with its name and with what whoever
 * reaches it can do. None is opened unless it is named by itself. */
#pragma once

#include "../base/list.h"

struct known_socket {
	const char *name;     /* "docker": how it is asked for */
	const char *paths[6]; /* patterns; NULL ends them */
	const char *variable; /* that names its path, or NULL */
	const char *means;    /* what it gives away, in a word or two: "equal to root" */
	const char *risk;     /* and why */
};

/* All that ward knows by name; one without a name ends them. */
extern const struct known_socket known_sockets[];
/* The one that lies at this path; NULL: none that is known. */
const struct known_socket *socket_at(const char *path);
/* The one of this name; NULL: there is none. */
const struct known_socket *socket_named(const char *name);
/* Where it may lie on this machine, for this user. */
void socket_paths(const struct known_socket *socket, struct list *ret_paths);
