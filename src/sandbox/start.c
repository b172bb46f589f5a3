/* SPDX-License-Identifier: Apache-2.0 */
/* The order of everything: namespaces, mounts, masks, Landlock, privileges, filter, command.
 *
 * Init is cloned with a table of fds shared with the supervisor, because the notification fd comes
 * into being behind the filter, where no message can be sent any more without being shown to a
 * supervisor that does not have it yet. Init gives up the shared table before it starts the
 * command. Memory is never shared.
 *
 * The two work side by side, because a start is waited for: init makes the namespaces and builds
 * the tree while the supervisor judges the request, which takes as long. */
#include "identity.h"
#include "stage.h"
#include "../base/io.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { INPUT_CHUNK = 1 << 20 };

/* Stages that are not calls: nothing is left to stand on; the policy wants more than there is. */
#define FAILED_FLOOR   "without a floor"
#define FAILED_REQUIRE "standing without"

/* What init is told when the request is judged and recorded: where its letter is. */
struct note {
	int fd;
	uint64_t length;
};

/* What init says when the walls stand, or which stage failed. */
struct report {
	struct failure failure; /* errnum 0: none */
	struct rung rung;
	int listener, terminal, names[NAME_SOCKETS], network, input, root, tasks;
	struct texts texts;
	uint64_t caches;
};

static const struct {
	enum wall wall;
	uint64_t flag;
	bool at_birth; /* the others init makes itself, beside the supervisor's work */
} namespaces[] = {
	{WALL_USER_NAMESPACE, CLONE_NEWUSER, true}, {WALL_PID_NAMESPACE, CLONE_NEWPID, true},
	{WALL_MOUNT_NAMESPACE, CLONE_NEWNS, false}, {WALL_IPC_NAMESPACE, CLONE_NEWIPC, false},
	{WALL_UTS_NAMESPACE, CLONE_NEWUTS, false},  {WALL_CGROUP_NAMESPACE, CLONE_NEWCGROUP, false},
	{WALL_NET_NAMESPACE, CLONE_NEWNET, false},
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

/* No namespace keeps the network away, and none is wanted. */
static bool lacks_network_wall(const struct ground *ground, const struct rung *rung)
{
	return ground->network != NETWORK_FULL && rung->lost & WALL_BIT(WALL_NET_NAMESPACE);
}

static void lose(struct rung *rung, enum wall wall)
{
	rung->walls &= ~WALL_BIT(wall);
	rung->lost |= WALL_BIT(wall);
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

/* Standard input from a file: the same file, but through the sandbox's own, read-only mount.
 * Whatever init opens it opens before the filter: after that an open may wait for the supervisor,
 * who cannot look into init. */
static int reopen_input(const struct stdio *stdio, struct failure *failure)
{
	struct stat host, inside;
	int fd;

	if (stdio->kind == STDIO_NULL) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return fd < 0 ? stage_fail(failure, "opening", "/dev/null") - 1 : fd;
	}
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

/* Landlock knows the writable trees by the fds that were held since they were looked at. */
static int build_landlock(const struct landlock_ground *landlock, struct writable_tree *trees,
			  struct cache_trees *caches, struct failure *failure)
{
	const struct list *writable = landlock->sandbox->writable;

	for (size_t i = 0;
	     i < writable->count && !(landlock->rung->walls & WALL_BIT(WALL_MOUNT_NAMESPACE)); i++)
		trees[i] = (struct writable_tree){-1, open(writable->items[i], O_PATH | O_CLOEXEC)};
	if (stage_landlock(landlock, failure) < 0)
		return -1;
	for (size_t i = 0; i < writable->count; i++) {
		/* In the supervisor's table as well, which must not hold on to them. */
		close_fd(&trees[i].target);
		close_fd(&trees[i].tree);
	}
	for (size_t i = 0; i < CACHES_MOST; i++)
		close_fd(&caches->trees[i]);
	return 0;
}

/* The namespaces that init makes itself. All at once where they are to be had; else one by one, and
 * those that are refused are done without, but for the one that everything about files needs. */
static int make_namespaces(struct rung *rung, struct failure *failure)
{
	if (unshare((int)namespace_flags(rung->walls, /* at_birth= */ false)) == 0)
		return 0;
	for (size_t i = 0; i < ELEMENTS(namespaces); i++) {
		if (namespaces[i].at_birth || !(rung->walls & WALL_BIT(namespaces[i].wall)) ||
		    unshare((int)namespaces[i].flag) == 0)
			continue;
		if (!ladder_is_shortage(errno))
			return stage_fail(failure, "making", "the namespaces");
		if (namespaces[i].wall == WALL_MOUNT_NAMESPACE) {
			stage_fail(failure, "making", "a mount namespace");
			failure->missing = WALL_BIT(WALL_MOUNT_NAMESPACE);
			return -1;
		}
		lose(rung, namespaces[i].wall);
	}
	return 0;
}

/* The supervisor furnishes the network when there is need of it, where it can enter it; else that
 * is done here, as long as we may. */
static int build_network(struct report *report)
{
	const char *object;

	if (!(report->rung.walls & WALL_BIT(WALL_NET_NAMESPACE)))
		return 0;
	if (!stage_furnishes_later(report->rung.walls)) {
		object = network_furnish(report->names);
		return object ? stage_fail(&report->failure, "starting", object) : 0;
	}
	report->network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return report->network < 0 ? stage_fail(&report->failure, "opening", "/proc/self/ns/net")
				   : 0;
}

/* What is the same for every command. Where the kernel lets a namespace be made and then nothing be
 * done in it, all of it has to begin again without. */
static int build_ground(const struct ground *ground, struct report *report)
{
	struct failure *failure = &report->failure;
	struct rung *rung = &report->rung;

	if (rung->walls & WALL_BIT(WALL_USER_NAMESPACE) && stage_identity(ground, failure) < 0) {
		if (ladder_is_refusal(failure->errnum))
			failure->missing = WALL_BIT(WALL_USER_NAMESPACE);
		return -1;
	}
	if (make_namespaces(rung, failure) < 0)
		return -1;
	if (!(rung->walls & WALL_BIT(WALL_MOUNT_NAMESPACE)))
		return 0;
	if (stage_tree(ground, rung, failure) < 0) {
		if (ladder_is_refusal(failure->errnum))
			failure->missing = WALL_BIT(WALL_MOUNT_NAMESPACE);
		return -1;
	}
	return 0;
}

/* What is left must be a floor, and must be what the policy wants. */
static int check_rung(const struct sandbox *sandbox, const struct rung *rung,
		      struct failure *failure)
{
	const char *none = ladder_no_floor(rung->lost);

	errno = ENOTSUP;
	if (none)
		return stage_fail(failure, FAILED_FLOOR, none);
	if (sandbox->require & ~rung->walls) {
		unsigned wall = 0;

		while (!(sandbox->require & ~rung->walls & WALL_BIT(wall)))
			wall++;
		return stage_fail(failure, FAILED_REQUIRE, wall_name((enum wall)wall));
	}
	return 0;
}

/* What init reads of its children while it is under the filter, where an open may wait for a
 * supervisor that is gone: how many there were, or, where they do not end with it, which there are.
 */
static int open_tasks(const struct rung *rung)
{
	char path[64] = "/proc/sys/kernel/ns_last_pid";

	if (!(rung->walls & WALL_BIT(WALL_PID_NAMESPACE)))
		snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int build(const struct ground *ground, int control, const uint32_t pass[static 4],
		 struct sandbox *sandbox, struct report *report)
{
	static struct writable_tree trees[WRITABLE_MOST];
	static struct cache_trees caches;
	struct failure *failure = &report->failure;
	struct rung *rung = &report->rung;
	struct note letter;
	struct landlock_ground landlock = {
		.sandbox = sandbox, .rung = rung, .trees = trees, .caches = &caches};
	size_t masks_length;
	const char *masks;

	memset(caches.trees, -1, sizeof(caches.trees));
	if (build_ground(ground, report) < 0 || stage_bounding_set(rung->walls, failure) < 0 ||
	    stage_hosts(rung->walls, failure) < 0)
		return -1;
	if (read(control, &letter, sizeof(letter)) != sizeof(letter))
		_exit(0); /* the supervisor changed its mind, or is gone */
	if (letter_read(letter.fd, letter.length, sandbox, &masks, &masks_length) < 0)
		return stage_fail(failure, "reading", "what to run");
	/* Not before: whoever changes his mind would keep what is in his table. */
	if (build_network(report) < 0)
		return -1;
	if (rung->walls & WALL_BIT(WALL_MOUNT_NAMESPACE) &&
	    (stage_writable(sandbox, rung->walls, trees, &caches, failure) < 0 ||
	     stage_masks(sandbox, rung->walls, caches.standing, masks, masks_length, &report->texts,
			 failure) < 0))
		return -1;
	report->caches = caches.standing;
	report->terminal = open_terminal(sandbox, rung->walls, failure);
	report->input = reopen_input(&sandbox->stdio[0], failure);
	report->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (report->terminal == -2 || report->input == -2)
		return -1;
	if (report->root < 0)
		return stage_fail(failure, "opening", "/");
	landlock.records = masks;
	landlock.records_end = masks + masks_length;
	landlock.terminal = report->terminal;
	landlock.no_network = lacks_network_wall(ground, rung);
	if (stage_limits(sandbox, rung->walls, failure) < 0 ||
	    build_landlock(&landlock, trees, &caches, failure) < 0 ||
	    stage_privileges(rung->walls, failure) < 0 || check_rung(sandbox, rung, failure) < 0)
		return -1;
	/* As the command will be, not as root of the namespace: a masked directory is closed to it.
	 */
	if (chdir(sandbox->cwd) < 0)
		return stage_fail(failure, "starting in", sandbox->cwd);
	report->tasks = open_tasks(rung);
	if (stage_filter(sandbox, rung, lacks_network_wall(ground, rung), pass, &report->listener,
			 failure) < 0)
		return -1;
	/* Notification may have been lost last. */
	return check_rung(sandbox, rung, failure) < 0 ? -1 : stage_names(rung, failure);
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

static _Noreturn void run_init(const struct ground *ground, struct rung rung, int control,
			       int supervisor)
{
	static struct report report = {.listener = -1,
				       .terminal = -1,
				       .names = {-1, -1, -1, -1},
				       .network = -1,
				       .input = -1,
				       .root = -1,
				       .tasks = -1};
	struct pollfd died = {supervisor, POLLIN, 0};
	int kept[8] = {control, -1, -1, -1, -1, -1, -1, -1}, failed;
	unsigned walls = rung.walls;
	uint32_t pass[4] = {0};
	struct sandbox sandbox;

	/* Until the table of fds is our own we hold both ends of the control socket, and its end
	 * would never come. Our parent may have died before the first line here took effect. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&died, 1, 0) != 0)
		_exit(0);
	prctl(PR_SET_NAME, "ward-init");
	if (walls & WALL_BIT(WALL_INIT_HIDDEN))
		forget_arguments();
	report.rung = rung;
	if (rung.lost && getrandom(pass, sizeof(pass), 0) != sizeof(pass))
		failed = stage_fail(&report.failure, "reading", "random numbers");
	else
		failed = build(ground, control, pass, &sandbox, &report);
	if (!failed) {
		kept[1] = report.terminal;
		kept[2] = report.input;
		for (int i = 0; i < 3; i++)
			if (sandbox.stdio[i].kind == STDIO_FD)
				kept[3 + i] = sandbox.stdio[i].fd;
		kept[6] = report.tasks;
		if (report.caches)
			kept[7] = sandbox.cache_lock;
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
	init_main(&sandbox, &report.rung, pass,
		  &(struct init_fds){control, report.terminal, report.input, report.tasks});
}

static pid_t birth(uint64_t flags, uint64_t exit_signal, int *ret_pidfd)
{
	struct kernel_clone arguments = {.flags = flags | CLONE_FILES | CLONE_PIDFD,
					 .exit_signal = exit_signal,
					 .pidfd = (uint64_t)(uintptr_t)ret_pidfd};

	return sys_clone_any(&arguments);
}

/* What is born with a process: with a user namespace, without one where we may, without any. The
 * rung becomes what was to be had. */
static pid_t birth_of_init(struct rung *rung, int *ret_pidfd)
{
	static const unsigned less[] = {
		0,
		WALL_BIT(WALL_PID_NAMESPACE),
		WALL_BIT(WALL_USER_NAMESPACE),
		WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_PID_NAMESPACE),
	};
	pid_t pid = -1;

	for (size_t i = 0; i < ELEMENTS(less); i++) {
		unsigned lost = ladder_lost() | (less[i] & rung->walls);
		bool privileged = lost & WALL_BIT(WALL_USER_NAMESPACE) && identity_raise();
		struct rung tried = {.walls = ladder_settle(rung->walls, lost, privileged)};

		if (i > 0 && !(less[i] & rung->walls))
			continue;
		tried.lost = rung->walls & ~tried.walls;
		pid = birth(namespace_flags(tried.walls, /* at_birth= */ true), SIGCHLD, ret_pidfd);
		if (pid == 0) {
			*rung = tried;
			return 0;
		}
		if (pid > 0) {
			ladder_lose(tried.lost & less[i]);
			*rung = tried;
			return pid;
		}
		if (!ladder_is_shortage(errno))
			break;
	}
	return pid;
}

static int refused(struct entry *entry, struct error **ret_error)
{
	int errnum = errno;

	entry_done(entry);
	fail_errno(ret_error, E_ENGINE, errnum, "starting the sandbox's own processes");
	if (errnum == EMFILE || errnum == ENFILE)
		return error_hint(ret_error,
				  "too many files are open: raise the limit (ulimit -n)");
	if (errnum == EAGAIN)
		return error_hint(ret_error,
				  "too many processes are running: raise the limit (ulimit -u)");
	return error_hint(ret_error, "`ward doctor` says what this machine gives");
}

int sandbox_begin(const struct ground *ground, struct entry *ret_entry, struct error **ret_error)
{
	struct rung rung = {.walls = walls_wanted(ground)};
	struct entry entry = ENTRY_NONE;
	int control[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return refused(&entry, ret_error);
	entry.control = control[0];
	entry.init_control = control[1];
	entry.self = sys_pidfd_open(getpid());
	entry.init = birth_of_init(&rung, &entry.pidfd);
	if (entry.init == 0)
		run_init(ground, rung, control[1], entry.self);
	if (entry.init < 0)
		return refused(&entry, ret_error);
	entry.walls = rung.walls;
	entry.lost = rung.lost;
	if (entry.lost & WALL_BIT(WALL_USER_NAMESPACE))
		identity_lower();
	*ret_entry = entry;
	return 0;
}

static int explain(const struct failure *failure, unsigned lost, struct error **ret_error)
{
	if (strcmp(failure->stage, FAILED_FLOOR) == 0) {
		fail(ret_error, E_ENGINE,
		     "this machine gives %s: there is nothing to build a "
		     "sandbox on",
		     failure->object);
		return error_hint(ret_error, "%s", ladder_remedy(WALL_LANDLOCK));
	}
	if (strcmp(failure->stage, FAILED_REQUIRE) == 0) {
		_cleanup_list_ struct list name = {0};
		unsigned wall = 0;

		list_add(&name, failure->object);
		while (!(walls_named(&name) & WALL_BIT(wall)))
			wall++;
		fail(ret_error, E_ENGINE,
		     "the policy requires the wall %s, which this machine does not give",
		     failure->object);
		return error_hint(ret_error, "%s",
				  ladder_remedy(ladder_cause((enum wall)wall, lost)));
	}
	fail_errno(ret_error, E_ENGINE, failure->errnum, "building the sandbox: %s %s",
		   failure->stage, failure->object);
	if (strcmp(failure->stage, "starting in") == 0)
		return error_hint(ret_error,
				  "choose a directory that the sandbox can read with --cwd");
	if (strstr(failure->object, "filter"))
		return error_hint(ret_error, "%s", ladder_remedy(WALL_SECCOMP));
	return -E_ENGINE;
}

/* While the table of fds is shared both ends of the socket are in it, so init's death is no end of
 * file. */
static ssize_t read_report(const struct entry *entry, struct report *ret_report)
{
	struct pollfd fds[] = {{entry->control, POLLIN, 0}, {entry->pidfd, POLLIN, 0}};

	for (;;) {
		if (poll(fds, ELEMENTS(fds), -1) < 0)
			continue;
		if (fds[0].revents & POLLIN)
			return read(entry->control, ret_report, sizeof(*ret_report));
		if (fds[1].revents)
			return -1;
	}
}

int sandbox_release(const struct sandbox *sandbox, struct entry *entry, const struct masks *masks,
		    struct error **ret_error)
{
	_cleanup_close_ int letter = -1;
	struct note note;
	struct report report;
	ssize_t length = -1;
	int r;

	if ((r = letter_write(sandbox, masks, entry->lost, &letter, &note.length, ret_error)) < 0)
		return r;
	note.fd = letter;
	if (write(entry->control, &note, sizeof(note)) == sizeof(note))
		length = read_report(entry, &report);
	if (length != sizeof(report)) {
		fail(ret_error, E_ENGINE, "the sandbox's init ended before the walls stood");
		return error_hint(ret_error, "look for what the kernel said in its log: dmesg");
	}
	/* In our table already, also where it failed later. */
	entry->texts = report.texts;
	memcpy(entry->names, report.names, sizeof(entry->names));
	entry->network = report.network;
	close_fd(&report.tasks); /* init's own */
	if (report.failure.errnum && report.failure.missing & ~ladder_lost()) {
		/* For whoever begins again: what was refused is left out then. */
		ladder_lose(report.failure.missing);
		return fail_errno(ret_error, E_ENGINE, ERESTART, "building the sandbox: %s %s",
				  report.failure.stage, report.failure.object);
	}
	if (report.failure.errnum)
		return explain(&report.failure, report.rung.lost, ret_error);
	entry->walls = report.rung.walls;
	entry->lost = report.rung.lost;
	entry->abi = report.rung.abi;
	ladder_stood(report.rung);
	entry->listener = report.listener;
	entry->terminal = report.terminal;
	entry->input = report.input;
	entry->root = report.root;
	entry->caches = report.caches;
	close_fd(&entry->init_control); /* init has a table of its own by now */
	close_fd(&entry->self);
	return 0;
}

void entry_done(struct entry *entry)
{
	/* Still building, it may be waiting for anything. */
	if (entry->init_control >= 0 && entry->init > 0)
		(void)sys_pidfd_send_signal(entry->pidfd, SIGKILL);
	close_fd(&entry->init_control);
	close_fd(&entry->self);
	close_fd(&entry->control); /* ends init, and with it everything inside */
	if (entry->init > 0)
		while (waitpid(entry->init, NULL, 0) < 0 && errno == EINTR)
			;
	close_fd(&entry->pidfd);
	close_fd(&entry->listener);
	close_fd(&entry->terminal);
	for (int i = 0; i < NAME_SOCKETS; i++)
		close_fd(&entry->names[i]);
	close_fd(&entry->network);
	close_fd(&entry->root);
	close_fd(&entry->input);
	for (size_t i = 0; i < entry->texts.count; i++)
		close_fd(&entry->texts.fds[i]);
	*entry = ENTRY_NONE;
}
