/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest list of trees that leaves out what is denied. */
#include "allow.h"
#include "../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { RECORDS = 20000, DEPTH = 128 };

/* What mounts would have replaced: other programs' temporary files, the machine's sockets and
 * devices. */
static const char *const replaced[] = {"/tmp", "/run", "/dev"};
/* Of the devices, those that every program may have. */
static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
				      "/dev/random", "/dev/urandom", "/dev/tty"};

struct allow {
	const struct masks *masks;
	struct buffer *text;
	size_t records;
	bool whole; /* of the file system: what mounts replace is left out as well */
};

static void add(struct allow *allow, char kind, const char *path, const struct stat *st)
{
	buffer_printf(allow->text, "%c %llu %llu %s", kind, (unsigned long long)st->st_dev,
		      (unsigned long long)st->st_ino, path);
	buffer_add_char(allow->text, '\0');
	allow->records++;
}

static void add_if_there(struct allow *allow, char kind, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISLNK(st.st_mode))
		add(allow, kind, path, &st);
}

/* What the innermost rule about a path makes of it. Names that run programs are left to the
 * supervisor, which performs every change where there are no mounts. Of a file another text can be
 * seen only by a mount: it is left out. */
static bool is_denied(const struct allow *allow, char kind, const char *path)
{
	const struct mask *innermost = NULL;

	for (size_t i = 0; allow->whole && i < ELEMENTS(replaced); i++)
		if (strcmp(path, replaced[i]) == 0)
			return true;
	for (size_t i = 0; i < allow->masks->count; i++) {
		const struct mask *mask = &allow->masks->items[i];

		if ((!mask->guard || mask_hides(mask)) && path_is_under(path, mask->path) &&
		    (!innermost || strlen(mask->path) > strlen(innermost->path)))
			innermost = mask;
	}
	return innermost &&
	       (mask_hides(innermost) ||
		(kind == 'w' && (innermost->kind == MASK_HOLD || innermost->kind == MASK_OPEN)));
}

static bool holds_denied(const struct allow *allow, char kind, const char *path)
{
	if (allow->whole && strcmp(path, "/") == 0)
		return true;
	for (size_t i = 0; i < allow->masks->count; i++) {
		const struct mask *mask = &allow->masks->items[i];

		if (((!mask->guard && kind == 'w') || mask_hides(mask)) &&
		    strcmp(mask->path, path) != 0 && path_is_under(mask->path, path))
			return true; /* or opened in what is denied, which needs the same */
	}
	return false;
}

static int add_tree(struct allow *allow, char kind, const char *path, unsigned depth,
		    struct error **ret_error)
{
	struct dirent *entry;
	char child[PATH_MAX];
	DIR *directory;
	struct stat st;
	int r = 0;

	if (lstat(path, &st) < 0 || S_ISLNK(st.st_mode) || S_ISSOCK(st.st_mode) ||
	    is_denied(allow, kind, path))
		return 0; /* what a link leads to is allowed, or not, where it lies */
	if (!S_ISDIR(st.st_mode) || !holds_denied(allow, kind, path)) {
		add(allow, kind, path, &st);
		return 0;
	}
	add(allow, 'l', path, &st);
	directory = opendir(path);
	while (r == 0 && directory && (entry = readdir(directory))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (allow->records > RECORDS || depth > DEPTH ||
		    snprintf(child, sizeof(child), "%s/%s", strcmp(path, "/") == 0 ? "" : path,
			     entry->d_name) >= (int)sizeof(child)) {
			fail(ret_error, E_ENGINE, "too much lies beside what is denied in %s",
			     path);
			error_hint(ret_error, "without mount namespaces each entry there needs a "
					      "rule of its own: choose another --workspace");
			r = -E_ENGINE;
		} else {
			r = add_tree(allow, kind, child, depth + 1, ret_error);
		}
	}
	if (directory)
		closedir(directory);
	return r;
}

int allow_records(const struct sandbox *sandbox, const struct masks *masks, struct buffer *text,
		  struct error **ret_error)
{
	struct allow allow = {.masks = masks, .text = text, .whole = true};
	char resolver[PATH_MAX];
	int r = add_tree(&allow, 'r', "/", 0, ret_error);

	allow.whole = false;
	for (size_t i = 0; r == 0 && i < masks->count; i++) /* in what is denied as a whole */
		if (masks->items[i].kind == MASK_OPEN || masks->items[i].kind == MASK_WRITE)
			r = add_tree(&allow, 'r', masks->items[i].path, 0, ret_error);
	for (size_t i = 0; r == 0 && i < sandbox->shown->count; i++)
		r = add_tree(&allow, 'r', shown_path(sandbox->shown->items[i]), 0, ret_error);
	for (size_t i = 0; r == 0 && i < sandbox->writable->count; i++)
		r = add_tree(&allow, 'w', sandbox->writable->items[i], 0, ret_error);
	for (size_t i = 0; r == 0 && i < masks->count; i++)
		if (!masks->items[i].guard &&
		    (masks->items[i].kind == MASK_RELEASE || masks->items[i].kind == MASK_WRITE))
			r = add_tree(&allow, 'w', masks->items[i].path, 0, ret_error);
	/* Below ward's own state, which is denied: nothing in it is. */
	if (sandbox->tmp)
		add_if_there(&allow, 'w', sandbox->tmp);
	for (size_t i = 0; i < ELEMENTS(devices); i++)
		add_if_there(&allow, 'd', devices[i]);
	if (realpath("/etc/resolv.conf", resolver))
		add_if_there(&allow, 'r', resolver); /* often below /run */
	return r;
}
