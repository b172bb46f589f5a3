/* SPDX-License-Identifier: Apache-2.0 */
/* What ward has to do with a sandbox that was begun (start.c): init is told what to run, what came
 * of it is heard, and in the end all of it is taken down. */
#include "container/container.h"
#include "identity.h"
#include "ahead.h"
#include "stage.h"
#include "../base/io.h"
#include "../sys/behind.h"
#include "../sys/kernel.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

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

/* The runtime has a table of fds of its own, and holds what it was started with. Whoever it leaves
 * behind is ours to wait for. */
static void take_note(struct entry *entry, const struct engine_note *note)
{
	int program = note->program, config = note->config;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	entry->worker = note->worker;
	entry->errors = note->errors;
	close_fd(&program);
	close_fd(&config);
}

/* While the table of fds is shared both ends of the socket are in it, so init's death is no end of
 * file. */
static ssize_t read_message(const struct entry *entry, void *ret_message, size_t size)
{
	struct pollfd fds[] = {
		{entry->control, POLLIN, 0}, {entry->pidfd, POLLIN, 0}, {entry->worker, POLLIN, 0}};

	while (poll(fds, ELEMENTS(fds), -1) < 0)
		;
	return fds[0].revents & POLLIN ? read(entry->control, ret_message, size) : -1;
}

/* The note of a runtime that starts early may come before the worker's report or behind it. Until
 * it is there our table is the engine's as well, and nothing may be closed. */
static ssize_t read_report(struct entry *entry, struct build_report *ret_report)
{
	union {
		struct build_report report;
		struct engine_note note;
	} message;
	ssize_t length = read_message(entry, &message, sizeof(message));

	if (length == sizeof(message.note)) {
		take_note(entry, &message.note);
		length = read_message(entry, &message, sizeof(message));
	}
	if (length != sizeof(message.report))
		return length;
	*ret_report = message.report;
	if (ret_report->errors < 0 || ret_report->program >= 0 || entry->worker >= 0)
		return length;
	if (read_message(entry, &message, sizeof(message)) != sizeof(message.note))
		return -1;
	take_note(entry, &message.note);
	return length;
}

/* What every first process has made. */
static void take_common(struct entry *entry, const struct build_report *report)
{
	entry->network = report->network;
	entry->listener = report->listener;
	entry->terminal = report->terminal;
	entry->input = report->input;
	entry->root = report->root;
}

/* What was made is in our table already, also where building failed later. */
static ssize_t hear(struct entry *entry, struct build_report *ret_report)
{
	ssize_t length = read_report(entry, ret_report);

	if (length != sizeof(*ret_report))
		return length;
	take_common(entry, ret_report);
	entry->texts = ret_report->texts;
	memcpy(entry->names, ret_report->names, sizeof(entry->names));
	entry->mounts = ret_report->mounts;
	entry->errors = ret_report->errors;
	close_fd(&ret_report->tasks); /* init's own */
	close_fd(&ret_report->program);
	return length;
}

static bool has_ended(int pidfd)
{
	return poll(&(struct pollfd){pidfd, POLLIN, 0}, 1, 0) > 0;
}

static int explain_runtime(const struct sandbox *sandbox, const struct entry *entry,
			   struct error **ret_error)
{
	char text[512] = "";
	ssize_t length = pread(entry->errors, text, sizeof(text) - 1, 0);

	for (ssize_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = ' ';
	while (length > 0 && text[length - 1] == ' ')
		text[--length] = '\0';
	fail(ret_error, E_ENGINE, "%s could not make the container: %s", sandbox->runtime,
	     length > 0 ? text : "it said nothing");
	return error_hint(ret_error, "`ward doctor` says what this machine gives; --level "
				     "restricted needs no runtime");
}

/* Pid 1 tells its end itself. The runtime's takes as long as the shortest command, beside which it
 * comes so. */
static void leave_runtime(struct entry *entry)
{
	(void)sys_pidfd_send_signal(entry->pidfd, SIGKILL);
	entry->runtime = entry->pidfd;
	entry->pidfd = entry->leader_pidfd;
	entry->init = entry->leader;
	entry->leader_pidfd = -1;
	close_fd(&entry->errors);
}

/* Whoever is or becomes ours, and ends. */
static void reap(int *pidfd)
{
	siginfo_t info;

	while (*pidfd >= 0 && waitid(P_PIDFD, (id_t)*pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	close_fd(pidfd);
}

void entry_reap_runtime(struct entry *entry)
{
	reap(&entry->runtime);
	reap(&entry->worker);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* False: the runtime has ended. */
static bool await_inner(const struct entry *entry)
{
	struct pollfd fds[] = {{entry->control, POLLIN, 0}, {entry->pidfd, POLLIN, 0}};

	while (!fds[0].revents && !fds[1].revents)
		(void)!poll(fds, ELEMENTS(fds), -1);
	return fds[0].revents & POLLIN;
}

static int receive_inner(const struct sandbox *sandbox, struct entry *entry,
			 struct build_report *ret_inner)
{
	bool takes;
	pid_t nobody;
	int none;

	if (!await_inner(entry))
		return -1;
	if (sandbox->apart)
		return container_receive(entry->control, ret_inner, &entry->leader_pidfd,
					 &entry->leader);
	if (container_meet(entry->control, &entry->leader_pidfd, &entry->leader, &takes) < 0 ||
	    !await_inner(entry))
		return -1;
	return takes ? container_take(entry->control, entry->leader_pidfd, ret_inner)
		     : container_receive(entry->control, ret_inner, &none, &nobody);
}

/* The second report, of pid 1; the first was the engine's. */
static int receive_container(const struct sandbox *sandbox, struct entry *entry, int letter,
			     struct build_report *report, struct error **ret_error)
{
	struct build_report inner;
	uint64_t caches = report->caches;

	if (!sandbox->apart && container_send(entry->control, letter, sandbox) < 0)
		return explain_runtime(sandbox, entry, ret_error);
	close_fd(&entry->init_control); /* or the end of the other side would never be seen */
	if (receive_inner(sandbox, entry, &inner) < 0)
		return explain_runtime(sandbox, entry, ret_error);
	*report = inner;
	report->caches = caches;
	take_common(entry, report);
	entry->inner_mounts = report->mounts;
	if (report->failure.errnum)
		return explain(&report->failure, report->rung.lost, ret_error);
	if (entry->leader <= 0 || write(entry->control, "", 1) != 1)
		return fail(ret_error, E_ENGINE, "the container's first process is gone");
	if (runtime_is_done_early(sandbox->runtime) && entry->worker >= 0)
		leave_runtime(entry);
	return 0;
}

int sandbox_tell(const struct sandbox *sandbox, struct entry *entry, const struct masks *masks,
		 struct error **ret_error)
{
	int r = letter_send(entry->control, entry->pidfd, sandbox, masks, entry->lost,
			    &entry->letter, ret_error);

	entry->told = r == 0;
	return r;
}

int sandbox_release(const struct sandbox *sandbox, struct entry *entry, struct error **ret_error)
{
	const struct init_order go = {.kind = INIT_START};
	_cleanup_close_ int letter = STEAL_FD(entry->letter);
	struct build_report report;
	ssize_t length;
	int r;

	/* A container's first process is told when it has reported. */
	if (!sandbox->runtime) {
		(void)!write(entry->control, &go, sizeof(go));
		(void)place_keep(&entry->place);
	}
	ahead_tidy();
	entry->told = false;
	length = hear(entry, &report);
	ahead_tidy();
	if (length != sizeof(report) && entry->errors >= 0 && has_ended(entry->pidfd))
		return explain_runtime(sandbox, entry, ret_error);
	if (length != sizeof(report)) {
		fail(ret_error, E_ENGINE, "the sandbox's init ended before the walls stood");
		return error_hint(ret_error, "look for what the kernel said in its log: dmesg");
	}
	if (report.failure.errnum && report.failure.missing & ~ladder_lost()) {
		/* For whoever begins again: what was refused is left out then. */
		ladder_lose(report.failure.missing);
		return fail_errno(ret_error, E_ENGINE, ERESTART, "building the sandbox: %s %s",
				  report.failure.stage, report.failure.object);
	}
	if (report.failure.errnum)
		return explain(&report.failure, report.rung.lost, ret_error);
	if (report.errors >= 0 &&
	    (r = receive_container(sandbox, entry, letter, &report, ret_error)) < 0)
		return r;
	entry->walls = report.rung.walls;
	entry->lost = report.rung.lost;
	entry->abi = report.rung.abi;
	ladder_stood(report.rung);
	entry->caches = report.caches;
	close_fd(&entry->init_control); /* init has a table of its own by now */
	close_fd(&entry->self);
	return 0;
}

void entry_settle(struct entry *entry)
{
	place_leave(&entry->place);
	ahead_tidy();
}

void entry_done(struct entry *entry)
{
	struct build_report report;
	struct engine_note note;

	place_leave(&entry->place);
	(void)sandbox_born(entry, /* ret_error= */ NULL);
	/* Told, and not released. */
	if (entry->told)
		(void)hear(entry, &report);
	/* Still building, it may be waiting for anything. */
	if (entry->init > 0 &&
	    (entry->init_control >= 0 || (entry->errors >= 0 && entry->leader_pidfd < 0)))
		(void)sys_pidfd_send_signal(entry->pidfd, SIGKILL);
	if (entry->init_control >= 0 &&
	    recv(entry->control, &note, sizeof(note), MSG_DONTWAIT | MSG_TRUNC) == sizeof(note))
		take_note(entry, &note);
	if (entry->runtime >= 0)
		entry_reap_runtime(entry);
	close_fd(&entry->init_control);
	close_fd(&entry->self);
	close_fd(&entry->control); /* ends init, and with it everything inside */
	/* What a runtime would tidy up goes with its mount namespace, and need not be waited for.
	 */
	if (entry->init > 0 && entry->leader_pidfd >= 0) {
		struct pollfd leader = {entry->leader_pidfd, POLLIN, 0};

		while (poll(&leader, 1, -1) < 0 && errno == EINTR)
			;
		(void)sys_pidfd_send_signal(entry->pidfd, SIGKILL);
	}
	if (entry->init > 0)
		while (waitpid(entry->init, NULL, 0) < 0 && errno == EINTR)
			;
	reap(&entry->worker); /* it ends with its parent, as does pid 1 that never was */
	reap(&entry->leader_pidfd);
	if (entry->errors >= 0)
		prctl(PR_SET_CHILD_SUBREAPER, 0);
	close_behind(&entry->mounts); /* nobody is in them any more */
	close_behind(&entry->inner_mounts);
	close_fd(&entry->pidfd);
	close_fd(&entry->errors);
	close_fd(&entry->listener);
	close_fd(&entry->terminal);
	for (int i = 0; i < NAME_SOCKETS; i++)
		close_fd(&entry->names[i]);
	close_fd(&entry->network);
	close_fd(&entry->root);
	close_fd(&entry->input);
	close_fd(&entry->letter);
	for (size_t i = 0; i < entry->texts.count; i++)
		close_fd(&entry->texts.fds[i]);
	*entry = ENTRY_NONE;
}
