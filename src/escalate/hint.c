/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals in words. */
#include "hint.h"
#include "../base/escape.h"
#include "../base/hosts.h"
#include "../base/path.h"
#include "../decide/sockets.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

/* A path that does not exist yet cannot be made writable; the directory it would lie in can. Caller
 * frees. */
static char *writable_for(const char *path)
{
	char *parent = strdup(path), *slash;

	if (!parent)
		abort();
	while (access(parent, F_OK) < 0 && (slash = strrchr(parent, '/')) && slash != parent)
		*slash = '\0';
	return parent;
}

/* A name that runs programs lies in what is writable anyway: only its own name opens it. */
static bool is_protected(const struct denial *denial)
{
	return strncmp(denial->rule, "protected", strlen("protected")) == 0;
}

/* Only what is masked is refused to a reader: its own name opens it. */
static bool is_read(const struct denial *denial)
{
	return strcmp(denial->operation, "read") == 0;
}

/* The list of what is denied, or something that no list opens, or what would have to be opened is
 * something else (that it holds): nobody can say yes to it. */
bool hint_is_final(const struct denial *denial)
{
	return strcmp(denial->operation, "exec") ==
		       0 || /* by a rule, which is asked about at once */
	       strncmp(denial->rule, "denied", strlen("denied")) == 0 ||
	       strncmp(denial->rule, "held", strlen("held")) == 0 ||
	       strncmp(denial->rule, "never", strlen("never")) == 0;
}

char *hint_held(const struct denial *denial)
{
	static const char before[] = "held: ", after[] = " is masked, and keeps its place";
	size_t length = strlen(denial->rule), around = strlen(before) + strlen(after);

	if (length <= around || strncmp(denial->rule, before, strlen(before)) != 0 ||
	    strcmp(denial->rule + length - strlen(after), after) != 0)
		return NULL;
	return strndup(denial->rule + strlen(before), length - around);
}

/* The port of what is the host's own loopback, or NULL. */
static const char *loopback_port(const char *target)
{
	static const char *const names[] = {"localhost:", "host-loopback:", "127.0.0.1:", "[::1]:"};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strncmp(target, names[i], strlen(names[i])) == 0)
			return target + strlen(names[i]);
	return NULL;
}

/* What must be listed for it: an allowed name that leads to an address which is not public is not
 * enough. NULL: nothing would do. Caller frees. */
static char *find_target(const struct denial *denial)
{
	struct in6_addr address;
	enum address_range range = RANGE_PUBLIC;
	char *target = NULL;
	int r;

	if (address_read(denial->address, &address))
		range = address_range(&address);
	if (range != RANGE_PUBLIC && strcmp(denial->address, denial->host) != 0)
		r = asprintf(&target, strchr(denial->address, ':') ? "[%s]:%u" : "%s:%u",
			     denial->address, denial->port);
	else
		r = asprintf(&target, "%s", denial->object);
	if (r < 0)
		abort();
	if (range == RANGE_NOWHERE || host_pattern_check(target, NULL) < 0) {
		free(target);
		return NULL;
	}
	return target;
}

static bool flag_for_target(const struct denial *denial, struct buffer *text)
{
	_cleanup_free_ char *target = find_target(denial);
	const char *port = target ? loopback_port(target) : NULL;

	if (!target)
		return false;
	buffer_add_text(text, "--allow-host ");
	if (port)
		buffer_printf(text, "localhost:%s", port);
	else
		escape_for_shell(text, target);
	return true;
}

static bool flag_for_socket(const char *path, struct buffer *text)
{
	const struct known_socket *socket = socket_at(path);

	if (path[0] == '@')
		return false;
	buffer_add_text(text, "--allow-socket ");
	escape_for_shell(text, path);
	if (socket)
		buffer_printf(text, " (%s: %s)", socket->name, socket->means);
	return true;
}

bool hint_flag(const struct denial *denial, const char *workspace, struct buffer *text)
{
	const char *object = denial->object;
	_cleanup_free_ char *path = NULL, *held = hint_held(denial);
	struct stat st;

	if (held) {
		buffer_add_text(text, "--read ");
		escape_for_shell(text, path_is_under(held, workspace) ? held + strlen(workspace) + 1
								      : held);
		return true;
	}
	if (strstr(denial->rule, "permissions") || strstr(denial->rule, "set-user-id") ||
	    hint_is_final(denial))
		return false;
	if (strcmp(denial->operation, "connect") == 0)
		return flag_for_target(denial, text);
	if (strcmp(denial->operation, "unix") == 0)
		return flag_for_socket(object, text);
	if (is_read(denial) || strstr(denial->rule, "masked") || is_protected(denial)) {
		bool there = path_is_under(object, workspace) || lstat(object, &st) == 0;

		buffer_add_text(text, is_read(denial) ? "--read " : there ? "--write " : "--make ");
		escape_for_shell(text, path_is_under(object, workspace)
					       ? object + strlen(workspace) + 1
					       : object);
		return true;
	}
	if (object[0] != '/' || path_is_beyond(object))
		return false;
	path = writable_for(object);
	/* A whole home for one name in it is more than was missing. */
	if (strcmp(path, object) != 0 && hint_is_broad(path)) {
		buffer_add_text(text, "--make ");
		escape_for_shell(text, object);
		return true;
	}
	buffer_add_text(text, "--write ");
	escape_for_shell(text, path);
	return true;
}

bool hint_is_broad(const char *path)
{
	const char *home = getenv("HOME");

	return !strchr(path + 1, '/') || (home && home[0] == '/' && path_is_under(home, path));
}

static char *permission_for_target(const struct denial *denial)
{
	_cleanup_free_ char *target = find_target(denial);
	const char *port = target ? loopback_port(target) : NULL;
	char *permission = NULL;

	if (!target)
		return NULL;
	if (asprintf(&permission, port ? "host-loopback %s" : "connect %s", port ? port : target) <
	    0)
		return NULL;
	return permission;
}

/* A yes to a directory says that it is one to all in it. */
static char *permission_for_file(const char *operation, const char *path)
{
	_cleanup_free_ char *pattern = path_escape(path);
	char *permission = NULL;
	struct stat st;

	return asprintf(&permission, "%s %s%s", operation, pattern,
			lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/**" : "") < 0
		       ? NULL
		       : permission;
}

char *hint_permission(const struct denial *denial, bool *ret_broad)
{
	_cleanup_free_ char *path = NULL;
	const char *object = denial->object;
	char *permission = NULL, real[PATH_MAX];

	*ret_broad = false;

	if (strstr(denial->rule, "permissions") || strstr(denial->rule, "set-user-id") ||
	    hint_is_final(denial))
		return NULL;
	if (strcmp(denial->operation, "connect") == 0)
		return permission_for_target(denial);
	if (object[0] != '/')
		return NULL;
	/* What a person is shown is the thing itself, whatever links lead there. */
	if (strcmp(denial->operation, "unix") == 0) {
		if (!realpath(object, real) || asprintf(&permission, "unix %s", real) < 0)
			return NULL;
		return permission;
	}
	if (is_protected(denial))
		return permission_for_file("write", object);
	if (is_read(denial)) { /* what is not there nobody can be let read */
		*ret_broad = !realpath(object, real) || path_is_beyond(real);
		return *ret_broad ? NULL : permission_for_file("read", real);
	}
	path = writable_for(object);
	if (!realpath(path, real) || path_is_beyond(real))
		return NULL;
	*ret_broad = hint_is_broad(real);
	return *ret_broad ? NULL : permission_for_file("write", real);
}
