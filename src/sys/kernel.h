/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's newer interfaces as ward needs them: own definitions, because Debian 12's headers
 * stop earlier. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Processes */

struct kernel_clone {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
		set_tid_size, cgroup;
};

#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1U << 1)
#endif
#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

/* fork with flags. Only for a child with memory of its own (no CLONE_VM). */
static inline pid_t sys_clone3(struct kernel_clone *args)
{
	return (pid_t)syscall(SYS_clone3, args, sizeof(*args));
}

/* The same, by the older call where a filter around us does not let clone3 through: its flags hide
 * behind a pointer. */
static inline pid_t sys_clone_any(struct kernel_clone *args)
{
	pid_t pid = sys_clone3(args);

	if (pid < 0 && (errno == ENOSYS || errno == EPERM))
		pid = (pid_t)syscall(SYS_clone, args->flags | args->exit_signal, NULL,
				     (void *)(uintptr_t)args->pidfd, NULL, NULL);
	return pid;
}

static inline int sys_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* ioctls on a pidfd that open a namespace of its process; since Linux 6.11. */
#define PIDFD_OPEN_MOUNTS  _IO(0xff, 3)
#define PIDFD_OPEN_NETWORK _IO(0xff, 4)

/* Of one thread, and what is sent by it goes to that thread; EINVAL before Linux 6.9. */
static inline int sys_pidfd_open_thread(pid_t thread)
{
	return (int)syscall(SYS_pidfd_open, thread, O_EXCL);
}

static inline int sys_pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

static inline int sys_pidfd_send_signal(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

static inline int sys_openat2_making(int dirfd, const char *path, uint64_t flags, mode_t mode,
				     uint64_t resolve)
{
	struct open_how how = {.flags = flags, .mode = mode, .resolve = resolve};

	return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
}

static inline int sys_openat2(int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	return sys_openat2_making(dirfd, path, flags, /* mode= */ 0, resolve);
}

/* Mounts */

struct kernel_mount_attr {
	uint64_t set, clear, propagation, userns;
};

#define MOUNT_RDONLY	   0x1
#define MOUNT_NOSUID	   0x2
#define MOUNT_NODEV	   0x4
#define MOUNT_NOEXEC	   0x8
#define MOUNT_CLONE	   0x1	/* open_tree: OPEN_TREE_CLONE */
#define MOUNT_FROM_EMPTY   0x4	/* move_mount: MOVE_MOUNT_F_EMPTY_PATH */
#define MOUNT_TO_LINKS	   0x10 /* MOVE_MOUNT_T_SYMLINKS */
#define MOUNT_TO_EMPTY	   0x40
#define MOUNT_AT_RECURSIVE 0x8000

static inline int sys_open_tree(int dirfd, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dirfd, path, flags);
}

static inline int sys_move_mount(int from, const char *from_path, int to, const char *to_path,
				 unsigned flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int sys_mount_setattr(int dirfd, const char *path, unsigned flags, uint64_t set,
				    uint64_t clear)
{
	struct kernel_mount_attr attr = {.set = set, .clear = clear};

	return (int)syscall(SYS_mount_setattr, dirfd, path, flags, &attr, sizeof(attr));
}

/* A file system by parts: one is opened, set up, created and mounted nowhere yet. */
#define FS_FLAG	  0 /* fsconfig: FSCONFIG_SET_FLAG */
#define FS_STRING 1 /* FSCONFIG_SET_STRING */
#define FS_CREATE 6 /* FSCONFIG_CMD_CREATE */

static inline int sys_fsopen(const char *type)
{
	return (int)syscall(SYS_fsopen, type, 1 /* FSOPEN_CLOEXEC */);
}

static inline int sys_fsconfig(int fs, unsigned command, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, fs, command, key, value, 0);
}

static inline int sys_fsmount(int fs, unsigned attributes)
{
	return (int)syscall(SYS_fsmount, fs, 1 /* FSMOUNT_CLOEXEC */, attributes);
}

/* Landlock, up to ABI 7 */

struct landlock_ruleset {
	uint64_t fs, net, scoped;
};

struct landlock_path {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

#define LANDLOCK_EXECUTE     (1ULL << 0)
#define LANDLOCK_WRITE_FILE  (1ULL << 1)
#define LANDLOCK_READ_FILE   (1ULL << 2)
#define LANDLOCK_READ_DIR    (1ULL << 3)
#define LANDLOCK_REMOVE_DIR  (1ULL << 4)
#define LANDLOCK_REMOVE_FILE (1ULL << 5)
#define LANDLOCK_MAKE_CHAR   (1ULL << 6)
#define LANDLOCK_MAKE_DIR    (1ULL << 7)
#define LANDLOCK_MAKE_REG    (1ULL << 8)
#define LANDLOCK_MAKE_SOCK   (1ULL << 9)
#define LANDLOCK_MAKE_FIFO   (1ULL << 10)
#define LANDLOCK_MAKE_BLOCK  (1ULL << 11)
#define LANDLOCK_MAKE_SYM    (1ULL << 12)
#define LANDLOCK_REFER	     (1ULL << 13) /* ABI 2 */
#define LANDLOCK_TRUNCATE    (1ULL << 14) /* ABI 3 */
#define LANDLOCK_IOCTL_DEV   (1ULL << 15) /* ABI 5 */

#define LANDLOCK_BIND_TCP    (1ULL << 0) /* ABI 4 */
#define LANDLOCK_CONNECT_TCP (1ULL << 1) /* ABI 4 */

#define LANDLOCK_SCOPE_ABSTRACT (1ULL << 0) /* ABI 6 */
#define LANDLOCK_SCOPE_SIGNAL	(1ULL << 1) /* ABI 6 */

/* The ABI of the running kernel, 0 where there is no Landlock. */
static inline int sys_landlock_abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	return abi > 0 ? (int)abi : 0;
}

static inline int sys_landlock_create(const struct landlock_ruleset *ruleset, size_t size)
{
	return (int)syscall(SYS_landlock_create_ruleset, ruleset, size, 0);
}

static inline int sys_landlock_add(int ruleset, const struct landlock_path *rule)
{
	return (int)syscall(SYS_landlock_add_rule, ruleset, 1, rule, 0);
}

static inline int sys_landlock_restrict(int ruleset)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* seccomp user notification */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

#define NOTIFY_SET_FLAGS    _IOW('!', 4, uint64_t) /* Linux 6.6 */
#define NOTIFY_SYNC_WAKE_UP 1ul
#define NOTIFY_ADDFD_SEND   2u /* Linux 5.14 */

static inline int sys_seccomp(unsigned operation, unsigned flags, void *args)
{
	return (int)syscall(SYS_seccomp, operation, flags, args);
}

/* Magic numbers of file systems, for fstatfs */
#define MAGIC_PIPEFS 0x50495045
