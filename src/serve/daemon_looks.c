/* SPDX-License-Identifier: Apache-2.0 */
/* What is only looked at: what would be decided, sessions, runs on record; and what is told as it
 * changes. */
#include "../base/units.h"
#include "../flow.h"
#include "../record/session.h"
#include "../record/state.h"
#include "../record/store.h"
#include "../request/text_json.h"
#include "check_json.h"
#include "daemon_parts.h"

#include <string.h>
#include <time.h>

enum { LIST_USUAL = 100 };

struct listing listing_new(json_t *params)
{
	json_int_t limit = json_integer_value(json_object_get(params, "limit"));

	return (struct listing){.items = json_array(),
				.limit = limit <= 0 ? LIST_USUAL
						    : (size_t)MIN(limit, (json_int_t)LIST_MOST)};
}

/* The first of those that come are kept. */
void listing_add(struct listing *listing, json_t *item)
{
	size_t size = json_dumpb(item, NULL, 0, JSON_COMPACT);

	if (json_array_size(listing->items) >= listing->limit || listing->more ||
	    listing->bytes + size > LIST_BYTES) {
		listing->more = true;
		return;
	}
	listing->bytes += size;
	json_array_append(listing->items, item);
}

json_t *listing_end(struct listing *listing, const char *name)
{
	return json_pack("{s:o, s:b}", name, listing->items, "more", listing->more);
}

static void keep_check(const struct plan *plan, const struct assessment *assessment,
		       const struct verdict *verdict, void *data)
{
	*(json_t **)data = check_to_json(plan, assessment, verdict);
}

static int work_check(struct client *client, json_t *params, json_t **ret_result,
		      struct error **ret_error)
{
	_cleanup_request_ struct request request;
	int r;

	request_init(&request);
	r = client_request(client, params, &request, ret_error);
	if (r == 0 && !request.session)
		request.session = client_session(client, &request);
	return r < 0 ? r : flow_check(&request, keep_check, ret_result, ret_error);
}

void method_check(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_check, NULL);
}

static int add_session(const char *id, bool lives, int64_t used, void *data)
{
	struct timespec then = {.tv_sec = (time_t)used};
	char when[TIME_TEXT];
	json_t *item = json_object();

	time_text_of(&then, when);
	json_put_text(item, "id", id);
	json_put(item, "lives", json_boolean(lives));
	json_put_text(item, "used", when);
	listing_add(data, item);
	json_decref(item);
	return 0;
}

static int work_sessions(struct client *client, json_t *params, json_t **ret_result,
			 struct error **ret_error)
{
	struct listing listing = listing_new(params);

	(void)ret_error;
	(void)session_list(client->daemon->state, add_session, &listing);
	*ret_result = listing_end(&listing, "sessions");
	return 0;
}

void method_sessions(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_sessions, NULL);
}

static int add_run(json_t *run, void *data)
{
	listing_add(data, run);
	return 0;
}

static int work_runs(struct client *client, json_t *params, json_t **ret_result,
		     struct error **ret_error)
{
	struct listing listing = listing_new(params);
	struct store *store;
	int r = state_directory_make(client->daemon->state, ret_error);

	if (r == 0)
		r = store_open(client->daemon->state, &store, ret_error);
	if (r == 0) {
		r = MIN(store_runs(store, (unsigned)listing.limit + 1, add_run, &listing,
				   ret_error),
			0);
		store_close(store);
	}
	*ret_result = listing_end(&listing, "runs");
	return r;
}

void method_runs(struct client *client, json_t *id, json_t *params)
{
	work_start(client, id, params, work_runs, NULL);
}

/* That something has changed; what, is asked for. So nobody who reads slowly misses anything. */
void method_follow(struct client *client, json_t *id, json_t *params)
{
	client->follows_asks = json_is_true(json_object_get(params, "asks"));
	client->follows_tickets = json_is_true(json_object_get(params, "tickets"));
	watch_directories(client->daemon);
	client_result(client, id,
		      json_pack("{s:b, s:b}", "asks", client->follows_asks, "tickets",
				client->follows_tickets));
}
