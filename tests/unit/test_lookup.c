/* SPDX-License-Identifier: Apache-2.0 */
/* The real look-up, against a name server of the test's own on loopback. What a name's first label
 * says is what that server does. */
#include "observe/network/lookup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <time.h>
#include <cmocka.h>

#include "dns_packet.h"

enum { HEADER = 12, PATIENCE = 100, TOLD_MOST = 8192 };
enum { A = 1, CNAME = 5, AAAA = 28 };
enum { NOERROR, FORMERR, SERVFAIL, NXDOMAIN };

struct told {
	uint64_t ticket;
	struct addresses found;
	int errnum; /* 0: found */
};

static struct scene {
	int epoll, udp, tcp, peer;
	unsigned asked; /* questions that came by UDP */
	unsigned by_tcp;
	char last[256];
	bool mute;
	struct lookup *lookup;
	size_t told_count;
	struct told told[TOLD_MOST];
	const char *next; /* asked for as soon as something is told */
} scene;

/* --- the server --------------------------------------------------------------------------------
 */

static void add_record(struct packet *packet, const char *owner, unsigned type, uint32_t ttl,
		       const void *data, size_t length)
{
	add_name(packet, owner);
	add_16(packet, type);
	add_16(packet, 1);
	add_16(packet, ttl >> 16);
	add_16(packet, ttl & 0xffff);
	add_16(packet, length);
	add(packet, data, length);
	packet->data[7]++; /* answers */
}

static void add_address(struct packet *packet, const char *owner, unsigned type, uint32_t ttl,
			unsigned last)
{
	uint8_t ipv4[4] = {192, 0, 2, last}, ipv6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = last};

	add_record(packet, owner, type, ttl, type == A ? ipv4 : ipv6, type == A ? 4 : 16);
}

static void add_alias(struct packet *packet, const char *owner, uint32_t ttl, const char *real)
{
	struct packet name = {.length = 0};

	add_name(&name, real);
	add_record(packet, owner, CNAME, ttl, name.data, name.length);
}

static bool says(const char *name, const char *first)
{
	return strncmp(name, first, strlen(first)) == 0 &&
	       (name[strlen(first)] == '.' || name[strlen(first)] == '\0');
}

static void answer(struct packet *reply, const char *name, unsigned type, bool tcp)
{
	unsigned count = says(name, "many") ? 20 : 1;

	if (says(name, "missing")) {
		reply->data[3] |= NXDOMAIN;
	} else if (says(name, "broken")) {
		reply->data[3] |= SERVFAIL;
	} else if (says(name, "large") && !tcp) {
		reply->data[2] |= 2; /* truncated */
	} else if (says(name, "alias")) {
		add_alias(reply, name, 1, "real.test");
		add_address(reply, "real.test", type, 60, 7);
	} else if (says(name, "foreign")) {
		add_address(reply, "other.test", type, 60, 66);
	} else if (says(name, "odd")) { /* neither is as long as its type says */
		add_record(reply, name, type, 60, "12345", 5);
	} else if (!(says(name, "four") && type == AAAA) && !(says(name, "six") && type == A) &&
		   !says(name, "empty")) {
		for (unsigned i = 1; i <= count; i++)
			add_address(reply, name, type, says(name, "short") ? 1 : 60, i);
	}
}

/* The reply to a question; an empty one where there is none. */
static struct packet serve_question(const uint8_t *data, size_t length, bool tcp)
{
	struct packet reply = {.length = 0};
	char name[256];
	size_t at = HEADER, end = 0;
	unsigned type;

	assert_true(length > HEADER);
	for (; data[at]; at += 1 + data[at]) {
		assert_true(at + 1 + data[at] < length);
		memcpy(name + end, data + at + 1, data[at]);
		end += data[at];
		name[end++] = '.';
	}
	name[end - 1] = '\0';
	strcpy(scene.last, name);
	type = (unsigned)(data[at + 1] << 8 | data[at + 2]);
	assert_true(type == A || type == AAAA);
	if (scene.mute || says(name, "silent"))
		return reply;
	add(&reply, data, 2);
	add(&reply, (uint8_t[]){0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, 10);
	add(&reply, data + HEADER, at + 5 - HEADER);
	if (says(name, "garbage"))
		memset(reply.data + 4, 0xc0, reply.length - 4);
	else
		answer(&reply, name, type, tcp);
	return reply;
}

static void serve_udp(void)
{
	struct sockaddr_in from;
	socklen_t room = sizeof(from);
	uint8_t data[PACKET_ROOM];
	ssize_t got;

	while ((got = recvfrom(scene.udp, data, sizeof(data), MSG_DONTWAIT,
			       (struct sockaddr *)&from, &room)) > 0) {
		struct packet reply = serve_question(data, (size_t)got, false);

		scene.asked++;
		if (reply.length > 0)
			sendto(scene.udp, reply.data, reply.length, 0, (struct sockaddr *)&from,
			       room);
	}
}

static void serve_tcp(void)
{
	uint8_t data[PACKET_ROOM];
	ssize_t got;

	if (scene.peer < 0)
		scene.peer = accept4(scene.tcp, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (scene.peer < 0)
		return;
	got = read(scene.peer, data, sizeof(data));
	if (got == 0)
		close_fd(&scene.peer);
	for (ssize_t at = 0; at + 2 < got; at += 2 + (data[at] << 8 | data[at + 1])) {
		size_t length = (size_t)(data[at] << 8 | data[at + 1]);
		struct packet reply, framed = {.length = 0};

		assert_true((size_t)(got - at - 2) >= length);
		reply = serve_question(data + at + 2, length, true);
		scene.by_tcp++;
		add_16(&framed, reply.length);
		add(&framed, reply.data, reply.length);
		/* In two parts, as a network may deliver it. */
		assert_int_equal(write(scene.peer, framed.data, 5), 5);
		assert_int_equal(write(scene.peer, framed.data + 5, framed.length - 5),
				 framed.length - 5);
	}
}

/* --- the scene ---------------------------------------------------------------------------------
 */

static void tell(void *data, uint64_t ticket, const struct addresses *found, int errnum)
{
	struct told *told = &scene.told[scene.told_count++];
	const char *next = STEAL(scene.next);

	assert_ptr_equal(data, &scene);
	assert_true(scene.told_count <= TOLD_MOST);
	assert_true(!found == !!errnum);
	*told = (struct told){.ticket = ticket, .errnum = errnum};
	if (found)
		told->found = *found;
	if (next)
		lookup_name(scene.lookup, next, 99);
}

static int open_server(const char *text, uint16_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(*port)};
	socklen_t length = sizeof(address);

	close_fd(&scene.udp);
	close_fd(&scene.tcp);
	inet_pton(AF_INET, text, &address.sin_addr);
	scene.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	scene.tcp = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(scene.tcp, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(scene.udp, (struct sockaddr *)&address, length) < 0 ||
	    getsockname(scene.udp, (struct sockaddr *)&address, &length) < 0 ||
	    bind(scene.tcp, (struct sockaddr *)&address, length) < 0 || listen(scene.tcp, 4) < 0)
		return -1;
	*port = ntohs(address.sin_port);
	return 0;
}

static void set_scene(void)
{
	memset(&scene, 0, sizeof(scene));
	scene.udp = scene.tcp = scene.peer = -1;
	scene.epoll = epoll_create1(EPOLL_CLOEXEC);
	scene.lookup = lookup_new(scene.epoll, tell, &scene);
}

static int set_up(_unused_ void **state)
{
	uint16_t port = 0;
	char server[64];
	int tries = 0;

	set_scene();
	/* A port that is free for UDP may be taken for TCP. */
	for (; open_server("127.0.0.1", &port) < 0; port = 0) {
		if (++tries == 100)
			return -1;
	}
	snprintf(server, sizeof(server), "127.0.0.1:%u", port);
	lookup_use(scene.lookup, server, PATIENCE);
	return 0;
}

static int tear_down(_unused_ void **state)
{
	lookup_free(scene.lookup);
	close_fd(&scene.epoll);
	close_fd(&scene.udp);
	close_fd(&scene.tcp);
	close_fd(&scene.peer);
	return 0;
}

static int64_t milliseconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Both sides work until that many were told, or ten seconds are over. */
static void work_until(size_t count)
{
	int64_t end = milliseconds() + 10000;

	while (scene.told_count < count && milliseconds() < end) {
		struct epoll_event event;

		serve_udp();
		serve_tcp();
		if (epoll_wait(scene.epoll, &event, 1, 5) > 0)
			assert_true(lookup_serve(scene.lookup, event.data.fd, event.events));
	}
	assert_int_equal(scene.told_count, count);
}

static const struct told *look_up(const char *name)
{
	size_t before = scene.told_count;

	lookup_name(scene.lookup, name, before + 1);
	work_until(before + 1);
	assert_int_equal(scene.told[before].ticket, before + 1);
	return &scene.told[before];
}

static void assert_address(const struct told *told, size_t index, const char *text)
{
	char have[INET6_ADDRSTRLEN];

	assert_true(index < told->found.count);
	inet_ntop(AF_INET6, &told->found.items[index], have, sizeof(have));
	assert_string_equal(have, text);
}

static void assert_failed(const char *name, int errnum)
{
	const struct told *told = look_up(name);

	assert_int_equal(told->errnum, errnum);
}

/* --- what holds --------------------------------------------------------------------------------
 */

static void test_ipv4_comes_mapped(_unused_ void **state)
{
	const struct told *told = look_up("four.test");

	assert_int_equal(told->found.count, 1);
	assert_address(told, 0, "::ffff:192.0.2.1");
	assert_string_equal(scene.last, "four.test");
}

static void test_ipv6_alone_is_found(_unused_ void **state)
{
	const struct told *told = look_up("six.test");

	assert_int_equal(told->found.count, 1);
	assert_address(told, 0, "2001:db8::1");
}

static void test_both_families_come_in_turn(_unused_ void **state)
{
	const struct told *told = look_up("many.both.test");
	bool six_first = !IN6_IS_ADDR_V4MAPPED(&told->found.items[0]);

	assert_int_equal(told->found.count, ADDRESSES_MOST);
	/* Where the machine has no way to IPv6 it comes last, and here there is no room for it. */
	if (six_first) {
		assert_address(told, 0, "2001:db8::1");
		assert_address(told, 1, "::ffff:192.0.2.1");
		assert_address(told, 2, "2001:db8::2");
	} else {
		for (size_t i = 0; i < told->found.count; i++)
			assert_true(IN6_IS_ADDR_V4MAPPED(&told->found.items[i]));
	}
}

static void test_an_alias_leads_to_its_addresses(_unused_ void **state)
{
	const struct told *told = look_up("alias.test");

	assert_int_equal(told->errnum, 0);
	assert_int_equal(told->found.count, 2);
}

static void test_an_answer_is_kept_as_long_as_its_ttl(_unused_ void **state)
{
	look_up("short.test");
	assert_int_equal(scene.asked, 2);
	assert_int_equal(look_up("short.test")->errnum, 0);
	assert_int_equal(scene.asked, 2);
	nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 50 * 1000 * 1000}, NULL);
	assert_int_equal(look_up("short.test")->errnum, 0);
	assert_int_equal(scene.asked, 4);
}

static void test_the_ttl_of_an_alias_counts_too(_unused_ void **state)
{
	look_up("alias.test");
	look_up("alias.test");
	assert_int_equal(scene.asked, 2);
	nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 50 * 1000 * 1000}, NULL);
	look_up("alias.test");
	assert_int_equal(scene.asked, 4);
}

static void test_a_missing_name_is_missing_and_that_is_kept(_unused_ void **state)
{
	unsigned asked;

	assert_failed("missing.test", ENOENT);
	asked = scene.asked;
	assert_failed("missing.test", ENOENT);
	assert_int_equal(scene.asked, asked);
	assert_failed("empty.test", ENOENT);
}

static void test_a_server_that_fails_is_an_error(_unused_ void **state)
{
	assert_failed("broken.test", EIO);
	assert_true(scene.asked > 0);
}

static void test_a_server_that_is_silent_times_out(_unused_ void **state)
{
	int64_t begin = milliseconds();

	assert_failed("silent.test", ETIMEDOUT);
	assert_true(milliseconds() - begin >= PATIENCE);
}

static void test_a_truncated_answer_is_asked_for_by_tcp(_unused_ void **state)
{
	const struct told *told = look_up("large.test");

	assert_int_equal(told->errnum, 0);
	assert_int_equal(told->found.count, 2);
	assert_int_equal(scene.by_tcp, 2);
}

static void test_addresses_of_other_names_are_not_taken(_unused_ void **state)
{
	assert_failed("foreign.test", ENOENT);
}

static void test_records_of_the_wrong_length_are_not_taken(_unused_ void **state)
{
	assert_true(look_up("odd.test")->errnum != 0);
}

static void test_garbage_is_no_answer(_unused_ void **state)
{
	assert_true(look_up("garbage.test")->errnum != 0);
}

static void test_no_domain_is_ever_added(_unused_ void **state)
{
	setenv("LOCALDOMAIN", "search.test", 1);
	assert_failed("missing", ENOENT);
	unsetenv("LOCALDOMAIN");
	assert_string_equal(scene.last, "missing");
}

static void test_what_is_no_name_is_never_asked_for(_unused_ void **state)
{
	static const char *const refused[] = {
		"",	     "127.0.0.1", "127.1",  "0x7f000001", "2130706433", "::1",
		"a..b",	     ".a",	  "a.",	    "Upper.test", "a b",	"a%eth0",
		"1.2.3.0x4", "b\xc3\xbc", "x/../y", "host.0",
	};
	char long_label[80], long_name[300];

	for (size_t i = 0; i < ELEMENTS(refused); i++)
		assert_failed(refused[i], ENOENT);
	memset(long_label, 'a', 64);
	strcpy(long_label + 64, ".test");
	assert_failed(long_label, ENOENT);
	for (size_t i = 0; i < 254; i++)
		long_name[i] = i % 2 ? '.' : 'a';
	long_name[253] = 'a';
	long_name[254] = '\0';
	assert_failed(long_name, ENOENT);
	assert_int_equal(scene.asked, 0);
}

static void test_the_hosts_file_is_read(_unused_ void **state)
{
	const struct told *told = look_up("localhost");

	assert_int_equal(told->errnum, 0);
	for (size_t i = 0; i < told->found.count; i++)
		assert_true(IN6_IS_ADDR_LOOPBACK(&told->found.items[i]) ||
			    told->found.items[i].s6_addr[12] == 127);
	assert_int_equal(scene.asked, 0);
}

static void test_many_who_want_one_name_cost_one_question(_unused_ void **state)
{
	for (uint64_t i = 0; i < 4096; i++)
		lookup_name(scene.lookup, "four.test", i);
	assert_int_equal(scene.told_count, 0);
	lookup_name(scene.lookup, "four.test", 5000); /* one too many */
	assert_int_equal(scene.told_count, 1);
	assert_int_equal(scene.told[0].ticket, 5000);
	assert_int_equal(scene.told[0].errnum, EAGAIN);
	work_until(4097);
	for (uint64_t i = 0; i < 4096; i++) {
		assert_int_equal(scene.told[i + 1].ticket, i);
		assert_int_equal(scene.told[i + 1].errnum, 0);
	}
	assert_int_equal(scene.asked, 2);
}

static void test_too_many_names_at_once_are_refused_and_later_ones_are_not(_unused_ void **state)
{
	char name[32];

	scene.mute = true;
	for (uint64_t i = 0; i < 64; i++) {
		snprintf(name, sizeof(name), "n%u.test", (unsigned)i);
		lookup_name(scene.lookup, name, i);
	}
	assert_int_equal(scene.told_count, 0);
	lookup_name(scene.lookup, "one-more.test", 64);
	assert_int_equal(scene.told_count, 1);
	assert_int_equal(scene.told[0].errnum, EAGAIN);
	lookup_name(scene.lookup, "n3.test", 65); /* somebody asks for it already */
	assert_int_equal(scene.told_count, 1);
	work_until(66);
	scene.mute = false;
	assert_int_equal(look_up("one-more.test")->errnum, 0);
}

static void test_more_names_than_are_kept_push_the_oldest_out(_unused_ void **state)
{
	unsigned asked;
	char name[32];

	look_up("first.test");
	for (unsigned i = 0; i < 511; i++) {
		snprintf(name, sizeof(name), "n%u.test", i);
		assert_int_equal(look_up(name)->errnum, 0);
	}
	asked = scene.asked;
	look_up("first.test"); /* still there */
	assert_int_equal(scene.asked, asked);
	look_up("last.test");
	look_up("n510.test");
	assert_int_equal(scene.asked, asked + 2);
	look_up("first.test");
	assert_int_equal(scene.asked, asked + 4);
}

static void test_who_was_forgotten_is_not_told(_unused_ void **state)
{
	lookup_name(scene.lookup, "four.test", 1);
	lookup_name(scene.lookup, "four.test", 2);
	lookup_name(scene.lookup, "four.test", 3);
	lookup_forget(scene.lookup, 2);
	lookup_forget(scene.lookup, 77);
	work_until(2);
	assert_int_equal(scene.told[0].ticket, 1);
	assert_int_equal(scene.told[1].ticket, 3);
}

static void test_whoever_is_told_may_ask_at_once(_unused_ void **state)
{
	scene.next = "six.test";
	lookup_name(scene.lookup, "four.test", 1);
	lookup_name(scene.lookup, "four.test", 2);
	work_until(3);
	assert_int_equal(scene.told[2].ticket, 99);
	assert_address(&scene.told[2], 0, "2001:db8::1");
	scene.next = "four.test"; /* the same, and known by now */
	lookup_name(scene.lookup, "short.test", 3);
	work_until(5);
	assert_int_equal(scene.told[4].ticket, 99);
}

static void test_it_may_end_with_questions_on_their_way(_unused_ void **state)
{
	struct epoll_event event;

	scene.mute = true;
	for (uint64_t i = 0; i < 10; i++)
		lookup_name(scene.lookup, i % 2 ? "four.test" : "large.test", i);
	lookup_free(STEAL(scene.lookup));
	assert_int_equal(scene.told_count, 0);
	assert_int_equal(epoll_wait(scene.epoll, &event, 1, 0), 0);
}

static void test_nothing_is_open_before_the_first_name(_unused_ void **state)
{
	int before = dup(0), after;
	struct lookup *lookup;

	close(before);
	lookup = lookup_new(scene.epoll, tell, &scene);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
	assert_false(lookup_serve(lookup, 0, EPOLLIN));
	assert_false(lookup_serve(NULL, 0, EPOLLIN));
	lookup_free(lookup);
	lookup_free(NULL);
}

/* --- with a machine's files: in namespaces of the test's own, which it does not leave again -----
 */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static bool enter_world(void)
{
	static bool entered;
	struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	unsigned uid = getuid(), gid = getgid();
	char map[64];
	int fd;

	if (entered)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) < 0)
		return false;
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	entered = ioctl(fd, SIOCSIFFLAGS, &loopback) == 0 &&
		  mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		  mount("etc", "/etc", "tmpfs", 0, NULL) == 0;
	close(fd);
	return entered;
}

/* A server at 127.0.0.1, named by resolv.conf; the hosts file has a name of each kind. */
static void make_world(const char *order)
{
	uint16_t port = 53;
	char text[128];

	if (!enter_world()) {
		print_message("no namespaces here\n");
		skip();
	}
	snprintf(text, sizeof(text), "passwd: files\nhosts: %s # the rest\n", order);
	write_file("/etc/nsswitch.conf", text);
	write_file("/etc/hosts", "192.0.2.77\tlisted.test alone.test\n2001:db8::77 listed.test\n");
	write_file("/etc/resolv.conf", "nameserver 127.0.0.1\nsearch search.test\n");
	assert_int_equal(open_server("127.0.0.1", &port), 0);
}

static int set_up_world(_unused_ void **state)
{
	set_scene();
	return 0;
}

static void test_the_servers_of_the_machine_are_asked(_unused_ void **state)
{
	make_world("files dns");
	assert_address(look_up("four.test"), 0, "::ffff:192.0.2.1");
	assert_failed("missing", ENOENT);
	assert_string_equal(scene.last, "missing");
}

static void test_changed_servers_are_asked_and_nothing_is_lost(_unused_ void **state)
{
	uint16_t port = 53;

	make_world("files dns");
	scene.mute = true;
	lookup_name(scene.lookup, "waits.test", 1);
	look_up("listed.test");
	assert_int_equal(open_server("127.0.0.2", &port), 0);
	scene.mute = false;
	write_file("/etc/resolv.conf", "nameserver 127.0.0.2\n");
	lookup_name(scene.lookup, "other.test", 3);
	work_until(3);
	assert_int_equal(scene.told[1].errnum | scene.told[2].errnum, 0);
	assert_int_equal(scene.asked, 4);
}

static void test_only_the_first_three_servers_count(_unused_ void **state)
{
	uint16_t port = 53;

	make_world("files dns");
	write_file("/etc/resolv.conf", "nameserver 127.0.0.4\nnameserver 127.0.0.5\n"
				       "nameserver 127.0.0.6\nnameserver 127.0.0.1\n");
	assert_true(look_up("four.test")->errnum != 0);
	assert_int_equal(scene.asked, 0);
	assert_int_equal(open_server("127.0.0.6", &port), 0);
	assert_int_equal(look_up("six.test")->errnum, 0);
}

static void test_the_order_of_sources_is_the_machines(_unused_ void **state)
{
	static const struct {
		const char *order;
		const char *listed; /* the IPv4 address of what both know */
	} cases[] = {
		{"files dns", "192.0.2.77"},
		{"files mdns4_minimal [NOTFOUND=return] dns", "192.0.2.77"},
		{"mymachines resolve [!UNAVAIL=return] files myhostname dns", "192.0.2.77"},
		{"resolve [!UNAVAIL=return] dns", "192.0.2.77"},
		{"wins", "192.0.2.77"},
		{"dns files", "192.0.2.1"},
		{"dns [!UNAVAIL=return] files", "192.0.2.1"},
		{"dns", "192.0.2.1"},
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const struct told *told;
		bool found = false;

		make_world(cases[i].order);
		lookup_free(scene.lookup);
		scene.lookup = lookup_new(scene.epoll, tell, &scene);
		told = look_up("listed.test");
		for (size_t j = 0; j < told->found.count; j++) {
			char text[INET6_ADDRSTRLEN];

			inet_ntop(AF_INET6, &told->found.items[j], text, sizeof(text));
			found = found || strcmp(text + strlen("::ffff:"), cases[i].listed) == 0;
		}
		if (!found)
			print_message("with hosts: %s\n", cases[i].order);
		assert_true(found);
	}
	make_world("files");
	lookup_free(scene.lookup);
	scene.lookup = lookup_new(scene.epoll, tell, &scene);
	scene.asked = 0;
	assert_true(look_up("four.test")->errnum != 0);
	assert_int_equal(scene.asked, 0);
}

static void test_without_any_files_names_are_not_found_and_nothing_breaks(_unused_ void **state)
{
	make_world("files dns");
	unlink("/etc/hosts");
	unlink("/etc/resolv.conf");
	unlink("/etc/nsswitch.conf");
	/* The server at 127.0.0.1 is what everyone asks who has not been told. */
	assert_int_equal(look_up("four.test")->errnum, 0);
	close_fd(&scene.udp);
	assert_true(look_up("six.test")->errnum != 0);
}

#define WORLD(name) cmocka_unit_test_setup_teardown(test_##name, set_up_world, tear_down)
#define TEST(name)  cmocka_unit_test_setup_teardown(test_##name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ipv4_comes_mapped),
		TEST(ipv6_alone_is_found),
		TEST(both_families_come_in_turn),
		TEST(an_alias_leads_to_its_addresses),
		TEST(an_answer_is_kept_as_long_as_its_ttl),
		TEST(the_ttl_of_an_alias_counts_too),
		TEST(a_missing_name_is_missing_and_that_is_kept),
		TEST(a_server_that_fails_is_an_error),
		TEST(a_server_that_is_silent_times_out),
		TEST(a_truncated_answer_is_asked_for_by_tcp),
		TEST(addresses_of_other_names_are_not_taken),
		TEST(records_of_the_wrong_length_are_not_taken),
		TEST(garbage_is_no_answer),
		TEST(no_domain_is_ever_added),
		TEST(what_is_no_name_is_never_asked_for),
		TEST(the_hosts_file_is_read),
		TEST(many_who_want_one_name_cost_one_question),
		TEST(too_many_names_at_once_are_refused_and_later_ones_are_not),
		TEST(more_names_than_are_kept_push_the_oldest_out),
		TEST(who_was_forgotten_is_not_told),
		TEST(whoever_is_told_may_ask_at_once),
		TEST(it_may_end_with_questions_on_their_way),
		TEST(nothing_is_open_before_the_first_name),
		WORLD(the_servers_of_the_machine_are_asked),
		WORLD(changed_servers_are_asked_and_nothing_is_lost),
		WORLD(only_the_first_three_servers_count),
		WORLD(the_order_of_sources_is_the_machines),
		WORLD(without_any_files_names_are_not_found_and_nothing_breaks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
