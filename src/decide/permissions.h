/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: permissions put together. */
#pragma once

#include "decide.h"
#include "policy.h"

/* What is writable, masked and excepted from the masks, by policy and by the caller's flags. */
int permissions_files(const struct request *request, const struct sandbox_policy *policy,
		      const struct surroundings *surroundings, struct permissions *permissions,
		      struct error **ret_error);
/* The same without what anybody allows: what is closed, whoever asks. */
int permissions_denied(const struct request *request, const struct sandbox_policy *policy,
		       const struct surroundings *surroundings, struct permissions *permissions,
		       struct error **ret_error);
/* bounded.c: all of them for a run under a token. */
int permissions_bounded(const struct matter *matter, const struct sandbox_policy *policy,
			struct verdict *verdict, struct error **ret_error);
/* make.c: what may be made by name. flag: a person's, whose faults are told. */
int make_add(const char *home, const char *text, bool flag, struct permissions *permissions,
	     struct error **ret_error);
/* Host sockets by name or path. */
int permissions_sockets(const struct list *sockets, struct permissions *permissions,
			struct error **ret_error);
/* System calls that are added or denied. */
int permissions_calls(const struct request *request, const struct sandbox_policy *policy,
		      struct permissions *permissions, struct error **ret_error);
/* One permission, "OPERATION RESOURCE", laid over what holds so far. What it names may be gone by
 * now; then there is nothing to permit. exact: the path must still be what it was when a person was
 * shown it, no link on the way. grant: the remembered answer that gave it, or NULL; what can be
 * taken back with it is not built into the walls, but handed to the supervisor. */
void permissions_apply(const struct matter *matter, const char *permission, bool exact,
		       const struct grant *grant, struct verdict *verdict);
