/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that the policy wants told of events: each has a process of ward's own that reads the
 * log and feeds it (serve/feed.c), so that no run ever waits for one. They are started before ward
 * becomes somebody else, and before the sandbox is there. */
#include "flow_state.h"
#include "sys/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { FEEDER_RUN = 3 };

/* Standard streams that lead nowhere, the run's pidfd, and nothing else. */
static bool settle_in(int process)
{
	if (!detach())
		return false;
	if (process == FEEDER_RUN ? fcntl(process, F_SETFD, 0) < 0 : dup2(process, FEEDER_RUN) < 0)
		return false;
	return syscall(SYS_close_range, FEEDER_RUN + 1, ~0U, 0) == 0;
}

/* Twice forked: nobody here has to wait for it, and what it leaves is not ours. */
static void start(int process, char **words)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (!settle_in(process) || fork() != 0)
			_exit(0);
		execv("/proc/self/exe", words);
		_exit(1);
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
}

static char *joined(const struct list *list)
{
	_cleanup_buffer_ struct buffer text = {0};

	for (size_t i = 0; i < list->count; i++)
		buffer_printf(&text, "%s%s", i ? "," : "", list->items[i]);
	return strdup(buffer_text(&text));
}

static void start_one(struct flow *flow, const struct listener_rule *rule, int process)
{
	_cleanup_free_ char *after = NULL, *timeout = NULL, *kinds = joined(&rule->kinds);
	char *words[8 + rule->program.count + 1];
	size_t count = 0;

	if (asprintf(&after, "%" PRIu64, audit_count(flow->audit)) < 0 ||
	    asprintf(&timeout, "%" PRIu64, rule->timeout_ns) < 0)
		abort();
	words[count++] = "ward";
	words[count++] = "feed";
	words[count++] = flow->state;
	words[count++] = flow->result->run;
	words[count++] = after;
	words[count++] = timeout;
	words[count++] = kinds;
	for (size_t i = 0; i < rule->program.count; i++)
		words[count++] = rule->program.items[i];
	words[count] = NULL;
	start(process, words);
}

void flow_start_listeners(struct flow *flow)
{
	const struct policy *policy = flow->policy;
	_cleanup_close_ int process = -1;

	for (size_t i = 0; i < policy->listener_count; i++) {
		const struct listener_rule *rule = &policy->listeners[i];
		const char *fault;

		if (!listener_wants_agent(rule, flow->request->agent))
			continue;
		fault = listener_fault(policy, rule, flow->request);
		if (!fault && process < 0) {
			process = (int)syscall(SYS_pidfd_open, getpid(), 0);
			fault = process < 0 ? "the kernel has no pidfd" : NULL;
		}
		if (fault)
			list_add_printf(&flow->result->warnings,
					"%s:%d: %s is told of no events: %s", rule->file,
					rule->line, rule->program.items[0], fault);
		else
			start_one(flow, rule, process);
	}
}
