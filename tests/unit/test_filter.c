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
#include <netinet/in.h>
#include <netinet/tcp.h>
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
static bool holds(const struct bpf_rule *rule, const __u64 *arguments)
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

static uint32_t ruling(const struct bpf_call *call, const __u64 *arguments)
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
	static uint64_t values[4][256];
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
						if (said != ruling(call, data.args))
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
	assert_int_equal(ask(SYS_sched_setaffinity, 0, 0, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_sched_setaffinity, 1 | high, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_sched_getaffinity, 0, 0, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_setpriority, 2, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_setpriority, 0, 0, 5, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_prlimit64, 1, 0, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ptrace, 0, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_process_vm_writev, 0, 0, 0, 0, 0), ALLOW); /* as ptrace */
	assert_int_equal(ask(SYS_socket, AF_ALG, SOCK_SEQPACKET, 0, 0, 0), ERROR(EAFNOSUPPORT));
	assert_int_equal(ask(SYS_socket, AF_INET6, SOCK_RAW, 58, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_sendmsg, 0, 0, MSG_FASTOPEN | high, 0, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_sendmsg, 0, 0, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_sendmmsg, 0, 0, 0, MSG_FASTOPEN, 0), ERROR(EOPNOTSUPP));
	assert_int_equal(ask(SYS_ioctl, 0, 0x541c /* TIOCLINUX */ | high, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ioctl, 0, TCGETS, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_connect, 0, 0, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_bind, 0, 0, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_listen, 0, 0, 0, 0, 0), NOTIFY);
}

/* Nothing but TCP, UDP, unix sockets and routes, with or without bits above the low half. */
static void a_change_by_fd_meets_the_mount_alone(void **state)
{
	static const int by_fd[] = {SYS_fchmod,	      SYS_fchown,    SYS_fsetxattr,
				    SYS_fremovexattr, SYS_utimensat, SYS_futimesat};
	const struct filter_rung no_mounts = {.no_mounts = true};
	static struct filter filter;
	const uint64_t high = 1ull << 40;

	(void)state;
	filter.length = filter_build(true, &unchanged, &no_mounts, filter.program);
	assert_true(filter.length > 0);
	for (size_t i = 0; i < ELEMENTS(by_fd); i++) {
		struct seccomp_data data = {.nr = by_fd[i], .arch = AUDIT_ARCH_X86_64};

		assert_int_equal(ask(by_fd[i], 3, 0, 0, 0, 0), ALLOW);
		assert_int_equal(bpf_run(filter.program, filter.length, &data), NOTIFY);
	}
	/* With a path they are about whatever it leads to. */
	assert_int_equal(ask(SYS_utimensat, 3, high, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_futimesat, 3, 1, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_fchmod, 3, 0644 | high, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_fchmod, 3, 0744, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_fchmod, 3, 02644, 0, 0, 0), NOTIFY);
	assert_int_equal(ask(SYS_fchmod, 3, 04644, 0, 0, 0), REFUSE);
}

static void a_rung_gives_nothing_that_a_policy_took(void **state)
{
	const struct filter_rung no_mounts = {.no_mounts = true};
	struct seccomp_data data = {.nr = SYS_fchown, .arch = AUDIT_ARCH_X86_64};
	struct filter_changes changes = {0};
	static struct filter filter;

	(void)state;
	call_set_add(&changes.denied, SYS_fchown);
	filter.length = filter_build(true, &changes, &no_mounts, filter.program);
	assert_true(filter.length > 0);
	assert_int_equal(bpf_run(filter.program, filter.length, &data), REFUSE);
}

static void no_other_sockets_exist(void **state)
{
	static const struct {
		int family, type, protocol;
		uint32_t said;
	} tried[] = {
		{AF_INET, SOCK_STREAM, IPPROTO_TCP, ALLOW},
		{AF_INET6, SOCK_STREAM, 0, ALLOW},
		{AF_INET, SOCK_DGRAM, IPPROTO_UDP, ALLOW},
		{AF_INET, SOCK_STREAM, 262 /* MPTCP */, ERROR(EPROTONOSUPPORT)},
		{AF_INET6, SOCK_STREAM, 262, ERROR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_STREAM, 132 /* SCTP */, ERROR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_SEQPACKET, 132, REFUSE},
		{AF_INET, SOCK_STREAM, 256 /* SMC */, ERROR(EPROTONOSUPPORT)},
		{AF_INET6, SOCK_STREAM, 257 /* SMC over IPv6 */, ERROR(EPROTONOSUPPORT)},
		{AF_INET, 6 /* SOCK_DCCP */, 33, REFUSE},
		{AF_INET, SOCK_DGRAM, 136 /* UDP-Lite */, ERROR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_DGRAM, 115 /* L2TP */, ERROR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_DGRAM, IPPROTO_ICMP, ERROR(EPROTONOSUPPORT)},
		{AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, ERROR(EPROTONOSUPPORT)},
		{AF_INET, SOCK_RAW, IPPROTO_TCP, REFUSE},
		{AF_INET6, SOCK_RAW, 0, REFUSE},
		{AF_INET, 10 /* SOCK_PACKET */, 0, REFUSE},
		{AF_PACKET, SOCK_RAW, 0, ERROR(EAFNOSUPPORT)},
		{43 /* AF_SMC */, SOCK_STREAM, 0, ERROR(EAFNOSUPPORT)},
		{21 /* AF_RDS */, SOCK_SEQPACKET, 0, ERROR(EAFNOSUPPORT)},
		{AF_VSOCK, SOCK_DGRAM, 0, ERROR(EAFNOSUPPORT)},
		{44 /* AF_XDP */, SOCK_RAW, 0, ERROR(EAFNOSUPPORT)},
		{45 /* AF_MCTP */, SOCK_DGRAM, 0, ERROR(EAFNOSUPPORT)},
		{AF_TIPC, SOCK_STREAM, 0, ERROR(EAFNOSUPPORT)},
		{AF_BLUETOOTH, SOCK_STREAM, 0, ERROR(EAFNOSUPPORT)},
		{AF_NETLINK, SOCK_RAW, 4 /* NETLINK_SOCK_DIAG */, ERROR(EAFNOSUPPORT)},
		{AF_NETLINK, SOCK_DGRAM, 6 /* NETLINK_XFRM */, ERROR(EAFNOSUPPORT)},
		{AF_NETLINK, SOCK_DGRAM, 12 /* NETLINK_NETFILTER */, ERROR(EAFNOSUPPORT)},
		{AF_NETLINK, SOCK_DGRAM, 16 /* NETLINK_GENERIC */, ERROR(EAFNOSUPPORT)},
	};
	const uint64_t high = 1ull << 40;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(tried); i++) {
		uint64_t family = (uint64_t)tried[i].family, type = (uint64_t)tried[i].type,
			 protocol = (uint64_t)tried[i].protocol;

		assert_int_equal(ask(SYS_socket, family, type, protocol, 0, 0), tried[i].said);
		assert_int_equal(ask(SYS_socket, family | high, type | SOCK_NONBLOCK | high,
				     protocol | high, 0, 0),
				 tried[i].said);
	}
}

/* What would lead a connection elsewhere, or send something where nobody was asked about. */
static void no_option_leads_a_connection_elsewhere(void **state)
{
	static const struct {
		int level, option;
		uint32_t said;
	} tried[] = {
		{SOL_SOCKET, SO_BINDTODEVICE, REFUSE},
		{SOL_SOCKET, 62 /* SO_BINDTOIFINDEX */, REFUSE},
		{SOL_SOCKET, SO_REUSEADDR, ALLOW},
		{SOL_SOCKET, SO_KEEPALIVE, ALLOW},
		{IPPROTO_TCP, TCP_REPAIR, REFUSE},
		{IPPROTO_TCP, 30 /* TCP_FASTOPEN_CONNECT */, ERROR(ENOPROTOOPT)},
		{IPPROTO_TCP, 31 /* TCP_ULP */, ERROR(ENOPROTOOPT)},
		{IPPROTO_TCP, TCP_NODELAY, ALLOW},
		{IPPROTO_TCP, TCP_USER_TIMEOUT, ALLOW},
		{IPPROTO_TCP, TCP_FASTOPEN, ALLOW},
		{IPPROTO_IP, IP_OPTIONS, REFUSE},
		{IPPROTO_IP, IP_UNICAST_IF, REFUSE},
		{IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, REFUSE},
		{IPPROTO_IP, MCAST_JOIN_GROUP, REFUSE},
		{IPPROTO_IP, MCAST_JOIN_SOURCE_GROUP, REFUSE},
		{IPPROTO_IP, IP_ADD_MEMBERSHIP, ALLOW}, /* not on TCP, says the kernel */
		{IPPROTO_IP, IP_TOS, ALLOW},
		{IPPROTO_IP, IP_RECVERR, ALLOW},
		{IPPROTO_IP, IP_PKTINFO, ALLOW},
		{IPPROTO_IPV6, IPV6_RTHDR, REFUSE},
		{IPPROTO_IPV6, IPV6_HOPOPTS, REFUSE},
		{IPPROTO_IPV6, IPV6_DSTOPTS, REFUSE},
		{IPPROTO_IPV6, IPV6_RTHDRDSTOPTS, REFUSE},
		{IPPROTO_IPV6, 6 /* IPV6_2292PKTOPTIONS */, REFUSE},
		{IPPROTO_IPV6, 9 /* IPV6_NEXTHOP */, REFUSE},
		{IPPROTO_IPV6, 32 /* IPV6_FLOWLABEL_MGR */, REFUSE},
		{IPPROTO_IPV6, IPV6_PKTINFO, REFUSE},
		{IPPROTO_IPV6, 76 /* IPV6_UNICAST_IF */, REFUSE},
		{IPPROTO_IPV6, MCAST_JOIN_GROUP, REFUSE},
		{IPPROTO_IPV6, MCAST_JOIN_SOURCE_GROUP, REFUSE},
		{IPPROTO_IPV6, IPV6_JOIN_GROUP, ALLOW},
		{IPPROTO_IPV6, IPV6_V6ONLY, ALLOW},
		{IPPROTO_IPV6, IPV6_RECVPKTINFO, ALLOW},
		{IPPROTO_IPV6, IPV6_TCLASS, ALLOW},
	};
	const uint64_t high = 1ull << 40;

	(void)state;
	for (size_t i = 0; i < ELEMENTS(tried); i++) {
		uint64_t level = (uint64_t)tried[i].level, option = (uint64_t)tried[i].option;

		assert_int_equal(ask(SYS_setsockopt, 0, level, option, 0, 0), tried[i].said);
		assert_int_equal(ask(SYS_setsockopt, 0, level | high, option | high, 0, 0),
				 tried[i].said);
	}
}

static void interfaces_are_asked_by_the_supervisor(void **state)
{
	static const unsigned asked[] = {SIOCGIFNAME,	 SIOCGIFCONF,	 SIOCGIFFLAGS,
					 SIOCGIFADDR,	 SIOCGIFDSTADDR, SIOCGIFBRDADDR,
					 SIOCGIFNETMASK, SIOCGIFMTU,	 SIOCGIFHWADDR,
					 SIOCGIFINDEX,	 SIOCGIFTXQLEN,	 SIOCGIFMAP};
	static const unsigned given[] = {FIONREAD,
					 FIONBIO,
					 TIOCOUTQ,
					 FIOSETOWN,
					 SIOCSPGRP,
					 SIOCATMARK,
					 0x8906 /* SIOCGSTAMP */,
					 0x8907 /* ..NS */,
					 0x894b /* SIOCOUTQNSD */,
					 FIOCLEX,
					 0x80108906 /* SIOCGSTAMP_NEW */,
					 TIOCGWINSZ};
	const uint64_t high = 1ull << 40;

	(void)state;
	for (unsigned request = 0x8908; request < 0x8a00; request++) {
		uint32_t said = ask(SYS_ioctl, 0, request, 0, 0, 0);

		assert_true(said == NOTIFY || said == REFUSE || request == 0x894b ||
			    request == 0x8946 /* SIOCETHTOOL */);
	}
	for (unsigned request = 0x8b00; request < 0x8c00; request++) /* wireless */
		assert_int_equal(ask(SYS_ioctl, 0, request | high, 0, 0, 0), REFUSE);
	for (size_t i = 0; i < ELEMENTS(asked); i++)
		assert_int_equal(ask(SYS_ioctl, 0, asked[i] | high, 0, 0, 0), NOTIFY);
	for (size_t i = 0; i < ELEMENTS(given); i++)
		assert_int_equal(ask(SYS_ioctl, 0, given[i] | high, 0, 0, 0), ALLOW);
	assert_int_equal(ask(SYS_ioctl, 0, SIOCSIFADDR, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ioctl, 0, SIOCADDRT, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ioctl, 0, SIOCGARP, 0, 0, 0), REFUSE);
	assert_int_equal(ask(SYS_ioctl, 0, 0x894c /* SIOCGSKNS */, 0, 0, 0), REFUSE);
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

/* Last of all: it changes the table. */
static void traced_reads_are_shown_and_nothing_else(void **state)
{
	static struct filter filters[2], silent;
	size_t count;
	const struct bpf_call *table = filter_table(&count);

	(void)state;
	filters[0].length = filter_build(true, &unchanged, NULL, filters[0].program);
	filter_trap_reads();
	filters[1].length = filter_build(true, &unchanged, NULL, filters[1].program);
	silent.length = filter_build(false, &unchanged, NULL, silent.program);
	assert_true(filters[0].length > 0 && filters[1].length > 0 && silent.length > 0);
	for (size_t i = 0; i < count; i++) {
		int at = table[i].number == SYS_open ? 1 : table[i].number == SYS_openat ? 2 : -1;
		static const struct {
			uint64_t flags, mode;
			uint32_t action;
		} opens[] = {
			{O_RDONLY, 0, NOTIFY},
			{O_RDONLY | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0, NOTIFY},
			{O_RDONLY | 1ull << 40, 0, NOTIFY},
			{O_WRONLY, 0, NOTIFY},
			{O_RDWR | O_CREAT | O_TRUNC, 0644, NOTIFY},
			{O_TMPFILE | O_RDWR, 0600, NOTIFY},
			{O_PATH, 0, ALLOW},
			{O_PATH | O_NOFOLLOW | O_DIRECTORY, 0, ALLOW},
			{O_CREAT | O_WRONLY, 04755, REFUSE},
			{O_CREAT | O_PATH, 02755, REFUSE},
			{O_TMPFILE | O_RDWR, 02755, REFUSE},
		};

		for (size_t n = 0; at > 0 && n < ELEMENTS(opens); n++) {
			struct seccomp_data data = {.nr = table[i].number,
						    .arch = AUDIT_ARCH_X86_64};

			data.args[at] = opens[n].flags;
			data.args[at + 1] = opens[n].mode;
			assert_int_equal(bpf_run(filters[1].program, filters[1].length, &data),
					 opens[n].action);
			assert_int_equal(bpf_run(silent.program, silent.length, &data),
					 opens[n].action == NOTIFY ? ALLOW : opens[n].action);
		}
		if (at < 0) {
			struct seccomp_data data = {.nr = table[i].number,
						    .arch = AUDIT_ARCH_X86_64};

			assert_int_equal(bpf_run(filters[1].program, filters[1].length, &data),
					 bpf_run(filters[0].program, filters[0].length, &data));
		}
	}
}

/* Changes the table for good, as well. */
static void programs_are_shown_where_a_rule_is_about_them(void **state)
{
	static struct filter shown, alone;
	const int calls[] = {SYS_execve, SYS_execveat};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(calls); i++)
		assert_int_equal(ask(calls[i], 1, 2, 3, 4, 5), ALLOW);
	filter_trap_programs();
	shown.length = filter_build(true, &unchanged, NULL, shown.program);
	alone.length = filter_build(false, &unchanged, NULL, alone.program);
	for (size_t i = 0; i < ELEMENTS(calls); i++) {
		struct seccomp_data data = {.nr = calls[i], .arch = AUDIT_ARCH_X86_64};

		assert_int_equal(bpf_run(shown.program, shown.length, &data), NOTIFY);
		assert_int_equal(bpf_run(alone.program, alone.length, &data), ALLOW);
	}
}

/* And this. */
static void what_can_wait_is_shown_where_somebody_can_be_asked(void **state)
{
	static struct filter shown, alone;
	static const struct {
		int number;
		uint64_t second, third;
		uint32_t before, after;
	} cases[] = {
		{SYS_access, W_OK, 0, ALLOW, NOTIFY},
		{SYS_access, R_OK | W_OK, 0, ALLOW, NOTIFY},
		{SYS_access, R_OK | X_OK, W_OK, ALLOW, ALLOW},
		{SYS_faccessat, 1, W_OK, ALLOW, NOTIFY},
		{SYS_faccessat, W_OK, R_OK, ALLOW, ALLOW},
		{SYS_faccessat2, 1, W_OK | X_OK, ALLOW, NOTIFY},
		{SYS_faccessat2, 1, 0, ALLOW, ALLOW},
		{SYS_fchmod, 0644, 0, ALLOW, NOTIFY},
		{SYS_fchmod, 04644, 0, REFUSE, REFUSE},
		{SYS_utimensat, 0, 0, ALLOW, ALLOW},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++)
		assert_int_equal(ask(cases[i].number, 1, cases[i].second, cases[i].third, 0, 0),
				 cases[i].before);
	filter_trap_wishes();
	shown.length = filter_build(true, &unchanged, NULL, shown.program);
	alone.length = filter_build(false, &unchanged, NULL, alone.program);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		struct seccomp_data data = {.nr = cases[i].number, .arch = AUDIT_ARCH_X86_64};

		data.args[1] = cases[i].second;
		data.args[2] = cases[i].third;
		assert_int_equal(bpf_run(shown.program, shown.length, &data), cases[i].after);
		assert_int_equal(bpf_run(alone.program, alone.length, &data), cases[i].before);
	}
}

/* And this. */
static void sockets_of_the_network_are_shown_where_it_comes_later(void **state)
{
	static struct filter before, shown, alone;
	const uint64_t protocols[] = {0, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMP, 132, 262};
	unsigned count = 0;

	(void)state;
	before.length = filter_build(true, &unchanged, NULL, before.program);
	filter_trap_network();
	shown.length = filter_build(true, &unchanged, NULL, shown.program);
	alone.length = filter_build(false, &unchanged, NULL, alone.program);
	for (uint64_t family = 0; family < 50; family++)
		for (uint64_t type = 0; type < 16; type++)
			for (size_t i = 0; i < ELEMENTS(protocols); i++) {
				const struct seccomp_data data = {
					.nr = SYS_socket,
					.arch = AUDIT_ARCH_X86_64,
					.args = {family, type | SOCK_CLOEXEC, protocols[i]}};
				uint32_t said = bpf_run(before.program, before.length, &data);
				bool is_shown = said == ALLOW && family != AF_UNIX;

				assert_int_equal(bpf_run(shown.program, shown.length, &data),
						 is_shown ? NOTIFY : said);
				assert_int_equal(bpf_run(alone.program, alone.length, &data), said);
				count += is_shown;
			}
	/* Two families, two kinds, three protocols; and routes, of any type. */
	assert_int_equal(count, 2 * 2 * 3 + 16);
}

/* And this. */
static void watching_is_shown_where_a_share_is_taken_later(void **state)
{
	const int numbers[] = {SYS_inotify_init, SYS_inotify_init1};
	static struct filter before, shown;

	(void)state;
	before.length = filter_build(true, &unchanged, NULL, before.program);
	filter_trap_shares();
	shown.length = filter_build(true, &unchanged, NULL, shown.program);
	for (size_t i = 0; i < ELEMENTS(numbers); i++) {
		const struct seccomp_data data = {.nr = numbers[i], .arch = AUDIT_ARCH_X86_64};

		assert_int_equal(bpf_run(before.program, before.length, &data), ALLOW);
		assert_int_equal(bpf_run(shown.program, shown.length, &data), NOTIFY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_says_what_the_table_says),
		cmocka_unit_test(other_architectures_do_not_exist),
		cmocka_unit_test(every_jump_stays_inside),
		cmocka_unit_test(the_real_table_says_what_the_design_says),
		cmocka_unit_test(a_change_by_fd_meets_the_mount_alone),
		cmocka_unit_test(a_rung_gives_nothing_that_a_policy_took),
		cmocka_unit_test(no_other_sockets_exist),
		cmocka_unit_test(no_option_leads_a_connection_elsewhere),
		cmocka_unit_test(interfaces_are_asked_by_the_supervisor),
		cmocka_unit_test(without_a_supervisor_nothing_waits_for_one),
		cmocka_unit_test(names_and_table_agree),
		cmocka_unit_test(a_policy_adds_and_takes_calls),
		cmocka_unit_test(no_policy_opens_what_is_never_given),
		cmocka_unit_test(names_are_checked_with_words),
		cmocka_unit_test(traced_reads_are_shown_and_nothing_else),
		cmocka_unit_test(programs_are_shown_where_a_rule_is_about_them),
		cmocka_unit_test(what_can_wait_is_shown_where_somebody_can_be_asked),
		cmocka_unit_test(sockets_of_the_network_are_shown_where_it_comes_later),
		cmocka_unit_test(watching_is_shown_where_a_share_is_taken_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
