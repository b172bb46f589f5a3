/* SPDX-License-Identifier: Apache-2.0 */
/* decide: sockets of the host, by name and by path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* the name is ward's */

#include "decide/sockets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *name_at(const char *path)
{
	const struct known_socket *socket = socket_at(path);

	return socket ? socket->name : "none";
}

static void what_gives_much_away_is_known_by_its_path(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{"/run/docker.sock", "docker"},
		{"/home/anna/.docker/run/docker.sock", "docker"},
		{"/run/user/1000/podman/podman.sock", "podman"},
		{"/run/containerd/containerd.sock", "containerd"},
		{"/run/incus/unix.socket", "lxd"},
		{"/run/libvirt/libvirt-sock", "libvirt"},
		{"/run/libvirt/virtqemud-sock-ro", "libvirt"},
		{"/run/systemd/private", "systemd"},
		{"/run/user/1000/systemd/private", "systemd"},
		{"/run/dbus/system_bus_socket", "dbus"},
		{"/run/user/1000/bus", "session-bus"},
		{"/tmp/.X11-unix/X0", "x11"},
		{"/run/user/1000/wayland-0", "wayland"},
		{"/tmp/ssh-XXXXabc/agent.17", "ssh-agent"},
		{"/run/user/1000/keyring/ssh", "ssh-agent"},
		{"/run/user/1000/keyring/control", "keyring"},
		{"/run/user/1000/gnupg/S.gpg-agent", "gpg-agent"},
		{"/home/anna/.gnupg/S.gpg-agent.ssh", "gpg-agent"},
		{"/run/user/1000/pipewire-0", "audio"},
		{"/run/postgresql/.s.PGSQL.5432", "none"},
		{"/home/anna/docker.sock.d/x", "none"},
	};

	(void)state;
	unsetenv("SSH_AUTH_SOCK");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(name_at(cases[i].path), cases[i].name);
	for (const struct known_socket *socket = known_sockets; socket->name; socket++) {
		assert_ptr_equal(socket_named(socket->name), socket);
		assert_true(socket->means[0] && socket->risk[0] && socket->paths[0]);
	}
	assert_null(socket_named("dock"));
	assert_null(socket_named(""));
}

static void a_name_means_the_sockets_of_this_user(void **state)
{
	char directory[] = "/tmp/ward-sockets-XXXXXX", path[64], link[64];
	_cleanup_list_ struct list found = {0}, agent = {0}, none = {0};

	(void)state;
	assert_non_null(mkdtemp(directory));
	setenv("XDG_RUNTIME_DIR", directory, 1);
	snprintf(path, sizeof(path), "%s/wayland-0", directory);
	close(open(path, O_CREAT | O_WRONLY, 0600));
	socket_paths(socket_named("wayland"), &found);
	assert_int_equal(found.count, 1);
	assert_string_equal(found.items[0], path);

	/* The agent is the one that the variable names, and by no other way. */
	unsetenv("SSH_AUTH_SOCK");
	socket_paths(socket_named("ssh-agent"), &none);
	assert_int_equal(none.count, 0);
	snprintf(link, sizeof(link), "%s/agent", directory);
	assert_int_equal(symlink(path, link), 0);
	setenv("SSH_AUTH_SOCK", link, 1);
	socket_paths(socket_named("ssh-agent"), &agent);
	assert_int_equal(agent.count, 1);
	assert_string_equal(name_at(path), "ssh-agent");
	unlink(link);
	unlink(path);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_gives_much_away_is_known_by_its_path),
		cmocka_unit_test(a_name_means_the_sockets_of_this_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
