/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent gives a tool, made a request. It is another program's request: whatever it wants
 * beyond the policy is asked about. */
#include "mcp_server.h"
#include "hook.h"
#include "inside.h"
#include "../base/io.h"
#include "../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum { KEPT_OF_RUN = 64 << 10, KEPT_OF_FILE = 8 << 20, INPUT_MOST_OF_RUN = 8 << 20 };

/* Arguments that a request has under the same name. */
static const char *const passed[] = {"command",	   "argv",  "timeout", "reason",      "env",
				     "allow_host", "write", "read",    "allow_socket"};
/* Each tool's arguments. */
static const char *const known[][16] = {
	[TOOL_RUN] = {"command", "argv", "timeout", "reason", "env", "allow_host", "write", "read",
		      "allow_socket", "cwd", "stdin", "unsandboxed"},
	[TOOL_CHECK] = {"command", "argv", "cwd"},
	[TOOL_READ] = {"path", "first_line", "line_count", "reason"},
	[TOOL_WRITE] = {"path", "content", "encoding", "reason"},
	[TOOL_PATCH] = {"patch", "reason"},
	[TOOL_PENDING] = {NULL},
};

static bool is_among(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count && names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int check_names(enum mcp_tool tool, json_t *arguments, struct error **ret_error)
{
	const char *key;
	json_t *value;

	json_object_foreach (arguments, key, value)
		if (!is_among(known[tool], ELEMENTS(known[tool]), key)) {
			fail(ret_error, E_INPUT, "%s has no argument '%s'", mcp_tool_name(tool),
			     key);
			return error_hint(ret_error, "its inputSchema names them");
		}
	return 0;
}

/* NULL where it is not given. */
static int take_text(json_t *arguments, const char *key, const char **ret_text, size_t *ret_length,
		     struct error **ret_error)
{
	json_t *value = json_object_get(arguments, key);

	*ret_text = json_string_value(value);
	if (value && !*ret_text)
		return fail(ret_error, E_INPUT, "'%s' must be a string", key);
	if (ret_length)
		*ret_length = json_string_length(value);
	else if (*ret_text && strlen(*ret_text) != json_string_length(value))
		return fail(ret_error, E_INPUT, "'%s' holds a NUL character", key);
	return 0;
}

static int put_input(const void *data, size_t length, int *ret_input, struct error **ret_error)
{
	int fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r = fd < 0 ? -errno : write_all(fd, data, length);

	if (r == 0 && (lseek(fd, 0, SEEK_SET) < 0 ||
		       fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK) < 0))
		r = -errno;
	if (r < 0) {
		close_fd(&fd);
		return fail_errno(ret_error, E_ENGINE, -r, "keeping the input");
	}
	*ret_input = fd;
	return 0;
}

/* The request's own reading checks the types, and names the keys. */
static int read_request(json_t *arguments, struct request *request, struct error **ret_error)
{
	json_t *object = json_object();
	char *text;
	int r;

	for (size_t i = 0; i < ELEMENTS(passed); i++)
		if (json_object_get(arguments, passed[i]))
			json_object_set(object, passed[i], json_object_get(arguments, passed[i]));
	text = json_dumps(object, JSON_COMPACT);
	r = text ? request_from_json(text, strlen(text), request, ret_error)
		 : fail(ret_error, E_INPUT, "the arguments cannot be read");
	free(text);
	json_decref(object);
	return r;
}

static int for_command(json_t *arguments, struct request *request, int *ret_input,
		       struct error **ret_error)
{
	json_t *unsandboxed = json_object_get(arguments, "unsandboxed");
	const char *input;
	size_t length = 0;
	int r;

	if (!json_object_get(arguments, "command") == !json_object_get(arguments, "argv"))
		return fail(ret_error, E_INPUT, "give either 'command' or 'argv'");
	if ((r = read_request(arguments, request, ret_error)) < 0 ||
	    (r = take_text(arguments, "stdin", &input, &length, ret_error)) < 0)
		return r;
	if (unsandboxed && !json_is_boolean(unsandboxed))
		return fail(ret_error, E_INPUT, "'unsandboxed' must be true or false");
	request->escalated = json_is_true(unsandboxed);
	request->keep_output = KEPT_OF_RUN;
	if (input && length > INPUT_MOST_OF_RUN)
		return fail(ret_error, E_INPUT, "'stdin' is longer than %d bytes",
			    INPUT_MOST_OF_RUN);
	return input ? put_input(input, length, ret_input, ret_error) : 0;
}

static int take_line(json_t *arguments, const char *key, json_int_t *ret_line,
		     struct error **ret_error)
{
	json_t *value = json_object_get(arguments, key);

	if (value && (!json_is_integer(value) || json_integer_value(value) < 1))
		return fail(ret_error, E_INPUT, "'%s' must be a whole number, at least 1", key);
	*ret_line = json_integer_value(value);
	return 0;
}

static int for_read(json_t *arguments, struct request *request, struct error **ret_error)
{
	json_int_t first, count;
	int r;

	if ((r = take_line(arguments, "first_line", &first, ret_error)) < 0 ||
	    (r = take_line(arguments, "line_count", &count, ret_error)) < 0)
		return r;
	list_add_printf(&request->argv, "%lld", (long long)MAX(first, 1));
	list_add_printf(&request->argv, "%lld", (long long)count);
	return 0;
}

static int decode(const char *content, size_t length, int *ret_input, struct error **ret_error)
{
	size_t room = length / 4 * 3 + 3, size = 0;
	_cleanup_free_ unsigned char *bytes = malloc(room);

	if (!bytes)
		abort();
	if (sodium_base642bin(bytes, room, content, length, "\r\n", &size, NULL,
			      sodium_base64_VARIANT_ORIGINAL) < 0)
		return fail(ret_error, E_INPUT, "'content' is not base64");
	return put_input(bytes, size, ret_input, ret_error);
}

static int for_write(json_t *arguments, int *ret_input, struct error **ret_error)
{
	const char *content, *encoding;
	size_t length = 0;
	int r;

	if ((r = take_text(arguments, "content", &content, &length, ret_error)) < 0 ||
	    (r = take_text(arguments, "encoding", &encoding, NULL, ret_error)) < 0)
		return r;
	if (!content)
		return fail(ret_error, E_INPUT, "'content' is missing");
	if (length / 4 * 3 > INSIDE_WRITE_MOST)
		return fail(ret_error, E_INPUT, "'content' is longer than %d bytes",
			    INSIDE_WRITE_MOST);
	if (encoding && strcmp(encoding, "base64") == 0)
		return decode(content, length, ret_input, ret_error);
	if (encoding && strcmp(encoding, "utf-8") != 0)
		return fail(ret_error, E_INPUT, "'encoding' is utf-8 or base64");
	return put_input(content, length, ret_input, ret_error);
}

static int for_patch(json_t *arguments, struct request *request, int *ret_input,
		     struct error **ret_error)
{
	_cleanup_list_ struct list paths = {0};
	_cleanup_buffer_ struct buffer what = {0};
	const char *patch;
	size_t length = 0;
	int r = take_text(arguments, "patch", &patch, &length, ret_error);

	if (r == 0 && !patch)
		return fail(ret_error, E_INPUT, "'patch' is missing");
	if (r < 0)
		return r;
	/* The command line says nothing of it. */
	patch_paths(patch, &paths);
	buffer_add_text(&what, "a patch to");
	for (size_t i = 0; i < paths.count; i++)
		buffer_printf(&what, " %s", paths.items[i]);
	request->approval_command = buffer_steal(&what);
	return put_input(patch, length, ret_input, ret_error);
}

/* Files are the work of a program inside. */
static int for_file(const struct mcp_settings *settings, enum mcp_tool tool, json_t *arguments,
		    struct request *request, int *ret_input, struct error **ret_error)
{
	static const char *const verbs[] = {
		[TOOL_READ] = "read", [TOOL_WRITE] = "write", [TOOL_PATCH] = "patch"};
	const char *path = NULL, *reason;
	int r;

	if ((r = take_text(arguments, "path", &path, NULL, ret_error)) < 0 ||
	    (r = take_text(arguments, "reason", &reason, NULL, ret_error)) < 0)
		return r;
	if (tool != TOOL_PATCH && (!path || !*path))
		return fail(ret_error, E_INPUT, "'path' is missing");
	request->reason = reason ? strdup(reason) : NULL;
	request->keep_output = KEPT_OF_FILE;
	request->trace_reads = true; /* a mask that is met is known, and asked about */
	list_add(&request->argv, settings->program);
	list_add(&request->argv, "inside");
	list_add(&request->argv, verbs[tool]);
	if (path)
		list_take(&request->argv, path_resolve(settings->workspace, getenv("HOME"), path));
	if (tool == TOOL_READ)
		return for_read(arguments, request, ret_error);
	return tool == TOOL_WRITE ? for_write(arguments, ret_input, ret_error)
				  : for_patch(arguments, request, ret_input, ret_error);
}

int mcp_arguments(const struct mcp_settings *settings, enum mcp_tool tool, json_t *arguments,
		  struct request *ret_request, int *ret_input, struct error **ret_error)
{
	const char *cwd;
	int r;

	*ret_input = -1;
	if ((r = check_names(tool, arguments, ret_error)) < 0 ||
	    (r = take_text(arguments, "cwd", &cwd, NULL, ret_error)) < 0)
		return r;
	if (tool == TOOL_RUN || tool == TOOL_CHECK)
		r = for_command(arguments, ret_request, ret_input, ret_error);
	else
		r = for_file(settings, tool, arguments, ret_request, ret_input, ret_error);
	if (r < 0)
		return r;
	ret_request->workspace = strdup(settings->workspace);
	ret_request->bound = strdup(settings->workspace);
	ret_request->cwd = cwd ? path_resolve(settings->workspace, getenv("HOME"), cwd)
			       : strdup(settings->workspace);
	ret_request->profile = settings->profile ? strdup(settings->profile) : NULL;
	ret_request->profile_bound = true;
	ret_request->agent = strdup(settings->agent);
	ret_request->session = strdup(settings->session);
	ret_request->tool = strdup(mcp_tool_name(tool));
	ret_request->foreign = true;
	return 0;
}
