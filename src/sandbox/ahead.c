/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before the C library does.
 *
 * The maker is forked while ward has next to no memory, makes the namespaces, and waits. Meanwhile
 * ward's own library starts, which takes as long: half of it asks what the processor can do. Then
 * the midwife is forked, a copy of ward as it is when main begins: as soon as the namespaces are
 * there it joins them, and bears init into a pid namespace, as ward's child, which takes over her
 * memory. So init has its library from birth, and nothing of what ward does from then on. All share
 * the table of fds, as later. Nothing was judged by then, and nothing is in the namespaces but
 * init, which waits to be told what to run.
 *
 * Up to _start there is no library, no errno, no thread pointer and no relocated address. What runs
 * there calls nothing but raw(), is not instrumented, and has its larger objects in static memory,
 * because the compiler clears others by calling memset. */
#include "ahead.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define BEFORE_THE_LIBRARY \
	__attribute__((noinline, no_stack_protector, no_sanitize("address", "undefined")))

#define NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

enum { WORDS = CPU_SETSIZE / CHAR_BIT / sizeof(long) };

/* What the midwife tells of init. */
struct birth {
	int pid, pidfd;
};

static struct {
	int parent;	     /* ward, as it is called outside; 0: nothing was begun */
	int maker, maker_fd; /* and its pidfd */
	int midwife, midwife_fd;
	bool is_init, waited;
	struct ahead_begun begun;
	int made[2]; /* a pipe, for one byte */
	int told[2]; /* another, for a struct birth */
	struct birth birth;
	unsigned long home[WORDS], others[WORDS]; /* processors */
} ahead;

BEFORE_THE_LIBRARY static long raw(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}

BEFORE_THE_LIBRARY static bool begins(const char *word, const char *with, bool whole)
{
	while (*word && *word == *with)
		word++, with++;
	return *with == '\0' && (!whole || *word == '\0');
}

/* `ward run` of a command that will want all of them. Wrong guesses cost time only. */
BEFORE_THE_LIBRARY static bool is_wanted(char **argv)
{
	struct stat here;

	if (!argv[0] || !argv[1] || !begins(argv[1], "run", true))
		return false;
	for (char **word = argv + 2;
	     *word && !begins(*word, "--", true) && !begins(*word, "-c", true); word++)
		if (begins(*word, "--level", false) || begins(*word, "--net", false) ||
		    begins(*word, "--help", true) || begins(*word, "--workspace", false))
			return false;
	/* Streams that are not open are main's to open. */
	for (int fd = 0; fd < 3; fd++)
		if (raw(SYS_fcntl, fd, F_GETFD, 0, 0) < 0)
			return false;
	/* In somebody else's workspace root becomes that somebody, who has no power over root's
	 * namespaces. */
	return raw(SYS_geteuid, 0, 0, 0, 0) != 0 ||
	       (raw(SYS_stat, (long)".", (long)&here, 0, 0) == 0 && here.st_uid == 0);
}

/* A new process is left on its parent's processor while the next one idles; see sys/place.c. With
 * one processor there is nothing to gain. */
BEFORE_THE_LIBRARY static bool find_place(void)
{
	unsigned here = 0;
	unsigned long left = 0;

	if (raw(SYS_getcpu, (long)&here, 0, 0, 0) < 0 || here >= CPU_SETSIZE ||
	    raw(SYS_sched_getaffinity, 0, sizeof(ahead.home), (long)ahead.home, 0) < 0)
		return false;
	for (unsigned i = 0; i < WORDS; i++) {
		ahead.others[i] = ahead.home[i];
		if (i == here / 64)
			ahead.others[i] &= ~(1ul << here % 64);
		left |= ahead.others[i];
	}
	return left != 0;
}

/* What the maker has no need of, and so need not wait for. */
BEFORE_THE_LIBRARY static bool open_ends(void)
{
	ahead.begun.uid = (uid_t)raw(SYS_geteuid, 0, 0, 0, 0);
	ahead.begun.gid = (gid_t)raw(SYS_getegid, 0, 0, 0, 0);
	ahead.begun.supervisor = (int)raw(SYS_pidfd_open, ahead.parent, 0, 0, 0);
	/* Fds that are opened only in part end with ward, which is short of them. */
	return ahead.begun.supervisor >= 0 &&
	       raw(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
		   (long)ahead.begun.control) == 0 &&
	       raw(SYS_pipe2, (long)ahead.told, O_CLOEXEC, 0, 0) == 0;
}

/* Stays until it is ended: the namespaces are had by way of it. */
BEFORE_THE_LIBRARY static void make(void)
{
	raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	raw(SYS_sched_setaffinity, 0, sizeof(ahead.home), (long)ahead.home, 0);
	if (raw(SYS_getppid, 0, 0, 0, 0) == ahead.parent &&
	    raw(SYS_unshare, NAMESPACES, 0, 0, 0) == 0 &&
	    raw(SYS_write, ahead.made[1], (long)&ahead.parent, 1, 0) == 1)
		for (;;)
			raw(SYS_pause, 0, 0, 0, 0);
	for (;;)
		raw(SYS_exit_group, 0, 0, 0, 0);
}

BEFORE_THE_LIBRARY __attribute__((used)) static void ahead_begin(long *stack_at_start)
{
	unsigned long all = ~0ul, mask = 0;
	int maker;

	if (!is_wanted((char **)(stack_at_start + 1)) || !find_place())
		return;
	if (raw(SYS_pipe2, (long)ahead.made, O_CLOEXEC, 0, 0) < 0)
		return;
	ahead.parent = (int)raw(SYS_getpid, 0, 0, 0, 0);
	raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask, sizeof(mask));
	maker = (int)raw(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, 0, (long)&ahead.maker_fd,
			 0);
	if (maker == 0)
		make();
	else if (maker > 0)
		raw(SYS_sched_setaffinity, maker, sizeof(ahead.others), (long)ahead.others, 0);
	raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
	ahead.maker = maker;
	if (maker > 0 && open_ends())
		return;
	if (maker > 0) {
		raw(SYS_kill, maker, SIGKILL, 0, 0);
		raw(SYS_wait4, maker, 0, 0, 0);
	}
	ahead.parent = 0;
}

/* _start finds its registers and its stack as the kernel left them. */
__asm__("	.section .text.ward_entry,\"ax\",@progbits\n"
	"	.globl ward_entry\n"
	"	.type ward_entry, @function\n"
	"ward_entry:\n"
	"	endbr64\n"
	"	push %rdx\n"
	"	lea 8(%rsp), %rdi\n"
	"	sub $8, %rsp\n"
	"	call ahead_begin\n"
	"	add $8, %rsp\n"
	"	pop %rdx\n"
	"	jmp _start\n"
	"	.size ward_entry, .-ward_entry\n"
	"	.text\n");

/* From here on there is a library. */

uint64_t ahead_namespaces(void)
{
	return NAMESPACES;
}

/* Of ward, not of somebody that ward forked. */
static bool is_there(void)
{
	return ahead.parent > 0 && !ahead.is_init && getpid() == ahead.parent;
}

/* Init takes over the midwife's memory, stack and all, because a copy takes a twentieth of a start.
 * She waits in this call as long as init lives, or until she is ended, and then must not look at
 * any of it: behind the call she only ends. */
static void become_init(void)
{
	struct kernel_clone arguments = {.flags = CLONE_NEWPID | CLONE_FILES | CLONE_PARENT |
						  CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_VM |
						  CLONE_VFORK,
					 .pidfd = (uint64_t)(uintptr_t)&ahead.birth.pidfd,
					 .parent_tid = (uint64_t)(uintptr_t)&ahead.birth.pid};
	long result = SYS_clone3;

	__asm__ volatile("	syscall\n"
			 "	test %%rax, %%rax\n"
			 "	jz 1f\n"
			 "	mov %[end], %%eax\n"
			 "	xor %%edi, %%edi\n"
			 "	syscall\n"
			 "	hlt\n"
			 "1:\n"
			 : "+a"(result)
			 : "D"(&arguments), "S"(sizeof(arguments)), [end] "i"(SYS_exit_group)
			 : "rcx", "r11", "memory");
}

/* Returns as init, or not at all. */
static void bear(void)
{
	struct pollfd events[] = {{ahead.made[0], POLLIN, 0}, {ahead.maker_fd, POLLIN, 0}};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Root's groups go, as they do from ward; others cannot give theirs up. */
	if (getppid() == ahead.parent && poll(events, ELEMENTS(events), -1) > 0 &&
	    events[0].revents & POLLIN &&
	    (ahead.begun.uid != 0 || syscall(SYS_setgroups, 0, NULL) == 0) &&
	    setns(ahead.maker_fd, NAMESPACES) == 0) {
		become_init();
		/* Whoever is told may tell us any moment where to run, and we are not to. */
		(void)syscall(SYS_sched_setaffinity, 0, sizeof(ahead.others), ahead.others);
		ahead.is_init = true;
		(void)!write(ahead.told[1], &ahead.birth, sizeof(ahead.birth));
		return;
	}
	_exit(0);
}

bool ahead_bear(struct ahead_begun *ret_begun)
{
	sigset_t every, before;

	if (!is_there())
		return false;
	sigfillset(&every);
	sigprocmask(SIG_SETMASK, &every, &before);
	ahead.midwife = (int)syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, NULL,
				     &ahead.midwife_fd, NULL, NULL);
	if (ahead.midwife == 0)
		bear();
	else if (ahead.midwife < 0)
		ahead.midwife_fd = -1;
	else
		(void)syscall(SYS_sched_setaffinity, ahead.midwife, sizeof(ahead.others),
			      ahead.others);
	sigprocmask(SIG_SETMASK, &before, NULL);
	*ret_begun = ahead.begun;
	return ahead.is_init;
}

int ahead_self(void)
{
	return ahead.is_init ? ahead.birth.pidfd : -1;
}

void ahead_settle(void)
{
	if (ahead.is_init)
		(void)syscall(SYS_sched_setaffinity, 0, sizeof(ahead.home), ahead.home);
}

bool ahead_take(uid_t uid, gid_t gid, struct ahead_begun *ret_begun)
{
	if (!is_there() || ahead.begun.uid != uid || ahead.begun.gid != gid)
		return false;
	*ret_begun = ahead.begun;
	ahead.begun.control[0] = ahead.begun.control[1] = ahead.begun.supervisor = -1;
	return true;
}

pid_t ahead_wait(int *ret_pidfd)
{
	struct pollfd events[] = {{ahead.told[0], POLLIN, 0}, {ahead.midwife_fd, POLLIN, 0}};
	struct birth birth = {.pid = -1};

	/* Both ends of the pipe are ours, so whoever kills the midwife is seen by that alone. */
	while (ahead.midwife > 0 && poll(events, ELEMENTS(events), -1) < 0 && errno == EINTR)
		;
	if (poll(events, 1, 0) <= 0 || read(ahead.told[0], &birth, sizeof(birth)) != sizeof(birth))
		birth.pid = -1;
	for (int i = 0; i < 2; i++) {
		close_fd(&ahead.told[i]);
		close_fd(&ahead.made[i]);
	}
	ahead.waited = true;
	*ret_pidfd = birth.pid > 0 ? birth.pidfd : -1;
	return birth.pid > 0 ? birth.pid : -1;
}

/* Where we are, not where init is at work: to end takes a process as long as init for a tenth of
 * the walls, and init is waited for. */
static void end(pid_t pid, int *fd)
{
	cpu_set_t here;
	int at = sched_getcpu();

	if (*fd < 0)
		return;
	CPU_ZERO(&here);
	if (at >= 0 && at < CPU_SETSIZE) {
		CPU_SET(at, &here);
		(void)sched_setaffinity(pid, sizeof(here), &here);
	}
	(void)sys_pidfd_send_signal(*fd, SIGKILL);
	close_fd(fd);
}

static void reap(int *pid, int how)
{
	int r = 0;

	while (*pid > 0 && (r = waitpid(*pid, NULL, how)) < 0 && errno == EINTR)
		;
	if (r != 0)
		*pid = 0;
}

static void tidy(int how)
{
	end(ahead.midwife, &ahead.midwife_fd);
	end(ahead.maker, &ahead.maker_fd);
	reap(&ahead.midwife, how);
	reap(&ahead.maker, how);
}

void ahead_tidy(void)
{
	if (is_there() && ahead.waited)
		tidy(WNOHANG);
}

__attribute__((destructor)) void ahead_dismiss(void)
{
	int pidfd;
	pid_t init;

	if (!is_there())
		return;
	if (!ahead.waited) {
		init = ahead_wait(&pidfd);
		if (init > 0) {
			(void)sys_pidfd_send_signal(pidfd, SIGKILL);
			while (waitpid(init, NULL, 0) < 0 && errno == EINTR)
				;
		}
		close_fd(&pidfd);
		close_fd(&ahead.begun.control[0]);
		close_fd(&ahead.begun.control[1]);
		close_fd(&ahead.begun.supervisor);
	}
	tidy(0);
}
