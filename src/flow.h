/* SPDX-License-Identifier: Apache-2.0 */
/* A request carried out from its first look to its record. */
#pragma once

#include "request/result.h"

/* Who hears what there is to say to a person besides the result, when there is: one line each,
 * already fit for a terminal. */
struct approver;
struct audience {
	void (*say)(void *data, const char *text);
	void *data;
	const struct approver *approver; /* who is asked; NULL: whoever sits at the terminal */
};

struct assessment;
struct plan;
struct verdict;

/* What would be decided about a request, with nothing run and nothing recorded: show is called once
 * with what was found. Reports as if a person could be asked. */
int flow_check(const struct request *request,
	       void (*show)(const struct plan *plan, const struct assessment *assessment,
			    const struct verdict *verdict, void *data),
	       void *data, struct error **ret_error);
/* Reads the policy that the request would be judged by, so that children of this process need not.
 * What is wrong with it is said when the request is carried out. */
void flow_warm(const struct request *request);

/* A person's command line that is an agent's program and says nothing else about its profile or
 * network takes the profile of that agent, where the policy does not close the network. */
void flow_imply_profile(struct request *request);

/* Always fills *ret_result, whatever happens. audience may be NULL. */
void flow_run(const struct request *request, const struct audience *audience,
	      struct result *ret_result);
