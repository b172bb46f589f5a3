/* SPDX-License-Identifier: Apache-2.0 */
/* The program that a handle speaks with: which it is, its start and its end. */
#include "lib.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

static char *program; /* NULL: the installed one */
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

int ward_set_program(const char *path, ward_error **ret_error)
{
	char *copy = path ? strdup(path) : NULL;

	if (path && !copy)
		return out_of_memory(ret_error);
	if (path && *path != '/') {
		free(copy);
		return give_error(ret_error, "usage", NULL, "'%s' is not an absolute path", path);
	}
	pthread_mutex_lock(&program_lock);
	free(program);
	program = copy;
	pthread_mutex_unlock(&program_lock);
	return 0;
}

int above_standard(int fd)
{
	int moved = fd;

	if (fd >= 0 && fd < 3) {
		moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		close(fd);
	}
	return moved;
}

/* Its own session, so that the host's terminal and its keys are the host's alone; signals as a
 * program finds them, whatever the host does with its own. */
static int spawn(const char *path, const char *workspace, int socket, pid_t *ret_pid)
{
	char *arguments[] = {(char *)"ward", (char *)"serve", (char *)"--stdio", (char *)"--events",
			     NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none;
	int r;

	sigfillset(&all);
	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&actions) != 0)
		return ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return ENOMEM;
	}
	r = posix_spawn_file_actions_adddup2(&actions, socket, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&actions, socket, 1);
	r = r ? r : posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	r = r ? r : posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	r = r ? r : posix_spawn_file_actions_addchdir_np(&actions, workspace);
	r = r ? r : posix_spawnattr_setsigdefault(&attributes, &all);
	r = r ? r : posix_spawnattr_setsigmask(&attributes, &none);
	r = r ? r
	      : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF |
							      POSIX_SPAWN_SETSIGMASK |
							      POSIX_SPAWN_SETSID);
	r = r ? r : posix_spawn(ret_pid, path, &actions, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int start_program(ward *handle, const char *workspace, ward_error **ret_error)
{
	int pair[2], r;
	struct stat st;
	char *path;

	if (!workspace)
		workspace = ".";
	r = stat(workspace, &st) < 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (r != 0)
		return give_error(ret_error, "usage", NULL, "workspace '%s': %s", workspace,
				  strerror(r));
	pthread_mutex_lock(&program_lock);
	path = strdup(program ? program : WARD_PROGRAM);
	pthread_mutex_unlock(&program_lock);
	if (!path)
		return out_of_memory(ret_error);
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? errno : 0;
	if (r == 0) {
		handle->socket = above_standard(pair[0]);
		r = handle->socket < 0 ? errno : spawn(path, workspace, pair[1], &handle->child);
		close(pair[1]);
	}
	if (r == 0) {
		handle->process = above_standard((int)syscall(SYS_pidfd_open, handle->child, 0));
		if (handle->process < 0 && errno != ESRCH) { /* else the host has reaped it */
			r = errno;
			shutdown(handle->socket, SHUT_RDWR);
			waitpid(handle->child, NULL, 0);
		}
	}
	if (r != 0)
		give_error(ret_error, "engine", "ward_set_program names the program",
			   "starting %s: %s", path, strerror(r));
	free(path);
	return r ? -1 : 0;
}

/* It ends when nobody is at the other end. The host may have reaped it, or have the kernel reap
 * its children: only its own descriptor is sure to mean it. */
void end_program(ward *handle)
{
	struct pollfd gone = {.fd = handle->process, .events = POLLIN};
	siginfo_t info;

	if (handle->socket >= 0)
		shutdown(handle->socket, SHUT_RDWR);
	if (handle->process < 0)
		return;
	if (poll(&gone, 1, handle->faulty ? 0 : PATIENCE_MS) <= 0)
		syscall(SYS_pidfd_send_signal, handle->process, SIGKILL, NULL, 0);
	while (waitid((idtype_t)P_PIDFD, (id_t)handle->process, &info, WEXITED) < 0 &&
	       errno == EINTR)
		;
}
