/* SPDX-License-Identifier: Apache-2.0 */
/* One call to the user's systemd: StartTransientUnit, by a client of D-Bus that knows just that.
 *
 * Nothing the bus says is believed further than "it refused": that the process is in the scope is
 * read from /proc. */
#include "cgroup_parts.h"
#include "../base/io.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { ANSWER_MOST = 1 << 20, FIELDS_MOST = 64 };
enum { HELLO_SERIAL = 1, START_SERIAL = 2 };
enum { TYPE_CALL = 1, TYPE_RETURN = 2, TYPE_ERROR = 3, FIELD_REPLY_SERIAL = 5 };

static const uint64_t patience_ns = 3000000000;

char *scope_bus(void)
{
	const char *directory = getenv("XDG_RUNTIME_DIR");
	char *path = NULL;
	struct stat st;

	if (directory && directory[0] == '/' ? asprintf(&path, "%s/bus", directory) < 0
					     : asprintf(&path, "/run/user/%u/bus", geteuid()) < 0)
		abort();
	if (stat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		return path;
	free(path);
	return NULL;
}

/* Little-endian on the wire, as the message says of itself; so are we (filter.c knows x86-64 only).
 */
static void align(struct buffer *message, size_t to)
{
	while (message->length % to)
		buffer_add_char(message, '\0');
}

static void put_u32(struct buffer *message, uint32_t value)
{
	align(message, 4);
	buffer_add(message, &value, sizeof(value));
}

static void put_u64(struct buffer *message, uint64_t value)
{
	align(message, 8);
	buffer_add(message, &value, sizeof(value));
}

static void put_string(struct buffer *message, const char *text)
{
	put_u32(message, (uint32_t)strlen(text));
	buffer_add(message, text, strlen(text) + 1);
}

static void put_signature(struct buffer *message, const char *text)
{
	buffer_add_char(message, (char)strlen(text));
	buffer_add(message, text, strlen(text) + 1);
}

static void patch_u32(struct buffer *message, size_t at, size_t value)
{
	uint32_t number = (uint32_t)value;

	memcpy(message->data + at, &number, sizeof(number));
}

static void put_field(struct buffer *message, char field, const char *type, const char *value)
{
	align(message, 8);
	buffer_add_char(message, field);
	put_signature(message, type);
	if (*type == 'g')
		put_signature(message, value);
	else
		put_string(message, value);
}

/* Everything before the body. Bodies begin at a multiple of eight, so that they can be made in
 * place. */
static void begin_call(struct buffer *message, uint32_t serial, const char *destination,
		       const char *path, const char *interface, const char *member,
		       const char *signature)
{
	static const char start[] = {'l', TYPE_CALL, 0, 1};
	size_t fields;

	buffer_add(message, start, sizeof(start));
	put_u32(message, 0);
	put_u32(message, serial);
	put_u32(message, 0);
	fields = message->length;
	put_field(message, 1, "o", path);
	put_field(message, 2, "s", interface);
	put_field(message, 3, "s", member);
	put_field(message, 6, "s", destination);
	if (signature)
		put_field(message, 8, "g", signature);
	patch_u32(message, fields - 4, message->length - fields);
	align(message, 8);
}

static void put_property(struct buffer *message, const char *name, const char *type)
{
	align(message, 8);
	put_string(message, name);
	put_signature(message, type);
}

static void put_number(struct buffer *message, const char *name, uint64_t value)
{
	put_property(message, name, "t");
	put_u64(message, value);
}

void scope_message(struct buffer *message, const char *name, pid_t pid, const struct limits *limits)
{
	size_t body, array;

	begin_call(message, START_SERIAL, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
		   "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))");
	body = message->length;
	put_string(message, name);
	put_string(message, "fail");
	put_u32(message, 0);
	array = message->length;
	align(message, 8);
	size_t first = message->length;
	put_property(message, "Description", "s");
	put_string(message, "a command run by ward");
	put_property(message, "CollectMode", "s");
	put_string(message, "inactive-or-failed");
	put_property(message, "PIDs", "au");
	put_u32(message, sizeof(uint32_t));
	put_u32(message, (uint32_t)pid);
	if (limits->memory) {
		put_number(message, "MemoryMax", limits->memory);
		put_number(message, "MemorySwapMax", 0);
	}
	if (limits->millicpus) { /* microseconds in a second */
		put_number(message, "CPUQuotaPerSecUSec", limits->millicpus * 1000);
		put_number(message, "CPUWeight", WEIGHT);
	}
	if (limits->processes)
		put_number(message, "TasksMax", tasks_for(limits->processes));
	patch_u32(message, array - 4, message->length - first);
	put_u32(message, 0); /* no units beside it */
	align(message, 8);
	patch_u32(message, 4, message->length - body);
}

static uint32_t get_u32(const uint8_t *data)
{
	uint32_t value;

	memcpy(&value, data, sizeof(value));
	return value;
}

/* The serial that a message answers; 0: none. Fields of other types end the search: the bus puts
 * this one among those that are known here. */
static uint32_t answered_serial(const uint8_t *fields, size_t length)
{
	size_t at = 0;

	for (int i = 0; i < FIELDS_MOST; i++) {
		size_t text;

		at = (at + 7) / 8 * 8;
		if (at + 4 > length || fields[at + 1] != 1 || fields[at + 3] != 0)
			return 0;
		if (fields[at] == FIELD_REPLY_SERIAL && fields[at + 2] == 'u')
			return at + 8 <= length ? get_u32(fields + at + 4) : 0;
		switch (fields[at + 2]) {
		case 'o':
		case 's':
			if (at + 8 > length)
				return 0;
			text = get_u32(fields + at + 4);
			if (text > length || at + 8 + text + 1 > length)
				return 0;
			at += 8 + text + 1;
			break;
		case 'g':
			if (at + 5 > length)
				return 0;
			at += 5 + (size_t)fields[at + 4] + 1;
			break;
		case 'u':
			at += 8;
			break;
		default:
			return 0;
		}
	}
	return 0;
}

int scope_answer(const uint8_t *data, size_t length, uint32_t serial, size_t *ret_length)
{
	size_t body, fields, whole;

	*ret_length = 0;
	if (length < 16)
		return 0;
	if (data[0] != 'l' || data[3] != 1)
		return -EPROTO;
	body = get_u32(data + 4);
	fields = get_u32(data + 12);
	if (body > ANSWER_MOST || fields > ANSWER_MOST)
		return -EPROTO;
	whole = 16 + (fields + 7) / 8 * 8 + body;
	*ret_length = whole;
	if (length < whole || (data[1] != TYPE_RETURN && data[1] != TYPE_ERROR) ||
	    answered_serial(data + 16, fields) != serial)
		return 0;
	return data[1] == TYPE_RETURN ? 1 : -EACCES;
}

static int await(int fd, uint64_t until)
{
	struct pollfd event = {fd, POLLIN, 0};
	uint64_t now = monotonic_ns();

	if (now >= until)
		return -ETIMEDOUT;
	return poll(&event, 1, (int)((until - now) / 1000000 + 1)) > 0 ? 0 : -ETIMEDOUT;
}

static int await_answer(int fd, uint32_t serial, uint64_t until)
{
	_cleanup_buffer_ struct buffer got = {0};
	char data[4096];

	for (;;) {
		size_t length;
		ssize_t n;
		int r = scope_answer((const uint8_t *)got.data, got.length, serial, &length);

		if (r != 0)
			return r < 0 ? r : 0;
		if (length && got.length >= length) { /* another message */
			memmove(got.data, got.data + length, got.length - length);
			got.length -= length;
			continue;
		}
		if ((r = await(fd, until)) < 0)
			return r;
		n = recv(fd, data, sizeof(data), 0);
		if (n <= 0)
			return -EPROTO;
		buffer_add(&got, data, (size_t)n);
	}
}

static int say(int fd, const void *data, size_t length)
{
	return send(fd, data, length, MSG_NOSIGNAL) == (ssize_t)length ? 0 : -EPIPE;
}

/* Who we are the kernel tells the bus; it wants to hear it from us all the same. */
static int authenticate(int fd, uint64_t until)
{
	char uid[16], line[64], reply[256];
	size_t length = 0;
	int r;

	snprintf(uid, sizeof(uid), "%u", geteuid());
	snprintf(line, sizeof(line), "%cAUTH EXTERNAL ", '\0');
	length = 1 + strlen(line + 1);
	for (const char *c = uid; *c; c++)
		length += (size_t)snprintf(line + length, sizeof(line) - length, "%02x",
					   (unsigned)*c);
	length += (size_t)snprintf(line + length, sizeof(line) - length, "\r\n");
	if ((r = say(fd, line, length)) < 0)
		return r;
	for (length = 0; length < 2 || reply[length - 1] != '\n';) {
		ssize_t n;

		if (length == sizeof(reply))
			return -EPROTO;
		if ((r = await(fd, until)) < 0)
			return r;
		n = recv(fd, reply + length, 1, 0);
		if (n <= 0)
			return -EPROTO;
		length++;
	}
	return strncmp(reply, "OK ", 3) == 0 ? say(fd, "BEGIN\r\n", 7) : -EACCES;
}

/* systemd moves the process when it has made the scope, after it has answered. */
static int await_scope(const char *name, pid_t pid, uint64_t until, char **ret_path)
{
	char path[64], text[GROUP_FILE], *line, *end;
	size_t length = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	do {
		if (group_read(AT_FDCWD, path, text) < 0)
			return -ESRCH;
		line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
		if (line) {
			line = strstr(line, "0::") + 3;
			end = strchrnul(line, '\n');
			*end = '\0';
			if ((size_t)(end - line) > length && end[-(ssize_t)length - 1] == '/' &&
			    strcmp(end - length, name) == 0 && !strstr(line, "/..")) {
				*ret_path = strdup(line);
				if (!*ret_path)
					abort();
				return 0;
			}
		}
		usleep(500);
	} while (monotonic_ns() < until);
	return -ETIMEDOUT;
}

int scope_start(const char *bus, const char *name, pid_t pid, const struct limits *limits,
		char **ret_path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	_cleanup_buffer_ struct buffer hello = {0}, start = {0};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval patience = {.tv_sec = 1};
	uint64_t until = monotonic_ns() + patience_ns;
	int r;

	if (fd < 0 || strlen(bus) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	strcpy(address.sun_path, bus);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	begin_call(&hello, HELLO_SERIAL, "org.freedesktop.DBus", "/org/freedesktop/DBus",
		   "org.freedesktop.DBus", "Hello", NULL);
	scope_message(&start, name, pid, limits);
	if ((r = authenticate(fd, until)) < 0 || (r = say(fd, hello.data, hello.length)) < 0 ||
	    (r = await_answer(fd, HELLO_SERIAL, until)) < 0 ||
	    (r = say(fd, start.data, start.length)) < 0 ||
	    (r = await_answer(fd, START_SERIAL, until)) < 0)
		return r;
	return await_scope(name, pid, until, ret_path);
}
