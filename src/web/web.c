/* SPDX-License-Identifier: Apache-2.0 */
/* The way of a request: under which name it came, who is behind it, who sent it, what it wants. */
#include "../base/units.h"
#include "../record/search_index.h"
#include "pages.h"
#include "query.h"
#include "web_parts.h"

#include <stdio.h>
#include <string.h>

enum {
	LOGINS_AT_ONCE = 10,
	LOGIN_EACH_MS = 6000,
	HOOKS_AT_ONCE = 50,
	HOOK_EACH_MS = 100,
	TICK_MS = 1000,
	TICK_OUTPUT_MS = 250,
	STORE_PATIENCE_MS = 250,
	INDEX_PATIENCE_MS = 60 * 1000,
};

/* '*' stands for an id. */
static const struct route {
	const char *method, *path;
	void (*answer)(struct web_call *call, struct web_reply *reply);
	bool open; /* to whoever is not logged in */
} routes[] = {
	{"POST", "/api/login", api_login, .open = true},
	{"GET", "/api/session", api_session},
	{"POST", "/api/session/*/revoke", api_revoke},
	{"POST", "/api/logout", api_logout},
	{"GET", "/api/asks", api_asks},
	{"GET", "/api/asks/*", api_ask},
	{"POST", "/api/asks/*/answer", api_answer},
	{"GET", "/api/history", api_history},
	{"GET", "/api/runs/*", api_run},
	{"GET", "/api/runs/*/output", api_output},
	{"GET", "/api/agents", api_agents},
	{"GET", "/api/stats", api_stats},
	{"GET", "/api/incidents", api_incidents},
	{"GET", "/api/incidents/*", api_incident},
	{"POST", "/api/incidents/*/answer", api_incident_answer},
	{"GET", "/api/events", api_events},
};

int web_open(const char *state, const char *program, struct list *hosts, struct web **ret_web,
	     struct error **ret_error)
{
	struct web *web = calloc(1, sizeof(*web));
	struct store *store;
	bool indexed;
	int r;

	if (!web)
		abort();
	*web = (struct web){
		.state = strdup(state),
		.program = strdup(program),
		.logins.kind = {.most = LOGINS_AT_ONCE, .each_ms = LOGIN_EACH_MS},
		.hooks.kind = {.most = HOOKS_AT_ONCE, .each_ms = HOOK_EACH_MS},
		.epoll = -1,
		.changes = -1,
		.asks = -1,
		.sessions = -1,
		.watching = -1,
	};
	if (!web->state || !web->program)
		abort();
	web->rules = (struct door_rules){.state = web->state, .hosts = *hosts};
	*hosts = (struct list){0};
	hub_init(&web->hub);
	r = store_open(state, &store, ret_error);
	if (r == 0) {
		/* A search works without, only slower. */
		(void)search_attach(store, state, INDEX_PATIENCE_MS, &indexed, NULL);
		store_close(store);
		r = feed_open(web, ret_error);
	}
	if (r < 0) {
		web_close(web);
		return r;
	}
	*ret_web = web;
	return 0;
}

void web_close(struct web *web)
{
	if (!web)
		return;
	hub_done(&web->hub);
	feed_close(web);
	known_done(&web->known);
	list_done(&web->rules.hosts);
	free(web->program);
	free(web->state);
	free(web);
}

int web_fd(const struct web *web)
{
	return web->epoll;
}

void web_look(struct web *web)
{
	feed_look(web);
}

int web_tick_ms(const struct web *web)
{
	return hub_follows_output(&web->hub) ? TICK_OUTPUT_MS : TICK_MS;
}

void web_tick(struct web *web)
{
	feed_tick(web);
	hub_tick(&web->hub, monotonic_ns());
}

/* True if the path is of that form; its id is then in id. */
static bool path_fits(const char *form, const char *path, char id[static ID_TEXT])
{
	const char *star = strchr(form, '*');
	size_t before = star ? (size_t)(star - form) : strlen(form);

	id[0] = '\0';
	if (!star)
		return strcmp(form, path) == 0;
	if (strncmp(form, path, before) != 0 || strnlen(path + before, ID_TEXT) < ID_TEXT - 1)
		return false;
	memcpy(id, path + before, ID_TEXT - 1);
	id[ID_TEXT - 1] = '\0';
	return id_is_one(id) && strcmp(star + 1, path + before + ID_TEXT - 1) == 0;
}

static const struct route *find_route(const struct web_request *request, char id[static ID_TEXT],
				      struct web_reply *reply)
{
	const struct route *other = NULL;

	for (size_t i = 0; i < ELEMENTS(routes); i++) {
		if (!path_fits(routes[i].path, request->path, id))
			continue;
		if (strcmp(routes[i].method, request->method) == 0)
			return &routes[i];
		other = &routes[i];
	}
	if (other) {
		reply_error(reply, 405, NULL, "it takes %s", other->method);
		reply->allow = other->method;
	} else {
		reply_error(reply, 404, NULL, "there is nothing here");
	}
	return NULL;
}

static void handle_page(const struct web_request *request, struct web_reply *reply)
{
	bool reads = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;

	reply->page = reads ? page_find(request->path) : NULL;
	reply->status = 200;
	if (!reads) {
		reply_error(reply, 405, NULL, "it takes GET");
		reply->allow = "GET, HEAD";
	} else if (!reply->page) {
		reply_error(reply, 404, NULL, "there is nothing here");
	}
}

void web_handle(struct web *web, const struct web_request *request, struct web_reply *reply)
{
	_cleanup_web_session_ struct web_session session = {0};
	struct web_call call = {.web = web, .request = request};
	char cookie[SESSION_COOKIE_TEXT];
	const struct route *route;
	bool changes = strcmp(request->method, "POST") == 0;

	if (hook_is_meant(request)) {
		hook_handle(web, request, reply);
		return;
	}
	if (!door_knows_host(&web->rules, request, reply))
		return;
	if (strncmp(request->path, "/api/", 5) != 0) {
		handle_page(request, reply);
		return;
	}
	if (!door_knows_origin(request, reply))
		return;
	route = find_route(request, call.id, reply);
	if (!route)
		return;
	if (!route->open) {
		if (!door_finds_session(&web->rules, request, &session, cookie, reply) ||
		    (changes && !door_knows_token(request, cookie, reply)))
			return;
		reply->known = true;
		call.session = &session;
		call.cookie = cookie;
	}
	if (changes && !media_type_is(request->content_type, "application/json")) {
		reply_error(reply, 415, NULL, "it takes application/json");
		return;
	}
	route->answer(&call, reply);
}

json_t *api_body(struct web_call *call, struct web_reply *reply)
{
	json_error_t error;
	json_t *body = json_loadb(call->request->body ? call->request->body : "",
				  call->request->length, JSON_REJECT_DUPLICATES, &error);

	if (json_is_object(body))
		return body;
	json_decref(body);
	reply_error(reply, 400, NULL, "the body is not a JSON object");
	return NULL;
}

struct store *api_store(struct web_call *call, struct web_reply *reply)
{
	_cleanup_error_ struct error *error = NULL;
	struct store *store = NULL;

	if (store_open_within(call->web->state, STORE_PATIENCE_MS, &store, &error) == 0)
		return store;
	reply_failure(reply, 503, error);
	return NULL;
}

void api_events(struct web_call *call, struct web_reply *reply)
{
	reply->stream = stream_open(&call->web->hub, call->session->id, call->request->last_event,
				    /* output= */ NULL);
	reply->status = 200;
	if (!reply->stream)
		reply_error(reply, 429, "close some of its pages", "this session follows too much");
}
