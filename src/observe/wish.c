/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that wait for a person's answer. With the answer a call is served again from its beginning:
 * what its arguments say by then is what is judged. */
#include "network/network.h"

#include <stdio.h>
#include <string.h>

enum { ASKING_MOST = 64, TEXT = 4200 };

struct asking {
	struct asking *next;
	struct seccomp_notif call;
	const struct trap *trap;
	struct wish wish;
	char operation[16], protocol[8], program[32], host[TARGET_NAME], address[64], warning[512],
		rule[512], object[TEXT];
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
	snprintf(key, TEXT, "%s %s %s", wish->operation, wish->object,
		 wish->warning && wish->address ? wish->address : "");
}

bool wish_add(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	      const struct wish *wish, const char *rule)
{
	struct asking *asking, **last = &observer->asking;
	char key[TEXT];

	write_key(wish, key);
	/* What was granted and is still refused will be refused whatever is answered. */
	if (!observer->observed->asks || observer->settling ||
	    observer->asking_count >= ASKING_MOST || list_has(&observer->granted, key))
		return false;
	asking = calloc(1, sizeof(*asking));
	if (!asking)
		abort();
	asking->call = *call;
	asking->trap = trap;
	asking->wish = *wish;
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
	while (*last)
		last = &(*last)->next;
	*last = asking;
	observer->asking_count++;
	return true;
}

static void drop(struct observer *observer, struct asking **link)
{
	struct asking *asking = *link;

	*link = asking->next;
	observer->asking_count--;
	free(asking);
}

void wish_sweep(struct observer *observer)
{
	for (struct asking **link = &observer->asking; *link;)
		if (still_waiting(observer, (*link)->call.id))
			link = &(*link)->next;
		else
			drop(observer, link);
}

const struct wish *observer_wish(struct observer *observer)
{
	wish_sweep(observer);
	return observer->asking ? &observer->asking->wish : NULL;
}

void observer_permit(struct observer *observer, const char *permission, const struct term *term)
{
	char pattern[32];

	if (strncmp(permission, "connect ", 8) == 0) {
		(void)host_rules_add(&observer->permitted, permission + 8, false, NULL);
	} else if (strncmp(permission, "host-loopback ", 14) == 0) {
		snprintf(pattern, sizeof(pattern), "host-loopback:%s", permission + 14);
		(void)host_rules_add(&observer->permitted, pattern, false, NULL);
	} else if (strncmp(permission, "unix ", 5) == 0) {
		list_add(&observer->permitted_sockets, permission + 5);
	} else {
		(void)permits_add(&observer->permits, permission, term);
	}
}

/* What was granted is among the refusals too, with its answer: the sandbox did refuse it. */
static void note(struct observer *observer, const struct asking *asking, const char *answer)
{
	const struct wish *wish = &asking->wish;
	struct denial *denial =
		ledger_add(&observer->ledger, wish->operation, wish->object, asking->trap->name,
			   asking->rule, *wish->program ? wish->program : NULL);

	if (!denial)
		return;
	if (wish->host)
		ledger_add_target(denial, wish->host, wish->address, wish->port, wish->protocol);
	denial->answer = (char *)answer;
}

void observer_settle(struct observer *observer, uint64_t number, const char *answer)
{
	for (struct asking **link = &observer->asking; *link; link = &(*link)->next) {
		struct seccomp_notif call = (*link)->call;
		const struct trap *trap = (*link)->trap;
		char key[TEXT];

		if ((*link)->wish.number != number)
			continue;
		if (still_waiting(observer, call.id) && strcmp(answer, "granted") == 0) {
			note(observer, *link, answer);
			write_key(&(*link)->wish, key);
			list_add(&observer->granted, key);
		}
		drop(observer, link);
		/* A yes may have been to one step of several: where a name leads is the next. */
		observer->settling = strcmp(answer, "granted") == 0 ? NULL : answer;
		if (still_waiting(observer, call.id))
			serve_call(observer, &call, trap);
		observer->settling = NULL;
		return;
	}
}

void wish_done(struct observer *observer)
{
	while (observer->asking)
		drop(observer, &observer->asking);
	host_rules_done(&observer->permitted);
	list_done(&observer->permitted_sockets);
	list_done(&observer->granted);
	permits_done(&observer->permits);
	copies_done(&observer->copies);
}
