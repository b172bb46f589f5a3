/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: what of the network may be reached, and what of the sandbox can be reached from
 * outside. */
#pragma once

#include "decide.h"
#include "policy.h"

/* A host as flags and policies write it: a pattern of base/hosts.h, or the name of a set
 * (`registry:npm`). E_USAGE. */
int network_check_host(const char *text, struct error **ret_error);
/* "OUTSIDE" or "OUTSIDE:INSIDE", ports. E_USAGE. */
int network_check_publish(const char *text, struct error **ret_error);
/* A port, or * for all of them. E_USAGE. */
int network_check_port(const char *text, struct error **ret_error);

/* All that a request says of hosts and ports: whether it can be meant. E_USAGE. */
int network_check_request(const struct request *request, struct error **ret_error);

/* The mode, before answers: a person's flags are laid over the policy, another program's can only
 * narrow it. */
enum network network_choose(const struct request *request, const struct sandbox_policy *policy);
/* Hosts and ports by policy and flags, for the mode that the verdict has. A full network of which
 * something is denied or published becomes one of the sandbox's own in which everything is open. */
int network_permissions(const struct matter *matter, const struct sandbox_policy *policy,
			struct verdict *verdict, struct error **ret_error);
/* One permission: connect, host-loopback or bind. What is none gives nothing. */
void network_apply(const struct matter *matter, const char *operation, size_t length,
		   const char *resource, const struct grant *grant, struct verdict *verdict);

/* What another program wants to reach or publish and the policy does not give, as permissions.
 * network: what it gets without an answer. */
void network_wishes(const struct request *request, const struct sandbox_policy *policy,
		    enum network network, struct list *wishes);
/* True if a permission that was given is the wish, or means more of the same. */
bool network_permission_covers(const char *given, const char *wish);
