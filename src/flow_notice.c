/* SPDX-License-Identifier: Apache-2.0 */
/* What a person is told on the way, and what the result warns of. */
#include "flow_state.h"
#include "base/buffer.h"
#include "base/escape.h"
#include "sandbox/ladder.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void flow_say(const struct flow *flow, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		abort();
	va_end(arguments);
	if (flow->audience)
		flow->audience->say(flow->audience->data, text);
}

bool flow_can_connect(const struct flow *flow)
{
	return flow->entry.listener >= 0 && flow->entry.walls & WALL_BIT(WALL_NET_NAMESPACE);
}

/* A list that cannot be honoured is said each time: the command will fail for it. */
static void notice_unreachable(struct flow *flow)
{
	static const char text[] =
		"no host of the list can be reached: on this machine the sandbox "
		"has no network of its own, or nobody who could connect for it";

	if (flow->verdict.network != NETWORK_RESTRICTED || flow_can_connect(flow) ||
	    list_has(&flow->result->warnings, text))
		return;
	list_add(&flow->result->warnings, text);
	flow_say(flow, "%s", text);
}

/* Said each time: who asked for it reads the denials as all there were. */
static void notice_untraced(struct flow *flow)
{
	static const char text[] = "what it reads cannot be traced: on this machine nobody is "
				   "shown the calls of a command";

	if (!flow->verdict.trace_reads || flow->traced || flow->verdict.level == LEVEL_NONE ||
	    list_has(&flow->result->warnings, text))
		return;
	list_add(&flow->result->warnings, text);
	flow_say(flow, "%s", text);
}

/* What nobody can know of a command under a kernel of its own. */
static void notice_apart(struct flow *flow)
{
	static const char text[] =
		"under runsc the command has a kernel of its own, into which ward cannot look: of "
		"what is refused only writes to files are told, nothing is asked while a call "
		"waits, "
		"a mask that somebody outside takes away by a rename is not put back, and "
		"repositories are read-only";

	if (!(flow->entry.walls & WALL_BIT(WALL_GVISOR)) || list_has(&flow->result->warnings, text))
		return;
	list_add(&flow->result->warnings, text);
	if (flow->session.fresh)
		flow_say(flow, "%s", text);
}

/* What this machine does not give is said: to a person once a session, in the result always. */
void flow_notice_walls(struct flow *flow)
{
	_cleanup_free_ char *text =
		ladder_explain(flow->entry.lost, flow->entry.abi, flow->verdict.network);

	notice_unreachable(flow);
	notice_untraced(flow);
	notice_apart(flow);
	if (!text || list_has(&flow->result->warnings, text))
		return;
	list_add(&flow->result->warnings, text);
	if (flow->session.fresh)
		flow_say(flow, "%s; `ward doctor` says why", text);
}

void flow_notice_environment(struct flow *flow)
{
	const struct list *dropped = &flow->verdict.permissions.dropped;
	_cleanup_buffer_ struct buffer names = {0};

	if (dropped->count == 0 || !flow->session.fresh)
		return; /* said once per session */
	for (size_t i = 0; i < dropped->count; i++) {
		buffer_add_text(&names, i ? ", " : "");
		escape_for_terminal(&names, dropped->items[i], strlen(dropped->items[i]));
	}
	flow_say(flow, "not passed on, they look secret: %s; to pass one on: --keep-env NAME",
		 buffer_text(&names));
}

/* What the policy says and what is not taken is said, not passed over. */
void flow_notice_policy(struct flow *flow)
{
	for (size_t i = 0; i < flow->policy->warnings.count; i++)
		list_add(&flow->result->warnings, flow->policy->warnings.items[i]);
	flow_notice_risk(flow);
	if (flow->policy->ignored.count && flow->session.fresh)
		flow_say(flow,
			 "%zu parts of the project's .ward.yaml are ignored: they permit more, and "
			 "the project is not trusted; ward policy check",
			 flow->policy->ignored.count);
}

/* Said each time: it is more than other commands get. */
void flow_notice_profile(struct flow *flow)
{
	const struct request *request = flow->request;

	if (!request->profile_implied)
		return;
	if (decide_profile_holds(request, flow->policy))
		flow_say(flow,
			 "%s runs with the profile of that name: its login, its own files, its API "
			 "hosts; `ward policy show` has it",
			 request->profile);
	else
		flow_say(flow,
			 "the policy closes the network, so %s runs without the profile of that "
			 "name; to take it: --profile %s",
			 request->profile, request->profile);
}
