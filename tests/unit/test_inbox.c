/* SPDX-License-Identifier: Apache-2.0 */
/* observe/network: which addresses lead to ward's own inbox. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "base/own_sockets.h"
#include "observe/network/network.h"

#include <arpa/inet.h>
#include <unistd.h>

static const struct observed observed;
static const struct observer observer = {.observed = &observed};

static bool leads(const char *address, uint16_t port)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_scope_id = 1};

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return network_leads_to_inbox(&observer, (struct sockaddr *)&v4, sizeof(v4));
	assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	/* Without its scope, too. */
	assert_int_equal(network_leads_to_inbox(&observer, (struct sockaddr *)&v6, sizeof(v6)),
			 network_leads_to_inbox(&observer, (struct sockaddr *)&v6,
						offsetof(struct sockaddr_in6, sin6_scope_id)));
	return network_leads_to_inbox(&observer, (struct sockaddr *)&v6, sizeof(v6));
}

static void every_address_that_may_be_this_hosts_leads_there(void **state)
{
	static const char *const here[] = {
		"127.0.0.1", "127.9.9.9", "0.0.0.0",	      "::1",
		"::",	     "fe80::5",	  "::ffff:127.0.0.1", "::ffff:0.0.0.0",
	};
	/* Nobody need listen there: the mark alone counts. Another run of this has another one. */
	uint16_t port = (uint16_t)(1 + getpid() % UINT16_MAX);
	int mark = own_port_mark(port);

	(void)state;
	assert_true(mark >= 0);
	for (size_t i = 0; i < ELEMENTS(here); i++)
		assert_true(leads(here[i], port));
	assert_false(leads("192.0.2.1", port));
	assert_false(leads("2001:db8::1", port));
	close(mark);
	for (size_t i = 0; i < ELEMENTS(here); i++)
		assert_false(leads(here[i], port));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_that_may_be_this_hosts_leads_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
