/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to the inbox, from strangers and from one who is logged in. Lines: method, path, query,
 * then headers by a letter each, then the body. */
#include "../../src/base/io.h"
#include "../../src/web/door.h"
#include "../../src/web/stream.h"
#include "../../src/web/web.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct web *web;
static char state[] = "/tmp/fuzz-web-XXXXXX";
static char cookie[sizeof(SESSION_COOKIE) + SESSION_COOKIE_TEXT], token[SECRET_HASH_TEXT];

static void remove_state(void)
{
	(void)remove_tree(AT_FDCWD, state);
}

static void set_up(void)
{
	struct list hosts = {0};

	if (web)
		return;
	if (!mkdtemp(state))
		abort();
	atexit(remove_state);
	list_add(&hosts, "h");
	strcpy(cookie, SESSION_COOKIE "=");
	if (web_open(state, "/nowhere/ward", &hosts, &web, NULL) < 0 ||
	    web_session_make(state, "fuzz", NULL, -1, cookie + strlen(cookie), NULL) < 0)
		abort();
	web_session_token(strchr(cookie, '=') + 1, token);
}

/* One who has logged out would leave nothing to try. */
static void log_in_again(void)
{
	char *value = strchr(cookie, '=') + 1;
	_cleanup_web_session_ struct web_session session = {0};

	if (web_session_find(state, value, &session))
		return;
	if (web_session_make(state, "fuzz", NULL, -1, value, NULL) < 0)
		abort();
	web_session_token(value, token);
}

static void read_header(struct web_request *request, const char *line)
{
	switch (line[0]) {
	case 'h':
		request->host = line + 1;
		break;
	case 'o':
		request->origin = line + 1;
		break;
	case 's':
		request->fetch_site = line + 1;
		break;
	case 't':
		request->content_type = line + 1;
		break;
	case 'c':
		request->cookie = line + 1;
		break;
	case 'x':
		request->csrf = line + 1;
		break;
	case 'a':
		request->agent = line + 1;
		break;
	case 'l':
		request->last_event = line + 1;
		break;
	case '!': /* logged in, by a browser, from a page of ours */
		request->host = "h";
		request->origin = "http://h";
		request->content_type = "application/json";
		request->cookie = cookie;
		request->csrf = token;
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *line;
	struct web_request request = {0};
	struct web_reply reply = {0};
	char taken[512];

	if (!text)
		abort();
	set_up();
	request.method = strsep(&rest, "\n");
	request.path = rest ? strsep(&rest, "\n") : "/";
	request.query = rest ? strsep(&rest, "\n") : NULL;
	while (rest && *rest != '{' && (line = strsep(&rest, "\n")))
		read_header(&request, line);
	request.body = rest;
	request.length = rest ? strlen(rest) : 0;
	web_handle(web, &request, &reply);
	if (reply.status < 200 || (!reply.body && !reply.page && !reply.stream))
		abort();
	/* Nobody but who is logged in gets anything but a page and a no. */
	if (request.cookie != cookie && reply.status == 200 && !reply.page)
		abort();
	while (reply.stream && stream_read(reply.stream, taken, sizeof(taken)) > 0)
		;
	stream_close(reply.stream);
	reply_done(&reply);
	free(text);
	log_in_again();
	return 0;
}
