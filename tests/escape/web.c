/* SPDX-License-Identifier: Apache-2.0 */
/* Attacks that speak to ward's own inbox: whoever does that could try to answer his own questions.
 */
#include "attack.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

/* True if whoever is at the other end answers as the inbox does. */
static bool answers(int fd)
{
	static const char request[] = "GET /api/session HTTP/1.1\r\nHost: x\r\n\r\n";
	struct pollfd event = {fd, POLLIN, 0};
	char said[512];
	ssize_t got;

	if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0 || poll(&event, 1, 5000) != 1)
		return false;
	got = recv(fd, said, sizeof(said) - 1, 0);
	said[got > 0 ? got : 0] = '\0';
	return strncmp(said, "HTTP/1.1 ", 9) == 0;
}

static bool reaches_v4(const char *address, const char *port, int flags)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);
	struct pollfd event = {fd, POLLOUT, 0};
	bool reached;

	if (fd < 0)
		cannot_try("a socket");
	inet_pton(AF_INET, address, &to.sin_addr);
	reached = connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EINPROGRESS;
	reached = reached && poll(&event, 1, 5000) == 1 && answers(fd);
	close(fd);
	return reached;
}

static int attack_loopback(char **arguments)
{
	return verdict(reaches_v4("127.0.0.1", arguments[0], 0), "connecting to 127.0.0.1");
}

static int attack_unspecified(char **arguments)
{
	return verdict(reaches_v4("0.0.0.0", arguments[0], 0), "connecting to 0.0.0.0");
}

static int attack_later(char **arguments)
{
	return verdict(reaches_v4("127.0.0.1", arguments[0], SOCK_NONBLOCK),
		       "connecting without waiting");
}

static int attack_mapped(char **arguments)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6,
				  .sin6_port = htons((uint16_t)atoi(arguments[0]))};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0)
		cannot_try("a socket");
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &to.sin6_addr);
	return verdict(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 && answers(fd),
		       "connecting to ::ffff:127.0.0.1");
}

static struct sockaddr_in changing;

/* Between the port that is allowed and the inbox's. */
static void *change_port(void *data)
{
	uint16_t ports[] = {htons((uint16_t)atoi(((char **)data)[0])),
			    htons((uint16_t)atoi(((char **)data)[1]))};

	for (unsigned i = 0;; i++)
		__atomic_store_n(&changing.sin_port, ports[i % 2], __ATOMIC_RELAXED);
	return NULL;
}

/* arguments: the inbox's port, one where somebody says "no". */
static int attack_changing(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	bool reached = false;

	changing.sin_family = AF_INET;
	inet_pton(AF_INET, "127.0.0.1", &changing.sin_addr);
	start_racer(change_port, arguments);
	while (!reached && now_ms() < end) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&changing, sizeof(changing)) == 0)
			reached = answers(fd);
		close(fd);
	}
	return verdict(reached, "connecting to a port that changes");
}

/* The inbox may begin to listen between the look at its port and the connect. */
static int attack_starting(char **arguments)
{
	uint64_t end = now_ms() + RACE_MS;
	bool reached = false;

	while (!reached && now_ms() < end)
		reached = reaches_v4("127.0.0.1", arguments[0], 0);
	return verdict(reached, "connecting while it starts");
}

static const struct attack attacks[] = {
	{"loopback", 1, attack_loopback}, {"unspecified", 1, attack_unspecified},
	{"later", 1, attack_later},	  {"mapped", 1, attack_mapped},
	{"changing", 2, attack_changing}, {"starting", 1, attack_starting},
};

int main(int argc, char **argv)
{
	return attack_main(attacks, ELEMENTS(attacks), argc, argv);
}
