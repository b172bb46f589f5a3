/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal while a question stands on it. */
#include "terminal.h"
#include "../base/units.h"
#include "../sys/told.h"
#include "question.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum {
	QUIET_MS = 500,
	ALONE_MS = 40,	/* a key that is followed within this time was not pressed alone */
	GLANCE_MS = 100 /* how often signals and the window are looked at */
};

static const uint64_t ms = 1000000;

/* In the background neither the modes nor the input are ours any more. */
static bool is_ours(const struct tty *tty)
{
	return tcgetpgrp(tty->fd) == getpgrp();
}

static bool is_obsolete(const struct meanwhile *meanwhile)
{
	return meanwhile && meanwhile->obsolete(meanwhile->data);
}

/* Waits for the terminal and for what goes on meanwhile, and serves the latter. Returns what poll
 * says of the terminal. */
static int glance(struct pollfd *terminal, const struct meanwhile *meanwhile, int wait)
{
	struct pollfd fds[] = {*terminal, {meanwhile ? meanwhile->fd : -1, POLLIN, 0}};
	int ready = poll(fds, ELEMENTS(fds), wait);

	if (ready > 0 && fds[1].revents)
		meanwhile->serve(meanwhile->data);
	terminal->revents = ready > 0 ? fds[0].revents : 0;
	return ready < 0 ? ready : terminal->revents != 0;
}

void tty_name(int fd, char name[static TTY_NAME])
{
	unsigned device = 0;

	if (ioctl(fd, TIOCGDEV, &device) < 0)
		snprintf(name, TTY_NAME, "tty");
	else if (major(device) >= 136 && major(device) <= 143)
		snprintf(name, TTY_NAME, "pts/%u", (major(device) - 136) * 256 + minor(device));
	else if (major(device) == 4 && minor(device) < 64)
		snprintf(name, TTY_NAME, "tty%u", minor(device));
	else
		snprintf(name, TTY_NAME, "tty-%u-%u", major(device), minor(device));
}

enum heard tty_await_turn(int fd, const struct meanwhile *meanwhile, uint64_t patience_ns,
			  int *ret_lock)
{
	struct pollfd nothing = {.fd = -1};
	uint64_t deadline = monotonic_ns() + patience_ns;
	char name[TTY_NAME], path[TTY_NAME + 8];
	unsigned device = 0;
	struct stat st;

	tty_name(fd, name);
	snprintf(path, sizeof(path), "/dev/%s", name);
	*ret_lock = open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	/* In a container the name may be another terminal's, and /dev/tty is everybody's. */
	if (*ret_lock >= 0 && (ioctl(fd, TIOCGDEV, &device) < 0 || fstat(*ret_lock, &st) < 0 ||
			       !S_ISCHR(st.st_mode) || st.st_rdev != device))
		close_fd(ret_lock);
	if (*ret_lock < 0)
		return HEARD_KEY;
	while (flock(*ret_lock, LOCK_EX | LOCK_NB) < 0 &&
	       (errno == EWOULDBLOCK || errno == EINTR)) {
		if (told_to_stop())
			return HEARD_STOP;
		if (monotonic_ns() >= deadline || tcgetpgrp(fd) != getpgrp())
			return HEARD_HANG_UP;
		if (is_obsolete(meanwhile))
			return HEARD_OBSOLETE;
		(void)glance(&nothing, meanwhile, GLANCE_MS);
	}
	return HEARD_KEY;
}

static void read_size(struct tty *tty)
{
	struct winsize size = {0};

	(void)ioctl(tty->fd, TIOCGWINSZ, &size);
	tty->columns = size.ws_col ? size.ws_col : COLUMNS_USUAL;
	tty->rows = size.ws_row ? size.ws_row : ROWS_USUAL;
}

bool tty_take(struct tty *tty, int fd, const struct meanwhile *meanwhile, uint64_t patience_ns)
{
	const char *kind = getenv("TERM");
	struct termios modes;

	*tty = (struct tty){
		.fd = fd,
		.dumb = !kind || !*kind || strcmp(kind, "dumb") == 0,
		.deadline = monotonic_ns() + patience_ns,
		.meanwhile = meanwhile,
	};
	if (tcgetattr(fd, &tty->before) < 0)
		return false;
	read_size(tty);
	modes = tty->before;
	modes.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | ISIG | IEXTEN | TOSTOP);
	modes.c_iflag &= ~(tcflag_t)(IGNBRK | BRKINT | PARMRK | INLCR | IGNCR | ISTRIP | IUCLC |
				     IXON | IXOFF);
	modes.c_iflag |= ICRNL;
	modes.c_oflag |= OPOST | ONLCR;
	modes.c_oflag &= ~(tcflag_t)(OCRNL | ONLRET | OLCUC);
	modes.c_cc[VMIN] = 1;
	modes.c_cc[VTIME] = 0;
	/* Not TCSADRAIN or TCSAFLUSH: they wait for ever for a terminal that takes no output. */
	if (tcsetattr(fd, TCSANOW, &modes) < 0)
		return false;
	(void)tcflow(fd, TCOON);
	(void)tcflush(fd, TCIFLUSH);
	return true;
}

void tty_reset(struct tty *tty)
{
	static const char sequence[] =
		"\x18\x1b\\"		  /* ends a sequence that was left unfinished */
		"\x1b[?1047l"		  /* the main screen; 1049 would move its cursor */
		"\x1b[0m\x1b(B\x0f"	  /* plain, and letters are letters */
		"\x1b[4l\x1b[?5l\x1b[?7h" /* no insertion, no reversal, lines wrap */
		"\x1b[?69l"		  /* no margins */
		"\x1b"
		"7\x1b[r\x1b"
		"8"	    /* the whole screen scrolls */
		"\x1b[?25h" /* a cursor */
		"\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l" /* no mouse */
		"\x1b[?2004l"		   /* no marks around what is pasted */
		"\x1b[<9u\x1b[=0u\x1b[>4m" /* plain keys */
		"\x1b[?2026l"		   /* draws at once */
		"\r\n\x1b[J";

	if (tty->dumb)
		tty_write(tty, "\r\n", 2);
	else
		tty_write(tty, sequence, sizeof(sequence) - 1);
}

void tty_give_back(struct tty *tty)
{
	if (!is_ours(tty))
		return;
	(void)tcflush(tty->fd, TCIFLUSH);
	(void)tcsetattr(tty->fd, TCSANOW, &tty->before);
}

/* Waits for the terminal until a point in time. HEARD_KEY: it is ready. */
static enum heard wait_until(struct tty *tty, short events, uint64_t until)
{
	unsigned columns = tty->columns, rows = tty->rows;

	for (;;) {
		struct pollfd poll_fd = {.fd = tty->fd, .events = events};
		uint64_t now = monotonic_ns(), end = MIN(until, tty->deadline);
		int ready, wait = now >= end ? 0 : (int)MIN((end - now) / ms + 1, GLANCE_MS);

		if (told_to_stop())
			return HEARD_STOP;
		if (now >= tty->deadline || !is_ours(tty))
			return HEARD_HANG_UP;
		if (is_obsolete(tty->meanwhile))
			return HEARD_OBSOLETE;
		ready = glance(&poll_fd, tty->meanwhile, wait);
		if (ready < 0 && errno != EINTR)
			return HEARD_HANG_UP;
		if (ready > 0 && (poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL)))
			return HEARD_HANG_UP;
		if (ready > 0)
			return HEARD_KEY;
		if (now >= until)
			return HEARD_NOTHING;
		read_size(tty);
		if (columns != tty->columns || rows != tty->rows)
			return HEARD_RESIZE;
	}
}

void tty_write(struct tty *tty, const char *text, size_t length)
{
	size_t done = 0;

	while (done < length && is_ours(tty)) {
		ssize_t put = write(tty->fd, text + done, length - done);
		enum heard heard;

		if (put > 0)
			done += (size_t)put;
		if (put >= 0 || errno == EINTR)
			continue;
		if (errno != EAGAIN)
			return;
		heard = wait_until(tty, POLLOUT, tty->deadline);
		if (is_last(heard))
			return;
	}
}

/* Adds what there is to the input, as far as there is room; the rest is dropped. */
static enum heard take_input(struct tty *tty, struct input *input)
{
	char data[INPUT_ROOM];
	ssize_t got = read(tty->fd, data, sizeof(data));
	size_t fits;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return HEARD_NOTHING;
	if (got <= 0)
		return HEARD_HANG_UP;
	fits = MIN((size_t)got, sizeof(input->data) - input->length);
	memcpy(input->data + input->length, data, fits);
	input->length += fits;
	return HEARD_KEY;
}

enum heard tty_quiet(struct tty *tty)
{
	uint64_t until = monotonic_ns() + QUIET_MS * ms;
	enum heard heard = HEARD_NOTHING;

	(void)tcflush(tty->fd, TCIFLUSH);
	while (monotonic_ns() < until) {
		struct input dropped = {0};

		heard = wait_until(tty, POLLIN, until);
		if (heard == HEARD_KEY)
			heard = take_input(tty, &dropped);
		if (is_last(heard) || heard == HEARD_RESIZE)
			return heard;
	}
	(void)tcflush(tty->fd, TCIFLUSH);
	return HEARD_NOTHING;
}

/* Ctrl-C, Ctrl-\ and Ctrl-D, however often. */
static enum heard meaning(const struct input *input)
{
	static const char refusals[] = {3, 28, 4, '\0'};
	size_t count = strspn(input->data, refusals);

	if (count > 0 && count == input->length)
		return input->data[0] == 4 ? HEARD_HANG_UP : HEARD_STOP;
	return input->length == 1 ? HEARD_KEY : HEARD_TEXT;
}

enum heard tty_listen(struct tty *tty, struct input *ret_input)
{
	enum heard heard;

	memset(ret_input, 0, sizeof(*ret_input));
	for (;;) {
		heard = wait_until(tty, POLLIN, UINT64_MAX);
		if (heard == HEARD_KEY)
			heard = take_input(tty, ret_input);
		if (heard == HEARD_KEY)
			break;
		if (heard != HEARD_NOTHING)
			return heard;
	}
	/* Over a slow line what is pasted comes byte by byte. */
	for (int i = 0; i < INPUT_ROOM; i++) {
		heard = wait_until(tty, POLLIN, monotonic_ns() + ALONE_MS * ms);
		if (heard == HEARD_KEY)
			heard = take_input(tty, ret_input);
		if (heard != HEARD_KEY)
			break;
	}
	if (is_last(heard))
		return heard;
	if (ret_input->length >= sizeof(ret_input->data))
		ret_input->length = sizeof(ret_input->data) - 1;
	ret_input->data[ret_input->length] = '\0';
	return meaning(ret_input);
}
