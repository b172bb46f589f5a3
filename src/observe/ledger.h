/* SPDX-License-Identifier: Apache-2.0 */
/* What was refused, each object once with how often it was tried. */
#pragma once

#include "../request/result.h"

enum { LEDGER_MOST = 1000 };

struct ledger {
	struct denial *denials;
	size_t count;
	uint64_t beyond; /* how many more there were than the ledger holds */
};

/* program is the name of the process, or NULL. */
void ledger_add(struct ledger *ledger, const char *operation, const char *object,
		const char *syscall, const char *rule, const char *program);
void ledger_done(struct ledger *ledger);
