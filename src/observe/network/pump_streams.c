/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of streams. Bytes go from socket to pipe to socket without being copied. A pipe is borrowed
 * for as long as something is in it: idle connections hold none, for what a user may keep in pipes
 * is bounded for all of his programs together. */
#include "pump_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>

enum { TURN = 16, CHUNK = 1 << 20, PIPES_KEPT = 8 };

struct end {
	struct source source;
	struct pair *pair;
	int fd;
	bool failed;
};

/* From an end to the other. */
struct way {
	int pipe[2]; /* -1 while nothing is in it */
	size_t held;
	bool ended, told; /* nothing more comes; and the other end knows */
};

struct pair {
	struct end ends[2];
	struct way ways[2]; /* ways[i]: from ends[i] */
	uint64_t number;
	struct pair *after, **before; /* among all */
	struct pair *next;	      /* among those that are ready, or gone */
	bool is_ready, is_gone;
};

static struct {
	int items[PIPES_KEPT][2];
	size_t count;
} pipes;

static bool borrow_pipe(struct way *way)
{
	if (way->pipe[0] >= 0)
		return true;
	if (pipes.count > 0) {
		pipes.count--;
		way->pipe[0] = pipes.items[pipes.count][0];
		way->pipe[1] = pipes.items[pipes.count][1];
		return true;
	}
	return pipe2(way->pipe, O_CLOEXEC | O_NONBLOCK) == 0;
}

static void return_pipe(struct way *way)
{
	if (way->pipe[0] < 0)
		return;
	if (way->held == 0 && pipes.count < PIPES_KEPT) {
		pipes.items[pipes.count][0] = way->pipe[0];
		pipes.items[pipes.count][1] = way->pipe[1];
		pipes.count++;
	} else {
		close(way->pipe[0]);
		close(way->pipe[1]);
	}
	way->pipe[0] = way->pipe[1] = -1;
}

static void reset(int fd)
{
	const struct linger at_once = {.l_onoff = 1, .l_linger = 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

static void end_pair(struct pump *pump, struct pair *pair, bool with_reset)
{
	pair->is_gone = true;
	*pair->before = pair->after;
	if (pair->after)
		pair->after->before = pair->before;
	for (int i = 0; i < 2; i++) {
		if (with_reset)
			reset(pair->ends[i].fd);
		close_fd(&pair->ends[i].fd);
		return_pipe(&pair->ways[i]);
	}
	pump->pairs--;
	if (!pair->is_ready) { /* else whoever takes it from there does */
		pair->next = pump->gone;
		pump->gone = pair;
	}
}

enum moved { MOVED_ALL, MOVED_SOME, MOVE_FAILED };

static enum moved fill(struct way *way, int from)
{
	ssize_t count;

	if (!borrow_pipe(way))
		return MOVE_FAILED;
	count = splice(from, NULL, way->pipe[1], NULL, CHUNK, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
	if (count < 0 && errno != EAGAIN)
		return MOVE_FAILED;
	way->held = (size_t)MAX(count, 0);
	way->ended = count == 0;
	if (count <= 0)
		return_pipe(way);
	return count < 0 ? MOVED_ALL : MOVED_SOME;
}

static enum moved drain(struct way *way, int to)
{
	ssize_t count =
		splice(way->pipe[0], NULL, to, NULL, way->held, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);

	if (count < 0)
		return errno == EAGAIN ? MOVED_ALL : MOVE_FAILED;
	way->held -= (size_t)count;
	if (way->held == 0)
		return_pipe(way);
	return MOVED_SOME;
}

/* Until one of the two sockets has to be waited for: MOVED_ALL; or for as long as a turn lasts. */
static enum moved move(struct way *way, int from, int to)
{
	enum moved moved = MOVED_SOME;

	for (int i = 0; i < TURN && moved == MOVED_SOME && !(way->ended && way->held == 0); i++)
		moved = way->held > 0 ? drain(way, to) : fill(way, from);
	if (!way->ended || way->held > 0)
		return moved;
	if (!way->told)
		shutdown(to, SHUT_WR);
	way->told = true;
	return MOVED_ALL;
}

static void take_turn(struct pump *pump, struct pair *pair)
{
	for (int i = 0; i < 2; i++) {
		enum moved moved = move(&pair->ways[i], pair->ends[i].fd, pair->ends[1 - i].fd);

		if (moved == MOVE_FAILED) {
			end_pair(pump, pair, /* with_reset= */ true);
			return;
		}
		if (moved == MOVED_SOME && !pair->is_ready) {
			pair->is_ready = true;
			pair->next = pump->ready;
			pump->ready = pair;
		}
	}
	for (int i = 0; i < 2; i++)
		if (pair->ends[i].failed && pair->ways[i].ended) {
			end_pair(pump, pair, /* with_reset= */ true);
			return;
		}
	if (pair->ways[0].told && pair->ways[1].told)
		end_pair(pump, pair, /* with_reset= */ false);
}

static void serve(struct pump *pump, struct source *source, uint32_t events)
{
	struct end *end = (struct end *)source;

	if (end->pair->is_gone)
		return;
	/* What came before the failure can still be read, and then the failure is met. */
	end->failed = end->failed || events & EPOLLERR;
	take_turn(pump, end->pair);
}

void pump_serve_ready(struct pump *pump)
{
	struct pair *pair = STEAL(pump->ready);

	while (pair) {
		struct pair *next = pair->next;

		pair->is_ready = false;
		if (pair->is_gone) {
			pair->next = pump->gone;
			pump->gone = pair;
		} else {
			take_turn(pump, pair);
		}
		pair = next;
	}
}

void pump_bury_pairs(struct pump *pump)
{
	while (pump->gone) {
		struct pair *pair = pump->gone;

		pump->gone = pair->next;
		free(pair);
	}
}

void pump_part_pairs(struct pump *pump, uint64_t number)
{
	struct pair *after;

	for (struct pair *pair = pump->all; pair; pair = after) {
		after = pair->after;
		if (pair->number == number)
			end_pair(pump, pair, /* with_reset= */ true);
	}
}

void pump_add_pair(struct pump *pump, int one, int other, uint64_t number)
{
	struct pair *pair = pump->pairs < PAIRS_MOST && one >= 0 && other >= 0
				    ? calloc(1, sizeof(*pair))
				    : NULL;
	const int fds[] = {one, other}, on = 1;

	for (int i = 0; i < 2 && !pair; i++)
		if (fds[i] >= 0) {
			reset(fds[i]);
			close(fds[i]);
		}
	if (!pair)
		return;
	pump->pairs++;
	pair->number = number;
	pair->after = pump->all;
	pair->before = &pump->all;
	if (pump->all)
		pump->all->before = &pair->after;
	pump->all = pair;
	for (int i = 0; i < 2; i++) {
		pair->ends[i] = (struct end){{serve}, pair, fds[i], false};
		pair->ways[i] = (struct way){{-1, -1}, 0, false, false};
		fcntl(fds[i], F_SETFL, fcntl(fds[i], F_GETFL) | O_NONBLOCK);
		/* What the peers wanted to wait for was waited for. */
		setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		pump_watch(pump, fds[i], EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
			   &pair->ends[i].source);
	}
}
