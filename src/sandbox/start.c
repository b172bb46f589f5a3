/* SPDX-License-Identifier: Apache-2.0 */
/* The order of everything: namespaces, mounts, masks, Landlock, privileges, filter, command.
 *
 * Init is cloned with a table of fds shared with the supervisor, because the notification fd comes
 * into being behind the filter, where no message can be sent any more without being shown to a
 * supervisor that does not have it yet. Init gives up the shared table before it starts the
 * command. Memory is never shared with the supervisor.
 *
 * The two work side by side, because a start is waited for: init makes the namespaces and builds
 * the tree while the supervisor judges the request, which takes as long. */
#include "ahead.h"
#include "container/container.h"
#include "identity.h"
#include "stage.h"
#include "../base/io.h"
#include "../sys/kernel.h"
#include "../sys/place.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

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
	if (ground->level == LEVEL_CONTAINER)
		walls &= ~container_walls(ground);
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

/* Init was born into all of its namespaces. */
static bool has_namespaces;

/* The namespaces that init makes itself. All at once where they are to be had; else one by one, and
 * those that are refused are done without, but for the one that everything about files needs. */
static int make_namespaces(struct rung *rung, struct failure *failure)
{
	if (has_namespaces ||
	    unshare((int)namespace_flags(rung->walls, /* at_birth= */ false)) == 0)
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

/* A namespace of our own. By way of the pidfd, where the kernel knows that: the sandbox's /proc is
 * new, and to find a way in it takes ten times as long. */
static int open_namespace(int init, unsigned long request, const char *path)
{
	int fd = ioctl(init, request, 0);

	return fd >= 0 ? fd : open(path, O_RDONLY | O_CLOEXEC);
}

/* The supervisor furnishes the network when there is need of it, where it can enter it; else that
 * is done here, as long as we may. */
static int build_network(int init, struct build_report *report)
{
	const char *object;

	if (!(report->rung.walls & WALL_BIT(WALL_NET_NAMESPACE)))
		return 0;
	if (!stage_enters_later(report->rung.walls)) {
		object = network_furnish(report->names);
		return object ? stage_fail(&report->failure, "starting", object) : 0;
	}
	report->network = open_namespace(init, PIDFD_OPEN_NETWORK, "/proc/self/ns/net");
	return report->network < 0 ? stage_fail(&report->failure, "opening", "/proc/self/ns/net")
				   : 0;
}

/* For the supervisor, so that init does not die of taking the mounts down; see close_behind. Where
 * it cannot be had init does. Layers must be gone before somebody else gets their directories. */
static int hold_mounts(int init, const struct rung *rung)
{
	return rung->walls & WALL_BIT(WALL_MOUNT_NAMESPACE)
		       ? open_namespace(init, PIDFD_OPEN_MOUNTS, "/proc/self/ns/mnt")
		       : -1;
}

/* What is the same for every command. Where the kernel lets a namespace be made and then nothing be
 * done in it, all of it has to begin again without. */
static int build_ground(const struct ground *ground, struct build_report *report)
{
	struct failure *failure = &report->failure;
	struct rung *rung = &report->rung;

	if (rung->walls & WALL_BIT(WALL_USER_NAMESPACE) && stage_identity(ground, failure) < 0) {
		if (ladder_is_refusal(failure->errnum))
			failure->missing = WALL_BIT(WALL_USER_NAMESPACE);
		return -1;
	}
	/* Where they are not to be had that is no failure. Not below mounts of our own: whoever the
	 * supervisor forks meanwhile has a copy of what is open for writing here, and they could
	 * not be made read-only as long as it lives. */
	if (rung->walls & WALL_BIT(WALL_USER_NAMESPACE) && !has_namespaces &&
	    (ground->level == LEVEL_CONTAINER || !stage_enters_later(rung->walls)))
		(void)shares_take();
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

/* What is mostly wanted, while init would wait for its letter: of a sandbox that was begun ahead,
 * by a ward that ends with it, so that nobody is left with what is in the table. */
static int prepare(const struct ground *ground, struct build_report *report)
{
	struct rung *rung = &report->rung;
	const int init = ahead_self();

	if (build_network(init, report) < 0)
		return -1;
	report->mounts = hold_mounts(init, rung);
	report->tasks = stage_open_tasks(rung);
	stage_prepare_filter(rung, lacks_network_wall(ground, rung));
	return 0;
}

/* Less than this is no container. */
static int check_engine(const struct rung *rung, struct failure *failure)
{
	errno = ENOTSUP;
	return rung->lost & (WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_MOUNT_NAMESPACE))
		       ? stage_fail(failure, "making", "a user namespace for the container")
		       : 0;
}

/* They are in the supervisor's table as well, which must not hold on to them. */
static void close_trees(const struct sandbox *sandbox, struct writable_tree *trees,
			struct cache_trees *caches)
{
	for (size_t i = 0; i < sandbox->writable->count && i < WRITABLE_MOST; i++) {
		close_fd(&trees[i].target);
		close_fd(&trees[i].tree);
	}
	for (size_t i = 0; i < CACHES_MOST; i++)
		close_fd(&caches->trees[i]);
}

/* The rest is the runtime's, and that of pid 1 in what it makes. config: what the runtime waits
 * for, where it has been started. */
static int build_container(const struct sandbox *sandbox, unsigned walls, int letter, int root,
			   int config, const struct cache_trees *caches,
			   struct build_report *report)
{
	struct rung rung = {.walls = walls};

	if (config < 0) {
		report->program = engine_open_program();
		report->errors = memfd_create("runtime", MFD_CLOEXEC);
	}
	if (config < 0 && (report->program < 0 || report->errors < 0))
		return stage_fail(&report->failure, "opening", "ward's own program");
	if (letter_note(letter, &rung, caches->standing) < 0)
		return stage_fail(&report->failure, "writing", "what to run");
	if (engine_prepare(sandbox, root, &report->failure) < 0)
		return -1;
	return config < 0 ? 0 : engine_tell(sandbox, config, &report->failure);
}

static int build(const struct ground *ground, int control, const uint32_t pass[static 4],
		 struct sandbox *sandbox, struct build_report *report)
{
	static struct writable_tree trees[WRITABLE_MOST];
	static struct cache_trees caches;
	struct failure *failure = &report->failure;
	struct rung *rung = &report->rung;
	const bool contained = ground->level == LEVEL_CONTAINER;
	struct note letter;
	unsigned whole;
	size_t masks_length;
	const char *masks;
	int root = -1, config = -1;

	memset(caches.trees, -1, sizeof(caches.trees));
	/* A container's profile is its engine's to set. */
	if (rung->walls & WALL_BIT(WALL_APPARMOR) && (contained || !stage_apparmor()))
		rung->walls &= ~WALL_BIT(WALL_APPARMOR);
	rung->walls &= ~(WALL_BIT(WALL_SELINUX) | WALL_BIT(WALL_GVISOR));
	whole = rung->walls | (contained ? container_walls(ground) & ~walls_switched_off() : 0);
	if (contained && check_engine(rung, failure) < 0)
		return -1;
	if (build_ground(ground, report) < 0 ||
	    (!contained && stage_bounding_set(rung->walls, failure) < 0) ||
	    (contained && ground->runtime && runtime_starts_early(ground->runtime) &&
	     engine_split(ground->runtime, control, &config, report) < 0) ||
	    stage_names(whole, failure) < 0)
		return -1;
	if (has_namespaces && prepare(ground, report) < 0)
		return -1;
	stage_foresee(ground, whole);
	if (letter_receive(control, &letter, sandbox, &masks, &masks_length) < 0)
		return stage_fail(failure, "reading", "what to run");
	if (contained && (root = engine_open_root(sandbox, failure)) == -2)
		return -1;
	/* Not before: whoever changes his mind would keep what is in his table. */
	if (!contained && !has_namespaces && build_network(letter.init, report) < 0)
		return -1;
	if (rung->walls & WALL_BIT(WALL_MOUNT_NAMESPACE) &&
	    (stage_settle(whole, masks, masks_length, failure) < 0 ||
	     stage_writable(sandbox, whole, trees, &caches, failure) < 0 ||
	     stage_masks(sandbox, whole, caches.standing, masks, masks_length, &report->texts,
			 failure) < 0))
		return -1;
	report->caches = caches.standing;
	if (caches.standing)
		close_fd(&report->mounts);
	else if (report->mounts < 0)
		report->mounts = hold_mounts(letter.init, rung);
	if (contained)
		close_trees(sandbox, trees, &caches);
	if (contained)
		return build_container(sandbox, whole, letter.fd, root, config, &caches, report);
	ahead_settle();
	return stage_finish(&(struct finish){.sandbox = sandbox,
					     .trees = trees,
					     .caches = &caches,
					     .records = masks,
					     .records_end = masks + masks_length,
					     .pass = pass,
					     .no_network = lacks_network_wall(ground, rung)},
			    report);
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

/* Tells that the tree stands, and becomes the runtime, where nobody has. */
static _Noreturn void run_engine(const struct sandbox *sandbox, const struct ground *ground,
				 int control, struct build_report *report)
{
	if (ground->runtime && runtime_starts_early(ground->runtime))
		_exit(write(control, report, sizeof(*report)) != sizeof(*report));
	if (sys_close_range(1u << 30, ~0u, CLOSE_RANGE_UNSHARE) < 0)
		stage_fail(&report->failure, "leaving", "the shared table of fds");
	if (write(control, report, sizeof(*report)) != sizeof(*report) || report->failure.errnum)
		_exit(1);
	if (sandbox->apart)
		apart_become(sandbox, control, report->program, report->errors, &report->failure);
	else
		engine_become(sandbox->runtime, control, report->program, report->errors,
			      /* config= */ -1, &report->failure);
	dprintf(STDERR_FILENO, "%s %s: %s", report->failure.stage, report->failure.object,
		strerror(report->failure.errnum));
	_exit(1);
}

static _Noreturn void run_init(const struct ground *ground, struct rung rung, int control,
			       int supervisor)
{
	static struct build_report report = {.listener = -1,
					     .terminal = -1,
					     .names = {-1, -1, -1, -1},
					     .network = -1,
					     .mounts = -1,
					     .input = -1,
					     .root = -1,
					     .tasks = -1,
					     .program = -1,
					     .errors = -1};
	struct pollfd died = {supervisor, POLLIN, 0};
	int kept[8] = {control, -1, -1, -1, -1, -1, -1, -1}, failed;
	unsigned walls = rung.walls;
	uint32_t pass[4] = {0};
	struct init_order go;
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
	if (!failed && ground->level == LEVEL_CONTAINER)
		run_engine(&sandbox, ground, control, &report);
	if (!failed) {
		kept[1] = report.terminal;
		kept[2] = report.input;
		for (int i = 0; i < 3; i++)
			if (sandbox.stdio[i].kind == STDIO_FD)
				kept[3 + i] = sandbox.stdio[i].fd;
		kept[6] = report.tasks;
		if (report.caches)
			kept[7] = sandbox.cache_lock;
		failed = stage_leave_table(walls, kept, ELEMENTS(kept), &report.failure);
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
	if (read(control, &go, sizeof(go)) != sizeof(go) || go.kind != INIT_START)
		_exit(0); /* the supervisor changed its mind, or is gone */
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
static pid_t birth_of_init(bool whole, struct rung *rung, int *ret_pidfd)
{
	static const unsigned less[] = {
		0,
		WALL_BIT(WALL_PID_NAMESPACE),
		WALL_BIT(WALL_USER_NAMESPACE),
		WALL_BIT(WALL_USER_NAMESPACE) | WALL_BIT(WALL_PID_NAMESPACE),
	};
	pid_t pid = -1;

	for (size_t i = 0; i < (whole ? 1 : ELEMENTS(less)); i++) {
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

void sandbox_be_init(const char *const *likely)
{
	struct ahead_begun begun;
	struct ground ground = {.level = LEVEL_RESTRICTED,
				.network = NETWORK_NONE,
				.whole = true,
				.likely = likely};

	if (!ahead_bear(&begun))
		return;
	ground.uid = begun.uid;
	ground.gid = begun.gid;
	/* As ward's own are when it bears init itself: what the caller ignores is none of init's.
	 */
	signal(SIGTTOU, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	has_namespaces = true;
	run_init(&ground, (struct rung){.walls = walls_wanted(&ground)}, begun.control[1],
		 begun.supervisor);
}

/* Everything that was made ahead is wanted, and nothing else. */
static bool take_ahead(const struct ground *ground, const struct rung *rung, struct entry *entry)
{
	const uint64_t wanted = namespace_flags(rung->walls, /* at_birth= */ true) |
				namespace_flags(rung->walls, /* at_birth= */ false);
	struct ahead_begun begun;

	if (!ground->whole || ground->level != LEVEL_RESTRICTED || ladder_lost() ||
	    wanted != (ahead_namespaces() | CLONE_NEWPID) ||
	    !ahead_take(ground->uid, ground->gid, &begun)) {
		ahead_dismiss();
		return false;
	}
	entry->control = begun.control[0];
	entry->init_control = begun.control[1];
	entry->self = begun.supervisor;
	return true;
}

static int begin_now(const struct ground *ground, struct rung *rung, struct entry *entry,
		     struct error **ret_error)
{
	int control[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
		return refused(entry, ret_error);
	entry->control = control[0];
	entry->init_control = control[1];
	entry->self = sys_pidfd_open(getpid());
	entry->init = birth_of_init(ground->whole, rung, &entry->pidfd);
	if (entry->init == 0)
		run_init(ground, *rung, control[1], entry->self);
	if (entry->init < 0)
		return refused(entry, ret_error);
	place_elsewhere(entry->init);
	return 0;
}

int sandbox_begin(const struct ground *ground, struct entry *ret_entry, struct error **ret_error)
{
	struct rung rung = {.walls = walls_wanted(ground)};
	struct entry entry = ENTRY_NONE;
	int r;

	entry.coming = take_ahead(ground, &rung, &entry);
	if (!entry.coming && (r = begin_now(ground, &rung, &entry, ret_error)) < 0)
		return r;
	entry.leader = entry.init;
	entry.walls = rung.walls;
	entry.lost = rung.lost;
	if (entry.lost & WALL_BIT(WALL_USER_NAMESPACE))
		identity_lower();
	*ret_entry = entry;
	return 0;
}

int sandbox_born(struct entry *entry, struct error **ret_error)
{
	if (!entry->coming)
		return 0;
	entry->coming = false;
	entry->init = entry->leader = ahead_wait(&entry->pidfd);
	if (entry->init > 0)
		return 0;
	return fail_errno(ret_error, E_ENGINE, ERESTART, "starting the sandbox's own processes");
}
