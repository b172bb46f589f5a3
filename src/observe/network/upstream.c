/* SPDX-License-Identifier: Apache-2.0 */
/* c-ares, as the host's own configuration says. getaddrinfo() would block the supervisor, and in a
 * static program needs the very C library it was linked against at run time.
 *
 * The library calls back while it works on itself, so what it found is only noted then, and told
 * when it has returned: whoever is told may ask for the next name at once. */
#include "upstream.h"

#include <ares.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

enum {
	SERVERS_MOST = 3, /* as in the C library; each adds its time-outs */
	SOCKETS_MOST = 2 * SERVERS_MOST,
	TRIES = 2,	 /* of each server, the second twice as long */
	PATIENCE = 2500, /* milliseconds for the first */
	TTL_LEAST = 1,	 /* seconds; also of the hosts file, which has none */
	TTL_MOST = 300,
	TTL_MISSING = 5, /* no such name */
	TTL_FAILED = 1,	 /* nobody knows yet */
};

static const char resolv_conf[] = "/etc/resolv.conf", nsswitch_conf[] = "/etc/nsswitch.conf";

enum progress { TO_ASK, ASKED, ANSWERED };

struct question {
	struct question *next;
	struct upstream *upstream;
	enum progress progress;
	void *item;
	struct addresses found;
	int errnum;
	unsigned ttl;
	char name[];
};

struct upstream {
	int epoll, timer;
	upstream_done *done;
	ares_channel channel;	/* NULL until the first name */
	struct stat configured; /* resolv.conf as it was read */
	bool restarting;
	struct question *questions;
	int sockets[SOCKETS_MOST];
	size_t socket_count;
	char *servers; /* of a test; NULL: the host's */
	int patience;
};

struct upstream *upstream_new(int epoll, upstream_done *done)
{
	struct upstream *upstream = calloc(1, sizeof(*upstream));

	if (!upstream)
		abort();
	*upstream =
		(struct upstream){.epoll = epoll, .timer = -1, .done = done, .patience = PATIENCE};
	return upstream;
}

void upstream_use(struct upstream *upstream, const char *servers, int patience)
{
	free(upstream->servers);
	upstream->servers = strdup(servers);
	if (!upstream->servers)
		abort();
	upstream->patience = patience;
}

static bool is_own_socket(const struct upstream *upstream, int fd, size_t *ret_index)
{
	for (size_t i = 0; i < upstream->socket_count; i++) {
		if (upstream->sockets[i] == fd) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

/* A socket of the library comes, waits for something else, or is about to be closed. One that finds
 * no room here is not watched, and its questions time out. */
static void watch_socket(void *data, ares_socket_t fd, int readable, int writable)
{
	struct upstream *upstream = data;
	struct epoll_event event = {.events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0),
				    .data.fd = fd};
	size_t index;
	bool known = is_own_socket(upstream, fd, &index);

	if (!event.events) {
		epoll_ctl(upstream->epoll, EPOLL_CTL_DEL, fd, NULL);
		if (known)
			upstream->sockets[index] = upstream->sockets[--upstream->socket_count];
	} else if (known) {
		epoll_ctl(upstream->epoll, EPOLL_CTL_MOD, fd, &event);
	} else if (upstream->socket_count < SOCKETS_MOST &&
		   epoll_ctl(upstream->epoll, EPOLL_CTL_ADD, fd, &event) == 0) {
		upstream->sockets[upstream->socket_count++] = fd;
	}
}

/* Which of the hosts file (f) and DNS (b) is asked, in the order of nsswitch.conf. `resolve` is
 * systemd's, which knows the hosts file too and puts it first; what it is asked by is DNS again.
 * Other words (mdns, myhostname, mymachines) name what is not to be had here, and are passed over,
 * with what is to be done after them. */
static void read_order(char ret_order[static 3])
{
	_cleanup_free_ char *line = NULL;
	bool files = false, dns = false;
	FILE *file = fopen(nsswitch_conf, "re");
	size_t room = 0, length = 0;

	strcpy(ret_order, "fb");
	while (file && getline(&line, &room, file) > 0) {
		char *rest = line + strspn(line, " \t"), *word;

		rest[strcspn(rest, "#\n")] = '\0';
		if (strncmp(rest, "hosts:", 6) != 0)
			continue;
		strtok_r(rest, " \t", &rest);
		while ((word = strtok_r(NULL, " \t", &rest))) {
			bool resolve = strcmp(word, "resolve") == 0;

			if (!files && (resolve || strcmp(word, "files") == 0)) {
				ret_order[length++] = 'f';
				files = true;
			}
			if (!dns && (resolve || strcmp(word, "dns") == 0)) {
				ret_order[length++] = 'b';
				dns = true;
			}
		}
		/* Neither: everything there is, is a stranger. The usual order serves best. */
		if (length > 0)
			ret_order[length] = '\0';
		break;
	}
	if (file)
		fclose(file);
}

/* The first few servers of many. */
static int bound_servers(ares_channel channel)
{
	struct ares_addr_port_node *servers = NULL, *last, *rest = NULL;
	int status = ares_get_servers_ports(channel, &servers);

	if (status != ARES_SUCCESS)
		return status;
	last = servers;
	for (int i = 1; last && i < SERVERS_MOST; i++)
		last = last->next;
	if (last && last->next) {
		rest = last->next;
		last->next = NULL;
		status = ares_set_servers_ports(channel, servers);
		last->next = rest;
	}
	ares_free_data(servers);
	return status;
}

static void read_stamp(struct stat *ret_st)
{
	if (stat(resolv_conf, ret_st) < 0)
		memset(ret_st, 0, sizeof(*ret_st));
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Drops the channel. What it was asked is to be asked again. */
static void stop(struct upstream *upstream)
{
	upstream->restarting = true;
	if (upstream->channel)
		ares_destroy(upstream->channel);
	upstream->restarting = false;
	upstream->channel = NULL;
}

static int start(struct upstream *upstream)
{
	char order[3], *none = NULL;
	struct ares_options options = {
		/* Nor does a variable of the environment rename what was allowed. */
		.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
		.timeout = upstream->patience,
		.tries = TRIES,
		.domains = &none, /* none: a name is what was allowed, and not something under it */
		.ndomains = 0,
		.lookups = order,
		.sock_state_cb = watch_socket,
		.sock_state_cb_data = upstream,
	};
	int status;

	read_order(order);
	read_stamp(&upstream->configured);
	status = ares_init_options(&upstream->channel, &options,
				   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
					   ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
					   ARES_OPT_SOCK_STATE_CB);
	if (status != ARES_SUCCESS) {
		upstream->channel = NULL;
		return -EIO;
	}
	status = upstream->servers
			 ? ares_set_servers_ports_csv(upstream->channel, upstream->servers)
			 : bound_servers(upstream->channel);
	if (status == ARES_SUCCESS)
		return 0;
	stop(upstream);
	return -EIO;
}

static int prepare(struct upstream *upstream)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct stat st;

	if (upstream->timer < 0) {
		upstream->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		event.data.fd = upstream->timer;
		if (upstream->timer < 0 ||
		    epoll_ctl(upstream->epoll, EPOLL_CTL_ADD, upstream->timer, &event) < 0) {
			close_fd(&upstream->timer);
			return -EIO;
		}
	}
	read_stamp(&st);
	if (upstream->channel && !is_same(&st, &upstream->configured))
		stop(upstream);
	return upstream->channel ? 0 : start(upstream);
}

static void set_timer(struct upstream *upstream)
{
	struct itimerspec timer = {0};
	struct timeval wait, *next;

	if (!upstream->channel)
		return;
	next = ares_timeout(upstream->channel, NULL, &wait);
	if (next) {
		timer.it_value.tv_sec = next->tv_sec;
		timer.it_value.tv_nsec = next->tv_usec * 1000L;
		if (timer.it_value.tv_sec == 0 && timer.it_value.tv_nsec == 0)
			timer.it_value.tv_nsec = 1; /* zero would mean never */
	}
	timerfd_settime(upstream->timer, 0, &timer, NULL);
}

static bool is_there(const struct addresses *addresses, const struct in6_addr *address)
{
	for (size_t i = 0; i < addresses->count; i++) {
		if (memcmp(&addresses->items[i], address, sizeof(*address)) == 0)
			return true;
	}
	return false;
}

static void add_address(struct addresses *addresses, const struct ares_addrinfo_node *node)
{
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	if (node->ai_family == AF_INET && node->ai_addrlen == sizeof(struct sockaddr_in))
		memcpy(address.s6_addr + 12, &((struct sockaddr_in *)node->ai_addr)->sin_addr, 4);
	else if (node->ai_family == AF_INET6 && node->ai_addrlen == sizeof(struct sockaddr_in6))
		address = ((struct sockaddr_in6 *)node->ai_addr)->sin6_addr;
	else
		return;
	if (addresses->count < ADDRESSES_MOST && !is_there(addresses, &address))
		addresses->items[addresses->count++] = address;
}

/* Nothing is sent: the kernel only looks for a way. */
static bool has_route(const struct in6_addr *address)
{
	struct sockaddr_in6 to = {
		.sin6_family = AF_INET6, .sin6_addr = *address, .sin6_port = htons(53)};
	_cleanup_close_ int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0;
}

/* IPv6 and IPv4 in turn; where no way leads to IPv6 at all, it comes last. */
static void read_addresses(const struct ares_addrinfo *info, struct addresses *ret_found)
{
	struct addresses ipv6 = {0}, ipv4 = {0}, found = {0};
	size_t sixth = 0, fourth = 0;
	bool six;

	for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next)
		add_address(node->ai_family == AF_INET6 ? &ipv6 : &ipv4, node);
	six = ipv6.count > 0 && has_route(&ipv6.items[0]);
	while (found.count < ADDRESSES_MOST && (sixth < ipv6.count || fourth < ipv4.count)) {
		if (sixth < ipv6.count && (six || fourth == ipv4.count))
			found.items[found.count++] = ipv6.items[sixth++];
		if (fourth < ipv4.count && found.count < ADDRESSES_MOST)
			found.items[found.count++] = ipv4.items[fourth++];
	}
	*ret_found = found;
}

static unsigned smallest_ttl(const struct ares_addrinfo *info)
{
	int ttl = TTL_MOST;

	for (const struct ares_addrinfo_node *node = info->nodes; node; node = node->ai_next)
		ttl = MIN(ttl, node->ai_ttl);
	for (const struct ares_addrinfo_cname *name = info->cnames; name; name = name->next)
		ttl = MIN(ttl, name->ttl);
	return (unsigned)MAX(ttl, TTL_LEAST);
}

static int read_status(int status)
{
	switch (status) {
	case ARES_SUCCESS:
	case ARES_ENODATA:
	case ARES_ENOTFOUND:
	case ARES_EBADNAME:
		return ENOENT; /* a success without an address included */
	case ARES_ETIMEOUT:
		return ETIMEDOUT;
	default:
		return EIO;
	}
}

static void settle(struct question *question, int errnum, unsigned ttl)
{
	question->progress = ANSWERED;
	question->errnum = errnum;
	question->ttl = ttl;
}

static void note(void *data, int status, _unused_ int timeouts, struct ares_addrinfo *info)
{
	struct question *question = data;
	int errnum = read_status(status);

	if (question->upstream->restarting) {
		question->progress = TO_ASK;
	} else {
		if (status == ARES_SUCCESS && info)
			read_addresses(info, &question->found);
		if (question->found.count > 0)
			settle(question, 0, smallest_ttl(info));
		else
			settle(question, errnum, errnum == ENOENT ? TTL_MISSING : TTL_FAILED);
	}
	ares_freeaddrinfo(info);
}

/* Tells what is known by now. Whoever is told may ask more, so the list is begun again each time.
 */
static void tell(struct upstream *upstream)
{
	struct question **link = &upstream->questions;

	set_timer(upstream);
	while (*link) {
		struct question *question = *link;

		if (question->progress != ANSWERED) {
			link = &question->next;
			continue;
		}
		*link = question->next;
		upstream->done(question->item, question->errnum ? NULL : &question->found,
			       question->errnum, question->ttl);
		free(question);
		link = &upstream->questions;
	}
}

void upstream_ask(struct upstream *upstream, const char *name, void *item)
{
	struct ares_addrinfo_hints hints = {.ai_flags = ARES_AI_NOSORT, .ai_family = AF_UNSPEC};
	struct question *question = calloc(1, sizeof(*question) + strlen(name) + 1);
	int r;

	if (!question)
		abort();
	strcpy(question->name, name);
	question->item = item;
	question->upstream = upstream;
	question->next = upstream->questions;
	upstream->questions = question;
	r = prepare(upstream);
	for (question = upstream->questions; question; question = question->next) {
		if (question->progress == TO_ASK && r < 0) {
			settle(question, -r, TTL_FAILED);
		} else if (question->progress == TO_ASK) {
			question->progress = ASKED; /* first: it may be answered at once */
			ares_getaddrinfo(upstream->channel, question->name, NULL, &hints, note,
					 question);
		}
	}
	tell(upstream);
}

bool upstream_serve(struct upstream *upstream, int fd, uint32_t events)
{
	bool hurt = events & (EPOLLERR | EPOLLHUP);
	uint64_t expired;
	size_t index;

	if (fd < 0)
		return false;
	if (fd == upstream->timer) {
		(void)!read(fd, &expired, sizeof(expired));
		if (upstream->channel)
			ares_process_fd(upstream->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	} else if (is_own_socket(upstream, fd, &index)) {
		ares_process_fd(upstream->channel, events & EPOLLIN || hurt ? fd : ARES_SOCKET_BAD,
				events & EPOLLOUT || hurt ? fd : ARES_SOCKET_BAD);
	} else {
		return false;
	}
	tell(upstream);
	return true;
}

void upstream_free(struct upstream *upstream)
{
	if (!upstream)
		return;
	stop(upstream);
	while (upstream->questions) {
		struct question *question = upstream->questions;

		upstream->questions = question->next;
		free(question);
	}
	close_fd(&upstream->timer);
	free(upstream->servers);
	free(upstream);
}
