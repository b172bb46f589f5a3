/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks with a socket of the host's network: one that ward connected to an allowed target and
 * handed in. HOST and PORT are of an allowed server that says a, BACK is a port of the same host
 * where a number is read, a connection made back to that port and h said on it; FORBIDDEN is a port
 * of the same host that was not allowed and says h; LOCAL is such a port of the host's loopback.
 * HOLE is an allowed address where nobody answers. */
#include "attack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

static struct sockaddr_storage address_of(const char *host, const char *port, socklen_t *ret_length)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	struct sockaddr_storage address = {0};

	if (getaddrinfo(host, port, &hints, &found) != 0) {
		errno = ENOENT;
		cannot_try(host);
	}
	memcpy(&address, found->ai_addr, found->ai_addrlen);
	*ret_length = found->ai_addrlen;
	return address;
}

static bool hears(int fd, char expected, int milliseconds)
{
	struct pollfd event = {fd, POLLIN, 0};
	char letter = 0;

	return poll(&event, 1, milliseconds) == 1 && recv(fd, &letter, 1, MSG_DONTWAIT) == 1 &&
	       letter == expected;
}

static int try_connect(int fd, const char *host, const char *port)
{
	socklen_t length;
	struct sockaddr_storage address = address_of(host, port, &length);

	return connect(fd, (struct sockaddr *)&address, length);
}

static int fresh(const char *host)
{
	int fd = socket(strchr(host, ':') ? AF_INET6 : AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		cannot_try("a socket");
	return fd;
}

/* Connected to the allowed server. */
static int handed_in(const char *host, const char *port)
{
	int fd = fresh(host);

	if (try_connect(fd, host, port) < 0)
		cannot_try("connecting to what is allowed");
	return fd;
}

/* A connection that was allowed, is under way for ever and is then given up: the socket is free
 * again. */
static int freed(const char *hole)
{
	int fd = fresh(hole);

	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (try_connect(fd, hole, "80") == 0 || errno != EINPROGRESS ||
	    (shutdown(fd, SHUT_RDWR) < 0 && errno != ENOTCONN))
		cannot_try("a connection that is given up");
	fcntl(fd, F_SETFL, 0);
	return fd;
}

static int disconnect(int fd)
{
	struct sockaddr_storage none = {.ss_family = AF_UNSPEC};

	return connect(fd, (struct sockaddr *)&none, sizeof(none));
}

/* Whether somebody outside comes in by the socket. */
static bool is_reached(int listener, const char *host, const char *back)
{
	struct sockaddr_storage here;
	socklen_t length = sizeof(here);
	struct pollfd event = {listener, POLLIN, 0};
	char number[16];
	int other = handed_in(host, back);

	if (getsockname(listener, (struct sockaddr *)&here, &length) < 0)
		return false;
	snprintf(number, sizeof(number), "%u\n", ntohs(((struct sockaddr_in *)&here)->sin_port));
	send(other, number, strlen(number), MSG_NOSIGNAL);
	if (poll(&event, 1, 700) != 1)
		return false;
	return hears(accept(listener, NULL, NULL), 'h', 700);
}

static int listen_on(int fd, const char *host, const char *back, const char *what)
{
	if (listen(fd, 4) < 0)
		return verdict(false, what);
	errno = ECONNREFUSED;
	return verdict(is_reached(fd, host, back), what);
}

/* HOST PORT BACK */
static int attack_listen(char **arguments)
{
	int fd = handed_in(arguments[0], arguments[1]);

	disconnect(fd);
	return listen_on(fd, arguments[0], arguments[2], "listening on what was connected");
}

/* HOLE HOST BACK */
static int attack_listen_freed(char **arguments)
{
	return listen_on(freed(arguments[0]), arguments[1], arguments[2],
			 "listening on what was given up");
}

static int attack_listen_bound(char **arguments)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int fd = freed(arguments[0]);

	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0)
		return verdict(false, "binding what was given up");
	return listen_on(fd, arguments[1], arguments[2],
			 "listening on what was given up and bound");
}

/* One number, now a socket of the sandbox, now one of the host. */
static int number, inner, outer;

static void *swap(void *unused)
{
	(void)unused;
	for (;;) {
		dup2(inner, number);
		linger(3000);
		dup2(outer, number);
		linger(3000);
	}
	return NULL;
}

static bool is_listening(int fd)
{
	int listening = 0;
	socklen_t length = sizeof(listening);

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening;
}

/* HOLE HOST BACK */
static int attack_listen_swapped(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;

	outer = freed(arguments[0]);
	inner = fresh(arguments[1]);
	number = dup(inner);
	start_racer(swap, NULL);
	while (now_ms() < end && !is_listening(outer))
		listen(number, 4);
	if (!is_listening(outer)) {
		errno = ETIMEDOUT;
		return verdict(false, "listening by a number that changes");
	}
	return verdict(is_reached(outer, arguments[1], arguments[2]),
		       "listening by a number that changes");
}

/* HOLE HOST: a port of the host is taken from its services. */
static int attack_bind_swapped(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	struct sockaddr_in any = {.sin_family = AF_INET}, bound = {0};
	int on = 1;

	outer = freed(arguments[0]);
	inner = fresh(arguments[1]);
	number = dup(inner);
	start_racer(swap, NULL);
	/* Below the ports that the kernel chooses: a freed socket still tells the one it had. */
	for (uint16_t port = 20000; now_ms() < end; port = port < 30000 ? port + 1 : 20000) {
		socklen_t length = sizeof(bound);

		any.sin_port = htons(port);
		bind(number, (struct sockaddr *)&any, sizeof(any));
		if (getsockname(outer, (struct sockaddr *)&bound, &length) == 0 &&
		    bound.sin_port == any.sin_port)
			return verdict(true, "binding by a number that changes");
		/* The one of the sandbox can be bound but once. */
		close(inner);
		inner = fresh(arguments[1]);
		setsockopt(inner, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	}
	errno = ETIMEDOUT;
	return verdict(false, "binding by a number that changes");
}

/* HOLE HOST LOCAL: the sandbox's loopback may be connected to, so the host's perhaps as well. */
static int attack_connect_swapped(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;

	outer = freed(arguments[0]);
	inner = fresh(arguments[1]);
	number = dup(inner);
	start_racer(swap, NULL);
	while (now_ms() < end) {
		try_connect(number, "127.0.0.1", arguments[2]);
		if (hears(outer, 'h', 1))
			return verdict(true, "connecting by a number that changes");
	}
	errno = ETIMEDOUT;
	return verdict(false, "connecting by a number that changes");
}

static struct sockaddr_storage moving, allowed, forbidden;

static void *rewrite(void *unused)
{
	(void)unused;
	for (;;) {
		moving = allowed;
		linger(2000);
		moving = forbidden;
		linger(500);
	}
	return NULL;
}

/* HOST PORT FORBIDDEN */
static int attack_connect_rewritten(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	socklen_t length;

	close(handed_in(arguments[0], arguments[1]));
	allowed = address_of(arguments[0], arguments[1], &length);
	forbidden = address_of(arguments[0], arguments[2], &length);
	moving = allowed;
	start_racer(rewrite, NULL);
	while (now_ms() < end) {
		struct linger reset = {1, 0};
		int fd = fresh(arguments[0]);

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		if (connect(fd, (struct sockaddr *)&moving, length) == 0 && hears(fd, 'h', 20))
			return verdict(true, "connecting by an address that changes");
		close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "connecting by an address that changes");
}

/* HOST PORT FORBIDDEN */
static int attack_reconnect(char **arguments)
{
	int fd = handed_in(arguments[0], arguments[1]);

	if (disconnect(fd) < 0)
		return verdict(false, "disconnecting");
	return verdict(try_connect(fd, arguments[0], arguments[2]) == 0 && hears(fd, 'h', 500),
		       "connecting once more");
}

/* HOLE HOST FORBIDDEN */
static int attack_reconnect_freed(char **arguments)
{
	int fd = freed(arguments[0]);

	return verdict(try_connect(fd, arguments[1], arguments[2]) == 0 && hears(fd, 'h', 500),
		       "connecting once more what was given up");
}

/* HOLE HOST LOCAL: as the sandbox's own loopback, which is always allowed. */
static int attack_reconnect_local(char **arguments)
{
	int fd = freed(arguments[0]);

	return verdict(try_connect(fd, "127.0.0.1", arguments[2]) == 0 && hears(fd, 'h', 500),
		       "connecting what was given up to loopback");
}

/* HOST PORT LOCAL */
static int attack_reconnect_disconnected(char **arguments)
{
	int fd = handed_in(arguments[0], arguments[1]);

	disconnect(fd);
	return verdict(try_connect(fd, "127.0.0.1", arguments[2]) == 0 && hears(fd, 'h', 500),
		       "connecting to loopback after a connection");
}

/* HOLE HOST FORBIDDEN */
static int attack_fast_open(char **arguments)
{
	int fd = freed(arguments[0]);
	socklen_t length;
	struct sockaddr_storage address = address_of(arguments[1], arguments[2], &length);

	return verdict(sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&address, length) == 1 &&
			       hears(fd, 'h', 500),
		       "sendto with MSG_FASTOPEN");
}

/* HOST PORT FORBIDDEN: connect is put off until something is sent. */
static int attack_fast_open_option(char **arguments)
{
	int fd = fresh(arguments[0]), on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)) < 0)
		return verdict(false, "TCP_FASTOPEN_CONNECT");
	return verdict(try_connect(fd, arguments[0], arguments[2]) == 0 &&
			       send(fd, "x", 1, MSG_NOSIGNAL) == 1 && hears(fd, 'h', 500),
		       "connecting by TCP_FASTOPEN_CONNECT");
}

/* Passes an fd to a child, which does the rest with its own copy; returns how it ended. */
static int in_another(int fd, char **arguments, int (*act)(int fd, char **arguments))
{
	char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec data = {(void *)"x", 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = room,
				 .msg_controllen = sizeof(room)};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pair[2], status;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		cannot_try("a pair of sockets");
	child = fork();
	if (child == 0) {
		char byte;

		close(fd);
		data.iov_base = &byte;
		if (recvmsg(pair[1], &message, 0) != 1)
			cannot_try("receiving a socket");
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
		exit(act(fd, arguments));
	}
	*header = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	if (sendmsg(pair[0], &message, 0) != 1)
		cannot_try("passing a socket");
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : NOT_TRIED;
}

static int reconnect_passed(int fd, char **arguments)
{
	disconnect(fd);
	return verdict(try_connect(fd, arguments[0], arguments[2]) == 0 && hears(fd, 'h', 500),
		       "connecting what was passed on once more");
}

static int listen_passed(int fd, char **arguments)
{
	return listen_on(fd, arguments[1], arguments[2], "listening on what was passed on");
}

/* HOST PORT FORBIDDEN */
static int attack_passed(char **arguments)
{
	return in_another(handed_in(arguments[0], arguments[1]), arguments, reconnect_passed);
}

/* HOLE HOST BACK */
static int attack_passed_listen(char **arguments)
{
	return in_another(freed(arguments[0]), arguments, listen_passed);
}

/* HOST PORT NUMBER: of datagrams, the first port allowed, the second not. */
static int send_elsewhere(char **arguments, int how)
{
	socklen_t length;
	struct sockaddr_storage other = address_of(arguments[0], arguments[2], &length);
	struct iovec data = {(void *)"x", 1};
	struct mmsghdr message = {.msg_hdr = {.msg_name = &other,
					      .msg_namelen = length,
					      .msg_iov = &data,
					      .msg_iovlen = 1}};
	/* A port that was asked for is kept when it is disconnected. */
	struct sockaddr_in any = {.sin_family = AF_INET,
				  .sin_port = htons((uint16_t)(20000 + getpid() % 10000))};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ||
	    try_connect(fd, arguments[0], arguments[1]) < 0 || send(fd, "x", 1, 0) != 1 ||
	    !hears(fd, 'a', 2000))
		cannot_try("datagrams to what is allowed");
	if (how == 3 && disconnect(fd) < 0)
		return verdict(false, "disconnecting");
	if (how == 0 && sendto(fd, "x", 1, 0, (struct sockaddr *)&other, length) != 1)
		return verdict(false, "sendto");
	if (how == 1 && sendmsg(fd, &message.msg_hdr, 0) != 1)
		return verdict(false, "sendmsg");
	if (how == 2 && sendmmsg(fd, &message, 1, 0) != 1)
		return verdict(false, "sendmmsg");
	if (how == 3 &&
	    (try_connect(fd, arguments[0], arguments[2]) < 0 || send(fd, "x", 1, 0) != 1))
		return verdict(false, "connecting once more");
	/* Connected, it hears nobody else; the answer takes a while. */
	if (how < 3)
		disconnect(fd);
	errno = ETIMEDOUT;
	return verdict(hears(fd, 'h', 500), "a datagram to another port");
}

static int attack_datagram_sendto(char **arguments)
{
	return send_elsewhere(arguments, 0);
}

static int attack_datagram_message(char **arguments)
{
	return send_elsewhere(arguments, 1);
}

static int attack_datagram_messages(char **arguments)
{
	return send_elsewhere(arguments, 2);
}

static int attack_datagram_reconnect(char **arguments)
{
	return send_elsewhere(arguments, 3);
}

/* HOST PORT NAME: an interface of the host. */
static int attack_device(char **arguments)
{
	int fd = handed_in(arguments[0], arguments[1]);

	return verdict(syscall(SYS_setsockopt, fd, 0xa5ul << 32 | SOL_SOCKET,
			       0xa5ul << 32 | SO_BINDTODEVICE, arguments[2],
			       strlen(arguments[2])) == 0,
		       "binding to a device");
}

/* HOST PORT VIA TEXT: of IPv6. Segments go to VIA, with the text. */
static int attack_source_route(char **arguments)
{
	struct {
		unsigned char next, length, type, left, last, flags, tag[2];
		struct in6_addr segments[2];
	} route = {.length = 4, .type = 4, .left = 1, .last = 1};
	int fd = handed_in(arguments[0], arguments[1]);

	inet_pton(AF_INET6, arguments[2], &route.segments[1]);
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RTHDR, &route, sizeof(route)) < 0)
		return verdict(false, "a routing header");
	return verdict(send(fd, arguments[3], strlen(arguments[3]), MSG_NOSIGNAL) > 0,
		       "sending by another way");
}

/* HOST PORT: the address of the group is sent out. */
static int attack_group(char **arguments)
{
	struct group_req group = {0};
	struct sockaddr_in *address = (struct sockaddr_in *)&group.gr_group;
	int fd = handed_in(arguments[0], arguments[1]);

	address->sin_family = AF_INET;
	address->sin_addr.s_addr = inet_addr("239.83.101.99");
	/* The first besides loopback. */
	for (uint32_t face = 2; face < 10; face++) {
		group.gr_interface = face;
		if (setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &group, sizeof(group)) == 0)
			return verdict(true, "joining a group");
	}
	return verdict(false, "joining a group");
}

static int attack_group_source(char **arguments)
{
	struct ip_mreq_source group = {.imr_multiaddr.s_addr = inet_addr("232.83.101.99"),
				       .imr_sourceaddr.s_addr = inet_addr("203.0.113.77")};
	int fd = handed_in(arguments[0], arguments[1]);
	struct sockaddr_in here = {0};
	socklen_t length = sizeof(here);

	getsockname(fd, (struct sockaddr *)&here, &length);
	group.imr_interface = here.sin_addr;
	return verdict(
		setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &group, sizeof(group)) == 0,
		"joining a group with a source");
}

/* HOST PORT NAME: an interface of the host. */
static int attack_interfaces(char **arguments)
{
	struct ifreq requests[32];
	struct ifconf list = {.ifc_len = sizeof(requests), .ifc_req = requests};
	int fd = handed_in(arguments[0], arguments[1]);

	if (ioctl(fd, SIOCGIFCONF, &list) < 0)
		return verdict(false, "listing interfaces");
	for (size_t i = 0; i < (size_t)list.ifc_len / sizeof(*requests); i++)
		if (strcmp(requests[i].ifr_name, arguments[2]) == 0)
			return verdict(true, "listing interfaces");
	errno = ENODEV;
	return verdict(false, "listing interfaces");
}

static int attack_interface(char **arguments)
{
	struct ifreq request = {0};
	int fd = handed_in(arguments[0], arguments[1]);

	strncpy(request.ifr_name, arguments[2], IFNAMSIZ - 1);
	return verdict(syscall(SYS_ioctl, fd, 0xa5ul << 32 | SIOCGIFHWADDR, &request) == 0,
		       "asking an interface");
}

/* One number, now a socket of the sandbox, now one of the host, while it is asked. */
static int attack_interface_swapped(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;

	outer = handed_in(arguments[0], arguments[1]);
	inner = fresh(arguments[0]);
	number = dup(inner);
	start_racer(swap, NULL);
	while (now_ms() < end) {
		struct ifreq request = {0};

		strncpy(request.ifr_name, arguments[2], IFNAMSIZ - 1);
		if (ioctl(number, SIOCGIFHWADDR, &request) == 0)
			return verdict(true, "asking an interface by a number that changes");
	}
	errno = ETIMEDOUT;
	return verdict(false, "asking an interface by a number that changes");
}

static uint64_t network_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);

	getsockopt(fd, SOL_SOCKET, 71 /* SO_NETNS_COOKIE */, &cookie, &length);
	return cookie;
}

/* As soon as the socket is the host's it is filled and closed, so that the last to close it is
 * somebody else, who then waits until all was sent. */
static volatile bool fills;

static void *fill_and_close(void *data)
{
	static char much[65536];
	int fd = *(int *)data;
	uint64_t before = network_of(fd);

	fills = true; /* one that came too late would close a number of the next */
	while (network_of(fd) == before)
		;
	while (send(fd, much, sizeof(much), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	close(fd);
	return NULL;
}

/* HOST STALLED: a server that never reads. Holds the supervisor up for as long as it likes. */
static int attack_supervisor_waits(char **arguments)
{
	static const struct linger long_time = {1, 8};

	for (int i = 0; i < 20; i++) {
		static int fd;
		int poll = epoll_create1(0), small = 4096;
		struct epoll_event event = {.events = EPOLLIN};
		uint64_t begun;

		fd = fresh(arguments[0]);

		setsockopt(fd, SOL_SOCKET, SO_LINGER, &long_time, sizeof(long_time));
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
		fills = false;
		start_racer(fill_and_close, &fd);
		while (!fills)
			;
		begun = now_ms();
		if (try_connect(fd, arguments[0], arguments[1]) < 0)
			cannot_try("connecting to what is allowed");
		listen(-1, 0); /* any call that the supervisor answers */
		if (now_ms() - begun > 3000)
			return verdict(true, "making the supervisor wait");
		close(poll);
	}
	errno = ETIMEDOUT;
	return verdict(false, "making the supervisor wait");
}

static int shared_fd;

static int connect_shared(void *data)
{
	char **arguments = data;

	try_connect(shared_fd, arguments[0], "80");
	return 0;
}

/* HOLE HOST PORT: processes with one table of fds are killed while they connect, and a file takes
 * the number. */
static int attack_killed(char **arguments)
{
	static char stack[65536] __attribute__((aligned(16)));

	for (int i = 0; i < 30; i++) {
		struct stat st;
		int file = open("/dev/null", O_RDWR);
		pid_t child;

		shared_fd = fresh(arguments[0]);
		child = clone(connect_shared, stack + sizeof(stack), CLONE_FILES | SIGCHLD,
			      arguments);
		usleep((useconds_t)(i % 10) * 1000);
		dup2(file, shared_fd);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		dup2(file, shared_fd);
		close(handed_in(arguments[1], arguments[2]));
		if (fstat(shared_fd, &st) < 0 || !S_ISCHR(st.st_mode))
			return verdict(true, "a socket in the place of a file");
		close(shared_fd);
		close(file);
	}
	errno = ENOENT;
	return verdict(false, "a socket in the place of a file");
}

/* NUMBER: an fd that ward was started with. */
static int attack_inherited(char **arguments)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);

	return verdict(getpeername(atoi(arguments[0]), (struct sockaddr *)&peer, &length) == 0,
		       "a socket from before");
}

/* HOST PORT: any target, in whatever way it is written. Datagrams too. */
static int attack_reach(char **arguments)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	int r = getaddrinfo(arguments[0], arguments[1], &hints, &found), fd = -1;

	for (struct addrinfo *at = found; r == 0 && at; at = at->ai_next) {
		fd = socket(at->ai_family, SOCK_STREAM, 0);
		if (connect(fd, at->ai_addr, at->ai_addrlen) == 0 && hears(fd, 'h', 700))
			return verdict(true, arguments[0]);
	}
	if (r != 0)
		errno = ENOENT;
	return verdict(false, arguments[0]);
}

/* HOST PORT TIMES: a name whose answers change. */
static int attack_reach_again(char **arguments)
{
	for (int i = 0; i < atoi(arguments[2]); i++) {
		int r = attack_reach(arguments);

		if (r == SUCCEEDED)
			return r;
		usleep(50000);
	}
	return REFUSED;
}

static const struct attack attacks[] = {
	{"listen", 3, attack_listen},
	{"listen-freed", 3, attack_listen_freed},
	{"listen-bound", 3, attack_listen_bound},
	{"listen-swapped", 3, attack_listen_swapped},
	{"bind-swapped", 2, attack_bind_swapped},
	{"connect-swapped", 3, attack_connect_swapped},
	{"connect-rewritten", 3, attack_connect_rewritten},
	{"reconnect", 3, attack_reconnect},
	{"reconnect-freed", 3, attack_reconnect_freed},
	{"reconnect-local", 3, attack_reconnect_local},
	{"reconnect-disconnected", 3, attack_reconnect_disconnected},
	{"fast-open", 3, attack_fast_open},
	{"fast-open-option", 3, attack_fast_open_option},
	{"passed", 3, attack_passed},
	{"passed-listen", 3, attack_passed_listen},
	{"datagram-sendto", 3, attack_datagram_sendto},
	{"datagram-message", 3, attack_datagram_message},
	{"datagram-messages", 3, attack_datagram_messages},
	{"datagram-reconnect", 3, attack_datagram_reconnect},
	{"device", 3, attack_device},
	{"source-route", 4, attack_source_route},
	{"group", 2, attack_group},
	{"group-source", 2, attack_group_source},
	{"interfaces", 3, attack_interfaces},
	{"interface", 3, attack_interface},
	{"interface-swapped", 3, attack_interface_swapped},
	{"supervisor-waits", 2, attack_supervisor_waits},
	{"killed", 3, attack_killed},
	{"inherited", 1, attack_inherited},
	{"reach", 2, attack_reach},
	{"reach-again", 3, attack_reach_again},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
