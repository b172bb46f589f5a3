/* SPDX-License-Identifier: Apache-2.0 */
/* What a yes covers: the key under which an approval is kept, and the same in words. */
#pragma once

#include "../assess/assess.h"
#include "../request/request.h"

/* Tools whose first words say what kind of thing they do are covered by these words: a yes to `pip
 * install numpy` covers pip install, not python; and not pip install with options that data/tools
 * does not call plain, from another machine or a file elsewhere. Everything else is covered in its
 * directory, and so is what means the same: see canonical.h. */
struct approval_key {
	char *text;   /* serialised, compared byte by byte */
	char *exact;  /* the same for exactly this command; text itself where it is no kind of thing
		       */
	char *covers; /* in words: "pip install", or NULL where it is exactly this command */
	char *does;   /* what it is like: "pip install", or the programs that it runs; NULL: nobody
			 can tell */
};

void approval_key_make(const struct request *request, const struct plan *plan,
		       struct approval_key *ret_key);
void approval_key_done(struct approval_key *key);
