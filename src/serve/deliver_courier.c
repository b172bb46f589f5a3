/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to carry one message: a post by ward-post, or a program with the message on its
 * standard input. Several are under way at once, and none is waited for. */
#include "../base/sign.h"
#include "../base/units.h"
#include "../request/text_json.h"
#include "deliver_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { SAID_MOST = 64 << 10, ANSWER_MOST = 4096 };

extern char **environ;

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static enum carried fail_courier(struct courier *courier, enum carried how, const char *why)
{
	snprintf(courier->why, sizeof(courier->why), "%s", why);
	return how;
}

static enum carried start_post(struct courier *courier, const struct notify_channel *channel,
			       const char *home)
{
	const char *body = text_of(courier->job, "body");
	_cleanup_free_ char *url = NULL, *secret = NULL;
	_cleanup_error_ struct error *error = NULL;
	char signature[SIGNATURE_TEXT];
	struct post_header headers[] = {
		{"Content-Type", "application/json"},
		{"User-Agent", "ward/" WARD_VERSION},
		{"Ward-Delivery", text_of(courier->job, "id")},
		{"Ward-Event", text_of(courier->job, "event")},
		{"Ward-Signature", signature},
	};
	struct post_request request = {
		.headers = headers,
		.header_count = ELEMENTS(headers) - 1,
		.body = body,
		.timeout_ms = (unsigned)MIN(channel->timeout_ns / 1000000, POST_TIME_MOST_MS),
		.max_bytes = ANSWER_MOST,
		.insecure_http = channel->insecure,
	};

	if (channel_url(channel, home, &url, &error) < 0 ||
	    channel_secret(channel, home, &secret, &error) < 0)
		return fail_courier(courier, CARRIED_FAILED, error->message);
	request.url = url;
	if (secret) {
		signature_make(secret, (int64_t)time(NULL), body, strlen(body), signature);
		sodium_memzero(secret, strlen(secret));
		request.header_count = ELEMENTS(headers);
	}
	if (post_start(&request, &courier->post, &error) < 0)
		return fail_courier(courier, CARRIED_FAILED, error->message);
	return CARRIED_YET;
}

/* With a session of its own, so that all of it can be ended. */
static int spawn(struct courier *courier, char **words, int input, int output)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults, none;
	int r;

	sigemptyset(&none);
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETSIGMASK);
	r = posix_spawn(&courier->program, words[0], &actions, &attributes, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* Takes what stands in text. */
static enum carried start_program(struct courier *courier, const struct list *words,
				  const struct notify_channel *channel)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, r;
	const char *fault =
		channel_program_fault(words, geteuid(), text_of(courier->job, "workspace"));

	if (fault)
		return fail_courier(courier, CARRIED_NEVER, fault);
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		close_fd(&in[0]);
		close_fd(&in[1]);
		return fail_courier(courier, CARRIED_FAILED, "no pipe can be had");
	}
	r = spawn(courier, words->items, in[0], out[1]);
	close_fd(&in[0]);
	close_fd(&out[1]);
	courier->input = in[1];
	courier->output = out[0];
	(void)fcntl(in[1], F_SETFL, O_NONBLOCK);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	if (r != 0) {
		courier->program = 0;
		return fail_courier(courier, CARRIED_FAILED, strerror(r));
	}
	courier->process = (int)syscall(SYS_pidfd_open, courier->program, 0);
	courier->deadline = monotonic_ns() + channel->timeout_ns;
	return CARRIED_YET;
}

static enum carried start_desktop(struct courier *courier, const struct notify_channel *channel)
{
	static const char *const places[] = {"/usr/bin/notify-send", "/usr/local/bin/notify-send"};
	json_t *message = json_loads(text_of(courier->job, "body"), 0, NULL);
	bool urgent = json_is_true(json_object_get(message, "urgent"));
	_cleanup_list_ struct list words = {0};
	enum carried carried = CARRIED_NEVER;

	for (size_t i = 0; i < ELEMENTS(places) && words.count == 0; i++)
		if (access(places[i], X_OK) == 0)
			list_add(&words, places[i]);
	if (words.count == 0 || !text_of(message, "summary") || !text_of(message, "body")) {
		json_decref(message);
		return fail_courier(courier, CARRIED_NEVER, "there is no notify-send");
	}
	list_add(&words, "--app-name=ward");
	list_add(&words, urgent ? "--urgency=critical" : "--urgency=normal");
	list_add(&words, "--");
	list_add(&words, text_of(message, "summary"));
	list_add(&words, text_of(message, "body"));
	carried = start_program(courier, &words, channel);
	json_decref(message);
	return carried;
}

static enum carried start_mail(struct courier *courier, const struct notify_channel *channel)
{
	_cleanup_list_ struct list words = {0};

	list_add(&words, channel->sendmail);
	list_add(&words, "-i"); /* a dot by itself is no end */
	if (channel->from) {
		list_add(&words, "-f");
		list_add(&words, channel->from);
	}
	list_add(&words, "--");
	for (size_t i = 0; i < channel->mail.count; i++)
		list_add(&words, channel->mail.items[i]);
	buffer_add_text(&courier->text, text_of(courier->job, "body"));
	return start_program(courier, &words, channel);
}

enum carried courier_start(struct courier *courier, json_t *job, const struct policy *policy)
{
	const struct notify_channel *channel =
		notify_find(&policy->notify, text_of(job, "channel"));

	*courier = (struct courier){.job = job, .process = -1, .input = -1, .output = -1};
	if (!channel)
		return fail_courier(courier, CARRIED_NEVER, "there is no such channel any more");
	switch (channel->kind) {
	case CHANNEL_WEBHOOK:
		return start_post(courier, channel, policy->home);
	case CHANNEL_DESKTOP:
		return start_desktop(courier, channel);
	case CHANNEL_MAIL:
		return start_mail(courier, channel);
	default:
		courier->may_answer = channel_can_answer(&policy->notify, channel);
		buffer_add_text(&courier->text, text_of(job, "body"));
		buffer_add_char(&courier->text, '\n');
		return start_program(courier, &channel->program, channel);
	}
}

/* What the other side says of itself decides whether it is worth another try. */
static enum carried judge_status(struct courier *courier, const struct post_answer *answer)
{
	int status = answer->status;

	if (status >= 200 && status < 300)
		return CARRIED;
	snprintf(courier->why, sizeof(courier->why), "status %d", status);
	if (status >= 300 && status < 400)
		snprintf(courier->why, sizeof(courier->why),
			 "status %d: it leads elsewhere, which is not followed", status);
	return status == 408 || status == 425 || status == 429 || status >= 500 ? CARRIED_FAILED
										: CARRIED_NEVER;
}

static enum carried look_at_post(struct courier *courier)
{
	_cleanup_post_answer_ struct post_answer answer = {0};
	_cleanup_error_ struct error *error = NULL;
	int r = post_take(courier->post, &answer, &error);

	if (r == 1)
		return CARRIED_YET;
	return r < 0 ? fail_courier(courier, CARRIED_FAILED, error->message)
		     : judge_status(courier, &answer);
}

static void write_some(struct courier *courier)
{
	while (courier->input >= 0 && courier->written < courier->text.length) {
		ssize_t wrote = write(courier->input, courier->text.data + courier->written,
				      courier->text.length - courier->written);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0 && errno == EAGAIN)
			return;
		if (wrote < 0)
			break; /* it does not read: its exit says whether that is a failure */
		courier->written += (size_t)wrote;
	}
	close_fd(&courier->input);
}

/* True when there is no more to come. */
static bool read_some(struct courier *courier)
{
	char data[4096];
	ssize_t got;

	while (courier->output >= 0 && (got = read(courier->output, data, sizeof(data))) != 0) {
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno != EAGAIN;
		if (courier->said.length < SAID_MOST)
			buffer_add(&courier->said, data, (size_t)got);
	}
	return true;
}

static enum carried look_at_program(struct courier *courier)
{
	int status = 0;
	bool said;

	write_some(courier);
	said = read_some(courier);
	if (waitpid(courier->program, &status, WNOHANG) != courier->program) {
		if (monotonic_ns() < courier->deadline) {
			if (said)
				close_fd(&courier->output);
			return CARRIED_YET;
		}
		return fail_courier(courier, CARRIED_FAILED, "it did not end in time");
	}
	(void)read_some(courier);
	(void)kill(-courier->program, SIGKILL); /* what it left behind */
	courier->program = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return CARRIED;
	snprintf(courier->why, sizeof(courier->why), "it ended with %s %d",
		 WIFEXITED(status) ? "exit code" : "signal",
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return CARRIED_FAILED;
}

enum carried courier_look(struct courier *courier)
{
	return courier->post ? look_at_post(courier) : look_at_program(courier);
}

void courier_end(struct courier *courier)
{
	post_free(courier->post);
	if (courier->program > 0) {
		(void)kill(-courier->program, SIGKILL);
		while (waitpid(courier->program, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&courier->process);
	close_fd(&courier->input);
	close_fd(&courier->output);
	buffer_done(&courier->text);
	buffer_done(&courier->said);
	*courier = (struct courier){.process = -1, .input = -1, .output = -1};
}

size_t courier_poll(const struct courier *courier, struct pollfd ret_fds[static 3])
{
	if (courier->post) {
		ret_fds[0] = (struct pollfd){post_fd(courier->post), POLLIN, 0};
		return 1;
	}
	ret_fds[0] = (struct pollfd){courier->process, POLLIN, 0};
	ret_fds[1] = (struct pollfd){courier->input, POLLOUT, 0};
	ret_fds[2] = (struct pollfd){courier->output, POLLIN, 0};
	return 3;
}

int courier_milliseconds(const struct courier *courier)
{
	uint64_t now = monotonic_ns();

	if (courier->post)
		return post_milliseconds(courier->post);
	return now >= courier->deadline ? 0 : (int)((courier->deadline - now) / 1000000 + 1);
}
