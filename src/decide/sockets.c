/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sockets. The first whose pattern fits counts, so the narrower stands first. */
#include "sockets.h"
#include "../base/path.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN "/run/user/*" /* $XDG_RUNTIME_DIR of whoever it is */

const struct known_socket known_sockets[] = {
	{"docker",
	 {"/run/docker.sock", "/var/run/docker.sock", OWN "/docker.sock", "/**/docker.sock"},
	 NULL,
	 "equal to root",
	 "whoever reaches docker can mount any file of this machine"},
	{"podman",
	 {"/run/podman/podman.sock", OWN "/podman/podman.sock"},
	 NULL,
	 "equal to its owner",
	 "whoever reaches podman can mount any file that its owner may use"},
	{"containerd",
	 {"/run/containerd/containerd.sock", "/run/k3s/containerd/containerd.sock",
	  "/run/crio/crio.sock"},
	 NULL,
	 "equal to root",
	 "whoever reaches it can start containers that see all files of this machine"},
	{"lxd",
	 {"/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket",
	  "/var/lib/incus/unix.socket", "/run/incus/unix.socket"},
	 NULL,
	 "equal to root",
	 "whoever reaches it can start containers that see all files of this machine"},
	{"libvirt",
	 {"/run/libvirt/libvirt-sock*", "/run/libvirt/virt*-sock*", OWN "/libvirt/*-sock*"},
	 NULL,
	 "equal to root",
	 "whoever reaches it can start a virtual machine on any disk of this one"},
	{"systemd",
	 {"/run/systemd/private", OWN "/systemd/private"},
	 NULL,
	 "equal to its owner",
	 "it starts programs outside the sandbox"},
	{"dbus",
	 {"/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket"},
	 NULL,
	 "services of the machine",
	 "some of them do what root can, for whoever may ask"},
	{"session-bus",
	 {OWN "/bus", OWN "/dbus-1/**", OWN "/at-spi/bus*"},
	 NULL,
	 "equal to you",
	 "programs of your desktop can be told to start others outside the sandbox"},
	{"x11",
	 {"/tmp/.X11-unix/X*"},
	 NULL,
	 "equal to you",
	 "it reads every key and window of the display, and types into all of them"},
	{"wayland",
	 {OWN "/wayland-*"},
	 NULL,
	 "your screen",
	 "it shows windows, and reads the clipboard while one of them is in front"},
	{"ssh-agent",
	 {"/tmp/ssh-*/agent.*", OWN "/keyring/ssh", OWN "/keyring/.ssh", OWN "/gcr/ssh",
	  OWN "/openssh_agent", OWN "/ssh-agent*"},
	 "SSH_AUTH_SOCK",
	 "your keys",
	 "it logs in wherever they do, while it runs"},
	{"gpg-agent",
	 {OWN "/gnupg/**", "/**/.gnupg/S.*"},
	 NULL,
	 "your keys",
	 "it signs and decrypts with them"},
	{"keyring",
	 {OWN "/keyring/*", OWN "/kwallet*"},
	 NULL,
	 "your passwords",
	 "whoever reaches an open keyring is given what is stored in it"},
	{"audio",
	 {OWN "/pipewire-*", OWN "/pulse/native"},
	 NULL,
	 "your microphone",
	 "it hears what is said and what is played"},
	{NULL, {NULL}, NULL, NULL, NULL},
};

const struct known_socket *socket_at(const char *path)
{
	for (const struct known_socket *socket = known_sockets; socket->name; socket++) {
		const char *named = socket->variable ? getenv(socket->variable) : NULL;
		_cleanup_free_ char *real = named ? realpath(named, NULL) : NULL;

		if (real && strcmp(real, path) == 0)
			return socket;
		for (size_t i = 0; i < ELEMENTS(socket->paths) && socket->paths[i]; i++)
			if (path_matches(socket->paths[i], path, NULL))
				return socket;
	}
	return NULL;
}

const struct known_socket *socket_named(const char *name)
{
	for (const struct known_socket *socket = known_sockets; socket->name; socket++)
		if (strcmp(socket->name, name) == 0)
			return socket;
	return NULL;
}

/* A pattern with the user's own directory in it, which /run/user stands for. Caller frees. */
static char *own_pattern(const char *pattern)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char *own = NULL;
	int r;

	if (strncmp(pattern, OWN, strlen(OWN)) != 0)
		return strdup(pattern);
	pattern += strlen(OWN);
	r = runtime && runtime[0] == '/' ? asprintf(&own, "%s%s", runtime, pattern)
					 : asprintf(&own, "/run/user/%u%s", getuid(), pattern);
	if (r < 0)
		abort();
	return own;
}

void socket_paths(const struct known_socket *socket, struct list *ret_paths)
{
	const char *named = socket->variable ? getenv(socket->variable) : NULL;

	if (named) /* it says which one of them */
		list_add(ret_paths, named);
	if (socket->variable)
		return;
	for (size_t i = 0; i < ELEMENTS(socket->paths) && socket->paths[i]; i++) {
		_cleanup_free_ char *pattern = own_pattern(socket->paths[i]);
		glob_t found = {0};

		/* Below ** anything could lie; such a one is named by its path. */
		if (!strstr(pattern, "**") && glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
			for (size_t n = 0; n < found.gl_pathc; n++)
				list_add(ret_paths, found.gl_pathv[n]);
		globfree(&found);
	}
}
