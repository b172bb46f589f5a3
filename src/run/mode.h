/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to carry out a request: an argv, shell text, ward's own patch tool. */
#pragma once

#include "../base/error.h"
#include "../request/request.h"

/* What is really executed. */
struct prepared {
	struct list argv;
	struct list candidates; /* the paths to try, in order: PATH as the command will have it */
	struct list environment;
};

struct way {
	/* root: of whoever has one of its own; NULL: the host's tree is what it sees. */
	int (*prepare)(const struct request *request, const struct list *environment,
		       const char *root, struct prepared *ret_prepared, struct error **ret_error);
	bool streams; /* output is shown as it comes, else only returned */
};

/* Along which programs are looked for where nothing else is said. */
extern const char default_path[];
/* The table, by mode. */
extern const struct way ways[];
void prepared_done(struct prepared *prepared);
#define _cleanup_prepared_ _cleanup_(prepared_done)
