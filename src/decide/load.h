/* SPDX-License-Identifier: Apache-2.0 */
/* Policy files with what they include. */
#pragma once

#include "layer.h"

/* A file that was read, taken apart, and may be believed or not by what it is and where it lies. */
struct source {
	char *path;
	char *text;
	size_t length;
	struct stamp stamp;
	struct layer *layer;
	bool trusted;
};

/* The files of one place: what is included stands before what includes it, the file itself last.
 * Stamps are of all that was looked at. */
struct sources {
	struct source *items;
	size_t count;
};

/* Empty where there is no file; *ret_stamp is filled then, too. */
int sources_read(const struct policy_places *places, enum place place, const char *path,
		 struct sources *ret_sources, struct stamp *ret_stamp, struct error **ret_error);
void sources_done(struct sources *sources);
#define _cleanup_sources_ _cleanup_(sources_done)
/* All that the user is to trust, as one text: that of the file alone where it includes none. Caller
 * frees. */
char *sources_text(const struct sources *sources, size_t *ret_length);
