/* SPDX-License-Identifier: Apache-2.0 */
/* What clients send to the daemon, as it is read and dispatched, by either socket. No process is
 * started: as many are at work as may be. */
#include "../../src/base/io.h"
#include "../../src/serve/daemon_parts.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static struct daemon_options options;
static struct daemon the_daemon;

static char state[] = "/tmp/fuzz-daemon-XXXXXX";

static void remove_state(void)
{
	(void)remove_tree(AT_FDCWD, state);
}

static void set_up(void)
{
	if (the_daemon.state)
		return;
	if (!mkdtemp(state))
		abort();
	atexit(remove_state);
	options.state = state;
	the_daemon.options = &options;
	the_daemon.state = state;
	the_daemon.epoll = epoll_create1(EPOLL_CLOEXEC);
	the_daemon.watched = -1;
	the_daemon.worker_count = WORKERS + WORKERS_CLIENT;
	if (watch_open(&the_daemon, NULL) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct client client = {.daemon = &the_daemon, .source.fd = -1, .pidfd = -1};
	const char *line;
	size_t length;
	enum wire_heard heard;

	if (size < 1)
		return 0;
	set_up();
	client.side = data[0] % 2 ? DOOR_AGENT : DOOR_APPROVER;
	client.by = (char *)"fuzz";
	client.peer = (struct ucred){.pid = getpid(), .uid = geteuid(), .gid = getegid()};
	client.wire = (struct wire){.in = -1,
				    .out = open("/dev/null", O_WRONLY | O_CLOEXEC),
				    .most = 4096,
				    .keeps = CLIENT_KEEPS};
	the_daemon.clients = &client;
	buffer_add(&client.wire.heard, data + 1, size - 1);
	buffer_add(&client.wire.heard, "\n", 1);
	while ((heard = wire_next(&client.wire, &line, &length)) != WIRE_NOTHING)
		if (heard == WIRE_LINE)
			methods_serve(&client, line, length);
	(void)client_deadline(&client);
	while (client.calls)
		call_free(client.calls);
	the_daemon.clients = NULL;
	close(client.wire.out);
	wire_done(&client.wire);
	return 0;
}
