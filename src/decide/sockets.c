/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the host's sockets. */
#include "sockets.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct named {
	const char *name;
	const char *paths[3];
	const char *variable; /* that names the path */
	void (*more)(struct list *paths);
	const char *risk;
};

/* Below the directory of the user's own sockets. */
static void add_runtime(struct list *paths, const char *name)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	if (runtime && runtime[0] == '/')
		list_add_printf(paths, "%s/%s", runtime, name);
}

static void add_session_bus(struct list *paths)
{
	static const char prefix[] = "unix:path=";
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");

	if (address && strncmp(address, prefix, strlen(prefix)) == 0) {
		address += strlen(prefix);
		list_add_printf(paths, "%.*s", (int)strcspn(address, ",;"), address);
	}
	add_runtime(paths, "bus");
}

/* ":0", ":0.0"; a display of another machine has no socket here. */
static void add_display(struct list *paths)
{
	const char *display = getenv("DISPLAY");
	size_t digits = display && display[0] == ':' ? strspn(display + 1, "0123456789") : 0;

	if (digits > 0)
		list_add_printf(paths, "/tmp/.X11-unix/X%.*s", (int)digits, display + 1);
}

static void add_wayland(struct list *paths)
{
	const char *display = getenv("WAYLAND_DISPLAY");

	if (display && display[0] == '/')
		list_add(paths, display);
	else
		add_runtime(paths, display && *display ? display : "wayland-0");
}

static const struct named sockets[] = {
	{"docker", {"/var/run/docker.sock", "/run/docker.sock", NULL}, NULL, NULL, "equal to root"},
	{"ssh-agent", {NULL}, "SSH_AUTH_SOCK", NULL, "signs with your keys"},
	{"dbus",
	 {"/run/dbus/system_bus_socket", NULL},
	 NULL,
	 add_session_bus,
	 "can start programs outside the sandbox"},
	{"x11", {NULL}, NULL, add_display, "sees every window and types into it"},
	{"wayland", {NULL}, NULL, add_wayland, "opens windows and reads the clipboard"},
};

static void add_paths(const struct named *named, struct list *paths)
{
	const char *value = named->variable ? getenv(named->variable) : NULL;

	for (const char *const *path = named->paths; *path; path++)
		list_add(paths, *path);
	if (value && *value)
		list_add(paths, value);
	if (named->more)
		named->more(paths);
}

bool socket_paths(const char *name, struct list *paths)
{
	for (size_t i = 0; i < ELEMENTS(sockets); i++)
		if (strcmp(sockets[i].name, name) == 0) {
			add_paths(&sockets[i], paths);
			return true;
		}
	return false;
}

const char *socket_name(const char *path)
{
	char wanted[PATH_MAX], real[PATH_MAX];

	if (!realpath(path, wanted))
		return NULL;
	for (size_t i = 0; i < ELEMENTS(sockets); i++) {
		_cleanup_list_ struct list paths = {0};

		add_paths(&sockets[i], &paths);
		for (size_t k = 0; k < paths.count; k++)
			if (realpath(paths.items[k], real) && strcmp(real, wanted) == 0)
				return sockets[i].name;
	}
	return NULL;
}

const char *socket_risk(const char *name)
{
	for (size_t i = 0; i < ELEMENTS(sockets) && name; i++)
		if (strcmp(sockets[i].name, name) == 0)
			return sockets[i].risk;
	return NULL;
}
