/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals in words. */
#include "hint.h"
#include "../base/escape.h"
#include "../base/path.h"

#include <string.h>

void hint_describe(const struct denial *denial, struct buffer *text)
{
	buffer_printf(text, "%s ", denial->operation);
	escape_for_terminal(text, denial->object, strlen(denial->object));
	if (denial->program) {
		buffer_add_text(text, " (");
		buffer_printf(text, "%s by ", denial->syscall);
		escape_for_terminal(text, denial->program, strlen(denial->program));
		buffer_add_char(text, ')');
	}
	if (denial->count > 1)
		buffer_printf(text, ", %u times", denial->count);
}

/* A path that does not exist yet cannot be made writable; the directory it would lie in can. */
static void write_flag(const char *path, struct buffer *text)
{
	_cleanup_free_ char *parent = strdup(path);
	char *slash;

	while (parent && access(parent, F_OK) < 0 && (slash = strrchr(parent, '/')) &&
	       slash != parent)
		*slash = '\0';
	buffer_add_text(text, "--write ");
	escape_for_shell(text, parent ? parent : path);
}

bool hint_flag(const struct denial *denial, const char *workspace, struct buffer *text)
{
	const char *object = denial->object, *name = path_last(object);

	if (strstr(denial->rule, "permissions") || strstr(denial->rule, "set-user-id"))
		return false;
	if (strcmp(denial->operation, "connect") == 0) {
		buffer_add_text(text, "--net full");
		return true;
	}
	if (strcmp(denial->operation, "unix") == 0) {
		if (object[0] == '@')
			return false;
		if (strcmp(name, "docker.sock") == 0) {
			buffer_add_text(text, "--allow-socket docker (equal to root)");
			return true;
		}
		buffer_add_text(text, "--allow-socket ");
		escape_for_shell(text, object);
		return true;
	}
	if (strstr(denial->rule, "masked")) {
		buffer_add_text(text, "--write ");
		escape_for_shell(text, path_is_under(object, workspace)
					       ? object + strlen(workspace) + 1
					       : object);
		return true;
	}
	if (path_is_under(object, "/proc") || path_is_under(object, "/dev") ||
	    path_is_under(object, "/sys") || path_is_under(object, "/run"))
		return false;
	write_flag(object, text);
	return true;
}
