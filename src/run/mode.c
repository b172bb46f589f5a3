/* SPDX-License-Identifier: Apache-2.0 */
/* Normalising a request into what is executed. */
#include "mode.h"
#include "../sys/kernel.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

const char default_path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static const char *variable(const struct list *environment, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = environment->count; i-- > 0;)
		if (strncmp(environment->items[i], name, length) == 0 &&
		    environment->items[i][length] == '=')
			return environment->items[i] + length + 1;
	return NULL;
}

static void find_candidates(struct prepared *prepared)
{
	const char *program = prepared->argv.items[0],
		   *path = variable(&prepared->environment, "PATH");

	if (strchr(program, '/')) {
		list_add(&prepared->candidates, program);
		return;
	}
	if (!path || !*path)
		path = default_path;
	for (;;) {
		size_t length = strcspn(path, ":");

		if (length == 0)
			list_add_printf(&prepared->candidates, "./%s", program);
		else
			list_add_printf(&prepared->candidates, "%.*s/%s", (int)length, path,
					program);
		if (path[length] == '\0')
			return;
		path += length + 1;
	}
}

static void copy(struct list *to, const struct list *from)
{
	for (size_t i = 0; i < from->count; i++)
		list_add(to, from->items[i]);
}

static int prepare_exec(const struct request *request, const struct list *environment,
			const char *root, struct prepared *ret_prepared, struct error **ret_error)
{
	if (request->argv.count == 0 || !request->argv.items[0][0]) {
		fail(ret_error, E_USAGE, "there is no command to run");
		return error_hint(ret_error,
				  "ward run -- COMMAND ARGUMENT..., or ward run -c 'SCRIPT'");
	}
	(void)root; /* they are looked for in there */
	copy(&ret_prepared->argv, &request->argv);
	copy(&ret_prepared->environment, environment);
	find_candidates(ret_prepared);
	return 0;
}

static bool has_program(const char *root, const char *path)
{
	_cleanup_close_ int top = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = sys_openat2(top, path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

static int prepare_shell(const struct request *request, const struct list *environment,
			 const char *root, struct prepared *ret_prepared, struct error **ret_error)
{
	const char *shell = request->shell;

	if (!request->script)
		return fail(ret_error, E_USAGE, "there is no script to run");
	if (!shell)
		shell = (root ? has_program(root, "/bin/bash") : access("/bin/bash", X_OK) == 0)
				? "/bin/bash"
				: "/bin/sh";
	list_add(&ret_prepared->argv, shell);
	list_add(&ret_prepared->argv, request->login ? "-lc" : "-c");
	list_add(&ret_prepared->argv, request->script);
	copy(&ret_prepared->environment, environment);
	find_candidates(ret_prepared);
	return 0;
}

/* The patch tool sees nothing of the caller's environment, so that it does the same everywhere. */
static int prepare_patch(const struct request *request, const struct list *environment,
			 const char *root, struct prepared *ret_prepared, struct error **ret_error)
{
	static const struct list empty;

	(void)environment;
	return prepare_exec(request, &empty, root, ret_prepared, ret_error);
}

const struct way ways[] = {
	[MODE_EXEC] = {prepare_exec, true},
	[MODE_SHELL] = {prepare_shell, true},
	[MODE_PATCH] = {prepare_patch, false},
};

void prepared_done(struct prepared *prepared)
{
	list_done(&prepared->argv);
	list_done(&prepared->candidates);
	list_done(&prepared->environment);
}
