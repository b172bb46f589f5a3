/* SPDX-License-Identifier: Apache-2.0 */
/* Coming in, going out, and who else is in. */
#include "../base/units.h"
#include "../request/text_json.h"
#include "web_parts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define COOKIE_RULES "; Path=/; HttpOnly; SameSite=Strict"

static json_t *time_json(int64_t seconds)
{
	char text[TIME_TEXT];

	time_text_of(&(struct timespec){.tv_sec = seconds}, text);
	return json_string(text);
}

/* Wrong codes, used ones and those that were never given look alike. */
void api_login(struct web_call *call, struct web_reply *reply)
{
	struct web *web = call->web;
	char cookie[SESSION_COOKIE_TEXT], token[SECRET_HASH_TEXT];
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *name = NULL;
	json_t *body;
	bool holds;

	if (!buckets_take(&web->logins, call->request, monotonic_ns(), &reply->retry_seconds)) {
		reply_error(reply, 429, "wait a little", "there were too many attempts to log in");
		return;
	}
	body = api_body(call, reply);
	if (!body)
		return;
	holds = json_is_string(json_object_get(body, "code")) &&
		web_link_use(web->state, json_string_value(json_object_get(body, "code")), &name);
	json_decref(body);
	if (!holds) {
		reply_error(reply, 403, "`ward web link` prints another one",
			    "this link does not hold: each lets in once, within ten minutes");
		return;
	}
	if (web_session_make(web->state, name, call->request->agent,
			     call->request->local ? (int64_t)call->request->peer : -1, cookie,
			     &error) < 0) {
		reply_failure(reply, 500, error);
		return;
	}
	if (asprintf(&reply->cookie, SESSION_COOKIE "=%s" COOKIE_RULES "; Max-Age=%d", cookie,
		     SESSION_SECONDS) < 0)
		abort();
	web_session_token(cookie, token);
	reply_json(reply, 200, json_pack("{s:s, s:s}", "csrf", token, "name", name));
}

struct listing {
	const struct web_session *own;
	json_t *sessions;
};

static void add_session(void *data, const struct web_session *session)
{
	struct listing *listing = data;
	json_t *object = json_object();

	json_put(object, "id", json_string(session->id));
	json_put(object, "since", time_json(session->since));
	json_put(object, "seen", time_json(session->seen));
	json_put(object, "agent", json_text(session->agent));
	json_put(object, "name", json_text(session->name));
	json_put(object, "this", json_boolean(strcmp(session->id, listing->own->id) == 0));
	if (json_array_append_new(listing->sessions, object) < 0)
		abort();
}

void api_session(struct web_call *call, struct web_reply *reply)
{
	struct listing listing = {.own = call->session, .sessions = json_array()};
	_cleanup_error_ struct error *error = NULL;
	char token[SECRET_HASH_TEXT];

	if (web_session_list(call->web->state, add_session, &listing, &error) < 0) {
		json_decref(listing.sessions);
		reply_failure(reply, 500, error);
		return;
	}
	web_session_token(call->cookie, token);
	reply_json(reply, 200,
		   json_pack("{s:s, s:s, s:o}", "csrf", token, "name", call->session->name,
			     "sessions", listing.sessions));
}

static void end_cookie(struct web_reply *reply)
{
	reply->cookie = strdup(SESSION_COOKIE "=" COOKIE_RULES "; Max-Age=0");
	if (!reply->cookie)
		abort();
}

void api_revoke(struct web_call *call, struct web_reply *reply)
{
	if (!web_session_end(call->web->state, call->id)) {
		reply_error(reply, 404, NULL, "there is no such session");
		return;
	}
	hub_end_session(&call->web->hub, call->id);
	if (strcmp(call->id, call->session->id) == 0)
		end_cookie(reply);
	reply_json(reply, 200, json_object());
}

void api_logout(struct web_call *call, struct web_reply *reply)
{
	(void)web_session_end(call->web->state, call->session->id);
	hub_end_session(&call->web->hub, call->session->id);
	end_cookie(reply);
	reply_json(reply, 200, json_object());
}
