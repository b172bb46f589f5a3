/* SPDX-License-Identifier: Apache-2.0 */
/* Holding limits against use. */
#include "watch.h"
#include "../base/units.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* How often the processes inside are counted. Where somebody set a limit, and no control group
 * stands, they are counted as often as that takes a twentieth of a CPU. */
static const uint64_t count_ns = 250000000, often_ns = 25000000;
enum { COUNT_COST = 20 };

/* Less than this of one CPU is idle; and no less than this much time is told apart from nothing. */
enum { IDLE_PERCENT = 1 };
static const uint64_t idle_cpu_ns = 20000000;

static unsigned kinds_for(const struct limits *limits, unsigned held)
{
	unsigned kinds = held & CGROUP_MEMORY ? 0 : USAGE_MEMORY;

	if (kinds && limits->memory)
		kinds |= USAGE_FILES;
	if ((limits->cpu_ns || limits->idle_ns) && !(held & CGROUP_CPU_TIME))
		kinds |= USAGE_CPU;
	if (limits->disk || limits->idle_ns)
		kinds |= USAGE_BYTES;
	return kinds;
}

void watch_begin(struct watch *watch, const struct entry *entry, const struct limits *limits,
		 struct cgroup *group)
{
	unsigned held = cgroup_holds(group);
	bool own_proc = entry->walls & WALL_BIT(WALL_PROC);
	uint64_t now = monotonic_ns();

	*watch = (struct watch){.limits = limits, .group = group, .active = now};
	watch->kinds = kinds_for(limits, held);
	watch->counter = (struct counter){
		/* Without one of its own, what is inside is found by descent. */
		.proc = own_proc ? openat(entry->root, "proc", O_PATH | O_DIRECTORY | O_CLOEXEC)
				 : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		.memory = entry->walls & WALL_BIT(WALL_DEVICES)
				  ? openat(entry->root, "dev/shm", O_PATH | O_DIRECTORY | O_CLOEXEC)
				  : -1,
		.init = own_proc ? 1 : entry->leader,
		.only_it = !own_proc,
	};
	/* Without the sandbox nothing is bounded that nobody bounded. */
	watch->most_memory = limits->memory ? limits->memory
			     : entry->walls ? usage_of_machine() / 100 * WATCH_MEMORY_PERCENT
					    : UINT64_MAX;
	watch->most_processes = limits->processes ? limits->processes
				: entry->walls	  ? (uint64_t)WATCH_PROCESSES
						  : UINT64_MAX - 1;
	watch->interval = (limits->memory && !(held & CGROUP_MEMORY)) || limits->processes ||
					  limits->disk || limits->cpu_ns
				  ? often_ns
				  : count_ns;
	if (watch->counter.proc >= 0 &&
	    (entry->walls || cgroup_wanted(limits) || limits->disk || limits->idle_ns))
		watch->next = now + watch->interval;
	if (limits->time_ns)
		watch->deadline = now + limits->time_ns;
}

void watch_done(struct watch *watch)
{
	counter_done(&watch->counter);
}

uint64_t watch_until(const struct watch *watch)
{
	uint64_t deadline = watch->pauses ? 0 : watch->deadline;

	return !watch->next		? deadline
	       : !deadline		? watch->next
	       : deadline < watch->next ? deadline
					: watch->next;
}

bool watch_asks_init(const struct watch *watch)
{
	return watch->next && watch->kinds & USAGE_BYTES;
}

/* No output, no bytes read or written, and next to no CPU time since the last sign of life. */
static bool is_idle(struct watch *watch, const struct usage *usage, uint64_t output, uint64_t now)
{
	uint64_t cpu = usage->cpu_ns - MIN(watch->active_cpu, usage->cpu_ns);
	uint64_t passed = now - watch->active;

	if (output != watch->active_output || usage->moved != watch->active_moved ||
	    (cpu >= idle_cpu_ns && cpu >= passed / 100 * IDLE_PERCENT)) {
		watch->active = now;
		watch->active_cpu = usage->cpu_ns;
		watch->active_output = output;
		watch->active_moved = usage->moved;
		return false;
	}
	return passed >= watch->limits->idle_ns;
}

static enum run_limit weigh(struct watch *watch, const struct watched *watched,
			    const struct usage *usage, const struct cgroup_usage *group)
{
	const struct limits *limits = watch->limits;

	if (group->killed || usage->memory > watch->most_memory)
		return LIMIT_MEMORY;
	if (usage->processes > watch->most_processes)
		return LIMIT_PROCESSES;
	if (limits->cpu_ns && usage->cpu_ns > limits->cpu_ns)
		return LIMIT_CPU;
	if (limits->disk && usage->written + watched->set_aside > limits->disk)
		return LIMIT_DISK;
	return LIMIT_NONE;
}

static void note_near(struct watch *watch, enum run_limit limit, uint64_t used, uint64_t most)
{
	if (!most || most >= UINT64_MAX - 1 || watch->near & (1u << limit) ||
	    (double)used * 100 < (double)most * NEAR_PERCENT)
		return;
	watch->near |= 1u << limit;
	watch->nears[watch->near_count++] = (struct near_limit){limit, used, most};
}

/* What a person may want to know before it ends the run. */
static void note_nears(struct watch *watch, const struct watched *watched,
		       const struct usage *usage, uint64_t now)
{
	const struct limits *limits = watch->limits;
	uint64_t left = watch->deadline - MIN(now, watch->deadline);
	uint64_t memory = usage->memory;

	if (limits->memory && !(watch->kinds & USAGE_MEMORY))
		memory = cgroup_memory(watch->group, limits->memory / 100 * NEAR_PERCENT);
	note_near(watch, LIMIT_MEMORY, memory, watch->most_memory);
	note_near(watch, LIMIT_PROCESSES, usage->processes, watch->most_processes);
	note_near(watch, LIMIT_CPU, usage->cpu_ns / 1000000, limits->cpu_ns / 1000000);
	note_near(watch, LIMIT_DISK, usage->written + watched->set_aside, limits->disk);
	note_near(watch, LIMIT_OUTPUT, watched->output, limits->output);
	if (watch->deadline && !watch->pauses)
		note_near(watch, LIMIT_TIME,
			  (limits->time_ns - MIN(left, limits->time_ns)) / 1000000,
			  limits->time_ns / 1000000);
}

bool watch_take_near(struct watch *watch, struct near_limit *ret_near)
{
	if (!watch->near_count)
		return false;
	*ret_near = watch->nears[--watch->near_count];
	return true;
}

static enum run_limit count(struct watch *watch, const struct watched *watched)
{
	uint64_t start = monotonic_ns(), now;
	struct cgroup_usage group;
	struct usage usage, *most = &watch->used;
	enum run_limit passed;

	if (usage_count(&watch->counter, watch->kinds, watch->most_processes + 1,
			watch->most_memory, &usage) < 0)
		usage = (struct usage){0};
	cgroup_read(watch->group, &group);
	most->started = MAX(most->started, usage.started);
	most->cpu_ns = MAX(most->cpu_ns, MAX(usage.cpu_ns, group.cpu_ns));
	usage.cpu_ns = most->cpu_ns;
	usage.written = MAX(usage.written + watched->reaped_written, group.written);
	/* What has ended is missing until its parent has looked at it. */
	most->written = MAX(most->written, usage.written);
	usage.written = most->written;
	passed = weigh(watch, watched, &usage, &group);
	now = monotonic_ns();
	if (passed == LIMIT_NONE && watch->limits->idle_ns && !watch->pauses &&
	    is_idle(watch, &usage, watched->output, now))
		passed = LIMIT_IDLE;
	note_nears(watch, watched, &usage, now);
	watch->next = now + MIN(MAX(watch->interval, COUNT_COST * (now - start)), 4 * count_ns);
	return passed;
}

enum run_limit watch_look(struct watch *watch, const struct watched *watched)
{
	uint64_t now = monotonic_ns();

	if (watch->deadline && !watch->pauses && now >= watch->deadline)
		return LIMIT_TIME;
	if (watch->limits->output && watched->output > watch->limits->output)
		return LIMIT_OUTPUT;
	return watch->next && now >= watch->next ? count(watch, watched) : LIMIT_NONE;
}

void watch_last(struct watch *watch, const struct watched *watched)
{
	enum { MOST = 256 }; /* a crowd is ended first */
	struct cgroup_usage group;
	struct usage usage;

	if (watch->counter.proc < 0 ||
	    usage_count(&watch->counter, USAGE_CPU | USAGE_BYTES | USAGE_PEAK, MOST, 0, &usage) < 0)
		return;
	watch->used.started = MAX(watch->used.started, usage.started);
	watch->used.peak_kb = MAX(watch->used.peak_kb, usage.peak_kb);
	cgroup_read(watch->group, &group);
	watch->used.cpu_ns = MAX(watch->used.cpu_ns, MAX(usage.cpu_ns, group.cpu_ns));
	watch->used.written = MAX(watch->used.written, usage.written + watched->reaped_written);
}

enum run_limit watch_why(struct watch *watch, const struct watched *watched, int status)
{
	const struct limits *limits = watch->limits;
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	struct cgroup_usage group;

	cgroup_read(watch->group, &group);
	watch->used.cpu_ns = MAX(watch->used.cpu_ns, group.cpu_ns);
	if (group.killed)
		return LIMIT_MEMORY;
	/* The backstops: rlimits that lie a little beyond the limits themselves. */
	if (limits->disk &&
	    (signal == SIGXFSZ || watch->used.written + watched->set_aside > limits->disk))
		return LIMIT_DISK;
	if (limits->cpu_ns && (signal == SIGXCPU || watch->used.cpu_ns > limits->cpu_ns))
		return LIMIT_CPU;
	/* Who may make no thread gives up before its processes are counted: a kernel of its own,
	 * under runsc, has several for each. */
	if (limits->processes && signal && cgroup_turned_away(watch->group))
		return LIMIT_PROCESSES;
	return LIMIT_NONE;
}

void watch_pause(struct watch *watch)
{
	if (watch->pauses++ == 0)
		watch->paused = monotonic_ns();
}

void watch_resume(struct watch *watch)
{
	uint64_t stood;

	if (watch->pauses == 0 || --watch->pauses > 0)
		return;
	stood = monotonic_ns() - watch->paused;
	if (watch->deadline)
		watch->deadline += stood;
	watch->active += stood;
}
