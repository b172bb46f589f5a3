/* SPDX-License-Identifier: Apache-2.0 */
/* Receives notifications, knows each call by one table, and hands it to those who judge files or
 * sockets. */
#include "network/network.h"
#include "../base/path.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

/* How long a streak of calls may keep us from everything else, and how long the next one of it may
 * take to come. */
static const uint64_t streak_ns = 5000000;
enum { ROUNDS = 64, WAIT_MS = 5 };

static const struct trap traps[] = {
	{SYS_open, "open", TRAP_OPEN, -1, 0, -1, -1, 1, 2, false},
	{SYS_openat, "openat", TRAP_OPEN, 0, 1, -1, -1, 2, 3, false},
	{SYS_creat, "creat", TRAP_OPEN, -1, 0, -1, -1, -1, 1, false},
	{SYS_mkdir, "mkdir", TRAP_MAKE, -1, 0, -1, -1, -1, 1, true},
	{SYS_mkdirat, "mkdirat", TRAP_MAKE, 0, 1, -1, -1, -1, 2, true},
	{SYS_mknod, "mknod", TRAP_MAKE, -1, 0, -1, -1, -1, 1, true},
	{SYS_mknodat, "mknodat", TRAP_MAKE, 0, 1, -1, -1, -1, 2, true},
	{SYS_symlink, "symlink", TRAP_SYMLINK, -1, 1, -1, -1, -1, -1, true},
	{SYS_symlinkat, "symlinkat", TRAP_SYMLINK, 1, 2, -1, -1, -1, -1, true},
	{SYS_rmdir, "rmdir", TRAP_REMOVE, -1, 0, -1, -1, -1, -1, true},
	{SYS_unlink, "unlink", TRAP_REMOVE, -1, 0, -1, -1, -1, -1, true},
	{SYS_unlinkat, "unlinkat", TRAP_REMOVE, 0, 1, -1, -1, 2, -1, true},
	{SYS_rename, "rename", TRAP_RENAME, -1, 0, -1, 1, -1, -1, true},
	{SYS_renameat, "renameat", TRAP_RENAME, 0, 1, 2, 3, -1, -1, true},
	{SYS_renameat2, "renameat2", TRAP_RENAME, 0, 1, 2, 3, 4, -1, true},
	{SYS_link, "link", TRAP_LINK, -1, 0, -1, 1, -1, -1, true},
	{SYS_linkat, "linkat", TRAP_LINK, 0, 1, 2, 3, 4, -1, true},
	{SYS_truncate, "truncate", TRAP_CUT, -1, 0, -1, -1, -1, -1, false},
	{SYS_chmod, "chmod", TRAP_CHANGE, -1, 0, -1, -1, -1, 1, false},
	{SYS_fchmodat, "fchmodat", TRAP_CHANGE, 0, 1, -1, -1, -1, 2, false},
	{452, "fchmodat2", TRAP_CHANGE, 0, 1, -1, -1, 3, 2, false},
	{SYS_fchmod, "fchmod", TRAP_CHANGE_BY_FD, -1, -1, -1, -1, -1, 1, false},
	{SYS_fchown, "fchown", TRAP_CHANGE_BY_FD, -1, -1, -1, -1, -1, -1, false},
	{SYS_fsetxattr, "fsetxattr", TRAP_CHANGE_BY_FD, -1, -1, -1, -1, -1, -1, false},
	{SYS_fremovexattr, "fremovexattr", TRAP_CHANGE_BY_FD, -1, -1, -1, -1, -1, -1, false},
	{SYS_chown, "chown", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, false},
	{SYS_lchown, "lchown", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, true},
	{SYS_fchownat, "fchownat", TRAP_CHANGE, 0, 1, -1, -1, 4, -1, false},
	{SYS_utime, "utime", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, false},
	{SYS_utimes, "utimes", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, false},
	{SYS_futimesat, "futimesat", TRAP_CHANGE, 0, 1, -1, -1, -1, -1, false},
	{SYS_utimensat, "utimensat", TRAP_CHANGE, 0, 1, -1, -1, 3, -1, false},
	{SYS_setxattr, "setxattr", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, false},
	{SYS_lsetxattr, "lsetxattr", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, true},
	{SYS_removexattr, "removexattr", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, false},
	{SYS_lremovexattr, "lremovexattr", TRAP_CHANGE, -1, 0, -1, -1, -1, -1, true},
	{SYS_umask, "umask", TRAP_UMASK, -1, -1, -1, -1, -1, -1, false},
	{SYS_chdir, "chdir", TRAP_GO, -1, 0, -1, -1, -1, -1, false},
	{SYS_fchdir, "fchdir", TRAP_GO, -1, -1, -1, -1, -1, -1, false},
	{SYS_inotify_init, "inotify_init", TRAP_SHARE, -1, -1, -1, -1, -1, -1, false},
	{SYS_inotify_init1, "inotify_init1", TRAP_SHARE, -1, -1, -1, -1, -1, -1, false},
	{SYS_sched_getaffinity, "sched_getaffinity", TRAP_PLACE, -1, -1, -1, -1, -1, -1, false},
	{SYS_access, "access", TRAP_ACCESS, -1, 0, -1, -1, -1, 1, false},
	{SYS_faccessat, "faccessat", TRAP_ACCESS, 0, 1, -1, -1, -1, 2, false},
	{439, "faccessat2", TRAP_ACCESS, 0, 1, -1, -1, 3, 2, false},
	{SYS_fallocate, "fallocate", TRAP_ALLOCATE, -1, -1, -1, -1, 1, -1, false},
	{SYS_connect, "connect", TRAP_CONNECT, -1, -1, -1, -1, -1, -1, false},
	{SYS_bind, "bind", TRAP_BIND, -1, -1, -1, -1, -1, -1, false},
	{SYS_listen, "listen", TRAP_LISTEN, -1, -1, -1, -1, -1, -1, false},
	{SYS_ioctl, "ioctl", TRAP_INTERFACE, -1, -1, -1, -1, -1, -1, false},
	{SYS_sendto, "sendto", TRAP_SEND, -1, -1, -1, -1, -1, -1, false},
	{SYS_sendmsg, "sendmsg", TRAP_MESSAGE, -1, -1, -1, -1, -1, -1, false},
	{SYS_sendmmsg, "sendmmsg", TRAP_MESSAGE, -1, -1, -1, -1, -1, -1, false},
	{SYS_socket, "socket", TRAP_SOCKET, -1, -1, -1, -1, -1, -1, false},
	{SYS_execve, "execve", TRAP_EXEC, -1, 0, -1, -1, -1, -1, false},
	{SYS_execveat, "execveat", TRAP_EXEC, 0, 1, -1, -1, 4, -1, false},
	{SYS_kill, "kill", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_tkill, "tkill", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_tgkill, "tgkill", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_rt_sigqueueinfo, "rt_sigqueueinfo", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_rt_tgsigqueueinfo, "rt_tgsigqueueinfo", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_pidfd_send_signal, "pidfd_send_signal", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_prlimit64, "prlimit64", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_setpriority, "setpriority", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_ioprio_set, "ioprio_set", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_sched_setparam, "sched_setparam", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_sched_setscheduler, "sched_setscheduler", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
	{SYS_sched_setaffinity, "sched_setaffinity", TRAP_PLACE, -1, -1, -1, -1, -1, -1, false},
	{SYS_sched_setattr, "sched_setattr", TRAP_PROCESS, -1, -1, -1, -1, -1, -1, false},
};

static void send_answer(struct observer *observer, struct seccomp_notif_resp *response)
{
	/* ENOENT: the caller was killed meanwhile, and nobody waits for it. */
	(void)ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_SEND, response);
}

void answer(struct observer *observer, uint64_t id, int error)
{
	send_answer(observer, &(struct seccomp_notif_resp){.id = id, .error = -error});
}

void answer_continue(struct observer *observer, uint64_t id)
{
	send_answer(observer, &(struct seccomp_notif_resp){
				      .id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE});
}

int answer_with_fd(struct observer *observer, uint64_t id, int fd, uint64_t flags)
{
	struct seccomp_notif_addfd addfd = {
		.id = id, .srcfd = (uint32_t)fd, .newfd_flags = (uint32_t)(flags & O_CLOEXEC)};
	int number, errnum;

	do { /* interrupted, it is not done; and it ends when the caller does */
		number = ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &addfd);
		errnum = errno;
	} while (number < 0 && errnum == EINTR);
	/* Before the caller goes on: as long as we hold it for writing, nobody can execute it. */
	close(fd);
	if (number < 0)
		return -errnum; /* it has no room for one more */
	send_answer(observer, &(struct seccomp_notif_resp){.id = id, .val = number});
	return 0;
}

int answer_with_data(struct observer *observer, const struct seccomp_notif *call, int fd,
		     uint64_t flags)
{
	int r = insert_and_send(observer, call, fd, flags);

	if (r == -EINVAL) /* before Linux 5.14 */
		return answer_with_fd(observer, call->id, fd, flags);
	close(fd);
	return r;
}

bool still_waiting(struct observer *observer, uint64_t id)
{
	return ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

void witness_tell(const struct observer *observer, pid_t tid, const char *operation,
		  const char *object)
{
	const struct witness *witness = observer->observed->witness;
	char program[32];

	if (!witness)
		return;
	caller_name(tid, program);
	witness->saw(witness->data, program, tid, operation, object);
}

bool warden_agrees(const struct observer *observer, const struct denial *denial)
{
	const struct warden *warden = observer->observed->warden;

	return !warden || !denial || warden->refused(warden->data, denial);
}

void refuse(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	    const char *operation, const char *object, const char *rule, int error)
{
	struct denial *denial;
	char program[32];

	caller_name((pid_t)call->pid, program);
	if (observer->observed->apart) /* the runtime's: who asked for it nobody can say */
		*program = '\0';
	if (!still_waiting(observer, call->id))
		return;
	denial = ledger_add(&observer->ledger, operation, object, trap->name, rule,
			    *program ? program : NULL);
	if (denial && observer->settling)
		denial->answer = (char *)observer->settling;
	if (warden_agrees(observer, denial))
		answer(observer, call->id, error);
}

/* A caller leaves its processor idle while it waits, and is woken where we are: served there both
 * find it warm, and nobody waits behind somebody else's work. Kernels before 6.6 do not know it,
 * and nothing is lost. */
static void share_processors(const struct observer *observer)
{
	(void)ioctl(observer->observed->listener, NOTIFY_SET_FLAGS, NOTIFY_SYNC_WAKE_UP);
}

/* One that comes again and again is waited for. */
static void note_caller(struct observer *observer, uint32_t caller)
{
	enum { OFTEN = 8 };

	observer->streak = caller == observer->last_caller ? observer->streak + 1 : 0;
	observer->last_caller = caller;
	observer->together =
		observer->streak >= OFTEN || (observer->together && observer->streak > 0);
}

/* The length is in a register: what is let go on is what was counted. What would go past the limit
 * is not: it could fill the disk in one call. */
static void serve_allocation(struct observer *observer, const struct seccomp_notif *call)
{
	int mode = (int)call->data.args[1];
	uint64_t length = call->data.args[3], disk = observer->observed->disk;

	if (!(mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE)) && length <= INT64_MAX) {
		if (disk && length > disk - MIN(disk, observer->set_aside)) {
			observer->set_aside = disk + 1;
			answer(observer, call->id, ENOSPC);
			return;
		}
		observer->set_aside += length;
	}
	answer_continue(observer, call->id);
}

/* The mask is in a register, and nobody is kept from setting it. */
static void serve_umask(struct observer *observer, const struct seccomp_notif *call)
{
	face_sets_umask((pid_t)call->pid, (mode_t)call->data.args[0]);
	answer_continue(observer, call->id);
}

/* What is said of others meets the walls; and where it is asked, nobody is tied any more. */
static void serve_place(struct observer *observer, const struct seccomp_notif *call,
			const struct trap *trap)
{
	bool moves = trap->number == SYS_sched_setaffinity;

	insert_tell(observer, moves);
	if (moves && observer->observed->among_all)
		serve_processes(observer, call, trap);
	else
		answer_continue(observer, call->id);
}

void serve_call(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap)
{
	if (observer->observed->apart)
		serve_apart(observer, call, trap);
	else if (trap->kind == TRAP_ALLOCATE)
		serve_allocation(observer, call);
	else if (trap->kind == TRAP_UMASK)
		serve_umask(observer, call);
	else if (trap->kind == TRAP_SHARE)
		serve_share(observer, call);
	else if (trap->kind == TRAP_PLACE)
		serve_place(observer, call, trap);
	else if (trap->kind == TRAP_GO) /* nobody's directory is kept any more, see insert_leave */
		answer_continue(observer, call->id);
	else if (trap->kind == TRAP_EXEC)
		serve_exec(observer, call, trap);
	else if (trap->kind == TRAP_ACCESS)
		serve_access(observer, call, trap);
	else if (trap->kind == TRAP_PROCESS)
		serve_processes(observer, call, trap);
	else if (trap->kind == TRAP_LISTEN || trap->kind == TRAP_INTERFACE)
		serve_own_network(observer, call, trap);
	else if (trap->kind >= TRAP_CONNECT)
		serve_sockets(observer, call, trap);
	else if (trap->kind >= TRAP_MAKE && trap->kind <= TRAP_LINK)
		serve_names_of_files(observer, call, trap);
	else
		serve_files(observer, call, trap);
}

static void receive(struct observer *observer)
{
	struct seccomp_notif call;

	memset(&call, 0, sizeof(call));
	if (ioctl(observer->observed->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return; /* killed between the wake-up and now */
	note_caller(observer, call.pid);
	face_called((pid_t)call.pid);
	for (size_t i = 0; i < ELEMENTS(traps); i++) {
		if (traps[i].number != call.data.nr)
			continue;
		if (traps[i].kind != TRAP_OPEN)
			insert_leave(observer);
		serve_call(observer, &call, &traps[i]);
		return;
	}
	answer(observer, call.id,
	       ENOSYS); /* trapped by the filter and unknown here: never let through */
}

/* Connections that are made for the command, and answers that wait, hold fds of ours. The command
 * itself was born before, and one that comes after finds what was. */
static void raise_files(struct observer *observer)
{
	enum { FILES = 8192 };
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &observer->files) < 0)
		return;
	more = observer->files;
	more.rlim_cur = MAX(more.rlim_cur, MIN(more.rlim_max, (rlim_t)FILES));
	(void)setrlimit(RLIMIT_NOFILE, &more);
}

static int watch(struct observer *observer, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(observer->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Children of ours would stay there as well. */
static void leave_place(const struct observed *observed)
{
	if (observed->place)
		place_leave(observed->place);
}

int observer_new(const struct observed *observed, struct observer **ret_observer,
		 struct error **ret_error)
{
	struct observer *observer = calloc(1, sizeof(*observer));

	if (!observer)
		abort();
	raise_files(observer);
	connects_begin();
	face_begin();
	observer->observed = observed;
	observer->never_places = never_new();
	observer->dial_timer = observer->terms.timer = observer->lent_epoll = -1;
	observer->tie.timer = -1;
	pointers_begin(&observer->holding.pointers);
	observer->epoll = epoll_create1(EPOLL_CLOEXEC);
	observer->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	observer->resolver = resolver_new();
	memcpy(observer->names, observed->names, sizeof(observer->names));
	if (seals_begin(observer) < 0 || observer->epoll < 0 || observer->timer < 0 ||
	    watch(observer, observer->timer) < 0 ||
	    (observed->listener >= 0 && watch(observer, observed->listener) < 0) ||
	    !(observer->nameserver =
		      nameserver_new(observer->epoll, observer->names, observer->resolver))) {
		fail_errno(ret_error, E_ENGINE, errno, "starting the supervisor");
		observer_free(observer);
		return -E_ENGINE;
	}
	observer->renewed = (struct renewed){.masks = observed->covered,
					     .texts = observed->texts,
					     .root = observed->root,
					     .init = observed->init,
					     .epoll = observer->epoll,
					     .waiting = observed->programs};
	if (observed->covered && observed->covered->count > 0 &&
	    renewal_new(&observer->renewed, &observer->renewal, ret_error) < 0) {
		observer_free(observer);
		return -E_ENGINE;
	}
	if (observed->listener < 0 || (observed->published && observed->published->count > 0))
		leave_place(observed);
	if (observed->listener >= 0)
		share_processors(observer);
	if (observed->listener < 0) /* nobody is shown the call, and init found that too late */
		(void)shares_need(observer);
	/* Where nobody tells us who makes a socket, or others do from outside. */
	if (observed->listener < 0 || (observed->published && observed->published->count > 0))
		network_need(observer);
	if (observed->published && observed->published->count > 0)
		relay_adopt(network_relay(observer), observed->published);
	observer->shells = below_has_shells(observed);
	hold_begin(observer);
	terms_begin(observer);
	*ret_observer = observer;
	return 0;
}

void observer_end(struct observer *observer, struct list *lines)
{
	hold_end(observer);
	for (size_t i = 0; i < observer->holding.lines.count; i++)
		list_add(lines, observer->holding.lines.items[i]);
}

void observer_free(struct observer *observer)
{
	if (!observer)
		return;
	if (observer->files.rlim_max)
		(void)setrlimit(RLIMIT_NOFILE, &observer->files);
	face_forget_all();
	seals_done(observer);
	drop_waiting(observer);
	wish_done(observer);
	lent_done(observer);
	terms_done(observer);
	probe_forget(observer, NULL);
	dial_done(observer);
	relay_free(observer->relay);
	renewal_free(observer->renewal);
	hold_done(&observer->holding);
	nameserver_free(observer->nameserver);
	for (int i = 0; i < NAME_SOCKETS && observer->furnished; i++)
		close_fd(&observer->names[i]);
	resolver_free(observer->resolver);
	ledger_done(&observer->ledger);
	for (size_t i = 0; i < observer->bound_count; i++)
		close_fd(&observer->bound[i].fd);
	free(observer->bound);
	close_fd(&observer->epoll);
	close_fd(&observer->timer);
	close_fd(&observer->tie.timer);
	free(observer);
}

int observer_fd(const struct observer *observer)
{
	return observer->epoll;
}

/* Nothing inside goes on without its masks, nor with what was taken back. */
static void end_run(struct observer *observer)
{
	if (observer->observed->pidfd >= 0)
		sys_pidfd_send_signal(observer->observed->pidfd, SIGKILL);
	else
		shutdown(observer->observed->control, SHUT_RDWR);
}

/* Who calls again and again is waited for, a moment and without looking at anything else. Besides
 * what that saves, only whoever waits for the listener itself is woken on the caller's processor:
 * through epoll the kernel takes any that is idle, and to wake that takes longer than all the rest.
 */
static void serve_streak(struct observer *observer)
{
	const struct observed *observed = observer->observed;
	struct pollfd fds[1 + ELEMENTS(observed->outputs)] = {{observed->listener, POLLIN, 0}};
	uint64_t end = monotonic_ns() + streak_ns;

	while (observer->together && monotonic_ns() < end) {
		for (size_t i = 0; i < ELEMENTS(observed->outputs); i++)
			fds[1 + i] = (struct pollfd){
				observed->outputs[i] ? *observed->outputs[i] : -1, POLLIN, 0};
		if (poll(fds, ELEMENTS(fds), WAIT_MS) <= 0 || !(fds[0].revents & POLLIN))
			break;
		receive(observer);
	}
	insert_leave(observer);
}

void observer_serve(struct observer *observer)
{
	struct epoll_event events[8];

	for (int round = 0; round < ROUNDS; round++) {
		int count = epoll_wait(observer->epoll, events, ELEMENTS(events), 0);
		bool waiting = false;

		if (count <= 0)
			return;
		terms_check(observer);
		for (int i = 0; i < count; i++) {
			int fd = events[i].data.fd;

			if (fd == observer->observed->listener && !(events[i].events & EPOLLIN)) {
				/* nobody is left under the filter */
				epoll_ctl(observer->epoll, EPOLL_CTL_DEL, fd, NULL);
				continue;
			}
			leave_place(observer->observed);
			if (fd == observer->observed->listener) {
				receive(observer);
				serve_streak(observer);
			} else if (!nameserver_serve(observer->nameserver, fd) &&
				   !dial_serve(observer, fd) && !terms_serve(observer, fd) &&
				   !insert_serve(observer, fd) &&
				   !lookup_serve(observer->lookup, fd, events[i].events) &&
				   !relay_serve(observer->relay, fd, events[i].events) &&
				   !renewal_serve(observer->renewal, fd) &&
				   !pointers_serve(observer, fd) && !seal_serve(observer, fd)) {
				waiting = true;
			}
		}
		if (waiting)
			serve_waiting(observer);
		if (observer_is_ending(observer))
			end_run(observer);
		if (observer->together) /* that was a streak, and others have waited */
			return;
	}
}

bool observer_is_ending(const struct observer *observer)
{
	return renewal_failed(observer->renewal) || observer->terms.failure;
}

struct error *observer_take_failure(struct observer *observer)
{
	struct error *failure = renewal_take_failure(observer->renewal);

	return failure ? failure : STEAL(observer->terms.failure);
}

void observer_warn(const struct observer *observer, struct list *warnings)
{
	renewal_warn(observer->renewal, warnings);
	for (size_t i = 0; i < observer->seals.unsealed.count; i++)
		list_add(warnings, observer->seals.unsealed.items[i]);
	for (size_t i = 0; i < observer->terms.lines.count; i++)
		list_add(warnings, observer->terms.lines.items[i]);
}

uint64_t observer_set_aside(const struct observer *observer)
{
	return observer->set_aside;
}

void observer_take_denials(struct observer *observer, struct attempt *attempt)
{
	probe_note(observer);
	attempt->denials = STEAL(observer->ledger.denials);
	attempt->denial_count = observer->ledger.count;
	observer->ledger.count = 0;
}

void observer_unlisted(const struct observer *observer, uint64_t *ret_beyond, uint64_t *ret_unread)
{
	*ret_beyond = observer->ledger.beyond;
	*ret_unread = observer->unread;
}

size_t observer_denials(const struct observer *observer, const struct denial **ret_denials)
{
	*ret_denials = observer->ledger.denials;
	return observer->ledger.count;
}

bool observer_has_ended(const struct observer *observer)
{
	return observer->terms.ended.count > 0;
}

void observer_take_ended(struct observer *observer, struct givens *ret_ended)
{
	*ret_ended = observer->terms.ended;
	observer->terms.ended = (struct givens){0};
}
