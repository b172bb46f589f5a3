/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ways over the table of flags share: options.c reads, options_print.c prints. */
#pragma once

#include "options.h"

enum kind {
	WORD,	  /* char * */
	LIST,	  /* struct list */
	FLAG,	  /* bool */
	SIZE,	  /* uint64_t */
	DURATION, /* uint64_t */
	CPU,
	COUNT,
	PLACE, /* char *, made absolute */
	LEVEL,
	NETWORK,
	APPROVAL,
	CACHES,
	PREFERENCE,
	ESCALATION,
	VARIABLE,  /* NAME=VALUE into a list */
	HOST,	   /* into a list */
	PUBLISH,   /* OUTSIDE[:INSIDE] into a list */
	CONTAINER, /* KEY=VALUE into a list */
	HELP,
};

struct option {
	const char *name;
	enum kind kind;
	size_t offset; /* of the field in the request */
};

/* Ended by one without a name. */
extern const struct option options_table[];
