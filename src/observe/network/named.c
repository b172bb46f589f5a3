/* SPDX-License-Identifier: Apache-2.0 */
/* The names behind the addresses that were connected to: inside there are only names, and whoever
 * looks at the sockets from outside sees only addresses. */
#include "network.h"

#include <string.h>

/* Of two addresses that fall on one place the later stays: only what is shown to people is lost. */
enum { NAMED = 256 };

struct named {
	char name[TARGET_NAME];
	struct in6_addr address;
};

static size_t place_of(const struct in6_addr *address)
{
	uint32_t hash = 5381;

	for (size_t i = 0; i < sizeof(address->s6_addr); i++)
		hash = hash * 33 ^ address->s6_addr[i];
	return hash % NAMED;
}

void named_note(struct observer *observer, const struct target *target,
		const struct in6_addr *address)
{
	struct named *named;

	if (!observer->named)
		observer->named = calloc(NAMED, sizeof(*observer->named));
	if (!observer->named)
		abort();
	named = &observer->named[place_of(address)];
	named->address = *address;
	/* Who finds neither a name nor an address here asks again. */
	if (*target->name)
		strcpy(named->name, target->name);
	else
		address_text(address, named->name);
}

void observer_named(const struct observer *observer,
		    void (*each)(void *data, const char *name, const char *address), void *data)
{
	char address[INET6_ADDRSTRLEN];

	for (size_t i = 0; observer->named && i < NAMED; i++) {
		if (!*observer->named[i].name)
			continue;
		address_text(&observer->named[i].address, address);
		each(data, observer->named[i].name, address);
	}
}
