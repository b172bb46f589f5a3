/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions on disk: STATE/sessions/ID/.ward-inside-tmp, and .ward-inside-tmp-AGENT for each agent.
 */
#include "session.h"
#include "../base/guard.h"
#include "../base/io.h"
#include "../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

enum { NAME_MOST = 100, AGENT_MOST = 64, UNUSED_SECONDS = 7 * 24 * 3600, SWEEP_MOST = 100 };

/* A pid alone comes again; with the time its process started it does not. 0: there is no such
 * process. */
static unsigned long long start_of(int pid)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long start = 0;
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (read_file(AT_FDCWD, path, 4096, &text, NULL) < 0)
		return 0;
	at = strrchr(text, ')'); /* the name before it may hold anything */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at + 1, NULL, 10);
	return start;
}

char *session_of(int pid, const char *agent)
{
	unsigned long long start = start_of(pid);
	char *id;

	if (!start)
		return NULL;
	if (asprintf(&id, "pid-%d-%llu%s%s", pid, start, agent ? "@" : "", agent ? agent : "") < 0)
		abort();
	return id;
}

char *session_default(const char *agent)
{
	char *id = session_of(isatty(0) || isatty(1) || isatty(2) ? getsid(0) : getppid(), agent);

	if (!id)
		id = session_of(getppid(), agent);
	/* A parent outside our view of processes is none. */
	if (!id &&
	    asprintf(&id, "pid-%d-0%s%s", getppid(), agent ? "@" : "", agent ? agent : "") < 0)
		abort();
	return id;
}

bool session_is_name(const char *name)
{
	size_t length = strlen(name);

	return length > 0 && length <= NAME_MOST && name[0] != '.' &&
	       strspn(name,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-@+:") ==
		       length;
}

int session_check_agent(const char *agent, struct error **ret_error)
{
	if (session_is_name(agent) && strlen(agent) <= AGENT_MOST)
		return 0;
	fail(ret_error, E_USAGE, "'%s' cannot be the id of an agent", agent);
	return error_hint(ret_error, "use up to %d letters, digits and . _ - @ + :, no . first",
			  AGENT_MOST);
}

int session_check_claimed(const char *name, int pid, const char *agent, struct error **ret_error)
{
	_cleanup_free_ char *own = session_of(pid, agent);

	if (!name || strncmp(name, "pid-", 4) != 0 || (own && strcmp(name, own) == 0))
		return 0;
	fail(ret_error, E_INPUT, "the session '%.100s' is that of another process", name);
	return error_hint(ret_error, "leave session out, or give it a name of its own");
}

/* 0 where it was there already, 1 where it was made. */
static int make_tmp(const char *tmp)
{
	if (mkdir(tmp, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	/* As /tmp is: a program may look. The directory above it lets nobody in. */
	return chmod(tmp, 01777) < 0 ? -errno : 1;
}

/* What commands of the agent find as /tmp/agent-ID. If one of them put something else there, it is
 * between them. */
static int make_scratch(const char *tmp, const char *agent)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "%s/agent-%s", tmp, agent) < 0)
		abort();
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int session_open(const char *state, const char *name, const char *agent,
		 struct session *ret_session, struct error **ret_error)
{
	_cleanup_free_ char *id = name ? strdup(name) : session_default(agent), *parent = NULL,
			    *tmp = NULL;
	char real[PATH_MAX];
	struct stat st;
	int r;

	if (agent && (r = session_check_agent(agent, ret_error)) < 0)
		return r;
	if (!session_is_name(id)) {
		fail(ret_error, E_USAGE, "'%s' cannot be the name of a session", id);
		return error_hint(ret_error,
				  "use up to %d letters, digits and . _ - @ + :", NAME_MOST);
	}
	/* Links above ward's own directory are the user's; below it there are none. */
	if (path_real(state, real, &st) < 0 &&
	    (make_directories(state, 0700) < 0 || path_real(state, real, &st) < 0)) {
		fail_errno(ret_error, E_ENGINE, errno, "the state directory %s", state);
		return error_hint(ret_error, "it must be writable: see XDG_STATE_HOME");
	}
	/* The place of an account without a home is a name in /var/tmp, which anybody may have made
	 * before us: what lies there would be answers, and sockets. */
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		fail(ret_error, E_ENGINE, "the state directory %s is not ours alone", real);
		return error_hint(ret_error,
				  "its owner must be user %lu, and nobody else write to it",
				  (unsigned long)geteuid());
	}
	if (asprintf(&parent, "%s/sessions/%s", real, id) < 0 ||
	    asprintf(&tmp, "%s/" GUARD_INSIDE_TMP "%s%s", parent, agent ? "-" : "",
		     agent ? agent : "") < 0)
		abort();
	ret_session->fresh = false;
	r = make_tmp(tmp);
	if (r == -ENOENT && (r = make_directories(parent, 0700)) == 0 && (r = make_tmp(tmp)) >= 0)
		ret_session->fresh = true;
	else if (r >= 0)
		(void)utimensat(AT_FDCWD, parent, NULL,
				0); /* a named session ends by not being used */
	if (r >= 0 && agent)
		r = make_scratch(tmp, agent);
	if (r < 0) {
		fail_errno(ret_error, E_ENGINE, -r, "making the private /tmp %s", tmp);
		return error_hint(ret_error,
				  "the state directory must be writable: see XDG_STATE_HOME");
	}
	ret_session->lock = open(parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (ret_session->lock < 0 || flock(ret_session->lock, LOCK_SH) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "holding the session %s", parent);
	ret_session->id = STEAL(id);
	ret_session->tmp = STEAL(tmp);
	return 0;
}

void session_done(struct session *session)
{
	if (session->id) { /* else it was never opened, and 0 is somebody's standard input */
		/* Not by closing alone: a child of ours that has yet to close what it inherited
		 * would hold the session a little longer. */
		flock(session->lock, LOCK_UN);
		close(session->lock);
	}
	free(session->id);
	free(session->tmp);
	*session = (struct session){0};
}

struct timespec session_began(const char *state, const char *id)
{
	_cleanup_free_ char *path = NULL;
	struct timespec began = {0};
	struct statx made;

	if (asprintf(&path, "%s/sessions/%s", state, id) < 0)
		abort();
	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &made) < 0)
		clock_gettime(CLOCK_REALTIME, &began);
	else if (made.stx_mask & STATX_BTIME)
		began = (struct timespec){made.stx_btime.tv_sec, made.stx_btime.tv_nsec};
	return began;
}

static bool has_ended(int directory, const char *name)
{
	unsigned long long start;
	struct stat st;
	int pid;

	if (sscanf(name, "pid-%d-%llu", &pid, &start) == 2)
		return start_of(pid) != start;
	return fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       st.st_mtime + UNUSED_SECONDS < time(NULL);
}

static void sweep_one(int directory, const char *name)
{
	_cleanup_close_ int fd =
		openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) /* else a run still lives in it */
		(void)remove_tree(directory, name);
}

void session_sweep(const char *state)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *entry;
	DIR *directory;
	int swept = 0;

	if (asprintf(&path, "%s/sessions", state) < 0)
		abort();
	directory = opendir(path);
	while (directory && swept < SWEEP_MOST && (entry = readdir(directory)))
		if (entry->d_name[0] != '.' && has_ended(dirfd(directory), entry->d_name)) {
			sweep_one(dirfd(directory), entry->d_name);
			swept++;
		}
	if (directory)
		closedir(directory);
}

int session_list(const char *state,
		 int (*each)(const char *id, bool lives, int64_t used, void *data), void *data)
{
	_cleanup_free_ char *path = NULL;
	struct dirent *entry;
	DIR *directory;
	int r = 0;

	if (asprintf(&path, "%s/sessions", state) < 0)
		abort();
	directory = opendir(path);
	while (r == 0 && directory && (entry = readdir(directory))) {
		struct stat st;

		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISDIR(st.st_mode))
			continue;
		r = each(entry->d_name, !has_ended(dirfd(directory), entry->d_name), st.st_mtime,
			 data);
	}
	if (directory)
		closedir(directory);
	return r;
}

int session_end(const char *state, const char *id, struct error **ret_error)
{
	_cleanup_close_ int sessions = -1, fd = -1;
	_cleanup_free_ char *path = NULL;
	int r;

	if (asprintf(&path, "%s/sessions", state) < 0)
		abort();
	sessions = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (sessions >= 0 && session_is_name(id))
		fd = openat(sessions, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		fail(ret_error, E_NOT_FOUND, "there is no session '%s'", id);
		return error_hint(ret_error, "`ward session` lists them");
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		fail(ret_error, E_USAGE, "a command is running in the session '%s'", id);
		return error_hint(ret_error, "wait for its end, or end it first");
	}
	r = remove_tree(sessions, id);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "removing the session %s", id) : 0;
}
