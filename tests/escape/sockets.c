/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that reach a unix socket of the host, by path or by abstract name. */
#include "attack.h"

#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static struct sockaddr_un address_of(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		cannot_try(path);
	}
	strcpy(address.sun_path, path);
	return address;
}

static int new_socket(int type)
{
	int fd = socket(AF_UNIX, type, 0);

	if (fd < 0)
		cannot_try("making a unix socket");
	return fd;
}

/* The host's server sends a letter to whoever connects. */
static bool hears_host(int fd)
{
	struct pollfd event = {fd, POLLIN, 0};
	char letter = 0;

	return poll(&event, 1, 300) == 1 && recv(fd, &letter, 1, MSG_DONTWAIT) == 1 &&
	       letter == 'h';
}

static int connect_by(int type, const char *path)
{
	struct sockaddr_un address = address_of(path);
	int fd = new_socket(type);

	return verdict(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			       hears_host(fd),
		       "connecting");
}

static int attack_stream(char **arguments)
{
	return connect_by(SOCK_STREAM, arguments[0]);
}

static int attack_seqpacket(char **arguments)
{
	return connect_by(SOCK_SEQPACKET, arguments[0]);
}

static int attack_through_link(char **arguments)
{
	unlink("socket-link");
	if (symlink(arguments[0], "socket-link") < 0)
		cannot_try("making a link in the workspace");
	return connect_by(SOCK_STREAM, "socket-link");
}

static int attack_through_fd(char **arguments)
{
	char path[64];
	int fd = open(arguments[0], O_PATH);

	if (fd < 0)
		return verdict(false, "an O_PATH fd of it");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return connect_by(SOCK_STREAM, path);
}

static int attack_through_root(char **arguments)
{
	char path[256];

	snprintf(path, sizeof(path), "/proc/self/root%s", arguments[0]);
	return connect_by(SOCK_STREAM, path);
}

static int attack_abstract(char **arguments)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = strlen(arguments[0]);
	int fd = new_socket(SOCK_STREAM);

	memcpy(address.sun_path + 1, arguments[0], length);
	return verdict(connect(fd, (struct sockaddr *)&address,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length)) ==
				       0 &&
			       hears_host(fd),
		       "connecting to an abstract socket");
}

/* A listener of our own, to which a connect is allowed. */
static struct sockaddr_un own_listener(int backlog)
{
	struct sockaddr_un address = address_of("own-socket");
	int fd = new_socket(SOCK_STREAM);

	unlink("own-socket");
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, backlog) < 0)
		cannot_try("a listener of our own");
	return address;
}

static struct sockaddr_un moving, first, second;

static void *rewrite_address(void *unused)
{
	(void)unused;
	for (;;) {
		memcpy(&moving, &first, sizeof(moving));
		linger(2000);
		memcpy(&moving, &second, sizeof(moving));
		linger(500);
	}
	return NULL;
}

/* Ours when it is looked at, the host's when it is used. */
static int attack_rewritten_address(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;

	first = moving = own_listener(4096);
	second = address_of(arguments[0]);
	start_racer(rewrite_address, NULL);
	while (now_ms() < end) {
		int fd = new_socket(SOCK_STREAM | SOCK_NONBLOCK);
		struct sockaddr_un peer = {0};
		socklen_t length = sizeof(peer);

		if (connect(fd, (struct sockaddr *)&moving, sizeof(moving)) == 0 &&
		    getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
		    strcmp(peer.sun_path, arguments[0]) == 0)
			return verdict(true, "connecting by a rewritten address");
		close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "connecting by a rewritten address");
}

/* The same with a link that is exchanged. */
static void *exchange_links(void *unused)
{
	(void)unused;
	for (;;)
		renameat2(AT_FDCWD, "one-link", AT_FDCWD, "two-link", RENAME_EXCHANGE);
	return NULL;
}

static int attack_swapped_link(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	struct sockaddr_un address = address_of("one-link");

	own_listener(4096);
	unlink("one-link");
	unlink("two-link");
	if (symlink("own-socket", "one-link") < 0 || symlink(arguments[0], "two-link") < 0)
		cannot_try("making links in the workspace");
	start_racer(exchange_links, NULL);
	while (now_ms() < end) {
		int fd = new_socket(SOCK_STREAM | SOCK_NONBLOCK);
		struct sockaddr_un peer = {0};
		socklen_t length = sizeof(peer);

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
		    strcmp(peer.sun_path, arguments[0]) == 0)
			return verdict(true, "connecting by an exchanged link");
		close(fd);
	}
	errno = ETIMEDOUT;
	return verdict(false, "connecting by an exchanged link");
}

static int moving_fd, tcp_fd, unix_fd;

static void *exchange_fds(void *unused)
{
	(void)unused;
	for (;;) {
		dup2(tcp_fd, moving_fd);
		linger(2000);
		dup2(unix_fd, moving_fd);
		linger(500);
	}
	return NULL;
}

/* A connect that looks like one to loopback, with another socket under the number when it is made.
 */
static int attack_swapped_fd(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;

	memset(&first, 0, sizeof(first));
	first.sun_family = AF_INET; /* port 0 of 0.0.0.0 */
	second = address_of(arguments[0]);
	moving_fd = 100;
	tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	unix_fd = new_socket(SOCK_STREAM | SOCK_NONBLOCK);
	start_racer(exchange_fds, NULL);
	start_racer(rewrite_address, NULL);
	while (now_ms() < end) {
		struct sockaddr_un peer;
		socklen_t length = sizeof(peer);

		connect(moving_fd, (struct sockaddr *)&moving, sizeof(moving));
		if (getpeername(unix_fd, (struct sockaddr *)&peer, &length) == 0)
			return verdict(true, "connecting with an exchanged descriptor");
	}
	errno = ETIMEDOUT;
	return verdict(false, "connecting with an exchanged descriptor");
}

/* The same for a bind, which is let go on for sockets of the network. */
static int attack_swapped_bind(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	struct stat st;

	memset(&first, 0, sizeof(first));
	first.sun_family = AF_INET;
	second = address_of(arguments[0]);
	moving_fd = 100;
	tcp_fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	unix_fd = new_socket(SOCK_STREAM | SOCK_NONBLOCK);
	start_racer(exchange_fds, NULL);
	start_racer(rewrite_address, NULL);
	while (now_ms() < end && stat(arguments[0], &st) < 0)
		bind(moving_fd, (struct sockaddr *)&moving, sizeof(moving));
	return verdict(stat(arguments[0], &st) == 0, "binding with an exchanged descriptor");
}

/* A datagram needs no connect. */
static int send_to(int fd, const char *path)
{
	struct sockaddr_un address = address_of(path);
	struct iovec data = {(void *)"attack", 6};
	struct msghdr message = {.msg_name = &address,
				 .msg_namelen = sizeof(address),
				 .msg_iov = &data,
				 .msg_iovlen = 1};

	return verdict(fd >= 0 && sendmsg(fd, &message, 0) == 6, "sendmsg");
}

static int attack_datagram(char **arguments)
{
	return send_to(socket(AF_UNIX, SOCK_DGRAM, 0), arguments[0]);
}

/* The kernel makes a datagram socket of this, too. */
static int attack_raw(char **arguments)
{
	return send_to(socket(AF_UNIX, SOCK_RAW, 0), arguments[0]);
}

static int attack_datagram_high_bits(char **arguments)
{
	return send_to(
		(int)syscall(SYS_socket, 0xa5ul << 32 | AF_UNIX, 0xa5ul << 32 | SOCK_DGRAM, 0),
		arguments[0]);
}

static int attack_pair_datagram(char **arguments)
{
	int pair[2];

	return send_to(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0 ? -1 : pair[0], arguments[0]);
}

static int attack_pair_raw(char **arguments)
{
	int pair[2];

	return send_to(socketpair(AF_UNIX, SOCK_RAW, 0, pair) < 0 ? -1 : pair[0], arguments[0]);
}

static int attack_sendto(char **arguments)
{
	struct sockaddr_un address = address_of(arguments[0]);
	int fd = socket(AF_UNIX, SOCK_RAW, 0);

	return verdict(fd >= 0 && sendto(fd, "attack", 6, 0, (struct sockaddr *)&address,
					 sizeof(address)) == 6,
		       "sendto");
}

static int attack_sendmmsg(char **arguments)
{
	struct sockaddr_un address = address_of(arguments[0]);
	struct iovec data = {(void *)"attack", 6};
	struct mmsghdr message = {.msg_hdr = {.msg_name = &address,
					      .msg_namelen = sizeof(address),
					      .msg_iov = &data,
					      .msg_iovlen = 1}};
	int fd = socket(AF_UNIX, SOCK_RAW, 0);

	return verdict(fd >= 0 && sendmmsg(fd, &message, 1, 0) == 1, "sendmmsg");
}

/* Arguments: a socket of the host that is allowed, the directory that holds it, a link to one that
 * holds another. */
static char **exchanged;

static void *exchange_directories(void *unused)
{
	(void)unused;
	for (;;)
		renameat2(AT_FDCWD, exchanged[1], AT_FDCWD, exchanged[2], RENAME_EXCHANGE);
	return NULL;
}

static int attack_allowed(char **arguments)
{
	struct sockaddr_un address = address_of(arguments[0]);
	uint64_t end = now_ms() + 2 * RACE_MS;
	bool connected = false;

	exchanged = arguments;
	start_racer(exchange_directories, NULL);
	while (now_ms() < end) {
		int fd = new_socket(SOCK_STREAM | SOCK_NONBLOCK);
		struct sockaddr_un peer = {0};
		socklen_t length = sizeof(peer);

		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    getpeername(fd, (struct sockaddr *)&peer, &length) == 0) {
			connected = true;
			if (strcmp(peer.sun_path, arguments[0]) != 0)
				return verdict(true, "connecting to the other socket");
		}
		close(fd);
	}
	if (!connected)
		cannot_try("connecting to the allowed socket");
	errno = ETIMEDOUT;
	return verdict(false, "connecting to the other socket");
}

/* Numbers of inodes come again: makes and removes sockets, says so by the file "ready", then tries
 * those that the host made since. Arguments: a directory in the workspace. */
static int attack_reused_inode(char **arguments)
{
	struct sockaddr_un address;
	char path[100];
	uint64_t end = now_ms() + 3000;

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 200; i++) {
			snprintf(path, sizeof(path), "%s/%d", arguments[0], i);
			address = address_of(path);
			if (round == 1)
				unlink(path);
			else if (bind(new_socket(SOCK_STREAM), (struct sockaddr *)&address,
				      sizeof(address)) < 0)
				cannot_try("sockets of our own");
		}
	}
	for (int fd = 3; fd < 300; fd++)
		close(fd);
	snprintf(path, sizeof(path), "%s/ready", arguments[0]);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	snprintf(path, sizeof(path), "%s/made", arguments[0]);
	while (access(path, F_OK) < 0 && now_ms() < end)
		usleep(5000);
	for (int i = 0; i < 50; i++) {
		int fd = new_socket(SOCK_STREAM);

		snprintf(path, sizeof(path), "%s/host-%d", arguments[0], i);
		address = address_of(path);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return verdict(true, "connecting to a socket with a reused inode");
	}
	return verdict(false, "connecting to a socket with a reused inode");
}

static const struct attack attacks[] = {
	{"stream", 1, attack_stream},
	{"seqpacket", 1, attack_seqpacket},
	{"through-link", 1, attack_through_link},
	{"through-fd", 1, attack_through_fd},
	{"through-root", 1, attack_through_root},
	{"abstract", 1, attack_abstract},
	{"rewritten-address", 1, attack_rewritten_address},
	{"swapped-link", 1, attack_swapped_link},
	{"swapped-fd", 1, attack_swapped_fd},
	{"swapped-bind", 1, attack_swapped_bind},
	{"datagram", 1, attack_datagram},
	{"raw", 1, attack_raw},
	{"datagram-high-bits", 1, attack_datagram_high_bits},
	{"pair-datagram", 1, attack_pair_datagram},
	{"pair-raw", 1, attack_pair_raw},
	{"sendto", 1, attack_sendto},
	{"sendmmsg", 1, attack_sendmmsg},
	{"allowed", 3, attack_allowed},
	{"reused-inode", 1, attack_reused_inode},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
