/* SPDX-License-Identifier: Apache-2.0 */
/* Each request runs in a child of its own: a run changes the identity, the signals and the fds of
 * its process for good. */
#include "rpc.h"
#include "parent.h"
#include "../base/buffer.h"
#include "../base/io.h"
#include "../flow.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	NO_METHOD = -32601,
	INVALID_PARAMS = -32602
};

static int send_object(int out, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	int r;

	json_decref(object);
	if (!text)
		return -EIO;
	r = write_all(out, text, strlen(text));
	return r < 0 ? r : write_all(out, "\n", 1);
}

static json_t *with_id(json_t *id)
{
	return json_pack("{s:s, s:O}", "jsonrpc", "2.0", "id", id ? id : json_null());
}

static int send_error(int out, json_t *id, int code, const char *message)
{
	json_t *object = with_id(id);

	json_object_set_new(object, "error",
			    json_pack("{s:i, s:s}", "code", code, "message", message));
	return send_object(out, object);
}

/* In the child; never returns. */
static _Noreturn void run(int out, json_t *id, struct request *request, pid_t server)
{
	struct result result;
	json_t *object = with_id(id);
	int null = open("/dev/null", O_RDONLY);

	/* A run does not outlive its server, whatever ends that. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != server)
		_exit(1);
	dup2(null, 0); /* the requests are not the command's input */
	result_init(&result);
	flow_run(request, /* audience= */ NULL, &result);
	json_object_set_new(object, "result", result_to_json(&result));
	_exit(send_object(out, object) < 0);
}

static int serve_run(int out, json_t *id, json_t *params)
{
	_cleanup_free_ char *text = params ? json_dumps(params, JSON_COMPACT) : NULL;
	_cleanup_request_ struct request request;
	_cleanup_error_ struct error *error = NULL;
	char here[4096];
	pid_t server = getpid(), child;
	int status;

	request_init(&request);
	if (!text)
		return send_error(out, id, INVALID_PARAMS, "params must be a request object");
	if (request_from_json(text, strlen(text), &request, &error) < 0)
		return send_error(out, id, INVALID_PARAMS, error->message);
	if (!request.workspace)
		request.workspace = strdup(getcwd(here, sizeof(here)) ? here : "/");
	if (!request.cwd)
		request.cwd = strdup(request.workspace);
	request.json = true;
	request.foreign = true;
	parent_identify(&request.caller); /* for each: it may have changed */
	request.bound = strdup(getcwd(here, sizeof(here)) ? here : "/");
	flow_warm(&request);
	child = fork();
	if (child == 0)
		run(out, id, &request, server);
	if (child < 0)
		return send_error(out, id, INVALID_REQUEST, strerror(errno));
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return send_error(out, id, INVALID_REQUEST, "the run ended without a result");
	return 0;
}

static int serve_line(int out, const char *line, size_t length)
{
	json_error_t at;
	json_t *request = json_loadb(line, length, JSON_REJECT_DUPLICATES, &at);
	json_t *id = json_object_get(request, "id");
	const char *method = json_string_value(json_object_get(request, "method"));
	int r;

	if (!request)
		r = send_error(out, NULL, PARSE_ERROR, at.text);
	else if (!method || !id || json_is_object(id) || json_is_array(id))
		r = send_error(out, NULL, INVALID_REQUEST, "a request has a method and an id");
	else if (strcmp(method, "run") == 0)
		r = serve_run(out, id, json_object_get(request, "params"));
	else if (strcmp(method, "ping") == 0)
		r = send_object(out, json_pack("{s:s, s:O, s:{s:s}}", "jsonrpc", "2.0", "id", id,
					       "result", "version", WARD_VERSION));
	else
		r = send_error(out, id, NO_METHOD,
			       "there is no such method; there are run and ping");
	json_decref(request);
	return r;
}

int rpc_serve(int in, int out, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer line = {0};
	char data[65536];
	bool skipping = false;
	ssize_t got;
	int r = 0;

	while (r == 0 &&
	       ((got = read(in, data, sizeof(data))) > 0 || (got < 0 && errno == EINTR))) {
		for (ssize_t at = 0; at < got && r == 0;) {
			char *end = memchr(data + at, '\n', (size_t)(got - at));
			size_t length = (size_t)(end ? end - (data + at) : got - at);

			if (!skipping)
				buffer_add(&line, data + at, length);
			if (line.length > RPC_LINE && !skipping) {
				r = send_error(out, NULL, INVALID_REQUEST, "the line is too long");
				skipping = true;
			}
			at += (ssize_t)length + (end != NULL);
			if (!end)
				continue;
			if (!skipping && line.length > 0)
				r = serve_line(out, line.data, line.length);
			skipping = false;
			line.length = 0;
		}
	}
	if (r == 0 && line.length > 0 && !skipping)
		r = serve_line(out, line.data, line.length);
	return r == 0 ? 0 : fail_errno(ret_error, E_ENGINE, -r, "answering");
}
