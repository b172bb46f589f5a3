/* SPDX-License-Identifier: Apache-2.0 */
/* The way on after a refusal: the flag and the permission that would have opened it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "escalate/explain.h"
#include "escalate/hint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static void check_denial(const struct denial *denial, const char *flag, const char *permission)
{
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_free_ char *given = NULL;
	bool broad;

	assert_int_equal(hint_flag(denial, "/work", &text), flag != NULL);
	if (flag)
		assert_string_equal(buffer_text(&text), flag);
	given = hint_permission(denial, &broad);
	if (permission)
		assert_string_equal(given, permission);
	else
		assert_null(given);
}

static void check(const char *operation, const char *object, const char *rule, const char *flag,
		  const char *permission)
{
	const struct denial denial = {.operation = (char *)operation,
				      .object = (char *)object,
				      .syscall = (char *)"connect",
				      .rule = (char *)rule,
				      .count = 1};

	check_denial(&denial, flag, permission);
}

static void a_refused_host_is_opened_by_its_name_and_port(void **state)
{
	(void)state;
	check("connect", "packages.example:443", "network none",
	      "--allow-host packages.example:443", "connect packages.example:443");
	check("connect", "192.0.2.1:80", "network restricted", "--allow-host 192.0.2.1:80",
	      "connect 192.0.2.1:80");
	check("connect", "[2001:db8::1]:80", "network none", "--allow-host '[2001:db8::1]:80'",
	      "connect [2001:db8::1]:80");
	/* What no pattern can say nobody can be asked for. */
	check("connect", "a;b:80", "network none", NULL, NULL);
	check("connect", "?:0", "network none", NULL, NULL);
}

static void check_led(const char *name, const char *address, const char *flag,
		      const char *permission)
{
	const struct denial denial = {.operation = (char *)"connect",
				      .object = (char *)"a.test:80",
				      .syscall = (char *)"connect",
				      .rule = (char *)"network: it must be listed itself",
				      .host = (char *)name,
				      .address = (char *)address,
				      .port = 80,
				      .count = 1};

	check_denial(&denial, flag, permission);
}

static void a_name_that_leads_astray_is_opened_by_the_address(void **state)
{
	(void)state;
	check_led("a.test", "10.0.0.1", "--allow-host 10.0.0.1:80", "connect 10.0.0.1:80");
	check_led("a.test", "fd00::1", "--allow-host '[fd00::1]:80'", "connect [fd00::1]:80");
	check_led("a.test", "169.254.169.254", "--allow-host 169.254.169.254:80",
		  "connect 169.254.169.254:80");
	check_led("a.test", "127.0.0.1", "--allow-host localhost:80", "host-loopback 80");
	check_led("a.test", "127.0.0.53", "--allow-host 127.0.0.53:80", "connect 127.0.0.53:80");
	check_led("a.test", "192.0.2.1", "--allow-host a.test:80", "connect a.test:80");
	check_led("a.test", NULL, "--allow-host a.test:80", "connect a.test:80");
	/* Nothing leads to nowhere. */
	check_led("a.test", "224.0.0.1", NULL, NULL);
	check_led("224.0.0.1", "224.0.0.1", NULL, NULL);
}

static void the_hosts_loopback_has_a_name(void **state)
{
	(void)state;
	check("connect", "localhost:5432", "network none", "--allow-host localhost:5432",
	      "host-loopback 5432");
	check("connect", "127.0.0.1:5432", "network none", "--allow-host localhost:5432",
	      "host-loopback 5432");
	check("connect", "[::1]:5432", "network none", "--allow-host localhost:5432",
	      "host-loopback 5432");
	check("connect", "host-loopback:5432", "network none", "--allow-host localhost:5432",
	      "host-loopback 5432");
}

static void a_refused_read_is_opened_for_reading(void **state)
{
	(void)state;
	check("read", "/work/.env", "default: secrets are masked", "--read .env", NULL);
	check("read", "/etc/hostname", "default: secrets are masked", "--read /etc/hostname",
	      "read /etc/hostname");
	/* What is not there, or would fail all the same. */
	check("read", "/etc/hostname/none", "default: secrets are masked",
	      "--read /etc/hostname/none", NULL);
	check("read", "/etc/hostname", "the system's own file permissions", NULL, NULL);
}

static void what_is_denied_or_never_reached_has_no_way_on(void **state)
{
	static const struct list never;
	struct denial denial = {.operation = (char *)"connect",
				.object = (char *)"a.test:80",
				.syscall = (char *)"connect",
				.rule = (char *)"denied: a.test",
				.count = 1};
	struct attempt attempt = {.denials = &denial, .denial_count = 1};
	_cleanup_list_ struct list missing = {0}, refused = {0};

	(void)state;
	check("connect", "a.test:80", "denied: a.test", NULL, NULL);
	check("connect", "224.0.0.1:80", "never: reserved address", NULL, NULL);
	/* Nor is it a reason to leave the sandbox. */
	assert_int_equal(explain_missing(&attempt, &never, &missing, &refused), 0);
	assert_int_equal(missing.count, 0);
	assert_int_equal(refused.count, 1);
}

/* A rule about a program is asked about while it waits, and no flag lifts it. */
static void a_refused_program_has_no_way_on(void **state)
{
	static const char *const rules[] = {"deny: git push", "ask: git push: it publishes",
					    "exec: what was loaded is not what was approved"};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(rules); i++) {
		const struct denial denial = {.operation = (char *)"exec",
					      .object = (char *)"/usr/bin/git push",
					      .rule = (char *)rules[i]};

		check("exec", "/usr/bin/git push", rules[i], NULL, NULL);
		assert_true(hint_is_final(&denial));
	}
}

static void check_socket(const char *directory, const char *name, const char *known)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_buffer_ struct buffer flag = {0}, permission = {0};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	setenv("SSH_AUTH_SOCK", strcmp(name, "agent") == 0 ? address.sun_path : "", 1);
	buffer_printf(&flag, "--allow-socket %s%s", address.sun_path, known);
	buffer_printf(&permission, "unix %s", address.sun_path);
	check("unix", address.sun_path, "default: no sockets of the host", buffer_text(&flag),
	      buffer_text(&permission));
	unlink(address.sun_path);
}

static void a_refused_socket_is_opened_by_its_path_and_shows_its_risk(void **state)
{
	char directory[] = "/tmp/ward-test-hint-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(directory));
	check_socket(directory, "plain", "");
	check_socket(directory, "agent", " (ssh-agent: your keys)");
	check_socket(directory, "docker.sock", " (docker: equal to root)");
	check("unix", "@abstract", "default: no sockets of the host", NULL, NULL);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_host_is_opened_by_its_name_and_port),
		cmocka_unit_test(a_name_that_leads_astray_is_opened_by_the_address),
		cmocka_unit_test(the_hosts_loopback_has_a_name),
		cmocka_unit_test(a_refused_read_is_opened_for_reading),
		cmocka_unit_test(what_is_denied_or_never_reached_has_no_way_on),
		cmocka_unit_test(a_refused_program_has_no_way_on),
		cmocka_unit_test(a_refused_socket_is_opened_by_its_path_and_shows_its_risk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
