/* SPDX-License-Identifier: Apache-2.0 */
/* Guarded names whose content decides: what a command makes of them is read, and a copy of what is
 * in order takes their place, which nobody else has open. */
#include "hold.h"
#include "../observer.h"
#include "../masks/text.h"
#include "../../base/io.h"
#include "../../base/path.h"
#include "../../base/units.h"
#include "../../sandbox/agentconfig.h"
#include "../../sandbox/gitconfig.h"
#include "../../sandbox/gitconfig_read.h"
#include "../../sandbox/gitindex.h"
#include "../../sys/kernel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const configs[] = {"config", "config.worktree"};

enum { LATER_MOST = 1000 };

int hold_read_text(int parent, const char *name, size_t limit, char **ret_text, size_t *ret_length)
{
	_cleanup_close_ int fd =
		openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	char link[64];

	*ret_text = NULL;
	*ret_length = 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : errno == ELOOP ? -EACCES : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EACCES;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return read_file(AT_FDCWD, link, limit, ret_text, ret_length);
}

struct repository {
	const struct observer *observer;
	char directory[PATH_MAX];
};

static bool may_be_worktree(const char *value, void *data)
{
	const struct repository *repository = data;

	return worktree_may_be(repository->observer, repository->directory, value);
}

/* How many bytes name an object. */
static size_t id_length(const char *config, size_t length)
{
	_cleanup_settings_ struct git_settings settings = {0};
	size_t id = 20;

	if (config)
		(void)git_settings_read(config, length, &settings);
	for (size_t i = 0; i < settings.count; i++)
		if (settings.items[i].key &&
		    strcmp(settings.items[i].key, "extensions.objectformat") == 0)
			id = settings.items[i].value &&
					     strcmp(settings.items[i].value, "sha256") == 0
				     ? 32
				     : 20;
	return id;
}

/* An index that was looked at would be read another way. */
static bool reads_index_anew(int parent, const char *text, size_t length, const char *before,
			     size_t before_length)
{
	return id_length(text, length) != id_length(before, before_length) &&
	       (faccessat(parent, "index", F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
		faccessat(parent, "worktrees", F_OK, AT_SYMLINK_NOFOLLOW) == 0);
}

static int check_config(const struct observer *observer, int parent, const char *text,
			size_t length, const char *before, size_t before_length,
			char why[static 300])
{
	struct repository repository = {.observer = observer};
	struct git_config_place place = {may_be_worktree, &repository};
	char link[64], key[256] = "";
	ssize_t got;
	int r;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", parent);
	got = readlink(link, repository.directory, sizeof(repository.directory) - 1);
	repository.directory[MAX(got, 0)] = '\0';
	r = git_config_check(before ? before : "", before_length, text, length, &place, key);
	if (r == 0 && worktree_is_taken_twice(repository.directory, text, length)) {
		strcpy(key, "core.worktree with extensions.worktreeConfig");
		r = -EACCES;
	}
	if (r < 0)
		snprintf(why, 300, "protected: git configuration, %s", key);
	return r < 0 ? -EACCES : 0;
}

/* Puts a copy of the text in the place of a file. The copy is filled by a name of ward's own, which
 * no supervisor opens for anybody: by the name that the file had, another run in the workspace
 * could open what was looked at, and write to it when it is installed. */
static int install_copy(int parent, const char *name, const char *text, size_t length, mode_t mode,
			const struct timespec *changed)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}};
	_cleanup_close_ int fd = -1;
	char copy[NAME_MAX + 1];
	int r;

	snprintf(copy, sizeof(copy), GUARD_NEW "%d-%llx", getpid(),
		 (unsigned long long)monotonic_ns());
	fd = openat(parent, copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fchmod(fd, mode & 0777) < 0 ? -errno : write_all(fd, text, length);
	if (changed)
		times[1] = *changed;
	if (r == 0 && changed && futimens(fd, times) < 0)
		r = -errno;
	if (r == 0 && renameat(parent, copy, parent, name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(parent, copy, 0);
	return r;
}

int hold_install_config(struct observer *observer, int parent, const char *name, const char *config,
			mode_t mode, int seen, char why[static 300])
{
	_cleanup_worktrees_ struct observer *locked = worktrees_lock(observer, /* alone= */ true);
	_cleanup_free_ char *text = NULL, *before = NULL;
	size_t length, before_length;
	int r;

	r = hold_read_text(parent, name, GIT_CONFIG_LIMIT, &text, &length);
	if (r == 0)
		r = hold_read_text(parent, config, GIT_CONFIG_LIMIT, &before, &before_length);
	if (r == 0 && seen >= 0)
		r = text_restore(seen, before, before_length, &text, &length);
	if (r == 0 || r == -EINVAL) /* which says where it cannot be read */
		r = check_config(observer, parent, text, length, before, before_length, why);
	if (r == 0 && reads_index_anew(parent, text, length, before, before_length)) {
		snprintf(why, 300, "protected: git configuration, extensions.objectFormat");
		r = -EACCES;
	}
	if (r == 0)
		worktrees_may_change(observer, text);
	if (r == 0 && seen >= 0) {
		r = text_install(seen, parent, config, before, before_length, text, length);
		return r == 0 && unlinkat(parent, name, 0) < 0 ? -errno : r;
	}
	/* The writer may still hold the file open: what was looked at is what is installed. */
	if (r == 0)
		r = install_copy(parent, config, text, length, mode, NULL);
	if (r == 0 && unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

int hold_install_settings(struct observer *observer, int parent, const char *name,
			  const char *settings, mode_t mode, const char *path)
{
	_cleanup_free_ char *text = NULL, *before = NULL, *installed = NULL, *line = NULL;
	const char *restored = NULL;
	size_t length, before_length;
	int r = hold_read_text(parent, name, AGENT_CONFIG_LIMIT, &text, &length);

	if (r == 0 && !text)
		r = -ENOENT;
	if (r == 0)
		r = hold_read_text(parent, settings, AGENT_CONFIG_LIMIT, &before, &before_length);
	if (r == 0)
		r = agent_config_settle(before, before_length, text, length, &installed, &restored);
	/* The writer may still hold the file open: what was looked at is what is installed. */
	if (r == 0)
		r = install_copy(parent, settings, installed, strlen(installed), mode, NULL);
	if (r == 0 && unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		r = -errno;
	if (r == 0 && restored) {
		if (asprintf(&line,
			     "%s: `%s` in it runs programs outside the sandbox, and was left as it "
			     "was; to let it be changed: --write %s",
			     path, restored, path) < 0)
			abort();
		if (!list_has(&observer->holding.lines, line))
			list_add(&observer->holding.lines, line);
	}
	return r == -EINVAL ? -EACCES : r;
}

static int adopt_hooks(int directory, char why[static 300])
{
	int fd = openat(directory, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct guard_place hooks = {.ground = GROUND_HOOKS};
	struct dirent *entry;
	DIR *entries;
	int r = 0;

	if (fd < 0 && errno == ENOENT)
		return 0;
	entries = fd < 0 ? NULL : fdopendir(fd);
	if (!entries) {
		close_fd(&fd);
		r = -EACCES; /* a link, or closed */
	}
	while (entries && r == 0 && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    guard_of(&hooks, entry->d_name) != GUARD_KEPT)
			r = -EACCES;
	if (entries)
		closedir(entries);
	if (r < 0)
		snprintf(why, 300, "protected: a repository's hooks");
	return r;
}

static int check_index(int repository, const char *text, size_t length, char why[static 300])
{
	_cleanup_free_ char *config = NULL, *common = NULL;
	char name[GIT_INDEX_NAME] = "";
	size_t config_length;
	int r = hold_read_text(repository, "commondir", GIT_CONFIG_LIMIT, &common, &config_length);

	/* What all worktrees share. */
	if (r == 0)
		r = hold_read_text(repository, common ? "../../config" : "config", GIT_CONFIG_LIMIT,
				   &config, &config_length);
	if (r == 0)
		r = git_index_check(text, length, id_length(config, config_length), name);
	if (r < 0)
		snprintf(why, 300, "protected: an index %s%s",
			 *name ? "that names what is no place in the tree: "
			       : "that git could not read",
			 name);
	return r < 0 ? -EACCES : 0;
}

int hold_install_index(struct observer *observer, int parent, const char *name, const char *index,
		       const struct stat *st, char why[static 300])
{
	_cleanup_worktrees_ struct observer *locked = worktrees_lock(observer, /* alone= */ false);
	_cleanup_free_ char *text = NULL;
	size_t length;
	int r = hold_read_text(parent, name, GIT_INDEX_LIMIT, &text, &length);

	if (r == 0 && !text)
		r = -ENOENT;
	if (r == 0 && guard_is(index, GUARD_CONFLICTS)) /* none is remembered, and git goes on */
		length = 0;
	else if (r == 0)
		r = check_index(parent, text, length, why);
	/* By its time git tells what could have changed in the same moment, and looks at that. */
	if (r == 0)
		r = install_copy(parent, index, text, length, st->st_mode, &st->st_mtim);
	if (r == 0 && unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		r = -errno;
	return r;
}

/* One that was there before the directory became a repository. */
static int adopt_index(int directory, char why[static 300])
{
	_cleanup_free_ char *text = NULL;
	size_t length;
	struct stat st;
	int r;

	if (fstatat(directory, "MERGE_RR", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (r = install_copy(directory, "MERGE_RR", "", 0, 0600, NULL)) < 0)
		return r;
	if (fstatat(directory, "index", &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISDIR(st.st_mode))
		return 0;
	r = hold_read_text(directory, "index", GIT_INDEX_LIMIT, &text, &length);
	if (r == 0 && text)
		r = check_index(directory, text, length, why);
	if (r == 0 && text) /* whoever has it open writes to the old one */
		r = install_copy(directory, "index", text, length, st.st_mode, &st.st_mtim);
	if (r < 0 && !*why)
		snprintf(why, 300, "protected: an index");
	return r < 0 ? -EACCES : 0;
}

/* A repository whose configuration and hooks are looked at in the end. */
static int look_later(struct observer *observer, int parent)
{
	struct holding *holding = &observer->holding;
	int copy;

	if (holding->later_count >= LATER_MOST)
		return -ENOSPC;
	copy = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	if (copy < 0) /* what cannot be looked at again must not come into being */
		return -errno;
	holding->later =
		reallocarray(holding->later, holding->later_count + 1, sizeof(*holding->later));
	if (!holding->later)
		abort();
	holding->later[holding->later_count++] = copy;
	return 0;
}

int hold_adopt(struct observer *observer, const char *directory, char why[static 300])
{
	_cleanup_close_ int fd = sys_openat2(AT_FDCWD, directory, O_PATH | O_DIRECTORY | O_CLOEXEC,
					     RESOLVE_NO_SYMLINKS);
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	hold_announce(observer); /* from here on what was looked at does not change unseen */
	r = adopt_hooks(fd, why);
	if (r == 0)
		r = adopt_index(fd, why);
	for (size_t i = 0; i < ELEMENTS(configs) && r == 0; i++) {
		_cleanup_free_ char *text = NULL;
		size_t length;

		r = hold_read_text(fd, configs[i], GIT_CONFIG_LIMIT, &text, &length);
		if (r < 0 || !text)
			continue;
		r = check_config(observer, fd, text, length, NULL, 0, why);
		if (r == 0 && fstatat(fd, configs[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			r = install_copy(fd, configs[i], text, length, st.st_mode, NULL);
	}
	/* An open that went on before is perhaps not done yet, and finds the copy then. */
	if (r == 0)
		r = look_later(observer, fd);
	if (r == 0 && fstat(fd, &st) == 0)
		hold_made(observer, fd, ".");
	return r;
}

void hold_put_away(struct observer *observer, int parent, const char *name, const char *path,
		   const char *text, size_t length, bool stays)
{
	const char *quarantine = observer->observed->quarantine;
	_cleanup_free_ char *own = NULL, *kept = NULL;
	_cleanup_close_ int fd = -1;
	bool saved = false;

	if (quarantine && make_directories(quarantine, 0700) == 0 &&
	    asprintf(&kept, "%s/%zu-%s", quarantine, observer->holding.lines.count,
		     name[0] == '.' ? name + 1 : name) > 0) {
		saved = !text && renameat(parent, name, AT_FDCWD, kept) == 0;
		if (!saved && !text &&
		    read_file(parent, name, GIT_CONFIG_LIMIT, &own, &length) == 0)
			text = own;
		if (!saved && text) {
			fd = open(kept, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
			saved = fd >= 0 && write_all(fd, text, length) == 0;
		}
	}
	if (!stays)
		(void)unlinkat(parent, name, 0);
	if (saved)
		(void)chmod(kept, 0600);
	list_add_printf(&observer->holding.lines,
			saved ? "%s would have run programs outside the sandbox: moved to %s"
			      : "%s would have run programs outside the sandbox: removed",
			path, kept);
}

static void put_away_hooks(struct observer *observer, int directory, const char *path)
{
	const struct guard_place hooks = {.ground = GROUND_HOOKS};
	int fd = openat(directory, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (entries && (entry = readdir(entries))) {
		_cleanup_free_ char *name = NULL;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    guard_of(&hooks, entry->d_name) == GUARD_KEPT)
			continue;
		if (asprintf(&name, "%s/hooks/%s", path, entry->d_name) < 0)
			abort();
		hold_put_away(observer, dirfd(entries), entry->d_name, name, /* text= */ NULL, 0,
			      /* stays= */ false);
	}
	if (entries)
		closedir(entries);
	else
		close_fd(&fd);
}

/* What is in order gets yet another copy: whoever still writes writes to the old one. */
static void settle(struct observer *observer, int directory, const char *path)
{
	char why[300] = "";
	struct stat st;

	for (size_t i = 0; i < ELEMENTS(configs); i++) {
		_cleanup_free_ char *text = NULL, *name = NULL;
		size_t length;
		int r = hold_read_text(directory, configs[i], GIT_CONFIG_LIMIT, &text, &length);

		if (r == 0 && !text)
			continue;
		if (asprintf(&name, "%s/%s", path, configs[i]) < 0)
			abort();
		if (hold_judge(observer, name) != GUARD_CONFIG) /* named, or granted since */
			continue;
		if (r == 0)
			r = check_config(observer, directory, text, length, NULL, 0, why);
		if (r == 0 && fstatat(directory, configs[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			r = install_copy(directory, configs[i], text, length, st.st_mode, NULL);
		if (r < 0)
			hold_put_away(observer, directory, configs[i], name, /* text= */ NULL, 0,
				      /* stays= */ false);
	}
	if (adopt_hooks(directory, why) < 0)
		put_away_hooks(observer, directory, path);
	if (adopt_index(directory, why) < 0) {
		_cleanup_free_ char *name = NULL;

		if (asprintf(&name, "%s/index", path) < 0)
			abort();
		hold_put_away(observer, directory, "index", name, /* text= */ NULL, 0,
			      /* stays= */ false);
	}
}

void hold_look_again(struct observer *observer, const char *path)
{
	_cleanup_close_ int fd = -1;
	char directory[PATH_MAX];

	if ((!guard_is(path_last(path), "objects") && !guard_is(path_last(path), "refs")) ||
	    strlen(path) >= sizeof(directory))
		return;
	strcpy(directory, path);
	*strrchr(directory, '/') = '\0';
	if (!hold_guards(observer, directory) || hold_is_held(observer, directory) ||
	    !hold_is_repository(directory) || hold_is_ours(observer, directory))
		return;
	fd = sys_openat2(AT_FDCWD, directory, O_PATH | O_DIRECTORY | O_CLOEXEC,
			 RESOLVE_NO_SYMLINKS);
	if (fd < 0)
		return;
	hold_announce(observer);
	settle(observer, fd, directory);
	(void)look_later(observer, fd);
}

void hold_end(struct observer *observer)
{
	struct holding *holding = &observer->holding;

	for (size_t i = 0; i < holding->later_count; i++) {
		char directory[PATH_MAX], link[64];
		ssize_t length;

		snprintf(link, sizeof(link), "/proc/self/fd/%d", holding->later[i]);
		length = readlink(link, directory, sizeof(directory) - 1);
		if (length <= 0)
			continue;
		directory[length] = '\0';
		settle(observer, holding->later[i], directory);
	}
	pointers_end(observer);
}
