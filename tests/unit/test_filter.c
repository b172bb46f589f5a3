/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox: the real filter, run as the kernel runs it, against its table and against what the
 * design says; and system calls by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "bpf_run.h"
#include "base/macro.h"
#include "sandbox/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ALLOW	 SECCOMP_RET_ALLOW
#define NOTIFY	 SECCOMP_RET_USER_NOTIF
#define ERROR(e) (SECCOMP_RET_ERRNO | (e))
#define REFUSE	 ERROR(EPERM)
#define ABSENT	 ERROR(ENOSYS)

enum { X32 = 0x40000000, BEYOND = 600 };

static const struct filter_changes unchanged;

struct filter {
	struct sock_filter program[BPF_ROOM];
	int length;
};

static const struct filter *built(void)
{
	static struct filter filter;

	if (!filter.length)
		filter.length = filter_build(true, &unchanged, NULL, filter.program);
	assert_true(filter.length > 0);
	return &filter;
}

static uint32_t ask(int number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	const struct filter *filter = built();
	struct seccomp_data data = {
		.nr = number, .arch = AUDIT_ARCH_X86_64, .args = {a, b, c, d, e}};

	return bpf_run(filter->program, filter->length, &data);
}

/* What one row of the table says, without any program. */
static bool holds(const struct bpf_rule *rule, const uint64_t *arguments)
{
	uint32_t low = (uint32_t)arguments[rule->argument];

	switch (rule->test) {
	case BPF_ANY_BITS:
		return low & rule->mask;
	case BPF_MASKED_IS:
		return (low & rule->mask) == rule->value;
	case BPF_MASKED_NOT:
		return (low & rule->mask) != rule->value;
	case BPF_NOT_NULL:
		return arguments[rule->argument] != 0;
	}
	return false;
}

static uint32_t ruling(const struct bpf_call *call, const uint64_t *arguments)
{
	for (const struct bpf_rule *rule = call->rules; rule && rule->action; rule++) {
		bool all = holds(rule, arguments);

		for (; rule->action == BPF_AND_NEXT; rule++)
			all &= holds(rule + 1, arguments);
		if (all)
			return rule->action;
	}
	return call->action;
}

/* Numbers that the rules of the table could tell apart in each argument, each with its upper half
 * set as well. */
static size_t telling(const struct bpf_call *call, uint8_t argument, uint64_t *values, size_t room)
{
	size_t count = 0;

	values[count++] = 0;
	values[count++] = UINT32_MAX;
	for (const struct bpf_rule *rule = call->rules; rule && rule->action; rule++)
		if (rule->argument == argument && count + 4 < room / 2) {
			values[count++] = rule->value;
			values[count++] = rule->value ^ 1;
			values[count++] = rule->mask;
			values[count++] = rule->mask & -rule->mask;
		}
	for (size_t i = 0, low = count; i < low; i++)
		values[count++] = values[i] | UINT64_C(0xa5) << 40;
	return count;
}

static void the_program_says_what_the_table_says(void **state)
{
	const struct filter *filter = built();
	uint64_t values[4][128];
	size_t calls, next = 0;
	const struct bpf_call *table = filter_table(&calls);

	(void)state;
	for (int number = 0; number <= BEYOND; number++) {
		const struct bpf_call absent = {number, ABSENT, NULL};
		const struct bpf_call *call =
			next < calls && table[next].number == number ? &table[next++] : &absent;
		size_t counts[4];

		for (uint8_t i = 0; i < 4; i++)
			counts[i] = telling(call, i, values[i], ELEMENTS(values[i]));
		for (size_t a = 0; a < counts[0]; a++)
			for (size_t b = 0; b < counts[1]; b++)
				for (size_t c = 0; c < counts[2]; c++)
					for (size_t d = 0; d < counts[3]; d++) {
						struct seccomp_data data = {
							.nr = number,
							.arch = AUDIT_ARCH_X86_64,
							.args = {values[0][a], values[1][b],
								 values[2][c], values[3][d], c}};
						uint32_t said = bpf_run(filter->program,
									filter->length, &data);

						/* cmocka's own comparison would take most of the
						 * time. */
						if (said != ruling(call, (uint64_t *)data.args))
							assert_int_equal(number, -1);
					}
	}
	assert_int_equal(next, calls);
}

static void other_architectures_do_not_exist(void **state)
{
	static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM,
					   AUDIT_ARCH_RISCV64, 0};
	const struct filter *filter = built();

	(void)state;
	for (int number = 0; number <= BEYOND; number++) {
		struct seccomp_data data = {.nr = number};

		for (size_t i = 0; i < ELEMENTS(foreign); i++) {
			data.arch = foreign[i];
			assert_int_equal(bpf_run(filter->program, filter->length, &data),
					 SECCOMP_RET_KILL_PROCESS);
		}
		assert_int_equal(ask(X32 | number, 0, 0, 0, 0, 0), ABSENT);
		assert_int_equal(ask((int)(0x80000000u | (unsigned)number), 0, 0, 0, 0, 0), ABSENT);
	}
	assert_int_equal(ask(-1, 0, 0, 0, 0, 0), ABSENT);
}

/* The kernel refuses a program that jumps backwards or past its end; ours must not come near. */
static void every_jump_stays_inside(void **state)
{
	const struct filter *filter = built();

	(void)state;
	for (int at = 0; at < filter->length; at++) {
		const struct sock_filter *in = &filter->program[at];

		if (in->code == (BPF_JMP | BPF_JA))
			assert_true(at + 1 + (int)in->k < filter->length);
		else if (BPF_CLASS(in->code) == BPF_JMP)
			assert_true(at + 1 + MAX(in->jt, in->jf) < filter->length);
	}
	assert_int_equal(BPF_CLASS(filter->program[filter->length - 1].code), BPF_RET);
}

static void the_real_table_says_what_the_design_says(void **state)
{
	const uint64_t high = 1ull << 40;

	(void)state;
	assert_int_equal(ask(SYS_read, 0, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_openat, 0, 0, O_RDONLY, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_openat, 0, 0, O_WRONLY | high, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_openat, 0, 0, O_CREAT | O_RDWR, 04755, 0), REFUSE);
	assert_int_equal(ask(SYS_open, 0, O_TMPFILE | O_RDWR, 02755, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_chmod, 0, 04755 | high, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ioctl, 0, 0x5412 | high, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_DGRAM, 0, 0, 0), ERROR(EPROTONOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_UNIX, SOCK_RAW, 0, 0, 0), ERROR(EPROTONOSUPPORT));
	assert_int_equal(ask(SYS_socketpair, AF_UNIX, SOCK_RAW, 0, 0, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_socketpair, AF_TIPC, SOCK_STREAM, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_INET, SOCK_STREAM, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_socket, AF_INET, SOCK_RAW, 1, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_socket, AF_INET, SOCK_STREAM, 262 /* MPTCP */, 0, 0),
			 ERROR(EPROTONOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT, 0, 0),
			 ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_PACKET, SOCK_DGRAM, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_VSOCK, SOCK_STREAM, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_sendto, 0, 0, 0, MSG_FASTOPEN, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_sendto, 0, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_sendto, 0, 0, 0, 0, high), NOTIFY);
	assert_int_equal(ask(SYS_clone, CLONE_NEWUSER | high, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_clone, CLONE_VM | CLONE_VFORK, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_unshare, CLONE_NEWNS, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_clone3, 0, 0, 0, 0, 0), ABSENT);
	assert_int_equal(ask(SYS_openat2, 0, 0, 0, 0, 0), ABSENT);
	assert_int_equal(ask(SYS_io_uring_setup, 0, 0, 0, 0, 0), ABSENT);
	assert_int_equal(ask(SYS_mount, 0, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_sched_setscheduler, 1 | high, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_sched_setaffinity, 0, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_setpriority, 2, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_setpriority, 0, 0, 5, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_prlimit64, 1, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ptrace, 0, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_process_vm_writev, 0, 0, 0, 0, 0), ALLOW); /* as ptrace */
	assert_int_equal(ask(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_INET6, SOCK_RAW, 58, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_sendmsg, 0, 0, MSG_FASTOPEN | high, 0, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_sendmmsg, 0, 0, 0, MSG_FASTOPEN, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_ioctl, 0, 0x541c /* TIOCLINUX */ | high, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ioctl, 0, TCGETS, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_connect, 0, 0, 0, 0, 0), NOTIFY);
}

static void without_a_supervisor_nothing_waits_for_one(void **state)
{
	struct sock_filter program[BPF_ROOM];
	int length = filter_build(false, &unchanged, NULL, program);

	(void)state;
	for (int i = 0; i < length; i++)
		assert_false(program[i].code == (BPF_RET | BPF_K) &&
			     program[i].k == SECCOMP_RET_USER_NOTIF);
}

/* Every name has one place: given by the table, to be added, or never. */
static void names_and_table_agree(void **state)
{
	(void)state;
	for (int number = 0; number < CALL_ROOM; number++) {
		const char *name = call_name(number), *why = NULL;
		/* Given, if any argument gets anything but a refusal. */
		bool given = false;

		for (uint64_t i = 0; i < 9; i++) {
			uint32_t said = ask(number, i % 3, i / 3, 0, 0, 0);

			given |= said == ALLOW || said == NOTIFY;
		}
		if (!name) {
			assert_false(given);
			continue;
		}
		assert_int_equal(call_number(name), number);
		switch (call_standing(number, &why)) {
		case CALL_GIVEN:
			if (!given)
				assert_string_equal(name, "a call that the filter gives");
			break;
		case CALL_NEVER:
			assert_non_null(why);
			/* fall through */
		case CALL_ADDABLE:
			if (given)
				assert_string_equal(name, "a call that the filter refuses");
			break;
		}
		if (call_is_essential(number))
			assert_true(given);
	}
	assert_int_equal(call_number("no_such_call"), -1);
	assert_int_equal(call_number(""), -1);
}

static uint32_t changed(const char *allow, const char *deny, int number)
{
	struct filter_changes changes = {0};
	struct sock_filter program[BPF_ROOM];
	struct seccomp_data data = {.nr = number, .arch = AUDIT_ARCH_X86_64};
	int length;

	if (allow)
		call_set_add(&changes.allowed, call_number(allow));
	if (deny)
		call_set_add(&changes.denied, call_number(deny));
	length = filter_build(true, &changes, NULL, program);
	assert_true(length > 0);
	return bpf_run(program, length, &data);
}

static void a_policy_adds_and_takes_calls(void **state)
{
	(void)state;
	assert_int_equal(changed("modify_ldt", NULL, SYS_modify_ldt), ALLOW);
	assert_int_equal(changed("statmount", NULL, 457), ALLOW);
	assert_int_equal(changed(NULL, "memfd_create", SYS_memfd_create), REFUSE);
	assert_int_equal(changed(NULL, "connect", SYS_connect), REFUSE);
	assert_int_equal(changed("modify_ldt", "modify_ldt", SYS_modify_ldt), REFUSE);
	assert_int_equal(changed(NULL, "clone3", SYS_clone3), REFUSE);
	/* The last number there is room for. */
	assert_int_equal(changed(NULL, "mseal", 462), REFUSE);
	assert_int_equal(changed(NULL, "mseal", 511), ABSENT);
}

/* Whatever the lists of a policy hold: the filter itself does not believe them. */
static void no_policy_opens_what_is_never_given(void **state)
{
	struct filter_changes all;
	struct sock_filter program[BPF_ROOM];
	int length;

	(void)state;
	memset(&all, 0, sizeof(all));
	memset(&all.allowed, 0xff, sizeof(all.allowed));
	length = filter_build(true, &all, NULL, program);
	assert_true(length > 0);
	for (int number = 0; number <= BEYOND; number++) {
		struct seccomp_data data = {.nr = number, .arch = AUDIT_ARCH_X86_64};
		bool added = number < CALL_ROOM && call_name(number) &&
			     call_standing(number, NULL) == CALL_ADDABLE;

		assert_int_equal(bpf_run(program, length, &data),
				 added ? ALLOW : ask(number, 0, 0, 0, 0, 0));
	}
	memset(&all.denied, 0xff, sizeof(all.denied));
	length = filter_build(true, &all, NULL, program);
	assert_true(length > 0);
	for (int number = 0; number < CALL_ROOM; number++) {
		struct seccomp_data data = {.nr = number, .arch = AUDIT_ARCH_X86_64};

		assert_int_equal(bpf_run(program, length, &data),
				 call_is_essential(number) ? ask(number, 0, 0, 0, 0, 0) : REFUSE);
	}
}

static void names_are_checked_with_words(void **state)
{
	static const struct {
		int (*check)(const char *name, enum error_code code, struct error **ret_error);
		const char *name, *said;
	} wrong[] = {
		{call_check_allow, "no_such_call", "is not the name of a system call"},
		{call_check_deny, "", "is not the name of a system call"},
		{call_check_allow, "io_uring_setup", "never allowed in a sandbox: what is asked"},
		{call_check_allow, "bpf", "never allowed in a sandbox"},
		{call_check_allow, "mount", "walls are made of mounts"},
		{call_check_allow, "openat2", "its flags lie in memory"},
		{call_check_deny, "execve", "cannot be denied"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(wrong); i++) {
		_cleanup_error_ struct error *error = NULL;

		assert_int_equal(wrong[i].check(wrong[i].name, E_POLICY, &error), -E_POLICY);
		assert_non_null(strstr(error->message, wrong[i].said));
		assert_non_null(error->hint);
	}
	assert_int_equal(call_check_allow("read", E_USAGE, NULL), 0);
	assert_int_equal(call_check_deny("io_uring_setup", E_USAGE, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_says_what_the_table_says),
		cmocka_unit_test(other_architectures_do_not_exist),
		cmocka_unit_test(every_jump_stays_inside),
		cmocka_unit_test(the_real_table_says_what_the_design_says),
		cmocka_unit_test(without_a_supervisor_nothing_waits_for_one),
		cmocka_unit_test(names_and_table_agree),
		cmocka_unit_test(a_policy_adds_and_takes_calls),
		cmocka_unit_test(no_policy_opens_what_is_never_given),
		cmocka_unit_test(names_are_checked_with_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
