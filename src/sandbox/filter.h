/* SPDX-License-Identifier: Apache-2.0 */
/* ward's seccomp filter: which system calls a sandboxed command has, and which the supervisor is
 * shown. */
#pragma once

#include "bpf.h"
#include "../sys/calls.h"
#include <stdbool.h>
#include <stdint.h>

/* What a policy changes in the table: calls that are added to it, and calls that get EPERM. Denied
 * beats allowed. What the table gives within bounds keeps them, what is never given stays refused,
 * and what no program starts without stays given. */
struct filter_changes {
	struct call_set allowed, denied;
};

/* What the filter must do besides, on a rung below the full set of walls. */
struct filter_rung {
	bool no_supervisor; /* no notification to be had: what only the supervisor holds is refused
			     */
	bool no_network;    /* no network namespace, and no network wanted: no Internet sockets */
	bool no_ipc;	    /* no ipc namespace: no System V IPC, no message queues */
	bool processes;	    /* no pid namespace: limits and scheduling of others are judged */
	bool signals;	    /* nor Landlock's scope: so are signals */
	bool no_mounts;	  /* nothing is read-only: flags of files cannot be set, and every change of
			   * attributes is shown */
	bool truncate;	  /* nobody beside the mounts, or without them, holds what cuts a file */
	uint32_t pass[4]; /* what init shows to be let send its own signals; from getrandom */
};

/* The table before any change, for the tests; in the order of the numbers. */
const struct bpf_call *filter_table(size_t *ret_count);

/* From here on the supervisor is shown fallocate as well, by which a disk fills without a write. */
void filter_trap_allocation(void);
/* And every message, because the address that one may have lies in memory. */
void filter_trap_messages(void);
/* And every open, for reading as well; but for those with O_PATH, by which nothing is read. */
void filter_trap_reads(void);
/* And, where somebody can be asked, changes of a mode by fd and questions whether something could
 * be written. */
void filter_trap_wishes(void);
/* And every socket of the Internet, and of what tells about its interfaces: before the first there
 * is nobody who would miss a network. */
void filter_trap_network(void);
/* And everybody who wants to be told of changes of files: see sandbox/shares.c. */
void filter_trap_shares(void);
/* And every start of a program. */
void filter_trap_programs(void);
/* With notify off, calls that the supervisor would be shown simply meet the other walls. rung: NULL
 * where nothing was lost. Returns the length, or -errno. */
int filter_build(bool notify, const struct filter_changes *changes, const struct filter_rung *rung,
		 struct sock_filter program[static BPF_ROOM]);

/* Changes a copy of the table for a rung. The rules it makes live until the next call. */
void filter_descend(bool notify, const struct filter_rung *rung, struct bpf_call *calls,
		    size_t count);
