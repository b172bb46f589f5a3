/* SPDX-License-Identifier: Apache-2.0 */
#include "exchange.h"
#include "../../src/base/buffer.h"
#include "../../src/base/units.h"
#include "../../src/sys/diag.h"
#include "../../src/web/pages.h"
#include "../../src/web/stream.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define POLICY                                                                          \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
	"img-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "       \
	"form-action 'none'; frame-ancestors 'none'"

enum { STREAM_BLOCK = 4096, URI_MOST = 8192 };

struct exchange {
	struct server *server;
	struct MHD_Connection *connection;
	struct exchange *next; /* of those that stream */
	char *path, *query;    /* one text: query is in it, or NULL */
	const char *match;     /* of If-None-Match */
	struct buffer body;
	bool begun, too_large, malformed, asleep;
	struct stream *stream;
};

static struct peer *peer_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (!exchange)
		abort();
	*exchange = (struct exchange){.server = cls, .connection = connection};
	/* As it was sent: the paths here have nothing to be decoded in them. */
	exchange->path = strndup(uri, URI_MOST);
	if (!exchange->path)
		abort();
	exchange->query = strchr(exchange->path, '?');
	if (exchange->query)
		*exchange->query++ = '\0';
	exchange->malformed = exchange->path[0] != '/' || strlen(uri) > URI_MOST;
	return exchange;
}

/* -- The request ------------------------------------------------------------------------------- */

struct reading {
	struct web_request *request;
	const char *match;
	bool twice;
};

/* A header that is there twice could be read as one here and as the other elsewhere. */
static enum MHD_Result read_header(void *cls, enum MHD_ValueKind kind, const char *name,
				   const char *value)
{
	struct reading *reading = cls;
	struct web_request *request = reading->request;
	const struct {
		const char *name, **place;
	} known[] = {
		{"Host", &request->host},
		{"Origin", &request->origin},
		{"Sec-Fetch-Site", &request->fetch_site},
		{"Content-Type", &request->content_type},
		{"Cookie", &request->cookie},
		{"X-Ward-CSRF", &request->csrf},
		{"User-Agent", &request->agent},
		{"Last-Event-ID", &request->last_event},
		{"Ward-Signature", &request->signature},
		{"X-Slack-Signature", &request->slack_signature},
		{"X-Slack-Request-Timestamp", &request->slack_time},
		{"If-None-Match", &reading->match},
	};

	(void)kind;
	for (size_t i = 0; i < ELEMENTS(known); i++) {
		if (strcasecmp(name, known[i].name) != 0)
			continue;
		reading->twice |= *known[i].place != NULL;
		*known[i].place = value ? value : "";
	}
	return MHD_YES;
}

static void add_body(struct exchange *exchange, const char *data, size_t size)
{
	exchange->too_large |= exchange->body.length + size > BODY_MOST;
	if (exchange->too_large)
		buffer_done(&exchange->body);
	else
		buffer_add(&exchange->body, data, size);
}

/* -- The reply --------------------------------------------------------------------------------- */

static void wake_stream(void *owner)
{
	struct exchange *exchange = owner;

	if (!exchange->asleep)
		return;
	exchange->asleep = false;
	MHD_resume_connection(exchange->connection);
}

void exchange_wake_all(struct server *server)
{
	for (struct exchange *exchange = server->streams; exchange; exchange = exchange->next)
		wake_stream(exchange);
}

/* The library does not look at those that are asleep. */
static bool has_hung_up(struct MHD_Connection *connection)
{
	const struct peer *peer = peer_of(connection);
	struct pollfd gone = {.fd = peer ? peer->fd : -1, .events = POLLRDHUP};

	return poll(&gone, 1, 0) > 0 && gone.revents;
}

void exchange_tick(struct server *server)
{
	for (struct exchange *exchange = server->streams; exchange; exchange = exchange->next) {
		if (!exchange->asleep || !has_hung_up(exchange->connection))
			continue;
		stream_end(exchange->stream);
		wake_stream(exchange);
	}
}

static ssize_t read_stream(void *cls, uint64_t position, char *data, size_t room)
{
	struct exchange *exchange = cls;
	ssize_t count = stream_read(exchange->stream, data, room);

	(void)position;
	if (count < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (count == 0) {
		exchange->asleep = true;
		MHD_suspend_connection(exchange->connection);
	}
	return count;
}

static struct MHD_Response *stream_response(struct exchange *exchange, struct stream *stream)
{
	struct server *server = exchange->server;
	struct MHD_Response *response = MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, exchange, NULL);

	exchange->stream = stream;
	stream->wake = wake_stream;
	stream->owner = exchange;
	exchange->next = server->streams;
	server->streams = exchange;
	MHD_add_response_header(response, "Content-Type", "text/event-stream");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	return response;
}

/* Its text was built in, and holds until the server is another one. */
static struct MHD_Response *page_response(const struct exchange *exchange,
					  const struct web_page *page, unsigned *status)
{
	bool same = exchange->match && strcmp(exchange->match, page->tag) == 0;
	struct MHD_Response *response = MHD_create_response_from_buffer(
		same ? 0 : page->length, (void *)page->data, MHD_RESPMEM_PERSISTENT);

	if (same)
		*status = 304;
	MHD_add_response_header(response, "Content-Type", page->type);
	MHD_add_response_header(response, "Cache-Control", "no-cache");
	MHD_add_response_header(response, "ETag", page->tag);
	return response;
}

static struct MHD_Response *json_response(json_t *body)
{
	char *text = json_dumps(body, JSON_COMPACT);
	struct MHD_Response *response;

	if (!text)
		abort();
	response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(response, "Content-Type", "application/json");
	MHD_add_response_header(response, "Cache-Control", "no-store");
	return response;
}

static void add_headers(struct MHD_Response *response, const struct web_reply *reply)
{
	static const char *const always[][2] = {
		{"Content-Security-Policy", POLICY},
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
	};
	char seconds[16];

	for (size_t i = 0; i < ELEMENTS(always); i++)
		MHD_add_response_header(response, always[i][0], always[i][1]);
	if (reply->cookie)
		MHD_add_response_header(response, "Set-Cookie", reply->cookie);
	if (reply->allow)
		MHD_add_response_header(response, "Allow", reply->allow);
	if (reply->retry_seconds) {
		snprintf(seconds, sizeof(seconds), "%u", reply->retry_seconds);
		MHD_add_response_header(response, "Retry-After", seconds);
	}
}

static enum MHD_Result send_reply(struct exchange *exchange, struct web_reply *reply)
{
	struct peer *peer = peer_of(exchange->connection);
	unsigned status = reply->status;
	struct MHD_Response *response = reply->stream ? stream_response(exchange, reply->stream)
					: reply->page
						? page_response(exchange, reply->page, &status)
						: json_response(reply->body);
	enum MHD_Result r;

	add_headers(response, reply);
	if (peer) {
		peer->known |= reply->known;
		peer->busy = true;
		peer->streams = reply->stream != NULL;
		peer->since_ns = monotonic_ns();
	}
	r = MHD_queue_response(exchange->connection, status, response);
	MHD_destroy_response(response);
	reply_done(reply);
	return r;
}

/* -- Together ---------------------------------------------------------------------------------- */

static enum MHD_Result refuse(struct exchange *exchange, unsigned status, const char *why)
{
	struct web_reply reply = {0};

	reply_error(&reply, status, NULL, "%s", why);
	return send_reply(exchange, &reply);
}

/* Whoever made the connection is behind all that comes by it. */
static void look_at_peer(struct exchange *exchange, struct web_request *request)
{
	struct peer *peer = peer_of(exchange->connection);

	if (!peer)
		return;
	if (!peer->looked)
		peer->local = diag_peer(peer->fd, &peer->uid) == 0;
	peer->looked = true;
	request->local = peer->local;
	request->peer = peer->uid;
}

static enum MHD_Result answer(struct exchange *exchange, const char *method)
{
	struct web_request request = {.method = method,
				      .path = exchange->path,
				      .query = exchange->query,
				      .body = exchange->body.data,
				      .length = exchange->body.length};
	struct reading reading = {.request = &request};
	struct web_reply reply = {0};

	MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, read_header, &reading);
	exchange->match = reading.match;
	if (exchange->malformed || reading.twice)
		return refuse(exchange, 400, "this is not a request as browsers send them");
	if (exchange->too_large)
		return refuse(exchange, 413, "the body is larger than any answer");
	look_at_peer(exchange, &request);
	web_handle(exchange->server->web, &request, &reply);
	return send_reply(exchange, &reply);
}

/* A body that says itself that it is too large is not waited for. */
static bool announces_too_much(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	return length && strtoull(length, NULL, 10) > BODY_MOST;
}

enum MHD_Result exchange_step(void *cls, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **context)
{
	struct exchange *exchange = *context;

	(void)cls;
	(void)url;
	(void)version;
	if (!exchange->begun) {
		exchange->begun = true;
		return announces_too_much(connection)
			       ? refuse(exchange, 413, "the body is larger than any answer")
			       : MHD_YES;
	}
	if (*upload_size > 0) {
		add_body(exchange, upload, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	return answer(exchange, method);
}

void exchange_end(void *cls, struct MHD_Connection *connection, void **context,
		  enum MHD_RequestTerminationCode how)
{
	struct server *server = cls;
	struct exchange *exchange = *context;
	struct peer *peer = peer_of(connection);

	(void)how;
	if (peer) {
		peer->busy = peer->streams = false;
		peer->since_ns = monotonic_ns();
	}
	if (!exchange)
		return;
	for (struct exchange **at = &server->streams; *at; at = &(*at)->next)
		if (*at == exchange) {
			*at = exchange->next;
			break;
		}
	stream_close(exchange->stream);
	buffer_done(&exchange->body);
	free(exchange->path);
	free(exchange);
	*context = NULL;
}
