/* SPDX-License-Identifier: Apache-2.0 */
/* A verb's help, read as what it offers: so that completion says what the help says. */
#pragma once

#include "../../src/base/list.h"

struct usage_option {
	char *name;  /* with its dashes */
	char *value; /* as the help names it; NULL where there is none */
	char *about; /* the beginning of what the help says, "" where that is nothing */
};

struct usage {
	struct list verbs;	      /* or what comes in their place: mint, narrow ... */
	struct list verbs_about;      /* of each; "" where nothing is said */
	struct usage_option *options; /* those that the given second word has, and those of all */
	size_t option_count;
};

/* Of `ward --help` where verb is NULL; second may be NULL. */
void usage_read(const char *help, const char *verb, const char *second, struct usage *ret_usage);
void usage_done(struct usage *usage);
#define _cleanup_usage_ _cleanup_(usage_done)

const struct usage_option *usage_option(const struct usage *usage, const char *name);
