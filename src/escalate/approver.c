/* SPDX-License-Identifier: Apache-2.0 */
#include "approver.h"
#include "../base/buffer.h"
#include "terminal.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The name that goes with the uid: variables can be set by anyone, and a static program does not
 * look further than the file. */
char *login_of(uid_t uid)
{
	FILE *users = fopen("/etc/passwd", "re");
	struct passwd *user = NULL;
	char *name = NULL;
	int r = 0;

	while (users && (user = fgetpwent(users)) && user->pw_uid != uid)
		;
	if (user)
		name = strdup(user->pw_name);
	else
		r = asprintf(&name, "%lu", (unsigned long)uid);
	if (users)
		fclose(users);
	if (r < 0 || !name)
		abort();
	return name;
}

char *approver_name_at(int terminal)
{
	_cleanup_free_ char *login = login_of(getuid());
	char called[TTY_NAME], *name = NULL;

	if (terminal < 0)
		return STEAL(login);
	tty_name(terminal, called);
	if (asprintf(&name, "%s@%s", login, called) < 0)
		abort();
	return name;
}

char *approver_name(void)
{
	_cleanup_close_ int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

	return approver_name_at(fd);
}

static struct approver_id make(const char *door, const char *name, const char *by)
{
	struct approver_id id = {0};

	if (asprintf(&id.way, "%s:%s", door, name) < 0 || !(id.by = strdup(by ? by : id.way)))
		abort();
	return id;
}

struct approver_id approver_here(void)
{
	_cleanup_free_ char *login = login_of(getuid()), *by = approver_name();

	return make("user", login, by);
}

struct approver_id approver_of_uid(uid_t uid, const char *by)
{
	_cleanup_free_ char *login = login_of(uid);

	return make("user", login, by ? by : login);
}

struct approver_id approver_of_web(const char *name)
{
	return make("web", name, /* by= */ NULL);
}

struct approver_id approver_of_hook(const char *channel, const char *user, const char *name)
{
	_cleanup_buffer_ struct buffer way = {0}, by = {0};

	buffer_add_text(&way, channel);
	if (user)
		buffer_printf(&way, "/%s", user);
	if (user && name)
		buffer_printf(&by, "%s (%s) through ", name, user);
	else if (user)
		buffer_printf(&by, "%s through ", user);
	buffer_printf(&by, "channel %s", channel);
	return make("hook", buffer_text(&way), buffer_text(&by));
}

struct approver_id approver_of_program(const char *channel)
{
	_cleanup_free_ char *name = NULL, *by = NULL;

	if (asprintf(&name, "%s/program", channel) < 0 ||
	    asprintf(&by, "program of channel %s", channel) < 0)
		abort();
	return make("hook", name, by);
}

struct approver_id approver_as(const char *login)
{
	_cleanup_free_ char *here = approver_name(), *by = NULL;

	if (asprintf(&by, "%s, said by %s", login, here) < 0)
		abort();
	return make("user", login, by);
}

void approver_id_done(struct approver_id *id)
{
	free(id->way);
	free(id->by);
	*id = (struct approver_id){0};
}
