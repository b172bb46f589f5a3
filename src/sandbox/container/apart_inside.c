/* SPDX-License-Identifier: Apache-2.0 */
/* Pid 1 under a kernel of its own: starts the command, passes signals on, reaps, and tells how it
 * ended. It stands between nothing and nobody: whoever could cheat it could only lie about his own
 * end. */
#include "container.h"
#include "../../base/list.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(int fd, const struct apart_end *end)
{
	(void)!pwrite(fd, end, sizeof(*end), 0);
}

static _Noreturn void leave(int fd, struct apart_end end)
{
	end.begun = 1;
	tell(fd, &end);
	_exit(end.ended && WIFEXITED(end.status) ? WEXITSTATUS(end.status) : 1);
}

/* The runtime made us root, without powers; the command is who it is outside. In the namespace that
 * this takes we have all powers, over nothing, and leave them. */
static int become_self(uid_t uid, gid_t gid)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	struct failure failure;

	if (uid == 0)
		return 0;
	if (unshare(CLONE_NEWUSER) < 0 ||
	    stage_maps((struct map){uid, 0}, (struct map){gid, 0}, &failure) < 0 ||
	    stage_bounding_set(WALL_BIT(WALL_CAPABILITIES), &failure) < 0)
		return -1;
	return (int)syscall(SYS_capset, &header, none);
}

static _Noreturn void become_command(const struct sandbox *sandbox, int told)
{
	setpgid(0, 0);
	if (sandbox->foreground) {
		sigset_t ttou;

		sigemptyset(&ttou);
		sigaddset(&ttou, SIGTTOU);
		sigprocmask(SIG_BLOCK, &ttou, NULL);
		tcsetpgrp(STDIN_FILENO, getpid());
	}
	signal(SIGPIPE, sandbox->ignores_pipe ? SIG_IGN : SIG_DFL);
	signal(SIGCHLD, sandbox->ignores_child ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &sandbox->signal_mask, NULL);
	leave(told, (struct apart_end){
			    .ended = 1, .exec_error = init_execute(sandbox), .status = 127 << 8});
}

/* Of the keyboard to whoever has it. */
static void pass_on(pid_t command, bool keyboard, int number)
{
	pid_t group = keyboard && (number == SIGINT || number == SIGQUIT || number == SIGTSTP ||
				   number == SIGWINCH)
			      ? tcgetpgrp(STDIN_FILENO)
			      : command;

	kill(group > 1 ? -group : -command, number);
}

/* Stops of the keyboard are nobody's to end: the terminal's other side does not hear of them. */
static void reap(pid_t command, bool keyboard, int told)
{
	siginfo_t info;

	for (;;) {
		memset(&info, 0, sizeof(info));
		if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG) < 0 || info.si_pid == 0)
			return;
		if (info.si_pid != command)
			continue;
		if (info.si_code == CLD_STOPPED && keyboard)
			kill(-command, SIGCONT);
		if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
		    info.si_code == CLD_DUMPED) {
			struct apart_end end = {.ended = 1};

			/* What could not be executed has told so itself. */
			if (info.si_code == CLD_EXITED &&
			    pread(told, &end, sizeof(end), 0) == sizeof(end) && end.exec_error)
				leave(told, end);
			end = (struct apart_end){.ended = 1,
						 .status = info.si_code == CLD_EXITED
								   ? info.si_status << 8
								   : info.si_status};
			leave(told, end);
		}
	}
}

static _Noreturn void serve(int count, char **words)
{
	size_t candidate_count = (size_t)strtoul(words[APART_CANDIDATES], NULL, 10);
	unsigned long ignores = strtoul(words[APART_IGNORES], NULL, 10);
	unsigned long long mask = strtoull(words[APART_SIGNALS], NULL, 16);
	struct list candidates = {.items = words + APART_WORDS, .count = candidate_count};
	struct sandbox sandbox = {.argv = words + APART_WORDS + candidate_count,
				  .environment = environ,
				  .candidates = &candidates,
				  .foreground = words[APART_KEYBOARD][0] == '1',
				  .ignores_pipe = ignores & 1,
				  .ignores_child = ignores & 2};
	int told = open(APART_END, O_RDWR | O_CLOEXEC);
	sigset_t all;
	pid_t command;

	prctl(PR_SET_NAME, "ward-init");
	prctl(PR_SET_DUMPABLE, 0);
	if (told < 0 || candidate_count > (size_t)count - APART_WORDS)
		_exit(1);
	sigemptyset(&sandbox.signal_mask);
	for (int i = 1; i <= 64; i++)
		if (mask >> (i - 1) & 1)
			sigaddset(&sandbox.signal_mask, i);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	tell(told, &(struct apart_end){.begun = 1});
	if (become_self((uid_t)strtoul(words[APART_UID], NULL, 10),
			(gid_t)strtoul(words[APART_GID], NULL, 10)) < 0 ||
	    chdir(words[APART_DIRECTORY]) < 0)
		leave(told, (struct apart_end){.ended = 1, .exec_error = errno});
	command = fork();
	if (command == 0)
		become_command(&sandbox, told);
	if (command < 0)
		leave(told, (struct apart_end){.ended = 1, .exec_error = errno});
	setpgid(command, command); /* a signal may be here before it has done so itself */
	/* Only the command may hold its ends of the pipes. */
	for (int i = sandbox.foreground ? 3 : 0; i < 3; i++)
		close(i);
	for (;;) {
		siginfo_t info;
		int number = sigwaitinfo(&all, &info);

		if (number > 0 && number != SIGCHLD && number != SIGURG)
			pass_on(command, sandbox.foreground, number);
		reap(command, sandbox.foreground, told);
	}
}

/* Others read our words in /proc, in which the command's must not stand twice: who looks for one
 * process by them would find two. */
static char **take_words(int count, char **words)
{
	char **copy = calloc((size_t)count + 1, sizeof(*copy));

	for (int i = 0; copy && i < count; i++) {
		copy[i] = strdup(words[i]);
		if (!copy[i])
			return NULL;
		memset(words[i], 0, strlen(words[i]));
	}
	return copy;
}

_Noreturn void apart_inside(int count, char **given)
{
	char **words = take_words(count, given);

	if (words)
		serve(count, words);
	_exit(1);
}
