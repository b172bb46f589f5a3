/* SPDX-License-Identifier: Apache-2.0 */
/* What happens before the C library does, and what is made of it.
 *
 * The maker is a process of its own that has ward's memory, table of fds and dispositions of
 * signals, so that its birth costs little and a birth that it gives needs no message. It makes the
 * namespaces, waits to be told what shall begin in them, forks that as a child of ward, and goes.
 * It runs before anything was judged, and holds nothing: namespaces that nobody is in.
 *
 * Up to _start there is no library, no errno, no thread pointer and no relocated address. What runs
 * there, and in the maker, calls nothing but raw(), is not instrumented, and has its larger objects
 * in static memory, because the compiler clears others by calling memset. */
#include "ahead.h"
#include "../sys/kernel.h"

#include <linux/futex.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define BEFORE_THE_LIBRARY \
	__attribute__((noinline, no_stack_protector, no_sanitize("address", "undefined")))

enum {
	PATIENCE = 2,  /* seconds after which a maker that nobody asks goes by itself */
	SPINS = 20000, /* looks at the wish, before it is waited for: to be woken takes longer */
};

#define NAMESPACES \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

enum { POPULATE_WRITE = 23 }; /* madvise; Linux 5.14 */
enum wish { NONE, BIRTH, LEAVE };
enum came { NOTHING, CHILD, FAILURE };

static struct {
	pid_t maker, parent;
	int wish; /* a futex: what the maker is to do */
	int came; /* a futex: what came of it */
	struct kernel_clone birth;
	void (*begin)(void);
	pid_t child;
	int pidfd;
	unsigned long home[CPU_SETSIZE / CHAR_BIT / sizeof(long)],
		others[CPU_SETSIZE / CHAR_BIT / sizeof(long)];
} ahead;

static char stack[4096] __attribute__((aligned(16))); /* the maker's: it takes no signals */

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

/* `ward run` of a command that will want them all. Wrong guesses cost time only. */
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
	/* In somebody else's workspace root becomes that somebody, who has no power over root's
	 * namespaces. */
	return raw(SYS_geteuid, 0, 0, 0, 0) != 0 ||
	       (raw(SYS_stat, (long)".", (long)&here, 0, 0) == 0 && here.st_uid == 0);
}

/* The child begins with the stack and the thread pointer of who asked for it, in a memory of its
 * own. */
BEFORE_THE_LIBRARY static long bear(void)
{
	register void (*begin)(void) __asm__("rbx") = ahead.begin;
	long result = SYS_clone3;

	__asm__ volatile("	syscall\n"
			 "	test %%rax, %%rax\n"
			 "	jnz 1f\n"
			 "	xor %%ebp, %%ebp\n"
			 "	call *%%rbx\n"
			 "	hlt\n"
			 "1:"
			 : "+a"(result)
			 : "D"(&ahead.birth), "S"(sizeof(ahead.birth)), "r"(begin)
			 : "rcx", "r11", "memory");
	return result;
}

BEFORE_THE_LIBRARY static void answer(enum came came)
{
	__atomic_store_n(&ahead.came, came, __ATOMIC_RELEASE);
	raw(SYS_futex, (long)&ahead.came, FUTEX_WAKE, 1, 0);
}

BEFORE_THE_LIBRARY static bool is_told_to_bear(void)
{
	struct timespec patience = {.tv_sec = PATIENCE};
	int none = NONE;

	for (int i = 0; i < SPINS && __atomic_load_n(&ahead.wish, __ATOMIC_ACQUIRE) == NONE; i++)
		__builtin_ia32_pause();
	/* A wake-up by nobody in particular shortens the patience. */
	if (__atomic_load_n(&ahead.wish, __ATOMIC_ACQUIRE) == NONE)
		raw(SYS_futex, (long)&ahead.wish, FUTEX_WAIT, NONE, (long)&patience);
	return !__atomic_compare_exchange_n(&ahead.wish, &none, LEAVE, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE) &&
	       none == BIRTH;
}

BEFORE_THE_LIBRARY __attribute__((noreturn, used)) static void ahead_maker(void)
{
	raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0);
	raw(SYS_sched_setaffinity, 0, sizeof(ahead.home), (long)ahead.home, 0);
	/* Root's groups go, as they do from ward; others cannot give theirs up. */
	if (raw(SYS_getppid, 0, 0, 0, 0) == ahead.parent &&
	    (raw(SYS_geteuid, 0, 0, 0, 0) != 0 || raw(SYS_setgroups, 0, 0, 0, 0) == 0) &&
	    raw(SYS_unshare, NAMESPACES, 0, 0, 0) == 0 && is_told_to_bear()) {
		ahead.child = (pid_t)bear();
		answer(ahead.child > 0 ? CHILD : FAILURE);
	} else {
		answer(FAILURE);
	}
	for (;;)
		raw(SYS_exit_group, 0, 0, 0, 0);
}

/* A new process is left on its parent's processor while the next one idles; see sys/place.c. It
 * frees itself as soon as it runs. */
BEFORE_THE_LIBRARY static bool find_place(void)
{
	unsigned here = 0;
	unsigned long left = 0;

	if (raw(SYS_getcpu, (long)&here, 0, 0, 0) < 0 || here >= CPU_SETSIZE ||
	    raw(SYS_sched_getaffinity, 0, sizeof(ahead.home), (long)ahead.home, 0) < 0)
		return false;
	for (unsigned i = 0; i < sizeof(ahead.home) / sizeof(long); i++) {
		ahead.others[i] = ahead.home[i];
		if (i == here / 64)
			ahead.others[i] &= ~(1ul << here % 64);
		left |= ahead.others[i];
	}
	return left != 0;
}

/* The library writes addresses to nearly all pages of data. Where one was read before, another
 * processor that this memory is in use on has to be told of each; and faults cost more than this.
 */
BEFORE_THE_LIBRARY static void fill_data(void)
{
	extern char __init_array_start[] __attribute__((visibility("hidden")));
	extern char _edata[] __attribute__((visibility("hidden")));
	const uintptr_t first = (uintptr_t)__init_array_start & ~(uintptr_t)4095;

	raw(SYS_madvise, (long)first, (long)((uintptr_t)_edata - first), POPULATE_WRITE, 0);
}

BEFORE_THE_LIBRARY static void start_maker(void)
{
	long flags = CLONE_VM | CLONE_FILES | CLONE_SIGHAND | SIGCHLD, result = SYS_clone;
	unsigned long all = ~(3ul << 31), mask = 0; /* but the library's own two */

	/* With one processor there is nothing to gain. */
	if (!find_place())
		return;
	ahead.parent = (pid_t)raw(SYS_getpid, 0, 0, 0, 0);
	raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&mask, sizeof(mask));
	__asm__ volatile("	xor %%r10d, %%r10d\n"
			 "	xor %%r8d, %%r8d\n"
			 "	syscall\n"
			 "	test %%rax, %%rax\n"
			 "	jnz 1f\n"
			 "	xor %%ebp, %%ebp\n"
			 "	call ahead_maker\n"
			 "1:"
			 : "+a"(result)
			 : "D"(flags), "S"(stack + sizeof(stack)), "d"(0)
			 : "rcx", "r8", "r10", "r11", "memory");
	raw(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, sizeof(mask));
	if (result <= 0)
		return;
	ahead.maker = (pid_t)result;
	raw(SYS_sched_setaffinity, ahead.maker, sizeof(ahead.others), (long)ahead.others, 0);
}

BEFORE_THE_LIBRARY __attribute__((used)) static void ahead_begin(long *stack_at_start)
{
	if (is_wanted((char **)(stack_at_start + 1))) {
		start_maker();
		fill_data();
	}
}

/* _start finds its registers and its stack as the kernel left them. */
__asm__("	.text\n"
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
	"	.size ward_entry, .-ward_entry\n");

/* From here on there is a library, and this is ward itself. */

uint64_t ahead_namespaces(void)
{
	return NAMESPACES;
}

/* Of ward, not of somebody that ward forked. */
static bool is_there(void)
{
	return ahead.maker > 0 && getpid() == ahead.parent;
}

static bool tell(enum wish wish)
{
	int none = NONE;

	if (!__atomic_compare_exchange_n(&ahead.wish, &none, wish, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return false;
	syscall(SYS_futex, &ahead.wish, FUTEX_WAKE, 1, NULL, NULL, 0);
	return true;
}

bool ahead_bear(uint64_t flags, void (*begin)(void))
{
	uintptr_t top = (uintptr_t)__builtin_frame_address(0);

	if (!is_there())
		return false;
	/* What lies below this frame is nobody's. */
	ahead.birth = (struct kernel_clone){
		.flags = flags | CLONE_FILES | CLONE_PIDFD | CLONE_PARENT | CLONE_SETTLS,
		.pidfd = (uint64_t)(uintptr_t)&ahead.pidfd,
		.stack = (top & ~(uintptr_t)4095) - (64 << 10),
		.stack_size = 32 << 10,
		.tls = (uint64_t)(uintptr_t)__builtin_thread_pointer(),
	};
	ahead.begin = begin;
	return tell(BIRTH);
}

pid_t ahead_wait(int *ret_pidfd)
{
	const struct timespec tick = {.tv_nsec = 100000000};
	pid_t maker = ahead.maker;

	ahead.maker = 0;
	while (__atomic_load_n(&ahead.came, __ATOMIC_ACQUIRE) == NOTHING) {
		syscall(SYS_futex, &ahead.came, FUTEX_WAIT, NOTHING, &tick, NULL, 0);
		/* Whoever killed it spares us the wait. */
		if (__atomic_load_n(&ahead.came, __ATOMIC_ACQUIRE) == NOTHING &&
		    waitpid(maker, NULL, WNOHANG) != 0)
			return -1;
	}
	while (waitpid(maker, NULL, 0) < 0 && errno == EINTR)
		;
	if (ahead.came != CHILD)
		return -1;
	*ret_pidfd = ahead.pidfd;
	return ahead.child;
}

__attribute__((destructor)) void ahead_dismiss(void)
{
	if (!is_there())
		return;
	tell(LEAVE);
	while (waitpid(ahead.maker, NULL, 0) < 0 && errno == EINTR)
		;
	ahead.maker = 0;
}
