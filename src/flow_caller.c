/* SPDX-License-Identifier: Apache-2.0 */
/* What whoever sends a request says about it besides what is to be run: on record, whether it
 * counts or not. */
#include "flow_state.h"

#include <string.h>

static void note(struct flow *flow, const char *verdict, const char *source)
{
	const char *program = flow->request->caller.program;
	struct decision *decision = flow_decided(flow, "caller", verdict, source);

	decision->by = program ? strdup(program) : NULL;
}

void flow_note_caller(struct flow *flow)
{
	const struct request *request = flow->request;
	const char *program =
		request->caller.program ? request->caller.program : "a program that is not known";
	const char *word = request->approved ? "approved" : "approved_by_policy";

	if (request->requires_approval)
		note(flow, "ask", "requires_approval");
	if (request->approved || request->approved_by_policy) {
		bool known = decide_is_vouched(request, flow->policy);
		bool counts = known && !flow->verdict.routed;

		note(flow, counts ? "allow" : "ignored", word);
		if (known && !counts)
			list_add_printf(&flow->result->warnings,
					"`%s` is ignored: a route of the policy says who answers",
					word);
		if (!known)
			list_add_printf(&flow->result->warnings,
					"`%s` is ignored: it comes from %s, which no policy names "
					"under `callers`",
					word, program);
	}
	for (size_t i = 0; i < request->sandbox_warnings.count; i++)
		list_add_printf(&flow->result->warnings, "from the caller, %s: %s", program,
				request->sandbox_warnings.items[i]);
}
