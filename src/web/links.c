/* SPDX-License-Identifier: Apache-2.0 */
/* Links: STATE/web/links/HASH, whose name is the hash of the code. Whoever removes it has used it.
 */
#include "session_files.h"
#include "sessions.h"
#include "../base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINK_PURPOSE "ward web link"

enum { FILE_MOST = 16384 };

int web_directory(const char *state, int *ret_fd, struct error **ret_error)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;
	int r;

	if (asprintf(&path, "%s/web", state) < 0)
		abort();
	r = make_directories(path, 0700);
	*ret_fd = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0)
		return fail_errno(ret_error, E_ENGINE, r < 0 ? -r : errno, "opening %s", path);
	if (fstat(*ret_fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
		close_fd(ret_fd);
		fail(ret_error, E_ENGINE, "%s is not yours alone", path);
		return error_hint(ret_error, "chmod 700 %s", path);
	}
	return 0;
}

int web_file_directory(const char *state, const char *name, int *ret_fd, struct error **ret_error)
{
	_cleanup_close_ int web = -1;
	int r = web_directory(state, &web, ret_error);

	if (r < 0)
		return r;
	if (mkdirat(web, name, 0700) < 0 && errno != EEXIST)
		return fail_errno(ret_error, E_ENGINE, errno, "making %s/web/%s", state, name);
	*ret_fd = openat(web, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_fd < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "opening %s/web/%s", state, name);
	return 0;
}

int web_file_put(int directory, const char *name, json_t *object)
{
	_cleanup_free_ char *text = json_dumps(object, JSON_COMPACT);
	_cleanup_close_ int fd = openat(directory, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
	char path[64];
	int r = fd < 0 ? -errno : text ? write_all(fd, text, strlen(text)) : -ENOMEM;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 && linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0)
		r = -errno;
	return r;
}

json_t *web_file_read(int directory, const char *name, struct stat *ret_st)
{
	_cleanup_free_ char *text = NULL;
	json_t *object;
	size_t length;

	if (fstatat(directory, name, ret_st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(ret_st->st_mode) || read_file(directory, name, FILE_MOST, &text, &length) < 0)
		return NULL;
	object = json_loadb(text, length, 0, NULL);
	if (json_is_object(object))
		return object;
	json_decref(object);
	return NULL;
}

/* A clock that was set back must not give a link more time than it would have from now on. */
static bool link_holds(json_t *object)
{
	int64_t since = json_integer_value(json_object_get(object, "since")), now = time(NULL);

	return since <= now && now < since + LINK_SECONDS;
}

/* What has expired goes, and of more than there may be the oldest. most: 0: all go. */
static void sweep_links(int directory, size_t most)
{
	DIR *stream = fdopendir(dup(directory));
	char oldest[SECRET_HASH_TEXT] = "";
	struct dirent *entry;
	int64_t oldest_since = 0;
	size_t count = 0;

	for (int i = 0; stream && i < WEB_FILES_MOST && (entry = readdir(stream)); i++) {
		struct stat st;
		json_t *object;
		int64_t since;

		if (strlen(entry->d_name) != SECRET_HASH_TEXT - 1)
			continue;
		object = web_file_read(directory, entry->d_name, &st);
		since = json_integer_value(json_object_get(object, "since"));
		if (!link_holds(object) || most == 0) {
			(void)unlinkat(directory, entry->d_name, 0);
		} else if (count++ == 0 || since < oldest_since) {
			oldest_since = since;
			memcpy(oldest, entry->d_name, sizeof(oldest));
		}
		json_decref(object);
	}
	if (stream)
		closedir(stream);
	if (most && count >= most)
		(void)unlinkat(directory, oldest, 0);
}

int web_link_make(const char *state, const char *name, char code[static SECRET_TEXT],
		  struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	char hash[SECRET_HASH_TEXT];
	json_t *object;
	int r = web_check_name(name, ret_error);

	if (r == 0)
		r = web_file_directory(state, "links", &directory, ret_error);
	if (r < 0)
		return r;
	sweep_links(directory, LINKS_MOST);
	secret_make(code);
	secret_hash(LINK_PURPOSE, code, hash);
	object = json_pack("{s:s, s:I}", "name", name, "since", (json_int_t)time(NULL));
	r = web_file_put(directory, hash, object);
	json_decref(object);
	return r < 0 ? fail_errno(ret_error, E_ENGINE, -r, "making a link in %s/web", state) : 0;
}

bool web_link_use(const char *state, const char *code, char **ret_name)
{
	_cleanup_close_ int directory = -1;
	char hash[SECRET_HASH_TEXT];
	struct stat st;
	json_t *object;
	bool holds;

	if (!secret_is_one(code) || web_file_directory(state, "links", &directory, NULL) < 0)
		return false;
	/* By the hash's name: how long the look takes tells nothing of the code. */
	secret_hash(LINK_PURPOSE, code, hash);
	object = web_file_read(directory, hash, &st);
	holds = object && unlinkat(directory, hash, 0) == 0 && link_holds(object) &&
		json_is_string(json_object_get(object, "name"));
	if (holds)
		*ret_name = strdup(json_string_value(json_object_get(object, "name")));
	json_decref(object);
	return holds;
}

int web_links_end(const char *state, struct error **ret_error)
{
	_cleanup_close_ int directory = -1;
	int r = web_file_directory(state, "links", &directory, ret_error);

	if (r == 0)
		sweep_links(directory, /* most= */ 0);
	return r;
}
