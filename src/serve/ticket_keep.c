/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper of a ticket: it asks, runs the command, and writes down what became of it. */
#include "../base/io.h"
#include "../base/units.h"
#include "../escalate/queue.h"
#include "../flow.h"
#include "ticket_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { PIECE = 64 << 10, NOTICES_MOST = 1 << 20, DRAIN_SECONDS = 5 };
#define SPOOL_MOST ((size_t)16 << 20) /* of each stream */

struct keeper {
	const char *state;
	struct ticket *ticket;
	struct queue queue;
	struct approver inner, approver;
	bool begun, nobody; /* its command; in time there was no answer */
	bool stale;	    /* by another policy than it was asked under: to begin anew */
	uint64_t deadline;
	size_t said;
	pid_t drain;
};

/* The lock was handed to us, or it is ours to take. */
static int take_lock(struct ticket *ticket, int lock)
{
	struct stat ours, given;
	char pid[16];
	int r;

	if (lock >= 0 && fstat(lock, &given) == 0 && fstat(ticket->lock, &ours) == 0 &&
	    given.st_dev == ours.st_dev && given.st_ino == ours.st_ino) {
		close_fd(&ticket->lock);
		ticket->lock = fcntl(lock, F_DUPFD_CLOEXEC, 3);
		close(lock);
	}
	r = ticket_lock(ticket);
	if (r < 0)
		return r;
	snprintf(pid, sizeof(pid), "%-15d", getpid());
	return pwrite(ticket->lock, pid, sizeof(pid) - 1, 0) < 0 ? -errno : 0;
}

/* Files of output: the command's own hands never reach them, so it can neither cut nor fill them.
 */
static int open_spool(const struct ticket *ticket, const char *name)
{
	return openat(ticket->directory, name,
		      O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC,
		      0600);
}

/* True where not all of it fits. */
static bool pass_on(int from, int to, size_t *written, bool *ret_over)
{
	char data[PIECE];
	ssize_t got = read(from, data, sizeof(data));
	size_t fits = MIN((size_t)MAX(got, (ssize_t)0), SPOOL_MOST - *written);

	*ret_over = got == 0 || (got < 0 && errno != EINTR);
	if (got <= 0)
		return false;
	if (write_all(to, data, fits) < 0)
		*written = SPOOL_MOST;
	else
		*written += fits;
	return *written == SPOOL_MOST && fits < (size_t)got;
}

/* A process of its own carries output to its files, because the flow has none to spare. Its exit
 * status says whether something is missing. */
static _Noreturn void drain(const int from[2], const int to[2])
{
	struct pollfd fds[] = {{from[0], POLLIN, 0}, {from[1], POLLIN, 0}};
	size_t written[2] = {0};
	bool truncated = false;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0)
			continue;
		for (int i = 0; i < 2; i++) {
			bool over = false;

			if (fds[i].fd >= 0 && fds[i].revents)
				truncated |= pass_on(fds[i].fd, to[i], &written[i], &over);
			if (over)
				fds[i].fd = -1;
		}
	}
	_exit(truncated || fsync(to[0]) < 0 || fsync(to[1]) < 0);
}

static int start_drain(struct keeper *keeper)
{
	int out[2] = {-1, -1}, err[2] = {-1, -1}, to[2], r = 0;

	to[0] = open_spool(keeper->ticket, "stdout");
	to[1] = open_spool(keeper->ticket, "stderr");
	if (to[0] < 0 || to[1] < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 ||
	    (keeper->drain = fork()) < 0)
		r = -errno;
	if (r == 0 && keeper->drain == 0) {
		close(out[1]);
		close(err[1]);
		close(keeper->ticket->lock);
		signal(SIGTERM, SIG_IGN);
		drain((int[]){out[0], err[0]}, to);
	}
	if (r == 0 && (dup2(out[1], STDOUT_FILENO) < 0 || dup2(err[1], STDERR_FILENO) < 0))
		r = -errno;
	for (int i = 0; i < 2; i++) {
		close_fd(&out[i]);
		close_fd(&err[i]);
		close_fd(&to[i]);
	}
	return r;
}

/* True if all of the output is there. What outlives the run may hold it open, so there is an end to
 * waiting. */
static bool end_drain(struct keeper *keeper)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), status = 0;
	pid_t ended = 0;

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	close_fd(&null);
	for (int i = 0; i < DRAIN_SECONDS * 100; i++) {
		ended = waitpid(keeper->drain, &status, WNOHANG);
		if (ended != 0)
			break;
		poll(NULL, 0, 10);
	}
	if (ended == 0) {
		kill(keeper->drain, SIGKILL);
		waitpid(keeper->drain, &status, 0);
	}
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void say(void *data, const char *text)
{
	struct keeper *keeper = data;
	_cleanup_close_ int fd = openat(keeper->ticket->directory, "notices",
					O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NOCTTY |
						O_NONBLOCK | O_CLOEXEC,
					0600);

	keeper->said += strlen(text) + 1;
	if (fd < 0 || keeper->said > NOTICES_MOST)
		return;
	(void)write_all(fd, text, strlen(text));
	(void)write_all(fd, "\n", 1);
}

/* From here on nobody starts it again but a person. The answer has served its purpose. */
static int begin(void *data, const char *run, struct error **ret_error)
{
	struct keeper *keeper = data;
	int r = ticket_set(keeper->ticket, RUNNING, "run", json_string(run));

	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "writing down that the ticket %s begins",
				  keeper->ticket->id);
	keeper->begun = true;
	queue_drop(keeper->state, keeper->queue.id);
	return 0;
}

static void note_stale(void *data)
{
	((struct keeper *)data)->stale = true;
}

static bool is_there(void *data)
{
	struct keeper *keeper = data;

	return keeper->inner.is_there(keeper->inner.data);
}

static int ask(void *data, const struct ask *question, struct answer *ret_answer,
	       struct error **ret_error)
{
	struct keeper *keeper = data;
	int r = keeper->inner.ask(keeper->inner.data, question, ret_answer, ret_error);

	keeper->nobody = r == 0 && ret_answer->kind == ANSWER_NOBODY;
	return r;
}

static void tell(void *data, const char *text)
{
	say(data, text);
}

static uint64_t whole_patience_of(const struct ticket *ticket)
{
	return (uint64_t)MAX(json_integer_value(json_object_get(ticket->state, "patience")),
			     (json_int_t)1) *
	       1000000000;
}

/* What is left of its patience. A clock that was set back cannot make it longer than it was. */
static uint64_t patience_of(const struct ticket *ticket)
{
	json_int_t whole = json_integer_value(json_object_get(ticket->state, "patience"));
	json_int_t left =
		json_integer_value(json_object_get(ticket->state, "end")) - (json_int_t)time(NULL);

	return (uint64_t)MAX(MIN(left, whole), (json_int_t)1) * 1000000000;
}

static bool is_cancelled(const struct ticket *ticket)
{
	return faccessat(ticket->directory, "cancel", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What it comes to; WAITING: nothing was decided, and the next keeper goes on. */
static enum ticket_word outcome(const struct keeper *keeper, const struct result *result)
{
	if (is_cancelled(keeper->ticket))
		return CANCELLED;
	if (keeper->stale)
		return WAITING;
	/* Nobody wanted that of it: the machine goes down, or the user's session. */
	if (keeper->begun)
		return result->told_to_end ? LOST : DONE;
	if (keeper->nobody)
		return monotonic_ns() >= keeper->deadline ? EXPIRED : WAITING;
	return result->error && result->error->code == E_REJECTED ? DENIED : DONE;
}

static int finish(struct keeper *keeper, const struct result *result, bool whole)
{
	struct ticket *ticket = keeper->ticket;
	enum ticket_word word = outcome(keeper, result);
	json_t *object = result_to_json(result), *next;
	int r;

	if (word == WAITING || word == LOST) {
		json_decref(object);
		return word == LOST ? ticket_conclude(keeper->state, ticket, LOST,
						      "its keeper was told to end, and the command "
						      "ended with it")
				    : 0;
	}
	r = ticket_write(ticket->directory, "result.json", object);
	json_decref(object);
	next = json_copy(ticket->state);
	if (result->run)
		json_object_set_new(next, "run", json_string(result->run));
	if (r < 0 || !whole)
		json_object_set_new(next, "truncated", json_true());
	json_decref(ticket->state);
	ticket->state = next;
	/* Even where there was no room for all of it. */
	r = ticket_set(ticket, word, "status", json_integer(result_exit_status(result)));
	if (r == 0)
		ticket_clear(keeper->state, ticket);
	ticket_sweep_sometimes(keeper->state); /* nobody waits for us */
	return r;
}

static int carry_out(struct keeper *keeper, struct error **ret_error)
{
	_cleanup_request_ struct request request;
	_cleanup_list_ struct list missing = {0}, refused = {0};
	_cleanup_result_ struct result result;
	json_t *object = ticket_load(keeper->ticket->directory, "request.json");
	struct resumption resumption = {.begin = begin,
					.stale = note_stale,
					.missing = &missing,
					.refused = &refused,
					.data = keeper};
	const struct audience audience = {.say = say,
					  .data = keeper,
					  .approver = &keeper->approver,
					  .resumption = &resumption};
	bool whole;
	int r;

	request_init(&request);
	result_init(&result);
	r = ticket_unpack(object, &request, &missing, &refused, ret_error);
	ticket_workspace(object, &resumption.inode, &resumption.owner);
	json_decref(object);
	if (r < 0)
		return r;
	if (chdir(request.cwd) < 0 && chdir("/") < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "leaving for %s", request.cwd);
	r = start_drain(keeper);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "opening the output of a ticket");
	flow_run(&request, &audience, &result);
	whole = end_drain(keeper);
	r = finish(keeper, &result, whole);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "writing down the end of a ticket") : 0;
}

int ticket_keep(const char *state, const char *id, int lock, struct error **ret_error)
{
	_cleanup_ticket_ struct ticket ticket = TICKET_NONE;
	struct keeper keeper = {.state = state, .ticket = &ticket};
	int r = ticket_open(state, id, &ticket, ret_error);

	if (r < 0)
		return r;
	if (take_lock(&ticket, lock) < 0)
		return fail(ret_error, E_USAGE, "the ticket %s has a keeper", id);
	r = ticket_read(&ticket, ret_error);
	if (r < 0 || ticket_word(&ticket) != WAITING)
		return r;
	if (is_cancelled(&ticket))
		return ticket_conclude(state, &ticket, CANCELLED, "the ticket was cancelled");
	keeper.deadline = monotonic_ns() + patience_of(&ticket);
	keeper.queue = (struct queue){
		.state = state,
		.ticket = ticket.id,
		.id = json_string_value(json_object_get(ticket.state, "ask")),
		.patience_ns = patience_of(&ticket),
	};
	keeper.queue.age_ns = whole_patience_of(&ticket) -
			      MIN(keeper.queue.patience_ns, whole_patience_of(&ticket));
	keeper.queue.id = strdup(keeper.queue.id); /* the state is written anew */
	keeper.inner = queue_approver(&keeper.queue);
	keeper.approver = (struct approver){is_there, ask, tell, &keeper, .queued = true};
	r = carry_out(&keeper, ret_error);
	/* What cannot be carried out at all would only fail again. */
	if (r < 0 && !keeper.begun && ret_error && *ret_error)
		(void)ticket_conclude(state, &ticket, DENIED, (*ret_error)->message);
	/* The question stands, and so does its answer, if it is the same by the policy of now. */
	if (r == 0 && keeper.stale && ticket_word(&ticket) == WAITING)
		r = ticket_launch(state, &ticket, /* program= */ NULL, ret_error);
	free((char *)keeper.queue.id);
	return r;
}
