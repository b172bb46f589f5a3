/* SPDX-License-Identifier: Apache-2.0 */
#include "server.h"
#include "exchange.h"
#include "../../src/web/listen.h"
#include "../../src/web/running.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

enum { CONNECTION_MEMORY = 64 << 10, SILENCE_SECONDS = 30 };

static void note_connection(void *cls, struct MHD_Connection *connection, void **context,
			    enum MHD_ConnectionNotificationCode what)
{
	struct server *server = cls;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (what == MHD_CONNECTION_NOTIFY_STARTED && info)
		*context = peers_add(&server->peers, info->connect_fd);
	else if (what == MHD_CONNECTION_NOTIFY_CLOSED && *context)
		peers_remove(&server->peers, *context);
}

/* The path is taken as it was sent; libmicrohttpd is not to make another of it. */
static size_t leave_as_is(void *cls, struct MHD_Connection *connection, char *text)
{
	(void)cls;
	(void)connection;
	return strlen(text);
}

/* What the library has to say of hostile requests is of no use to anybody. */
static void say_nothing(void *cls, const char *format, va_list arguments)
{
	(void)cls;
	(void)format;
	(void)arguments;
}

/* Takes ownership of the listening socket. */
static int start_daemon(struct server *server, struct listener *listener, struct error **ret_error)
{
	const struct MHD_OptionItem options[] = {
		{MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)say_nothing, NULL},
		{MHD_OPTION_LISTEN_SOCKET, listener->fd, NULL},
		{MHD_OPTION_CONNECTION_LIMIT, PEERS_MOST, NULL},
		{MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY, NULL},
		{MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_SECONDS, NULL},
		{MHD_OPTION_STRICT_FOR_CLIENT, 1, NULL},
		{MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)leave_as_is, NULL},
		{MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)exchange_begin, server},
		{MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)exchange_end, server},
		{MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)note_connection, server},
		{MHD_OPTION_END, 0, NULL},
	};

	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		exchange_step, server, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
	if (!server->daemon)
		return fail(ret_error, E_ENGINE, "libmicrohttpd does not start");
	listener->fd = -1;
	return 0;
}

static int block_signals(struct server *server, struct error **ret_error)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    (server->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "taking signals");
	return 0;
}

int server_open(const struct server_options *options, struct server **ret_server,
		struct error **ret_error)
{
	struct server *server = calloc(1, sizeof(*server));
	struct listener listener = {.fd = -1, .mark = -1};
	uint16_t last = 0;
	int r;

	if (!server)
		abort();
	*server = (struct server){.lock = -1, .signals = -1, .mark = -1};
	r = block_signals(server, ret_error);
	if (r == 0)
		r = web_running_take(options->state, &server->lock, &last, ret_error);
	if (r == 0)
		r = listener_open(options->address, options->port, last, options->anywhere,
				  options->names, &listener, ret_error);
	if (r == 0)
		r = web_open(options->state, options->program, &listener.hosts, &server->web,
			     ret_error);
	if (r == 0)
		r = start_daemon(server, &listener, ret_error);
	if (r == 0)
		r = web_running_publish(server->lock, listener.url, listener.port, ret_error);
	if (r == 0) {
		server->url = STEAL(listener.url);
		server->mark = STEAL_FD(listener.mark);
		*ret_server = STEAL(server);
	}
	listener_close(&listener);
	server_close(server);
	return r;
}

const char *server_url(const struct server *server)
{
	return server->url;
}

int server_serve(struct server *server, struct error **ret_error)
{
	struct pollfd fds[] = {
		{.fd = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		 .events = POLLIN},
		{.fd = web_fd(server->web), .events = POLLIN},
		{.fd = server->signals, .events = POLLIN},
	};

	for (;;) {
		MHD_UNSIGNED_LONG_LONG wait = 0;
		int most = web_tick_ms(server->web);

		if (MHD_get_timeout(server->daemon, &wait) == MHD_YES)
			most = (int)MIN(wait, (MHD_UNSIGNED_LONG_LONG)most);
		if (poll(fds, ELEMENTS(fds), most) < 0 && errno != EINTR)
			return fail_errno(ret_error, E_ENGINE, errno, "waiting for requests");
		if (fds[2].revents)
			return 0;
		if (fds[1].revents)
			web_look(server->web);
		web_tick(server->web);
		peers_tick(&server->peers);
		exchange_tick(server);
		if (MHD_run(server->daemon) != MHD_YES)
			return fail(ret_error, E_ENGINE, "libmicrohttpd has stopped");
	}
}

void server_close(struct server *server)
{
	if (!server)
		return;
	if (server->daemon) {
		exchange_wake_all(server);
		MHD_stop_daemon(server->daemon);
	}
	web_close(server->web);
	close_fd(&server->mark);
	close_fd(&server->signals);
	close_fd(&server->lock);
	free(server->url);
	free(server);
}
