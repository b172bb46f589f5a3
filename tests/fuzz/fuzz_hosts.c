/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes patterns of hosts: lines of them, asked about names and addresses. The first byte sets the
 * port. */
#include "base/hosts.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void add(struct host_rules *rules, const char *pattern, bool deny)
{
	_cleanup_error_ struct error *error = NULL;
	int checked = host_pattern_check(pattern, NULL);

	require(host_rules_add(rules, pattern, deny, &error) == checked);
	require(checked == 0 ? !error : error && error->hint && error->code == E_USAGE);
}

/* What must hold whatever the rules are. */
static void ask(const struct host_rules *rules, const struct in6_addr *address, uint16_t port)
{
	const char *rule = NULL;
	enum host_access said = host_rules_address(rules, address, port, false, &rule);
	enum host_access named = host_rules_address(rules, address, port, true, NULL);
	enum address_range range = address_range(address);

	require(address_range_name(range) != NULL);
	require(range != RANGE_NOWHERE || (said == HOST_DENIED && named == HOST_DENIED));
	require(said == HOST_UNLISTED ? named != HOST_DENIED : named == said);
	require(said != HOST_ALLOWED || (rule && host_rules_open(rules)));
	if (range != RANGE_PUBLIC)
		require(named == said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"example.org", "www.example.org", "localhost", "a"};
	struct host_rules rules = {0};
	struct in6_addr address = {.s6_addr = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
	uint16_t port = size > 0 ? data[0] : 0;
	char line[400];

	ask(&rules, &address, port);
	for (size_t at = 1; at < size && rules.count < 16;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t length = end ? (size_t)(end - data) - at : size - at;
		bool deny = data[at] == '!';

		if (length < sizeof(line)) {
			memcpy(line, data + at, length);
			line[length] = '\0';
			add(&rules, line + deny, deny);
		}
		/* What was said is also an address to ask about. */
		memcpy(&address, data + at, MIN(length, sizeof(address)));
		ask(&rules, &address, port);
		at += length + 1;
	}
	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (host_rules_name(&rules, names[i], port) == HOST_ALLOWED)
			require(host_rules_open(&rules));
	host_rules_loopback(&rules, port);
	host_rules_done(&rules);
	return 0;
}
