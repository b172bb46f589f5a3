/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: the emitter, instruction by instruction. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bpf_run.h"
#include "base/macro.h"
#include "sandbox/bpf.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#define NR	  offsetof(struct seccomp_data, nr)
#define ARCH	  offsetof(struct seccomp_data, arch)
#define LOW(n)	  (offsetof(struct seccomp_data, args) + 8 * (n))
#define ERROR(e)  (SECCOMP_RET_ERRNO | (e))
#define LOAD(k)	  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(k))
#define RETURN(k) BPF_STMT(BPF_RET | BPF_K, k)

static void compare(const struct sock_filter *program, int length, const struct sock_filter *golden,
		    size_t count)
{
	assert_int_equal(length, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(program[i].code, golden[i].code);
		assert_int_equal(program[i].jt, golden[i].jt);
		assert_int_equal(program[i].jf, golden[i].jf);
		assert_int_equal(program[i].k, golden[i].k);
	}
}

static void one_call_becomes_its_range_between_two_others(void **state)
{
	static const struct bpf_call calls[] = {{5, SECCOMP_RET_ALLOW, NULL}};
	static const struct sock_filter golden[] = {
		LOAD(ARCH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(NR),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 5, 0, 1),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 6, 0, 1),
		RETURN(ERROR(ENOSYS)),
		RETURN(SECCOMP_RET_ALLOW),
	};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	compare(program, bpf_build(AUDIT_ARCH_X86_64, calls, 1, ERROR(ENOSYS), program), golden,
		ELEMENTS(golden));
}

static void rules_compare_the_low_half_and_bind_by_and(void **state)
{
	static const struct bpf_rule rules[] = {
		{0, BPF_MASKED_IS, UINT32_MAX, 1, BPF_AND_NEXT},
		{1, BPF_ANY_BITS, 0x40, 0, ERROR(EPERM)},
		{2, BPF_MASKED_NOT, 0xf, 3, SECCOMP_RET_USER_NOTIF},
		{3, BPF_NOT_NULL, 0, 0, SECCOMP_RET_USER_NOTIF},
		{0},
	};
	static const struct bpf_call calls[] = {{0, SECCOMP_RET_ALLOW, rules}};
	static const struct sock_filter golden[] = {
		LOAD(ARCH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(NR),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1, 14, 0),
		LOAD(LOW(0)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 2),
		LOAD(LOW(1)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x40, 8, 0),
		LOAD(LOW(2)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 3, 0, 6),
		LOAD(LOW(3)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4),
		LOAD(LOW(3) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(ERROR(EPERM)),
		RETURN(SECCOMP_RET_USER_NOTIF),
		RETURN(ERROR(ENOSYS)),
	};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	compare(program, bpf_build(AUDIT_ARCH_X86_64, calls, 1, ERROR(ENOSYS), program), golden,
		ELEMENTS(golden));
}

/* An argument stays where it is loaded until a test changes it, or one may have come from
 * elsewhere. */
static void an_argument_is_loaded_once_for_tests_in_a_row(void **state)
{
	static const struct bpf_rule rules[] = {
		{1, BPF_MASKED_IS, UINT32_MAX, 7, ERROR(EPERM)},
		{1, BPF_ANY_BITS, 0x40, 0, ERROR(EPERM)},
		{1, BPF_MASKED_IS, 0xff00, 0x8900, ERROR(EPERM)},
		{1, BPF_MASKED_NOT, UINT32_MAX, 8, BPF_AND_NEXT},
		{1, BPF_MASKED_NOT, UINT32_MAX, 9, BPF_AND_NEXT},
		{2, BPF_ANY_BITS, 0x2, 0, ERROR(EPERM)},
		{2, BPF_MASKED_IS, UINT32_MAX, 5, ERROR(EPERM)},
		{0},
	};
	static const struct bpf_call calls[] = {{0, SECCOMP_RET_ALLOW, rules}};
	static const struct sock_filter golden[] = {
		LOAD(ARCH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(NR),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1, 14, 0),
		LOAD(LOW(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 7, 11, 0),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x40, 10, 0),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x8900, 8, 0),
		LOAD(LOW(1)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 9, 2, 0),
		LOAD(LOW(2)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x2, 3, 0),
		LOAD(LOW(2)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 5, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(ERROR(EPERM)),
		RETURN(ERROR(ENOSYS)),
	};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	compare(program, bpf_build(AUDIT_ARCH_X86_64, calls, 1, ERROR(ENOSYS), program), golden,
		ELEMENTS(golden));
}

static void neighbours_with_one_action_are_one_range_and_ranges_a_tree(void **state)
{
	static const struct bpf_call calls[] = {
		{0, SECCOMP_RET_ALLOW, NULL},	   {1, SECCOMP_RET_ALLOW, NULL},
		{2, SECCOMP_RET_USER_NOTIF, NULL}, {3, ERROR(EPERM), NULL},
		{4, ERROR(EPERM), NULL},	   {9, SECCOMP_RET_ALLOW, NULL},
	};
	static const struct sock_filter golden[] = {
		LOAD(ARCH),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(NR),
		/* 0-1 allow, 2 notify, 3-4 refuse, 5-8 absent, 9 allow, 10- absent */
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 5, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 2, 0, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 3, 4, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 9, 0, 4),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 10, 3, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(SECCOMP_RET_USER_NOTIF),
		RETURN(ERROR(EPERM)),
		RETURN(ERROR(ENOSYS)),
	};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	compare(program,
		bpf_build(AUDIT_ARCH_X86_64, calls, ELEMENTS(calls), ERROR(ENOSYS), program),
		golden, ELEMENTS(golden));
}

/* A conditional jump reaches 255 instructions: beyond that it jumps over one that reaches further.
 */
static void a_far_jump_takes_two_instructions(void **state)
{
	struct bpf_rule rules[129] = {0};
	const struct bpf_call calls[] = {{0, SECCOMP_RET_ALLOW, rules}, {1, ERROR(EPERM), NULL}};
	struct sock_filter program[BPF_ROOM];
	int length;

	(void)state;
	for (int i = 0; i < 128; i++)
		rules[i] = (struct bpf_rule){0, BPF_MASKED_IS, UINT32_MAX, 100 + i,
					     ERROR((uint32_t)i + 1)};
	length = bpf_build(AUDIT_ARCH_X86_64, calls, 2, SECCOMP_RET_TRAP, program);
	assert_int_equal(length, 4 + 2 + (128 * 3 + 1) + 3);
	assert_int_equal(program[4].code, BPF_JMP | BPF_JGE | BPF_K);
	assert_int_equal(program[4].k, 1);
	assert_int_equal(program[4].jt, 0);
	assert_int_equal(program[4].jf, 1);
	assert_int_equal(program[5].code, BPF_JMP | BPF_JA);
	assert_int_equal(program[5].k, 128 * 3 + 1);
	for (uint64_t value = 0; value < 300; value++) {
		struct seccomp_data data = {.arch = AUDIT_ARCH_X86_64, .args = {value}};

		assert_int_equal(bpf_run(program, length, &data),
				 value >= 100 && value < 228 ? ERROR((uint32_t)value - 99)
							     : SECCOMP_RET_ALLOW);
		data.nr = 1;
		assert_int_equal(bpf_run(program, length, &data), ERROR(EPERM));
		data.nr = 2;
		assert_int_equal(bpf_run(program, length, &data), SECCOMP_RET_TRAP);
	}
}

static void a_program_that_is_too_long_is_refused(void **state)
{
	struct bpf_rule rules[401] = {0};
	const struct bpf_call calls[] = {{0, SECCOMP_RET_ALLOW, rules}};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	for (int i = 0; i < 400; i++)
		rules[i] = (struct bpf_rule){0, BPF_MASKED_IS, UINT32_MAX, i, ERROR(EPERM)};
	assert_int_equal(bpf_build(AUDIT_ARCH_X86_64, calls, 1, 0, program), -E2BIG);
}

static void a_table_out_of_order_is_refused(void **state)
{
	static const struct bpf_call calls[] = {{5, SECCOMP_RET_ALLOW, NULL},
						{5, SECCOMP_RET_ALLOW, NULL}};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	assert_int_equal(bpf_build(AUDIT_ARCH_X86_64, calls, 2, 0, program), -EINVAL);
}

static void every_number_gets_what_its_table_says(void **state)
{
	struct bpf_call calls[300];
	struct sock_filter program[BPF_ROOM];
	int length;

	(void)state;
	/* Sparse, with runs and single ones, long enough for jumps past 255 instructions. */
	for (int i = 0; i < 300; i++)
		calls[i] = (struct bpf_call){i * 2 + i / 7,
					     i % 5 == 0	  ? SECCOMP_RET_ALLOW
					     : i % 3 == 0 ? ERROR(EPERM)
							  : SECCOMP_RET_USER_NOTIF,
					     NULL};
	length = bpf_build(AUDIT_ARCH_X86_64, calls, 230, ERROR(ENOSYS), program);
	assert_true(length > 300);
	for (int number = 0, next = 0; number < 800; number++) {
		struct seccomp_data data = {.nr = number, .arch = AUDIT_ARCH_X86_64};
		uint32_t expected = ERROR(ENOSYS);

		if (next < 230 && calls[next].number == number)
			expected = calls[next++].action;
		assert_int_equal(bpf_run(program, length, &data), expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_becomes_its_range_between_two_others),
		cmocka_unit_test(rules_compare_the_low_half_and_bind_by_and),
		cmocka_unit_test(an_argument_is_loaded_once_for_tests_in_a_row),
		cmocka_unit_test(neighbours_with_one_action_are_one_range_and_ranges_a_tree),
		cmocka_unit_test(a_far_jump_takes_two_instructions),
		cmocka_unit_test(a_program_that_is_too_long_is_refused),
		cmocka_unit_test(a_table_out_of_order_is_refused),
		cmocka_unit_test(every_number_gets_what_its_table_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
