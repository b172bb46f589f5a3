/* SPDX-License-Identifier: Apache-2.0 */
/* The policy in force as flags of `ward run`. */
#pragma once

#include "../../src/decide/policy.h"
#include "../../src/request/request.h"

/* What the policy says about sandboxes, with what the caller's flags say laid over it, as one
 * request without a command. It owns copies of all it takes. Fails where a profile is not known. */
int policy_to_request(const struct policy *policy, const struct request *flags,
		      struct request *ret_request, struct error **ret_error);
