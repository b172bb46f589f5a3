/* SPDX-License-Identifier: Apache-2.0 */
/* Work in processes of their own: reading policies, weighing commands and lists of a thousand files
 * take longer than others may be kept waiting, and shell text is a stranger's. */
#include "../base/io.h"
#include "../base/units.h"
#include "../request/text_json.h"
#include "daemon_parts.h"
#include "deliver.h"
#include "parent.h"
#include "ticket.h"
#include "../sys/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { PIECE = 64 << 10 };

/* Nothing of the daemon's is left in the child but its end of the pipe: neither its lock nor a
 * client's connection may outlive it there. */
int work_settle_in(int pipe, pid_t daemon)
{

	/* It ends with the daemon: whoever asks the next one again must not get the same done
	 * twice.
	 */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != daemon)
		return -1;
	if (pipe >= 0 && pipe != 3 && dup3(pipe, 3, O_CLOEXEC) < 0)
		return -1;
	if (close_range(pipe >= 0 ? 4 : 3, ~0U, 0) < 0)
		return -1;
	if (!signals_reset())
		return -1;
	/* An answer that nobody takes is told by the write. */
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

json_t *work_answer(json_t *id, json_t *result, const struct error *error)
{
	json_t *object = json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id), *failure, *data;

	if (result) {
		json_put(object, "result", json_incref(result));
		return object;
	}
	failure = json_pack("{s:i}", "code", error ? failure_code(error) : INTERNAL_ERROR);
	json_put_text(failure, "message", error ? error->message : "it could not be done");
	if (error && error->hint) {
		data = json_object();
		json_put_text(data, "hint", error->hint);
		json_put(failure, "data", data);
	}
	json_put(object, "error", failure);
	return object;
}

static _Noreturn void do_work(struct client *client, json_t *id, json_t *params,
			      work_function *work)
{
	_cleanup_error_ struct error *error = NULL;
	json_t *result = NULL;
	char *text;
	int r = work(client, params, &result, &error);

	text = json_dumps(work_answer(id, r < 0 ? NULL : result, error), JSON_COMPACT);
	r = text ? write_all(3, text, strlen(text)) : -ENOMEM;
	/* Nobody hears of the run any more: then it is not to be. */
	if (r < 0 && result && json_is_true(json_object_get(result, "ends_with_client")))
		(void)ticket_cancel(client->daemon->state,
				    json_string_value(json_object_get(result, "ticket")),
				    TICKET_END, NULL);
	_exit(r < 0);
}

static void settle_all(struct daemon *daemon)
{
	for (struct client *client = daemon->clients, *next; client; client = next) {
		next = client->next;
		client_settle(client);
	}
}

/* The child may outlive the call where it starts a run; otherwise it is ended. */
static void leave_work(struct call *call)
{
	struct daemon *daemon = call->client->daemon;

	if (call->pid <= 0)
		return;
	if (!call->done)
		kill(call->pid, SIGKILL);
	daemon_remove(daemon, &call->pipe);
	call->client->worker_count--;
	daemon->worker_count--;
	call->pid = 0; /* reaped with the signal */
}

static void finish_work(struct call *call)
{
	struct client *client = call->client;
	struct daemon *daemon = client->daemon;
	json_t *answer = NULL;

	if (call->done)
		answer = json_loadb(call->heard.data ? call->heard.data : "", call->heard.length, 0,
				    NULL);
	if (call->done && answer)
		call->done(call, answer);
	else if (!call->done && call->heard.length)
		wire_send_line(&client->wire, call->heard.data, call->heard.length);
	else
		client_error(client, call->id, INTERNAL_ERROR, "it ended without an answer", NULL);
	json_decref(answer);
	call->done = NULL;
	call_free(call);
	settle_all(daemon);
}

static void hear_work(struct source *source, uint32_t events)
{
	struct call *call = (struct call *)(void *)((char *)source - offsetof(struct call, pipe));
	char data[PIECE];
	ssize_t got = read(source->fd, data, sizeof(data));

	(void)events;
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got > 0 && call->heard.length + (size_t)got <= WORKER_MOST) {
		buffer_add(&call->heard, data, (size_t)got);
		return;
	}
	if (got > 0)
		call->heard.length = 0; /* more than may be: none */
	finish_work(call);
}

static void expire_work(struct call *call)
{
	client_error(call->client, call->id, INTERNAL_ERROR, "it took too long", NULL);
	kill(call->pid, SIGKILL);
	call_free(call);
}

void work_start(struct client *client, json_t *id, json_t *params, work_function *work,
		void (*done)(struct call *call, json_t *answer))
{
	struct call *call;
	pid_t pid, daemon = getpid();
	int pipe[2];

	if (client->daemon->worker_count >= WORKERS + WORKERS_CLIENT ||
	    pipe2(pipe, O_CLOEXEC) < 0) {
		client_error(client, id, TOO_MANY, "as much is being done as may be at once",
			     "try again in a moment");
		return;
	}
	pid = fork();
	if (pid == 0) {
		/* By the peer's descriptor, which goes with all others of the daemon's. */
		peer_identify(client->peer.pid, client->pidfd, &client->caller);
		if (work_settle_in(pipe[1], daemon) < 0)
			_exit(1);
		do_work(client, id, params, work);
	}
	close(pipe[1]);
	(void)fcntl(pipe[0], F_SETFL, O_NONBLOCK);
	call = call_new(client, id);
	call->pid = pid;
	call->done = done;
	call->deadline = monotonic_ns() + WORKER_SECONDS * 1000000000ull;
	call->expire = expire_work;
	call->leave = leave_work;
	call->pipe = (struct source){pipe[0], hear_work};
	client->worker_count++;
	client->daemon->worker_count++;
	if (pid < 0 || daemon_add(client->daemon, &call->pipe, EPOLLIN) < 0) {
		client_error(client, id, INTERNAL_ERROR, "no process could be started", NULL);
		call_free(call);
	}
}

void work_adopt(struct daemon *daemon)
{
	pid_t ours = getpid();

	if (fork() != 0)
		return;
	if (work_settle_in(-1, ours) == 0) {
		ticket_adopt(daemon->state, /* program= */ NULL);
		ticket_sweep_sometimes(daemon->state);
		deliver_start(daemon->state, /* after= */ NULL, /* ret_present= */ NULL);
	}
	_exit(0);
}
