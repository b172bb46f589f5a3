/* SPDX-License-Identifier: Apache-2.0 */
/* One pattern of hosts, taken apart. */
#pragma once

#include "hosts.h"

enum host_kind {
	KIND_NAME,     /* exactly it */
	KIND_CHILDREN, /* "*.": one label more */
	KIND_TREE,     /* "**.": it and all below it */
	KIND_ANY,      /* "*": every name; where it denies, every address too */
	KIND_NETWORK,  /* an address, or those that begin as it does */
	KIND_LOOPBACK, /* the host's own */
};

struct host_rule {
	enum host_kind kind;
	bool deny;
	uint16_t from, to; /* ports */
	char *pattern;	   /* as people wrote it */
	char *name;	   /* lower case, without stars and the dot at its end */
	struct in6_addr network;
	unsigned bits;
};

/* Fills rule in any case; host_rule_done() is for the caller. */
int host_pattern_read(const char *pattern, struct host_rule *rule, struct error **ret_error);
void host_rule_done(struct host_rule *rule);
/* True if the name lies somewhere below the domain. */
bool host_is_below(const char *name, const char *domain);
