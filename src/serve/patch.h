/* SPDX-License-Identifier: Apache-2.0 */
/* Patches as coding agents write them (*** Begin Patch ...): read, and applied to the text of a
 * file. Nothing here touches a file. */
#pragma once

#include "../base/buffer.h"
#include "../base/error.h"
#include <stdbool.h>

enum { PATCH_MOST = 4 << 20 }; /* bytes of a patch */

/* Bytes of the patch; borrowed from its text. */
struct span {
	const char *data;
	size_t length;
};

struct patch_line {
	char kind; /* ' ' is there and stays, '-' is there and goes, '+' comes, '@' is somewhere
		      before the rest */
	struct span text;
	unsigned number; /* in the patch, from 1 */
};

/* Lines that belong together. */
struct patch_chunk {
	struct patch_line *lines;
	size_t count;
	bool at_end; /* *** End of File: nothing follows */
	unsigned number;
};

enum patch_kind { PATCH_ADD, PATCH_UPDATE, PATCH_DELETE };

struct patch_step {
	enum patch_kind kind;
	char *path, *move; /* move: NULL where it keeps its name */
	struct patch_chunk *chunks;
	size_t count;
	unsigned number;
};

struct patch {
	struct patch_step *steps;
	size_t count;
};

/* The text must outlive the patch. An error names the line of the patch. */
int patch_parse(const char *text, size_t length, struct patch *ret_patch, struct error **ret_error);
void patch_done(struct patch *patch);
#define _cleanup_patch_ _cleanup_(patch_done)
/* What the file's text becomes; an error names the line of the patch that is not in it. */
int patch_apply(const struct patch_step *step, const char *text, size_t length,
		struct buffer *ret_text, struct error **ret_error);
/* How many lines come, or go. */
size_t patch_count(const struct patch_step *step, char kind);
