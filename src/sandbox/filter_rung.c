/* SPDX-License-Identifier: Apache-2.0 */
/* The filter below the full set of walls: what a wall that is missing would have held is refused
 * here, or shown to the supervisor where that is there. */
#include "filter.h"
#include "../base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define ALLOW	 SECCOMP_RET_ALLOW
#define NOTIFY	 SECCOMP_RET_USER_NOTIF
#define ERROR(e) (SECCOMP_RET_ERRNO | (e))
#define REFUSE	 ERROR(EPERM)
#define ABSENT	 ERROR(ENOSYS)
#define ALL	 UINT32_MAX
#define END       \
	{         \
		0 \
	}

/* What changes in one call: rules that come before its own, and what it gets where none holds (0:
 * as it is). WATCH stands for "shown to the supervisor, refused where there is none". */
#define WATCH 2u
struct change {
	int number;
	uint32_t action;
	const struct bpf_rule *rules;
};

/* A unix socket can be led anywhere once it can be connected, and only the supervisor sees where.
 * Pairs are made without a name and stay. Set-group-id on a directory is the supervisor's to
 * perform. */
static const struct bpf_rule no_unix[] = {{0, BPF_MASKED_IS, ALL, AF_UNIX, ERROR(EACCES)}, END};
static const struct bpf_rule no_group_id_1[] = {{1, BPF_ANY_BITS, S_ISGID, 0, REFUSE}, END};
static const struct bpf_rule no_group_id_2[] = {{2, BPF_ANY_BITS, S_ISGID, 0, REFUSE}, END};
static const struct change without_notify[] = {
	{SYS_socket, 0, no_unix},
	{SYS_chmod, 0, no_group_id_1},
	{SYS_fchmod, 0, no_group_id_1},
	{SYS_fchmodat, 0, no_group_id_2},
	{452 /* fchmodat2 */, 0, no_group_id_2},
};

/* The network is the host's, its loopback too. No check of an address could win against a caller
 * that rewrites it, so there are no such sockets at all. */
static const struct bpf_rule no_internet[] = {
	{0, BPF_MASKED_IS, ALL, AF_INET, WATCH},
	{0, BPF_MASKED_IS, ALL, AF_INET6, WATCH},
	END,
};
static const struct change without_network[] = {{SYS_socket, 0, no_internet}};

static const struct change without_ipc[] = {
	{SYS_shmget, ABSENT, NULL},	{SYS_shmat, ABSENT, NULL},  {SYS_shmctl, ABSENT, NULL},
	{SYS_semget, ABSENT, NULL},	{SYS_semop, ABSENT, NULL},  {SYS_semctl, ABSENT, NULL},
	{SYS_semtimedop, ABSENT, NULL}, {SYS_msgget, ABSENT, NULL}, {SYS_msgsnd, ABSENT, NULL},
	{SYS_msgrcv, ABSENT, NULL},	{SYS_msgctl, ABSENT, NULL}, {SYS_mq_open, ABSENT, NULL},
	{SYS_mq_unlink, ABSENT, NULL},
};

/* What may be done to any process of the same user without being allowed to trace it. 0 is the
 * caller. */
static const struct bpf_rule oneself[] = {{0, BPF_MASKED_IS, ALL, 0, ALLOW}, END};
static const struct bpf_rule own_priority[] = {
	{0, BPF_MASKED_IS, ALL, 0 /* PRIO_PROCESS */, BPF_AND_NEXT},
	{1, BPF_MASKED_IS, ALL, 0, ALLOW},
	END,
};
static const struct bpf_rule own_io_priority[] = {
	{0, BPF_MASKED_IS, ALL, 1 /* IOPRIO_WHO_PROCESS */, BPF_AND_NEXT},
	{1, BPF_MASKED_IS, ALL, 0, ALLOW},
	END,
};
/* Whoever is made the owner of a file is sent SIGIO, or whatever F_SETSIG says. */
static const struct bpf_rule no_owner[] = {
	{1, BPF_MASKED_IS, ALL, F_SETOWN, REFUSE},
	{1, BPF_MASKED_IS, ALL, F_SETOWN_EX, REFUSE},
	END,
};
static const struct bpf_rule no_owner_by_ioctl[] = {
	{1, BPF_MASKED_IS, ALL, 0x8901 /* FIOSETOWN */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 0x8902 /* SIOCSPGRP */, REFUSE},
	END,
};
static const struct change among_processes[] = {
	{SYS_fcntl, 0, no_owner},
	{SYS_ioctl, 0, no_owner_by_ioctl},
	{SYS_prlimit64, WATCH, oneself},
	{SYS_setpriority, WATCH, own_priority},
	{SYS_ioprio_set, WATCH, own_io_priority},
	{SYS_sched_setparam, WATCH, oneself},
	{SYS_sched_setscheduler, WATCH, oneself},
	{SYS_sched_setaffinity, WATCH, oneself},
	{SYS_sched_setattr, WATCH, oneself},
};

/* Not even to one's own group unseen: init's can be joined. Init itself must be able to end what it
 * leaves behind when there is no supervisor any more, and shows in arguments that kill does not
 * look at what nobody else can know. Besides the calls that send one: whoever is made the owner of
 * a file is sent SIGIO, or whatever F_SETSIG says. */
static struct bpf_rule by_init[] = {
	{2, BPF_MASKED_IS, ALL, 0, BPF_AND_NEXT},
	{3, BPF_MASKED_IS, ALL, 0, BPF_AND_NEXT},
	{4, BPF_MASKED_IS, ALL, 0, BPF_AND_NEXT},
	{5, BPF_MASKED_IS, ALL, 0, ALLOW},
	END,
};
static const struct change among_signals[] = {
	{SYS_kill, WATCH, by_init},
	{SYS_tkill, WATCH, NULL},
	{SYS_tgkill, WATCH, NULL},
	{SYS_rt_sigqueueinfo, WATCH, NULL},
	{SYS_rt_tgsigqueueinfo, WATCH, NULL},
	{SYS_pidfd_send_signal, WATCH, NULL},
};

/* Flags of a file can be set by whoever owns it and may read it. */
static const struct bpf_rule no_flags[] = {
	{1, BPF_MASKED_IS, ALL, 0x40086602 /* FS_IOC_SETFLAGS */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 0x40046602 /* FS_IOC32_SETFLAGS */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 0x40087602 /* FS_IOC_SETVERSION */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 0x401c5820 /* FS_IOC_FSSETXATTR */, REFUSE},
	END,
};
/* Landlock knows nothing of attributes: there is no wall that a change by fd would meet. */
static const struct change without_mounts[] = {
	{SYS_ioctl, 0, no_flags},      {SYS_fchmod, NOTIFY, NULL},
	{SYS_fchown, NOTIFY, NULL},    {SYS_fsetxattr, NOTIFY, NULL},
	{SYS_futimesat, NOTIFY, NULL}, {SYS_fremovexattr, NOTIFY, NULL},
	{SYS_utimensat, NOTIFY, NULL},
};

/* O_TRUNC without the right to write cuts a file all the same. */
static const struct bpf_rule no_cut_1[] = {
	{1, BPF_MASKED_IS, O_ACCMODE, O_RDONLY, BPF_AND_NEXT},
	{1, BPF_ANY_BITS, O_TRUNC, 0, ERROR(EACCES)},
	END,
};
static const struct bpf_rule no_cut_2[] = {
	{2, BPF_MASKED_IS, O_ACCMODE, O_RDONLY, BPF_AND_NEXT},
	{2, BPF_ANY_BITS, O_TRUNC, 0, ERROR(EACCES)},
	END,
};
static const struct change without_truncate[] = {
	{SYS_truncate, ERROR(EACCES), NULL},
	{SYS_open, 0, no_cut_1},
	{SYS_openat, 0, no_cut_2},
};

/* Lists of rules put together. */
enum { RULES = 400 };
static struct bpf_rule pool[RULES];
static size_t pool_used;

static uint32_t meant(uint32_t action, bool notify)
{
	return action != WATCH ? action : notify ? NOTIFY : REFUSE;
}

static size_t count_rules(const struct bpf_rule *rules)
{
	size_t count = 0;

	while (rules && rules[count].action)
		count++;
	return count;
}

static void add_rules(const struct bpf_rule *rules, bool notify)
{
	for (; rules && rules->action; rules++) {
		pool[pool_used] = *rules;
		pool[pool_used++].action = meant(rules->action, notify);
	}
}

static void change_calls(const struct change *changes, size_t change_count, bool notify,
			 struct bpf_call *calls, size_t count)
{
	for (size_t i = 0; i < change_count; i++)
		for (size_t call = 0; call < count; call++) {
			struct bpf_rule *rules = &pool[pool_used];

			if (calls[call].number != changes[i].number)
				continue;
			/* What a policy refuses stays refused. */
			if (changes[i].action && calls[call].action != REFUSE)
				calls[call].action = meant(changes[i].action, notify);
			if (!changes[i].rules)
				continue;
			if (pool_used + count_rules(changes[i].rules) +
				    count_rules(calls[call].rules) >=
			    RULES) { /* never, as the tests show; and never open */
				calls[call] = (struct bpf_call){calls[call].number, REFUSE, NULL};
				continue;
			}
			add_rules(changes[i].rules, notify);
			add_rules(calls[call].rules, notify);
			pool[pool_used++] = (struct bpf_rule)END;
			calls[call].rules = rules;
		}
}

void filter_descend(bool notify, const struct filter_rung *rung, struct bpf_call *calls,
		    size_t count)
{
	pool_used = 0;
	for (size_t i = 0; i < ELEMENTS(rung->pass); i++)
		by_init[i].value = rung->pass[i];
	if (rung->no_supervisor)
		change_calls(without_notify, ELEMENTS(without_notify), notify, calls, count);
	if (rung->no_network)
		change_calls(without_network, ELEMENTS(without_network), notify, calls, count);
	if (rung->no_ipc)
		change_calls(without_ipc, ELEMENTS(without_ipc), notify, calls, count);
	if (rung->processes)
		change_calls(among_processes, ELEMENTS(among_processes), notify, calls, count);
	if (rung->signals)
		change_calls(among_signals, ELEMENTS(among_signals), notify, calls, count);
	if (rung->no_mounts)
		change_calls(without_mounts, ELEMENTS(without_mounts), notify, calls, count);
	if (rung->truncate)
		change_calls(without_truncate, ELEMENTS(without_truncate), notify, calls, count);
}
