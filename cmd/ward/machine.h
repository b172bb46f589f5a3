/* SPDX-License-Identifier: Apache-2.0 */
/* What a machine says of itself, as far as walls and limits depend on it. */
#pragma once

#include "../../src/base/list.h"

struct machine {
	char kernel[128];	 /* as uname gives it */
	int landlock;		 /* its ABI; 0: none */
	char cgroup[8];		 /* "v1", "v2", "hybrid", "none" */
	struct list controllers; /* of all hierarchies */
	bool apparmor;		 /* it is on */
	struct list groups;	 /* a line for each group that gives power and cannot be dropped */
};

void machine_look(struct machine *ret_machine);
void machine_done(struct machine *machine);
