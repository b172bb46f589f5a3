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
	int (*prepare)(const struct request *request, const struct list *environment,
		       struct prepared *ret_prepared, struct error **ret_error);
	bool streams; /* output is shown as it comes, else only returned */
};

/* The table, by mode. */
extern const struct way ways[];
void prepared_done(struct prepared *prepared);
#define _cleanup_prepared_ _cleanup_(prepared_done)
