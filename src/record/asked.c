/* SPDX-License-Identifier: Apache-2.0 */
/* One file a question, gone when it was used. */
#include "asked.h"
#include "session.h"
#include "../base/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { FILE_LIMIT = 16 << 20, SWEEP_MOST = 1000 };

/* Those that nobody will use any more. */
static void sweep(int directory)
{
	int copy = fcntl(directory, F_DUPFD_CLOEXEC, 3);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;

	for (int i = 0; entries && i < SWEEP_MOST && (entry = readdir(entries)); i++)
		if (entry->d_name[0] != '.' &&
		    fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    st.st_mtime + ASKED_SECONDS < time(NULL))
			(void)unlinkat(directory, entry->d_name, 0);
	if (entries)
		closedir(entries);
	else
		close_fd(&copy);
}

static int open_directory(const char *state, bool make, int *ret_fd)
{
	_cleanup_free_ char *path = NULL;
	int r = 0;

	if (asprintf(&path, "%s/asked", state) < 0)
		abort();
	if (make)
		r = make_directories(path, 0700);
	*ret_fd = r < 0 ? -1 : open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return r < 0 ? r : *ret_fd < 0 ? -errno : 0;
}

static json_t *texts(const struct list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_string(list->items[i]));
	return array;
}

int asked_put(const char *state, const char *key, const struct list *wanted, const char *by,
	      char ret_id[static ID_TEXT], struct error **ret_error)
{
	_cleanup_close_ int directory = -1, fd = -1;
	_cleanup_free_ char *text = NULL;
	json_t *object;
	int r = open_directory(state, /* make= */ true, &directory);

	id_make(ret_id);
	object = json_pack("{s:s, s:o, s:s}", "key", key, "wanted", texts(wanted), "by", by);
	text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	json_decref(object);
	if (r == 0 && !text)
		r = -EILSEQ;
	if (r == 0) {
		sweep(directory);
		fd = openat(directory, ret_id, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		r = fd < 0 ? -errno : write_all(fd, text, strlen(text));
	}
	if (r == 0)
		return 0;
	if (fd >= 0)
		(void)unlinkat(directory, ret_id, 0);
	return fail_errno(ret_error, E_ENGINE, -r, "noting a question in %s/asked", state);
}

bool asked_take(const char *state, const char *id, const char *key, const struct list *wanted,
		char **ret_by)
{
	_cleanup_close_ int directory = -1;
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;
	json_t *object = NULL, *same;
	bool holds = false;

	if (!session_is_name(id) || open_directory(state, /* make= */ false, &directory) < 0 ||
	    fstatat(directory, id, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    read_file(directory, id, FILE_LIMIT, &text, &length) < 0)
		return false;
	/* Whoever removes it has it. */
	if (unlinkat(directory, id, 0) < 0)
		return false;
	object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
	same = texts(wanted);
	if (object && st.st_mtime + ASKED_SECONDS >= time(NULL) &&
	    json_string_value(json_object_get(object, "key")) &&
	    strcmp(json_string_value(json_object_get(object, "key")), key) == 0 &&
	    json_equal(json_object_get(object, "wanted"), same) &&
	    json_string_value(json_object_get(object, "by"))) {
		*ret_by = strdup(json_string_value(json_object_get(object, "by")));
		holds = *ret_by != NULL;
	}
	json_decref(same);
	json_decref(object);
	return holds;
}
