/* SPDX-License-Identifier: Apache-2.0 */
/* A table of system calls turned into a seccomp program: a search tree over the numbers, a few
 * comparisons at the leaves. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

enum bpf_test {
	BPF_ANY_BITS,	/* (low half of the argument & mask) != 0 */
	BPF_MASKED_IS,	/* (low half & mask) == value */
	BPF_MASKED_NOT, /* (low half & mask) != value */
	BPF_NOT_NULL,	/* the whole argument != 0 */
};

/* If the test holds the call gets the action, else the next rule is looked at; an action of
 * BPF_AND_NEXT means that the next rule's test must hold as well. Only the low 32 bits of flags
 * count for the kernel, so only they are compared: a caller must not pass a wall by setting bit 40.
 */
#define BPF_AND_NEXT 1u
struct bpf_rule {
	uint8_t argument;
	enum bpf_test test;
	uint32_t mask, value;
	uint32_t action; /* SECCOMP_RET_... with its data; 0 ends a list of rules */
};

struct bpf_call {
	int number;
	uint32_t action; /* where no rule holds */
	const struct bpf_rule
		*rules; /* NULL, or ended by an action of 0 (kill has no place in the table) */
};

enum { BPF_ROOM = 1024 };

/* calls must be sorted by number, each once. Any number not among them gets `otherwise`, a foreign
 * architecture is killed. Returns the length of the program, or -E2BIG, -EINVAL. */
int bpf_build(uint32_t architecture, const struct bpf_call *calls, size_t count, uint32_t otherwise,
	      struct sock_filter program[static BPF_ROOM]);
