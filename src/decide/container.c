/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy says of containers: each key becomes KEY=VALUE, as flags write it. */
#include "reading.h"
#include "../base/container_word.h"
#include "../base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int read_container(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	(void)kind;
	return read_map(reading, node, SECTION_CONTAINER, NULL);
}

static int read_word(struct reading *reading, const struct node *place, const char *key,
		     const struct node *value)
{
	_cleanup_free_ char *word = NULL;
	uint64_t number;

	if (value->kind != NODE_TEXT)
		return read_wrong_kind(reading, value, "a single value", "write the value alone");
	/* ~ is the user's whose policy it is. */
	if (value->text[0] == '~' && value->text[1] == '/' && reading->home
		    ? asprintf(&word, "%s=%s%s", key, reading->home, value->text + 1) < 0
		    : asprintf(&word, "%s=%s", key, value->text) < 0)
		abort();
	if (value_check(SET_CONTAINER, word, NULL, &number, reading->ret_error) < 0)
		return read_place_error(reading, value);
	read_add_setting(reading, place, SET_CONTAINER, word);
	return 0;
}

#define READ(name, key)                                                             \
	int read_container_##name(struct reading *reading, const struct node *node, \
				  enum setting_kind kind)                           \
	{                                                                           \
		(void)kind;                                                         \
		return read_word(reading, node, key, node);                         \
	}
READ(runtime, "runtime")
READ(rootfs, "rootfs")
READ(image, "image")
READ(tmpfs, "tmpfs_size")
READ(apparmor, "apparmor")
READ(selinux, "selinux")

int read_container_mounts(struct reading *reading, const struct node *node, enum setting_kind kind)
{
	int r = read_check_entries(reading, node, "mounts");

	(void)kind;
	for (size_t i = 0; r == 0 && i < node->count; i += 2) {
		const struct node *key = node->items[i];
		_cleanup_free_ char *name = NULL;

		if (asprintf(&name, "mount:%s", key->text) < 0)
			abort();
		r = read_word(reading, key, name, node->items[i + 1]);
	}
	return r;
}
