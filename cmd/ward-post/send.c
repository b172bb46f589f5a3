/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange itself. */
#include "post.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static size_t take(char *data, size_t size, size_t count, void *pointer)
{
	struct reply *reply = pointer;
	size_t length = size * count, room = reply->most - reply->body.length;

	buffer_add(&reply->body, data, MIN(length, room));
	reply->truncated = length > room;
	return reply->truncated ? 0 : length; /* less than came ends it */
}

/* Whatever the name led to. */
static curl_socket_t open_loopback(void *data, curlsocktype purpose, struct curl_sockaddr *address)
{
	const struct sockaddr_in *four = (const void *)&address->addr;
	const struct sockaddr_in6 *six = (const void *)&address->addr;

	(void)data;
	(void)purpose;
	if (!(address->family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == 127) &&
	    !(address->family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)))
		return CURL_SOCKET_BAD;
	return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool prepare(CURL *curl, const struct order *order, struct reply *reply)
{
	bool good = true;

#define SET(option, value) (good = good && curl_easy_setopt(curl, option, value) == CURLE_OK)
	SET(CURLOPT_URL, order->url);
	SET(CURLOPT_PROTOCOLS_STR, order->encrypted ? "https" : "http");
	SET(CURLOPT_CUSTOMREQUEST, order->method);
	SET(CURLOPT_HTTPHEADER, order->headers);
	SET(CURLOPT_USERAGENT, "ward/" WARD_VERSION);
	if (order->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)order->body_length);
		SET(CURLOPT_POSTFIELDS, order->body);
	} else if (strcmp(order->method, "HEAD") == 0) {
		SET(CURLOPT_NOBODY, 1L);
	}
	SET(CURLOPT_TIMEOUT_MS, (long)order->timeout_ms);
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)order->timeout_ms);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	if (order->ca_file) {
		SET(CURLOPT_CAINFO, order->ca_file);
		SET(CURLOPT_CAPATH, NULL);
	}
	/* An empty text: none, whatever the environment says. */
	SET(CURLOPT_PROXY, order->proxy ? order->proxy : "");
	SET(CURLOPT_NOPROXY, "");
	if (order->loopback_only && !order->proxy)
		SET(CURLOPT_OPENSOCKETFUNCTION, open_loopback);
	SET(CURLOPT_WRITEFUNCTION, take);
	SET(CURLOPT_WRITEDATA, reply);
#undef SET
	return good;
}

const char *order_send(const struct order *order, struct reply *ret_reply)
{
	static char detail[CURL_ERROR_SIZE];
	CURLcode code;
	CURL *curl;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(curl = curl_easy_init()))
		return "libcurl cannot begin";
	ret_reply->most = order->max_bytes;
	if (!prepare(curl, order, ret_reply))
		return "libcurl does not take the request";
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	code = curl_easy_perform(curl);
	ret_reply->timed_out = code == CURLE_OPERATION_TIMEDOUT;
	if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && ret_reply->truncated))
		return *detail ? detail : curl_easy_strerror(code);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &ret_reply->status);
	curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &ret_reply->retry_after);
	return NULL;
}
