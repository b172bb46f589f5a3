/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a file, and applying a patch to several. */
#include "inside.h"
#include "../base/buffer.h"
#include "../base/guard.h"
#include "../base/io.h"
#include "../base/path.h"
#include "../request/text_json.h"
#include "patch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

enum { NAMES_MOST = 100 };

/* The directory of a path; caller frees. */
static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

/* A new file beside the one it is to become. */
static int make_beside(const char *directory, mode_t mode, char **ret_name)
{
	for (int i = 0; i < NAMES_MOST; i++) {
		char *name = NULL;
		int fd;

		if (asprintf(&name, "%s/.ward-%d-%d", directory, (int)getpid(), i) < 0)
			abort();
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
		if (fd >= 0 || errno != EEXIST) {
			*ret_name = name;
			return fd < 0 ? -errno : fd;
		}
		free(name);
	}
	return -EEXIST;
}

static int put_data(int fd, const char *data, size_t length)
{
	int r = write_all(fd, data, length);

	return r < 0 ? r : fsync(fd) < 0 && errno != EINVAL ? -errno : 0;
}

/* Whoever reads it meanwhile sees all of the old or all of the new. */
static int replace(const char *path, const char *directory, const struct stat *old,
		   const char *data, size_t length)
{
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = make_beside(directory, 0666, &name);
	int r = fd;

	if (r >= 0)
		r = put_data(fd, data, length);
	if (r == 0 && fchmod(fd, old->st_mode & 0777) < 0)
		r = -errno;
	if (r == 0 && rename(name, path) < 0)
		r = -errno;
	if (r < 0 && fd >= 0)
		unlink(name);
	return r;
}

/* The one file, and nothing in its directory, may be written. */
static int write_in_place(int fd, const char *data, size_t length)
{
	return ftruncate(fd, 0) < 0 ? -errno : put_data(fd, data, length);
}

/* Where a file beside it can be made without a question of its own. */
static bool is_ours(const char *path)
{
	char workspace[PATH_MAX];

	return getcwd(workspace, sizeof(workspace)) && path_is_under(path, workspace) &&
	       guard_path(workspace, path, NULL) == GUARD_FREE;
}

static int write_old(const char *path, const char *data, size_t length)
{
	/* Opened first: a question is then about this file, and not about one beside it. */
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	_cleanup_free_ char *directory = directory_of(path);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	if (st.st_nlink > 1 || st.st_uid != geteuid() || !is_ours(path))
		return write_in_place(fd, data, length);
	return replace(path, directory, &st, data, length);
}

/* Nobody waits for what was not there: it is made under its own name, or not at all. */
static int write_new(const char *path, const char *data, size_t length)
{
	_cleanup_free_ char *directory = directory_of(path);
	_cleanup_close_ int fd = -1;
	int r = make_directories(directory, 0777);

	if (r < 0)
		return r;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	r = put_data(fd, data, length);
	if (r < 0)
		unlink(path);
	return r;
}

static int write_file(const char *path, const char *data, size_t length, bool *ret_created,
		      struct error **ret_error)
{
	char real[PATH_MAX];
	struct stat st;
	int r;

	*ret_created = stat(path, &st) < 0;
	if (*ret_created && lstat(path, &st) == 0)
		return fail(ret_error, E_INPUT, "%s is a link that leads to nothing", path);
	/* What a link leads to is written, and the link stays. */
	if (*ret_created)
		r = write_new(path, data, length);
	else
		r = write_old(realpath(path, real) ? real : path, data, length);
	return r < 0 ? fail_errno(ret_error, E_INPUT, -r, "%s", path) : 0;
}

json_t *inside_write(const char *path, const char *data, size_t length, struct error **ret_error)
{
	json_t *object;
	bool created;

	if (length > INSIDE_WRITE_MOST) {
		fail(ret_error, E_INPUT, "more than %d bytes", INSIDE_WRITE_MOST);
		return NULL;
	}
	if (write_file(path, data, length, &created, ret_error) < 0)
		return NULL;
	object = json_object();
	json_put_text(object, "path", path);
	json_put_count(object, "size", length);
	json_put(object, "created", json_boolean(created));
	return object;
}

/* One file of a patch, before and after. */
struct change {
	const struct patch_step *step;
	struct buffer after;
};

static int read_old(const char *path, char **ret_text, size_t *ret_length, struct error **ret_error)
{
	int r = read_file(AT_FDCWD, path, INSIDE_WRITE_MOST, ret_text, ret_length);

	return r < 0 ? fail_errno(ret_error, E_INPUT, -r, "%s", path) : 0;
}

static int prepare(const struct patch_step *step, struct change *change, struct error **ret_error)
{
	const char *target = step->kind == PATCH_ADD ? step->path : step->move;
	_cleanup_free_ char *text = NULL;
	size_t length = 0;
	struct stat st;
	int r = 0;

	change->step = step;
	if (target && lstat(target, &st) == 0)
		return fail(ret_error, E_INPUT, "patch line %u: %s is there already", step->number,
			    target);
	if (step->kind == PATCH_DELETE && lstat(step->path, &st) < 0)
		return fail_errno(ret_error, E_INPUT, errno, "%s", step->path);
	if (step->kind == PATCH_DELETE && S_ISDIR(st.st_mode))
		return fail(ret_error, E_INPUT, "%s is a directory", step->path);
	if (step->kind == PATCH_UPDATE)
		r = read_old(step->path, &text, &length, ret_error);
	if (r == 0 && step->kind != PATCH_DELETE)
		r = patch_apply(step, text ? text : "", length, &change->after, ret_error);
	return r;
}

static int carry_out(const struct change *change, struct error **ret_error)
{
	const struct patch_step *step = change->step;
	const char *path = step->move ? step->move : step->path;
	struct stat st;
	bool created;
	int r = 0;

	if (step->move && stat(step->path, &st) < 0)
		return fail_errno(ret_error, E_INPUT, errno, "%s", step->path);
	if (step->kind != PATCH_DELETE)
		r = write_file(path, buffer_text(&change->after), change->after.length, &created,
			       ret_error);
	if (r == 0 && step->move && chmod(path, st.st_mode & 0777) < 0)
		r = fail_errno(ret_error, E_INPUT, errno, "%s", path);
	if (r == 0 && (step->kind == PATCH_DELETE || step->move) && unlink(step->path) < 0)
		r = fail_errno(ret_error, E_INPUT, errno, "%s", step->path);
	return r;
}

static json_t *describe(const struct patch_step *step)
{
	static const char *const names[] = {
		[PATCH_ADD] = "add", [PATCH_UPDATE] = "update", [PATCH_DELETE] = "delete"};
	json_t *object = json_object();

	json_put_text(object, "path", step->path);
	json_put_text(object, "action", step->move ? "move" : names[step->kind]);
	if (step->move)
		json_put_text(object, "moved_to", step->move);
	json_put_count(object, "added", patch_count(step, '+'));
	json_put_count(object, "removed", patch_count(step, '-'));
	return object;
}

json_t *inside_patch(const char *text, size_t length, struct error **ret_error)
{
	_cleanup_patch_ struct patch patch = {0};
	struct change *changes = NULL;
	json_t *files = json_array();
	int r = patch_parse(text, length, &patch, ret_error);

	if (r == 0 && !(changes = calloc(patch.count, sizeof(*changes))))
		abort();
	for (size_t i = 0; r == 0 && i < patch.count; i++)
		r = prepare(&patch.steps[i], &changes[i], ret_error);
	for (size_t i = 0; r == 0 && i < patch.count; i++) {
		r = carry_out(&changes[i], ret_error);
		if (r == 0)
			json_array_append_new(files, describe(&patch.steps[i]));
		else if (i > 0) /* each file is whole; which of them are new is to be known */
			error_hint(ret_error,
				   "%zu of %zu files were changed before: the first in "
				   "the patch",
				   i, patch.count);
	}
	for (size_t i = 0; changes && i < patch.count; i++)
		buffer_done(&changes[i].after);
	free(changes);
	if (r < 0) {
		json_decref(files);
		return NULL;
	}
	return json_pack("{s:o}", "files", files);
}
