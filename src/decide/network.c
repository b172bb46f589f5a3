/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts and ports, from flags, policies and answers to the rules that the supervisor holds. */
#include "network.h"
#include "sets.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int network_check_host(const char *text, struct error **ret_error)
{
	return sets_is_meant(text) ? sets_check(text, E_USAGE, ret_error)
				   : host_pattern_check(text, ret_error);
}

/* What a set stands for, as files say that no command can write. */
static int expand(const struct matter *matter, const struct verdict *verdict, const char *name,
		  struct list *hosts, struct error **ret_error)
{
	const struct file_rules *rules = &verdict->permissions.rules;
	const struct surroundings *surroundings = matter->surroundings;
	_cleanup_list_ struct list writable = {0};
	const struct sets_places places = {
		.workspace = matter->request->workspace,
		.home = getenv("HOME"),
		.config_home = getenv("XDG_CONFIG_HOME"),
		.tools_home = surroundings->home,
		.state = surroundings->own_state ? surroundings->own_state : surroundings->state,
		.environment = surroundings->environment,
		.writable = &writable,
		.uid = surroundings->other_user ? 0 : geteuid(),
	};

	for (size_t i = 0; i < rules->count; i++)
		if (rules->items[i].access == ACCESS_WRITE)
			list_add(&writable, rules->items[i].pattern);
	return sets_expand(name, &places, hosts, ret_error);
}

/* A host, or what a set stands for. */
static int add_host(const struct matter *matter, const char *text, bool deny,
		    struct verdict *verdict, struct error **ret_error)
{
	struct host_rules *rules = &verdict->permissions.hosts;
	_cleanup_list_ struct list hosts = {0};
	int r;

	if (!sets_is_name(text))
		return host_rules_add(rules, text, deny, ret_error);
	r = expand(matter, verdict, text, &hosts, ret_error);
	for (size_t i = 0; i < hosts.count && r == 0; i++)
		r = host_rules_add(rules, hosts.items[i], deny, ret_error);
	return r;
}

static bool read_port(const char *text, size_t length, unsigned *ret_port)
{
	*ret_port = 0;
	if (length == 0 || length > 5 || text[0] == '0')
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*ret_port = *ret_port * 10 + (unsigned)(text[i] - '0');
	}
	return *ret_port <= UINT16_MAX;
}

int network_check_port(const char *text, struct error **ret_error)
{
	unsigned port;

	if (strcmp(text, "*") == 0 || read_port(text, strlen(text), &port))
		return 0;
	fail(ret_error, E_USAGE, "'%s' is not a port", text);
	error_hint(ret_error, "write a number from 1 to 65535, or *");
	return -E_USAGE;
}

static int read_publish(const char *text, unsigned *ret_outside, unsigned *ret_inside,
			struct error **ret_error)
{
	size_t length = strcspn(text, ":");
	const char *inside = text[length] ? text + length + 1 : text;

	if (read_port(text, length, ret_outside) &&
	    read_port(inside, text[length] ? strlen(inside) : length, ret_inside))
		return 0;
	fail(ret_error, E_USAGE, "'%s' is not a port to publish", text);
	error_hint(ret_error, "write 8080, or 8080:80 for port 80 inside; ports are 1 to 65535");
	return -E_USAGE;
}

int network_check_publish(const char *text, struct error **ret_error)
{
	unsigned outside, inside;

	return read_publish(text, &outside, &inside, ret_error);
}

static int add_publish(struct list *list, const char *text, struct error **ret_error)
{
	unsigned outside, inside;
	_cleanup_free_ char *pair = NULL;
	int r = read_publish(text, &outside, &inside, ret_error);

	if (r < 0)
		return r;
	if (asprintf(&pair, "%u:%u", outside, inside) < 0)
		abort();
	if (!list_has(list, pair))
		list_take(list, STEAL(pair));
	return 0;
}

/* Hosts or ports that are to be open, in a network that is to be none. */
static int refuse_none(const char *what, const char *text, struct error **ret_error)
{
	fail(ret_error, E_USAGE, "a network of none contradicts %s %s", what, text);
	error_hint(ret_error, "leave out one of them; hosts alone mean --net restricted");
	return -E_USAGE;
}

int network_check_request(const struct request *request, struct error **ret_error)
{
	const struct list *hosts[] = {&request->allow_hosts, &request->deny_hosts};
	bool none = request->has_network && request->network == NETWORK_NONE;
	int r;

	for (size_t l = 0; l < ELEMENTS(hosts); l++)
		for (size_t i = 0; i < hosts[l]->count; i++)
			if ((r = network_check_host(hosts[l]->items[i], ret_error)) < 0)
				return r;
	for (size_t i = 0; i < request->publish.count; i++)
		if ((r = network_check_publish(request->publish.items[i], ret_error)) < 0)
			return r;
	if (none && request->allow_hosts.count)
		return refuse_none("--allow-host", request->allow_hosts.items[0], ret_error);
	if (none && request->publish.count)
		return refuse_none("--publish", request->publish.items[0], ret_error);
	return 0;
}

/* Never more than what is answered, and none where somebody said so. */
static enum network networked_code(const struct request *request,
				   const struct sandbox_policy *policy)
{
	if ((request->has_network && request->network == NETWORK_NONE) ||
	    (policy->has_network && policy->network == NETWORK_NONE))
		return NETWORK_NONE;
	return NETWORK_RESTRICTED;
}

enum network network_choose(const struct request *request, const struct sandbox_policy *policy)
{
	enum network network = policy->has_network ? policy->network : NETWORK_NONE;

	if (decide_is_networked_code(request))
		return networked_code(request, policy);
	if (request->foreign)
		return request->has_network ? MIN(network, request->network) : network;
	if (request->has_network)
		return request->network;
	return request->allow_hosts.count + request->publish.count > 0
		       ? MAX(network, NETWORK_RESTRICTED)
		       : network;
}

/* Another program that wants less of a full network than the policy gives names what it wants. */
static bool takes_hosts(const struct request *request, const struct sandbox_policy *policy)
{
	return !request->foreign || (policy->has_network && policy->network == NETWORK_FULL);
}

/* A set that no file has is nothing that may be reached. */
static int add_known(const struct matter *matter, const char *text, struct verdict *verdict,
		     struct error **ret_error)
{
	_cleanup_error_ struct error *error = NULL;
	int r = add_host(matter, text, false, verdict, &error);

	if (r < 0 && !(r == -E_USAGE && sets_is_name(text)))
		*ret_error = STEAL(error);
	return r == -E_USAGE && sets_is_name(text) ? 0 : r;
}

static int add_hosts(const struct matter *matter, const struct list *texts, bool deny,
		     struct verdict *verdict, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < texts->count && r == 0; i++)
		r = add_host(matter, texts->items[i], deny, verdict, ret_error);
	return r;
}

static int add_ports(struct list *ports, const struct list *texts, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < texts->count && r == 0; i++)
		r = add_publish(ports, texts->items[i], ret_error);
	return r;
}

int network_permissions(const struct matter *matter, const struct sandbox_policy *policy,
			struct verdict *verdict, struct error **ret_error)
{
	const struct request *request = matter->request;
	struct host_rules *hosts = &verdict->permissions.hosts;
	struct list *publish = &verdict->permissions.publish;
	int r;

	if ((r = add_hosts(matter, &policy->deny_hosts, true, verdict, ret_error)) < 0 ||
	    (r = add_hosts(matter, &request->deny_hosts, true, verdict, ret_error)) < 0)
		return r;
	if (verdict->network == NETWORK_NONE)
		return 0;
	if ((r = add_ports(publish, &policy->publish, ret_error)) < 0 ||
	    (!request->foreign && (r = add_ports(publish, &request->publish, ret_error)) < 0))
		return r;
	if (verdict->network == NETWORK_FULL) {
		hosts->everything = hosts->count + publish->count > 0;
		verdict->network = hosts->everything ? NETWORK_RESTRICTED : NETWORK_FULL;
		return 0;
	}
	if (decide_is_networked_code(request))
		return 0; /* the hosts of the answer, and no others */
	for (size_t i = 0; i < policy->allow_hosts.count && r == 0; i++)
		r = add_known(matter, policy->allow_hosts.items[i], verdict, ret_error);
	if (r == 0 && takes_hosts(request, policy))
		r = add_hosts(matter, &request->allow_hosts, false, verdict, ret_error);
	return r;
}

static int apply(const struct matter *matter, const char *operation, size_t length,
		 const char *resource, struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;
	_cleanup_free_ char *host = NULL;

	if (parse_word_in("connect", operation, length))
		return add_host(matter, resource, false, verdict, NULL);
	if (!parse_word_in("host-loopback", operation, length))
		return add_publish(&permissions->publish, resource, NULL);
	if (asprintf(&host, "localhost:%s", resource) < 0)
		abort();
	return network_check_port(resource, NULL) < 0
		       ? -E_USAGE
		       : host_rules_add(&permissions->hosts, host, false, NULL);
}

void network_apply(const struct matter *matter, const char *operation, size_t length,
		   const char *resource, const struct grant *grant, struct verdict *verdict)
{
	struct permissions *permissions = &verdict->permissions;
	const struct host_rules listed = permissions->hosts;
	int r;

	if (verdict->network == NETWORK_FULL)
		return; /* all of it is open */
	/* What can be taken back is not on the list: the supervisor has it beside. */
	if (grant)
		permissions->hosts = (struct host_rules){0};
	r = apply(matter, operation, length, resource, verdict);
	if (r == 0 && verdict->network == NETWORK_NONE)
		verdict->network = NETWORK_RESTRICTED;
	if (!grant)
		return;
	if (r == 0 && parse_word_in("bind", operation, length))
		givens_add(&permissions->fixed, operation, grant->id, &grant->expires);
	for (size_t i = 0; i < permissions->hosts.count; i++) {
		_cleanup_free_ char *permission = NULL;
		bool deny;

		if (asprintf(&permission, "connect %s",
			     host_rules_pattern(&permissions->hosts, i, &deny)) < 0)
			abort();
		givens_add(&permissions->given, permission, grant->id, &grant->expires);
	}
	host_rules_done(&permissions->hosts);
	permissions->hosts = listed;
}

static bool covers(const char *given, const char *wished)
{
	return strcmp(given, wished) == 0 || host_pattern_covers(given, wished);
}

static bool list_covers(const struct list *given, const char *wished)
{
	for (size_t i = 0; i < given->count; i++)
		if (covers(given->items[i], wished))
			return true;
	return false;
}

void network_wishes(const struct request *request, const struct sandbox_policy *policy,
		    enum network network, struct list *wishes)
{
	static const struct list nothing;
	const struct list *given = network == NETWORK_NONE ? &nothing : &policy->allow_hosts;
	_cleanup_list_ struct list published = {0};
	bool full = policy->has_network && policy->network == NETWORK_FULL;

	if (decide_is_networked_code(request))
		return; /* asked for with the code itself */
	for (size_t i = 0; i < request->allow_hosts.count && !full; i++)
		if (!list_covers(given, request->allow_hosts.items[i]))
			list_add_printf(wishes, "connect %s", request->allow_hosts.items[i]);
	/* The host's own network is not to be had by asking. */
	if (request->network == NETWORK_FULL && !full && !list_covers(given, "*"))
		list_add(wishes, "connect *");
	if (network != NETWORK_NONE)
		(void)add_ports(&published, &policy->publish, NULL);
	for (size_t i = 0; i < request->publish.count; i++) {
		const char *text = request->publish.items[i];
		unsigned outside, inside;
		size_t before = published.count;

		if (add_publish(&published, text, NULL) < 0 || published.count == before ||
		    read_publish(text, &outside, &inside, NULL) < 0)
			continue;
		if (outside == inside)
			list_add_printf(wishes, "bind %u", outside);
		else
			list_add_printf(wishes, "bind %u:%u", outside, inside);
	}
}

bool network_permission_covers(const char *given, const char *wish)
{
	static const char operation[] = "connect ";
	size_t length = strlen(operation);

	return strcmp(given, wish) == 0 ||
	       (strncmp(given, operation, length) == 0 && strncmp(wish, operation, length) == 0 &&
		covers(given + length, wish + length));
}
