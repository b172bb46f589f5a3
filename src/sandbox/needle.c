/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns and names. */
#include "needle.h"
#include "../base/path.h"

#include <stdio.h>
#include <string.h>

int needle_components(const char *path)
{
	int count = 0;

	for (; *path; path++)
		count += *path == '/' && path[1];
	return count;
}

void needle_prepare(const struct file_rule *rule, struct needle *ret_needle)
{
	const char *name = path_last(rule->pattern);
	size_t length = strlen(name), tail = strcspn(name, "*?[");
	struct needle needle = {.rule = rule, .name = name, .prefix = tail, .name_length = length};

	for (size_t i = length; tail < length && i > tail && !strchr("*?[]", name[i - 1]); i--)
		needle.suffix++;
	needle.first = tail > 0 ? name[0] : '\0';
	needle.only_name = strncmp(rule->pattern + rule->fixed, "/**/", 4) == 0 &&
			   name == rule->pattern + rule->fixed + 4;
	needle.deepest =
		strstr(rule->pattern, "**") ? NEEDLE_ANY_DEPTH : needle_components(rule->pattern);
	*ret_needle = needle;
}

static bool name_matches(const struct needle *needle, const struct list *not_names,
			 const char *name, size_t length)
{
	if (length < needle->prefix + needle->suffix ||
	    memcmp(name, needle->name, needle->prefix) != 0 ||
	    memcmp(name + length - needle->suffix,
		   needle->name + needle->name_length - needle->suffix, needle->suffix) != 0 ||
	    !path_component_matches(needle->name, needle->name_length, name, length))
		return false;
	for (size_t i = 0; needle->rule->weight == WEIGHT_DEFAULT && i < not_names->count; i++)
		if (path_component_matches(not_names->items[i], strlen(not_names->items[i]), name,
					   length))
			return false;
	return true;
}

int needle_matches(const struct needle *needle, const struct list *not_names, const char *directory,
		   const char *name, size_t length, struct error **ret_error)
{
	size_t fixed = needle->rule->fixed;
	char path[PATH_MAX + NAME_MAX + 2];
	bool overrun = false;

	if (!name_matches(needle, not_names, name, length))
		return 0;
	if (needle->only_name)
		return strncmp(directory, needle->rule->pattern, fixed) == 0 &&
		       (directory[fixed] == '/' || !directory[fixed]);
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (path_matches(needle->rule->pattern, path, &overrun))
		return 1;
	return overrun ? fail(ret_error, E_USAGE, "the pattern %s takes too long to match",
			      needle->rule->pattern)
		       : 0;
}
