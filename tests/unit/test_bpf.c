/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: the filter, instruction by instruction for a small table, and by what it does for the
 * real one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/macro.h"
#include "sandbox/bpf.h"
#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

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
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 5, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 6, 1, 0),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(ERROR(ENOSYS)),
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
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 1, 15, 0),
		LOAD(LOW(0)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, 3),
		LOAD(LOW(1)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x40, 0, 1),
		RETURN(ERROR(EPERM)),
		LOAD(LOW(2)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 3, 1, 0),
		RETURN(SECCOMP_RET_USER_NOTIF),
		LOAD(LOW(3)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 2),
		LOAD(LOW(3) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		RETURN(SECCOMP_RET_USER_NOTIF),
		RETURN(SECCOMP_RET_ALLOW),
		RETURN(ERROR(ENOSYS)),
	};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	compare(program, bpf_build(AUDIT_ARCH_X86_64, calls, 1, ERROR(ENOSYS), program), golden,
		ELEMENTS(golden));
}

static void a_table_out_of_order_is_refused(void **state)
{
	static const struct bpf_call calls[] = {{5, SECCOMP_RET_ALLOW, NULL},
						{5, SECCOMP_RET_ALLOW, NULL}};
	struct sock_filter program[BPF_ROOM];

	(void)state;
	assert_int_equal(bpf_build(AUDIT_ARCH_X86_64, calls, 2, 0, program), -EINVAL);
}

/* As the kernel runs it. */
static uint32_t run(const struct sock_filter *program, int length, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (int at = 0; at < length; at++) {
		const struct sock_filter *in = &program[at];

		switch (in->code) {
		case BPF_LD | BPF_W | BPF_ABS:
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
			fail_msg("instruction %d has the code %x", at, in->code);
		}
	}
	fail_msg("the program runs off its end");
	return 0;
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
		assert_int_equal(run(program, length, &data), expected);
	}
}

static uint32_t ask(int number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	static struct sock_filter program[BPF_ROOM];
	static int length;
	struct seccomp_data data = {
		.nr = number, .arch = AUDIT_ARCH_X86_64, .args = {a, b, c, d, e}};

	if (!length)
		length = filter_build(true, NULL, program);
	assert_true(length > 0);
	return run(program, length, &data);
}

static void the_real_table_says_what_the_design_says(void **state)
{
	const uint64_t high = 1ull << 40;

	(void)state;
	assert_int_equal(ask(SYS_read, 0, 0, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_openat, 0, 0, O_RDONLY, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_openat, 0, 0, O_WRONLY | high, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(SYS_openat, 0, 0, O_CREAT | O_RDWR, 04755, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_open, 0, O_TMPFILE | O_RDWR, 02755, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_chmod, 0, 04755 | high, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_ioctl, 0, 0x5412 | high, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_DGRAM, 0, 0, 0), ERROR(EPROTONOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_RAW, 0, 0, 0), ERROR(EPROTONOSUPPORT));
	assert_int_equal(ask(SYS_socketpair, AF_UNIX, SOCK_RAW, 0, 0, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_socket, AF_INET, SOCK_RAW, 1, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_socket, AF_INET, SOCK_STREAM, 262 /* MPTCP */, 0, 0),
			 ERROR(EPROTONOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, 0, 0),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, 0, 0),
			 ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_PACKET, SOCK_DGRAM, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_VSOCK, SOCK_STREAM, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_sendto, 0, 0, 0, MSG_FASTOPEN, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_sendto, 0, 0, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_sendto, 0, 0, 0, 0, high), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(SYS_clone, CLONE_NEWUSER | high, 0, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_unshare, CLONE_NEWNS, 0, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_clone3, 0, 0, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(SYS_openat2, 0, 0, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(SYS_io_uring_setup, 0, 0, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(SYS_mount, 0, 0, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_sched_setscheduler, 1 | high, 0, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_sched_setaffinity, 0, 0, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_setpriority, 2, 0, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_setpriority, 0, 0, 5, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_prlimit64, 1, 0, 0, 0, 0), ERROR(EPERM));
	assert_int_equal(ask(SYS_ptrace, 0, 0, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(SYS_connect, 0, 0, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(100000, 0, 0, 0, 0, 0), ERROR(ENOSYS));
	assert_int_equal(ask(0x40000000 | SYS_read, 0, 0, 0, 0, 0), ERROR(ENOSYS)); /* x32 */
}

static void a_foreign_architecture_is_killed(void **state)
{
	struct sock_filter program[BPF_ROOM];
	int length = filter_build(true, NULL, program);
	struct seccomp_data data = {.nr = SYS_read, .arch = AUDIT_ARCH_I386};

	(void)state;
	assert_int_equal(run(program, length, &data), SECCOMP_RET_KILL_PROCESS);
}

static void without_a_supervisor_nothing_waits_for_one(void **state)
{
	struct sock_filter program[BPF_ROOM];
	int length = filter_build(false, NULL, program);

	(void)state;
	for (int i = 0; i < length; i++)
		assert_false(program[i].code == (BPF_RET | BPF_K) &&
			     program[i].k == SECCOMP_RET_USER_NOTIF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_call_becomes_its_range_between_two_others),
		cmocka_unit_test(rules_compare_the_low_half_and_bind_by_and),
		cmocka_unit_test(a_table_out_of_order_is_refused),
		cmocka_unit_test(every_number_gets_what_its_table_says),
		cmocka_unit_test(the_real_table_says_what_the_design_says),
		cmocka_unit_test(a_foreign_architecture_is_killed),
		cmocka_unit_test(without_a_supervisor_nothing_waits_for_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
