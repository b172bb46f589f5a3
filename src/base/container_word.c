/* SPDX-License-Identifier: Apache-2.0 */
/* Words about containers, checked one by one. */
#include "container_word.h"
#include "macro.h"
#include "path.h"
#include "units.h"

#include <ctype.h>
#include <string.h>

static int refuse(struct error **ret_error, enum error_code code, const char *hint,
		  const char *value, const char *what)
{
	fail(ret_error, code, "'%.200s' is not %s", value, what);
	return error_hint(ret_error, "%s", hint);
}

/* Absolute, and nothing in it that leads up or says the same twice. */
static bool is_plain(const char *path)
{
	if (path[0] != '/' || !path[1] || strlen(path) >= 4096)
		return false;
	for (const char *part = path; *part;) {
		size_t length = strcspn(++part, "/");

		if (length == 0 || (length == 1 && part[0] == '.') ||
		    (length == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		part += length;
	}
	return true;
}

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	return length > 0 && length <= 128 && text[0] != '-' &&
	       strspn(text,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:,/") ==
		       length;
}

static bool is_runtime(const char *text)
{
	static const char *const known[] = {"crun", "runc", "runsc", "kata"};

	for (size_t i = 0; i < ELEMENTS(known); i++)
		if (strcmp(text, known[i]) == 0)
			return true;
	return false;
}

/* As podman and docker know images: [HOST[:PORT]/]NAME[:TAG][@DIGEST]. */
static bool is_reference(const char *text)
{
	size_t length = strlen(text);

	return length <= 255 && isalnum((unsigned char)text[0]) &&
	       strspn(text,
		      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:/@") ==
		       length;
}

int container_check_word(const char *word, enum error_code code, struct error **ret_error)
{
	const char *value = strchr(word, '=');
	size_t key = value ? (size_t)(value - word) : 0;
	uint64_t size;

	for (const char *c = word; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return refuse(ret_error, code, "leave control characters out", word,
				      "a value");
	if (!value || !*++value)
		return refuse(ret_error, code, "write runtime=runc, mount:/data=/srv/data", word,
			      "KEY=VALUE");
	if (key == 7 && strncmp(word, "runtime", key) == 0)
		return is_runtime(value) ? 0
					 : refuse(ret_error, code, "write " CONTAINER_RUNTIMES,
						  value, "a runtime");
	if (key == 5 && strncmp(word, "image", key) == 0 && value[0] != '/')
		return is_reference(value)
			       ? 0
			       : refuse(ret_error, code,
					"write an absolute path, or a reference such as "
					"docker.io/library/alpine:3.20",
					value, "an image");
	if ((key == 6 && strncmp(word, "rootfs", key) == 0) ||
	    (key == 5 && strncmp(word, "image", key) == 0))
		return is_plain(value)
			       ? 0
			       : refuse(ret_error, code, "write an absolute path, without . and ..",
					value, "a path");
	if (key == 10 && strncmp(word, "tmpfs_size", key) == 0) {
		if (parse_size(value, &size, NULL) < 0 || size == 0)
			return refuse(ret_error, code, "write 64M", value, "a size");
		return 0;
	}
	if ((key == 8 && strncmp(word, "apparmor", key) == 0) ||
	    (key == 7 && strncmp(word, "selinux", key) == 0))
		return is_name(value) ? 0
				      : refuse(ret_error, code, "write the name alone", value,
					       "a profile or label");
	if (key > 6 && strncmp(word, "mount:", 6) == 0) {
		_cleanup_free_ char *target = strndup(word + 6, key - 6);

		if (!target || !is_plain(target) || !is_plain(value))
			return refuse(ret_error, code,
				      "write absolute paths: mount:/data=/srv/data", word,
				      "a mount");
		return 0;
	}
	return refuse(
		ret_error, code,
		"there are runtime, rootfs, image, tmpfs_size, apparmor, selinux, mount:/TARGET",
		word, "about containers");
}

const char *container_value(const struct list *words, const char *key)
{
	size_t length = strlen(key);

	for (size_t i = words->count; i > 0; i--)
		if (strncmp(words->items[i - 1], key, length) == 0 &&
		    words->items[i - 1][length] == '=')
			return words->items[i - 1] + length + 1;
	return NULL;
}
