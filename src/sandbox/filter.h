/* SPDX-License-Identifier: Apache-2.0 */
/* ward's seccomp filter: which system calls a sandboxed command has, and which the supervisor is
 * shown. */
#pragma once

#include "bpf.h"
#include "../sys/calls.h"
#include <stdbool.h>

/* What a policy changes in the table: calls that are added to it, and calls that get EPERM. Denied
 * beats allowed. What the table gives within bounds keeps them, what is never given stays refused,
 * and what no program starts without stays given. */
struct filter_changes {
	struct call_set allowed, denied;
};

/* The table before any change, for the tests; in the order of the numbers. */
const struct bpf_call *filter_table(size_t *ret_count);

/* From here on the supervisor is shown fallocate as well, by which a disk fills without a write. */
void filter_trap_allocation(void);
/* With notify off, calls that the supervisor would be shown simply meet the other walls. Returns
 * the length, or -errno. */
int filter_build(bool notify, const struct filter_changes *changes,
		 struct sock_filter program[static BPF_ROOM]);
