/* SPDX-License-Identifier: Apache-2.0 */
/* The child outside: its loop, and how it is spoken to. */
#include "pump_parts.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

enum {
	PATIENCE_MS = 200,
	FDS_MOST = 8192,
	EVENTS = 64,
	ORDERS = 16,
	SWEEP_MS = 10000,
	QUIET_MS = 30
};

enum order_kind { ORDER_STREAMS, ORDER_PART, ORDER_TARGET, ORDER_FORGET };

struct order {
	enum order_kind kind;
	uint64_t number;
	struct sockaddr_storage outside;
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void pump_watch(struct pump *pump, int fd, uint32_t events, struct source *source)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	(void)epoll_ctl(pump->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* False when the supervisor is gone. */
static bool take_orders(struct pump *pump, int control)
{
	for (int i = 0; i < ORDERS; i++) {
		struct order order;
		int fds[MESSAGE_FDS];
		int r = receive_message(control, &order, sizeof(order), fds, /* milliseconds= */ 0);

		if (r < 0)
			return r == -EAGAIN;
		switch (order.kind) {
		case ORDER_STREAMS:
			pump_add_pair(pump, fds[0], fds[1], order.number);
			break;
		case ORDER_PART:
			pump_part_pairs(pump, order.number);
			break;
		case ORDER_TARGET:
			pump_set_target(pump, (unsigned)order.number, fds[0], fds[1],
					&order.outside);
			break;
		case ORDER_FORGET:
			pump_forget_target(pump, (unsigned)order.number);
			break;
		}
	}
	return true;
}

static void limit_itself(void)
{
	const struct rlimit none = {0, 0};
	struct rlimit files;

	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_FSIZE, &none);
	setrlimit(RLIMIT_NPROC, &none);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max = MIN(files.rlim_max, (rlim_t)FDS_MOST);
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* One turn; false where nothing happened for that long. */
static bool take_turn(struct pump *pump, int control, bool *ended, int wait_ms)
{
	struct epoll_event events[EVENTS];
	int count = epoll_wait(pump->epoll, events, EVENTS, pump->ready ? 0 : wait_ms);
	bool worked = count > 0 || pump->ready;

	pump->now_ms = now_ms();
	for (int i = 0; i < count; i++) {
		struct source *source = events[i].data.ptr;

		if (source)
			source->serve(pump, source, events[i].events);
		else if (!take_orders(pump, control))
			*ended = true;
	}
	pump_serve_ready(pump);
	pump_bury_pairs(pump);
	pump_bury_senders(pump);
	return worked;
}

static void work(int control, const void *data)
{
	static struct pump pump;
	uint64_t swept, end;
	bool ended = false;

	(void)data;
	limit_itself();
	pump.epoll = epoll_create1(EPOLL_CLOEXEC);
	swept = pump.now_ms = now_ms();
	pump_watch(&pump, control, EPOLLIN, /* source= */ NULL);
	while (!ended) {
		take_turn(&pump, control, &ended, pump.senders > 0 ? SWEEP_MS : -1);
		if (pump.now_ms - swept >= SWEEP_MS) {
			pump_expire_senders(&pump);
			swept = pump.now_ms;
		}
	}
	/* What the command said last is on its way. */
	epoll_ctl(pump.epoll, EPOLL_CTL_DEL, control, NULL);
	end = pump.now_ms + PUMP_FINISH_MS;
	while (pump.pairs > 0 && pump.now_ms < end && take_turn(&pump, control, &ended, QUIET_MS))
		;
}

/* The supervisor's side */

int pump_start(struct child *pump)
{
	return child_start(pump, "ward-pump", NULL, 0, work, NULL);
}

int pump_streams(struct child *pump, int one, int other, uint64_t number)
{
	const struct order order = {.kind = ORDER_STREAMS, .number = number};

	return send_message(pump->socket, &order, sizeof(order), (int[]){one, other}, 2,
			    PATIENCE_MS);
}

int pump_datagrams(struct child *pump, unsigned number, int inside, int teller,
		   const struct sockaddr_storage *outside)
{
	const struct order order = {.kind = ORDER_TARGET, .number = number, .outside = *outside};
	size_t count = inside < 0 ? 0 : teller < 0 ? 1 : 2;

	return send_message(pump->socket, &order, sizeof(order), (int[]){inside, teller}, count,
			    PATIENCE_MS);
}

int pump_part(struct child *pump, uint64_t number)
{
	const struct order order = {.kind = ORDER_PART, .number = number};

	return send_message(pump->socket, &order, sizeof(order), NULL, 0, PATIENCE_MS);
}

int pump_forget(struct child *pump, unsigned number)
{
	const struct order order = {.kind = ORDER_FORGET, .number = number};

	return send_message(pump->socket, &order, sizeof(order), NULL, 0, PATIENCE_MS);
}

void pump_end(struct child *pump)
{
	struct pollfd end = {pump->socket, 0, 0};

	if (pump->pid > 0) {
		shutdown(pump->socket, SHUT_WR);
		(void)poll(&end, 1, PUMP_FINISH_MS);
	}
	child_end(pump);
}
