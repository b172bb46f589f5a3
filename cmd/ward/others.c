/* SPDX-License-Identifier: Apache-2.0 */
#include "others.h"
#include "../../src/base/io.h"
#include "../../src/base/own_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASSWD_LIMIT = 4 * 1024 * 1024, SECONDS_EACH = 10, FIELDS = 7, SHOWN = 2 };

struct account {
	const char *name, *home;
	uid_t uid;
	gid_t gid;
};

/* name:password:uid:gid:description:home:shell; the line is cut into its parts. */
static bool read_account(char *line, struct account *ret_account)
{
	char *fields[FIELDS], *end;
	int count = 0;
	unsigned long uid, gid;

	while (count < FIELDS && (fields[count] = strsep(&line, ":")))
		count++;
	if (count < FIELDS - 1 || fields[2][0] < '0' || fields[2][0] > '9' || fields[5][0] != '/')
		return false;
	uid = strtoul(fields[2], &end, 10);
	if (*end || uid >= (uid_t)-1)
		return false;
	gid = strtoul(fields[3], &end, 10);
	if (*end || gid >= (gid_t)-1)
		return false;
	*ret_account = (struct account){fields[0], fields[5], (uid_t)uid, (gid_t)gid};
	return true;
}

/* Whose files it can touch the kernel decides from here on. */
static int become(const struct account *account)
{
	if (setgroups(0, NULL) < 0 || setresgid(account->gid, account->gid, account->gid) < 0 ||
	    setresuid(account->uid, account->uid, account->uid) < 0)
		return -errno;
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("XDG_RUNTIME_DIR");
	setenv("HOME", account->home, /* overwrite= */ 1);
	umask(077);
	return chdir("/") < 0 ? -errno : 0;
}

static bool is_meant(const struct account *account, const char *user)
{
	char number[24];

	snprintf(number, sizeof(number), "%lu", (unsigned long)account->uid);
	return strcmp(account->name, user) == 0 || strcmp(number, user) == 0;
}

int others_become(const char *user, struct error **ret_error)
{
	_cleanup_free_ char *text = NULL;
	struct account account;
	char *rest, *line;
	int r;

	if (geteuid() != 0)
		return fail(ret_error, E_USAGE, "only root answers for other users");
	r = read_file(AT_FDCWD, "/etc/passwd", PASSWD_LIMIT, &text, NULL);
	if (r < 0)
		return fail_errno(ret_error, E_ENGINE, -r, "reading /etc/passwd");
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (!read_account(line, &account) || !is_meant(&account, user))
			continue;
		r = become(&account);
		return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "becoming %s", user) : 0;
	}
	return fail(ret_error, E_NOT_FOUND, "there is no user '%s' in /etc/passwd", user);
}

/* One at a time; a home that nobody can read costs no more than its time. */
static bool show_one(const struct account *account, bool (*show)(const char *name, uid_t uid))
{
	bool shown;
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		(void)alarm(SECONDS_EACH);
		shown = become(account) == 0 && show(account->name, account->uid);
		_exit(fflush(stdout) == 0 && shown ? SHOWN : 0);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == SHOWN;
}

size_t others_each(bool (*show)(const char *name, uid_t uid))
{
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ uid_t *shown = NULL;
	size_t count = 0, found = 0;
	struct account account;
	char *rest, *line;

	if (geteuid() != 0 || read_file(AT_FDCWD, "/etc/passwd", PASSWD_LIMIT, &text, NULL) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		size_t i = 0;

		if (!read_account(line, &account) || account.uid == 0)
			continue;
		while (i < count && shown[i] != account.uid)
			i++;
		if (i < count) /* one user, another name */
			continue;
		shown = reallocarray(shown, count + 1, sizeof(*shown));
		if (!shown)
			abort();
		shown[count++] = account.uid;
		found += show_one(&account, show);
	}
	return found;
}

bool others_are_served(void)
{
	return geteuid() == 0 && access(SOCKETS_SYSTEM "/" SOCKET_APPROVER, F_OK) == 0;
}
