/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of an agent that hold what it remembers and what it runs in one file (.claude.json): a
 * new text is taken, but what runs programs or believes others in it stays as it was. Works on
 * texts alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { AGENT_CONFIG_LIMIT = 16 << 20 };

/* before may be NULL: there was none; one that cannot be read counts as that. *ret_text is the text
 * to install, whatever was written: so nobody reads it otherwise than we did. *ret_restored: the
 * first key that was put back as it was, or NULL; borrowed for good. -EINVAL where the new text is
 * no object. Caller frees the text. */
int agent_config_settle(const char *before, size_t before_length, const char *after,
			size_t after_length, char **ret_text, const char **ret_restored);
