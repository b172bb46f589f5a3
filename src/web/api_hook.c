/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of webhooks. No browser sends them: neither the name they come under nor a session says
 * anything, their signature does (escalate/callback.h). */
#include "../base/units.h"
#include "../escalate/callback.h"
#include "../serve/deliver.h"
#include "../serve/ticket.h"
#include "web_parts.h"

#include <string.h>
#include <time.h>

#define HOOK_PATH "/hook/"

bool hook_is_meant(const struct web_request *request)
{
	return strncmp(request->path, HOOK_PATH, strlen(HOOK_PATH)) == 0;
}

static void reply_verdict(struct web_reply *reply, enum callback_verdict verdict,
			  const struct error *error)
{
	if (verdict == CALLBACK_TAKEN)
		reply_json(reply, 200, json_object());
	else if (verdict == CALLBACK_BAD_SIGNATURE || verdict == CALLBACK_TOO_OLD || !error)
		reply_error(reply, (unsigned)callback_status(verdict), NULL, "%s",
			    callback_word(verdict));
	else
		reply_failure(reply, (unsigned)callback_status(verdict), error);
}

static void take(struct web *web, const struct web_request *request, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_policy_ struct policy *policy = NULL;
	struct callback callback = {.state = web->state,
				    .channel = request->path + strlen(HOOK_PATH),
				    .signature = request->signature,
				    .slack_signature = request->slack_signature,
				    .slack_time = request->slack_time,
				    .body = request->body ? request->body : "",
				    .length = request->length,
				    .now = (int64_t)time(NULL)};
	enum callback_verdict verdict;

	if (deliver_policy(web->state, &policy, &error) < 0) {
		reply_verdict(reply, CALLBACK_FAILED, NULL);
		return;
	}
	callback.notify = &policy->notify;
	callback.home = policy->home;
	verdict = callback_take(&callback, &error);
	if (verdict == CALLBACK_TAKEN) {
		ticket_adopt(web->state, web->program); /* one that nobody keeps goes on, too */
		feed_look(web);
	}
	reply_verdict(reply, verdict, error);
}

void hook_handle(struct web *web, const struct web_request *request, struct web_reply *reply)
{
	unsigned seconds;

	if (strcmp(request->method, "POST") != 0) {
		reply_error(reply, 405, NULL, "it takes POST");
		reply->allow = "POST";
	} else if (!buckets_take(&web->hooks, request, monotonic_ns(), &seconds)) {
		reply_error(reply, 429, NULL, "too much comes at once");
		reply->retry_seconds = seconds;
	} else {
		take(web, request, reply);
	}
}
