/* SPDX-License-Identifier: Apache-2.0 */
/* A seccomp program as the kernel runs it. Include behind cmocka.h. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

static inline uint32_t bpf_run(const struct sock_filter *program, int length,
			       const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (int at = 0; at < length; at++) {
		const struct sock_filter *in = &program[at];

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(in->k % 4 == 0 && in->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + in->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in->k;
			break;
		case BPF_JMP | BPF_JA:
			at += (int)in->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			at += a == in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			at += a >= in->k ? in->jt : in->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			at += a & in->k ? in->jt : in->jf;
			break;
		case BPF_RET | BPF_K:
			return in->k;
		default:
			assert_int_equal(in->code, BPF_RET | BPF_K); /* ward emits no other */
		}
	}
	assert_true(length < 0); /* the program ran off its end */
	return 0;
}
