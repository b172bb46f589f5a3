/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about targets of the network: which of them decide. */
#include "hosts.h"
#include "host_pattern.h"
#include "ranges.h"

#include <string.h>

int host_pattern_check(const char *pattern, struct error **ret_error)
{
	struct host_rule rule;
	int r = host_pattern_read(pattern, &rule, ret_error);

	host_rule_done(&rule);
	return r;
}

int host_rules_add(struct host_rules *rules, const char *pattern, bool deny,
		   struct error **ret_error)
{
	struct host_rule rule;
	int r = host_pattern_read(pattern, &rule, ret_error);

	if (r < 0) {
		host_rule_done(&rule);
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
		host_rule_done(&rules->items[i]);
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
		return host_is_below(name, rule->name) &&
		       strcspn(name, ".") + 1 + strlen(rule->name) == strlen(name);
	case KIND_TREE:
		return strcmp(name, rule->name) == 0 || host_is_below(name, rule->name);
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

static bool is_name_kind(const struct host_rule *rule)
{
	return rule->kind == KIND_NAME || rule->kind == KIND_CHILDREN || rule->kind == KIND_TREE;
}

/* Ports aside. */
static bool covers(const struct host_rule *rule, const struct host_rule *other)
{
	switch (rule->kind) {
	case KIND_NAME:
		return other->kind == KIND_NAME && means_name(rule, other->name);
	case KIND_CHILDREN:
		return (other->kind == KIND_NAME && means_name(rule, other->name)) ||
		       (other->kind == KIND_CHILDREN && strcmp(rule->name, other->name) == 0);
	case KIND_TREE:
		return is_name_kind(other) && means_name(rule, other->name);
	case KIND_ANY:
		return is_name_kind(other) || other->kind == KIND_ANY;
	case KIND_NETWORK:
		return other->kind == KIND_NETWORK && other->bits >= rule->bits &&
		       (allows(rule, &other->network) ||
			(other->bits == rule->bits &&
			 IN6_ARE_ADDR_EQUAL(&rule->network, &other->network)));
	case KIND_LOOPBACK:
		return other->kind == KIND_LOOPBACK ||
		       (other->kind == KIND_NETWORK && other->bits == 128 &&
			is_localhost(&other->network));
	}
	return false;
}

bool host_pattern_covers(const char *pattern, const char *other)
{
	struct host_rule rule, inner;
	bool good = host_pattern_read(pattern, &rule, NULL) == 0;
	bool result = host_pattern_read(other, &inner, NULL) == 0 && good &&
		      rule.from <= inner.from && rule.to >= inner.to && covers(&rule, &inner);

	host_rule_done(&rule);
	host_rule_done(&inner);
	return result;
}

const char *host_rules_pattern(const struct host_rules *rules, size_t i, bool *ret_deny)
{
	*ret_deny = rules->items[i].deny;
	return rules->items[i].pattern;
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

bool host_rules_exactly(const struct host_rules *rules, const struct in6_addr *address,
			uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct host_rule *rule = &rules->items[i];

		if (!rule->deny && has_port(rule, port) && rule->kind == KIND_NETWORK &&
		    rule->bits == 128 && IN6_ARE_ADDR_EQUAL(&rule->network, address))
			return true;
	}
	return rules->everything;
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
