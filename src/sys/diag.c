/* SPDX-License-Identifier: Apache-2.0 */
/* NETLINK_SOCK_DIAG: one message asks, the answers are read until the kernel says it was all. */
#include "diag.h"
#include "../base/macro.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As the kernel numbers the states of TCP; <netinet/tcp.h> does not go with the header above. */
enum { ESTABLISHED = 1, SYN_SENT = 2, CLOSE_WAIT = 8 };
enum { ANSWER = 32 * 1024, PATIENCE_S = 2 };

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 request;
};

static int ask(const struct question *question)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), errnum;

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (sendto(fd, question, sizeof(*question), 0, (const struct sockaddr *)&kernel,
		   sizeof(kernel)) == sizeof(*question))
		return fd;
	errnum = errno;
	close(fd);
	return -errnum;
}

static struct in6_addr address_of(uint8_t family, const uint32_t words[static 4])
{
	struct in6_addr address = {0};

	if (family == AF_INET6) {
		memcpy(&address, words, sizeof(address));
		return address;
	}
	address.s6_addr[10] = address.s6_addr[11] = 0xff;
	memcpy(address.s6_addr + 12, words, 4);
	return address;
}

static struct diag_socket read_socket(const struct nlmsghdr *header)
{
	const struct inet_diag_msg *message = NLMSG_DATA(header);
	size_t left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));
	struct diag_socket socket = {
		.local = address_of(message->idiag_family, message->id.idiag_src),
		.remote = address_of(message->idiag_family, message->id.idiag_dst),
		.local_port = ntohs(message->id.idiag_sport),
		.remote_port = ntohs(message->id.idiag_dport),
		.uid = message->idiag_uid,
		.inode = message->idiag_inode,
	};

	for (const struct rtattr *part = (const void *)(message + 1); RTA_OK(part, left);
	     part = RTA_NEXT(part, left)) {
		struct tcp_info info = {0};

		if (part->rta_type != INET_DIAG_INFO)
			continue;
		memcpy(&info, RTA_DATA(part),
		       RTA_PAYLOAD(part) < sizeof(info) ? RTA_PAYLOAD(part) : sizeof(info));
		socket.sent = info.tcpi_bytes_acked;
		socket.received = info.tcpi_bytes_received;
	}
	return socket;
}

/* 1: there is more; 0: that was all; -errno. */
static int read_some(int fd, void (*each)(void *data, const struct diag_socket *socket), void *data)
{
	union {
		struct nlmsghdr header;
		char room[ANSWER];
	} answer;
	ssize_t got = recv(fd, &answer, sizeof(answer), 0);
	size_t left = got > 0 ? (size_t)got : 0;

	if (got <= 0)
		return got < 0 ? -errno : -EPIPE;
	for (struct nlmsghdr *header = &answer.header; NLMSG_OK(header, left);
	     header = NLMSG_NEXT(header, left)) {
		struct diag_socket socket;

		if (header->nlmsg_type == NLMSG_DONE)
			return 0;
		if (header->nlmsg_type == NLMSG_ERROR)
			return ((struct nlmsgerr *)NLMSG_DATA(header))->error ?: -EIO;
		if (header->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			continue;
		socket = read_socket(header);
		each(data, &socket);
	}
	return 1;
}

static struct question question_for(uint8_t family)
{
	return (struct question){
		.header = {.nlmsg_len = sizeof(struct question),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST},
		.request = {.sdiag_family = family,
			    .sdiag_protocol = IPPROTO_TCP,
			    .idiag_states = 1u << ESTABLISHED | 1u << SYN_SENT | 1u << CLOSE_WAIT,
			    .idiag_ext = 1u << (INET_DIAG_INFO - 1),
			    .id.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}},
	};
}

int diag_connections(void (*each)(void *data, const struct diag_socket *socket), void *data)
{
	static const uint8_t families[] = {AF_INET, AF_INET6};
	int r = 0;

	for (size_t i = 0; i < sizeof(families) && r == 0; i++) {
		struct question question = question_for(families[i]);
		int fd;

		question.header.nlmsg_flags |= NLM_F_DUMP;
		fd = ask(&question);
		if (fd < 0)
			return fd;
		do
			r = read_some(fd, each, data);
		while (r > 0);
		close(fd);
	}
	return r;
}

struct end {
	struct in6_addr address;
	uint16_t port;
};

static bool read_end(const struct sockaddr_storage *address, struct end *ret_end)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	if (address->ss_family == AF_INET)
		*ret_end =
			(struct end){address_of(AF_INET, (const uint32_t[4]){v4->sin_addr.s_addr}),
				     v4->sin_port};
	else if (address->ss_family == AF_INET6)
		*ret_end = (struct end){v6->sin6_addr, v6->sin6_port};
	return address->ss_family == AF_INET || address->ss_family == AF_INET6;
}

struct sought {
	struct end theirs, ours;
	uid_t uid;
	bool found;
};

/* Where there is no such connection the kernel answers with who listens there. */
static void take_owner(void *data, const struct diag_socket *socket)
{
	struct sought *sought = data;

	if (socket->local_port != ntohs(sought->theirs.port) ||
	    socket->remote_port != ntohs(sought->ours.port) ||
	    !IN6_ARE_ADDR_EQUAL(&socket->local, &sought->theirs.address) ||
	    !IN6_ARE_ADDR_EQUAL(&socket->remote, &sought->ours.address))
		return;
	sought->uid = socket->uid;
	sought->found = true;
}

/* "0100007F:1F90": words of the address as the machine has them, and the port. */
static bool read_hex(const char *text, struct end *ret_end)
{
	size_t digits = strspn(text, "0123456789ABCDEF");
	uint32_t words[4] = {0};
	char word[9] = "";

	if ((digits != 8 && digits != 32) || text[digits] != ':')
		return false;
	for (size_t i = 0; i < digits / 8; i++) {
		memcpy(word, text + 8 * i, 8);
		words[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	*ret_end = (struct end){address_of(digits == 8 ? AF_INET : AF_INET6, words),
				htons((uint16_t)strtoul(text + digits + 1, NULL, 16))};
	return true;
}

static bool is_end(const struct end *one, const struct end *other)
{
	return one->port == other->port && IN6_ARE_ADDR_EQUAL(&one->address, &other->address);
}

/* Where the kernel has no such interface, or it is closed to us. */
static int find_in_list(const char *list, struct sought *sought)
{
	FILE *file = fopen(list, "re");
	char line[512], local[64], remote[64];
	struct end theirs, ours;
	unsigned uid;

	if (!file)
		return -errno;
	while (!sought->found && fgets(line, sizeof(line), file))
		if (sscanf(line, " %*d: %63s %63s %*x %*s %*s %*s %u", local, remote, &uid) == 3 &&
		    read_hex(local, &theirs) && read_hex(remote, &ours) &&
		    is_end(&theirs, &sought->theirs) && is_end(&ours, &sought->ours)) {
			sought->uid = uid;
			sought->found = true;
		}
	fclose(file);
	return 0;
}

static int ask_for(struct sought *sought)
{
	bool v4 = IN6_IS_ADDR_V4MAPPED(&sought->theirs.address);
	struct question question = question_for(v4 ? AF_INET : AF_INET6);
	int fd, r;

	question.request.id.idiag_sport = sought->theirs.port;
	question.request.id.idiag_dport = sought->ours.port;
	memcpy(question.request.id.idiag_src, sought->theirs.address.s6_addr + (v4 ? 12 : 0),
	       v4 ? 4 : 16);
	memcpy(question.request.id.idiag_dst, sought->ours.address.s6_addr + (v4 ? 12 : 0),
	       v4 ? 4 : 16);
	fd = ask(&question);
	if (fd < 0)
		return fd;
	r = read_some(fd, take_owner, sought);
	close(fd);
	return MIN(r, 0);
}

int diag_peer(int fd, uid_t *ret_uid)
{
	struct sockaddr_storage theirs = {0}, ours = {0};
	socklen_t length = sizeof(theirs);
	struct sought sought = {0};
	int r;

	if (getpeername(fd, (struct sockaddr *)&theirs, &length) < 0)
		return -errno;
	length = sizeof(ours);
	if (getsockname(fd, (struct sockaddr *)&ours, &length) < 0)
		return -errno;
	if (!read_end(&theirs, &sought.theirs) || !read_end(&ours, &sought.ours))
		return -EAFNOSUPPORT;
	r = ask_for(&sought);
	if (!sought.found)
		r = find_in_list("/proc/net/tcp", &sought);
	if (!sought.found)
		r = find_in_list("/proc/net/tcp6", &sought);
	if (!sought.found)
		return r < 0 ? r : -ENOENT;
	*ret_uid = sought.uid;
	return 0;
}
