/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a request, given to those who hold them: a control group, the sandbox's own
 * rlimits and file systems, and the supervisor that counts the rest. */
#include "flow_state.h"

#include <unistd.h>

/* Enough for any build, and an end for a fork bomb. */
enum { PROCESSES = 8192, TASKS_PER_PROCESS = 16 };

/* Rlimits stand a little behind what is counted: the one who passes a limit is ended by the
 * supervisor, with the reason in the result. */
enum { FILE_SIZE_MARGIN = 1 << 20, CPU_SECONDS_MARGIN = 2 };

void flow_make_group(struct flow *flow, bool sandboxed)
{
	struct limits limits;
	unsigned wanted;

	decide_limits(flow->request, flow->policy, &limits);
	wanted = cgroup_wanted(&limits);
	/* A program at a terminal may own the screen, and must stand still while a person is asked
	 * there. */
	if (sandboxed && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal_is_attended())
		wanted |= CGROUP_FREEZER;
	/* And one of an agent under trust may have to at any time. */
	if (flow->safety.bound)
		wanted |= CGROUP_FREEZER;
	if (wanted)
		flow->group =
			cgroup_make(flow->result->run, &limits, wanted,
				    sandboxed && geteuid() == 0 ? flow->identity.uid : (uid_t)-1);
}

void flow_limit_sandbox(const struct flow *flow, struct sandbox *sandbox)
{
	const struct limits *limits = &flow->verdict.limits;

	sandbox->time_ns = limits->time_ns;
	sandbox->processes = PROCESSES;
	if (limits->processes)
		sandbox->own_processes = limits->processes * TASKS_PER_PROCESS;
	if (limits->disk)
		sandbox->file_size = limits->disk + limits->disk / 8 + FILE_SIZE_MARGIN;
	if (limits->cpu_ns)
		sandbox->cpu_seconds = limits->cpu_ns / 1000000000 + CPU_SECONDS_MARGIN;
	sandbox->files = limits->files;
	sandbox->trap_allocation = limits->disk != 0;
	sandbox->memory_files = limits->memory && limits->disk ? MIN(limits->memory, limits->disk)
				: limits->memory	       ? limits->memory
							       : limits->disk;
}

void flow_warn_limits(struct flow *flow)
{
	const struct limits *limits = &flow->verdict.limits;
	struct list *warnings = &flow->result->warnings;

	if (limits->millicpus && !(cgroup_holds(flow->group) & CGROUP_SHARE))
		list_add(warnings, "the limit cpu is not enforced: there is no control group to be "
				   "had here");
	if (limits->disk && !(flow->entry.walls & WALL_BIT(WALL_NOTIFY)))
		list_add(warnings,
			 "the limit disk does not count what fallocate sets aside: system "
			 "calls are not seen here");
}
