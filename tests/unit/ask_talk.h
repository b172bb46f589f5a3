/* SPDX-License-Identifier: Apache-2.0 */
/* A question at a terminal, with the test at its other side. */
#pragma once

#include "base/units.h"
#include "escalate/question.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <cmocka.h>

struct report {
	struct answer answer;
	char reason[128], by[64], domains[256], grants[256];
	bool same_modes, term_pending, waiting;
};

struct talk {
	int master, pipe;
	pid_t pid;
	struct buffer seen;
};

enum how { AT_TERMINAL, RAW, BACKGROUND, NO_TERMINAL, IMPATIENT, TWICE, DUMB };

static inline void ask_and_report(const struct ask *ask, enum how how, int pipe)
{
	struct report report = {0};
	struct termios modes[2];
	sigset_t signals;
	int tty = open("/dev/tty", O_RDWR | O_NONBLOCK), waiting = 0;

	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	memset(modes, 0, sizeof(modes));
	if (tty >= 0)
		tcgetattr(tty, &modes[0]);
	if (how == RAW) {
		cfmakeraw(&modes[0]);
		tcsetattr(tty, TCSANOW, &modes[0]);
		tcgetattr(tty, &modes[0]);
	}
	if (how == IMPATIENT)
		ask_on(tty, ask, 1000000000, &report.answer);
	else
		ask_terminal(ask, &report.answer, NULL);
	if (tty >= 0)
		tcgetattr(tty, &modes[1]);
	report.same_modes = memcmp(&modes[0], &modes[1], sizeof(modes[0])) == 0;
	report.waiting = tty >= 0 && ioctl(tty, FIONREAD, &waiting) == 0 && waiting > 0;
	sigpending(&signals);
	report.term_pending = sigismember(&signals, SIGTERM);
	snprintf(report.reason, sizeof(report.reason), "%s",
		 report.answer.reason ? report.answer.reason : "");
	snprintf(report.by, sizeof(report.by), "%s", report.answer.by ? report.answer.by : "");
	for (size_t i = 0; i < report.answer.domains.count; i++) {
		strcat(report.domains, i ? " " : "");
		strcat(report.domains, report.answer.domains.items[i]);
	}
	for (size_t i = 0; i < report.answer.grants.count; i++) {
		strcat(report.grants, i ? "; " : "");
		strcat(report.grants, report.answer.grants.items[i]);
	}
	answer_done(&(struct answer){.reason = report.answer.reason,
				     .by = report.answer.by,
				     .domains = report.answer.domains,
				     .grants = report.answer.grants});
	_exit(write(pipe, &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

static inline void start(struct talk *talk, const struct ask *ask, enum how how,
			 const char *typed_ahead)
{
	struct winsize size = {.ws_col = 80, .ws_row = 30};
	int pipes[2], slave;

	*talk = (struct talk){.master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
	assert_true(talk->master >= 0 && grantpt(talk->master) == 0 && unlockpt(talk->master) == 0);
	slave = open(ptsname(talk->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0 && pipe2(pipes, O_CLOEXEC) == 0);
	ioctl(talk->master, TIOCSWINSZ, &size);
	if (typed_ahead)
		assert_true(write(talk->master, typed_ahead, strlen(typed_ahead)) > 0);
	talk->pid = fork();
	assert_true(talk->pid >= 0);
	if (talk->pid == 0) {
		int null = open("/dev/null", O_RDWR), child, status;

		for (int i = 0; i < 3; i++)
			dup2(null, i);
		close(talk->master);
		setsid();
		setenv("TERM", how == DUMB ? "dumb" : "xterm", 1);
		unsetenv("NO_COLOR");
		if (how != NO_TERMINAL)
			ioctl(slave, TIOCSCTTY, 0);
		if (how != BACKGROUND && how != TWICE)
			ask_and_report(ask, how, pipes[1]);
		for (int i = 0; i < (how == TWICE ? 2 : 1); i++) {
			child = fork();
			if (child == 0) {
				if (how == BACKGROUND)
					setpgid(0, 0);
				ask_and_report(ask, how, pipes[1]);
			}
		}
		while (waitpid(-1, &status, WUNTRACED) > 0 && !WIFSTOPPED(status))
			;
		_exit(0);
	}
	close(slave);
	close(pipes[1]);
	talk->pipe = pipes[0];
}

/* Reads until a text is seen. */
static inline void see(struct talk *talk, const char *text)
{
	uint64_t end = monotonic_ns() + 20ull * 1000000000;

	while (!strstr(buffer_text(&talk->seen), text)) {
		struct pollfd ready = {.fd = talk->master, .events = POLLIN};
		char data[4096];
		ssize_t got;

		assert_true(monotonic_ns() < end);
		if (poll(&ready, 1, 100) <= 0)
			continue;
		got = read(talk->master, data, sizeof(data));
		if (got < 0)
			print_error("not seen: %s\nbut: %s\n", text, buffer_text(&talk->seen));
		assert_true(got > 0);
		for (ssize_t i = 0; i < got; i++)
			if (data[i] != '\0')
				buffer_add_char(&talk->seen, data[i]);
	}
}

static inline void type(struct talk *talk, const char *text)
{
	buffer_done(&talk->seen);
	assert_int_equal(write(talk->master, text, strlen(text)), strlen(text));
}

static inline void pause_ms(unsigned ms)
{
	usleep(ms * 1000);
}

static inline bool answered(const struct talk *talk)
{
	struct pollfd ready = {.fd = talk->pipe, .events = POLLIN};

	return poll(&ready, 1, 0) > 0;
}

static inline void finish(struct talk *talk, struct report *ret_report)
{
	struct pollfd ready[2] = {{.fd = talk->pipe, .events = POLLIN},
				  {.fd = talk->master, .events = POLLIN}};
	char data[4096];
	uint64_t end = monotonic_ns() + 20ull * 1000000000;

	while (!answered(talk) && monotonic_ns() < end) {
		if (poll(ready, talk->master >= 0 ? 2 : 1, 1000) > 0 && talk->master >= 0 &&
		    ready[1].revents && read(talk->master, data, sizeof(data)) < 0)
			pause_ms(10);
	}
	if (!answered(talk))
		kill(talk->pid, SIGKILL);
	memset(ret_report, 0, sizeof(*ret_report));
	assert_int_equal(read(talk->pipe, ret_report, sizeof(*ret_report)), sizeof(*ret_report));
	close_fd(&talk->master);
	close_fd(&talk->pipe);
	waitpid(talk->pid, NULL, 0);
	buffer_done(&talk->seen);
}

/* The whole question has been drawn. */
#define QUESTION "help\r\n> "
