/* SPDX-License-Identifier: Apache-2.0 */
/* A repository's configuration as text: whether it may be installed unasked, and what in it is
 * secret. Git runs programs that this file names, so only what is known to run nothing, to include
 * nothing and to lead nowhere else gets in. No file is touched here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* More than any configuration that a person or git wrote. */
enum { GIT_CONFIG_LIMIT = 1 << 20, GIT_CONFIG_KEY = 256 };

/* Where the configuration lies. */
struct git_config_place {
	/* Whether core.worktree may have this value; NULL: no value may. */
	bool (*may_be_worktree)(const char *value, void *data);
	void *data;
};

/* May the new text take the place of the old one (NULL, 0: there was none)? Each setting must be
 * known to be harmless, or have stood in the old text. Of the settings that are not known to be
 * harmless those of one key must have stayed as they were or be gone together, and none may have
 * moved before another: which of several values counts is a matter of order.
 *
 * 0: yes. -EACCES: no, and key names the first setting that stands against it, as it is written in
 * the text and fit to be shown. -EINVAL: the text cannot be read exactly as git would read it, and
 * key says where. place may be NULL. */
int git_config_check(const char *old, size_t old_length, const char *new_, size_t new_length,
		     const struct git_config_place *place, char key[static GIT_CONFIG_KEY]);

/* The text without credentials: names and passwords in web addresses (for ssh and others the
 * password alone), the values of http.*.extraHeader, and of settings that are passwords or tokens.
 * All else stays byte for byte. 1: some were removed; 0: there are none, and the text is the same;
 * -EINVAL: it cannot be read as git would read it. The caller frees the text. */
int git_config_redact(const char *text, size_t length, char **ret_text, size_t *ret_length);

/* An edited copy of a redacted text with the credentials of the original in their places again: in
 * addresses that are the same but for them, in a setting of the same name; in headers and passwords
 * that stand in the very same section. What is new in the edited text stays as it is. 0, or -EINVAL
 * where one of the texts cannot be read. The caller frees the text. */
int git_config_restore(const char *original, size_t original_length, const char *edited,
		       size_t edited_length, char **ret_text, size_t *ret_length);
