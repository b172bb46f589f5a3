/* SPDX-License-Identifier: Apache-2.0 */
/* Bait for probes. */
#include "bait.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static int write_text(const char *path, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);

	return fd < 0 ? -1 : write_all(fd, text, strlen(text));
}

static char *in_place(const struct bait *bait, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", bait->place, name) < 0)
		abort();
	return path;
}

/* A copy, because the program may lie where the sandbox sees nothing (below /tmp). */
static int copy_program(const struct bait *bait)
{
	_cleanup_free_ char *path = in_place(bait, "ward");
	_cleanup_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	static char block[1 << 16];
	ssize_t length = -1;

	while (from >= 0 && to >= 0 && (length = read(from, block, sizeof(block))) > 0)
		if (write_all(to, block, (size_t)length) < 0)
			return -1;
	return length == 0 ? 0 : -1;
}

/* Not in /tmp, which is replaced as a whole: what lies outside must be there inside. */
static int make_place(struct bait *bait)
{
	const char *const parents[] = {"/var/tmp", getenv("HOME")};

	for (size_t i = 0; i < ELEMENTS(parents); i++) {
		if (!parents[i] || parents[i][0] != '/' ||
		    asprintf(&bait->place, "%s/ward-doctor-XXXXXX", parents[i]) < 0)
			continue;
		if (mkdtemp(bait->place))
			return 0;
		free(STEAL(bait->place));
	}
	return -1;
}

static int lay_files(struct bait *bait, const char *state)
{
	static const char *const directories[] = {"workspace", "outside"};
	static const struct {
		const char *name;
		enum target target;
	} files[] = {
		{"workspace/.env", TARGETS},
		{"workspace/own", TARGETS},
		{"outside/secret", TARGET_SECRET},
		{"outside/file", TARGET_FILE},
	};
	int tmp;

	for (size_t i = 0; i < ELEMENTS(directories); i++) {
		_cleanup_free_ char *path = in_place(bait, directories[i]);

		if (mkdir(path, 0700) < 0)
			return -1;
	}
	for (size_t i = 0; i < ELEMENTS(files); i++) {
		_cleanup_free_ char *path = in_place(bait, files[i].name);

		if (write_text(path, PROBE_MARK, 0600) < 0)
			return -1;
		if (files[i].target != TARGETS)
			bait->targets[files[i].target] = STEAL(path);
	}
	bait->targets[TARGET_NEW] = in_place(bait, "outside/new");
	bait->targets[TARGET_STATE] = path_resolve(state, NULL, "audit.log");
	bait->targets[TARGET_TMP] = strdup("/tmp/ward-doctor-XXXXXX");
	tmp = mkstemp(bait->targets[TARGET_TMP]);
	if (tmp < 0 || write_all(tmp, PROBE_MARK, strlen(PROBE_MARK)) < 0)
		bait->targets[TARGET_TMP][0] = '\0';
	close_fd(&tmp);
	return copy_program(bait);
}

static int listen_at(struct bait *bait, enum target target, int family, int type,
		     const struct sockaddr *address, socklen_t length)
{
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	bait->listeners[target] = fd;
	if (fd < 0 || bind(fd, address, length) < 0 || (type == SOCK_STREAM && listen(fd, 8) < 0))
		return -1;
	return 0;
}

static int lay_internet(struct bait *bait, enum target target, int type)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);

	if (listen_at(bait, target, AF_INET, type, (struct sockaddr *)&address, length) < 0 ||
	    getsockname(bait->listeners[target], (struct sockaddr *)&address, &length) < 0)
		return -1;
	return asprintf(&bait->targets[target], "%u", ntohs(address.sin_port)) < 0 ? -1 : 0;
}

static int lay_unix(struct bait *bait, enum target target, char *name, size_t skip)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	bait->targets[target] = name;
	if (skip + strlen(name) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path + skip, name);
	return listen_at(bait, target, AF_UNIX, SOCK_STREAM, (struct sockaddr *)&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + skip + strlen(name)));
}

static int told = -1;

static void tell(int signal)
{
	(void)signal;
	(void)!write(told, "x", 1);
}

/* A process of the same user, with no more rights than the command: what it could be protected by
 * is the sandbox alone. */
static int lay_process(struct bait *bait)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	int ends[2];

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	bait->process = fork();
	if (bait->process == 0) {
		told = ends[1];
		signal(SIGUSR1, tell);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, PROBE_PROCESS);
		(void)syscall(SYS_capset, &header, none);
		prctl(PR_SET_DUMPABLE, 1);
		for (;;)
			pause();
	}
	bait->signals = ends[0];
	close(ends[1]);
	return bait->process < 0 ||
			       asprintf(&bait->targets[TARGET_PROCESS], "%d", bait->process) < 0
		       ? -1
		       : 0;
}

/* Open on purpose, and kept over exec, as a careless caller does. */
static int lay_descriptor(struct bait *bait)
{
	_cleanup_free_ char *path = in_place(bait, "outside");
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	bait->left_open = fd < 0 ? -1 : fcntl(fd, F_DUPFD, 100);
	if (bait->left_open < 0 || asprintf(&bait->targets[TARGET_FD], "%d", bait->left_open) < 0)
		return -1;
	bait->memory = shmget(IPC_PRIVATE, 4096, 0600);
	return asprintf(&bait->targets[TARGET_MEMORY], "%d", bait->memory) < 0 ? -1 : 0;
}

int bait_lay(const char *state, struct bait *ret_bait, struct error **ret_error)
{
	struct bait *bait = ret_bait;
	char *abstract;

	*bait = (struct bait){.process = -1, .signals = -1, .left_open = -1, .memory = -1};
	memset(bait->listeners, -1, sizeof(bait->listeners));
	if (asprintf(&abstract, "ward-doctor-%d", getpid()) < 0)
		abort();
	if (make_place(bait) < 0 || lay_files(bait, state) < 0 ||
	    lay_internet(bait, TARGET_TCP, SOCK_STREAM) < 0 ||
	    lay_internet(bait, TARGET_UDP, SOCK_DGRAM) < 0 ||
	    lay_unix(bait, TARGET_SOCKET, in_place(bait, "outside/socket"), 0) < 0 ||
	    lay_unix(bait, TARGET_ABSTRACT, abstract, 1) < 0 || lay_process(bait) < 0 ||
	    lay_descriptor(bait) < 0) {
		fail_errno(ret_error, E_ENGINE, errno, "laying out what the probes are to reach");
		return error_hint(ret_error,
				  "/var/tmp or the home directory must be writable, and sockets "
				  "on 127.0.0.1 possible");
	}
	setenv(PROBE_VARIABLE, PROBE_MARK, 1);
	return 0;
}

static bool is_as_laid(const char *path)
{
	_cleanup_free_ char *text = NULL;

	return read_file(AT_FDCWD, path, 4096, &text, NULL) == 0 && strcmp(text, PROBE_MARK) == 0;
}

bool bait_was_reached(const struct bait *bait, enum target target)
{
	char byte;
	int fd;

	switch (target) {
	case TARGET_FILE:
		return !is_as_laid(bait->targets[TARGET_FILE]);
	case TARGET_NEW:
		return access(bait->targets[TARGET_NEW], F_OK) == 0;
	case TARGET_PROCESS:
		return read(bait->signals, &byte, 1) == 1;
	case TARGET_UDP:
		return recv(bait->listeners[TARGET_UDP], &byte, 1, MSG_DONTWAIT) >= 0;
	case TARGET_TCP:
	case TARGET_SOCKET:
	case TARGET_ABSTRACT:
		fd = accept4(bait->listeners[target], NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		return fd >= 0;
	default:
		return false;
	}
}

void bait_take_up(struct bait *bait)
{
	if (bait->process > 0) {
		kill(bait->process, SIGKILL);
		while (waitpid(bait->process, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close_fd(&bait->signals);
	close_fd(&bait->left_open);
	if (bait->memory >= 0)
		shmctl(bait->memory, IPC_RMID, NULL);
	if (bait->targets[TARGET_TMP] && *bait->targets[TARGET_TMP])
		unlink(bait->targets[TARGET_TMP]);
	for (size_t i = 0; i < TARGETS; i++) {
		close_fd(&bait->listeners[i]);
		free(bait->targets[i]);
	}
	if (bait->place)
		(void)remove_tree(AT_FDCWD, bait->place);
	free(bait->place);
}
