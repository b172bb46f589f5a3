/* SPDX-License-Identifier: Apache-2.0 */
/* Everything at once: processes whose threads share a few numbers and do to the sockets under them
 * whatever can be done to sockets, until they are killed in the middle of it. Whether something was
 * reached that was not allowed, those know who listen there.
 *
 * storm SECONDS HOST HOLE NAME PORT...: HOST at the ports and HOLE are allowed in part. */
#include "attack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { FIRST = 10, NUMBERS = 24, PROCESSES = 6, THREADS = 4, LIFE_US = 300000 };

static char **hosts, **ports;
static int port_count;
static struct sockaddr_storage shared; /* rewritten by all */

static int any(unsigned *seed, int most)
{
	return rand_r(seed) % most;
}

static socklen_t any_address(unsigned *seed, struct sockaddr_storage *ret)
{
	const char *const places[] = {hosts[0],	   hosts[0],	 hosts[1],
				      "127.0.0.1", "0.0.0.0",	 "203.0.113.20",
				      "10.1.2.3",  "198.18.0.1", "169.254.169.254"};
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;
	uint16_t port = htons((uint16_t)atoi(ports[any(seed, port_count)]));
	int kind = any(seed, 12);

	memset(ret, 0, sizeof(*ret));
	if (kind == 0)
		return sizeof(*v4); /* AF_UNSPEC */
	if (kind < 3) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = port;
		inet_pton(AF_INET6, kind == 1 ? "::1" : "::ffff:203.0.113.20", &v6->sin6_addr);
		return any(seed, 4) ? sizeof(*v6) : (socklen_t)any(seed, sizeof(*ret));
	}
	v4->sin_family = AF_INET;
	v4->sin_port = port;
	inet_pton(AF_INET, places[any(seed, ELEMENTS(places))], &v4->sin_addr);
	return sizeof(*v4);
}

/* Puts a new file under a number. */
static void place(int new, int number)
{
	if (new < 0)
		return;
	dup2(new, number);
	if (new < FIRST || new >= FIRST + NUMBERS)
		close(new);
}

static void connect_by_name(unsigned *seed, int fd)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char name[64];

	snprintf(name, sizeof(name), "n%d.example", any(seed, 50));
	if (getaddrinfo(any(seed, 2) ? hosts[2] : name, ports[0], &hints, &found) != 0)
		return;
	connect(fd, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
}

enum { PATHS = 1000 };

static void name_path(struct sockaddr_un *path, int number)
{
	snprintf(path->sun_path, sizeof(path->sun_path), "/tmp/s%d", number);
}

/* Where /tmp is the machine's they would stay. */
static void remove_paths(void)
{
	struct sockaddr_un path;

	for (int i = 0; i < PATHS; i++) {
		name_path(&path, i);
		unlink(path.sun_path);
	}
}

static void try_unix(unsigned *seed, int number)
{
	struct sockaddr_un path = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	name_path(&path, any(seed, PATHS));
	if (any(seed, 2) == 0)
		connect(fd, (struct sockaddr *)&path, sizeof(path));
	else if (bind(fd, (struct sockaddr *)&path, sizeof(path)) == 0)
		listen(fd, 1);
	place(fd, number);
}

static void set_option(unsigned *seed, int fd)
{
	struct linger linger = {1, any(seed, 3)};
	struct timeval patience = {0, any(seed, 50) * 1000};

	if (any(seed, 2))
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	else
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

static void act(unsigned *seed)
{
	int fd = FIRST + any(seed, NUMBERS), other = FIRST + any(seed, NUMBERS);
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT, .data.fd = other};
	struct ifreq request = {.ifr_name = "lo"};
	struct sockaddr_storage address;
	socklen_t length = any_address(seed, &address);
	char data[4096] = {0};

	switch (any(seed, 24)) {
	case 0:
	case 1:
		place(socket(any(seed, 3) ? AF_INET : AF_INET6,
			     (any(seed, 5) ? SOCK_STREAM : SOCK_DGRAM) |
				     (any(seed, 3) ? SOCK_NONBLOCK : 0),
			     0),
		      fd);
		break;
	case 2:
		shared = address;
		break;
	case 3:
		connect(fd, (struct sockaddr *)&shared, sizeof(struct sockaddr_in));
		break;
	case 4:
	case 5:
		dup2(fd, other);
		break;
	case 6:
		place(epoll_create1(0), fd);
		break;
	case 7:
	case 8:
		epoll_ctl(fd, EPOLL_CTL_ADD, other, &event);
		break;
	case 9:
		listen(fd, any(seed, 5));
		break;
	case 10:
		bind(fd, (struct sockaddr *)&address, length);
		break;
	case 11:
		shutdown(fd, any(seed, 3));
		break;
	case 12:
		sendto(fd, data, 1, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&address,
		       length);
		break;
	case 13:
		set_option(seed, fd);
		break;
	case 14:
		ioctl(fd, SIOCGIFFLAGS, &request);
		break;
	case 15:
		send(fd, data, sizeof(data), MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 16:
		place(accept4(fd, NULL, NULL, SOCK_NONBLOCK), other);
		break;
	case 17:
		connect_by_name(seed, fd);
		break;
	case 18:
		fcntl(fd, F_SETFL, any(seed, 2) ? O_NONBLOCK : 0);
		break;
	case 19:
		try_unix(seed, fd);
		break;
	default:
		connect(fd, (struct sockaddr *)&address, length);
	}
}

static void *rage(void *data)
{
	unsigned seed = (unsigned)(uintptr_t)data * 2654435761u ^ (unsigned)getpid();

	for (;;)
		act(&seed);
	return NULL;
}

static void keep_raging(uintptr_t which, uint64_t end)
{
	while (now_ms() < end) {
		pid_t child = fork();

		if (child == 0) {
			for (uintptr_t i = 1; i < THREADS; i++)
				start_racer(rage, (void *)(which * THREADS + i));
			rage((void *)(which * THREADS));
		}
		usleep(LIFE_US);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	uint64_t end;

	if (argc < 6)
		return NOT_TRIED;
	end = now_ms() + (uint64_t)atoi(argv[1]) * 1000;
	hosts = argv + 2;
	ports = argv + 5;
	port_count = argc - 5;
	for (uintptr_t i = 1; i <= PROCESSES; i++)
		if (fork() == 0) {
			keep_raging(i, end);
			exit(0);
		}
	while (wait(NULL) > 0)
		;
	remove_paths();
	printf("over\n");
	return 0;
}
