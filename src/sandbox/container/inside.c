/* SPDX-License-Identifier: Apache-2.0 */
/* Pid 1 of a container, and how it hands over what the supervisor needs.
 *
 * The notification fd comes into being behind the filter, where no message can be sent any more
 * without being shown to a supervisor that does not have it yet. So the supervisor takes it. Where
 * the machine does not let it (Yama, a profile) a child that shares the table of fds is made
 * before, and sends it: the messenger. It is gone before the command is there. */
#include "container.h"
#include "../../base/io.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* In the order in which they are sent: by pid 1, and to it. */
enum { LISTENER, TERMINAL, NETWORK, MOUNTS, INPUT, ROOT, LEADER, HANDED };
enum { LETTER, STDIO, CACHE_LOCK = STDIO + 3, SENT };

enum { FDS_MOST = HANDED };

union ancillary {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * FDS_MOST)];
};

/* One message: *there says which of the fds are with it; those of -1 are not. */
static ssize_t send_fds(int control, const struct iovec *text, const int *fds, size_t most,
			bool *there)
{
	int present[FDS_MOST], count = 0;
	union ancillary ancillary = {0};
	struct msghdr message = {.msg_iov = (struct iovec *)text, .msg_iovlen = 1};

	for (size_t i = 0; i < most; i++) {
		there[i] = fds[i] >= 0;
		if (fds[i] >= 0)
			present[count++] = fds[i];
	}
	if (count > 0) {
		ancillary.header =
			(struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int) * (size_t)count),
					 .cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&ancillary.header), present, sizeof(int) * (size_t)count);
		message.msg_control = &ancillary;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)count);
	}
	return sendmsg(control, &message, MSG_NOSIGNAL);
}

/* ret_fds: -1 for those that did not come. there: part of the text. */
static int receive_fds(int control, struct iovec *text, int *ret_fds, size_t most,
		       const bool *there)
{
	union ancillary ancillary;
	struct msghdr message = {.msg_iov = text,
				 .msg_iovlen = 1,
				 .msg_control = &ancillary,
				 .msg_controllen = sizeof(ancillary)};
	struct cmsghdr *header;
	int fds[FDS_MOST], count = 0, next = 0;

	if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != (ssize_t)text->iov_len ||
	    message.msg_flags & MSG_CTRUNC)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(header), sizeof(int) * (size_t)count);
	}
	for (size_t i = 0; i < most; i++)
		ret_fds[i] = there[i] && next < count ? fds[next++] : -1;
	return 0;
}

struct parcel {
	struct build_report report; /* its fds mean nothing on the other side */
	bool there[HANDED];
};

void parcel_send(int control, const struct build_report *report, int leader)
{
	const int fds[HANDED] = {
		report->listener, report->terminal, report->network, report->mounts,
		report->input,	  report->root,	    leader};
	struct parcel parcel = {.report = *report};

	(void)!send_fds(control, &(struct iovec){&parcel, sizeof(parcel)}, fds, HANDED,
			parcel.there);
}

/* As the kernel names it to us; 0 or less where it has ended. */
static pid_t pid_of(int pidfd)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (pidfd < 0 || read_file(AT_FDCWD, path, 4096, &text, NULL) < 0 ||
	    !(at = strstr(text, "\nPid:")))
		return 0;
	return (pid_t)strtol(at + strlen("\nPid:"), NULL, 10);
}

int container_receive(int control, struct build_report *ret_report, int *ret_pidfd,
		      pid_t *ret_leader)
{
	int *const places[HANDED] = {&ret_report->listener,
				     &ret_report->terminal,
				     &ret_report->network,
				     &ret_report->mounts,
				     &ret_report->input,
				     &ret_report->root,
				     ret_pidfd};
	struct parcel parcel = {0};
	int fds[HANDED];

	if (receive_fds(control, &(struct iovec){&parcel, sizeof(parcel)}, fds, HANDED,
			parcel.there) < 0)
		return -1;
	*ret_report = parcel.report;
	for (int i = 0; i < HANDED; i++)
		*places[i] = fds[i];
	*ret_leader = pid_of(*ret_pidfd);
	return 0;
}

static bool is_handed(const struct stdio *stdio)
{
	return stdio->kind == STDIO_FD || stdio->kind == STDIO_FILE;
}

/* One may have been closed by the caller. */
static int if_open(int fd)
{
	return fd >= 0 && fcntl(fd, F_GETFD) >= 0 ? fd : -1;
}

int container_send(int control, int letter, const struct sandbox *sandbox)
{
	int fds[SENT] = {[LETTER] = letter, [CACHE_LOCK] = sandbox->cache_lock};
	bool there[SENT];

	for (int i = 0; i < 3; i++)
		fds[STDIO + i] = is_handed(&sandbox->stdio[i]) ? if_open(sandbox->stdio[i].fd) : -1;
	return send_fds(control, &(struct iovec){there, sizeof(there)}, fds, SENT, there) ==
			       sizeof(there)
		       ? 0
		       : -1;
}

int container_meet(int control, int *ret_pidfd, pid_t *ret_leader, bool *ret_takes)
{
	bool there[1] = {false};
	int taken;

	if (receive_fds(control, &(struct iovec){there, sizeof(there)}, ret_pidfd, 1, there) < 0)
		return -1;
	taken = sys_pidfd_getfd(*ret_pidfd, CONTAINED_CONTROL);
	*ret_takes = taken >= 0;
	close_fd(&taken);
	if (write(control, ret_takes, sizeof(*ret_takes)) != sizeof(*ret_takes))
		return -1;
	*ret_leader = pid_of(*ret_pidfd);
	return *ret_leader > 0 ? 0 : -1;
}

int container_take(int control, int pidfd, struct build_report *ret_report)
{
	int *const fds[] = {&ret_report->listener, &ret_report->terminal, &ret_report->network,
			    &ret_report->mounts,   &ret_report->input,	  &ret_report->root};
	int missing = 0;

	if (read(control, ret_report, sizeof(*ret_report)) != sizeof(*ret_report))
		return -1;
	for (size_t i = 0; i < ELEMENTS(fds); i++)
		if (*fds[i] >= 0 && (*fds[i] = sys_pidfd_getfd(pidfd, *fds[i])) < 0)
			missing = -1;
	return missing;
}

/* A child with our table of fds. It waits for the report, or for our end. */
static pid_t start_messenger(int ret_pipe[static 2])
{
	struct kernel_clone arguments = {.flags = CLONE_FILES, .exit_signal = SIGCHLD};

	return pipe2(ret_pipe, O_CLOEXEC) < 0 ? -1 : sys_clone_any(&arguments);
}

static _Noreturn void carry(int from)
{
	struct build_report report;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(from, &report, sizeof(report)) == sizeof(report))
		parcel_send(CONTAINED_CONTROL, &report, /* leader= */ -1);
	_exit(0);
}

/* Who we are, before anything else: the answer is there when it is needed. */
static int introduce(void)
{
	int self = sys_pidfd_open(getpid());
	bool there[1];
	ssize_t length =
		send_fds(CONTAINED_CONTROL, &(struct iovec){there, sizeof(there)}, &self, 1, there);

	close_fd(&self);
	return length == sizeof(there) ? 0 : -1;
}

/* Who carries our report: where the supervisor takes what it needs, we do. *ret_messenger: 0 then.
 */
static int prepare_report(int *ret_pipe, pid_t *ret_messenger)
{
	bool takes;
	int pipe[2];

	if (read(CONTAINED_CONTROL, &takes, sizeof(takes)) != sizeof(takes))
		return -1;
	*ret_messenger = 0;
	*ret_pipe = CONTAINED_CONTROL;
	if (takes)
		return 0;
	*ret_messenger = start_messenger(pipe);
	if (*ret_messenger == 0)
		carry(pipe[0]);
	*ret_pipe = pipe[1];
	return *ret_messenger < 0 ? -1 : 0;
}

/* The trees as they are seen here; nobody else is in the container yet. */
static int open_trees(const struct sandbox *sandbox, struct writable_tree *trees,
		      struct cache_trees *caches, struct failure *failure)
{
	if (sandbox->writable->count > WRITABLE_MOST) {
		errno = E2BIG;
		return stage_fail(failure, "keeping writable", "more than 256 paths");
	}
	for (size_t i = 0; i < sandbox->writable->count; i++) {
		const char *path = sandbox->writable->items[i];

		trees[i] = (struct writable_tree){-1, sys_openat2(AT_FDCWD, path,
								  O_PATH | O_CLOEXEC | O_NOFOLLOW,
								  RESOLVE_NO_SYMLINKS)};
		if (trees[i].tree < 0)
			return stage_fail(failure, "keeping writable", path);
	}
	for (size_t i = 0; i < sandbox->caches->count && i < CACHES_MOST; i++)
		if (caches->standing >> i & 1)
			caches->trees[i] = open(sandbox->caches->items[i], O_PATH | O_CLOEXEC);
	/* In a root of its own they are not seen. */
	for (size_t i = 0; i < CACHES_MOST; i++)
		if (caches->trees[i] < 0)
			caches->standing &= ~(UINT64_C(1) << i);
	return 0;
}

/* What the runtime was told, and what became of it: what was asked for by name stands or nothing
 * runs. */
static int check_labels(const struct sandbox *sandbox, struct rung *rung, struct failure *failure)
{
	const struct {
		const char *label, *attribute;
		enum wall wall;
	} labels[] = {
		{sandbox->apparmor, "/proc/self/attr/apparmor/current", WALL_APPARMOR},
		{sandbox->selinux, "/proc/self/attr/current", WALL_SELINUX},
	};

	for (size_t i = 0; i < ELEMENTS(labels); i++) {
		if (!*labels[i].label)
			continue;
		if (!stage_stands_under(labels[i].attribute, labels[i].label)) {
			errno = EPERM;
			return stage_fail(failure, "standing under", labels[i].label);
		}
		rung->walls |= WALL_BIT(labels[i].wall);
	}
	return 0;
}

/* Where the runtime has to be root: one's own number again, in a namespace of one's own, in which
 * nothing of the container is owned. Not under a profile yet: it may refuse what this takes. */
static int return_to_self(const struct sandbox *sandbox, unsigned walls, struct failure *failure)
{
	if (!sandbox->returning_uid)
		return 0;
	if (unshare(CLONE_NEWUSER) < 0)
		return stage_fail(failure, "making", "a user namespace in the container's");
	if (stage_maps((struct map){sandbox->returning_uid, 0},
		       (struct map){sandbox->returning_gid, 0}, failure) < 0)
		return -1;
	if (stage_bounding_set(walls, failure) < 0)
		return -1;
	return *sandbox->apparmor ? stage_enter_profile(sandbox->apparmor, failure) : 0;
}

/* What there is to know and to hold before there are walls. */
static int begin(struct sandbox *sandbox, struct writable_tree *trees, struct cache_trees *caches,
		 struct build_report *report)
{
	struct failure *failure = &report->failure;
	const char *masks;
	size_t length;
	struct stat st;
	bool there[SENT] = {0};
	int fds[SENT];

	if (receive_fds(CONTAINED_CONTROL, &(struct iovec){there, sizeof(there)}, fds, SENT,
			there) < 0 ||
	    fstat(fds[LETTER], &st) < 0 ||
	    letter_read(fds[LETTER], (size_t)st.st_size, sandbox, &masks, &length) < 0)
		return stage_fail(failure, "reading", "what to run");
	/* Nothing takes the place of one that was closed. */
	for (int i = 0; i < 3; i++)
		sandbox->stdio[i].fd = fds[STDIO + i] < 0 && is_handed(&sandbox->stdio[i])
					       ? open("/dev/null", O_RDWR | O_CLOEXEC)
					       : fds[STDIO + i];
	sandbox->cache_lock = fds[CACHE_LOCK];
	report->rung = sandbox->rung;
	if (return_to_self(sandbox, report->rung.walls, failure) < 0 ||
	    check_labels(sandbox, &report->rung, failure) < 0)
		return -1;
	report->caches = caches->standing = sandbox->layers;
	memset(caches->trees, -1, sizeof(caches->trees));
	if (report->rung.walls & WALL_BIT(WALL_NET_NAMESPACE) &&
	    (report->network = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC)) < 0)
		return stage_fail(failure, "opening", "/proc/self/ns/net");
	/* For the supervisor: see hold_mounts. */
	if (!caches->standing)
		report->mounts = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	return open_trees(sandbox, trees, caches, failure);
}

static int build(struct sandbox *sandbox, const uint32_t pass[static 4], int *ret_pipe,
		 pid_t *ret_messenger, struct build_report *report)
{
	static struct writable_tree trees[WRITABLE_MOST];
	static struct cache_trees caches;
	int failed = begin(sandbox, trees, &caches, report);

	if (prepare_report(ret_pipe, ret_messenger) < 0)
		_exit(1);
	if (failed)
		return -1;
	return stage_finish(
		&(struct finish){
			.sandbox = sandbox, .trees = trees, .caches = &caches, .pass = pass},
		report);
}

_Noreturn void container_inside(void)
{
	static struct build_report report = {.listener = -1,
					     .terminal = -1,
					     .names = {-1, -1, -1, -1},
					     .network = -1,
					     .mounts = -1,
					     .input = -1,
					     .root = -1,
					     .tasks = -1};
	static struct sandbox sandbox;
	int kept[8] = {CONTAINED_CONTROL, -1, -1, -1, -1, -1, -1, -1}, pipe, failed;
	uint32_t pass[4] = {0};
	pid_t messenger;
	char go;

	prctl(PR_SET_NAME, "ward-init");
	/* The runtime handed them on; the command gets none of them. */
	if (sys_close_range(CONTAINED_CONTROL, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		_exit(1);
	if (introduce() < 0 || getrandom(pass, sizeof(pass), 0) != sizeof(pass))
		_exit(1);
	failed = build(&sandbox, pass, &pipe, &messenger, &report);
	if (write(pipe, &report, sizeof(report)) != sizeof(report))
		_exit(1);
	/* Until the supervisor has what it needs of us: the runtime waits for us, and nobody else
	 * keeps our number when we are gone. */
	if (read(CONTAINED_CONTROL, &go, sizeof(go)) != sizeof(go))
		failed = -1;
	while (messenger > 0 && waitpid(messenger, NULL, 0) < 0 && errno == EINTR)
		;
	if (failed)
		_exit(1);
	kept[1] = report.terminal;
	kept[2] = report.input;
	for (int i = 0; i < 3; i++)
		if (sandbox.stdio[i].kind == STDIO_FD)
			kept[3 + i] = sandbox.stdio[i].fd;
	kept[6] = report.tasks;
	if (report.caches)
		kept[7] = sandbox.cache_lock;
	if (stage_leave_table(report.rung.walls, kept, ELEMENTS(kept), &report.failure) < 0)
		_exit(1);
	if (report.rung.walls & WALL_BIT(WALL_INIT_HIDDEN))
		prctl(PR_SET_DUMPABLE, 0);
	init_main(
		&sandbox, &report.rung, pass,
		&(struct init_fds){CONTAINED_CONTROL, report.terminal, report.input, report.tasks});
}
