/* SPDX-License-Identifier: Apache-2.0 */
/* From the values of a tool's configuration to hosts and ports. Whatever is not plainly a host adds
 * nothing: no pattern comes from here, no credentials, and no address that is the machine's own
 * business. */
#include "sets_parts.h"
#include "../base/hosts.h"
#include "../base/path.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LIMIT = 253, LABEL_LIMIT = 63, URL_LIMIT = 4096 };

static const struct {
	const char *name;
	unsigned port;
} schemes[] = {{"https", 443},	{"http", 80},	 {"ssh", 22},	{"git", 9418},
	       {"git+ssh", 22}, {"ssh+git", 22}, {"mirror", 80}};

/* The port of a scheme; what stands before a + only says how it is used. 0: it names no host. */
static unsigned port_of_scheme(const char *scheme, size_t length)
{
	for (;;) {
		const char *plus = memchr(scheme, '+', length);

		for (size_t i = 0; i < ELEMENTS(schemes); i++)
			if (strlen(schemes[i].name) == length &&
			    strncasecmp(schemes[i].name, scheme, length) == 0)
				return schemes[i].port;
		if (!plus)
			return 0;
		length -= (size_t)(plus + 1 - scheme);
		scheme = plus + 1;
	}
}

/* 127.1, 0x7f.1 and 2130706433 are addresses to some programs and names to others. */
static bool looks_like_number(const char *label)
{
	return label[strspn(label, "0123456789")] == '\0' ||
	       (label[0] == '0' && (label[1] == 'x' || label[1] == 'X'));
}

static bool is_plain_name(const char *name)
{
	const char *label = name, *last = name;

	for (; *label; label += strcspn(label, "."), label += *label == '.') {
		size_t length = strcspn(label, ".");

		if (length == 0 || length > LABEL_LIMIT || label[0] == '-')
			return false;
		for (size_t i = 0; i < length; i++)
			if (!isalnum((unsigned char)label[i]) && !strchr("-_", label[i]))
				return false;
		last = label;
	}
	/* The word is ward's own. */
	return label > name && label[-1] != '.' && !looks_like_number(last) &&
	       strcasecmp(name, "host-loopback") != 0;
}

/* Nobody keeps packages on such an address, and on some a machine keeps its keys. */
static bool is_fit(const struct in6_addr *address)
{
	enum address_range range = address_range(address);

	return range == RANGE_PUBLIC || range == RANGE_PRIVATE || range == RANGE_LOOPBACK;
}

static char *host_with_port(const char *host, unsigned port)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	struct in_addr four;
	char *result = NULL;
	int length = 0;

	if (strchr(host, ':')) {
		if (inet_pton(AF_INET6, host, &address) == 1 && is_fit(&address) &&
		    inet_ntop(AF_INET6, &address, text, sizeof(text)))
			length = asprintf(&result, "[%s]:%u", text, port);
	} else if (inet_pton(AF_INET, host, &four) == 1) {
		address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(&address.s6_addr[12], &four, sizeof(four));
		if (is_fit(&address))
			length = asprintf(&result, "%s:%u", host, port);
	} else if (is_plain_name(host)) {
		length = asprintf(&result, "%s:%u", host, port);
	}
	if (length < 0)
		abort();
	for (char *c = result; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (result && host_pattern_check(result, /* ret_error= */ NULL) < 0)
		free(STEAL(result));
	return result;
}

static bool read_port(const char *text, size_t length, unsigned *port)
{
	unsigned value = 0;

	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]) || i == 5)
			return false;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (length)
		*port = value;
	return *port > 0 && *port < 65536;
}

/* [USER[:PASSWORD]@]HOST[:PORT]. Caller frees. */
static char *host_of_authority(const char *text, size_t length, unsigned port)
{
	const char *at = memrchr(text, '@', length), *end = text + length, *behind;
	char host[NAME_LIMIT + 3];
	size_t size;

	if (at)
		text = at + 1;
	if (text < end && *text == '[') {
		behind = memchr(text, ']', (size_t)(end - text));
		if (!behind)
			return NULL;
		text++;
		size = (size_t)(behind - text);
		behind++;
		if (!memchr(text, ':', size))
			return NULL;
	} else {
		behind = memchr(text, ':', (size_t)(end - text));
		behind = behind ? behind : end;
		size = (size_t)(behind - text);
		if (size && text[size - 1] == '.')
			size--;
	}
	if (size == 0 || size > NAME_LIMIT || (behind < end && *behind != ':') ||
	    (behind < end && !read_port(behind + 1, (size_t)(end - behind - 1), &port)))
		return NULL;
	memcpy(host, text, size);
	host[size] = '\0';
	return host_with_port(host, port);
}

/* [USER@]HOST:PATH, as git and scp write it; a port only fits in with brackets around both. */
static char *host_of_remote(const char *text, size_t length)
{
	const char *end = text + length, *at, *colon, *open;

	open = memchr(text, '[', length);
	colon = memchr(text, ':', length);
	if (open && (!colon || open < colon)) {
		const char *close = memchr(open, ']', (size_t)(end - open));

		if (!close || close + 1 >= end || close[1] != ':' || memchr(text, '/', open - text))
			return NULL;
		at = memrchr(open, '@', (size_t)(close - open));
		at = at ? at + 1 : open + 1;
		/* More than one colon: an address, with its brackets. */
		if (memchr(at, ':', (size_t)(close - at)) != memrchr(at, ':', (size_t)(close - at)))
			return host_of_authority(open, (size_t)(close + 1 - open), 22);
		return host_of_authority(at, (size_t)(close - at), 22);
	}
	/* A path, or another program's business: `ext::...`. */
	if (!colon || memchr(text, '/', (size_t)(colon - text)) ||
	    (colon + 1 < end && colon[1] == ':'))
		return NULL;
	return host_of_authority(text, (size_t)(colon - text), 22);
}

char *url_host(const char *text, size_t length, bool remote)
{
	const char *slashes = memmem(text, length, "://", 3);
	size_t size;
	unsigned port;

	if (length > URL_LIMIT)
		return NULL;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f ||
		    text[i] == '\\')
			return NULL;
	if (!slashes)
		return remote && length ? host_of_remote(text, length) : NULL;
	port = port_of_scheme(text, (size_t)(slashes - text));
	if (port == 0)
		return NULL;
	length -= (size_t)(slashes + 3 - text);
	text = slashes + 3;
	for (size = 0; size < length && !strchr("/?#", text[size]);)
		size++;
	return host_of_authority(text, size, port);
}

static void add_host(struct findings *findings, char *host)
{
	if (host && findings->hosts.count < FINDINGS_LIMIT && !list_has(&findings->hosts, host))
		list_take(&findings->hosts, host);
	else
		free(host);
}

/* HOST[/PATH] without a scheme, as Go writes it; one word alone is no host. Caller frees. */
static char *host_of_path(const char *text, size_t length)
{
	const char *slash = memchr(text, '/', length);
	size_t size = slash ? (size_t)(slash - text) : length;

	if (memchr(text, ':', size) || memchr(text, '@', size) || !memchr(text, '.', size))
		return NULL;
	return host_of_authority(text, size, 443);
}

/* `*.corp.example/team`: the code is fetched from there itself. */
static void add_module(struct findings *findings, const char *text, size_t length)
{
	bool star = length > 2 && text[0] == '*' && text[1] == '.';
	char *host = host_of_path(text + (star ? 2 : 0), length - (star ? 2 : 0)), *pattern = NULL;

	if (host && star) {
		if (asprintf(&pattern, "*.%s", host) < 0)
			abort();
		free(host);
		host = pattern;
		if (host_pattern_check(host, /* ret_error= */ NULL) < 0)
			free(STEAL(host));
	}
	add_host(findings, host);
}

/* `sum.golang.org`, `NAME+KEY` or `NAME+KEY URL`: the name is the host where there is no URL. */
static void add_sums(struct findings *findings, const char *value)
{
	size_t name = strcspn(value, " \t"), url = name + strspn(value + name, " \t");

	if (value[url])
		add_host(findings, url_host(value + url, strcspn(value + url, " \t"), false));
	else
		add_host(findings, host_of_path(value, strcspn(value, "+ \t")));
}

static void take_value(struct findings *findings, const char *value, enum hosts_in in)
{
	const char *between = in == IN_PROXIES ? ",| \t" : in == IN_MODULES ? ", \t" : " \t\n";

	if (in == IN_SUMS) {
		add_sums(findings, value);
		return;
	}
	while (*(value += strspn(value, between))) {
		size_t length = strcspn(value, between);
		const char *equals = memchr(value, '=', length),
			   *slash = memchr(value, '/', length);

		if (in == IN_MODULES) {
			add_module(findings, value, length);
		} else if (in == IN_INDEXES && equals && (!slash || equals < slash)) {
			add_host(findings, url_host(equals + 1,
						    (size_t)(value + length - equals - 1), false));
		} else {
			add_host(findings, url_host(value, length, in == IN_REMOTE));
		}
		value += length;
	}
}

void findings_take(struct findings *findings, const char *key, const char *value)
{
	for (const struct wanted_key *wanted = findings->keys; wanted->key; wanted++)
		if (path_component_matches(wanted->key, strlen(wanted->key), key, strlen(key))) {
			take_value(findings, value, wanted->in);
			return;
		}
}
