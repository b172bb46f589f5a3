/* SPDX-License-Identifier: Apache-2.0 */
/* A run in a process of its own: its output comes by pipes, everything else by a socket. */
#include "runner.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../escalate/ask_json.h"
#include "../escalate/channel.h"
#include "../flow.h"
#include "../request/result.h"
#include "../run/run.h"
#include "ticket.h"
#include "../sys/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

enum { GRACE_SECONDS = 2, MESSAGE_MOST = 64 << 20, PIECE = 64 << 10 };

struct runner {
	pid_t pid;
	int channel, output[2], timer, epoll;
	struct buffer heard;
	struct runner_events events;
	json_t *asks; /* those that stand, by id */
	json_t *result;
	int cancelled; /* how often it was told */
};

/* In the child. */

static void say(void *data, const char *text)
{
	(void)channel_send(data, json_pack("{s:s, s:s}", "type", "notice", "text", text));
}

/* Nothing of the server's is left but the channel, as fd 3: it must learn when the server is gone,
 * and hold nobody else's end. */
static int settle_in(int channel, int in, int out, int err, pid_t server)
{

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (getppid() != server || in < 0)
		return -1;
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		return -1;
	if (channel == 3 ? fcntl(3, F_SETFD, FD_CLOEXEC) < 0 : dup3(channel, 3, O_CLOEXEC) < 0)
		return -1;
	if (close_range(4, ~0U, 0) < 0)
		return -1;
	/* What the server ignores (SIGPIPE) is not what the command is to find ignored. */
	return signals_reset() ? 0 : -1;
}

static _Noreturn void carry_out(const struct request *request, bool fed, enum runner_asks asks)
{
	struct channel channel = {.fd = 3, .answers = asks == RUNNER_ASKS_SERVER};
	struct approver approver = channel_approver(&channel);
	struct audience audience = {say, &channel, asks == RUNNER_ASKS_TERMINAL ? NULL : &approver,
				    fed ? NULL : &ticket_resumption};
	struct result result;
	int r;

	result_init(&result);
	flow_run(request, &audience, &result);
	r = channel_send(&channel, json_pack("{s:s, s:o}", "type", "result", "result",
					     result_to_json(&result)));
	_exit(r < 0);
}

/* In the server. */

static int watch(struct runner *runner, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(runner->epoll, EPOLL_CTL_ADD, fd, &event);
}

static int spawn(struct runner *runner, const struct request *request, int input)
{
	int channel[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, r = 0;
	pid_t server = getpid();

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || (runner->pid = fork()) < 0)
		r = -errno;
	if (r == 0 && runner->pid == 0) {
		if (settle_in(channel[1], input, out[1], err[1], server) < 0)
			_exit(1);
		carry_out(request, input >= 0, runner->events.asks);
	}
	close_fd(&channel[1]);
	close_fd(&out[1]);
	close_fd(&err[1]);
	runner->channel = channel[0];
	runner->output[0] = out[0];
	runner->output[1] = err[0];
	for (int i = 0; r == 0 && i < 2; i++)
		if (fcntl(runner->output[i], F_SETFL, O_NONBLOCK) < 0 ||
		    watch(runner, runner->output[i]) < 0)
			r = -errno;
	if (r == 0 && watch(runner, runner->channel) < 0)
		r = -errno;
	return r;
}

int runner_start(const struct request *request, const struct runner_events *events,
		 struct runner **ret_runner, struct error **ret_error)
{
	return runner_start_fed(request, /* input= */ -1, events, ret_runner, ret_error);
}

int runner_start_fed(const struct request *request, int input, const struct runner_events *events,
		     struct runner **ret_runner, struct error **ret_error)
{
	struct runner *runner = malloc(sizeof(*runner));
	int r;

	if (!runner)
		abort();
	*runner = (struct runner){.pid = -1,
				  .channel = -1,
				  .output = {-1, -1},
				  .timer = -1,
				  .epoll = epoll_create1(EPOLL_CLOEXEC),
				  .events = *events,
				  .asks = json_object()};
	/* Its policy is read here, where the next request finds it. */
	flow_warm(request);
	r = runner->epoll < 0 ? -errno : spawn(runner, request, input);
	if (r < 0) {
		runner_free(runner);
		return fail_errno(ret_error, E_ENGINE, -r, "starting a run");
	}
	*ret_runner = runner;
	return 0;
}

int runner_fd(const struct runner *runner)
{
	return runner->epoll;
}

static void hear(struct runner *runner, json_t *message)
{
	const struct runner_events *events = &runner->events;
	const char *type = json_string_value(json_object_get(message, "type"));
	const char *id = json_string_value(json_object_get(message, "id"));
	const char *text = json_string_value(json_object_get(message, "text"));
	json_t *ask = json_object_get(message, "ask"), *result = json_object_get(message, "result");

	if (!type)
		return;
	if (strcmp(type, "notice") == 0 && text && events->notice)
		events->notice(events->data, text);
	if (strcmp(type, "ask") == 0 && events->ask &&
	    json_string_value(json_object_get(ask, "id"))) {
		json_object_set(runner->asks, json_string_value(json_object_get(ask, "id")), ask);
		events->ask(events->data, ask);
	}
	if (strcmp(type, "withdrawn") == 0 && id && json_object_del(runner->asks, id) == 0 &&
	    events->withdrawn)
		events->withdrawn(events->data, id);
	if (strcmp(type, "result") == 0 && json_is_object(result) && !runner->result)
		runner->result = json_incref(result);
}

static void hear_channel(struct runner *runner)
{
	struct buffer *heard = &runner->heard;
	char data[PIECE], *end;
	ssize_t got = recv(runner->channel, data, sizeof(data), MSG_DONTWAIT);
	size_t looked = heard->length; /* no line ends there */

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || heard->length + (size_t)got > MESSAGE_MOST) {
		close_fd(&runner->channel);
		return;
	}
	buffer_add(heard, data, (size_t)got);
	while ((end = memchr(heard->data + looked, '\n', heard->length - looked))) {
		size_t length = (size_t)(end - heard->data);
		json_t *message = json_loadb(heard->data, length, 0, NULL);

		looked = 0;

		memmove(heard->data, end + 1, heard->length - length - 1);
		heard->length -= length + 1;
		hear(runner, message);
		json_decref(message);
	}
}

static void pass_on(struct runner *runner, int number)
{
	char data[PIECE];
	ssize_t got = read(runner->output[number], data, sizeof(data));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0)
		close_fd(&runner->output[number]);
	else if (runner->events.output)
		runner->events.output(runner->events.data, number + 1, data, (size_t)got);
}

static void set_timer(struct runner *runner)
{
	struct itimerspec in = {.it_value.tv_sec = GRACE_SECONDS};

	if (runner->timer < 0) {
		runner->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		(void)watch(runner, runner->timer);
	}
	(void)timerfd_settime(runner->timer, 0, &in, NULL);
}

static void cancel_again(struct runner *runner)
{
	static const int steps[] = {SIGTERM, 0, SIGKILL};
	uint64_t expired;

	if (runner->timer >= 0)
		(void)!read(runner->timer, &expired, sizeof(expired));
	if (runner->pid > 0 && runner->cancelled < (int)ELEMENTS(steps)) {
		int number = runner->cancelled == 1 ? RUN_CANCEL : steps[runner->cancelled];

		kill(runner->pid, number);
		runner->cancelled++;
		set_timer(runner);
	}
}

void runner_cancel(struct runner *runner)
{
	if (!runner->cancelled)
		cancel_again(runner);
}

static bool has_ended(const struct runner *runner)
{
	return runner->channel < 0 && runner->output[0] < 0 && runner->output[1] < 0;
}

bool runner_serve(struct runner *runner)
{
	struct epoll_event events[4];
	int count = epoll_wait(runner->epoll, events, ELEMENTS(events), 0);

	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == runner->channel)
			hear_channel(runner);
		else if (events[i].data.fd == runner->timer)
			cancel_again(runner);
		else
			pass_on(runner, events[i].data.fd == runner->output[1]);
	}
	return has_ended(runner);
}

json_t *runner_result(const struct runner *runner)
{
	return runner->result;
}

bool runner_asks(const struct runner *runner, const char *id)
{
	return json_object_get(runner->asks, id) != NULL;
}

int runner_answer(struct runner *runner, const char *id, json_t *answer, const char *by,
		  struct error **ret_error)
{
	json_t *ask = json_object_get(runner->asks, id), *said;
	_cleanup_answer_ struct answer checked = {0};
	struct channel channel = {.fd = runner->channel};
	int r;

	if (!ask)
		return fail(ret_error, E_INPUT, "no question '%s' stands", id);
	said = json_copy(answer);
	if (by && said)
		json_object_set_new(said, "by", json_string(by));
	r = answer_from_json(said, ask, &checked, ret_error);
	if (r == 0 && channel_send(&channel, json_pack("{s:s, s:O}", "id", id, "answer", said)) < 0)
		r = fail(ret_error, E_ENGINE, "the run has ended meanwhile");
	if (r == 0)
		json_object_del(runner->asks, id);
	json_decref(said);
	return r;
}

void runner_free(struct runner *runner)
{
	int status;

	if (!runner)
		return;
	if (runner->pid > 0) {
		if (!has_ended(runner))
			kill(runner->pid, SIGKILL);
		while (waitpid(runner->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&runner->channel);
	close_fd(&runner->output[0]);
	close_fd(&runner->output[1]);
	close_fd(&runner->timer);
	close_fd(&runner->epoll);
	buffer_done(&runner->heard);
	json_decref(runner->asks);
	json_decref(runner->result);
	free(runner);
}
