/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about targets of the network: patterns taken apart, and which of them decide. */
#include "hosts.h"
#include "ranges.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

enum kind {
	KIND_NAME,     /* exactly it */
	KIND_CHILDREN, /* "*.": one label more */
	KIND_TREE,     /* "**.": it and all below it */
	KIND_ANY,      /* "*": every name; where it denies, every address too */
	KIND_NETWORK,  /* an address, or those that begin as it does */
	KIND_LOOPBACK, /* the host's own */
};

struct host_rule {
	enum kind kind;
	bool deny;
	uint16_t from, to; /* ports */
	char *pattern;	   /* as people wrote it */
	char *name;	   /* lower case, without stars and the dot at its end */
	struct in6_addr network;
	unsigned bits;
};

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

static void rule_done(struct host_rule *rule)
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

static bool is_below(const char *name, const char *domain)
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
	if (strcmp(text, "localhost") == 0 || is_below(text, "localhost"))
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

static int read_pattern(const char *pattern, struct host_rule *rule, struct error **ret_error)
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

int host_pattern_check(const char *pattern, struct error **ret_error)
{
	struct host_rule rule;
	int r = read_pattern(pattern, &rule, ret_error);

	rule_done(&rule);
	return r;
}

int host_rules_add(struct host_rules *rules, const char *pattern, bool deny,
		   struct error **ret_error)
{
	struct host_rule rule;
	int r = read_pattern(pattern, &rule, ret_error);

	if (r < 0) {
		rule_done(&rule);
		return r;
	}
	rule.deny = deny;
	/* Doubled whenever it is full: at every power of two. */
	if ((rules->count & (rules->count - 1)) == 0) {
		rules->items = reallocarray(rules->items, MAX(rules->count * 2, (size_t)1),
					    sizeof(*rules->items));
		if (!rules->items)
			abort();
	}
	rules->items[rules->count++] = rule;
	return 0;
}

void host_rules_done(struct host_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		rule_done(&rules->items[i]);
	free(rules->items);
	*rules = (struct host_rules){0};
}

static bool has_port(const struct host_rule *rule, uint16_t port)
{
	return port >= rule->from && port <= rule->to;
}

static bool means_name(const struct host_rule *rule, const char *name)
{
	switch (rule->kind) {
	case KIND_NAME:
		return strcmp(name, rule->name) == 0;
	case KIND_CHILDREN:
		return is_below(name, rule->name) &&
		       strcspn(name, ".") + 1 + strlen(rule->name) == strlen(name);
	case KIND_TREE:
		return strcmp(name, rule->name) == 0 || is_below(name, rule->name);
	case KIND_ANY:
		return true;
	default:
		return false;
	}
}

enum host_access host_rules_name(const struct host_rules *rules, const char *name, uint16_t port)
{
	enum host_access access = rules->everything ? HOST_ALLOWED : HOST_UNLISTED;

	for (size_t i = 0; i < rules->count; i++) {
		const struct host_rule *rule = &rules->items[i];

		if (!has_port(rule, port) || !means_name(rule, name))
			continue;
		if (rule->deny)
			return HOST_DENIED;
		access = HOST_ALLOWED;
	}
	return access;
}

static bool in_network(const struct host_rule *rule, const struct in6_addr *address)
{
	return rule->kind == KIND_NETWORK &&
	       IN6_IS_ADDR_V4MAPPED(address) == IN6_IS_ADDR_V4MAPPED(&rule->network) &&
	       address_bits_equal(address, &rule->network, rule->bits);
}

/* In any form that leads there. */
static bool denies(const struct host_rule *rule, const struct in6_addr *address)
{
	struct in6_addr carried[2];
	size_t count = address_carried(address, carried);
	bool means = rule->kind == KIND_ANY || in_network(rule, address) ||
		     (rule->kind == KIND_LOOPBACK && address_range(address) == RANGE_LOOPBACK);

	for (size_t i = 0; i < count && !means; i++)
		means = in_network(rule, &carried[i]);
	return means;
}

static bool is_localhost(const struct in6_addr *address)
{
	static const uint8_t ipv4[] = {127, 0, 0, 1};
	struct in6_addr mapped = address_map(ipv4);

	return IN6_IS_ADDR_LOOPBACK(address) || IN6_ARE_ADDR_EQUAL(address, &mapped);
}

/* What is not public must be named: `0.0.0.0/0` means the world, not this machine's neighbours. */
static bool allows(const struct host_rule *rule, const struct in6_addr *address)
{
	unsigned bits;

	if (rule->kind == KIND_LOOPBACK)
		return is_localhost(address);
	return in_network(rule, address) &&
	       (address_range_bits(address, &bits) == RANGE_PUBLIC || rule->bits >= bits);
}

enum host_access host_rules_address(const struct host_rules *rules, const struct in6_addr *address,
				    uint16_t port, bool named, const char **ret_rule)
{
	enum address_range range = address_range(address);
	const char *decided = NULL;
	enum host_access access = rules->everything || (named && range == RANGE_PUBLIC)
					  ? HOST_ALLOWED
					  : HOST_UNLISTED;

	for (size_t i = 0; i < rules->count && access != HOST_DENIED; i++) {
		const struct host_rule *rule = &rules->items[i];

		if (!has_port(rule, port))
			continue;
		if (rule->deny ? denies(rule, address) : !decided && allows(rule, address)) {
			access = rule->deny ? HOST_DENIED : HOST_ALLOWED;
			decided = rule->pattern;
		}
	}
	if (range == RANGE_NOWHERE && access != HOST_DENIED) {
		access = HOST_DENIED;
		decided = NULL;
	}
	if (ret_rule)
		*ret_rule = decided;
	return access;
}

enum host_access host_rules_loopback(const struct host_rules *rules, uint16_t port)
{
	static const uint8_t ipv4[] = {127, 0, 0, 1};
	struct in6_addr one = address_map(ipv4), other = in6addr_loopback;
	enum host_access access = host_rules_address(rules, &one, port, false, NULL);
	enum host_access second = host_rules_address(rules, &other, port, false, NULL);

	/* Denied by either, allowed by either: which of them is dialled nobody said. */
	return MAX(access, second);
}

bool host_rules_open(const struct host_rules *rules)
{
	if (rules->everything)
		return true;
	for (size_t i = 0; i < rules->count; i++)
		if (!rules->items[i].deny)
			return true;
	return false;
}
