/* SPDX-License-Identifier: Apache-2.0 */
/* What was refused, each object once with how often it was tried. */
#pragma once

#include "../request/result.h"

enum { LEDGER_MOST = 1000 };

struct ledger {
	struct denial *denials;
	size_t count;
	struct timespec tried; /* when what is about to be added was; zero: now */
	uint64_t beyond;       /* how many more there were than the ledger holds */
};

/* program is the name of the process, or NULL. Returns the entry, NULL where there is no room. */
struct denial *ledger_add(struct ledger *ledger, const char *operation, const char *object,
			  const char *syscall, const char *rule, const char *program);
/* One more use of what an entry is about. */
void ledger_count(struct ledger *ledger, size_t entry);
/* Of a target of the network; each may be NULL or 0 where it is not known. */
void ledger_add_target(struct denial *denial, const char *host, const char *address, uint16_t port,
		       const char *protocol);
void ledger_done(struct ledger *ledger);
