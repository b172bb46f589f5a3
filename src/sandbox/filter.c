/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind the filter. A call that is not in it does not exist in the sandbox (ENOSYS):
 * io_uring, because it passes seccomp by; clone3 and openat2, because their flags hide behind a
 * pointer and every libc falls back. */
#include "filter.h"
#include "../base/macro.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <netinet/in.h>

#ifndef __x86_64__
#error "ward's table of system calls knows x86-64 only"
#endif

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

/* Only opening with the intent to write is shown to the supervisor: the flags are in a register,
 * and reads stay native. A new file is never set-user-id or set-group-id. */
#define WRITE_INTENT (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)
#define SET_ID	     (S_ISUID | S_ISGID)
static const struct bpf_rule open_flags[] = {
	{1, BPF_ANY_BITS, O_CREAT | __O_TMPFILE, 0, BPF_AND_NEXT},
	{2, BPF_ANY_BITS, SET_ID, 0, REFUSE},
	{1, BPF_ANY_BITS, WRITE_INTENT, 0, NOTIFY},
	END,
};
static const struct bpf_rule openat_flags[] = {
	{2, BPF_ANY_BITS, O_CREAT | __O_TMPFILE, 0, BPF_AND_NEXT},
	{3, BPF_ANY_BITS, SET_ID, 0, REFUSE},
	{2, BPF_ANY_BITS, WRITE_INTENT, 0, NOTIFY},
	END,
};

/* The same where opens for reading are shown as well. With O_PATH all other flags count for
 * nothing: nothing is read, written or made. */
static const struct bpf_rule open_flags_traced[] = {
	{1, BPF_ANY_BITS, O_CREAT | __O_TMPFILE, 0, BPF_AND_NEXT},
	{2, BPF_ANY_BITS, SET_ID, 0, REFUSE},
	{1, BPF_ANY_BITS, O_PATH, 0, ALLOW},
	END,
};
static const struct bpf_rule openat_flags_traced[] = {
	{2, BPF_ANY_BITS, O_CREAT | __O_TMPFILE, 0, BPF_AND_NEXT},
	{3, BPF_ANY_BITS, SET_ID, 0, REFUSE},
	{2, BPF_ANY_BITS, O_PATH, 0, ALLOW},
	END,
};

/* Set-user-id is refused to everyone; set-group-id is for the supervisor to see, who performs it on
 * directories only. */
static const struct bpf_rule chmod_mode[] = {{1, BPF_ANY_BITS, S_ISUID, 0, REFUSE}, END};
static const struct bpf_rule fchmodat_mode[] = {{2, BPF_ANY_BITS, S_ISUID, 0, REFUSE}, END};
static const struct bpf_rule fchmod_mode[] = {
	{1, BPF_ANY_BITS, S_ISUID, 0, REFUSE},
	{1, BPF_ANY_BITS, S_ISGID | S_IXUSR | S_IXGRP | S_IXOTH, 0, NOTIFY},
	END,
};
/* Without a path these are about the fd. A change by fd meets the mount that the file was opened
 * through, which no race can exchange: nothing that the supervisor could add. Where there are no
 * mounts all of them are shown (filter_rung.c). */
static const struct bpf_rule times_of_path[] = {{1, BPF_NOT_NULL, 0, 0, NOTIFY}, END};
static const struct bpf_rule access_mode[] = {{1, BPF_ANY_BITS, W_OK, 0, NOTIFY}, END};
static const struct bpf_rule accessat_mode[] = {{2, BPF_ANY_BITS, W_OK, 0, NOTIFY}, END};
static const struct bpf_rule creat_mode[] = {{1, BPF_ANY_BITS, SET_ID, 0, REFUSE}, END};
static const struct bpf_rule mknod_mode[] = {{1, BPF_ANY_BITS, SET_ID, 0, REFUSE}, END};
static const struct bpf_rule mknodat_mode[] = {{2, BPF_ANY_BITS, SET_ID, 0, REFUSE}, END};

/* Typing into a terminal on behalf of its user, and the console's own set of such tricks; what file
 * systems do on their own, past the names and mounts that all else goes by: a subvolume or a copy
 * of a whole tree by a name that nobody is shown, changes by an fd that may only read, keys of the
 * user's directories taken away; and what would ask or change interfaces, routes and neighbours of
 * the network that a socket is of. */
static const struct bpf_rule ioctl_requests[] = {
	{1, BPF_MASKED_IS, ALL, 0x5412 /* TIOCSTI */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 0x541c /* TIOCLINUX */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 0x5423 /* TIOCSETD */, REFUSE},
	/* Of the numbers of btrfs those that all file systems know. */
	{1, BPF_MASKED_IS, ALL, 0x40049409 /* FICLONE */, ALLOW},
	{1, BPF_MASKED_IS, ALL, 0x4020940d /* FICLONERANGE */, ALLOW},
	{1, BPF_MASKED_IS, ALL, 0xc0189436 /* FIDEDUPERANGE */, ALLOW},
	{1, BPF_MASKED_IS, ALL, 0x81009431 /* FS_IOC_GETFSLABEL */, ALLOW},
	{1, BPF_MASKED_IS, 0xff00, 0x9400 /* btrfs */, ERROR(ENOTTY)},
	{1, BPF_MASKED_IS, 0xff00, 0xbc00 /* bcachefs */, ERROR(ENOTTY)},
	{1, BPF_MASKED_IS, 0xffff, 0x6f04 /* OCFS2_IOC_REFLINK */, ERROR(ENOTTY)},
	{1, BPF_MASKED_IS, 0xffff, 0xcf07 /* CIFS_QUERY_INFO, which sets as well */, ERROR(ENOTTY)},
	{1, BPF_MASKED_IS, 0xffff, 0x6617 /* FS_IOC_ADD_ENCRYPTION_KEY */, REFUSE},
	{1, BPF_MASKED_IS, 0xfffe, 0x6618 /* and those that remove one */, REFUSE},
	/* What the rest of this list is about: sockets (0x89) and wireless devices (0x8b). */
	{1, BPF_MASKED_NOT, 0xfffffd00, 0x8900, ALLOW},
	{1, BPF_MASKED_IS, 0xfffffff8, 0x8900 /* owner, mark, time of the last packet */, ALLOW},
	{1, BPF_MASKED_IS, ALL, 0x894b /* SIOCOUTQNSD */, ALLOW},
	/* Asked about interfaces, a socket that was handed in would tell the host's; the supervisor
	 * asks where it is one of the sandbox's own. */
	{1, BPF_MASKED_IS, 0xfffffff1, 0x8911 /* SIOCGIFFLAGS to SIOCGIFMEM */, NOTIFY},
	{1, BPF_MASKED_IS, 0xfffffffd, 0x8910 /* SIOCGIFNAME, SIOCGIFCONF */, NOTIFY},
	{1, BPF_MASKED_IS, ALL, 0x8921 /* SIOCGIFMTU */, NOTIFY},
	{1, BPF_MASKED_IS, ALL, 0x8927 /* SIOCGIFHWADDR */, NOTIFY},
	{1, BPF_MASKED_IS, ALL, 0x8933 /* SIOCGIFINDEX */, NOTIFY},
	{1, BPF_MASKED_IS, ALL, 0x8942 /* SIOCGIFTXQLEN */, NOTIFY},
	{1, BPF_MASKED_IS, ALL, 0x8970 /* SIOCGIFMAP */, NOTIFY},
	/* What loopback itself answers to most of it; programs go on after that. */
	{1, BPF_MASKED_IS, ALL, 0x8946 /* SIOCETHTOOL */, ERROR(EOPNOTSUPP)},
	{1, BPF_MASKED_IS, 0xfffffd00, 0x8900, REFUSE},
	END,
};

/* TCP and UDP, streams and packets of AF_UNIX, and asking the kernel for routes. A datagram socket
 * of AF_UNIX (SOCK_RAW is one, too) can name any socket on the machine in sendmsg, where no other
 * wall sees it, so there are none. */
#define KIND 0xf /* the type without SOCK_CLOEXEC and SOCK_NONBLOCK */
#define SOCKET_KINDS(of_network)                                                  \
	{                                                                         \
		{0, BPF_MASKED_IS, ALL, AF_UNIX, BPF_AND_NEXT},                   \
			{1, BPF_MASKED_IS, KIND, SOCK_STREAM, ALLOW},             \
			{0, BPF_MASKED_IS, ALL, AF_UNIX, BPF_AND_NEXT},           \
			{1, BPF_MASKED_IS, KIND, SOCK_SEQPACKET, ALLOW},          \
			{0, BPF_MASKED_IS, ALL, AF_UNIX, ERROR(EPROTONOSUPPORT)}, \
			{0, BPF_MASKED_IS, ALL, AF_NETLINK, BPF_AND_NEXT},        \
			{2, BPF_MASKED_IS, ALL, NETLINK_ROUTE, of_network},       \
			{0, BPF_MASKED_NOT, ALL, AF_INET, BPF_AND_NEXT},          \
			{0, BPF_MASKED_NOT, ALL, AF_INET6, ERROR(EAFNOSUPPORT)},  \
			{1, BPF_MASKED_NOT, KIND, SOCK_STREAM, BPF_AND_NEXT},     \
			{1, BPF_MASKED_NOT, KIND, SOCK_DGRAM, REFUSE},            \
			{2, BPF_MASKED_IS, ALL, 0, of_network},                   \
			{2, BPF_MASKED_IS, ALL, IPPROTO_TCP, of_network},         \
			{2, BPF_MASKED_IS, ALL, IPPROTO_UDP, of_network}, END,    \
	}
static const struct bpf_rule socket_kinds[] = SOCKET_KINDS(ALLOW);
static const struct bpf_rule socket_kinds_shown[] = SOCKET_KINDS(NOTIFY);
static const struct bpf_rule socketpair_kinds[] = {
	{0, BPF_MASKED_NOT, ALL, AF_UNIX, ERROR(EAFNOSUPPORT)},
	{1, BPF_MASKED_IS, KIND, SOCK_STREAM, ALLOW},
	{1, BPF_MASKED_IS, KIND, SOCK_SEQPACKET, ALLOW},
	END,
};

/* MSG_FASTOPEN is a connect that no connect rule sees. */
static const struct bpf_rule sendto_address[] = {
	{3, BPF_ANY_BITS, MSG_FASTOPEN, 0, ERROR(EOPNOTSUPP)},
	{4, BPF_NOT_NULL, 0, 0, NOTIFY},
	END,
};
static const struct bpf_rule sendmsg_flags[] = {
	{2, BPF_ANY_BITS, MSG_FASTOPEN, 0, ERROR(EOPNOTSUPP)}, END};
static const struct bpf_rule sendmmsg_flags[] = {
	{3, BPF_ANY_BITS, MSG_FASTOPEN, 0, ERROR(EOPNOTSUPP)}, END};

/* A socket that was handed in is connected in the host's network, and must go on to mean just that
 * connection. Another device or another way (source routes are for everyone, and the segments then
 * go to whom they name) leads elsewhere. Joining a group sends its address out, and of the calls
 * that do the kernel keeps only the plain ones (IP_ADD_MEMBERSHIP, IPV6_JOIN_GROUP) from sockets of
 * TCP. TCP_FASTOPEN_CONNECT lets a send connect; TCP_ULP makes a socket something else. Programs go
 * on without any of these. */
static const struct bpf_rule socket_options[] = {
	{1, BPF_MASKED_IS, ALL, SOL_SOCKET, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, ALL, 25 /* SO_BINDTODEVICE */, REFUSE},
	{1, BPF_MASKED_IS, ALL, SOL_SOCKET, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, ALL, 62 /* SO_BINDTOIFINDEX */, REFUSE},
	{1, BPF_MASKED_IS, ALL, IPPROTO_TCP, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, ALL, 19 /* TCP_REPAIR */, REFUSE},
	{1, BPF_MASKED_IS, ALL, IPPROTO_TCP, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, 0xfffffffe, 30 /* TCP_FASTOPEN_CONNECT, TCP_ULP */, ERROR(ENOPROTOOPT)},
	{1, BPF_MASKED_IS, ALL, IPPROTO_IP, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, ALL, 4 /* IP_OPTIONS */, REFUSE},
	{1, BPF_MASKED_IS, ALL, IPPROTO_IP, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, ALL, 39 /* IP_ADD_SOURCE_MEMBERSHIP */, REFUSE},
	{1, BPF_MASKED_IS, ALL, IPPROTO_IP, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, 0xfffffff8, 40 /* to MCAST_LEAVE_SOURCE_GROUP */, REFUSE},
	{1, BPF_MASKED_IS, ALL, IPPROTO_IP, BPF_AND_NEXT},
	{2, BPF_MASKED_IS, ALL, 50 /* IP_UNICAST_IF */, REFUSE},
	{1, BPF_MASKED_NOT, ALL, IPPROTO_IPV6, ALLOW},
	{2, BPF_MASKED_IS, ALL, 6 /* IPV6_2292PKTOPTIONS */, REFUSE},
	{2, BPF_MASKED_IS, ALL, 9 /* IPV6_NEXTHOP */, REFUSE},
	{2, BPF_MASKED_IS, ALL, 32 /* IPV6_FLOWLABEL_MGR: labels carry options */, REFUSE},
	{2, BPF_MASKED_IS, 0xfffffff8, 40 /* to MCAST_LEAVE_SOURCE_GROUP */, REFUSE},
	{2, BPF_MASKED_IS, ALL, 50 /* IPV6_PKTINFO */, REFUSE},
	{2, BPF_MASKED_IS, 0xfffffffe, 54 /* IPV6_HOPOPTS, IPV6_RTHDRDSTOPTS */, REFUSE},
	{2, BPF_MASKED_IS, 0xfffffffd, 57 /* IPV6_RTHDR, IPV6_DSTOPTS */, REFUSE},
	{2, BPF_MASKED_IS, ALL, 76 /* IPV6_UNICAST_IF */, REFUSE},
	END,
};

/* No namespaces inside: in a user namespace of its own a command would hold capabilities again. */
#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
static const struct bpf_rule clone_flags[] = {{0, BPF_ANY_BITS, NAMESPACES, 0, REFUSE}, END};
static const struct bpf_rule unshare_flags[] = {
	{0, BPF_ANY_BITS, (uint32_t) ~(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM), 0, REFUSE},
	END,
};

/* Linux as it is, asked for or told; and without address randomisation, which debuggers want. */
static const struct bpf_rule personality_kinds[] = {
	{0, BPF_MASKED_IS, ALL, UINT32_MAX, ALLOW},
	{0, BPF_MASKED_IS, (uint32_t)~0x0040000 /* ADDR_NO_RANDOMIZE */, 0, ALLOW},
	END,
};

/* A lease on a file that one may read makes its writers outside wait; so does what F_SETDELEG takes
 * (1024 + 16, Linux 6.19), also on a directory. */
static const struct bpf_rule fcntl_commands[] = {
	{1, BPF_MASKED_IS, (uint32_t)~16, F_SETLEASE, REFUSE},
	END,
};

/* Init must get the processor whatever the command does: everything else inside ends only when init
 * does. It is pid 1, and of the command's own user. */
static const struct bpf_rule not_init[] = {{0, BPF_MASKED_IS, ALL, 1, REFUSE}, END};
static const struct bpf_rule priority_of_one[] = {
	{0, BPF_MASKED_NOT, ALL, 0 /* PRIO_PROCESS */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 1, REFUSE},
	END,
};
static const struct bpf_rule io_priority_of_one[] = {
	{0, BPF_MASKED_NOT, ALL, 1 /* IOPRIO_WHO_PROCESS */, REFUSE},
	{1, BPF_MASKED_IS, ALL, 1, REFUSE},
	END,
};

/* In the order of the numbers. */
static struct bpf_call calls[] = {
	{SYS_read, ALLOW},
	{SYS_write, ALLOW},
	{SYS_open, ALLOW, open_flags},
	{SYS_close, ALLOW},
	{SYS_stat, ALLOW},
	{SYS_fstat, ALLOW},
	{SYS_lstat, ALLOW},
	{SYS_poll, ALLOW},
	{SYS_lseek, ALLOW},
	{SYS_mmap, ALLOW},
	{SYS_mprotect, ALLOW},
	{SYS_munmap, ALLOW},
	{SYS_brk, ALLOW},
	{SYS_rt_sigaction, ALLOW},
	{SYS_rt_sigprocmask, ALLOW},
	{SYS_rt_sigreturn, ALLOW},
	{SYS_ioctl, ALLOW, ioctl_requests},
	{SYS_pread64, ALLOW},
	{SYS_pwrite64, ALLOW},
	{SYS_readv, ALLOW},
	{SYS_writev, ALLOW},
	{SYS_access, ALLOW},
	{SYS_pipe, ALLOW},
	{SYS_select, ALLOW},
	{SYS_sched_yield, ALLOW},
	{SYS_mremap, ALLOW},
	{SYS_msync, ALLOW},
	{SYS_mincore, ALLOW},
	{SYS_madvise, ALLOW},
	{SYS_shmget, ALLOW},
	{SYS_shmat, ALLOW},
	{SYS_shmctl, ALLOW},
	{SYS_dup, ALLOW},
	{SYS_dup2, ALLOW},
	{SYS_pause, ALLOW},
	{SYS_nanosleep, ALLOW},
	{SYS_getitimer, ALLOW},
	{SYS_alarm, ALLOW},
	{SYS_setitimer, ALLOW},
	{SYS_getpid, ALLOW},
	{SYS_sendfile, ALLOW},
	{SYS_socket, ERROR(EPROTONOSUPPORT), socket_kinds},
	{SYS_connect, NOTIFY},
	{SYS_accept, ALLOW},
	{SYS_sendto, ALLOW, sendto_address},
	{SYS_recvfrom, ALLOW},
	{SYS_sendmsg, ALLOW, sendmsg_flags},
	{SYS_recvmsg, ALLOW},
	{SYS_shutdown, ALLOW},
	{SYS_bind, NOTIFY},
	{SYS_listen, NOTIFY},
	{SYS_getsockname, ALLOW},
	{SYS_getpeername, ALLOW},
	{SYS_socketpair, ERROR(EOPNOTSUPP), socketpair_kinds},
	{SYS_setsockopt, ALLOW, socket_options},
	{SYS_getsockopt, ALLOW},
	{SYS_clone, ALLOW, clone_flags},
	{SYS_fork, ALLOW},
	{SYS_vfork, ALLOW},
	{SYS_execve, ALLOW},
	{SYS_exit, ALLOW},
	{SYS_wait4, ALLOW},
	{SYS_kill, ALLOW},
	{SYS_uname, ALLOW},
	{SYS_semget, ALLOW},
	{SYS_semop, ALLOW},
	{SYS_semctl, ALLOW},
	{SYS_shmdt, ALLOW},
	{SYS_msgget, ALLOW},
	{SYS_msgsnd, ALLOW},
	{SYS_msgrcv, ALLOW},
	{SYS_msgctl, ALLOW},
	{SYS_fcntl, ALLOW, fcntl_commands},
	{SYS_flock, ALLOW},
	{SYS_fsync, ALLOW},
	{SYS_fdatasync, ALLOW},
	{SYS_truncate, NOTIFY},
	{SYS_ftruncate, ALLOW},
	{SYS_getdents, ALLOW},
	{SYS_getcwd, ALLOW},
	{SYS_chdir, NOTIFY},
	{SYS_fchdir, NOTIFY},
	{SYS_rename, NOTIFY},
	{SYS_mkdir, NOTIFY},
	{SYS_rmdir, NOTIFY},
	{SYS_creat, NOTIFY, creat_mode},
	{SYS_link, NOTIFY},
	{SYS_unlink, NOTIFY},
	{SYS_symlink, NOTIFY},
	{SYS_readlink, ALLOW},
	{SYS_chmod, NOTIFY, chmod_mode},
	{SYS_fchmod, ALLOW, fchmod_mode},
	{SYS_chown, NOTIFY},
	{SYS_fchown, ALLOW},
	{SYS_lchown, NOTIFY},
	{SYS_umask, NOTIFY},
	{SYS_gettimeofday, ALLOW},
	{SYS_getrlimit, ALLOW},
	{SYS_getrusage, ALLOW},
	{SYS_sysinfo, ALLOW},
	{SYS_times, ALLOW},
	{SYS_ptrace, ALLOW},
	{SYS_getuid, ALLOW},
	{SYS_syslog, REFUSE},
	{SYS_getgid, ALLOW},
	{SYS_setuid, ALLOW},
	{SYS_setgid, ALLOW},
	{SYS_geteuid, ALLOW},
	{SYS_getegid, ALLOW},
	{SYS_setpgid, ALLOW},
	{SYS_getppid, ALLOW},
	{SYS_getpgrp, ALLOW},
	{SYS_setsid, ALLOW},
	{SYS_setreuid, ALLOW},
	{SYS_setregid, ALLOW},
	{SYS_getgroups, ALLOW},
	{SYS_setgroups, ALLOW},
	{SYS_setresuid, ALLOW},
	{SYS_getresuid, ALLOW},
	{SYS_setresgid, ALLOW},
	{SYS_getresgid, ALLOW},
	{SYS_getpgid, ALLOW},
	{SYS_setfsuid, ALLOW},
	{SYS_setfsgid, ALLOW},
	{SYS_getsid, ALLOW},
	{SYS_capget, ALLOW},
	{SYS_capset, ALLOW},
	{SYS_rt_sigpending, ALLOW},
	{SYS_rt_sigtimedwait, ALLOW},
	{SYS_rt_sigqueueinfo, ALLOW},
	{SYS_rt_sigsuspend, ALLOW},
	{SYS_sigaltstack, ALLOW},
	{SYS_utime, NOTIFY},
	{SYS_mknod, NOTIFY, mknod_mode},
	{SYS_uselib, REFUSE},
	{SYS_personality, REFUSE, personality_kinds},
	{SYS_ustat, REFUSE},
	{SYS_statfs, ALLOW},
	{SYS_fstatfs, ALLOW},
	{SYS_sysfs, REFUSE},
	{SYS_getpriority, ALLOW},
	{SYS_setpriority, ALLOW, priority_of_one},
	{SYS_sched_setparam, ALLOW, not_init},
	{SYS_sched_getparam, ALLOW},
	{SYS_sched_setscheduler, ALLOW, not_init},
	{SYS_sched_getscheduler, ALLOW},
	{SYS_sched_get_priority_max, ALLOW},
	{SYS_sched_get_priority_min, ALLOW},
	{SYS_sched_rr_get_interval, ALLOW},
	{SYS_mlock, ALLOW},
	{SYS_munlock, ALLOW},
	{SYS_mlockall, ALLOW},
	{SYS_munlockall, ALLOW},
	{SYS_vhangup, REFUSE},
	{SYS_modify_ldt, REFUSE},
	{SYS_pivot_root, REFUSE},
	{SYS__sysctl, REFUSE},
	{SYS_prctl, ALLOW},
	{SYS_arch_prctl, ALLOW},
	{SYS_adjtimex, REFUSE},
	{SYS_setrlimit, ALLOW},
	{SYS_chroot, REFUSE},
	{SYS_sync, ALLOW},
	{SYS_acct, REFUSE},
	{SYS_settimeofday, REFUSE},
	{SYS_mount, REFUSE},
	{SYS_umount2, REFUSE},
	{SYS_swapon, REFUSE},
	{SYS_swapoff, REFUSE},
	{SYS_reboot, REFUSE},
	{SYS_sethostname, REFUSE},
	{SYS_setdomainname, REFUSE},
	{SYS_iopl, REFUSE},
	{SYS_ioperm, REFUSE},
	{SYS_create_module, REFUSE},
	{SYS_init_module, REFUSE},
	{SYS_delete_module, REFUSE},
	{SYS_get_kernel_syms, REFUSE},
	{SYS_query_module, REFUSE},
	{SYS_quotactl, REFUSE},
	{SYS_nfsservctl, REFUSE},
	{SYS_gettid, ALLOW},
	{SYS_readahead, ALLOW},
	{SYS_setxattr, NOTIFY},
	{SYS_lsetxattr, NOTIFY},
	{SYS_fsetxattr, ALLOW},
	{SYS_getxattr, ALLOW},
	{SYS_lgetxattr, ALLOW},
	{SYS_fgetxattr, ALLOW},
	{SYS_listxattr, ALLOW},
	{SYS_llistxattr, ALLOW},
	{SYS_flistxattr, ALLOW},
	{SYS_removexattr, NOTIFY},
	{SYS_lremovexattr, NOTIFY},
	{SYS_fremovexattr, ALLOW},
	{SYS_tkill, ALLOW},
	{SYS_time, ALLOW},
	{SYS_futex, ALLOW},
	{SYS_sched_setaffinity, NOTIFY, not_init},
	{SYS_sched_getaffinity, NOTIFY},
	{SYS_io_setup, ALLOW},
	{SYS_io_destroy, ALLOW},
	{SYS_io_getevents, ALLOW},
	{SYS_io_submit, ALLOW},
	{SYS_io_cancel, ALLOW},
	{SYS_lookup_dcookie, REFUSE},
	{SYS_epoll_create, ALLOW},
	{SYS_remap_file_pages, ALLOW},
	{SYS_getdents64, ALLOW},
	{SYS_set_tid_address, ALLOW},
	{SYS_restart_syscall, ALLOW},
	{SYS_semtimedop, ALLOW},
	{SYS_fadvise64, ALLOW},
	{SYS_timer_create, ALLOW},
	{SYS_timer_settime, ALLOW},
	{SYS_timer_gettime, ALLOW},
	{SYS_timer_getoverrun, ALLOW},
	{SYS_timer_delete, ALLOW},
	{SYS_clock_settime, REFUSE},
	{SYS_clock_gettime, ALLOW},
	{SYS_clock_getres, ALLOW},
	{SYS_clock_nanosleep, ALLOW},
	{SYS_exit_group, ALLOW},
	{SYS_epoll_wait, ALLOW},
	{SYS_epoll_ctl, ALLOW},
	{SYS_tgkill, ALLOW},
	{SYS_utimes, NOTIFY},
	{SYS_vserver, REFUSE},
	{SYS_mbind, ALLOW},
	{SYS_set_mempolicy, ALLOW},
	{SYS_get_mempolicy, ALLOW},
	{SYS_mq_open, ALLOW},
	{SYS_mq_unlink, ALLOW},
	{SYS_mq_timedsend, ALLOW},
	{SYS_mq_timedreceive, ALLOW},
	{SYS_mq_notify, ALLOW},
	{SYS_mq_getsetattr, ALLOW},
	{SYS_kexec_load, REFUSE},
	{SYS_waitid, ALLOW},
	{SYS_add_key, REFUSE},
	{SYS_request_key, REFUSE},
	{SYS_keyctl, REFUSE},
	{SYS_ioprio_set, ALLOW, io_priority_of_one},
	{SYS_ioprio_get, ALLOW},
	{SYS_inotify_init, ALLOW},
	{SYS_inotify_add_watch, ALLOW},
	{SYS_inotify_rm_watch, ALLOW},
	{SYS_migrate_pages, REFUSE},
	{SYS_openat, ALLOW, openat_flags},
	{SYS_mkdirat, NOTIFY},
	{SYS_mknodat, NOTIFY, mknodat_mode},
	{SYS_fchownat, NOTIFY},
	{SYS_futimesat, ALLOW, times_of_path},
	{SYS_newfstatat, ALLOW},
	{SYS_unlinkat, NOTIFY},
	{SYS_renameat, NOTIFY},
	{SYS_linkat, NOTIFY},
	{SYS_symlinkat, NOTIFY},
	{SYS_readlinkat, ALLOW},
	{SYS_fchmodat, NOTIFY, fchmodat_mode},
	{SYS_faccessat, ALLOW},
	{SYS_pselect6, ALLOW},
	{SYS_ppoll, ALLOW},
	{SYS_unshare, ALLOW, unshare_flags},
	{SYS_set_robust_list, ALLOW},
	{SYS_get_robust_list, ALLOW},
	{SYS_splice, ALLOW},
	{SYS_tee, ALLOW},
	{SYS_sync_file_range, ALLOW},
	{SYS_vmsplice, ALLOW},
	{SYS_move_pages, REFUSE},
	{SYS_utimensat, ALLOW, times_of_path},
	{SYS_epoll_pwait, ALLOW},
	{SYS_signalfd, ALLOW},
	{SYS_timerfd_create, ALLOW},
	{SYS_eventfd, ALLOW},
	{SYS_fallocate, ALLOW},
	{SYS_timerfd_settime, ALLOW},
	{SYS_timerfd_gettime, ALLOW},
	{SYS_accept4, ALLOW},
	{SYS_signalfd4, ALLOW},
	{SYS_eventfd2, ALLOW},
	{SYS_epoll_create1, ALLOW},
	{SYS_dup3, ALLOW},
	{SYS_pipe2, ALLOW},
	{SYS_inotify_init1, ALLOW},
	{SYS_preadv, ALLOW},
	{SYS_pwritev, ALLOW},
	{SYS_rt_tgsigqueueinfo, ALLOW},
	{SYS_perf_event_open, REFUSE},
	{SYS_recvmmsg, ALLOW},
	{SYS_fanotify_init, REFUSE},
	{SYS_fanotify_mark, REFUSE},
	{SYS_prlimit64, ALLOW, not_init},
	{SYS_name_to_handle_at, REFUSE},
	{SYS_open_by_handle_at, REFUSE},
	{SYS_clock_adjtime, REFUSE},
	{SYS_syncfs, ALLOW},
	{SYS_sendmmsg, ALLOW, sendmmsg_flags},
	{SYS_setns, REFUSE},
	{SYS_getcpu, ALLOW},
	{SYS_process_vm_readv, ALLOW},
	{SYS_process_vm_writev, ALLOW},
	{SYS_kcmp, ALLOW},
	{SYS_finit_module, REFUSE},
	{SYS_sched_setattr, ALLOW, not_init},
	{SYS_sched_getattr, ALLOW},
	{SYS_renameat2, NOTIFY},
	{SYS_seccomp, ALLOW},
	{SYS_getrandom, ALLOW},
	{SYS_memfd_create, ALLOW},
	{SYS_kexec_file_load, REFUSE},
	{SYS_bpf, REFUSE},
	{SYS_execveat, ALLOW},
	{SYS_userfaultfd, REFUSE},
	{SYS_membarrier, ALLOW},
	{SYS_mlock2, ALLOW},
	{SYS_copy_file_range, ALLOW},
	{SYS_preadv2, ALLOW},
	{SYS_pwritev2, ALLOW},
	{SYS_pkey_mprotect, ALLOW},
	{SYS_pkey_alloc, ALLOW},
	{SYS_pkey_free, ALLOW},
	{SYS_statx, ALLOW},
	{SYS_io_pgetevents, ALLOW},
	{SYS_rseq, ALLOW},
	{SYS_pidfd_send_signal, ALLOW},
	{SYS_open_tree, REFUSE},
	{SYS_move_mount, REFUSE},
	{SYS_fsopen, REFUSE},
	{SYS_fsconfig, REFUSE},
	{SYS_fsmount, REFUSE},
	{SYS_fspick, REFUSE},
	{SYS_pidfd_open, ALLOW},
	{SYS_close_range, ALLOW},
	{SYS_pidfd_getfd, ALLOW},
	{SYS_faccessat2, ALLOW},
	{SYS_process_madvise, ALLOW},
	{SYS_epoll_pwait2, ALLOW},
	{SYS_mount_setattr, REFUSE},
	{SYS_quotactl_fd, REFUSE},
	{SYS_landlock_create_ruleset, ALLOW},
	{SYS_landlock_add_rule, ALLOW},
	{SYS_landlock_restrict_self, ALLOW},
	{SYS_process_mrelease, ALLOW},
	{SYS_futex_waitv, ALLOW},
	{SYS_set_mempolicy_home_node, ALLOW},
	{451 /* cachestat */, ALLOW},
	{452 /* fchmodat2 */, NOTIFY, fchmodat_mode},
	{453 /* map_shadow_stack */, ALLOW},
	{454 /* futex_wake */, ALLOW},
	{455 /* futex_wait */, ALLOW},
	{456 /* futex_requeue */, ALLOW},
	{462 /* mseal */, ALLOW},
};

static void trap_call(int number)
{
	for (size_t i = 0; i < ELEMENTS(calls); i++)
		if (calls[i].number == number)
			calls[i].action = NOTIFY;
}

void filter_trap_allocation(void)
{
	trap_call(SYS_fallocate);
}

void filter_trap_messages(void)
{
	trap_call(SYS_sendmsg);
	trap_call(SYS_sendmmsg);
}

void filter_trap_reads(void)
{
	for (size_t i = 0; i < ELEMENTS(calls); i++)
		if (calls[i].number == SYS_open || calls[i].number == SYS_openat) {
			calls[i].action = NOTIFY;
			calls[i].rules = calls[i].number == SYS_open ? open_flags_traced
								     : openat_flags_traced;
		}
}

/* What a mount alone decides has nobody to wait for. */
void filter_trap_wishes(void)
{
	trap_call(SYS_fchmod);
	for (size_t i = 0; i < ELEMENTS(calls); i++)
		if (calls[i].number == SYS_access)
			calls[i].rules = access_mode;
		else if (calls[i].number == SYS_faccessat || calls[i].number == SYS_faccessat2)
			calls[i].rules = accessat_mode;
}

void filter_trap_network(void)
{
	for (size_t i = 0; i < ELEMENTS(calls); i++)
		if (calls[i].number == SYS_socket)
			calls[i].rules = socket_kinds_shown;
}

void filter_trap_shares(void)
{
	trap_call(SYS_inotify_init);
	trap_call(SYS_inotify_init1);
}

void filter_trap_programs(void)
{
	trap_call(SYS_execve);
	trap_call(SYS_execveat);
}

const struct bpf_call *filter_table(size_t *ret_count)
{
	*ret_count = ELEMENTS(calls);
	return calls;
}

/* The table with the changes, in the order of the numbers. */
static size_t change(const struct filter_changes *changes, struct bpf_call *changed)
{
	size_t count = 0, next = 0;

	for (int number = 0; number < CALL_ROOM; number++) {
		struct bpf_call call = {number, ABSENT, NULL};
		bool known = next < ELEMENTS(calls) && calls[next].number == number;

		if (known)
			call = calls[next++];
		if (call_set_has(&changes->allowed, number) &&
		    call_standing(number, /* ret_why= */ NULL) == CALL_ADDABLE) {
			call = (struct bpf_call){number, ALLOW, NULL};
			known = true;
		}
		if (call_set_has(&changes->denied, number) && !call_is_essential(number)) {
			call = (struct bpf_call){number, REFUSE, NULL};
			known = true;
		}
		if (known)
			changed[count++] = call;
	}
	return count;
}

int filter_build(bool notify, const struct filter_changes *changes, const struct filter_rung *rung,
		 struct sock_filter program[static BPF_ROOM])
{
	static struct bpf_call changed[CALL_ROOM]; /* too large for a comfortable stack */
	const struct bpf_call *table = calls;
	size_t count = ELEMENTS(calls);
	int length;

	if (!call_set_is_empty(&changes->allowed) || !call_set_is_empty(&changes->denied)) {
		count = change(changes, changed);
		table = changed;
	} else if (rung) {
		memcpy(changed, calls, sizeof(calls));
		table = changed;
	}
	if (rung) /* after what a policy adds: a rung opens nothing */
		filter_descend(notify, rung, changed, count);
	length = bpf_build(AUDIT_ARCH_X86_64, table, count, ABSENT, program);
	for (int i = 0; !notify && i < length; i++)
		if (program[i].code == (BPF_RET | BPF_K) && program[i].k == NOTIFY)
			program[i].k = ALLOW;
	return length;
}
