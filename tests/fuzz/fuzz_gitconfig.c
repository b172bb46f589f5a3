/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a git configuration: what stood there may stay, refusals can be shown, and
 * credentials come out and go back. A NUL byte parts the old text from the new one. */
#include "sandbox/gitconfig.h"
#include "base/escape.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The caller shows the key to a person. */
static void check_key(int r, const char key[static GIT_CONFIG_KEY])
{
	_cleanup_buffer_ struct buffer shown = {0};

	require(r == 0 || r == -EACCES || r == -EINVAL);
	if (r == 0)
		return;
	require(key[0] && memchr(key, '\0', GIT_CONFIG_KEY));
	escape_for_terminal(&shown, key, strlen(key));
	require(shown.length == strlen(key));
}

static void check_credentials(const char *text, size_t length)
{
	_cleanup_free_ char *redacted = NULL, *again = NULL, *restored = NULL;
	size_t redacted_length, other;
	int r = git_config_redact(text, length, &redacted, &redacted_length);

	require(r == 0 || r == 1 || r == -EINVAL);
	if (r < 0)
		return;
	require(redacted_length <= length && (r == 1) == (redacted_length < length));
	/* Nothing is left to be removed, and all of it comes back. */
	require(git_config_redact(redacted, redacted_length, &again, &other) == 0);
	require(git_config_restore(text, length, redacted, redacted_length, &restored, &other) ==
		0);
	require(other == length && memcmp(restored, text, length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *part = size ? memchr(text, '\0', size) : NULL;
	const char *new_ = part ? part + 1 : text;
	size_t old_length = part ? (size_t)(part - text) : 0;
	size_t new_length = size - (size_t)(new_ - text);
	char key[GIT_CONFIG_KEY] = "";
	int alone, r;

	r = git_config_check(text, old_length, new_, new_length, NULL, key);
	check_key(r, key);
	alone = git_config_check(NULL, 0, new_, new_length, NULL, key);
	check_key(alone, key);
	require(alone != 0 || r == 0); /* an old text never stands against a new one */
	require((alone == -EINVAL) == (r == -EINVAL));
	require(alone == -EINVAL ||
		git_config_check(new_, new_length, new_, new_length, NULL, key) == 0);
	check_credentials(new_, new_length);
	if (part) {
		_cleanup_free_ char *restored = NULL;
		size_t length;

		r = git_config_restore(text, old_length, new_, new_length, &restored, &length);
		require(r == 0 || r == -EINVAL);
		require(r < 0 || length >= new_length);
	}
	return 0;
}
