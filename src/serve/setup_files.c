/* SPDX-License-Identifier: Apache-2.0 */
/* Files of settings, read and written safely: by way of directories that are the user's own, links
 * followed once and only to places that are the user's, and never a file that is half written. */
#include "setup.h"
#include "../base/id.h"
#include "../base/io.h"
#include "../base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char backup_suffix[] = ".ward-backup";

/* --- the way to it ---------------------------------------------------------------------------- */

/* With links followed, as far as it is there; the rest as it is written. Caller frees. */
static char *resolve(const char *path, struct error **ret_error)
{
	_cleanup_free_ char *part = strdup(path);
	char real[PATH_MAX];
	struct stat st;

	for (;;) {
		char *slash = strrchr(part, '/');

		if (realpath(*part ? part : "/", real))
			return path_resolve(real, NULL,
					    path[strlen(part)] ? path + strlen(part) + 1 : ".");
		if (errno != ENOENT) {
			fail_errno(ret_error, E_INPUT, errno, "%s", path);
			return NULL;
		}
		if (lstat(part, &st) == 0) {
			fail(ret_error, E_INPUT, "%s is a link that leads nowhere", part);
			return NULL;
		}
		*slash = '\0';
	}
}

/* The name of an account, or its number, from the file itself: a static program has no name
 * service.
 */
static void name_of(uid_t uid, char ret_name[static 64])
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *entry;

	snprintf(ret_name, 64, "user %u", uid);
	while (users && (entry = fgetpwent(users)))
		if (entry->pw_uid == uid) {
			snprintf(ret_name, 64, "%s", entry->pw_name);
			break;
		}
	if (users)
		fclose(users);
}

static int check_owner(const struct stat *st, const char *path, struct error **ret_error)
{
	char name[64];

	if (st->st_uid == geteuid())
		return 0;
	name_of(st->st_uid, name);
	fail(ret_error, E_INPUT, "%s belongs to %s, not to you", path, name);
	return error_hint(ret_error, "run `ward init` as %s", name);
}

/* One directory down; -ENOENT, without an error, where it is not there. */
static int enter(int *fd, const char *name, const char *path, struct error **ret_error)
{
	_cleanup_close_ int next =
		openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (next < 0 && errno == ENOENT)
		return -ENOENT;
	if (next < 0 || fstat(next, &st) < 0)
		return fail_errno(ret_error, E_INPUT, errno, "%s", path);
	r = check_owner(&st, path, ret_error);
	if (r < 0)
		return r;
	close(*fd);
	*fd = STEAL_FD(next);
	return 0;
}

/* The longest base that it lies below; resolved. Caller frees. NULL where it lies below none. */
static char *base_of(const struct setup_place *place, const char *target)
{
	char *longest = NULL;

	for (size_t i = 0; i < place->bases.count; i++) {
		_cleanup_free_ char *base = resolve(place->bases.items[i], NULL);
		struct stat st;

		while (base && strcmp(base, "/") != 0 && stat(base, &st) < 0)
			*(strrchr(base, '/') == base ? base + 1 : strrchr(base, '/')) = '\0';
		if (base && path_is_under(target, base) &&
		    (!longest || strlen(base) > strlen(longest))) {
			free(longest);
			longest = STEAL(base);
		}
	}
	return longest;
}

/* The directory that the target lies in, each on the way there looked at; makes what is missing, or
 * leaves *ret_fd at -1. */
static int open_directory(const char *base, const char *target, bool makes, int *ret_fd,
			  struct error **ret_error)
{
	_cleanup_close_ int fd = open(base, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const char *at = target + (strcmp(base, "/") == 0 ? 0 : strlen(base));
	struct stat st;
	int r;

	*ret_fd = -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(ret_error, E_INPUT, errno, "%s", base);
	r = check_owner(&st, base, ret_error);
	for (const char *end; r == 0 && (end = strchr(at + 1, '/')); at = end) {
		_cleanup_free_ char *name = strndup(at + 1, (size_t)(end - at - 1));
		_cleanup_free_ char *path = strndup(target, (size_t)(end - target));

		r = enter(&fd, name, path, ret_error);
		if (r != -ENOENT)
			continue;
		if (!makes)
			return 0;
		if (mkdirat(fd, name, 0777) < 0 && errno != EEXIST)
			return fail_errno(ret_error, E_INPUT, errno, "%s cannot be made", path);
		r = enter(&fd, name, path, ret_error);
	}
	if (r == -ENOENT)
		return fail(ret_error, E_INPUT, "%s went away meanwhile", target);
	if (r == 0)
		*ret_fd = STEAL_FD(fd);
	return r;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_regular(int directory, const char *name, const char *path, char **ret_text,
			struct stat *ret_st, struct error **ret_error)
{
	_cleanup_close_ int fd =
		openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	ssize_t got;
	int r;

	*ret_text = NULL;
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return fail(ret_error, E_INPUT, "%s is a link", path);
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return fail_errno(ret_error, E_INPUT, errno, "%s", path);
	if (!S_ISREG(ret_st->st_mode))
		return fail(ret_error, E_INPUT, "%s is not a regular file", path);
	r = check_owner(ret_st, path, ret_error);
	if (r < 0)
		return r;
	text = malloc(SETUP_LIMIT + 2);
	if (!text)
		abort();
	got = read_all(fd, text, SETUP_LIMIT + 1);
	if (got < 0)
		return fail_errno(ret_error, E_INPUT, (int)-got, "%s", path);
	if (got > SETUP_LIMIT)
		return fail(ret_error, E_INPUT, "%s is longer than %d MiB", path,
			    SETUP_LIMIT >> 20);
	text[got] = '\0';
	if (strlen(text) != (size_t)got)
		return fail(ret_error, E_INPUT, "%s is no text: there is a zero byte in it", path);
	*ret_text = strdup(text);
	return 0;
}

int setup_open(const struct setup_place *place, const char *path, bool makes,
	       struct setup_file *ret_file, struct error **ret_error)
{
	_cleanup_(setup_file_done) struct setup_file file = {.directory = -1};
	_cleanup_free_ char *kept = NULL;
	struct stat st = {0};
	int r;

	file.target = resolve(path, ret_error);
	if (!file.target)
		return -E_INPUT;
	file.base = base_of(place, file.target);
	if (!file.base || strcmp(file.base, file.target) == 0) {
		fail(ret_error, E_INPUT,
		     "%s leads to %s, which is neither in your home nor in the project", path,
		     file.target);
		return error_hint(ret_error,
				  "change that file by hand, or put a file in place of the link");
	}
	r = open_directory(file.base, file.target, makes, &file.directory, ret_error);
	if (r < 0)
		return r;
	if (asprintf(&file.backup_name, "%s%s", path_last(file.target), backup_suffix) < 0 ||
	    asprintf(&kept, "%s%s", file.target, backup_suffix) < 0)
		abort();
	if (file.directory >= 0) {
		r = read_regular(file.directory, path_last(file.target), path, &file.text, &st,
				 ret_error);
		file.mode = file.text ? st.st_mode & 07777 : 0;
		file.group = st.st_gid;
		if (r == 0)
			r = read_regular(file.directory, file.backup_name, kept, &file.backup, &st,
					 ret_error);
		if (r < 0)
			return r;
	}
	*ret_file = file;
	file = (struct setup_file){.directory = -1};
	return 0;
}

void setup_file_done(struct setup_file *file)
{
	close_fd(&file->directory);
	free(file->target);
	free(file->base);
	free(file->backup_name);
	free(file->text);
	free(file->backup);
	*file = (struct setup_file){.directory = -1};
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Some file systems cannot tell whether a name is taken; it was free a moment ago. */
static int give_name(int directory, const char *from, const char *to, unsigned flags)
{
	if (renameat2(directory, from, directory, to, flags) == 0 ||
	    (flags && errno == EINVAL && renameat(directory, from, directory, to) == 0))
		return 0;
	return -errno;
}

/* Whole and on the disk before it has its name. */
static int write_whole(const struct setup_file *file, const char *name, const char *text,
		       unsigned flags, const char *path, struct error **ret_error)
{
	_cleanup_free_ char *new = NULL;
	_cleanup_close_ int fd = -1;
	char id[ID_TEXT];
	struct stat st;
	int r = 0;

	id_make(id);
	if (asprintf(&new, ".%s.%s", name, id) < 0)
		abort();
	fd = openat(file->directory, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    file->text ? 0600 : 0666);
	if (fd < 0)
		return fail_errno(ret_error, E_ENGINE, errno, "%s cannot be written", path);
	/* A group that cannot be given may not get the group's rights either. */
	if (file->text && (fstat(fd, &st) < 0 ||
			   (st.st_gid != file->group && fchown(fd, (uid_t)-1, file->group) < 0)))
		r = fchmod(fd, file->mode & 0707) < 0 ? -errno : 0;
	else if (file->text)
		r = fchmod(fd, file->mode) < 0 ? -errno : 0;
	if (r == 0)
		r = write_all(fd, text, strlen(text));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		r = give_name(file->directory, new, name, flags);
	if (r == 0) {
		(void)fsync(file->directory);
		return 0;
	}
	unlinkat(file->directory, new, 0);
	return fail_errno(ret_error, E_ENGINE, -r, "%s cannot be written", path);
}

/* Directories that are empty now, from the file upwards, but for the base and for ~/.config. */
static void remove_directories(const struct setup_file *file)
{
	_cleanup_free_ char *path = strdup(file->target), *config = NULL;

	config = path_resolve(file->base, NULL, ".config");
	for (;;) {
		*strrchr(path, '/') = '\0';
		if (strlen(path) <= strlen(file->base) || strcmp(path, config) == 0 ||
		    rmdir(path) < 0)
			return;
	}
}

static int write_file(const struct setup_file *file, const struct setup_change *change,
		      struct error **ret_error)
{
	const char *name = path_last(file->target);
	int r = 0;

	if (change->keeps && !file->backup)
		r = write_whole(file, file->backup_name, file->text, RENAME_NOREPLACE,
				file->backup_name, ret_error);
	if (r < 0)
		return r;
	if (change->after)
		r = write_whole(file, name, change->after, file->text ? 0 : RENAME_NOREPLACE,
				change->path, ret_error);
	else if (unlinkat(file->directory, name, 0) < 0)
		r = fail_errno(ret_error, E_ENGINE, errno, "%s cannot be removed", change->path);
	if (r == 0 && change->restored && unlinkat(file->directory, file->backup_name, 0) < 0)
		r = fail_errno(ret_error, E_ENGINE, errno, "%s cannot be removed",
			       file->backup_name);
	if (r == 0 && !change->after && strcmp(change->path, file->target) == 0)
		remove_directories(file);
	return r;
}

int setup_write(const struct setup_place *place, const struct setup_change *change,
		struct error **ret_error)
{
	_cleanup_(setup_file_done) struct setup_file file = {.directory = -1};
	int r = setup_open(place, change->path, /* makes= */ change->after, &file, ret_error);

	if (r < 0)
		return r;
	if (strcmp(file.target, change->target) != 0 || !file.text != !change->before ||
	    (file.text && strcmp(file.text, change->before) != 0)) {
		fail(ret_error, E_INPUT, "%s was changed meanwhile; nothing was written",
		     change->path);
		return error_hint(ret_error, "run it again");
	}
	return write_file(&file, change, ret_error);
}
