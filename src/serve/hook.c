/* SPDX-License-Identifier: Apache-2.0 */
/* From the object of an agent to a call, and from an answer to the agent's words. */
#include "hook.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int hook_read(const char *text, size_t length, struct hook_call *ret_call, struct error **ret_error)
{
	json_error_t at;

	*ret_call = (struct hook_call){.action = HOOK_OTHER};
	if (length > HOOK_LIMIT)
		return fail(ret_error, E_INPUT, "the object is longer than %d MiB",
			    HOOK_LIMIT >> 20);
	ret_call->object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &at);
	if (!ret_call->object)
		return fail(ret_error, E_INPUT, "this is no JSON object: %s", at.text);
	if (!json_is_object(ret_call->object))
		return fail(ret_error, E_INPUT, "an object is wanted");
	for (size_t i = 0; i < hook_dialect_count && !ret_call->dialect; i++)
		if (hook_dialects[i].is(ret_call->object))
			ret_call->dialect = &hook_dialects[i];
	if (!ret_call->dialect) {
		fail(ret_error, E_INPUT, "no agent that ward knows speaks like this");
		return error_hint(ret_error, "it wants hook_event_name or agent_action_name");
	}
	ret_call->asks = ret_call->dialect->asks;
	ret_call->rewrites = ret_call->dialect->rewrites;
	ret_call->dialect->read(ret_call);
	if (ret_call->nameless)
		return fail(ret_error, E_INPUT, "it does not say which tool");
	if (ret_call->action == HOOK_SHELL && !ret_call->command)
		return fail(ret_error, E_INPUT, "the tool '%s' comes without a command",
			    ret_call->tool ? ret_call->tool : "");
	if ((ret_call->action == HOOK_READ || ret_call->action == HOOK_WRITE) &&
	    ret_call->paths.count == 0)
		return fail(ret_error, E_INPUT, "the tool '%s' names no file",
			    ret_call->tool ? ret_call->tool : "");
	if (ret_call->action != HOOK_OTHER && (!ret_call->cwd || ret_call->cwd[0] != '/'))
		return fail(ret_error, E_INPUT, "the directory, cwd, is missing");
	return 0;
}

void hook_call_done(struct hook_call *call)
{
	json_decref(call->object);
	list_done(&call->paths);
	*call = (struct hook_call){0};
}

void hook_answer_done(struct hook_answer *answer)
{
	free(answer->reason);
	free(answer->command);
	*answer = (struct hook_answer){0};
}

char *hook_write(const struct hook_call *call, const struct hook_answer *answer)
{
	json_t *object = call->dialect ? call->dialect->write(call, answer) : json_object();
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	if (!text)
		abort();
	return text;
}

bool hook_is_attended(const struct hook_call *call)
{
	/* In these modes nobody looks, and a question would count as a yes. */
	static const char *const alone[] = {"bypassPermissions", "dontAsk"};

	for (size_t i = 0; i < ELEMENTS(alone); i++)
		if (call->mode && strcmp(call->mode, alone[i]) == 0)
			return false;
	return call->asks;
}
