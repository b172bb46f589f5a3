/* SPDX-License-Identifier: Apache-2.0 */
/* Names come from the kernel headers at build time (tools/system-calls). A library for them would
 * be linked into a program whose start is waited for. */
#include "calls.h"

#include <string.h>

static const struct {
	char name[28];
	uint16_t number;
} table[] = {
#include <system-calls.h> /* made by the build */
	/* Newer than Debian 12's headers. */
	{"cachestat", 451},	    {"fchmodat2", 452},	       {"map_shadow_stack", 453},
	{"futex_wake", 454},	    {"futex_wait", 455},       {"futex_requeue", 456},
	{"statmount", 457},	    {"listmount", 458},	       {"lsm_get_self_attr", 459},
	{"lsm_set_self_attr", 460}, {"lsm_list_modules", 461}, {"mseal", 462},
	{"setxattrat", 463},	    {"getxattrat", 464},       {"listxattrat", 465},
	{"removexattrat", 466},	    {"open_tree_attr", 467},
};

/* What the filter refuses to everyone. Each is named once, here or among the addable. */
static const struct {
	const char *names, *why;
} never[] = {
	{"io_uring_setup io_uring_enter io_uring_register",
	 "what is asked for through it passes every filter by"},
	{"clone3 openat2", "its flags lie in memory, where no filter sees them"},
	{"mount umount2 pivot_root chroot open_tree open_tree_attr move_mount fsopen fsconfig "
	 "fsmount "
	 "fspick mount_setattr",
	 "walls are made of mounts, and it moves them"},
	{"setns", "it leads into other namespaces"},
	{"open_by_handle_at", "it opens files without their names, past every mask"},
	{"bpf perf_event_open userfaultfd", "it reaches too deep into the kernel"},
	{"add_key request_key keyctl", "the kernel's keyrings are shared with the host"},
	{"fanotify_init fanotify_mark", "it watches what others do with their files"},
	{"setxattrat removexattrat", "it changes attributes unseen by the supervisor"},
	{"lsm_set_self_attr", "it changes the rules that security modules hold a program to"},
	{"init_module finit_module delete_module create_module get_kernel_syms query_module "
	 "kexec_load "
	 "kexec_file_load reboot swapon swapoff acct settimeofday adjtimex clock_settime "
	 "clock_adjtime "
	 "sethostname setdomainname iopl ioperm quotactl quotactl_fd nfsservctl _sysctl vhangup",
	 "it administers the machine"},
	{"uselib vserver afs_syscall tuxcall security getpmsg putpmsg epoll_ctl_old epoll_wait_old "
	 "get_thread_area set_thread_area",
	 "kernels do not have it any more"},
};

/* Few programs need these, and nobody else is touched by them. */
static const char addable[] =
	"modify_ldt move_pages migrate_pages name_to_handle_at syslog ustat sysfs lookup_dcookie "
	"memfd_secret statmount listmount getxattrat listxattrat lsm_get_self_attr "
	"lsm_list_modules";

/* What init does behind the filter, and a loader before main. */
static const char essential[] =
	"read write close openat fstat newfstatat mmap munmap mprotect brk pread64 access "
	"arch_prctl "
	"set_tid_address set_robust_list rseq futex prlimit64 getrandom execve exit exit_group "
	"rt_sigaction rt_sigprocmask rt_sigreturn restart_syscall vfork clone poll waitid wait4 "
	"kill "
	"ioctl fcntl dup2 setpgid setsid getpid prctl signalfd4 close_range getrusage "
	"clock_nanosleep clock_gettime landlock_create_ruleset landlock_add_rule "
	"landlock_restrict_self sigaltstack";

bool call_set_is_empty(const struct call_set *set)
{
	uint64_t any = 0;

	for (size_t i = 0; i < ELEMENTS(set->bits); i++)
		any |= set->bits[i];
	return any == 0;
}

int call_number(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(table); i++)
		if (strcmp(table[i].name, name) == 0 && table[i].number < CALL_ROOM)
			return table[i].number;
	return -1;
}

const char *call_name(int number)
{
	for (size_t i = 0; i < ELEMENTS(table); i++)
		if (table[i].number == number)
			return table[i].name;
	return NULL;
}

/* Whether the words, separated by blanks, hold this one. */
static bool names_it(const char *words, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = words; (at = strstr(at, name)); at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return true;
	return false;
}

enum call_standing call_standing(int number, const char **ret_why)
{
	const char *name = call_name(number);

	for (size_t i = 0; name && i < ELEMENTS(never); i++)
		if (names_it(never[i].names, name)) {
			if (ret_why)
				*ret_why = never[i].why;
			return CALL_NEVER;
		}
	return name && names_it(addable, name) ? CALL_ADDABLE : CALL_GIVEN;
}

bool call_is_essential(int number)
{
	const char *name = call_name(number);

	return name && names_it(essential, name);
}

static int unknown(const char *name, enum error_code code, struct error **ret_error)
{
	fail(ret_error, code, "'%s' is not the name of a system call", name);
	return error_hint(ret_error, "write it as the kernel's manual does: ptrace, mlock ...");
}

int call_check_allow(const char *name, enum error_code code, struct error **ret_error)
{
	int number = call_number(name);
	const char *why;

	if (number < 0)
		return unknown(name, code, ret_error);
	if (call_standing(number, &why) != CALL_NEVER)
		return 0;
	fail(ret_error, code, "the system call '%s' is never allowed in a sandbox: %s", name, why);
	return error_hint(ret_error, "leave it out; what cannot do without it runs without the "
				     "sandbox: --level none");
}

int call_check_deny(const char *name, enum error_code code, struct error **ret_error)
{
	int number = call_number(name);

	if (number < 0)
		return unknown(name, code, ret_error);
	if (!call_is_essential(number))
		return 0;
	fail(ret_error, code,
	     "the system call '%s' cannot be denied: no program, or not ward's init, does without",
	     name);
	return error_hint(ret_error, "leave it out");
}
