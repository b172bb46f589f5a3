/* SPDX-License-Identifier: Apache-2.0 */
#include "http.h"
#include "../request/text_json.h"

#include <stdarg.h>
#include <stdio.h>

void reply_done(struct web_reply *reply)
{
	json_decref(reply->body);
	free(reply->cookie);
	*reply = (struct web_reply){0};
}

void reply_json(struct web_reply *reply, unsigned status, json_t *body)
{
	json_decref(reply->body);
	reply->status = status;
	reply->body = body;
}

static void reply_words(struct web_reply *reply, unsigned status, const char *message,
			const char *hint)
{
	json_t *error = json_object();

	json_put(error, "message", json_text(message));
	json_put(error, "hint", json_text(hint));
	reply_json(reply, status, json_pack("{s:o}", "error", error));
}

void reply_error(struct web_reply *reply, unsigned status, const char *hint, const char *format,
		 ...)
{
	_cleanup_free_ char *message = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&message, format, arguments) < 0)
		abort();
	va_end(arguments);
	reply_words(reply, status, message, hint);
}

void reply_failure(struct web_reply *reply, unsigned status, const struct error *error)
{
	reply_words(reply, status, error ? error->message : "it failed",
		    error ? error->hint : NULL);
}
