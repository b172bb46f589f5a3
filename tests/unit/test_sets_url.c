/* SPDX-License-Identifier: Apache-2.0 */
/* The host and the port in what tools write as the address of a server. */
#include "../../src/base/hosts.h"
#include "../../src/decide/sets_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void a_url_is_a_host_and_the_port_of_its_scheme(void **state)
{
	static const struct {
		const char *url, *host;
	} cases[] = {
		{"https://packages.example/simple/", "packages.example:443"},
		{"http://packages.example", "packages.example:80"},
		{"HTTPS://Packages.EXAMPLE./x", "packages.example:443"},
		{"https://packages.example:8443?x#y", "packages.example:8443"},
		{"https://packages.example:/x", "packages.example:443"},
		{"sparse+https://index.example/", "index.example:443"},
		{"mirror+http://mirror.example/list", "mirror.example:80"},
		{"git+ssh://git@git.example/x", "git.example:22"},
		{"ssh://git@git.example:2222/x", "git.example:2222"},
		{"git://git.example/x", "git.example:9418"},
		{"https://user:secret@packages.example/", "packages.example:443"},
		{"https://me@corp.example:p%40ss@packages.example/", "packages.example:443"},
		{"https://trap.example:443@packages.example/", "packages.example:443"},
		{"https://packages.example/@trap.example/", "packages.example:443"},
		{"https://packages.example?@trap.example/", "packages.example:443"},
		{"https://[2001:DB8::1]/", "[2001:db8::1]:443"},
		{"http://u:p@[fd12::1]:8080/", "[fd12::1]:8080"},
		{"http://10.0.0.5:8080/simple", "10.0.0.5:8080"},
		{"http://localhost:4873/", "localhost:4873"},
		{"http://registry:5000/", "registry:5000"},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *host = url_host(cases[i].url, strlen(cases[i].url), false);

		assert_non_null(host);
		assert_string_equal(host, cases[i].host);
		assert_int_equal(host_pattern_check(host, NULL), 0);
	}
}

static void what_is_not_plainly_a_host_is_none(void **state)
{
	static const char *const cases[] = {
		"",
		"packages.example",
		"file:///srv/wheels",
		"/srv/wheels",
		"ftp://packages.example/",
		"https://",
		"https:///x",
		"https://*/",
		"https://*.example/",
		"https://**.example/",
		"https://a..b/",
		"https://-x.example/",
		"https://x-.example/",
		"https://packages.example:0/",
		"https://packages.example:65536/",
		"https://packages.example:443x/",
		"https://packages.example:1-65535/",
		"https://packages.example:443:22/",
		"https://10.0.0.0/8:443/",
		"https://10.1/",
		"https://0x7f.1/",
		"https://2130706433/",
		"https://0177.0.0.01/",
		"https://169.254.169.254/",
		"http://[fe80::1]/",
		"http://[fe80::1%25eth0]/",
		"http://[::ffff:169.254.169.254]/",
		"http://[fd00:ec2::254]/",
		"http://0.0.0.0/",
		"http://[packages.example]/",
		"http://[::1/",
		"https://host-loopback/",
		"https://b\xc3\xbc"
		"cher.example/",
		"https://packages.example\\@trap.example/",
		"https://pack%61ges.example/",
		"https://${HOST}/",
		"https://pack ages.example/",
		"git@git.example:x",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *host = url_host(cases[i], strlen(cases[i]), false);

		if (host && strcmp(host, "10.0.0.0:443") != 0)
			fail_msg("%s is %s", cases[i], host);
	}
}

static void a_remote_may_be_written_as_for_scp(void **state)
{
	static const struct {
		const char *url, *host;
	} cases[] = {
		{"git@git.example:team/x.git", "git.example:22"},
		{"git.example:x.git", "git.example:22"},
		{"[git@git.example:2222]:x.git", "git.example:2222"},
		{"git@[2001:db8::1]:x.git", "[2001:db8::1]:22"},
		{"https://t0ken@git.example/x.git", "git.example:443"},
		{"../other.git", NULL},
		{"/srv/x.git", NULL},
		{"./a:b", NULL},
		{"ext::sh -c x", NULL},
		{"ext::sh", NULL},
		{"-oProxyCommand=x:y", NULL},
		{"[git.example", NULL},
		{"a/[b]:c", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_free_ char *host = url_host(cases[i].url, strlen(cases[i].url), true);

		if (!cases[i].host) {
			assert_null(host);
			continue;
		}
		assert_non_null(host);
		assert_string_equal(host, cases[i].host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_url_is_a_host_and_the_port_of_its_scheme),
		cmocka_unit_test(what_is_not_plainly_a_host_is_none),
		cmocka_unit_test(a_remote_may_be_written_as_for_scp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
