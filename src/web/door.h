/* SPDX-License-Identifier: Apache-2.0 */
/* Who is let in. Three things are looked at before anything else is done: that the request was sent
 * to this server under a name of its own (a page elsewhere can have any name lead to loopback),
 * that no other page had the browser send it, and which session its cookie opens. What changes
 * something needs a token besides, which only a page of this server can read. */
#pragma once

#include "../base/list.h"
#include "http.h"
#include "sessions.h"

#define SESSION_COOKIE "ward_session"

/* So many attempts at once, and one more each so many milliseconds. */
struct bucket {
	unsigned most, each_ms;
	double left;
	uint64_t looked_ns;
};

/* True if there is one left, which is then taken; else *ret_seconds says when. */
bool bucket_take(struct bucket *bucket, uint64_t now_ns, unsigned *ret_seconds);

/* One for each user of this machine, and one for all others: nobody can use up what is another's.
 * The one that was longest unused makes room. */
enum { BUCKETS_MOST = 64 };
struct buckets {
	struct bucket kind; /* how each begins */
	struct {
		bool local;
		uid_t uid;
		struct bucket bucket;
	} items[BUCKETS_MOST];
	size_t count;
};
bool buckets_take(struct buckets *buckets, const struct web_request *request, uint64_t now_ns,
		  unsigned *ret_seconds);

struct door_rules {
	const char *state;
	struct list hosts; /* "127.0.0.1:4321", "localhost:4321": what Host may say */
};

/* True if it came under a name of ours; else the reply says no. */
bool door_knows_host(const struct door_rules *rules, const struct web_request *request,
		     struct web_reply *reply);
/* True if no other page is behind it. */
bool door_knows_origin(const struct web_request *request, struct web_reply *reply);
/* True if its cookie opens a session, and comes from the user who logged in with it, from root or
 * from the user whose inbox it is: browsers send cookies to any port. cookie is then its value. */
bool door_finds_session(const struct door_rules *rules, const struct web_request *request,
			struct web_session *ret_session, char cookie[static SESSION_COOKIE_TEXT],
			struct web_reply *reply);
/* True if it has the token of that session. */
bool door_knows_token(const struct web_request *request, const char *cookie,
		      struct web_reply *reply);
