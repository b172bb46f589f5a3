/* SPDX-License-Identifier: Apache-2.0 */
/* The order of everything: namespaces, mounts, masks, Landlock, privileges, filter, command.
 *
 * Init is cloned with a table of fds shared with the supervisor, because the notification fd comes
 * into being behind the filter, where no message can be sent any more without being shown to a
 * supervisor that does not have it yet. Init gives up the shared table before it starts the
 * command. Memory is never shared. */
#include "filter.h"
#include "stage.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../base/path.h"
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

/* What the supervisor says when init may finish the walls: where the masks are. */
struct go {
	uint64_t length;
	int fd;
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
} namespaces[] = {
	{WALL_USER_NAMESPACE, CLONE_NEWUSER},	  {WALL_MOUNT_NAMESPACE, CLONE_NEWNS},
	{WALL_PID_NAMESPACE, CLONE_NEWPID},	  {WALL_IPC_NAMESPACE, CLONE_NEWIPC},
	{WALL_UTS_NAMESPACE, CLONE_NEWUTS},	  {WALL_NET_NAMESPACE, CLONE_NEWNET},
	{WALL_CGROUP_NAMESPACE, CLONE_NEWCGROUP},
};

static unsigned walls_wanted(const struct sandbox *sandbox)
{
	unsigned walls = (1u << WALL_COUNT) - 1;

	if (sandbox->level == LEVEL_NONE)
		return 0;
	if (sandbox->network == NETWORK_FULL)
		walls &= ~WALL_BIT(WALL_NET_NAMESPACE);
	return walls & ~walls_switched_off();
}

static int attach_filter(unsigned walls, int *ret_listener, struct failure *failure)
{
	static struct sock_filter program[BPF_ROOM]; /* too large for a comfortable stack */
	unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	struct sock_fprog filter = {.filter = program};
	int r;

	if (!(walls & WALL_BIT(WALL_SECCOMP)))
		return 0;
	if (!(walls & WALL_BIT(WALL_NOTIFY)))
		flags = 0;
	r = filter_build(flags != 0, program);
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

/* The masks, when the supervisor has found them and recorded the run: they lie in a file of memory.
 */
static int build_masks(int control, unsigned walls, struct failure *failure)
{
	const char *text = "";
	struct go go;

	if (read(control, &go, sizeof(go)) != sizeof(go))
		_exit(0); /* it changed its mind, or is gone */
	if (!(walls & WALL_BIT(WALL_MOUNT_NAMESPACE)))
		return 0;
	if (go.length > 0) {
		text = mmap(NULL, go.length, PROT_READ, MAP_PRIVATE, go.fd, 0);
		if (text == MAP_FAILED)
			return stage_fail(failure, "reading", "the masks");
	}
	return stage_masks(walls, text, go.length, failure);
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

static int build(const struct sandbox *sandbox, int control, struct report *report)
{
	static struct writable_tree trees[WRITABLE_MOST];
	struct failure *failure = &report->failure;
	unsigned *walls = &report->walls;

	if (*walls & WALL_BIT(WALL_USER_NAMESPACE) && stage_identity(sandbox, failure) < 0)
		return -1;
	if (*walls & WALL_BIT(WALL_MOUNT_NAMESPACE) &&
	    stage_mounts(sandbox, walls, trees, failure) < 0)
		return -1;
	if (stage_network(*walls, &report->names, failure) < 0 ||
	    build_masks(control, *walls, failure) < 0)
		return -1;
	report->terminal = open_terminal(sandbox, *walls, failure);
	report->input = reopen_input(&sandbox->stdio[0], failure);
	report->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (report->terminal == -2 || report->input == -2)
		return -1;
	if (report->root < 0)
		return stage_fail(failure, "opening", "/");
	if (stage_limits(sandbox, failure) < 0 ||
	    build_landlock(sandbox, walls, trees, failure) < 0 ||
	    stage_privileges(*walls, failure) < 0)
		return -1;
	/* As the command will be, not as root of the namespace: a masked directory is closed to it.
	 */
	if (chdir(sandbox->cwd) < 0)
		return stage_fail(failure, "starting in", sandbox->cwd);
	return attach_filter(*walls, &report->listener, failure);
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

static _Noreturn void run_init(const struct sandbox *sandbox, unsigned walls, int control,
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

	/* Until the table of fds is our own we hold both ends of the control socket, and its end
	 * would never come. Our parent may have died before the first line here took effect. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&died, 1, 0) != 0)
		_exit(0);
	prctl(PR_SET_NAME, "ward-init");
	if (walls & WALL_BIT(WALL_INIT_HIDDEN))
		forget_arguments();
	failed = build(sandbox, control, &report);
	if (!failed) {
		kept[1] = report.terminal;
		kept[2] = report.input;
		for (int i = 0; i < 3; i++)
			if (sandbox->stdio[i].kind == STDIO_FD)
				kept[3 + i] = sandbox->stdio[i].fd;
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
	init_main(sandbox, walls, &(struct init_fds){control, report.terminal, report.input});
}

int sandbox_start(const struct sandbox *sandbox, struct entry *ret_entry, struct error **ret_error)
{
	struct entry entry = ENTRY_NONE;
	struct kernel_clone clone = {.exit_signal = SIGCHLD, .flags = CLONE_FILES | CLONE_PIDFD};
	int control[2];

	entry.walls = walls_wanted(sandbox);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "making a socket pair");
	entry.control = control[0];
	entry.init_control = control[1];
	entry.self = sys_pidfd_open(getpid());
	for (size_t i = 0; i < ELEMENTS(namespaces); i++)
		if (entry.walls & WALL_BIT(namespaces[i].wall))
			clone.flags |= namespaces[i].flag;
	clone.pidfd = (uint64_t)(uintptr_t)&entry.pidfd;
	entry.init = sys_clone3(&clone);
	if (entry.init == 0)
		run_init(sandbox, entry.walls, control[1], entry.self);
	if (entry.init < 0) {
		fail_errno(ret_error, E_ENGINE, errno,
			   "the kernel refused the sandbox's namespaces");
		entry_done(&entry);
		return error_hint(ret_error,
				  "user namespaces may be switched off here: see "
				  "kernel.unprivileged_userns_clone and user.max_user_namespaces, "
				  "or AppArmor's rule on Ubuntu");
	}
	*ret_entry = entry;
	return 0;
}

static bool is_writable(const struct sandbox *sandbox, const char *path)
{
	for (size_t i = 0; i < sandbox->writable->count; i++)
		if (path_is_under(path, sandbox->writable->items[i]) &&
		    strcmp(path, sandbox->writable->items[i]) != 0)
			return true;
	return false;
}

/* A mask holds a name, not the directories above it. Where those are writable they could be
 * renamed, and the next run would not know the secret by its new name: so each is made a mount of
 * its own, which the kernel does not let anybody rename. */
static void add_pins(const struct sandbox *sandbox, const char *path, struct list *pins)
{
	_cleanup_free_ char *parent = strdup(path);
	size_t first = pins->count;
	char *slash;

	while (parent && (slash = strrchr(parent, '/')) && slash != parent) {
		*slash = '\0';
		if (!is_writable(sandbox, parent))
			break;
		if (!list_has(pins, parent))
			list_add(pins, parent);
	}
	for (size_t last = pins->count; last > first + 1; first++) { /* parents first */
		char *swap = pins->items[first];

		pins->items[first] = pins->items[--last];
		pins->items[last] = swap;
	}
}

/* ward's own program may lie in the workspace (a clone of its repository), and is executed outside
 * at the next call: it and its launcher are held read-only. */
static void add_own_program(const struct sandbox *sandbox, struct list *pins, struct buffer *text)
{
	char self[PATH_MAX], launcher[PATH_MAX + 16];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *const own[] = {self, launcher};
	struct stat st;

	if (length <= 0)
		return;
	self[length] = '\0';
	snprintf(launcher, sizeof(launcher), "%.*s/../ward", (int)(strrchr(self, '/') - self),
		 self);
	for (size_t i = 0; i < ELEMENTS(own); i++) {
		_cleanup_free_ char *path = path_normalise(own[i]);

		if (!is_writable(sandbox, path) || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		add_pins(sandbox, path, pins);
		buffer_printf(text, "R %llu %llu %s", (unsigned long long)st.st_dev,
			      (unsigned long long)st.st_ino, path);
		buffer_add_char(text, '\0');
	}
}

/* The masks and pins as one file of memory: records as stage_masks reads them. */
static int send_masks(const struct sandbox *sandbox, struct entry *entry, const struct masks *masks,
		      int *ret_fd)
{
	_cleanup_list_ struct list pins = {0};
	struct go go = {.fd = -1};
	_cleanup_buffer_ struct buffer text = {0}, own = {0};

	add_own_program(sandbox, &pins, &own);
	for (size_t i = 0; i < masks->count; i++)
		add_pins(sandbox, masks->items[i].path, &pins);
	for (size_t i = 0; i < pins.count; i++) {
		buffer_printf(&text, "P 0 0 %s", pins.items[i]);
		buffer_add_char(&text, '\0');
	}
	buffer_add(&text, own.data, own.length);
	for (size_t i = 0; i < masks->count; i++) {
		buffer_printf(&text, "%c %llu %llu %s", masks->items[i].is_directory ? 'D' : 'F',
			      (unsigned long long)masks->items[i].device,
			      (unsigned long long)masks->items[i].inode, masks->items[i].path);
		buffer_add_char(&text, '\0');
	}
	if (text.length > 0) {
		go.length = text.length;
		go.fd = memfd_create("masks", MFD_CLOEXEC);
		if (go.fd < 0)
			return -errno;
		*ret_fd = go.fd;
		if (write_all(go.fd, text.data, text.length) < 0)
			return -EIO;
	}
	return write(entry->control, &go, sizeof(go)) == sizeof(go) ? 0 : -EPIPE;
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
	struct pollfd fds[] = {{entry->control, POLLIN, 0}, {entry->pidfd, POLLIN, 0}};

	while (poll(fds, ELEMENTS(fds), -1) < 0)
		;
	return fds[0].revents & POLLIN ? read(entry->control, ret_report, sizeof(*ret_report)) : -1;
}

int sandbox_release(const struct sandbox *sandbox, struct entry *entry, const struct masks *masks,
		    struct error **ret_error)
{
	_cleanup_close_ int mask_fd = -1;
	struct report report;
	ssize_t length = -1;
	int r = send_masks(sandbox, entry, masks, &mask_fd);

	if (r == 0)
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
	return 0;
}

void entry_done(struct entry *entry)
{
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
