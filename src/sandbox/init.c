/* SPDX-License-Identifier: Apache-2.0 */
/* Pid 1 of the sandbox: starts the command, reaps, passes on stops and signals, and ends everything
 * when it goes.
 *
 * It stands under the same filter as the command. It takes orders only over its control socket,
 * never by signal: signals that pid 1 has no handler for cannot be sent to it from inside. It is
 * session leader, so that the command is not and can be stopped from the keyboard. */
#include "container/container.h"
#include "stage.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

/* How much longer than the supervisor we wait, so that it is the supervisor who tells of the
 * time-out. */
static const uint64_t grace_ns = 1000000000;

struct init {
	const struct sandbox *sandbox;
	struct init_fds fds;
	int slave;
	bool alone; /* pid 1 of a namespace: what it leaves behind dies with it */
	const struct rung *rung;
	const uint32_t *pass; /* four words that let us signal where the filter would ask */
	pid_t command;
	uint64_t deadline; /* 0: none */
	unsigned pauses;   /* that have not ended */
	uint64_t paused;   /* since when */
	bool held;	   /* stops are the supervisor's until then */
	pid_t messenger;   /* who delivers a signal by the runtime; 0: nobody */
	int delivered;	   /* that signal */
	uint64_t waiting;  /* signals that come after it, each once: bit n - 1 */
};

/* What the keyboard sends to whoever has the terminal. Where a runtime is started that is us: its
 * helpers would die of it. */
static const int of_keyboard[] = {SIGINT, SIGQUIT, SIGTSTP, SIGWINCH, SIGHUP};

static void send_signal(const struct init *init, pid_t pid, int signal)
{
	(void)syscall(SYS_kill, pid, signal, init->pass[0], init->pass[1], init->pass[2],
		      init->pass[3]);
}

/* Nobody can read our memory, not even the supervisor: what is to be started, where that is shown
 * to it, stands in an argument that execve does not look at. */
static void start(const struct sandbox *sandbox, size_t candidate, const char *path,
		  char *const *argv)
{
	(void)syscall(SYS_execve, path, argv, sandbox->environment, candidate);
}

/* A file that cannot be run says more than none found. */
int init_execute(const struct sandbox *sandbox)
{
	int result = ENOENT;

	for (size_t i = 0; i < sandbox->candidates->count; i++) {
		const char *path = sandbox->candidates->items[i];

		if (sandbox->candidates->count > 1 && access(path, F_OK) < 0)
			continue; /* cheaper than an execve that fails, and a closed directory of
				     PATH holds nothing */
		start(sandbox, i, path, sandbox->argv);
		if (errno == ENOEXEC) {
			/* A script without its first line, which every shell runs as its own. */
			size_t count = 0;

			while (sandbox->argv[count])
				count++;
			char *script[count + 2];

			script[0] = (char *)"sh";
			script[1] = (char *)path;
			for (size_t n = 1; n <= count; n++)
				script[n + 1] = sandbox->argv[n];
			start(sandbox, i | INIT_BY_SHELL, SHELL_OF_SCRIPTS, script);
		}
		if (errno == EACCES && access(path, F_OK) < 0)
			continue; /* a directory of PATH that is closed to us: nothing was found
				     there */
		if (errno != ENOENT && errno != ENOTDIR)
			result = errno;
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			break;
	}
	return result;
}

static int descriptor_for(const struct init *init, const struct stdio *stdio)
{
	switch (stdio->kind) {
	case STDIO_FD:
		return stdio->fd;
	case STDIO_TERMINAL:
		return init->slave;
	case STDIO_FILE:
	case STDIO_NULL:
		break;
	}
	return init->fds.input;
}

/* In the child, which shares our memory until it executes something. */
static void become_command(const struct init *init, volatile int *failed)
{
	const struct sandbox *sandbox = init->sandbox;
	int fds[3];

	setpgid(0, 0);
	if (init->slave >= 0 && sandbox->foreground) {
		sigset_t ttou;

		sigemptyset(&ttou);
		sigaddset(&ttou, SIGTTOU);
		sigprocmask(SIG_BLOCK, &ttou, NULL); /* still in the background ourselves */
		tcsetpgrp(init->slave, getpid());
	}
	for (int i = 0; i < 3; i++) {
		fds[i] = descriptor_for(init, &sandbox->stdio[i]);
		/* Away from 0 to 2, so that one dup2 cannot overwrite what the next one needs. */
		if (fds[i] >= 0)
			fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
	}
	for (int i = 0; i < 3; i++) {
		if (fds[i] < 0 || dup2(fds[i], i) < 0) {
			*failed = errno ? errno : EBADF;
			_exit(127);
		}
	}
	/* Those that ward itself ignores. */
	signal(SIGTTOU, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGALRM, SIG_DFL); /* the supervisor's own, where it has served before */
	signal(SIGPIPE, sandbox->ignores_pipe ? SIG_IGN : SIG_DFL);
	signal(SIGCHLD, sandbox->ignores_child ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &sandbox->signal_mask, NULL);
	if (sandbox->files) { /* only now: those above are higher numbers */
		struct rlimit limit;

		if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
			limit.rlim_max = MIN(limit.rlim_max, (rlim_t)sandbox->files);
			limit.rlim_cur = MIN(limit.rlim_cur, limit.rlim_max);
			(void)setrlimit(RLIMIT_NOFILE, &limit);
		}
	}
	if (init->rung->lost & WALL_BIT(WALL_PID_NAMESPACE) &&
	    landlock_leave_init(init->rung->abi) < 0) {
		*failed = errno;
		_exit(127);
	}
	*failed = init_execute(sandbox);
	_exit(127);
}

/* What everything inside used: the kernel adds reaped children to their reaper. */
static void count_resources(const struct init *init, struct init_event *event)
{
	struct rusage usage;
	char text[32];
	ssize_t length = 0;

	if (getrusage(RUSAGE_CHILDREN, &usage) == 0) {
		event->cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
				(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
		event->max_rss_kb = (uint64_t)usage.ru_maxrss;
		event->read_bytes = (uint64_t)usage.ru_inblock * 512;
		event->written_bytes = (uint64_t)usage.ru_oublock * 512;
	}
	if (init->alone)
		length = pread(init->fds.tasks, text, sizeof(text) - 1, 0);
	if (length > 0) {
		text[length] = '\0';
		event->tasks = strtoull(text, NULL, 10) - 1; /* without ourselves */
	}
}

/* Without a pid namespace the orphans are ours, as subreaper: killing one generation makes the next
 * one ours. */
static void end_children(const struct init *init)
{
	char text[4096];

	for (int round = 0; round < 100000; round++) {
		ssize_t length = pread(init->fds.tasks, text, sizeof(text) - 1, 0);

		text[MAX(length, 0)] = '\0';
		for (char *next = text; *next;) {
			pid_t pid = (pid_t)strtol(next, &next, 10);

			/* A whole group at once: who forks without end cannot be outrun one by one.
			 * All groups below us are of our session or of younger ones. */
			if (pid > 1 && getpgid(pid) > 1 && getpgid(pid) != getpgrp())
				send_signal(init, -getpgid(pid), SIGKILL);
			if (pid > 1)
				send_signal(init, pid, SIGKILL);
			while (*next == ' ')
				next++;
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0)
			return; /* ECHILD: none are left */
		usleep(100);
	}
}

static _Noreturn void leave(const struct init *init)
{
	if (!init->alone) {
		if (init->command > 1)
			send_signal(init, -init->command, SIGKILL);
		end_children(init);
	}
	_exit(0);
}

static void tell(const struct init *init, const struct init_event *event)
{
	/* If nobody listens any more, the end of file on the same socket ends us. */
	(void)!write(init->fds.control, event, sizeof(*event));
}

/* What the runtime's end means: it was told inside how the command ended. Where that was never
 * told its kernel is gone, and the command with it; or it has not come as far as that. */
static void learn_end(const struct keeper *keeper, struct init_event *end)
{
	struct apart_end told = {0};

	if (pread(keeper->end, &told, sizeof(told), 0) != sizeof(told) || !told.begun) {
		end->unmade = end->status != SIGKILL;
		return;
	}
	end->exec_error = told.exec_error;
	end->status = told.ended ? told.status : SIGKILL;
}

static void command_ended(const struct init *init, int status, bool alone)
{
	struct init_event end = {.alone = alone, .status = status};

	if (init->fds.keeper)
		learn_end(init->fds.keeper, &end);
	count_resources(init, &end);
	if (init->slave >= 0)
		close(init->slave); /* the terminal's last holder, if we are alone */
	tell(init, &end);
	leave(init);
}

/* Nobody could take the signal. Before the command was there it has ended by it, as it would have;
 * behind its end it is nobody's. */
static void end_early(const struct init *init)
{
	const struct init_event end = {.status = init->delivered};
	struct apart_end told = {0};

	if (init->delivered == SIGCONT || init->delivered == SIGWINCH ||
	    init->delivered == SIGTSTP ||
	    (pread(init->fds.keeper->end, &told, sizeof(told), 0) == sizeof(told) && told.begun))
		return;
	tell(init, &end);
	leave(init);
}

/* By the runtime, to the command's pid 1, which passes it on; one after the other. */
static void deliver(struct init *init, int signal)
{
	const struct keeper *keeper = init->fds.keeper;
	sigset_t none;
	pid_t pid;

	if (signal <= 0 || signal > 64)
		return;
	if (init->messenger) {
		init->waiting |= UINT64_C(1) << (signal - 1);
		return;
	}
	snprintf(keeper->number, 4, "%d", signal);
	sigemptyset(&none);
	pid = vfork();
	if (pid == 0) {
		sigprocmask(SIG_SETMASK, &none, NULL);
		execve(keeper->deliver[0], keeper->deliver, init->sandbox->environment);
		_exit(1);
	}
	if (pid > 0) {
		init->messenger = pid;
		init->delivered = signal;
	}
}

/* The messenger is back. */
static void delivered(struct init *init, int status)
{
	int next = init->waiting ? __builtin_ctzll(init->waiting) + 1 : 0;

	init->messenger = 0;
	if (status != 0)
		end_early(init);
	init->waiting &= init->waiting - 1;
	deliver(init, next);
}

static void reap(struct init *init)
{
	/* Of those that the supervisor has stopped none is left when it has let them go. */
	int stops = init->held ? 0 : WSTOPPED, status = 0;
	bool ended = false;

	for (;;) {
		siginfo_t info = {0};

		if (waitid(P_ALL, 0, &info, WEXITED | stops | WNOHANG) < 0) {
			if (ended)
				command_ended(init, status,
					      true); /* ECHILD: no orphan has come to us either */
			return;
		}
		if (info.si_pid == 0)
			break;
		/* Whoever asks to be traced by its parent may mean us: we trace nobody. */
		if (info.si_code == CLD_TRAPPED)
			ptrace(PTRACE_DETACH, info.si_pid, 0, info.si_status);
		if (info.si_pid == init->messenger && info.si_code != CLD_STOPPED)
			delivered(init, info.si_status);
		if (info.si_pid != init->command)
			continue;
		if (info.si_code == CLD_STOPPED && !init->fds.keeper)
			tell(init, &(struct init_event){.stopped = info.si_status});
		if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
		    info.si_code == CLD_DUMPED) {
			ended = true;
			status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
		}
	}
	if (ended)
		command_ended(init, status, false);
}

static void tell_count(const struct init *init)
{
	struct init_event count = {.interim = true};

	count_resources(init, &count);
	tell(init, &count);
}

static void pause_time(struct init *init, bool hold)
{
	if (init->pauses++ == 0)
		init->paused = monotonic_ns();
	if (!hold)
		return;
	reap(init); /* who stopped before did so by itself */
	init->held = true;
	tell(init, &(struct init_event){.held = true});
}

static void resume_time(struct init *init)
{
	if (init->pauses == 0 || --init->pauses > 0)
		return;
	if (init->deadline)
		init->deadline += monotonic_ns() - init->paused;
	init->held = false;
	reap(init); /* who is stopped now stopped by itself */
}

static void follow(struct init *init, struct init_order order)
{
	if (init->fds.keeper && order.kind <= INIT_CONTINUE) {
		if (order.kind == INIT_SIGNAL)
			deliver(init, order.value);
		return;
	}
	switch (order.kind) {
	case INIT_SIGNAL:
		if (order.value > 0 && order.value < NSIG)
			send_signal(init, -init->command, order.value);
		break;
	case INIT_FOREGROUND:
		if (init->slave >= 0)
			tcsetpgrp(init->slave, init->command);
		send_signal(init, -init->command, SIGCONT);
		break;
	case INIT_BACKGROUND:
		if (init->slave >= 0)
			tcsetpgrp(init->slave, getpid());
		break;
	case INIT_CONTINUE:
		send_signal(init, -init->command, SIGCONT);
		break;
	case INIT_COUNT:
		tell_count(init);
		break;
	case INIT_PAUSE:
		pause_time(init, order.value);
		break;
	case INIT_RESUME:
		resume_time(init);
		break;
	case INIT_START:
		break;
	}
}

static int patience(const struct init *init)
{
	uint64_t now = monotonic_ns(), deadline = init->deadline;

	if (!deadline || init->pauses)
		return -1;
	return deadline <= now ? 0
			       : (int)MIN((deadline - now) / 1000000 + 1, (uint64_t)3600 * 1000);
}

_Noreturn void init_main(const struct sandbox *sandbox, const struct rung *rung,
			 const uint32_t pass[static 4], const struct init_fds *fds)
{
	struct init init = {
		.sandbox = sandbox,
		.fds = *fds,
		.slave = -1,
		.alone = rung->walls & WALL_BIT(WALL_PID_NAMESPACE),
		.rung = rung,
		.pass = pass,
		.deadline = sandbox->time_ns ? monotonic_ns() + sandbox->time_ns + grace_ns : 0,
	};
	volatile int failed = 0;
	sigset_t signals;
	int children;

	setsid();
	if (!init.alone)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigfillset(&signals); /* stops of the terminal must not stop us, and SIGCHLD is read */
	sigprocmask(SIG_BLOCK, &signals, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; fds->keeper && i < ELEMENTS(of_keyboard); i++)
		sigaddset(&signals, of_keyboard[i]);
	children = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fds->master >= 0) {
		init.slave = ioctl(fds->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
		close(fds->master);
		ioctl(init.slave, TIOCSCTTY, 0);
	}
	init.command = vfork();
	if (init.command == 0)
		become_command(&init, &failed);
	if (init.command < 0 || failed) {
		tell(&init,
		     &(struct init_event){.alone = true, .exec_error = failed ? failed : errno});
		leave(&init);
	}
	/* Only the command may hold its ends of the pipes, or they would never come to an end. */
	for (int i = 0; i < 3; i++)
		if (sandbox->stdio[i].kind == STDIO_FD)
			close(sandbox->stdio[i].fd);
	if (fds->input >= 0)
		close(fds->input);
	for (;;) {
		struct pollfd events[] = {{fds->control, POLLIN, 0}, {children, POLLIN, 0}};
		struct signalfd_siginfo info;
		struct init_order order;

		if (poll(events, ELEMENTS(events), patience(&init)) < 0)
			continue;
		/* The supervisor keeps the time; but it may be stopped, and a command must not live
		 * on by that. */
		if (init.deadline && !init.pauses && monotonic_ns() > init.deadline)
			leave(&init);
		if (events[1].revents) {
			while (read(children, &info, sizeof(info)) > 0)
				if (info.ssi_signo != SIGCHLD)
					deliver(&init, (int)info.ssi_signo);
			reap(&init);
		}
		if (events[0].revents) {
			ssize_t length = read(fds->control, &order, sizeof(order));

			if (length <= 0)
				leave(&init); /* the supervisor is gone */
			if (length == sizeof(order))
				follow(&init, order);
		}
	}
}
