/* SPDX-License-Identifier: Apache-2.0 */
/* Processors: staying on one, and leaving one to somebody else. Nothing here may fail; where the
 * kernel refuses it, the kernel decides. */
#include "place.h"
#include "../base/units.h"

#include <string.h>

void place_send_home(pid_t tid, cpu_set_t *home)
{
	if (CPU_COUNT(home) >= processors_online())
		memset(home, 0xff, sizeof(*home));
	(void)sched_setaffinity(tid, sizeof(*home), home);
}

void place_elsewhere(pid_t child)
{
	int here = sched_getcpu();
	cpu_set_t home, others;

	if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(0, sizeof(home), &home) < 0)
		return;
	others = home;
	CPU_CLR(here, &others);
	if (CPU_COUNT(&others) > 0 && sched_setaffinity(child, sizeof(others), &others) == 0)
		place_send_home(child, &home);
}

bool place_keep(struct stay *place)
{
	int here = sched_getcpu();

	if (place->stays || here < 0 || here >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(place->home), &place->home) < 0)
		return place->stays;
	CPU_ZERO(&place->here);
	CPU_SET(here, &place->here);
	place->stays = sched_setaffinity(0, sizeof(place->here), &place->here) == 0;
	return place->stays;
}

bool place_stay(struct stay *place)
{
	if (place_keep(place) && !place->yields)
		place->yields = sched_getscheduler(0) == SCHED_OTHER &&
				sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) == 0;
	return place->stays;
}

void place_leave(struct stay *place)
{
	if (place->yields)
		(void)sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
	if (place->stays)
		place_send_home(0, &place->home);
	place->stays = place->yields = false;
}
