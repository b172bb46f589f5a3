/* SPDX-License-Identifier: Apache-2.0 */
/* Starting ward-post, handing it one exchange, and reading what came of it. */
#include "post.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "beside.h"
#include "kernel.h"
#include "detach.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum {
	GRACE_MS = 500,	      /* it keeps the time itself, and has so long to say so */
	ANSWER_MOST = 1 << 16 /* of what it prints besides the body, */
};
/* every byte of which takes up to six as JSON */
enum { ESCAPED_MOST = 6 };

struct post {
	pid_t pid;
	int process; /* pidfd */
	int output;
	uint64_t deadline_ms;
	size_t most;
	struct buffer text;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void put(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) < 0)
		abort();
}

/* NULL where something in it is not UTF-8. */
static char *request_text(const struct post_request *request)
{
	json_t *object = json_object(), *headers = json_object();
	bool valid = true;
	char *text;

	if (!object || !headers)
		abort();
	for (size_t i = 0; i < request->header_count; i++)
		valid = valid && json_object_set_new(headers, request->headers[i].name,
						     json_string(request->headers[i].value)) == 0;
	put(object, "headers", headers);
	const struct post_header texts[] = {
		{"url", request->url},
		{"method", request->method ? request->method : "POST"},
		{"body", request->body},
		{"proxy", request->proxy},
		{"ca_file", request->ca_file},
	};
	for (size_t i = 0; i < ELEMENTS(texts); i++)
		if (texts[i].value)
			valid = valid && json_object_set_new(object, texts[i].name,
							     json_string(texts[i].value)) == 0;
	put(object, "timeout_ms", json_integer(request->timeout_ms));
	put(object, "max_bytes", json_integer((json_int_t)request->max_bytes));
	put(object, "insecure_http", json_boolean(request->insecure_http));
	text = valid ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	return text;
}

/* Memory with the request in it, to be read from its beginning. */
static int request_memory(const struct post_request *request, struct error **ret_error)
{
	_cleanup_free_ char *text = request_text(request);
	_cleanup_close_ int fd = -1;
	int r;

	if (!text)
		return fail(ret_error, E_INPUT, "what is to be sent to %s is not UTF-8",
			    request->url);
	fd = memfd_create("ward-post", MFD_CLOEXEC);
	if (fd < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "memory for ward-post");
	r = write_all(fd, text, strlen(text));
	explicit_bzero(text, strlen(text));
	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return fail_errno(ret_error, E_ENGINE, r < 0 ? -r : errno, "memory for ward-post");
	return STEAL_FD(fd);
}

/* A session of its own, so that keys at the terminal do not end it; no environment, which could
 * tell its libraries other things than we do; no fd but its streams. */
static _Noreturn void become_post(int program, int input, int output)
{
	char *words[] = {(char *)"ward-post", NULL},
	     *environment[] = {(char *)"LC_ALL=C.UTF-8", NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)signals_reset();
	setsid();
	/* All of them are above the standard ones, see post_start. */
	if (null < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(null, 2) < 0 ||
	    (program != 3 && dup3(program, 3, O_CLOEXEC) < 0) || chdir("/") < 0)
		_exit(1);
	sys_close_range(4, ~0u, 0);
	syscall(SYS_execveat, 3, "", words, environment, AT_EMPTY_PATH);
	_exit(1);
}

static int above_standard(int fd)
{
	int moved = fd;

	if (fd >= 0 && fd < 3) {
		moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		close(fd);
	}
	return moved;
}

int post_start(const struct post_request *request, struct post **ret_post, struct error **ret_error)
{
	_cleanup_close_ int program = above_standard(beside_open("ward-post", NULL, ret_error));
	_cleanup_close_ int input = -1, output = -1;
	_cleanup_post_ struct post *post = NULL;
	int ends[2];

	if (program < 0)
		return error_wrap(ret_error, "nothing can be sent to %s", request->url);
	input = above_standard(request_memory(request, ret_error));
	if (input < 0)
		return -E_ENGINE;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "a pipe for ward-post");
	post = calloc(1, sizeof(*post));
	if (!post)
		abort();
	*post = (struct post){.pid = -1,
			      .process = -1,
			      .output = above_standard(ends[0]),
			      .deadline_ms = now_ms() + request->timeout_ms + GRACE_MS,
			      .most = request->max_bytes * ESCAPED_MOST + ANSWER_MOST};
	output = above_standard(ends[1]);
	if (post->output < 0 || output < 0 || fcntl(post->output, F_SETFL, O_NONBLOCK) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "a pipe for ward-post");
	post->pid = fork();
	if (post->pid == 0)
		become_post(program, input, output);
	if (post->pid < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "starting ward-post");
	post->process = sys_pidfd_open(post->pid);
	*ret_post = STEAL(post);
	return 0;
}

int post_fd(const struct post *post)
{
	return post->output;
}

int post_milliseconds(const struct post *post)
{
	uint64_t now = now_ms();

	return now >= post->deadline_ms ? 0 : (int)(post->deadline_ms - now);
}

static int understand(const struct post *post, struct post_answer *ret_answer,
		      struct error **ret_error)
{
	json_t *object = json_loadb(buffer_text(&post->text), post->text.length, 0, NULL);
	const json_t *status = json_object_get(object, "status");
	const char *body = json_string_value(json_object_get(object, "body"));
	const char *fault = json_string_value(json_object_get(object, "error"));
	int r = 0;

	if (fault)
		r = fail(ret_error,
			 json_is_true(json_object_get(object, "timeout")) ? E_TIMEOUT : E_ENGINE,
			 "%s", fault);
	else if (!json_is_integer(status) || !body)
		r = fail(ret_error, E_ENGINE, "ward-post ended without an answer");
	else
		*ret_answer = (struct post_answer){
			.status = (int)json_integer_value(status),
			.body = strdup(body),
			.truncated = json_is_true(json_object_get(object, "truncated")),
			.retry_after = (unsigned)json_integer_value(
				json_object_get(object, "retry_after"))};
	json_decref(object);
	return r;
}

int post_take(struct post *post, struct post_answer *ret_answer, struct error **ret_error)
{
	char chunk[8192];
	ssize_t length;

	while ((length = read(post->output, chunk, sizeof(chunk))) > 0 ||
	       (length < 0 && errno == EINTR)) {
		if (length > 0)
			buffer_add(&post->text, chunk, (size_t)length);
		if (post->text.length > post->most)
			return fail(ret_error, E_ENGINE, "ward-post says too much");
	}
	if (length == 0)
		return understand(post, ret_answer, ret_error);
	if (errno != EAGAIN)
		return fail_errno(ret_error, E_ENGINE, errno, "reading from ward-post");
	if (post_milliseconds(post) == 0)
		return fail(ret_error, E_TIMEOUT, "no answer in time");
	return 1;
}

/* Somebody else who waits for all children may have reaped it: only its own descriptor is sure to
 * mean it. */
void post_free(struct post *post)
{
	if (!post)
		return;
	if (post->process >= 0)
		sys_pidfd_send_signal(post->process, SIGKILL);
	else if (post->pid > 0)
		kill(post->pid, SIGKILL);
	while (post->pid > 0 && waitpid(post->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close_fd(&post->process);
	close_fd(&post->output);
	buffer_done(&post->text);
	free(post);
}

int post_send(const struct post_request *request, struct post_answer *ret_answer,
	      struct error **ret_error)
{
	_cleanup_post_ struct post *post = NULL;
	int r = post_start(request, &post, ret_error);

	if (r < 0)
		return r;
	while ((r = post_take(post, ret_answer, ret_error)) == 1) {
		struct pollfd ready = {post->output, POLLIN, 0};

		poll(&ready, 1, post_milliseconds(post));
	}
	return r;
}

void post_answer_done(struct post_answer *answer)
{
	free(answer->body);
	*answer = (struct post_answer){0};
}
