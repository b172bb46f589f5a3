/* SPDX-License-Identifier: Apache-2.0 */
/* Traffic over loopback, for tests/bench/run: how fast bytes go, how long a connect takes.
 *
 * traffic serve                  prints its port and serves until its input ends
 * traffic send PORT MEGABYTES    prints the seconds that they took
 * traffic connect PORT COUNT     prints the microseconds of the middle and of the mean connect
 *
 * All go to 127.0.0.1, or where the variable TRAFFIC_AT says. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 256 * 1024, CLIENTS_MOST = 100000 };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct in_addr place(void)
{
	const char *text = getenv("TRAFFIC_AT");
	struct in_addr address = {htonl(INADDR_LOOPBACK)};

	if (text && inet_pton(AF_INET, text, &address) != 1)
		die("TRAFFIC_AT");
	return address;
}

static void drain(int fd)
{
	static char data[CHUNK];

	while (read(fd, data, sizeof(data)) > 0)
		;
	(void)!write(fd, "", 1);
	close(fd);
}

/* Connections that only come and go are served here, those that bring bytes by a child. */
static int serve(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr = place();
	if (bind(listener, (struct sockaddr *)&address, length) < 0 || listen(listener, 4096) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		die("serving");
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	for (int i = 0; i < CLIENTS_MOST; i++) {
		struct pollfd polled[] = {{.fd = 0, .events = POLLIN},
					  {.fd = listener, .events = POLLIN}};
		char first;
		int fd;

		if (poll(polled, 2, -1) < 0 || polled[0].revents)
			return 0;
		fd = accept(listener, NULL, NULL);
		if (fd >= 0 && read(fd, &first, 1) == 1 && fork() == 0) {
			drain(fd);
			_exit(0);
		}
		close(fd);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	return 1;
}

static int reach(const char *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr = place();
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("connect");
	return fd;
}

static int send_bytes(const char *port, long megabytes)
{
	static char data[CHUNK];
	int fd = reach(port);
	double begun = now();

	for (long left = megabytes * 4; left > 0; left--)
		for (size_t done = 0; done < sizeof(data);) {
			ssize_t sent = write(fd, data + done, sizeof(data) - done);

			if (sent < 0)
				die("write");
			done += (size_t)sent;
		}
	shutdown(fd, SHUT_WR);
	if (read(fd, data, 1) != 1)
		die("read");
	printf("%.6f\n", now() - begun);
	return 0;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int connect_often(const char *port, long count)
{
	/* A connection that is reset leaves no port behind that would have to be waited for. */
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
	double *times = calloc((size_t)count, sizeof(*times)), sum = 0;

	if (!times || count < 1)
		die("count");
	for (long i = 0; i < count; i++) {
		double begun = now();
		int fd = reach(port);

		times[i] = (now() - begun) * 1e6;
		sum += times[i];
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		close(fd);
	}
	qsort(times, (size_t)count, sizeof(*times), compare);
	printf("%.1f %.1f\n", times[count / 2], sum / (double)count);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "serve") == 0)
		return serve();
	if (argc == 4 && strcmp(argv[1], "send") == 0)
		return send_bytes(argv[2], atol(argv[3]));
	if (argc == 4 && strcmp(argv[1], "connect") == 0)
		return connect_often(argv[2], atol(argv[3]));
	fprintf(stderr, "usage: traffic serve | send PORT MEGABYTES | connect PORT COUNT\n");
	return 2;
}
