/* SPDX-License-Identifier: Apache-2.0 */
/* One weighing: what is known so far of the plan at hand. */
#pragma once

#include "tools.h"

struct weighing {
	struct assessment *assessment;
	const char *workspace, *cwd;   /* the plan's; or NULL */
	const struct command *command; /* the one at hand */
	bool alone;		       /* the plan holds one command */
	bool other_user;	       /* a wrapper of the command at hand runs it as one */
	const struct command *read;    /* the last that reads names into variables */
	const struct command *moved;   /* the last that goes to another directory */
	const struct effect *worst;    /* of the command at hand */
	const struct effect *heaviest; /* of all */
	bool hidden;		       /* a verb is known only when it runs */
	bool reads, changes;	       /* the call at hand, as far as it is known */
	/* what earlier commands have made ready for later ones */
	bool downloaded, decoded, secrets, sql, shown, encoded;
	const char *file;		 /* that a download was written to */
	const struct pipeline *fetching; /* in which a download is printed */
	bool unpacked, entered; /* what was downloaded; and where that lies is where commands run */
	const char *unpacked_to;	/* NULL: where it was done */
	const struct pipeline *shell;	/* in which a shell prints what it runs */
	const struct pipeline *nothing; /* in which nothing is printed */
};

void weigh_effect(struct weighing *weighing, enum effect_id id);
/* The call whose words begin at first and end before end. */
void weigh_call(struct weighing *weighing, const struct command *command, size_t first, size_t end);
/* A file that is written, read ...; recursive: with all that is in it. */
void weigh_path(struct weighing *weighing, enum role role, const char *path, bool recursive);
