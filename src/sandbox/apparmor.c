/* SPDX-License-Identifier: Apache-2.0 */
/* AppArmor, and what a container's runtime was told of it and of SELinux.
 *
 * Where the administrator has loaded the profile, the command is put under it at exec.
 *
 * The kernel hands the wish on to children and keeps it until one of them executes something, so
 * init makes it before the tree and the filter stand, for the command that it starts later, and
 * itself stays outside the profile. From no confinement into one is allowed under no_new_privs. */
#include "stage.h"
#include "../base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ATTRIBUTE(name) "/proc/self/attr/apparmor/" name
#define WISH		"exec " APPARMOR_PROFILE
/* A profile that only complains is none. */
#define GRANTED APPARMOR_PROFILE " (enforce)"

enum { LABEL_ROOM = 256 };

/* A label as the kernel writes it: its name, and its mode in brackets unless it is nobody's. */
static bool read_label(int fd, char ret_label[static LABEL_ROOM])
{
	ssize_t length = fd < 0 ? -1 : pread(fd, ret_label, LABEL_ROOM - 1, 0);

	if (length <= 0)
		return false;
	ret_label[length] = '\0';
	ret_label[strcspn(ret_label, "\n")] = '\0';
	return true;
}

/* From a profile of somebody else's into another the exec itself would fail under no_new_privs. One
 * that leaves its program unconfined, as ward's own for namespaces does, says so as its mode. */
static bool is_unconfined(void)
{
	_cleanup_close_ int fd = open(ATTRIBUTE("current"), O_RDONLY | O_CLOEXEC);
	char label[LABEL_ROOM];
	const char *mode;

	if (!read_label(fd, label))
		return false;
	mode = strrchr(label, ' ');
	return strcmp(mode ? mode + 1 : label, mode ? "(unconfined)" : "unconfined") == 0;
}

bool stage_apparmor(void)
{
	_cleanup_close_ int fd = open(ATTRIBUTE("exec"), O_RDWR | O_CLOEXEC);
	char label[LABEL_ROOM];

	return fd >= 0 && is_unconfined() &&
	       write(fd, WISH, strlen(WISH)) == (ssize_t)strlen(WISH) && read_label(fd, label) &&
	       strcmp(label, GRANTED) == 0;
}

int stage_enter_profile(const char *profile, struct failure *failure)
{
	_cleanup_close_ int fd = open(ATTRIBUTE("current"), O_WRONLY | O_CLOEXEC);
	char wish[LABEL_ROOM];
	int length = snprintf(wish, sizeof(wish), "changeprofile %s", profile);

	if (length >= (int)sizeof(wish)) {
		errno = ENAMETOOLONG;
		return stage_fail(failure, "standing under", profile);
	}
	return fd < 0 || write(fd, wish, (size_t)length) != length
		       ? stage_fail(failure, "standing under", profile)
		       : 0;
}

bool stage_stands_under(const char *attribute, const char *label)
{
	_cleanup_close_ int fd = open(attribute, O_RDONLY | O_CLOEXEC);
	char found[LABEL_ROOM];
	size_t length = strlen(label);

	/* SELinux writes the label alone, AppArmor its mode behind it. */
	return read_label(fd, found) && strncmp(found, label, length) == 0 &&
	       (!found[length] || strcmp(found + length, " (enforce)") == 0);
}
