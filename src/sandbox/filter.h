/* SPDX-License-Identifier: Apache-2.0 */
/* ward's seccomp filter: which system calls a sandboxed command has, and which the supervisor is
 * shown. */
#pragma once

#include "bpf.h"
#include <stdbool.h>

/* From here on the supervisor is shown fallocate as well, by which a disk fills without a write. */
void filter_trap_allocation(void);
/* With notify off, calls that the supervisor would be shown simply meet the other walls. Returns
 * the length, or -errno. */
int filter_build(bool notify, struct sock_filter program[static BPF_ROOM]);
