/* SPDX-License-Identifier: Apache-2.0 */
/* Which hierarchies of control groups are mounted, and where in them we are. */
#include "cgroup_parts.h"

#include <limits.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned power;
} controllers[] = {
	{"memory", CGROUP_MEMORY},    {"cpu", CGROUP_SHARE},  {"pids", CGROUP_TASKS},
	{"cpuacct", CGROUP_CPU_TIME}, {"blkio", CGROUP_DISK}, {"io", CGROUP_DISK},
	{"freezer", CGROUP_FREEZER},
};

unsigned controller_named(const char *name, size_t length)
{
	for (size_t i = 0; i < ELEMENTS(controllers); i++)
		if (strlen(controllers[i].name) == length &&
		    memcmp(controllers[i].name, name, length) == 0)
			return controllers[i].power;
	return 0;
}

/* Of a list with commas between its words. */
static unsigned controllers_in(const char *text, size_t length)
{
	unsigned set = 0;

	while (length > 0) {
		const char *comma = memchr(text, ',', length);
		size_t word = comma ? (size_t)(comma - text) : length;

		set |= controller_named(text, word);
		text += MIN(word + 1, length);
		length -= MIN(word + 1, length);
	}
	return set;
}

struct word {
	const char *at;
	size_t length;
};

/* The next word of a line, which ends at end; false if there is none. */
static bool next_word(const char **at, const char *end, struct word *ret_word)
{
	while (*at < end && **at == ' ')
		(*at)++;
	ret_word->at = *at;
	while (*at < end && **at != ' ')
		(*at)++;
	ret_word->length = (size_t)(*at - ret_word->at);
	return ret_word->length > 0;
}

static bool word_is(const struct word *word, const char *text)
{
	return word->length == strlen(text) && memcmp(word->at, text, word->length) == 0;
}

/* The kernel writes blanks, tabs, newlines and backslashes as \ooo. */
static bool unescape(const struct word *word, char ret_path[static PATH_MAX])
{
	size_t out = 0;

	for (size_t i = 0; i < word->length; i++) {
		const char *c = word->at + i;

		if (out + 1 >= PATH_MAX)
			return false;
		if (*c == '\\' && i + 3 < word->length && c[1] >= '0' && c[1] <= '3' &&
		    c[2] >= '0' && c[2] <= '7' && c[3] >= '0' && c[3] <= '7') {
			ret_path[out] = (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0'));
			if (!ret_path[out++])
				return false;
			i += 3;
		} else {
			ret_path[out++] = *c;
		}
	}
	ret_path[out] = '\0';
	return ret_path[0] == '/';
}

struct mount {
	bool unified;
	unsigned controllers;
	char root[PATH_MAX], point[PATH_MAX];
};

/* "36 31 0:33 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu" */
static bool parse_mount(const char *line, const char *end, struct mount *ret_mount)
{
	struct word word, root, point;

	for (int i = 0; i < 3; i++)
		if (!next_word(&line, end, &word))
			return false;
	if (!next_word(&line, end, &root) || !next_word(&line, end, &point))
		return false;
	do {
		if (!next_word(&line, end, &word))
			return false;
	} while (!word_is(&word, "-"));
	if (!next_word(&line, end, &word) ||
	    (!word_is(&word, "cgroup") && !word_is(&word, "cgroup2")))
		return false;
	ret_mount->unified = word_is(&word, "cgroup2");
	if (!next_word(&line, end, &word) || !next_word(&line, end, &word))
		return false;
	ret_mount->controllers = ret_mount->unified ? 0 : controllers_in(word.at, word.length);
	return unescape(&root, ret_mount->root) && unescape(&point, ret_mount->point);
}

/* Our group in the hierarchy, as /proc/self/cgroup has it: "4:memory:/a/b", "0::/a/b". False where
 * we are not in it, or above what of it can be seen from here. */
static bool find_group(const char *groups, const struct mount *mount, char ret[static PATH_MAX])
{
	for (const char *line = groups; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *names = memchr(line, ':', (size_t)(end - line));
		const char *path = names ? memchr(names + 1, ':', (size_t)(end - names - 1)) : NULL;
		bool ours = false;

		if (path) {
			size_t length = (size_t)(path - names - 1);

			ours = mount->unified
				       ? length == 0 && names == line + 1 && *line == '0'
				       : controllers_in(names + 1, length) & mount->controllers;
		}
		if (ours && path[1] == '/' && (size_t)(end - path) <= PATH_MAX) {
			size_t length = (size_t)(end - path - 1);

			memcpy(ret, path + 1, length);
			ret[length] = '\0';
			return strstr(ret, "/..") == NULL;
		}
		line = *end ? end + 1 : end;
	}
	return false;
}

static void add(struct hierarchies *hierarchies, const struct mount *mount, const char *group)
{
	size_t root = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
	struct hierarchy *item;

	/* A mount may show a part of its hierarchy only. */
	if (strncmp(group, mount->root, root) != 0 || (group[root] != '/' && group[root] != '\0'))
		return;
	for (size_t i = 0; i < hierarchies->count; i++) {
		const struct hierarchy *other = &hierarchies->items[i];

		/* Mounted twice. */
		if (other->unified == mount->unified && other->controllers == mount->controllers)
			return;
	}
	if (hierarchies->count == HIERARCHIES)
		return;
	item = &hierarchies->items[hierarchies->count++];
	*item = (struct hierarchy){.unified = mount->unified, .controllers = mount->controllers};
	item->mount = strdup(mount->point);
	if (!item->mount || asprintf(&item->path, "%s%s", mount->point,
				     strcmp(group + root, "/") == 0 ? "" : group + root) < 0)
		abort();
}

void hierarchies_parse(const char *mounts, const char *groups, struct hierarchies *ret)
{
	struct mount mount;
	char group[PATH_MAX];

	*ret = (struct hierarchies){0};
	for (const char *line = mounts; *line;) {
		const char *end = strchrnul(line, '\n');

		if (parse_mount(line, end, &mount) && (mount.unified || mount.controllers) &&
		    find_group(groups, &mount, group))
			add(ret, &mount, group);
		line = *end ? end + 1 : end;
	}
}

void hierarchies_done(struct hierarchies *hierarchies)
{
	for (size_t i = 0; i < hierarchies->count; i++) {
		free(hierarchies->items[i].mount);
		free(hierarchies->items[i].path);
	}
	hierarchies->count = 0;
}
