/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a person's answer. With the answer a call is served again from its beginning:
 * what its arguments say by then is what is judged. */
#include "network/network.h"
#include "../base/units.h"

#include <stdio.h>
#include <string.h>

enum { ASKING_MOST = 1024, CALLS_MOST = 4096, TEXT = 4200 };

static const uint64_t second = 1000000000;

/* One question; all who want the same wait for its answer. */
struct asking {
	struct asking *next;
	struct wish wish;
	struct timespec begun;
	char operation[16], protocol[8], program[32], host[TARGET_NAME], address[64], warning[512],
		rule[512], object[TEXT];
	char *command;
	struct waiter {
		struct seccomp_notif call;
		const struct trap *trap;
	} * waiters;
	size_t count;
};

static const char *keep(const char *text, char *room, size_t size)
{
	if (!text)
		return NULL;
	snprintf(room, size, "%s", text);
	return room;
}

/* What is asked for: the target, and where it leads if that is what is in question. */
static void write_key(const struct wish *wish, char key[static TEXT])
{
	if (wish->command) {
		snprintf(key, TEXT, "%s %s", wish->operation, wish->command);
		return;
	}
	snprintf(key, TEXT, "%s %s %s", wish->operation, wish->object,
		 wish->warning && wish->address ? wish->address : "");
}

static struct asking *find(struct observer *observer, const char *key)
{
	struct asking *asking = observer->asking;
	char other[TEXT];

	for (; asking; asking = asking->next) {
		write_key(&asking->wish, other);
		if (strcmp(other, key) == 0)
			return asking;
	}
	return NULL;
}

static struct asking *begin_asking(struct observer *observer, const struct seccomp_notif *call,
				   const struct wish *wish, const char *rule)
{
	struct asking *asking = calloc(1, sizeof(*asking)), **last = &observer->asking;

	if (!asking)
		abort();
	asking->wish = *wish;
	clock_gettime(CLOCK_REALTIME, &asking->begun);
	asking->wish.number = ++observer->wishes;
	asking->wish.rule = keep(rule, asking->rule, sizeof(asking->rule));
	asking->wish.pid = (pid_t)call->pid;
	caller_name((pid_t)call->pid, asking->program);
	asking->wish.program = asking->program;
	asking->wish.operation =
		keep(wish->operation, asking->operation, sizeof(asking->operation));
	asking->wish.protocol = keep(wish->protocol, asking->protocol, sizeof(asking->protocol));
	asking->wish.host = keep(wish->host, asking->host, sizeof(asking->host));
	asking->wish.address = keep(wish->address, asking->address, sizeof(asking->address));
	asking->wish.warning = keep(wish->warning, asking->warning, sizeof(asking->warning));
	asking->wish.object = keep(wish->object, asking->object, sizeof(asking->object));
	asking->wish.command = asking->command = wish->command ? strdup(wish->command) : NULL;
	while (*last)
		last = &(*last)->next;
	*last = asking;
	observer->asking_count++;
	return asking;
}

static struct wanted *wanted_of(struct observer *observer, const char *key)
{
	for (size_t i = 0; i < observer->wanted_count; i++)
		if (strcmp(observer->wanted[i].key, key) == 0)
			return &observer->wanted[i];
	return NULL;
}

/* What was answered before is no new question, nor is a call that a signal had interrupted. */
static bool is_new(struct wanted *wanted, uint64_t now)
{
	bool new = !wanted || (!wanted->answered && now > wanted->last + second);

	if (wanted)
		wanted->last = now;
	return new;
}

static bool wants_too_much(struct observer *observer, const char *key)
{
	uint64_t now = monotonic_ns(),
		 *last = &observer->asked_at[observer->asked % WISHES_A_SECOND];
	struct wanted *wanted = wanted_of(observer, key);

	if (observer->silenced || !is_new(wanted, now))
		return observer->silenced;
	if (observer->asked == WISHES_MOST)
		observer->silenced =
			"it asked more than 50 times; the rest is refused without asking";
	else if (observer->asked >= WISHES_A_SECOND && now < *last + second)
		observer->silenced = "it asked more than 10 times in a second; the rest is refused "
				     "without asking";
	if (observer->silenced)
		return true;
	observer->asked++;
	*last = now;
	if (!wanted)
		observer->wanted[observer->wanted_count++] =
			(struct wanted){.key = strdup(key), .last = now};
	return false;
}

const char *observer_silenced(const struct observer *observer)
{
	return observer->silenced;
}

bool wish_add(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	      const struct wish *wish, const char *rule)
{
	struct asking *asking;
	char key[TEXT];

	write_key(wish, key);
	/* What was granted and is still refused will be refused whatever is answered. */
	if (!observer->observed->asks || observer->settling || list_has(&observer->granted, key))
		return false;
	asking = find(observer, key);
	if (!asking && wants_too_much(observer, key))
		return false;
	if (asking ? asking->count >= CALLS_MOST : observer->asking_count >= ASKING_MOST)
		return false;
	if (!asking)
		asking = begin_asking(observer, call, wish, rule);
	asking->waiters =
		reallocarray(asking->waiters, asking->count + 1, sizeof(*asking->waiters));
	if (!asking->waiters)
		abort();
	asking->waiters[asking->count++] = (struct waiter){*call, trap};
	return true;
}

static struct asking *take(struct observer *observer, struct asking **link)
{
	struct asking *asking = *link;

	*link = asking->next;
	observer->asking_count--;
	return asking;
}

static void asking_free(struct asking *asking)
{
	free(asking->waiters);
	free(asking->command);
	free(asking);
}

void wish_sweep(struct observer *observer)
{
	for (struct asking **link = &observer->asking; *link;) {
		struct asking *asking = *link;
		size_t kept = 0;

		for (size_t i = 0; i < asking->count; i++)
			if (still_waiting(observer, asking->waiters[i].call.id))
				asking->waiters[kept++] = asking->waiters[i];
		asking->count = kept;
		if (kept > 0)
			link = &asking->next;
		else
			asking_free(take(observer, link));
	}
}

const struct wish *observer_wish(struct observer *observer)
{
	wish_sweep(observer);
	return observer->asking ? &observer->asking->wish : NULL;
}

const struct wish *observer_wish_after(const struct observer *observer, uint64_t number)
{
	for (const struct asking *asking = observer->asking; asking; asking = asking->next)
		if (asking->wish.number > number)
			return &asking->wish;
	return NULL;
}

void observer_permit(struct observer *observer, const char *permission, const struct term *term)
{
	terms_add(observer, permission, term);
}

static bool permits_target(const struct observer *observer, const struct wish *wish)
{
	struct in6_addr address;

	/* A name alone does not open what must be named itself. */
	if (address_read(wish->warning ? wish->address : wish->host, &address))
		return host_rules_address(&observer->permitted, &address, wish->port,
					  /* named= */ false, NULL) == HOST_ALLOWED;
	return !wish->warning &&
	       host_rules_name(&observer->permitted, wish->host, wish->port) == HOST_ALLOWED;
}

bool observer_permits(const struct observer *observer, const struct wish *wish)
{
	static const struct {
		const char *operation;
		enum permit_kind kind;
	} files[] = {{"read", PERMIT_READ}, {"delete", PERMIT_DELETE}, {"write", PERMIT_WRITE}};

	if (wish->host)
		return permits_target(observer, wish);
	if (strcmp(wish->operation, "unix") == 0)
		return list_has(&observer->permitted_sockets, wish->object);
	for (size_t i = 0; i < ELEMENTS(files); i++)
		if (strcmp(wish->operation, files[i].operation) == 0)
			return permit_covers(observer, files[i].kind, wish->object, wish->tree);
	return false;
}

/* What was granted is among the refusals too, with its answer: the sandbox did refuse it. */
static void note(struct observer *observer, const struct asking *asking,
		 const struct waiter *waiter, const char *answer)
{
	const struct wish *wish = &asking->wish;
	struct denial *denial =
		ledger_add(&observer->ledger, wish->operation, wish->object, waiter->trap->name,
			   asking->rule, *wish->program ? wish->program : NULL);

	if (!denial)
		return;
	if (wish->host)
		ledger_add_target(denial, wish->host, wish->address, wish->port, wish->protocol);
	denial->answer = (char *)answer;
	terms_settle(observer, denial - observer->ledger.denials, waiter->call.id);
}

void observer_settle(struct observer *observer, uint64_t number, const char *answer)
{
	struct asking **link = &observer->asking, *asking;
	bool granted = strcmp(answer, "granted") == 0;
	struct wanted *wanted;
	char key[TEXT];

	while (*link && (*link)->wish.number != number)
		link = &(*link)->next;
	if (!*link)
		return;
	asking = take(observer, link);
	terms_check(observer); /* a person may have thought for long */
	write_key(&asking->wish, key);
	if (granted)
		list_add(&observer->granted, key);
	wanted = wanted_of(observer, key);
	if (wanted && strcmp(answer, "none") != 0)
		wanted->answered = true;
	observer->ledger.tried = asking->begun;
	for (size_t i = 0; i < asking->count; i++) {
		const struct waiter *waiter = &asking->waiters[i];

		if (!still_waiting(observer, waiter->call.id))
			continue;
		/* Where another's yes covered it, it is one more use of that. */
		if (granted && observer->terms.settled < observer->terms.count)
			note(observer, asking, waiter, answer);
		/* A yes may have been to one step of several: where a name leads is the next. */
		observer->settling = granted ? NULL : answer;
		serve_call(observer, &waiter->call, waiter->trap);
		observer->settling = NULL;
	}
	observer->ledger.tried = (struct timespec){0};
	asking_free(asking);
}

void wish_done(struct observer *observer)
{
	while (observer->asking)
		asking_free(take(observer, &observer->asking));
	list_done(&observer->granted);
	never_done(observer->never_places);
	copies_done(&observer->copies);
	while (observer->wanted_count > 0)
		free(observer->wanted[--observer->wanted_count].key);
}
