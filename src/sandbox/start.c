/* SPDX-License-Identifier: Apache-2.0 */
/* The order of everything: namespaces, mounts, masks, Landlock, privileges, filter, command.
 *
 * Init is cloned with a table of fds shared with the supervisor, because the notification fd comes
 * into being behind the filter, where no message can be sent any more without being shown to a
 * supervisor that does not have it yet. Init gives up the shared table before it starts the
 * command. Memory is never shared.
 *
 * Three work side by side, because a start is waited for: init builds the tree, the supervisor
 * judges the request, and a helper of it makes the network, which takes the kernel as long as all
 * the rest. Init joins that when it is there. */
#include "filter.h"
#include "stage.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { INPUT_CHUNK = 1 << 20 };

/* What init is told while it builds: where its network is, by the helper; and when the request is
 * judged and recorded, where its letter is. They come in any order. */
enum note_kind { NOTE_NETWORK, NOTE_LETTER, NOTES };

struct note {
	enum note_kind kind;
	struct failure failure; /* NOTE_NETWORK: errnum 0: none */
	int fd;			/* the network namespace, or the letter */
	int names;		/* NOTE_NETWORK: the resolver's socket */
	uint64_t length;	/* NOTE_LETTER */
};

/* What init says when the walls stand, or which stage failed. */
struct report {
	struct failure failure; /* errnum 0: none */
	unsigned walls;
	int listener, terminal, names, input, root;
};

static const struct {
	enum wall wall;
	uint64_t flag;
	bool at_birth; /* the others init makes itself, beside the supervisor's work */
} namespaces[] = {
	{WALL_USER_NAMESPACE, CLONE_NEWUSER, true}, {WALL_PID_NAMESPACE, CLONE_NEWPID, true},
	{WALL_MOUNT_NAMESPACE, CLONE_NEWNS, false}, {WALL_IPC_NAMESPACE, CLONE_NEWIPC, false},
	{WALL_UTS_NAMESPACE, CLONE_NEWUTS, false},  {WALL_CGROUP_NAMESPACE, CLONE_NEWCGROUP, false},
};

static uint64_t namespace_flags(unsigned walls, bool at_birth)
{
	uint64_t flags = 0;

	for (size_t i = 0; i < ELEMENTS(namespaces); i++)
		if (walls & WALL_BIT(namespaces[i].wall) && namespaces[i].at_birth == at_birth)
			flags |= namespaces[i].flag;
	return flags;
}

static unsigned walls_wanted(const struct ground *ground)
{
	unsigned walls = (1u << WALL_COUNT) - 1;

	if (ground->level == LEVEL_NONE)
		return 0;
	if (ground->network == NETWORK_FULL)
		walls &= ~WALL_BIT(WALL_NET_NAMESPACE);
	return walls & ~walls_switched_off();
}

static int attach_filter(unsigned walls, const struct sandbox *sandbox, int *ret_listener,
			 struct failure *failure)
{
	static struct sock_filter program[BPF_ROOM]; /* too large for a comfortable stack */
	unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	struct sock_fprog filter = {.filter = program};
	int r;

	if (!(walls & WALL_BIT(WALL_SECCOMP)))
		return 0;
	if (!(walls & WALL_BIT(WALL_NOTIFY)))
		flags = 0;
	if (sandbox->trap_allocation)
		filter_trap_allocation();
	r = filter_build(flags != 0, &sandbox->filter, program);
	if (r < 0) {
		errno = -r;
		return stage_fail(failure, "building", "the system-call filter");
	}
	filter.len = (unsigned short)r;
	r = sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &filter);
	if (r < 0 && errno == EINVAL && flags) /* before Linux 5.19 */
		r = sys_seccomp(SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
	if (r < 0)
		return stage_fail(failure, "attaching", "the system-call filter");
	if (flags)
		*ret_listener = r;
	return 0;
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* From here on the table of fds is our own. Closes every fd but these (-1 entries are skipped);
 * what the supervisor needs is in its table already. */
static int leave_shared_table(unsigned walls, int *fds, size_t count, struct failure *failure)
{
	unsigned next = 3;

	if (sys_close_range(1u << 30, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		return stage_fail(failure, "leaving", "the shared table of fds");
	if (walls && !(walls & WALL_BIT(WALL_DESCRIPTORS)))
		return 0;
	qsort(fds, count, sizeof(*fds), compare_fds);
	for (size_t i = 0; i < count; i++) {
		if (fds[i] < (int)next)
			continue;
		if ((unsigned)fds[i] > next)
			sys_close_range(next, (unsigned)fds[i] - 1, 0);
		next = (unsigned)fds[i] + 1;
	}
	sys_close_range(next, ~0u, 0);
	return 0;
}

/* The content of a file that cannot be reached inside (a mask covers it, it has no name any more):
 * its caller wants it read. */
static int copy_input(const struct stdio *stdio)
{
	int copy = memfd_create("stdin", MFD_CLOEXEC);
	ssize_t moved = 1;
	off_t at = 0;

	while (copy >= 0 && moved > 0 && at <= INPUT_MOST)
		moved = sendfile(copy, stdio->fd, &at, INPUT_CHUNK);
	if (moved == 0)
		return copy;
	if (moved > 0)
		errno = EFBIG;
	close_fd(&copy);
	return -1;
}

/* Standard input from a file: the same file, but through the sandbox's own, read-only mount. */
static int reopen_input(const struct stdio *stdio, struct failure *failure)
{
	struct stat host, inside;
	int fd;

	if (stdio->kind != STDIO_FILE)
		return -1;
	fd = open(stdio->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &inside) < 0 || fstat(stdio->fd, &host) < 0 ||
	    inside.st_dev != host.st_dev || inside.st_ino != host.st_ino ||
	    fcntl(fd, F_SETFL, 0) < 0) {
		close_fd(&fd);
		fd = copy_input(stdio);
	}
	if (fd < 0) {
		stage_fail(failure, "opening for standard input", stdio->path);
		return -2;
	}
	lseek(fd, lseek(stdio->fd, 0, SEEK_CUR), SEEK_SET);
	return fd;
}

static int open_terminal(const struct sandbox *sandbox, unsigned walls, struct failure *failure)
{
	int master, unlock = 0;

	if (!sandbox->terminal)
		return -1;
	master = open(walls & WALL_BIT(WALL_DEVICES) ? "/dev/pts/ptmx" : "/dev/ptmx",
		      O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0 || ioctl(master, _IOW('T', 0x31, int) /* TIOCSPTLCK */, &unlock) < 0) {
		stage_fail(failure, "making", "a terminal");
		return -2;
	}
	tcsetattr(master, TCSANOW, &sandbox->modes);
	ioctl(master, TIOCSWINSZ, &sandbox->window);
	return master;
}

/* Waits until the note is there. */
static const struct note *await_note(int control, enum note_kind kind)
{
	static struct note notes[NOTES];
	static bool here[NOTES];

	while (!here[kind]) {
		struct note note;

		if (read(control, &note, sizeof(note)) != sizeof(note) || note.kind >= NOTES)
			_exit(0); /* the supervisor changed its mind, or is gone */
		notes[note.kind] = note;
		here[note.kind] = true;
	}
	return &notes[kind];
}

static int join_network(int control, struct report *report)
{
	const struct note *note;

	if (!(report->walls & WALL_BIT(WALL_NET_NAMESPACE)))
		return 0;
	note = await_note(control, NOTE_NETWORK);
	if (note->failure.errnum) {
		report->failure = note->failure;
		return -1;
	}
	if (setns(note->fd, CLONE_NEWNET) < 0)
		return stage_fail(&report->failure, "joining", "the network");
	close(note->fd); /* for the supervisor as well */
	report->names = note->names;
	return 0;
}

/* Landlock knows the writable trees by the fds that were held since they were looked at. */
static int build_landlock(const struct sandbox *sandbox, unsigned *walls,
			  struct writable_tree *trees, struct failure *failure)
{
	const struct list *writable = sandbox->writable;

	for (size_t i = 0; i < writable->count && !(*walls & WALL_BIT(WALL_MOUNT_NAMESPACE)); i++)
		trees[i] = (struct writable_tree){-1, open(writable->items[i], O_PATH | O_CLOEXEC)};
	if (stage_landlock(sandbox, walls, trees, failure) < 0)
		return -1;
	for (size_t i = 0; i < writable->count; i++) {
		/* In the supervisor's table as well, which must not hold on to them. */
		close_fd(&trees[i].target);
		close_fd(&trees[i].tree);
	}
	return 0;
}

/* What is the same for every command. */
static int build_ground(const struct ground *ground, struct report *report)
{
	struct failure *failure = &report->failure;
	unsigned *walls = &report->walls;

	if (*walls & WALL_BIT(WALL_USER_NAMESPACE) && stage_identity(ground, failure) < 0)
		return -1;
	if (unshare((int)namespace_flags(*walls, /* at_birth= */ false)) < 0)
		return stage_fail(failure, "making", "the namespaces");
	return *walls & WALL_BIT(WALL_MOUNT_NAMESPACE) ? stage_tree(ground, walls, failure) : 0;
}

static int build(const struct ground *ground, int control, struct sandbox *sandbox,
		 struct report *report)
{
	static struct writable_tree trees[WRITABLE_MOST];
	struct failure *failure = &report->failure;
	unsigned *walls = &report->walls;
	const struct note *letter;
	size_t masks_length;
	const char *masks;

	if (build_ground(ground, report) < 0)
		return -1;
	letter = await_note(control, NOTE_LETTER);
	if (letter_read(letter->fd, letter->length, sandbox, &masks, &masks_length) < 0)
		return stage_fail(failure, "reading", "what to run");
	if (*walls & WALL_BIT(WALL_MOUNT_NAMESPACE) &&
	    (stage_writable(sandbox, *walls, trees, failure) < 0 ||
	     stage_masks(sandbox, *walls, masks, masks_length, failure) < 0))
		return -1;
	report->terminal = open_terminal(sandbox, *walls, failure);
	report->input = reopen_input(&sandbox->stdio[0], failure);
	report->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (report->terminal == -2 || report->input == -2)
		return -1;
	if (report->root < 0)
		return stage_fail(failure, "opening", "/");
	if (stage_limits(sandbox, *walls, failure) < 0 ||
	    build_landlock(sandbox, walls, trees, failure) < 0 ||
	    join_network(control, report) < 0 || stage_privileges(*walls, failure) < 0)
		return -1;
	if (sandbox->require & ~*walls) {
		_cleanup_list_ struct list missing = {0};

		wall_names(sandbox->require & ~*walls, &missing);
		errno = ENOTSUP;
		return stage_fail(failure, "standing without", missing.items[0]);
	}
	/* As the command will be, not as root of the namespace: a masked directory is closed to it.
	 */
	if (chdir(sandbox->cwd) < 0)
		return stage_fail(failure, "starting in", sandbox->cwd);
	return attach_filter(*walls, sandbox, &report->listener, failure);
}

extern char **environ;

/* Init is a copy of ward, and anyone inside may read its command line: the flags there, and the
 * environment behind them, are the caller's. What init needs of them was copied before. */
static void forget_arguments(void)
{
	char *first = program_invocation_name, *last = NULL;

	for (char **variable = environ; variable && *variable; variable++)
		last = MAX(last, *variable + strlen(*variable));
	if (last > first && last - first < 8 << 20)
		memset(first, 0, (size_t)(last - first));
}

static _Noreturn void run_init(const struct ground *ground, unsigned walls, int control,
			       int supervisor)
{
	struct report report = {.walls = walls,
				.listener = -1,
				.terminal = -1,
				.names = -1,
				.input = -1,
				.root = -1};
	struct pollfd died = {supervisor, POLLIN, 0};
	int kept[6] = {control, -1, -1, -1, -1, -1}, failed;
	struct sandbox sandbox;

	/* Until the table of fds is our own we hold both ends of the control socket, and its end
	 * would never come. Our parent may have died before the first line here took effect. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&died, 1, 0) != 0)
		_exit(0);
	prctl(PR_SET_NAME, "ward-init");
	if (walls & WALL_BIT(WALL_INIT_HIDDEN))
		forget_arguments();
	failed = build(ground, control, &sandbox, &report);
	if (!failed) {
		kept[1] = report.terminal;
		kept[2] = report.input;
		for (int i = 0; i < 3; i++)
			if (sandbox.stdio[i].kind == STDIO_FD)
				kept[3 + i] = sandbox.stdio[i].fd;
		failed = leave_shared_table(walls, kept, ELEMENTS(kept), &report.failure);
	}
	/* Without a pid namespace we must live long enough to end our children: there the socket
	 * alone tells. */
	if (!(walls & WALL_BIT(WALL_PID_NAMESPACE)))
		prctl(PR_SET_PDEATHSIG, 0);
	/* Our memory is a copy of the supervisor's, environment included. */
	if (walls & WALL_BIT(WALL_INIT_HIDDEN))
		prctl(PR_SET_DUMPABLE, 0);
	if (write(control, &report, sizeof(report)) != sizeof(report) || failed)
		_exit(1);
	init_main(&sandbox, walls, &(struct init_fds){control, report.terminal, report.input});
}

/* Where ward has changed its user, init is closed to us until it has opened itself for its own
 * maps, which it does first. */
static int enter_user_namespace(const struct entry *entry)
{
	enum { TRIES = 20000, PAUSE_US = 100 };
	int r = -1;

	for (int i = 0; i < TRIES && r < 0; i++) {
		r = setns(entry->pidfd, CLONE_NEWUSER);
		if (r < 0 && errno != EPERM)
			break;
		if (r < 0)
			usleep(PAUSE_US);
	}
	return r;
}

/* In the helper: a network of init's user namespace, and how to get to it. */
static _Noreturn void run_helper(const struct entry *entry)
{
	struct note note = {.kind = NOTE_NETWORK, .fd = -1, .names = -1};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if ((entry->walls & WALL_BIT(WALL_USER_NAMESPACE) && enter_user_namespace(entry) < 0) ||
	    unshare(CLONE_NEWNET) < 0)
		stage_fail(&note.failure, "making", "a network namespace");
	else if (stage_network(&note.names, &note.failure) == 0) {
		note.fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
		if (note.fd < 0)
			stage_fail(&note.failure, "opening", "/proc/self/ns/net");
	}
	_exit(write(entry->control, &note, sizeof(note)) != sizeof(note));
}

static int refused(struct entry *entry, struct error **ret_error)
{
	fail_errno(ret_error, E_ENGINE, errno, "the kernel refused the sandbox's namespaces");
	entry_done(entry);
	return error_hint(ret_error, "user namespaces may be switched off here: see "
				     "kernel.unprivileged_userns_clone and "
				     "user.max_user_namespaces, or AppArmor's rule on Ubuntu");
}

int sandbox_begin(const struct ground *ground, struct entry *ret_entry, struct error **ret_error)
{
	struct kernel_clone init = {.exit_signal = SIGCHLD, .flags = CLONE_FILES | CLONE_PIDFD};
	struct kernel_clone helper = {.flags = CLONE_FILES | CLONE_PIDFD};
	struct entry entry = ENTRY_NONE;
	int control[2];

	entry.walls = walls_wanted(ground);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "making a socket pair");
	entry.control = control[0];
	entry.init_control = control[1];
	entry.self = sys_pidfd_open(getpid());
	init.flags |= namespace_flags(entry.walls, /* at_birth= */ true);
	init.pidfd = (uint64_t)(uintptr_t)&entry.pidfd;
	entry.init = sys_clone3(&init);
	if (entry.init == 0)
		run_init(ground, entry.walls, control[1], entry.self);
	if (entry.init < 0)
		return refused(&entry, ret_error);
	if (entry.walls & WALL_BIT(WALL_NET_NAMESPACE)) {
		helper.pidfd = (uint64_t)(uintptr_t)&entry.helper_pidfd;
		entry.helper = sys_clone3(&helper);
		if (entry.helper == 0)
			run_helper(&entry);
		if (entry.helper < 0)
			return refused(&entry, ret_error);
	}
	*ret_entry = entry;
	return 0;
}

static int explain(const struct failure *failure, struct error **ret_error)
{
	if (failure->errnum == EBUSY && strstr(failure->object, "filter")) {
		fail(ret_error, E_ENGINE,
		     "the sandbox's supervisor cannot be attached: another one is already there");
		return error_hint(
			ret_error,
			"ward cannot run inside another ward, or inside a container engine "
			"that traps system calls itself");
	}
	fail_errno(ret_error, E_ENGINE, failure->errnum, "building the sandbox: %s %s",
		   failure->stage, failure->object);
	if (strcmp(failure->stage, "starting in") == 0)
		return error_hint(ret_error,
				  "choose a directory that the sandbox can read with --cwd");
	return -E_ENGINE;
}

/* While the table of fds is shared both ends of the socket are in it, so init's death is no end of
 * file. */
static ssize_t read_report(const struct entry *entry, struct report *ret_report)
{
	struct pollfd fds[] = {{entry->control, POLLIN, 0},
			       {entry->pidfd, POLLIN, 0},
			       {entry->helper_pidfd, POLLIN, 0}};

	for (;;) {
		siginfo_t info = {0};

		if (poll(fds, ELEMENTS(fds), -1) < 0)
			continue;
		if (fds[0].revents & POLLIN)
			return read(entry->control, ret_report, sizeof(*ret_report));
		if (fds[1].revents)
			return -1;
		/* Without its word init would wait for ever. */
		if (waitid(P_PID, (id_t)entry->helper, &info, WEXITED | WNOWAIT | __WALL) < 0 ||
		    info.si_code != CLD_EXITED || info.si_status != 0)
			return -1;
		fds[2].fd = -1;
	}
}

static void end_helper(struct entry *entry)
{
	while (entry->helper > 0 && waitpid(entry->helper, NULL, __WALL) < 0 && errno == EINTR)
		;
	entry->helper = -1;
	close_fd(&entry->helper_pidfd);
}

int sandbox_release(const struct sandbox *sandbox, struct entry *entry, const struct masks *masks,
		    struct error **ret_error)
{
	_cleanup_close_ int letter = -1;
	struct note note = {.kind = NOTE_LETTER};
	struct report report;
	ssize_t length = -1;

	if (letter_write(sandbox, masks, &letter, &note.length) < 0)
		return fail(ret_error, E_ENGINE, "there is no memory for what to run");
	note.fd = letter;
	if (write(entry->control, &note, sizeof(note)) == sizeof(note))
		length = read_report(entry, &report);
	if (length != sizeof(report)) {
		fail(ret_error, E_ENGINE, "the sandbox's init ended before the walls stood");
		return error_hint(ret_error, "look for what the kernel said in its log: dmesg");
	}
	if (report.failure.errnum)
		return explain(&report.failure, ret_error);
	entry->walls = report.walls;
	entry->listener = report.listener;
	entry->terminal = report.terminal;
	entry->names = report.names;
	entry->input = report.input;
	entry->root = report.root;
	close_fd(&entry->init_control); /* init has a table of its own by now */
	close_fd(&entry->self);
	end_helper(entry);
	return 0;
}

void entry_done(struct entry *entry)
{
	/* Still building, it may be waiting for anything. */
	if (entry->init_control >= 0 && entry->init > 0)
		(void)sys_pidfd_send_signal(entry->pidfd, SIGKILL);
	end_helper(entry);
	close_fd(&entry->init_control);
	close_fd(&entry->self);
	close_fd(&entry->control); /* ends init, and with it everything inside */
	if (entry->init > 0)
		while (waitpid(entry->init, NULL, 0) < 0 && errno == EINTR)
			;
	close_fd(&entry->pidfd);
	close_fd(&entry->listener);
	close_fd(&entry->terminal);
	close_fd(&entry->names);
	close_fd(&entry->root);
	close_fd(&entry->input);
	*entry = ENTRY_NONE;
}
