/* SPDX-License-Identifier: Apache-2.0 */
/* The loop around a running command. */
#include "run.h"
#include "ends.h"
#include "stops.h"
#include "watch.h"
#include "../base/io.h"
#include "../base/units.h"
#include "../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* SIGTSTP comes from a keyboard whose mode is not ours, or from another process; SIGCONT after any
 * stop. */
static const int passed_on[] = {SIGINT,	 SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
				SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

/* How often a pump is moved before a question: as much as a program has printed just before. */
enum { SETTLE_MS = 20, PASSES = 16, HOLD_MS = 100 };

/* How often one that stands still looks whether it may go on. */
enum { FROZEN_LOOK_MS = 500 };

/* How long init may take to hear that something is to be stopped. */
static const uint64_t hold_ns = 1000000000;

/* After a kill, how long the caller's reader may take for what is still in our buffers. */
static const uint64_t flush_ns = 1000000000;

/* How long init may take to end when it is killed, before each of the others is. */
static const uint64_t dying_ns = 20000000;
/* A command that ends so soon is waited for where its start was: the kernel likes to wake us behind
 * who wakes us, init that is about to start it and init that is about to end. */
static const uint64_t start_ns = 20000000;

struct run {
	struct entry *entry;
	struct streams *streams;
	struct watch watch;
	struct watched watched;
	const struct attendant *attendant;
	struct outcome *outcome;
	struct pump *keys, *screen; /* the terminal, both ways */
	struct screen drawn;	    /* what it shows */
	int signals;
	uint64_t started, killed; /* monotonic; 0: not yet, none */
	uint64_t dying;		  /* when those that init leaves behind are killed one by one */
	struct stops stops;	  /* who stands still while a person is asked */
	bool settled;		  /* the start is over */
	bool stays;		  /* until it is known whether it is to be frozen */
	bool frozen;		  /* until somebody lets it go on, or it is ended */
	bool held;		  /* init knows that it is we who stop them */
	bool keyboard;		  /* the command has the terminal */
	bool has_modes;		  /* the pty has the modes of the terminal as a job finds it */
	bool told;		  /* init has said how the command ended */
	bool ended;		  /* nothing inside is left but perhaps init itself */
	bool gone;		  /* init, too */
	bool left;		  /* nobody is there any more who could call */
};

static void relay_signals(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < ELEMENTS(passed_on); i++)
		sigaddset(set, passed_on[i]);
	sigaddset(set, RUN_CANCEL);
	sigaddset(set, RUN_TELL);
	sigaddset(set, RUN_LOOK);
}

void run_block_signals(struct dispositions *ret_before)
{
	sigset_t set;

	relay_signals(&set);
	sigprocmask(SIG_BLOCK, &set, &ret_before->mask);
	signal(SIGTTOU, SIG_IGN); /* the terminal is put right again from wherever we are */
	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files must not end us in the middle of a
				     record */
	ret_before->ignores_pipe = signal(SIGPIPE, SIG_IGN) == SIG_IGN;
	/* Where it is ignored nobody can wait for a child, and init not for the command. */
	ret_before->ignores_child = signal(SIGCHLD, SIG_DFL) == SIG_IGN;
}

static void order(struct run *run, enum init_order_kind kind, int value)
{
	struct init_order message = {kind, value};

	/* If init is gone there is nobody left to be told. */
	(void)!write(run->entry->control, &message, sizeof(message));
}

static void end_sandbox(struct run *run, enum run_limit limit)
{
	if (run->killed || run->ended)
		return;
	run->outcome->limit = limit;
	run->outcome->timed_out = limit == LIMIT_TIME;
	watch_last(&run->watch, &run->watched);
	run->killed = monotonic_ns();
	run->dying = run->killed + dying_ns;
	/* What is frozen cannot be ended; what was told so before does not get another step. */
	if (run->frozen || run->stays)
		cgroup_kill(run->watch.group);
	run->frozen = run->stays = false;
	(void)cgroup_thaw(run->watch.group);
	if (run->entry->walls & WALL_BIT(WALL_PID_NAMESPACE))
		sys_pidfd_send_signal(run->entry->pidfd,
				      SIGKILL); /* pid 1: nothing inside survives it */
	else
		close_fd(&run->entry->control); /* then init itself must end its children first */
}

static void give_keyboard(struct run *run)
{
	/* As the shell leaves the terminal for a job it brings to the front; at our start in the
	 * background it was the shell's own line editor that had set the modes. */
	terminal_read_modes(run->streams);
	if (!run->has_modes)
		terminal_copy_modes(run->streams, run->entry->terminal);
	run->has_modes = true;
	terminal_copy_size(run->streams, run->entry->terminal);
	terminal_make_raw(run->streams);
	run->keyboard = true;
	order(run, INIT_FOREGROUND, 0);
}

/* Stops ourselves as the shell expects of a job. Not with SIGSTOP: where no shell would ever
 * continue us (the process group is orphaned) the kernel does not stop a process for SIGTSTP, and
 * the command alone stays stopped, its time running. */
static void stop_ourselves(void)
{
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before); /* here we stand until the shell lets us go on */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void command_stopped(struct run *run, int signal)
{
	bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU, had = run->keyboard;

	if (run->streams->terminal < 0)
		return; /* no job control: it stays as it is until somebody inside, or the time,
			   ends it */
	if (wants_terminal && terminal_is_ours(run->streams)) {
		give_keyboard(run);
		return;
	}
	terminal_restore(run->streams);
	run->keyboard = false;
	stop_ourselves();
	if (terminal_is_ours(run->streams) && (had || wants_terminal)) {
		give_keyboard(run);
		return;
	}
	if (had)
		order(run, INIT_BACKGROUND, 0);
	order(run, INIT_CONTINUE, 0);
}

/* One thing that init has to say; false if there is none. */
static bool hear_init(struct run *run)
{
	struct outcome *outcome = run->outcome;
	struct init_event event;
	ssize_t length = recv(run->entry->control, &event, sizeof(event), MSG_DONTWAIT);

	/* Init has gone without an order of ours. The kernel says so once, before what init had
	 * said: how the command ended. */
	if (length < 0 && errno == ECONNRESET)
		length = recv(run->entry->control, &event, sizeof(event), MSG_DONTWAIT);
	if (length < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (length != sizeof(event)) {
		close_fd(&run->entry->control);
		return false;
	}
	if (event.held) {
		run->held = true;
		return true;
	}
	if (event.interim) {
		run->watched.reaped_written = event.written_bytes;
		return true;
	}
	if (event.stopped) {
		if (!run->gone)
			command_stopped(run, event.stopped);
		return true;
	}
	run->told = true;
	run->ended = run->ended || event.alone;
	outcome->exec_error = event.exec_error;
	outcome->unmade = event.unmade;
	outcome->status = event.status;
	outcome->cpu_ms = event.cpu_ms;
	outcome->max_rss_kb = event.max_rss_kb;
	outcome->io_read = event.read_bytes;
	outcome->io_write = event.written_bytes;
	outcome->tasks = event.tasks;
	outcome->duration_ms = (double)(monotonic_ns() - run->started) / 1e6;
	return true;
}

static void hear_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == sizeof(info)) {
		if ((int)info.ssi_signo == RUN_CANCEL) {
			run->outcome->told_to_end = true;
			end_sandbox(run, LIMIT_NONE);
			continue;
		}
		if ((int)info.ssi_signo == RUN_LOOK) {
			if (run->attendant->look)
				run->attendant->look(run->attendant->data);
			continue;
		}
		switch (info.ssi_signo) {
		case RUN_TELL:
			/* The kernel sends it, too, when a lease is broken. */
			if (info.ssi_code == SI_USER && run->attendant->tell)
				run->attendant->tell(run->attendant->data);
			break;
		case SIGWINCH:
			if (run->entry->terminal >= 0)
				terminal_copy_size(run->streams, run->entry->terminal);
			break;
		case SIGCONT: /* whoever ends a stopped job by a signal lets it go on afterwards, so
				 that it sees it */
			order(run, INIT_CONTINUE, 0);
			break;
		case SIGINT:
		case SIGTERM:
		case SIGHUP:
		case SIGQUIT:
			run->outcome->told_to_end = true;
			if (run->frozen) /* it would hear of it too late */
				end_sandbox(run, LIMIT_NONE);
			else
				order(run, INIT_SIGNAL, (int)info.ssi_signo);
			break;
		default:
			order(run, INIT_SIGNAL, (int)info.ssi_signo);
		}
	}
}

static uint64_t output_so_far(const struct streams *streams)
{
	return streams->captured[0].total + streams->captured[1].total;
}

/* The pumps, at most five. */
static size_t all_pumps(struct run *run, struct pump *pumps[static 5])
{
	struct pump *const every[] = {run->streams->output[0], run->streams->output[1], run->screen,
				      run->streams->input, run->keys};
	size_t count = 0;

	for (size_t i = 0; i < ELEMENTS(every); i++) {
		bool is_keys = every[i] == run->keys && run->keys;
		bool is_typed =
			every[i] == run->streams->input && every[i] && isatty(every[i]->from);

		if (!every[i] || (is_keys && !run->keyboard) ||
		    (is_typed && tcgetpgrp(every[i]->from) != getpgrp()))
			continue;
		pumps[count++] = every[i];
	}
	return count;
}

static bool output_finished(const struct run *run)
{
	const struct pump *outputs[] = {run->streams->output[0], run->streams->output[1],
					run->screen};

	if (!run->ended)
		return false;
	if (run->killed && monotonic_ns() > run->killed + flush_ns)
		return true;
	for (size_t i = 0; i < ELEMENTS(outputs); i++)
		if (outputs[i] && !pump_finished(outputs[i]))
			return false;
	return true;
}

static int patience(const struct run *run)
{
	uint64_t now = monotonic_ns();
	uint64_t until = run->killed ? run->killed + flush_ns : watch_until(&run->watch);

	if (run->killed && !run->ended)
		until = run->dying;
	if (run->ended && !run->killed)
		return 100;
	if (run->frozen)
		return FROZEN_LOOK_MS;
	if (!until)
		return run->streams->input && isatty(run->streams->input->from) ? 500 : -1;
	return until <= now ? 0 : (int)MIN((until - now) / 1000000 + 1, (uint64_t)3600 * 1000);
}

/* Those that come into being meanwhile are found the next time. Without a /proc of the sandbox's
 * own it is init that ends the others. */
static void end_those_left(struct run *run)
{
	const struct counter *counter = &run->watch.counter;

	if (!run->killed || run->ended || monotonic_ns() < run->dying)
		return;
	if (counter->proc >= 0 && !counter->only_it &&
	    !(checks_switched_off() & CHECK_BIT(CHECK_EACH)))
		ends_each(counter->proc);
	run->dying = monotonic_ns() + dying_ns;
}

static void check_limits(struct run *run)
{
	const struct attendant *attendant = run->attendant;
	uint64_t next = run->watch.next;
	struct near_limit near;
	enum run_limit passed;

	if (run->killed || run->frozen)
		return;
	run->watched.output = output_so_far(run->streams);
	run->watched.set_aside = attendant->set_aside ? attendant->set_aside(attendant->data) : 0;
	passed = watch_look(&run->watch, &run->watched);
	while (watch_take_near(&run->watch, &near))
		if (attendant->near)
			attendant->near(attendant->data, &near);
	if (passed != LIMIT_NONE)
		end_sandbox(run, passed);
	else if (run->watch.next != next && watch_asks_init(&run->watch))
		order(run, INIT_COUNT, 0); /* for the next look */
}

static void pass_on(struct run *run)
{
	struct pump *outputs[] = {run->streams->output[0], run->streams->output[1], run->screen};

	for (size_t i = 0; i < ELEMENTS(outputs); i++)
		for (int n = 0; n < PASSES && outputs[i] && pump_move(outputs[i]); n++)
			;
}

/* What was written to a terminal can be read from its other side only a moment later. */
static void pass_on_screen(struct run *run)
{
	struct pollfd more = {.fd = run->screen ? run->screen->from : -1, .events = POLLIN};

	for (int n = 0; n < PASSES && run->screen && poll(&more, 1, SETTLE_MS) > 0; n++)
		if (!pump_move(run->screen))
			return;
}

/* Whoever draws on a screen, or edits a line, draws anew when the window changes; that it changes
 * back at once makes no difference. */
static void draw_anew(struct run *run)
{
	_cleanup_buffer_ struct buffer text = {0};
	int master = run->entry->terminal;
	struct termios modes;
	struct winsize size;

	if (!run->screen || !run->keyboard || !terminal_is_ours(run->streams) ||
	    tcgetattr(master, &modes) < 0 ||
	    (!screen_is_owned(&run->drawn) && (modes.c_lflag & ICANON)))
		return;
	screen_again(&run->drawn, &text);
	(void)!write(run->streams->terminal, buffer_text(&text), text.length);
	if (ioctl(master, TIOCGWINSZ, &size) < 0)
		return;
	size.ws_row++;
	(void)ioctl(master, TIOCSWINSZ, &size);
	size.ws_row--;
	(void)ioctl(master, TIOCSWINSZ, &size);
}

/* Init would take a command that is stopped by us for one that was stopped at the keyboard. */
static bool init_holds(struct run *run)
{
	uint64_t until = monotonic_ns() + hold_ns;

	run->held = false;
	while (!run->held && run->entry->control >= 0 && monotonic_ns() < until) {
		struct pollfd said = {.fd = run->entry->control, .events = POLLIN};

		if (poll(&said, 1, HOLD_MS) > 0)
			(void)hear_init(run);
	}
	return run->held;
}

/* A program that owns the screen stands still: by a freezer, and where there is none by signals. */
void run_pause(struct run *run)
{
	bool signals;

	pass_on(run);
	pass_on_screen(run);
	signals = screen_is_owned(&run->drawn) &&
		  cgroup_freeze_soon(run->watch.group) == -ENOTSUP && stops_are_harmless();
	watch_pause(&run->watch);
	order(run, INIT_PAUSE, signals);
	if (signals && init_holds(run))
		stops_begin(&run->stops, run->entry->leader);
}

void run_resume(struct run *run)
{
	if (!run->frozen)
		(void)cgroup_thaw(run->watch.group);
	draw_anew(run);
	stops_end(&run->stops);
	order(run, INIT_RESUME, 0);
	watch_resume(&run->watch);
}

void run_look(struct run *run)
{
	sigset_t waiting;

	/* Signals are heard after the question; this one cannot wait. */
	if (run->attendant->look && sigpending(&waiting) == 0 &&
	    sigismember(&waiting, RUN_LOOK) > 0)
		run->attendant->look(run->attendant->data);
	check_limits(run);
}

/* How long the group may take until all of it stands still. One that waits for an answer of ours
 * does not run either, and comes to a stop behind it. */
static const uint64_t still_ns = 40000000;

/* What a freeze without a group would be worth, for the test program that shows it: who was started
 * is stopped, as a shell would. */
static void stop_first(const struct run *run)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	pid_t first;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", run->entry->init,
		 run->entry->init);
	if (read_file(AT_FDCWD, path, 1 << 16, &text, /* ret_length= */ NULL) < 0)
		return;
	first = (pid_t)strtol(text, NULL, 10);
	if (first > 1)
		(void)kill(first, SIGSTOP);
}

bool run_hold(struct run *run)
{
	if (run->frozen || run->killed || run->ended ||
	    checks_switched_off() & CHECK_BIT(CHECK_FREEZE))
		return true;
	if (cgroup_freeze_soon(run->watch.group) == 0)
		run->stays = true;
	return run->stays;
}

void run_let_go(struct run *run)
{
	if (run->stays && !run->frozen)
		(void)cgroup_thaw(run->watch.group);
	run->stays = false;
}

int run_freeze(struct run *run)
{
	int r;

	if (run->frozen || run->killed || run->ended)
		return run->frozen ? 0 : -ESRCH;
	order(run, INIT_PAUSE, 0);
	watch_pause(&run->watch);
	if (checks_switched_off() & CHECK_BIT(CHECK_FREEZE))
		stop_first(run);
	r = checks_switched_off() & CHECK_BIT(CHECK_FREEZE)
		    ? 0
		    : cgroup_freeze_within(run->watch.group, still_ns);
	if (r < 0 && r != -ETIMEDOUT)
		end_sandbox(run, LIMIT_NONE);
	else
		run->frozen = true;
	pass_on(run); /* all that it had printed by then */
	return r;
}

bool run_is_frozen(const struct run *run)
{
	return run->frozen;
}

bool run_is_over(const struct run *run)
{
	return run->killed || run->ended;
}

void run_thaw(struct run *run)
{
	if (!run->frozen)
		return;
	run->frozen = false;
	(void)cgroup_thaw(run->watch.group);
	order(run, INIT_RESUME, 0);
	watch_resume(&run->watch);
}

void run_end(struct run *run)
{
	end_sandbox(run, LIMIT_NONE);
}

static void serve_once(struct run *run)
{
	struct pump *pumps[5];
	enum { OWN = 6 };
	size_t pump_count = all_pumps(run, pumps), count = OWN;
	const bool attended = !run->gone && !run->frozen;
	struct pollfd fds[OWN + 2 * 5] = {
		{run->signals, POLLIN, 0},
		{run->entry->control, POLLIN, 0},
		{attended ? run->attendant->fd : -1, POLLIN, 0},
		{run->gone ? -1 : run->entry->pidfd, POLLIN, 0},
		{run->entry->runtime, POLLIN, 0},
		{attended && !run->left ? run->attendant->callers : -1, POLLIN, 0},
	};

	for (size_t i = 0; i < pump_count; i++) {
		fds[count++] =
			(struct pollfd){pump_wants_read(pumps[i]) ? pumps[i]->from : -1, POLLIN, 0};
		fds[count++] =
			(struct pollfd){pump_wants_write(pumps[i]) ? pumps[i]->to : -1, POLLOUT, 0};
	}
	if (poll(fds, count, patience(run)) < 0)
		return;
	if (!run->settled && monotonic_ns() - run->started > start_ns) {
		run->settled = true;
		entry_settle(run->entry);
	}
	if (fds[4].revents)
		entry_reap_runtime(run->entry);
	if (fds[5].revents & ~POLLIN)
		run->left = true;
	if (fds[2].revents)
		run->attendant->serve(run->attendant->data);
	for (size_t i = 0; i < pump_count; i++)
		if (fds[OWN + 2 * i].revents || fds[OWN + 1 + 2 * i].revents)
			pump_move(pumps[i]);
	if (run->ended) /* what is still in the pipes is all that will ever come */
		for (size_t i = 0; i < pump_count; i++)
			while (pumps[i] != run->keys && pumps[i] != run->streams->input &&
			       pump_move(pumps[i]))
				;
	if (fds[0].revents)
		hear_signals(run);
	if (run->frozen && run->attendant->look)
		run->attendant->look(run->attendant->data);
	if (fds[1].revents)
		hear_init(run);
	if (fds[3].revents) {
		run->gone = run->ended = true;
		while (run->entry->control >= 0 && hear_init(run))
			; /* its last words may stand behind others */
	}
	if (run->streams->input && run->streams->input->from < 0 &&
	    pump_finished(run->streams->input)) {
		pump_free(run->streams->input); /* closes the pipe: the command sees the end of its
						   input */
		run->streams->input = NULL;
	}
	check_limits(run);
	end_those_left(run);
}

static void start_terminal(struct run *run)
{
	struct streams *streams = run->streams;
	int master = run->entry->terminal;

	if (master < 0)
		return;
	run->screen = pump_new(fcntl(master, F_DUPFD_CLOEXEC, 3),
			       fcntl(streams->terminal, F_DUPFD_CLOEXEC, 3));
	run->screen->captures[0] = &streams->captured[0];
	run->screen->captures[1] = &streams->aggregated;
	run->screen->screen = &run->drawn;
	run->keys = pump_new(fcntl(streams->terminal, F_DUPFD_CLOEXEC, 3),
			     fcntl(master, F_DUPFD_CLOEXEC, 3));
	run->has_modes = terminal_is_ours(streams);
	if (streams->all_terminal && run->has_modes) {
		terminal_make_raw(streams);
		run->keyboard = true;
	}
}

/* Where init was killed with everything else, only its parent learns what it used; and of those
 * that init could not reap only what was seen. */
static void collect(struct run *run)
{
	struct outcome *outcome = run->outcome;
	const struct attendant *attendant = run->attendant;
	struct usage *used = &run->watch.used;
	struct rusage usage;
	enum run_limit why;

	if (attendant->set_aside)
		run->watched.set_aside = attendant->set_aside(attendant->data);
	used->cpu_ns = MAX(used->cpu_ns, (uint64_t)(outcome->cpu_ms * 1e6));
	used->written = MAX(used->written, outcome->io_write);
	why = watch_why(&run->watch, &run->watched, run->told ? outcome->status : 0);
	if (outcome->limit == LIMIT_NONE && !outcome->exec_error && !outcome->unmade)
		outcome->limit = why;
	if (run->told)
		return;
	outcome->status = SIGKILL;
	if (outcome->limit == LIMIT_NONE && run->watch.deadline &&
	    monotonic_ns() >= run->watch.deadline) {
		/* Init kept the time while we were stopped. */
		outcome->timed_out = true;
		outcome->limit = LIMIT_TIME;
	}
	outcome->duration_ms = (double)(monotonic_ns() - run->started) / 1e6;
	if (run->entry->runtime >= 0)
		entry_reap_runtime(run->entry);
	if (wait4(run->entry->init, NULL, 0, &usage) > 0) {
		run->entry->init = -1;
		outcome->cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
				  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
		outcome->max_rss_kb = (uint64_t)usage.ru_maxrss;
	}
	outcome->cpu_ms = MAX(outcome->cpu_ms, (double)used->cpu_ns / 1e6);
	outcome->io_write = MAX(outcome->io_write, used->written);
	outcome->max_rss_kb = MAX(outcome->max_rss_kb, used->peak_kb);
	outcome->tasks = MAX(outcome->tasks, used->started);
}

int run_serve(struct entry *entry, struct streams *streams, const struct limits *limits,
	      struct cgroup *group, const struct attendant *attendant, struct outcome *ret_outcome,
	      struct error **ret_error)
{
	struct run run = {
		.entry = entry, .streams = streams, .attendant = attendant, .outcome = ret_outcome};
	sigset_t set;

	*ret_outcome = (struct outcome){0};
	relay_signals(&set);
	run.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run.signals < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "reading signals");
	for (int i = 0; i < 3; i++)
		close_fd(&streams->close_after_start[i]);
	start_terminal(&run);
	run.started = monotonic_ns();
	watch_begin(&run.watch, entry, limits, group);
	if (attendant->begun)
		attendant->begun(attendant->data, &run);
	while (!output_finished(&run))
		serve_once(&run);
	place_leave(&entry->place);
	terminal_restore(streams);
	collect(&run);
	if (entry->input >= 0 && streams->input_file >= 0) {
		/* How far the command read is how far the caller's file has been read. */
		off_t offset = lseek(entry->input, 0, SEEK_CUR);

		if (offset >= 0)
			lseek(streams->input_file, offset, SEEK_SET);
	}
	watch_done(&run.watch);
	pump_free(run.screen);
	pump_free(run.keys);
	close(run.signals);
	return 0;
}

void outcome_to_result(const struct outcome *outcome, struct result *result)
{
	result->exit_code = WIFEXITED(outcome->status) ? WEXITSTATUS(outcome->status) : -1;
	result->signal = WIFSIGNALED(outcome->status) ? WTERMSIG(outcome->status) : 0;
	if (result->signal)
		result->exit_code = 128 + result->signal;
	result->timed_out = outcome->timed_out;
	result->limit = outcome->limit;
	result->duration_ms = outcome->duration_ms;
	result->cpu_ms = outcome->cpu_ms;
	result->max_rss_kb = outcome->max_rss_kb;
	result->io_read_kb = outcome->io_read / 1024;
	result->io_write_kb = outcome->io_write / 1024;
	result->processes = MAX(outcome->tasks, (uint64_t)1);
}
