/* SPDX-License-Identifier: Apache-2.0 */
/* Datagram sockets that are connected and send nothing. Libraries do that to learn which of their
 * own addresses would be used: the C library for each address of a name, with the port that was
 * asked for, before it is connected to by a stream; Go to port 9. From a refused connect alone
 * nobody can tell such a probe from somebody who means it. So it is not asked about, and noted only
 * if no stream to the same target follows. */
#include "network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBES_MOST = 64, PORT_DISCARD = 9 };

struct probe {
	struct probe *next;
	struct target target;
	const struct trap *trap;
	struct timespec time;
	char program[32], rule[TARGET_OBJECT + 128];
};

bool probe_is_one(const struct target *target)
{
	return target->datagrams && (target->port == 0 || target->port == PORT_DISCARD);
}

void probe_refuse(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, const struct target *target, const char *rule)
{
	struct probe *probe;

	answer(observer, call->id, NOT_REACHED);
	for (probe = observer->probes; probe; probe = probe->next)
		if (strcmp(probe->target.object, target->object) == 0)
			return;
	if (observer->probe_count >= PROBES_MOST)
		return;
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		abort();
	*probe = (struct probe){.next = observer->probes, .target = *target, .trap = trap};
	clock_gettime(CLOCK_REALTIME, &probe->time);
	snprintf(probe->rule, sizeof(probe->rule), "%s", rule);
	caller_name((pid_t)call->pid, probe->program);
	observer->probes = probe;
	observer->probe_count++;
}

void probe_forget(struct observer *observer, const struct target *target)
{
	for (struct probe **link = &observer->probes; *link;) {
		struct probe *probe = *link;

		if (target && strcmp(probe->target.object, target->object) != 0) {
			link = &probe->next;
			continue;
		}
		*link = probe->next;
		observer->probe_count--;
		free(probe);
	}
}

void probe_note(struct observer *observer)
{
	for (struct probe *probe = observer->probes; probe; probe = probe->next) {
		struct denial *denial;

		observer->ledger.tried = probe->time;
		denial = ledger_add(&observer->ledger, "connect", probe->target.object,
				    probe->trap->name, probe->rule,
				    *probe->program ? probe->program : NULL);

		ledger_add_target(denial, target_host(&probe->target), probe->target.literal,
				  probe->target.port, "udp");
	}
	observer->ledger.tried = (struct timespec){0};
	probe_forget(observer, NULL);
}
