/* SPDX-License-Identifier: Apache-2.0 */
/* How tickets go on without a keeper: they get another one, or their end. */
#include "../base/io.h"
#include "../escalate/queue.h"
#include "../request/text_json.h"
#include "../run/run.h"
#include "ticket_parts.h"
#include "../sys/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { LOCK_FD = 3, REPORT_FD = 4 };

/* Nothing of ours is left to it but the lock, and the pipe by which we hear that it has begun. */
static _Noreturn void become_keeper(const char *program, char **arguments, char **environment,
				    int lock, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), high;
	int failure;

	if (setsid() < 0 || null < 0)
		goto failed;
	/* Whoever is told of our end shall not be told of its: it is init's child. */
	switch (fork()) {
	case -1:
		goto failed;
	case 0:
		break;
	default:
		_exit(0);
	}
	lock = fcntl(lock, F_DUPFD, REPORT_FD + 1);
	high = fcntl(report, F_DUPFD_CLOEXEC, REPORT_FD + 1);
	if (lock < 0 || high < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup2(lock, LOCK_FD) < 0 || dup3(high, REPORT_FD, O_CLOEXEC) < 0 ||
	    close_range(REPORT_FD + 1, ~0U, 0) < 0)
		goto failed;
	report = REPORT_FD;
	(void)signals_reset();
	execve(program, arguments, environment);
failed:
	failure = errno;
	(void)!write(report, &failure, sizeof(failure));
	_exit(1);
}

int ticket_launch(const char *state, struct ticket *ticket, const char *program,
		  struct error **ret_error)
{
	json_t *request = ticket_load(ticket->directory, "request.json");
	char *arguments[] = {(char *)"ward", (char *)"keep", (char *)state, ticket->id, NULL};
	_cleanup_list_ struct list environment = {0};
	char *nothing = NULL;
	int report[2], failure = 0, status;
	pid_t pid;

	ticket_environment(request, &environment);
	json_decref(request);
	if (pipe2(report, O_CLOEXEC) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "starting the keeper of a ticket");
	pid = fork();
	if (pid == 0) {
		close(report[0]);
		become_keeper(program ? program : "/proc/self/exe", arguments,
			      environment.items ? environment.items : &nothing, ticket->lock,
			      report[1]);
	}
	failure = pid < 0 ? errno : 0;
	close(report[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (failure == 0 && read_all(report[0], &failure, sizeof(failure)) != sizeof(failure))
		failure = 0; /* it has begun */
	close(report[0]);
	return failure ? fail_errno(ret_error, E_ENGINE, failure, "starting the keeper of a ticket")
		       : 0;
}

void ticket_clear(const char *state, struct ticket *ticket)
{
	queue_drop(state, json_string_value(json_object_get(ticket->state, "ask")));
	open_remove(ticket->tickets, ticket->id);
	if (ticket_word(ticket) == LOST) /* may start again */
		return;
	(void)unlinkat(ticket->directory, "request.json", 0);
}

int ticket_conclude(const char *state, struct ticket *ticket, enum ticket_word word,
		    const char *message)
{
	_cleanup_result_ struct result result;
	json_t *object;
	int r;

	result_init(&result);
	fail(&result.error, word == LOST ? E_ENGINE : E_REJECTED, "%s", message);
	if (word == LOST)
		error_hint(&result.error, "to start it again: ward wait --retry %s", ticket->id);
	object = result_to_json(&result);
	r = ticket_write(ticket->directory, "result.json", object);
	json_decref(object);
	if (r == 0)
		r = ticket_set(ticket, word, "status", json_integer(result_exit_status(&result)));
	if (r == 0)
		ticket_clear(state, ticket);
	return r;
}

static bool is_cancelled(const struct ticket *ticket)
{
	return faccessat(ticket->directory, "cancel", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool has_expired(const struct ticket *ticket)
{
	return json_integer_value(json_object_get(ticket->state, "end")) <= (json_int_t)time(NULL);
}

/* The lock is held: nobody looked after it. */
static void settle(const char *state, struct ticket *ticket, const char *program)
{
	enum ticket_word word = ticket_word(ticket);

	if (word != WAITING && word != RUNNING)
		ticket_clear(state, ticket); /* where its keeper did not come to that */
	else if (is_cancelled(ticket))
		(void)ticket_conclude(state, ticket, CANCELLED, "the ticket was cancelled");
	else if (word == RUNNING)
		(void)ticket_conclude(state, ticket, LOST,
				      "whoever looked after the command is gone, and the command "
				      "with it");
	else if (has_expired(ticket))
		(void)ticket_conclude(state, ticket, EXPIRED,
				      "this needs a person's yes, and nobody has answered in time");
	else
		(void)ticket_launch(state, ticket, program, NULL);
}

static void adopt(const char *state, const char *id, const char *program)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;

	if (ticket_open(state, id, &ticket, NULL) < 0 || ticket_is_locked(&ticket))
		return;
	/* Read again: it may have ended before we had the lock. */
	if (ticket_lock(&ticket) == 0 && ticket_read(&ticket, NULL) == 0)
		settle(state, &ticket, program);
}

void ticket_adopt(const char *state, const char *program)
{
	_cleanup_close_ int tickets = -1;
	_cleanup_list_ struct list ids = {0};

	if (tickets_open(state, /* make= */ false, &tickets) < 0 ||
	    open_list(state, tickets, &ids) < 0)
		return;
	for (size_t i = 0; i < ids.count; i++) {
		adopt(state, ids.items[i], program);
		sweep_new(tickets, ids.items[i]);
		open_forget(tickets, ids.items[i]);
	}
}

static int send_signal(const struct ticket *ticket, int number)
{
	char text[16] = "";
	_cleanup_close_ int pidfd = -1;
	int pid;

	/* The number is its keeper's as long as the lock is held, and that is looked at when we
	 * have hold of the process. */
	if (pread(ticket->lock, text, sizeof(text) - 1, 0) <= 0 || (pid = atoi(text)) <= 1)
		return 0; /* it has yet to begin, and will see the mark */
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || !ticket_is_locked(ticket))
		return 0;
	return syscall(SYS_pidfd_send_signal, pidfd, number, NULL, 0) < 0 && errno != ESRCH ? -errno
											    : 0;
}

static int mark_cancelled(const struct ticket *ticket)
{
	_cleanup_close_ int fd = openat(ticket->directory, "cancel",
					O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 || fsync(ticket->directory) < 0 ? -errno : 0;
}

int ticket_cancel(const char *state, const char *id, enum ticket_force force,
		  struct error **ret_error)
{
	const int numbers[] = {
		[TICKET_ASK] = SIGTERM, [TICKET_END] = RUN_CANCEL, [TICKET_KILL] = SIGKILL};
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	int r = ticket_open(state, id, &ticket, ret_error);

	if (r < 0 || (ticket_word(&ticket) != WAITING && ticket_word(&ticket) != RUNNING))
		return r;
	r = mark_cancelled(&ticket);
	if (r == 0 && ticket_lock(&ticket) < 0)
		r = send_signal(&ticket, numbers[force]);
	else if (r == 0 && (r = ticket_read(&ticket, ret_error)) == 0)
		settle(state, &ticket, NULL);
	return r < 0 && !(ret_error && *ret_error)
		       ? fail_errno(ret_error, E_ENGINE, -r, "cancelling the ticket %s", id)
		       : r;
}

int ticket_retry(const char *state, const char *id, const char *program, struct error **ret_error)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	json_t *next;
	int r;

	ticket_adopt(state, program); /* which says that it is lost */
	r = ticket_open(state, id, &ticket, ret_error);
	if (r < 0)
		return r;
	if (ticket_lock(&ticket) < 0 || (r = ticket_read(&ticket, ret_error)) < 0 ||
	    ticket_word(&ticket) != LOST)
		return r < 0 ? r
			     : fail(ret_error, E_USAGE,
				    "the ticket %s is not lost: there is nothing to start again",
				    id);
	next = json_copy(ticket.state);
	json_put_count(next, "tries",
		       (uint64_t)json_integer_value(json_object_get(next, "tries")) + 1);
	json_put_count(next, "end",
		       (uint64_t)time(NULL) +
			       (uint64_t)json_integer_value(json_object_get(next, "patience")));
	json_put_text(next, "run", NULL);
	json_object_del(next, "status");
	json_decref(ticket.state);
	ticket.state = next;
	(void)unlinkat(ticket.directory, "result.json", 0);
	r = open_add(state, ticket.tickets, id);
	if (r == 0)
		r = ticket_set(&ticket, WAITING, NULL, NULL);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "starting the ticket %s again", id);
	return ticket_launch(state, &ticket, program, ret_error);
}
