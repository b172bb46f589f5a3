/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the streams, and moving bytes along them. */
#include "streams.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* A second way to the same terminal or pipe with flags of its own: setting O_NONBLOCK on the fd we
 * were given would change it for everyone who shares it. */
static int reopen(int fd, int flags)
{
	char path[64];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return again >= 0 ? again : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

struct pump *pump_new(int from, int to)
{
	struct pump *pump =
		malloc(sizeof(*pump)); /* not zeroed: the buffer is not touched before it is used */

	if (!pump)
		abort();
	pump->from = from;
	pump->to = to;
	pump->to_is_socket = pump->discard = pump->moved = false;
	pump->captures[0] = pump->captures[1] = NULL;
	pump->screen = NULL;
	pump->start = pump->end = 0;
	pump->error = 0;
	return pump;
}

void pump_free(struct pump *pump)
{
	if (!pump)
		return;
	close_fd(&pump->from);
	close_fd(&pump->to);
	free(pump);
}

bool pump_wants_read(const struct pump *pump)
{
	return pump->from >= 0 && pump->end < PUMP_ROOM;
}

bool pump_wants_write(const struct pump *pump)
{
	return pump->to >= 0 && pump->end > pump->start;
}

bool pump_finished(const struct pump *pump)
{
	return pump->from < 0 && !pump_wants_write(pump);
}

static bool pump_read(struct pump *pump)
{
	ssize_t got;

	if (!pump_wants_read(pump))
		return false;
	got = read(pump->from, pump->data + pump->end, PUMP_ROOM - pump->end);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (got <= 0) { /* a pty's master says EIO when the last holder of the other side is gone */
		close_fd(&pump->from);
		return true;
	}
	pump->moved = true;
	for (int i = 0; i < 2; i++)
		if (pump->captures[i])
			capture_add(pump->captures[i], pump->data + pump->end, (size_t)got);
	if (pump->discard)
		return true;
	pump->end += (size_t)got;
	return true;
}

static bool pump_write(struct pump *pump)
{
	size_t length = pump->end - pump->start;
	ssize_t put;

	if (!pump_wants_write(pump))
		return false;
	put = pump->to_is_socket ? send(pump->to, pump->data + pump->start, length,
					MSG_DONTWAIT | MSG_NOSIGNAL)
				 : write(pump->to, pump->data + pump->start, length);
	if (put < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (put < 0) {
		/* The reader is gone. The writer must learn it, as it would without us between
		 * them. */
		pump->error = errno;
		close_fd(&pump->to);
		close_fd(&pump->from);
		pump->start = pump->end = 0;
		return true;
	}
	if (pump->screen)
		screen_watch(pump->screen, pump->data + pump->start, (size_t)put);
	pump->start += (size_t)put;
	if (pump->start == pump->end)
		pump->start = pump->end = 0;
	return true;
}

bool pump_move(struct pump *pump)
{
	bool moved = pump_read(pump);

	return pump_write(pump) || moved;
}

static bool is_socket(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* A pipe for an output stream: the command's end into stdio, ours into a pump towards the caller's
 * fd. */
static int relay_output(struct streams *streams, int number, bool show, struct error **ret_error)
{
	struct pump *pump;
	int ends[2], to = -1;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "making a pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	if (show && fcntl(number, F_GETFD) >= 0) {
		struct stat st;

		/* A regular file is written through the fd we were given, whose offset others
		 * share. */
		to = fstat(number, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
			     ? reopen(number, O_WRONLY)
			     : fcntl(number, F_DUPFD_CLOEXEC, 3);
	}
	pump = pump_new(ends[0], to);
	pump->discard = to < 0;
	pump->to_is_socket = to >= 0 && is_socket(to);
	pump->captures[0] = &streams->captured[number - 1];
	pump->captures[1] = &streams->aggregated;
	streams->output[number - 1] = pump;
	streams->stdio[number] = (struct stdio){.kind = STDIO_FD, .fd = ends[1]};
	streams->close_after_start[number] = ends[1];
	return 0;
}

/* Both streams go to one and the same place: one pipe keeps their order. */
static bool same_place(void)
{
	struct stat out, err;

	return fstat(1, &out) == 0 && fstat(2, &err) == 0 && out.st_dev == err.st_dev &&
	       out.st_ino == err.st_ino &&
	       syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, 1, 2) == 0;
}

static int relay_input(struct streams *streams, struct error **ret_error)
{
	struct stat st;
	int ends[2], from;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "making a pipe");
	from = fstat(0, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		       ? reopen(0, O_RDONLY)
		       : fcntl(0, F_DUPFD_CLOEXEC, 3);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	streams->input = pump_new(from, ends[1]);
	streams->stdio[0] = (struct stdio){.kind = STDIO_FD, .fd = ends[0]};
	streams->close_after_start[0] = ends[0];
	return 0;
}

static bool is_null_device(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 1 && minor(st->st_rdev) == 3;
}

/* Never an fd that lies on a mount of the host: through it a mode could be changed, or a directory
 * left. */
static int open_input(const struct request *request, struct streams *streams,
		      struct error **ret_error)
{
	char link[PATH_MAX];
	struct statfs fs;
	struct stat st;
	ssize_t length;

	if (fstat(0, &st) < 0 || is_null_device(&st)) {
		streams->stdio[0] = (struct stdio){.kind = STDIO_NULL};
		return 0;
	}
	if (request->level == LEVEL_NONE ||
	    (S_ISFIFO(st.st_mode) && fstatfs(0, &fs) == 0 && fs.f_type == MAGIC_PIPEFS)) {
		streams->stdio[0] =
			(struct stdio){.kind = STDIO_FD, .fd = fcntl(0, F_DUPFD_CLOEXEC, 3)};
		streams->close_after_start[0] = streams->stdio[0].fd;
		return streams->stdio[0].fd < 0
			       ? fail_errno(ret_error, E_ENGINE, errno, "copying standard input")
			       : 0;
	}
	if (S_ISREG(st.st_mode)) {
		length = readlink("/proc/self/fd/0", link, sizeof(link) - 1);
		link[MAX(length, 0)] = '\0';
		/* Too large to be copied, and perhaps not to be reached by its name inside: then it
		 * is relayed. */
		if (st.st_size > INPUT_MOST &&
		    (strncmp(link, "/tmp/", 5) == 0 || access(link, R_OK) < 0))
			return relay_input(streams, ret_error);
		streams->input_path = strdup(link);
		streams->input_file = 0;
		streams->stdio[0] =
			(struct stdio){.kind = STDIO_FILE, .fd = 0, .path = streams->input_path};
		return 0;
	}
	return relay_input(streams, ret_error);
}

int streams_open(const struct request *request, bool stream, struct streams *ret_streams,
		 struct error **ret_error)
{
	bool show = stream && !request->json, merged;
	bool tty[3];
	int r = 0;

	*ret_streams = (struct streams){
		.terminal = -1, .input_file = -1, .close_after_start = {-1, -1, -1}};
	capture_init(&ret_streams->captured[0], request->keep_output);
	capture_init(&ret_streams->captured[1], request->keep_output);
	capture_init(&ret_streams->aggregated, request->keep_output);
	for (int i = 0; i < 3; i++)
		tty[i] = show && !request->no_pty && isatty(i);
	for (int i = 0; i < 3 && ret_streams->terminal < 0; i++)
		if (tty[i])
			ret_streams->terminal = reopen(i, O_RDWR);
	if (ret_streams->terminal >= 0 &&
	    tcgetattr(ret_streams->terminal, &ret_streams->before) < 0)
		close_fd(&ret_streams->terminal);
	if (ret_streams->terminal < 0)
		memset(tty, 0, sizeof(tty));
	ret_streams->terminal_input = tty[0];
	ret_streams->all_terminal = tty[0] && tty[1];

	for (int i = 0; i < 3; i++)
		if (tty[i])
			ret_streams->stdio[i] = (struct stdio){.kind = STDIO_TERMINAL};
	if (!tty[0])
		r = open_input(request, ret_streams, ret_error);
	merged = !tty[1] && !tty[2] && show && same_place();
	if (r == 0 && !tty[1])
		r = relay_output(ret_streams, 1, show, ret_error);
	if (r == 0 && merged)
		ret_streams->stdio[2] = ret_streams->stdio[1];
	else if (r == 0 && !tty[2])
		r = relay_output(ret_streams, 2, show, ret_error);
	if (r < 0)
		streams_done(ret_streams);
	return r;
}

void streams_done(struct streams *streams)
{
	terminal_restore(streams);
	pump_free(streams->output[0]);
	pump_free(streams->output[1]);
	pump_free(streams->input);
	capture_done(&streams->captured[0]);
	capture_done(&streams->captured[1]);
	capture_done(&streams->aggregated);
	close_fd(&streams->terminal);
	for (int i = 0; i < 3; i++)
		close_fd(&streams->close_after_start[i]);
	free(streams->input_path);
	*streams = (struct streams){
		.terminal = -1, .input_file = -1, .close_after_start = {-1, -1, -1}};
}

void input_mark(struct input_mark *ret_mark)
{
	struct pollfd input = {.fd = 0, .events = POLLIN | POLLRDHUP};
	struct stat st = {0};

	*ret_mark = (struct input_mark){.offset = lseek(0, 0, SEEK_CUR)};
	if (fstat(0, &st) == 0)
		ret_mark->accessed = st.st_atim;
	if (ioctl(0, FIONREAD, &ret_mark->waiting) < 0)
		ret_mark->waiting = 0;
	ret_mark->over = ret_mark->waiting == 0 && poll(&input, 1, 0) > 0 &&
			 input.revents & (POLLHUP | POLLRDHUP);
}

bool input_rewind(const struct streams *streams, const struct input_mark *mark)
{
	struct input_mark now;

	if (streams->input)
		return !streams->input->moved;
	if (streams->stdio[0].kind == STDIO_FILE)
		return lseek(0, mark->offset, SEEK_SET) == mark->offset;
	if (streams->stdio[0].kind != STDIO_FD)
		return true; /* a keyboard, or nothing at all */
	/* A pipe that was handed in: the kernel notes the time of every reading that got something.
	 */
	input_mark(&now);
	if (now.accessed.tv_sec != mark->accessed.tv_sec ||
	    now.accessed.tv_nsec != mark->accessed.tv_nsec || now.waiting < mark->waiting)
		return false;
	/* From Linux 6.15 on not for pipes without a name, and never for sockets. If nothing is
	 * left and whoever wrote has gone since, something came and was read. */
	return mark->over || !now.over;
}

bool terminal_is_ours(const struct streams *streams)
{
	return streams->terminal >= 0 && tcgetpgrp(streams->terminal) == getpgrp();
}

void terminal_read_modes(struct streams *streams)
{
	if (!streams->raw)
		(void)tcgetattr(streams->terminal, &streams->before);
}

void terminal_make_raw(struct streams *streams)
{
	struct termios raw = streams->before;

	if (streams->raw)
		return;
	cfmakeraw(&raw);
	if (!streams->all_terminal) /* others in the pipeline write to it, and need its translation
				     */
		raw.c_oflag = streams->before.c_oflag;
	streams->raw = tcsetattr(streams->terminal, TCSADRAIN, &raw) == 0;
}

void terminal_restore(struct streams *streams)
{
	if (!streams->raw)
		return;
	tcsetattr(streams->terminal, TCSADRAIN, &streams->before);
	streams->raw = false;
}

void terminal_copy_size(const struct streams *streams, int master)
{
	struct winsize size;

	if (ioctl(streams->terminal, TIOCGWINSZ, &size) == 0)
		ioctl(master, TIOCSWINSZ, &size);
}

void terminal_describe(const struct streams *streams, struct termios *ret_modes,
		       struct winsize *ret_window)
{
	*ret_modes = streams->before;
	/* Where the caller's terminal keeps its own mode, it does the output's translation. */
	if (!streams->all_terminal)
		ret_modes->c_oflag &= ~(tcflag_t)OPOST;
	*ret_window = (struct winsize){0};
	(void)ioctl(streams->terminal, TIOCGWINSZ, ret_window);
}

void terminal_copy_modes(const struct streams *streams, int master)
{
	struct termios modes;
	struct winsize window;

	terminal_describe(streams, &modes, &window);
	tcsetattr(master, TCSANOW, &modes);
}
