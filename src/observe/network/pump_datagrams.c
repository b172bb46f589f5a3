/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams. Each sender inside has a socket of its own outside, connected, so that nothing but
 * answers from the target can be heard on it, and they find back to whom they are for. */
#include "pump_parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

enum { TURN = 64, LARGEST = 65536 };

struct sender {
	struct source source;
	struct target *target;
	struct sockaddr_storage address; /* inside */
	socklen_t length;
	int outer; /* -1: gone */
	bool answered;
	uint64_t used_ms;
	struct sender *newer, *older; /* by use; older also links those that are gone */
};

struct target {
	struct source source;
	int inner, teller;
	struct sockaddr_storage inside, outside;
	struct sender *newest, *oldest;
	unsigned count;
};

static char datagram[LARGEST];

static void unlink_sender(struct sender *sender)
{
	struct target *target = sender->target;

	*(sender->newer ? &sender->newer->older : &target->newest) = sender->older;
	*(sender->older ? &sender->older->newer : &target->oldest) = sender->newer;
	sender->newer = sender->older = NULL;
}

static void link_newest(struct pump *pump, struct sender *sender)
{
	struct target *target = sender->target;

	sender->used_ms = pump->now_ms;
	sender->older = target->newest;
	*(target->newest ? &target->newest->newer : &target->oldest) = sender;
	target->newest = sender;
}

static void use(struct pump *pump, struct sender *sender)
{
	sender->used_ms = pump->now_ms;
	if (sender->target->newest == sender)
		return;
	unlink_sender(sender);
	link_newest(pump, sender);
}

static void drop(struct pump *pump, struct sender *sender)
{
	unlink_sender(sender);
	sender->target->count--;
	pump->senders--;
	close_fd(&sender->outer);
	sender->older = pump->gone_senders;
	pump->gone_senders = sender;
}

/* Errors of a host are told once, and are over. */
static void tell_error(const struct sender *sender, int error)
{
	if (error == ECONNREFUSED)
		pump_tell_refused(sender->target->teller, &sender->address,
				  &sender->target->inside);
}

static void serve_answers(struct pump *pump, struct source *source, uint32_t events)
{
	struct sender *sender = (struct sender *)source;

	(void)events;
	for (int i = 0; i < TURN && sender->outer >= 0; i++) {
		ssize_t length = recv(sender->outer, datagram, sizeof(datagram), MSG_DONTWAIT);

		if (length < 0 && errno == EAGAIN)
			return;
		if (length < 0) {
			tell_error(sender, errno);
			continue;
		}
		use(pump, sender);
		sender->answered = true;
		/* From the address it is bound to, which is the one that was sent to. */
		(void)sendto(sender->target->inner, datagram, (size_t)length,
			     MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)&sender->address,
			     sender->length);
	}
}

static int open_outer(const struct sockaddr_storage *outside)
{
	socklen_t length = outside->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
							  : sizeof(struct sockaddr_in);
	_cleanup_close_ int fd =
		socket(outside->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)outside, length) < 0)
		return -1;
	return STEAL_FD(fd);
}

static struct sender *find_sender(struct target *target, const struct sockaddr_storage *address,
				  socklen_t length)
{
	for (struct sender *sender = target->newest; sender; sender = sender->older)
		if (sender->length == length && memcmp(&sender->address, address, length) == 0)
			return sender;
	return NULL;
}

/* The one that was silent longest, of all targets. */
static void drop_oldest(struct pump *pump)
{
	struct sender *oldest = NULL;

	for (size_t i = 0; i < TARGETS_MOST && pump->targets[i]; i++) {
		struct sender *other = pump->targets[i]->oldest;

		if (other && (!oldest || other->used_ms < oldest->used_ms))
			oldest = other;
	}
	if (oldest)
		drop(pump, oldest);
}

/* Inside every address is its senders' own, so who holds the same port elsewhere can send as if
 * from a target: two targets would answer each other for ever. */
static bool is_target(const struct pump *pump, const struct sockaddr_storage *address,
		      socklen_t length)
{
	for (size_t i = 0; i < TARGETS_MOST && pump->targets[i]; i++)
		if (memcmp(&pump->targets[i]->inside, address, length) == 0)
			return true;
	return false;
}

static struct sender *add_sender(struct pump *pump, struct target *target,
				 const struct sockaddr_storage *address, socklen_t length)
{
	struct sender *sender;
	int outer;

	if (is_target(pump, address, length))
		return NULL;
	if (target->count >= SENDERS_MOST)
		drop(pump, target->oldest);
	if (pump->senders >= SENDERS_OF_ALL)
		drop_oldest(pump);
	outer = open_outer(&target->outside);
	if (outer < 0)
		return NULL;
	sender = calloc(1, sizeof(*sender));
	if (!sender)
		abort();
	*sender = (struct sender){.source = {serve_answers},
				  .target = target,
				  .address = *address,
				  .length = length,
				  .outer = outer};
	target->count++;
	pump->senders++;
	link_newest(pump, sender);
	pump_watch(pump, outer, EPOLLIN, &sender->source);
	return sender;
}

/* An error may be that of the datagram before, and then this one was not sent. */
static void pass_on(struct sender *sender, size_t length)
{
	for (int again = 0; again < 2; again++) {
		if (send(sender->outer, datagram, length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0 ||
		    errno == EAGAIN)
			return;
		tell_error(sender, errno);
	}
}

static void serve_sent(struct pump *pump, struct source *source, uint32_t events)
{
	struct target *target = (struct target *)source;

	(void)events;
	for (int i = 0; i < TURN; i++) {
		struct sockaddr_storage from = {0};
		socklen_t room = sizeof(from);
		ssize_t length = recvfrom(target->inner, datagram, sizeof(datagram), MSG_DONTWAIT,
					  (struct sockaddr *)&from, &room);
		struct sender *sender;

		if (length < 0)
			return;
		sender = find_sender(target, &from, room);
		if (sender)
			use(pump, sender);
		else
			sender = add_sender(pump, target, &from, room);
		if (sender)
			pass_on(sender, (size_t)length);
	}
}

/* Who was never answered may be answered there. */
static void lead_elsewhere(struct pump *pump, struct target *target,
			   const struct sockaddr_storage *outside)
{
	struct sender *older;

	for (struct sender *sender = target->newest; sender; sender = older) {
		older = sender->older;
		if (!sender->answered)
			drop(pump, sender);
	}
	target->outside = *outside;
}

void pump_set_target(struct pump *pump, unsigned number, int inside, int teller,
		     const struct sockaddr_storage *outside)
{
	struct target *target = number < TARGETS_MOST ? pump->targets[number] : NULL;
	socklen_t length = sizeof(target->inside);

	if (target)
		lead_elsewhere(pump, target, outside);
	if (target || inside < 0 || number >= TARGETS_MOST) {
		close_fd(&inside);
		close_fd(&teller);
		return;
	}
	target = calloc(1, sizeof(*target));
	if (!target)
		abort();
	*target = (struct target){
		.source = {serve_sent}, .inner = inside, .teller = teller, .outside = *outside};
	(void)getsockname(inside, (struct sockaddr *)&target->inside, &length);
	pump->targets[number] = target;
	pump_watch(pump, inside, EPOLLIN, &target->source);
}

/* Its place stays taken, since the others are counted by their places. */
void pump_forget_target(struct pump *pump, unsigned number)
{
	struct target *target = number < TARGETS_MOST ? pump->targets[number] : NULL;

	if (!target)
		return;
	while (target->oldest)
		drop(pump, target->oldest);
	close_fd(&target->inner);
	close_fd(&target->teller);
	memset(&target->inside, 0, sizeof(target->inside));
}

void pump_expire_senders(struct pump *pump)
{
	for (size_t i = 0; i < TARGETS_MOST && pump->targets[i]; i++)
		while (pump->targets[i]->oldest &&
		       pump->now_ms - pump->targets[i]->oldest->used_ms >= SENDER_IDLE_MS)
			drop(pump, pump->targets[i]->oldest);
}

void pump_bury_senders(struct pump *pump)
{
	while (pump->gone_senders) {
		struct sender *sender = pump->gone_senders;

		pump->gone_senders = sender->older;
		free(sender);
	}
}
