/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of hosts: what is one, and what it says. */
#include "host_pattern.h"
#include "ranges.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LONGEST = 253, LABEL_LONGEST = 63, PATTERN_LONGEST = 300 };

static const char how[] = "write it as example.org, example.org:443, '*.example.org', "
			  "'**.example.org', 192.0.2.1, 192.0.2.0/24:8000-8999 or "
			  "'[2001:db8::1]:443'";

static int refuse(struct error **ret_error, const char *pattern, const char *what, const char *hint)
{
	fail(ret_error, E_USAGE, "'%s' is not a host: %s", pattern, what);
	error_hint(ret_error, "%s", hint);
	return -E_USAGE;
}

void host_rule_done(struct host_rule *rule)
{
	free(rule->pattern);
	free(rule->name);
}

/* Not ctype.h: what a name means must not depend on the locale. */
static char fold_case(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Decimal, without a sign or leading zeros: those would be octal to others. */
static bool read_number(const char *text, size_t length, unsigned long most, unsigned long *ret)
{
	*ret = 0;
	if (length == 0 || length > 5 || (length > 1 && text[0] == '0'))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*ret = *ret * 10 + (unsigned long)(text[i] - '0');
	}
	return *ret <= most;
}

static int read_ports(struct host_rule *rule, const char *text, struct error **ret_error)
{
	size_t length = strcspn(text, "-");
	unsigned long from, to;
	bool good = read_number(text, length, UINT16_MAX, &from);

	if (strcmp(text, "*") == 0)
		return 0;
	to = from;
	if (text[length])
		good = good &&
		       read_number(text + length + 1, strlen(text + length + 1), UINT16_MAX, &to);
	if (strncmp(text, "//", 2) == 0)
		return refuse(ret_error, rule->pattern, "it is the address of a page",
			      "write its host alone: example.org or example.org:443");
	if (!good || from == 0 || from > to)
		return refuse(ret_error, rule->pattern, "what follows the colon is no port",
			      "write a port from 1 to 65535, or two with '-' between them; an IPv6 "
			      "address with a port stands in brackets");
	rule->from = (uint16_t)from;
	rule->to = (uint16_t)to;
	return 0;
}

/* text: an address and perhaps "/BITS". 1: it is none. */
static int read_network(struct host_rule *rule, const char *text, struct error **ret_error)
{
	size_t length = strcspn(text, "/");
	char address[INET6_ADDRSTRLEN];
	unsigned long bits, most = 128;
	struct in_addr ipv4;

	if (length >= sizeof(address))
		return 1;
	memcpy(address, text, length);
	address[length] = '\0';
	if (inet_pton(AF_INET, address, &ipv4) == 1) {
		rule->network = address_map(&ipv4);
		most = 32;
	} else if (inet_pton(AF_INET6, address, &rule->network) != 1) {
		return 1;
	}
	rule->kind = KIND_NETWORK;
	bits = most;
	if (text[length] && !read_number(text + length + 1, strlen(text + length + 1), most, &bits))
		return refuse(ret_error, rule->pattern,
			      "what follows the slash is no number of bits",
			      "write 192.0.2.0/24 or '[2001:db8::]/32'");
	rule->bits = (unsigned)(bits + 128 - most);
	for (unsigned bit = rule->bits; bit < 128; bit++)
		if (rule->network.s6_addr[bit / 8] & 0x80 >> bit % 8)
			return refuse(ret_error, rule->pattern,
				      "bits are set behind those that count",
				      "write the first address of the network, as in 192.0.2.0/24, "
				      "or leave the slash out");
	return 0;
}

/* Others read "127.1", "0x7f000001" and "2130706433" as addresses; a rule about names must not let
 * one through. No top-level domain looks like it. */
static bool ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *last = dot ? dot + 1 : name;

	if (last[0] == '0' && last[1] == 'x')
		return last[2 + strspn(last + 2, "0123456789abcdef")] == '\0';
	return *last && last[strspn(last, "0123456789")] == '\0';
}

static bool is_name(const char *name)
{
	if (strlen(name) > NAME_LONGEST)
		return false;
	for (;;) {
		size_t length = strcspn(name, ".");

		if (length == 0 || length > LABEL_LONGEST || name[0] == '-' ||
		    name[length - 1] == '-' ||
		    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") < length)
			return false;
		if (!name[length])
			return true;
		name += length + 1;
	}
}

bool host_is_below(const char *name, const char *domain)
{
	size_t length = strlen(name), tail = strlen(domain);

	return length > tail + 1 && name[length - tail - 1] == '.' &&
	       strcmp(name + length - tail, domain) == 0;
}

/* text: lower case, without the port; changed. */
static int read_name(struct host_rule *rule, char *text, struct error **ret_error)
{
	size_t length;

	if (strcmp(text, "*") == 0) {
		rule->kind = KIND_ANY;
		return 0;
	}
	if (strncmp(text, "**.", 3) == 0)
		rule->kind = KIND_TREE;
	else if (strncmp(text, "*.", 2) == 0)
		rule->kind = KIND_CHILDREN;
	text += rule->kind == KIND_TREE ? 3 : rule->kind == KIND_CHILDREN ? 2 : 0;
	length = strlen(text);
	if (length > 1 && text[length - 1] == '.')
		text[length - 1] = '\0';
	if (rule->kind == KIND_NAME &&
	    (strcmp(text, "localhost") == 0 || strcmp(text, "host-loopback") == 0)) {
		rule->kind = KIND_LOOPBACK;
		return 0;
	}
	if (strchr(text, '*'))
		return refuse(ret_error, rule->pattern,
			      "a star stands for whole labels at its start", how);
	if (strchr(text, '/') || strchr(text, '@'))
		return refuse(ret_error, rule->pattern, "it is more than a host and a port", how);
	if (ends_in_number(text))
		return refuse(ret_error, rule->pattern, "it looks like an address, but is not one",
			      "write an address as 192.0.2.1 or '[2001:db8::1]', all of it, in "
			      "decimal and without leading zeros");
	if (!is_name(text))
		return refuse(ret_error, rule->pattern, "no name is written like that", how);
	if (strcmp(text, "localhost") == 0 || host_is_below(text, "localhost"))
		return refuse(ret_error, rule->pattern,
			      "names under localhost are the sandbox's own",
			      "write localhost:PORT for a port of the host");
	rule->name = strdup(text);
	if (!rule->name)
		abort();
	return 0;
}

/* "[ADDRESS]", "[ADDRESS]/BITS" or "[ADDRESS/BITS]", and perhaps a port; changed. */
static int read_brackets(struct host_rule *rule, char *text, struct error **ret_error)
{
	char *end = strchr(text, ']'), *port, network[PATTERN_LONGEST + 1];
	int r;

	if (!end)
		return refuse(ret_error, rule->pattern, "its bracket is not closed", how);
	*end++ = '\0';
	port = end + strcspn(end, ":");
	if (*port)
		*port++ = '\0';
	else
		port = NULL;
	snprintf(network, sizeof(network), "%s%s", text + 1, end);
	r = strchr(text + 1, ':') && (*end == '/' || !*end) ? read_network(rule, network, ret_error)
							    : 1;
	if (r > 0)
		return refuse(ret_error, rule->pattern, "in brackets stands an IPv6 address", how);
	return r < 0 || !port ? r : read_ports(rule, port, ret_error);
}

static int read_plain(struct host_rule *rule, char *text, struct error **ret_error)
{
	char *port = strchr(text, ':');
	int r;

	if (port && strchr(port + 1, ':')) {
		r = read_network(rule, text, ret_error);
		return r <= 0 ? r
			      : refuse(ret_error, rule->pattern,
				       "it has several colons, but is no IPv6 address", how);
	}
	if (port) {
		*port = '\0';
		r = read_ports(rule, port + 1, ret_error);
		if (r < 0)
			return r;
	}
	r = read_network(rule, text, ret_error);
	return r <= 0 ? r : read_name(rule, text, ret_error);
}

int host_pattern_read(const char *pattern, struct host_rule *rule, struct error **ret_error)
{
	char text[PATTERN_LONGEST + 1];
	size_t length = strlen(pattern);

	*rule = (struct host_rule){.kind = KIND_NAME, .to = UINT16_MAX, .pattern = strdup(pattern)};
	if (!rule->pattern)
		abort();
	if (length == 0)
		return refuse(ret_error, pattern, "it is empty", how);
	if (length > PATTERN_LONGEST)
		return refuse(ret_error, pattern, "it is too long", how);
	for (size_t i = 0; i <= length; i++) {
		if (pattern[i] & 0x80)
			return refuse(ret_error, pattern, "it is not ASCII",
				      "write an international name as it goes over the wire, "
				      "beginning with xn--: others only look alike");
		if ((pattern[i] && pattern[i] <= ' ') || pattern[i] == 0x7f)
			return refuse(ret_error, pattern, "blanks and control characters are in it",
				      how);
		text[i] = fold_case(pattern[i]);
	}
	return text[0] == '[' ? read_brackets(rule, text, ret_error)
			      : read_plain(rule, text, ret_error);
}
