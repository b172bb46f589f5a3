/* SPDX-License-Identifier: Apache-2.0 */
/* What was granted of files, and the way to them on the host. */
#include "permits.h"
#include "../observer.h"
#include "../../base/path.h"
#include "../../sys/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* "WORD PATH" with this word; the path, or NULL. */
static const char *resource_of(const char *permission, const char *word)
{
	size_t length = strlen(word);

	return strncmp(permission, word, length) == 0 && permission[length] == ' ' &&
			       permission[length + 1] == '/'
		       ? permission + length + 1
		       : NULL;
}

bool permits_add(struct permits *permits, const char *permission, size_t number)
{
	static const char *const words[] = {
		[PERMIT_READ] = "read", [PERMIT_DELETE] = "delete", [PERMIT_WRITE] = "write"};
	static const char all[] = "/**";

	for (size_t i = 0; i < ELEMENTS(words); i++) {
		const char *pattern = resource_of(permission, words[i]);
		size_t length = pattern ? strlen(pattern) : 0;
		bool tree =
			length > strlen(all) && strcmp(pattern + length - strlen(all), all) == 0;
		_cleanup_free_ char *text =
			pattern ? strndup(pattern, tree ? length - strlen(all) : length) : NULL;
		char *path = text ? path_unescape(text) : NULL, *name = NULL;

		if (!path && text && !tree && (name = strrchr(text, '/')) != text && name) {
			*name++ = '\0';
			path = path_unescape(text);
		}
		if (!path)
			continue;
		permits->items =
			reallocarray(permits->items, permits->count + 1, sizeof(*permits->items));
		if (!permits->items)
			abort();
		permits->items[permits->count++] = (struct permit){
			.kind = (enum permit_kind)i, .tree = tree, .path = path, .number = number};
		if (name)
			permits->items[permits->count - 1].pattern = strdup(name);
		return true;
	}
	return false;
}

void permits_done(struct permits *permits)
{
	for (size_t i = 0; i < permits->count; i++) {
		free(permits->items[i].path);
		free(permits->items[i].pattern);
	}
	free(permits->items);
	*permits = (struct permits){0};
}

/* Something in the tree that is closed by itself. */
static bool is_closed_within(const struct observer *observer, const struct permit *permit,
			     const char *path)
{
	const struct area *area = areas_find(observer->observed->areas, path);

	return area && strlen(area->path) > strlen(permit->path) &&
	       (area->state != STATE_WRITABLE || area_is_layer(area));
}

/* A name in the directory, not what lies below such a name. */
static bool is_name_in(const struct permit *permit, const char *path)
{
	const char *name = path_last(path);

	return path_is_under(path, permit->path) &&
	       (size_t)(name - path) == strlen(permit->path) + (permit->path[1] != '\0') &&
	       path_component_matches(permit->pattern, strlen(permit->pattern), name, strlen(name));
}

static bool is_meant(const struct observer *observer, const struct permit *permit, const char *path)
{
	if (permit->pattern)
		return is_name_in(permit, path) && !is_closed_within(observer, permit, path);
	if (strcmp(path, permit->path) == 0)
		return true;
	return permit->tree && path_is_under(path, permit->path) &&
	       !is_closed_within(observer, permit, path);
}

const struct permit *permit_find(const struct observer *observer, enum permit_kind kind,
				 const char *path, bool whole)
{
	const struct permits *permits = &observer->permits;

	if (permits->count == 0 || permit_never(observer, path))
		return NULL;
	for (size_t i = 0; i < permits->count; i++) {
		const struct permit *permit = &permits->items[i];

		if ((permit->kind == kind || permit->kind == PERMIT_WRITE) &&
		    (permit->tree || !whole) && is_meant(observer, permit, path))
			return permit;
	}
	return NULL;
}

bool permit_covers(const struct observer *observer, enum permit_kind kind, const char *path,
		   bool whole)
{
	return permit_find(observer, kind, path, whole);
}

bool permit_is_loose(const struct observer *observer, const char *path)
{
	const struct permits *permits = &observer->permits;

	for (size_t i = 0; i < permits->count; i++)
		if (permits->items[i].pattern && permits->items[i].kind == PERMIT_WRITE &&
		    is_meant(observer, &permits->items[i], path))
			return true;
	return false;
}

bool permit_refuses_link(const struct observer *observer, const char *path)
{
	const struct permits *permits = &observer->permits;

	for (size_t i = 0; i < permits->count; i++) {
		const struct permit *permit = &permits->items[i];

		if (permit->kind == PERMIT_WRITE &&
		    (permit->pattern ? is_name_in(permit, path)
				     : permit->early && strcmp(permit->path, path) == 0))
			return true;
	}
	return false;
}

bool permit_refuses_directory(const struct observer *observer, const char *path)
{
	return permit_refuses_link(observer, path) &&
	       !permit_covers(observer, PERMIT_WRITE, path, /* whole= */ true);
}

const char *permit_tree(const struct observer *observer, const char *path, bool innermost)
{
	const struct permits *permits = &observer->permits;
	const char *found = NULL;

	for (size_t i = 0; i < permits->count; i++) {
		const struct permit *permit = &permits->items[i];

		if (permit->kind == PERMIT_WRITE && is_meant(observer, permit, path) &&
		    (!found || innermost == (strlen(permit->path) > strlen(found))))
			found = permit->path;
	}
	return found;
}

/* In a granted tree a chroot's own /proc may be mounted, and what is written there as root is
 * written to the machine. */
static int refuse_of_kernel(const struct observer *observer, int fd)
{
	if (observer->observed->unchecked & CHECK_BIT(CHECK_NEVER) || !never_of_kernel(fd))
		return fd;
	close(fd);
	return -EACCES;
}

int permit_open_parent(const struct observer *observer, const char *path, int like)
{
	bool check = !(observer->observed->unchecked & CHECK_BIT(CHECK_OBJECT));
	struct stat directory, same;
	char parent[PATH_MAX];
	char *slash;
	int fd;

	if (strlen(path) >= sizeof(parent))
		return -ENAMETOOLONG;
	strcpy(parent, path);
	slash = strrchr(parent, '/');
	slash[slash == parent] = '\0';
	fd = sys_openat2(AT_FDCWD, parent, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return -errno;
	/* Somebody moves directories, or the sandbox has something else at that name. */
	if (check && (fstat(fd, &directory) < 0 || fstat(like, &same) < 0 ||
		      same.st_dev != directory.st_dev || same.st_ino != directory.st_ino)) {
		close(fd);
		return -ESTALE;
	}
	return refuse_of_kernel(observer, fd);
}

int permit_open_object(const struct observer *observer, const char *path, const struct stat *same)
{
	bool check = !(observer->observed->unchecked & CHECK_BIT(CHECK_OBJECT));
	struct stat st;
	int fd = sys_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, RESOLVE_NO_SYMLINKS);

	if (fd < 0)
		return -errno;
	if (same && check &&
	    (fstat(fd, &st) < 0 || st.st_dev != same->st_dev || st.st_ino != same->st_ino)) {
		close(fd);
		return -ESTALE;
	}
	return refuse_of_kernel(observer, fd);
}

int permit_open_found(const struct observer *observer, const struct found *found)
{
	const struct area *area = areas_find(observer->observed->areas, found->path);
	bool masked = area && area->state == STATE_DENIED && strcmp(area->path, found->path) == 0;

	return permit_open_object(observer, found->path, masked ? NULL : &found->st);
}
