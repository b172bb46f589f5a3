/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the host's files, those that are needed. */
#include "accounts.h"
#include "../base/io.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT = 4 * 1024 * 1024, GROUPS = 256, NOBODY = 65534 };

static bool is_among(const unsigned *ids, size_t count, unsigned id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* Copies the lines whose third field is among the ids: the name, no password, the rest. Members of
 * a group are left out: they are names of others. True if `wanted` was among them. */
static bool copy_lines(const char *path, const unsigned *ids, size_t count, bool members,
		       unsigned wanted, struct buffer *text)
{
	_cleanup_free_ char *file = NULL;
	char *rest, *line;
	bool found = false;

	if (read_file(AT_FDCWD, path, LIMIT, &file, NULL) < 0)
		return true; /* then the host's own stays, whatever it is */
	for (rest = file; (line = strsep(&rest, "\n"));) {
		char *name = strsep(&line, ":"), *number, *end;
		unsigned long id;

		if (!line || !strsep(&line, ":") || !(number = strsep(&line, ":")))
			continue;
		id = strtoul(number, &end, 10);
		if (end == number || *end || !is_among(ids, count, (unsigned)id))
			continue;
		found |= id == wanted;
		buffer_printf(text, "%s:x:%lu:%s\n", name, id, members && line ? line : "");
	}
	return found;
}

static bool is_name(const char *name)
{
	return name && *name && strlen(name) < 32 && !strpbrk(name, ":\n/ ");
}

void accounts_texts(const struct accounts *accounts, struct buffer *users, struct buffer *groups)
{
	const unsigned uids[] = {0, accounts->uid, accounts->owner, NOBODY};
	unsigned gids[GROUPS + 4] = {0, accounts->gid, accounts->owner_group, NOBODY};
	int more = getgroups(GROUPS, gids + 4);
	const char *name = is_name(accounts->name) ? accounts->name : "user";

	/* An account that a directory service knows, which cannot be asked from inside. */
	if (!copy_lines("/etc/passwd", uids, ELEMENTS(uids), true, accounts->uid, users))
		buffer_printf(users, "%s:x:%u:%u::%s:/bin/sh\n", name, accounts->uid, accounts->gid,
			      accounts->home && !strpbrk(accounts->home, ":\n") ? accounts->home
										: "/");
	if (!copy_lines("/etc/group", gids, 4 + (size_t)MAX(more, 0), false, accounts->gid, groups))
		buffer_printf(groups, "%s:x:%u:\n", name, accounts->gid);
}
