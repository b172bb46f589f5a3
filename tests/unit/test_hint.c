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

static void check(const char *operation, const char *object, const char *rule, const char *flag,
		  const char *permission)
{
	const struct denial denial = {.operation = (char *)operation,
				      .object = (char *)object,
				      .syscall = (char *)"connect",
				      .rule = (char *)rule,
				      .count = 1};
	_cleanup_buffer_ struct buffer text = {0};
	_cleanup_free_ char *given = NULL;
	bool broad;

	assert_int_equal(hint_flag(&denial, "/work", &text), flag != NULL);
	if (flag)
		assert_string_equal(buffer_text(&text), flag);
	given = hint_permission(&denial, &broad);
	if (permission)
		assert_string_equal(given, permission);
	else
		assert_null(given);
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

static void make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void sockets_with_a_name_are_called_by_it(void **state)
{
	char directory[] = "/tmp/ward-test-hint-XXXXXX", path[64], permission[80], flag[120];
	static const struct {
		const char *file, *variable, *value, *flag;
	} cases[] = {
		{"agent", "SSH_AUTH_SOCK", "%s", "--allow-socket ssh-agent (signs with your keys)"},
		{"wayland-7", "WAYLAND_DISPLAY", "wayland-7",
		 "--allow-socket wayland (opens windows and reads the clipboard)"},
		{"bus", "DBUS_SESSION_BUS_ADDRESS", "unix:path=%s,guid=0",
		 "--allow-socket dbus (can start programs outside the sandbox)"},
	};

	(void)state;
	assert_non_null(mkdtemp(directory));
	setenv("XDG_RUNTIME_DIR", directory, 1);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer value = {0};
		const char *mark = strstr(cases[i].value, "%s");

		snprintf(path, sizeof(path), "%s/%s", directory, cases[i].file);
		snprintf(permission, sizeof(permission), "unix %s", path);
		make_socket(path);
		buffer_add(&value, cases[i].value,
			   mark ? (size_t)(mark - cases[i].value) : strlen(cases[i].value));
		if (mark)
			buffer_printf(&value, "%s%s", path, mark + 2);
		setenv(cases[i].variable, buffer_text(&value), 1);
		check("unix", path, "default: no sockets of the host", cases[i].flag, permission);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/docker.sock", directory);
	make_socket(path);
	snprintf(permission, sizeof(permission), "unix %s", path);
	snprintf(flag, sizeof(flag), "--allow-socket %s (equal to root)", path);
	check("unix", path, "default: no sockets of the host", flag, permission);
	unlink(path);
	check("unix", "@abstract", "default: no sockets of the host", NULL, NULL);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_host_is_opened_by_its_name_and_port),
		cmocka_unit_test(the_hosts_loopback_has_a_name),
		cmocka_unit_test(what_is_denied_or_never_reached_has_no_way_on),
		cmocka_unit_test(sockets_with_a_name_are_called_by_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
