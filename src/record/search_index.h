/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a search fast: STATE/search.db, an index of words in commands and of whose runs they
 * were. It is made by whoever searches, and by nobody who runs something; deleted, it is made anew.
 */
#pragma once

#include "store.h"

/* Puts it beside the store, as "search", and takes in what runs there are, for at most so many
 * milliseconds. *ret_complete: it has all. Fails where it cannot be had; a search works without. */
int search_attach(struct store *store, const char *state, unsigned patience_ms, bool *ret_complete,
		  struct error **ret_error);
/* The text as the index is asked for it: the parts of three characters that it is made of. NULL
 * where it is too short for that. Caller frees. */
char *search_match(const char *text);
