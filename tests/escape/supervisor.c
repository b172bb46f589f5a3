/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks on the supervisor's time: each tries to make it wait for ever, or to outlive it. Whether
 * one succeeded is seen from outside; they end only if they could not be tried. */
#include "attack.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static _Noreturn void wait_for_ever(void)
{
	for (;;)
		pause();
}

static struct sockaddr_un own_listener(int backlog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "own-socket"};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	unlink("own-socket");
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, backlog) < 0)
		cannot_try("a listener of our own");
	return address;
}

/* A listener that nobody accepts from, with no room for another connection. */
static struct sockaddr_un full_listener(void)
{
	struct sockaddr_un address = own_listener(0);
	int fd;

	do
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return address;
}

static int attack_fifo(char **arguments)
{
	(void)arguments;
	mkfifo("fifo", 0600);
	for (int i = 0; i < 20; i++) {
		if (fork() == 0) {
			if (i % 2)
				truncate("fifo", 0);
			open("fifo", i % 4 ? O_WRONLY : O_WRONLY | O_CREAT, 0600);
			wait_for_ever();
		}
	}
	wait_for_ever();
}

/* Long paths, chains of links, links to themselves. */
static int attack_long_paths(char **arguments)
{
	static char path[1 << 20];

	(void)arguments;
	memset(path, 'a', sizeof(path) - 1);
	for (size_t i = 0; i < sizeof(path) - 1; i += 2)
		path[i] = '/';
	for (size_t length = 200; length < sizeof(path); length = length * 5 / 4) {
		char was = path[length];

		path[length] = '\0';
		open(path, O_WRONLY | O_CREAT, 0600);
		mkdir(path, 0700);
		rename(path, "x");
		path[length] = was;
	}
	symlink("loop", "loop");
	open("loop", O_WRONLY | O_CREAT, 0600);
	for (int i = 0; i < 60; i++) {
		char from[16], to[16];

		snprintf(from, sizeof(from), "link%d", i);
		snprintf(to, sizeof(to), "link%d", i + 1);
		symlink(to, from);
	}
	open("link0", O_WRONLY | O_CREAT, 0600);
	wait_for_ever();
}

static char *page;

static void *hide_page(void *unused)
{
	(void)unused;
	for (;;) {
		mprotect(page, 4096, PROT_NONE);
		mprotect(page, 4096, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static int attack_unreadable(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;

	(void)arguments;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	strcpy(page + 4000, "/etc/ward-attack");
	start_racer(hide_page, NULL);
	while (now_ms() < end) {
		open(page + 4000, O_WRONLY | O_CREAT, 0600);
		syscall(SYS_connect, 0, page, 4097);
		syscall(SYS_rename, page + 4000, 8);
		open((char *)(uintptr_t)-4096, O_WRONLY);
	}
	wait_for_ever();
}

static void *keep_opening(void *unused)
{
	(void)unused;
	for (;;)
		open("/etc/ward-attack", O_WRONLY | O_CREAT, 0600);
	return NULL;
}

static int attack_many_threads(char **arguments)
{
	pthread_attr_t small;
	pthread_t thread;

	(void)arguments;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	for (int i = 0; i < 2000; i++)
		pthread_create(&thread, &small, keep_opening, NULL);
	wait_for_ever();
}

/* Every refusal another object, every object a long name. */
static int attack_many_objects(char **arguments)
{
	char path[300];
	uint64_t end = now_ms() + RACE_MS;

	(void)arguments;
	for (int i = 0; now_ms() < end; i++) {
		snprintf(path, sizeof(path), "/etc/%0200d", i);
		open(path, O_WRONLY | O_CREAT, 0600);
	}
	wait_for_ever();
}

static int attack_full_queue(char **arguments)
{
	struct sockaddr_un address = full_listener();

	(void)arguments;
	for (int i = 0; i < 100; i++) {
		if (fork() == 0) {
			connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address,
				sizeof(address));
			wait_for_ever();
		}
	}
	wait_for_ever();
}

static int shared_socket;

static void *toggle_blocking(void *unused)
{
	(void)unused;
	for (;;) {
		fcntl(shared_socket, F_SETFL, O_NONBLOCK);
		linger(3000);
		fcntl(shared_socket, F_SETFL, 0);
	}
	return NULL;
}

/* Whether a connect waits is a flag that everyone shares who holds the socket. */
static int attack_blocking_flag(char **arguments)
{
	struct sockaddr_un address = full_listener();
	uint64_t end = now_ms() + 2 * RACE_MS;

	(void)arguments;
	shared_socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	start_racer(toggle_blocking, NULL);
	while (now_ms() < end) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				connect(shared_socket, (struct sockaddr *)&address,
					sizeof(address));
		usleep(4000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	wait_for_ever();
}

static volatile bool close_now;
static volatile int close_delay;

static void *close_meanwhile(void *unused)
{
	(void)unused;
	while (!close_now)
		;
	linger(close_delay);
	close(shared_socket);
	wait_for_ever();
}

/* Whoever closes a socket last waits for its peer, if the socket says so. */
static int attack_lingering_close(char **arguments)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct linger for_long = {1, 3600};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), little = 1024;
	static char data[65536];

	(void)arguments;
	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 1000) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		cannot_try("a listener of our own");
	for (int try = 0; try < 200; try++) {
		if (fork() > 0) {
			usleep(5000);
			continue;
		}
		shared_socket = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(shared_socket, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
		connect(shared_socket, (struct sockaddr *)&address, sizeof(address));
		for (int i = 0; i < 20; i++) {
			while (send(shared_socket, data, sizeof(data), MSG_DONTWAIT) > 0)
				;
			usleep(3000);
		}
		setsockopt(shared_socket, SOL_SOCKET, SO_LINGER, &for_long, sizeof(for_long));
		close_delay = try % 100 * 300;
		start_racer(close_meanwhile, NULL);
		usleep(1000);
		close_now = true;
		connect(shared_socket, (struct sockaddr *)&address, sizeof(address));
		wait_for_ever();
	}
	wait_for_ever();
}

/* A connect whose caller dies while it is being made, many times. */
static int attack_dying_callers(char **arguments)
{
	struct sockaddr_un address = full_listener();
	uint64_t end = now_ms() + RACE_MS;

	(void)arguments;
	while (now_ms() < end) {
		pid_t pid = fork();

		if (pid == 0) {
			connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address,
				sizeof(address));
			_exit(0);
		}
		usleep(1000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	wait_for_ever();
}

/* A command that is stopped must not stop the clock. */
static int attack_stop(char **arguments)
{
	(void)arguments;
	if (fork() == 0)
		wait_for_ever();
	raise(SIGSTOP);
	wait_for_ever();
}

/* Init becomes our tracer, and each signal a stop. */
static int attack_traced_by_init(char **arguments)
{
	(void)arguments;
	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGWINCH); /* which does nothing by itself */
	wait_for_ever();
}

/* Init must run to end the others, so it is made to run last. The loops end by themselves some time
 * after they should have been ended. */
static int attack_starve_init(char **arguments)
{
	struct sched_param none = {0};
	uint64_t end = now_ms() + 8000;
	cpu_set_t one;

	(void)arguments;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setscheduler(getppid(), SCHED_IDLE, &none);
	sched_setaffinity(getppid(), sizeof(one), &one);
	setpriority(PRIO_PROCESS, (id_t)getppid(), 19);
	for (int i = 0; i < 100; i++) {
		if (fork() == 0) {
			sched_setaffinity(0, sizeof(one), &one);
			while (now_ms() < end)
				;
			_exit(0);
		}
	}
	wait_for_ever();
}

/* Init has much to hear of, and so has the supervisor. */
static int attack_many_stops(char **arguments)
{
	pid_t command = getpid();

	(void)arguments;
	if (fork() == 0) {
		for (;;) {
			kill(command, SIGSTOP);
			kill(command, SIGCONT);
		}
	}
	wait_for_ever();
}

static int attack_many_children(char **arguments)
{
	(void)arguments;
	for (int i = 0; i < 20; i++)
		if (fork() == 0)
			for (;;)
				if (fork() == 0)
					_exit(0);
	wait_for_ever();
}

static int attack_ignore_everything(char **arguments)
{
	(void)arguments;
	for (int signal_number = 1; signal_number <= SIGRTMAX; signal_number++)
		signal(signal_number, SIG_IGN);
	wait_for_ever();
}

/* Arguments: a file that is touched as long as we live. */
static int attack_outlive(char **arguments)
{
	if (fork() == 0) {
		setsid();
		if (fork() > 0)
			_exit(0);
		for (int signal_number = 1; signal_number <= SIGRTMAX; signal_number++)
			signal(signal_number, SIG_IGN);
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		for (;;) {
			int fd = open(arguments[0], O_CREAT | O_WRONLY | O_APPEND, 0666);

			if (write(fd, ".", 1) != 1)
				_exit(1);
			close(fd);
			usleep(10000);
		}
	}
	usleep(100000);
	return SUCCEEDED;
}

/* The same while the command goes on. */
static int attack_live(char **arguments)
{
	attack_outlive(arguments);
	wait_for_ever();
}

static const struct attack attacks[] = {
	{"fifo", 0, attack_fifo},
	{"long-paths", 0, attack_long_paths},
	{"unreadable", 0, attack_unreadable},
	{"many-threads", 0, attack_many_threads},
	{"many-objects", 0, attack_many_objects},
	{"full-queue", 0, attack_full_queue},
	{"blocking-flag", 0, attack_blocking_flag},
	{"lingering-close", 0, attack_lingering_close},
	{"dying-callers", 0, attack_dying_callers},
	{"stop", 0, attack_stop},
	{"traced-by-init", 0, attack_traced_by_init},
	{"starve-init", 0, attack_starve_init},
	{"many-stops", 0, attack_many_stops},
	{"many-children", 0, attack_many_children},
	{"ignore-everything", 0, attack_ignore_everything},
	{"outlive", 1, attack_outlive},
	{"live", 1, attack_live},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
