/* SPDX-License-Identifier: Apache-2.0 */
/* One weighing: what is known so far of the plan at hand. */
#pragma once

#include "tools.h"

struct weighing {
	struct assessment *assessment;
	bool alone;		       /* the plan holds one command */
	const struct effect *worst;    /* of the command at hand */
	const struct effect *heaviest; /* of all */
	bool hidden;		       /* a verb is known only when it runs */
	bool reads, changes;	       /* the call at hand, as far as it is known */
	/* what earlier commands have made ready for later ones */
	bool downloaded, decoded, secrets, sql, shown;
	bool piped;	  /* the command before made a text that is not known */
	const char *file; /* that a download was written to */
};

void weigh_effect(struct weighing *weighing, enum effect_id id);
/* The call whose words begin at first and end before end. */
void weigh_call(struct weighing *weighing, const struct command *command, size_t first, size_t end);
/* A file that is written, read ...; recursive: with all that is in it. */
void weigh_path(struct weighing *weighing, enum role role, const char *path, bool recursive);
