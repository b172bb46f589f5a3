/* SPDX-License-Identifier: Apache-2.0 */
/* A request carried out from its first look to its record. */
#pragma once

#include "request/result.h"

/* Who hears what there is to say to a person besides the result, when there is: one line each,
 * already fit for a terminal. */
struct audience {
	void (*say)(void *data, const char *text);
	void *data;
};

/* Always fills *ret_result, whatever happens. audience may be NULL. */
void flow_run(const struct request *request, const struct audience *audience,
	      struct result *ret_result);
