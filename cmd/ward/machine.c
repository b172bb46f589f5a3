/* SPDX-License-Identifier: Apache-2.0 */
/* Looking at the machine. */
#include "machine.h"
#include "../../src/base/io.h"
#include "../../src/sandbox/identity.h"
#include "../../src/sandbox/ladder.h"
#include "../../src/sys/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

enum { MOUNTS_LIMIT = 4 * 1024 * 1024 };

static void add_controllers(struct list *controllers, char *words, const char *separators)
{
	char *word;

	while ((word = strsep(&words, separators)))
		if (*word && strcmp(word, "rw") != 0 && strcmp(word, "ro") != 0 &&
		    strncmp(word, "name=", 5) != 0 && strcmp(word, "xattr") != 0 &&
		    strncmp(word, "release_agent=", 14) != 0 && !list_has(controllers, word))
			list_add(controllers, word);
}

/* A line of mountinfo: ... mount-point options - type source super-options */
static void look_at_mount(struct machine *machine, char *line, bool *one, bool *two)
{
	char *fields = strstr(line, " - "), *point = line, *type, *options;

	for (int i = 0; i < 4 && point; i++) {
		point = strchr(point, ' ');
		point = point ? point + 1 : NULL;
	}
	if (!fields || !point || strncmp(fields + 3, "cgroup", 6) != 0)
		return;
	type = fields + 3;
	point[strcspn(point, " ")] = '\0';
	options = strrchr(type, ' ');
	if (strncmp(type, "cgroup2 ", 8) == 0) {
		_cleanup_free_ char *path = NULL, *text = NULL;

		*two = true;
		if (asprintf(&path, "%s/cgroup.controllers", point) >= 0 &&
		    read_file(AT_FDCWD, path, 4096, &text, NULL) == 0)
			add_controllers(&machine->controllers, text, " \n");
	} else if (options) {
		*one = true;
		add_controllers(&machine->controllers, options + 1, ",");
	}
}

void machine_look(struct machine *ret_machine)
{
	_cleanup_free_ char *mounts = NULL;
	bool one = false, two = false;
	struct utsname name;
	char *rest, *line;

	*ret_machine =
		(struct machine){.landlock = sys_landlock_abi(), .apparmor = ladder_has_apparmor()};
	if (uname(&name) == 0)
		snprintf(ret_machine->kernel, sizeof(ret_machine->kernel), "%.60s %.60s",
			 name.sysname, name.release);
	if (read_file(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_LIMIT, &mounts, NULL) == 0)
		for (rest = mounts; (line = strsep(&rest, "\n"));)
			look_at_mount(ret_machine, line, &one, &two);
	strcpy(ret_machine->cgroup, one && two ? "hybrid" : one ? "v1" : two ? "v2" : "none");
	identity_kept_groups(&ret_machine->groups);
}

void machine_done(struct machine *machine)
{
	list_done(&machine->controllers);
	list_done(&machine->groups);
}
