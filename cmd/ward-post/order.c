/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be sent, read and checked: whatever this does not know it refuses. */
#include "../../src/base/io.h"
#include "../../src/sys/post.h"
#include "post.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A body in JSON, with as much again for the rest. */
enum { INPUT_MOST = POST_BODY_MOST * 2 };

json_t *order_read(int fd)
{
	char *text = malloc(INPUT_MOST + 1);
	json_t *object = NULL;
	ssize_t length;

	if (!text)
		return NULL;
	length = read_all(fd, text, INPUT_MOST + 1);
	if (length > 0 && length <= INPUT_MOST)
		object = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, NULL);
	explicit_bzero(text, INPUT_MOST + 1);
	free(text);
	return json_is_object(object) ? object : NULL;
}

static bool is_known(const char *key)
{
	static const char *const keys[] = {"url",     "method",	   "headers",
					   "body",    "proxy",	   "timeout_ms",
					   "ca_file", "max_bytes", "insecure_http"};

	for (size_t i = 0; i < ELEMENTS(keys); i++)
		if (strcmp(key, keys[i]) == 0)
			return true;
	return false;
}

static bool is_loopback(const char *host)
{
	struct in_addr four;
	struct in6_addr six;
	char plain[INET6_ADDRSTRLEN];

	if (strcmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return sscanf(host, "[%45[0-9a-fA-F:]]", plain) == 1 &&
	       inet_pton(AF_INET6, plain, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

/* A name or password in a URL would be in logs wherever the URL is. */
static const char *check_url(const char *url, bool insecure, struct order *order)
{
	CURLU *parts = curl_url();
	char *scheme = NULL, *host = NULL;
	const char *fault = NULL;

	if (!parts || curl_url_set(parts, CURLUPART_URL, url, CURLU_DISALLOW_USER) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		fault = "the URL cannot be read, or has a user in it";
	else if (strcmp(scheme, "https") == 0)
		order->encrypted = true;
	else if (strcmp(scheme, "http") != 0)
		fault = "only http and https are spoken";
	else if (!insecure && !is_loopback(host))
		fault = "http without encryption goes to the loopback only";
	else
		order->loopback_only = !insecure;
	curl_free(scheme);
	curl_free(host);
	curl_url_cleanup(parts);
	return fault;
}

static bool is_token(const char *text)
{
	if (!*text)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("!#$%&'*+-.^_`|~", *text))
			return false;
	return true;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static const char *add_header(const char *name, const char *value, struct order *order)
{
	struct curl_slist *longer;
	char *line;

	if (!value || !is_token(name) || !is_printable(value))
		return "a header is not a name and a plain text";
	if (asprintf(&line, *value ? "%s: %s" : "%s;", name, value) < 0)
		return "out of memory";
	longer = curl_slist_append(order->headers, line);
	free(line);
	if (!longer)
		return "out of memory";
	order->headers = longer;
	return NULL;
}

static const char *check_headers(const json_t *headers, struct order *order)
{
	const char *name, *fault = NULL;
	json_t *value;

	if (headers && !json_is_object(headers))
		return "headers is not an object";
	json_object_foreach ((json_t *)headers, name, value) {
		fault = fault ? fault : add_header(name, json_string_value(value), order);
	}
	/* The library would wait for leave to send a long body. */
	order->headers = curl_slist_append(order->headers, "Expect:");
	return fault;
}

static const char *check_numbers(const json_t *object, struct order *order)
{
	json_int_t time = json_integer_value(json_object_get(object, "timeout_ms"));
	json_int_t bytes = json_integer_value(json_object_get(object, "max_bytes"));

	if (time < 1 || time > POST_TIME_MOST_MS)
		return "timeout_ms is not between 1 and 60000";
	if (bytes < 0 || bytes > POST_BODY_MOST)
		return "max_bytes is not between 0 and 8388608";
	order->timeout_ms = (unsigned)time;
	order->max_bytes = (size_t)bytes;
	return NULL;
}

static const char *check_method(struct order *order)
{
	if (strlen(order->method) > 16)
		return "the method is too long";
	for (const char *c = order->method; *c; c++)
		if (*c < 'A' || *c > 'Z')
			return "the method is not in capitals";
	return *order->method ? NULL : "there is no method";
}

const char *order_check(const json_t *object, struct order *ret_order)
{
	static const char *const texts[] = {"url", "method", "body", "proxy", "ca_file"};
	const json_t *insecure = json_object_get(object, "insecure_http");
	struct order order = {0};
	const char *key, *fault;
	json_t *value;

	json_object_foreach ((json_t *)object, key, value) {
		if (!is_known(key))
			return "the object has a key that is not known";
	}
	for (size_t i = 0; i < ELEMENTS(texts); i++)
		if (json_object_get(object, texts[i]) &&
		    !json_is_string(json_object_get(object, texts[i])))
			return "something that is to be a text is none";
	if (insecure && !json_is_boolean(insecure))
		return "insecure_http is neither true nor false";
	order.url = json_string_value(json_object_get(object, "url"));
	order.method = json_string_value(json_object_get(object, "method"));
	order.body = json_string_value(json_object_get(object, "body"));
	order.body_length = json_string_length(json_object_get(object, "body"));
	order.proxy = json_string_value(json_object_get(object, "proxy"));
	order.ca_file = json_string_value(json_object_get(object, "ca_file"));
	order.method = order.method ? order.method : "POST";
	fault = order.url ? check_url(order.url, json_is_true(insecure), &order)
			  : "there is no url";
	fault = fault ? fault : check_method(&order);
	fault = fault ? fault : check_numbers(object, &order);
	fault = fault ? fault : check_headers(json_object_get(object, "headers"), &order);
	*ret_order = order;
	return fault;
}
