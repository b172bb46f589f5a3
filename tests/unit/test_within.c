/* SPDX-License-Identifier: Apache-2.0 */
/* Edited grants: what lies within what was asked for never admits anything that it did not. */
#include "../../src/base/hosts.h"
#include "../../src/base/io.h"
#include "../../src/base/path.h"
#include "../../src/decide/within.h"
#include "../../src/escalate/ask.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t seed = 88172645463325252u;

static unsigned random_below(unsigned most)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 11) % most;
}

static void examples(void **state)
{
	static const struct {
		const char *inner, *outer;
		bool within;
	} known[] = {
		{"write /srv/a", "write /srv/a", true},
		{"write /srv/a", "write /srv/**", true},
		{"write /srv", "write /srv/**", true},
		{"delete /srv/a", "write /srv/**", true},
		{"write /srv/a/*.c", "write /srv/**", true},
		{"write /srv/a[*]/b", "write /srv/a[*]/**", true},
		{"write /srv/**", "write /srv/a", false},
		{"write /srv/a/b", "write /srv/a", false},
		{"write /srvx", "write /srv/**", false},
		{"write /srv/../etc", "write /srv/**", false},
		{"write /srv//../etc", "write /srv/**", false},
		{"write srv/a", "write /srv/**", false},
		{"write /a", "write /**", false}, /* nobody asks for that */
		{"read /srv/a", "write /srv/**", false},
		{"write /srv/a", "delete /srv/**", false},
		{"write /srv/a", "read /srv/**", false},
		{"connect a.example:443", "connect a.example", true},
		{"connect a.example:443", "connect *.example", true},
		{"connect a.example", "connect a.example:443", false},
		{"connect b.example:443", "connect a.example:443", false},
		{"connect 10.0.0.1:80", "connect 10.0.0.0/8:80", true},
		{"unix /run/a", "unix /run/a", true},
		{"unix /run/a", "unix /run/**", false},
		{"unsandboxed", "write /srv/**", false},
		{"exec /bin/a b", "exec /bin/a", false},
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(known); i++)
		if (permission_within(known[i].inner, known[i].outer) != known[i].within)
			fail_msg("%s within %s", known[i].inner, known[i].outer);
}

static void add_path(struct buffer *text, bool pattern)
{
	static const char *const plain[] = {"a", "b", "ab", "..", ".", "a[", "]b", "a*"};
	static const char *const globs[] = {"*",    "**",   "a*", "?", "[ab]",
					    "[!a]", "a[*]", "[a", "b]"};

	for (unsigned n = 1 + random_below(4); n > 0; n--)
		buffer_printf(text, "/%s",
			      pattern && random_below(2) ? globs[random_below(ELEMENTS(globs))]
							 : plain[random_below(ELEMENTS(plain))]);
}

/* Whatever two permissions are within each other: what the inner pattern matches the outer one
 * does. */
static void nothing_within_a_path_is_outside_of_it(void **state)
{
	unsigned within = 0, met = 0;

	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		_cleanup_buffer_ struct buffer inner = {0}, outer = {0}, path = {0};
		const char *in, *out;

		buffer_add_text(&outer, "write ");
		add_path(&outer, true);
		buffer_add_text(&inner, "write ");
		if (random_below(2)) { /* else they rarely have to do with each other */
			buffer_add(&inner, outer.data + 6, strcspn(outer.data + 6, "*"));
			if (inner.data[inner.length - 1] == '/')
				inner.data[--inner.length] = '\0';
		}
		if (random_below(2))
			add_path(&inner, true);
		if (random_below(2))
			buffer_add_text(&outer, "/**");
		if (!permission_within(buffer_text(&inner), buffer_text(&outer)))
			continue;
		within++;
		in = buffer_text(&inner) + 6;
		out = buffer_text(&outer) + 6;
		for (unsigned k = 0; k < 20; k++) {
			_cleanup_free_ char *normal = NULL;

			buffer_done(&path);
			add_path(&path, false);
			normal = path_normalise(buffer_text(&path));
			if (!path_matches(in, normal, NULL))
				continue;
			met++;
			if (!path_matches(out, normal, NULL))
				fail_msg("%s is in %s but not in %s", normal, in, out);
		}
	}
	assert_true(within > 1000 && met > 100);
}

static void nothing_within_hosts_is_outside_of_them(void **state)
{
	static const char *const hosts[] = {"a.example",    "b.a.example", "*.example",
					    "**.example",   "*",	   "example",
					    "x.b.a.example"};
	static const char *const ports[] = {"", ":443", ":80", ":1-1024", ":400-500"};
	unsigned met = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		char inner[64], outer[64];
		struct host_rules in = {0}, out = {0};

		snprintf(inner, sizeof(inner), "connect %s%s", hosts[random_below(ELEMENTS(hosts))],
			 ports[random_below(ELEMENTS(ports))]);
		snprintf(outer, sizeof(outer), "connect %s%s", hosts[random_below(ELEMENTS(hosts))],
			 ports[random_below(ELEMENTS(ports))]);
		if (!permission_within(inner, outer))
			continue;
		assert_int_equal(host_rules_add(&in, inner + 8, false, NULL), 0);
		assert_int_equal(host_rules_add(&out, outer + 8, false, NULL), 0);
		for (size_t k = 0; k < ELEMENTS(hosts); k++) {
			static const uint16_t tried[] = {80, 443, 450, 1024, 8080};

			for (size_t p = 0; p < ELEMENTS(tried) && !strchr(hosts[k], '*'); p++) {
				if (host_rules_name(&in, hosts[k], tried[p]) != HOST_ALLOWED)
					continue;
				met++;
				assert_int_equal(host_rules_name(&out, hosts[k], tried[p]),
						 HOST_ALLOWED);
			}
		}
		host_rules_done(&in);
		host_rules_done(&out);
	}
	assert_true(met > 1000);
}

static void a_person_may_write_it_as_people_do(void **state)
{
	struct list asked = {.items = (char *[]){(char *)"write /w/src/**"}, .count = 1};
	char *text = NULL;

	(void)state;
	assert_int_equal(permission_narrow("write ./src/a.c", "/w", &asked, &text, NULL), 0);
	assert_string_equal(text, "write /w/src/a.c");
	free(text);
	assert_true(permission_narrow("write ./src/../a.c", "/w", &asked, &text, NULL) < 0);
	assert_true(permission_narrow("write src/a.c", NULL, &asked, &text, NULL) < 0);
	assert_true(permission_narrow("wrote /w/src/a.c", "/w", &asked, &text, NULL) < 0);
	assert_true(permission_narrow("write /w/src/a\nb", "/w", &asked, &text, NULL) < 0);
	assert_true(permission_narrow("", "/w", &asked, &text, NULL) < 0);
}

static void a_link_leads_nobody_out(void **state)
{
	char directory[] = "/tmp/ward-test-within.XXXXXX", outer[64], inner[64], link[64],
	     beyond[96];
	char *items[] = {outer, NULL}, *text = NULL;
	struct list asked = {.items = items, .count = 1};

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(outer, sizeof(outer), "write %s/**", directory);
	snprintf(inner, sizeof(inner), "write %s/link", directory);
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_int_equal(symlink("/etc", link), 0);
	snprintf(beyond, sizeof(beyond), "write %s/link/not-there/nor-this", directory);
	assert_true(permission_narrow(inner, NULL, &asked, &text, NULL) < 0);
	/* Nor by what is not there yet. */
	assert_true(permission_narrow(beyond, NULL, &asked, &text, NULL) < 0);
	(void)remove_tree(AT_FDCWD, directory);
}

static void an_edit_gives_something_and_enough_for_what_waits(void **state)
{
	struct list asked = {.items = (char *[]){(char *)"write /srv/a/**"}, .count = 1},
		    less = {.items = (char *[]){(char *)"write /srv/a/b"}, .count = 1}, none = {0};
	_cleanup_list_ struct list grants = {0};

	(void)state;
	assert_true(answer_edit(&none, NULL, &asked, NULL, &grants, NULL) < 0);
	assert_true(answer_edit(&less, NULL, &asked, "write /srv/a/c", &grants, NULL) < 0);
	assert_int_equal(answer_edit(&less, NULL, &asked, "write /srv/a/b", &grants, NULL), 0);
	assert_string_equal(grants.items[0], "write /srv/a/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples),
		cmocka_unit_test(nothing_within_a_path_is_outside_of_it),
		cmocka_unit_test(nothing_within_hosts_is_outside_of_them),
		cmocka_unit_test(a_person_may_write_it_as_people_do),
		cmocka_unit_test(a_link_leads_nobody_out),
		cmocka_unit_test(an_edit_gives_something_and_enough_for_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
