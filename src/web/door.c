/* SPDX-License-Identifier: Apache-2.0 */
#include "door.h"
#include "query.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool bucket_take(struct bucket *bucket, uint64_t now_ns, unsigned *ret_seconds)
{
	if (bucket->looked_ns == 0)
		bucket->left = bucket->most;
	else if (now_ns > bucket->looked_ns)
		bucket->left += (double)(now_ns - bucket->looked_ns) / 1e6 / bucket->each_ms;
	bucket->left = MIN(bucket->left, (double)bucket->most);
	bucket->looked_ns = now_ns;
	if (bucket->left >= 1) {
		bucket->left -= 1;
		return true;
	}
	*ret_seconds = (unsigned)((1 - bucket->left) * bucket->each_ms / 1000) + 1;
	return false;
}

bool buckets_take(struct buckets *buckets, const struct web_request *request, uint64_t now_ns,
		  unsigned *ret_seconds)
{
	size_t oldest = 0, i;

	for (i = 0; i < buckets->count; i++) {
		if (buckets->items[i].local == request->local &&
		    (!request->local || buckets->items[i].uid == request->peer))
			break;
		if (buckets->items[i].bucket.looked_ns < buckets->items[oldest].bucket.looked_ns)
			oldest = i;
	}
	if (i == buckets->count) {
		i = buckets->count < BUCKETS_MOST ? buckets->count++ : oldest;
		buckets->items[i].local = request->local;
		buckets->items[i].uid = request->peer;
		buckets->items[i].bucket = buckets->kind;
	}
	return bucket_take(&buckets->items[i].bucket, now_ns, ret_seconds);
}

/* A name that a page elsewhere has made lead here is its own, not ours. */
bool door_knows_host(const struct door_rules *rules, const struct web_request *request,
		     struct web_reply *reply)
{
	for (size_t i = 0; request->host && i < rules->hosts.count; i++)
		if (strcasecmp(request->host, rules->hosts.items[i]) == 0)
			return true;
	reply_error(reply, 421, "open the link that `ward web link` prints",
		    "this server does not go by that name");
	return false;
}

static bool is_own_origin(const struct web_request *request)
{
	return strncmp(request->origin, "http://", 7) == 0 &&
	       strcasecmp(request->origin + 7, request->host) == 0;
}

/* Browsers say where a request comes from, and pages cannot make them lie. Those that are no
 * browsers say nothing; what changes something must come from somebody who says it. */
bool door_knows_origin(const struct web_request *request, struct web_reply *reply)
{
	const char *site = request->fetch_site;
	bool changes = strcmp(request->method, "POST") == 0;
	bool same = site && strcmp(site, "same-origin") == 0;

	if ((site && !same && (changes || strcmp(site, "none") != 0)) ||
	    (request->origin ? !is_own_origin(request) : changes && !same)) {
		reply_error(reply, 403, NULL, "another page is behind this request");
		return false;
	}
	return true;
}

/* A cookie that came to another's server, because he listened at the port of ours, opens nothing to
 * him. Who came from another machine stays there. */
static bool is_theirs(const struct web_session *session, const struct web_request *request)
{
	if (request->local && (request->peer == 0 || request->peer == geteuid()))
		return true;
	return request->local ? session->uid == (int64_t)request->peer : session->uid < 0;
}

bool door_finds_session(const struct door_rules *rules, const struct web_request *request,
			struct web_session *ret_session, char cookie[static SESSION_COOKIE_TEXT],
			struct web_reply *reply)
{
	if (cookie_value(request->cookie, SESSION_COOKIE, cookie, SESSION_COOKIE_TEXT) &&
	    web_session_find(rules->state, cookie, ret_session)) {
		if (is_theirs(ret_session, request))
			return true;
		reply_error(reply, 403, "`ward web link` prints a link that lets you in",
			    "this session is another user's");
		return false;
	}
	reply_error(reply, 401, "`ward web link` prints a link that lets you in",
		    "nobody is logged in here");
	return false;
}

bool door_knows_token(const struct web_request *request, const char *cookie,
		      struct web_reply *reply)
{
	char token[SECRET_HASH_TEXT];

	web_session_token(cookie, token);
	if (secret_equal(request->csrf, token))
		return true;
	reply_error(reply, 403, "load the page again", "the request lacks the token of its page");
	return false;
}
