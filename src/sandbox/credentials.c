/* SPDX-License-Identifier: Apache-2.0 */
/* Looks into the configurations of repositories, a few hundred bytes each, and of their submodules
 * and worktrees. */
#include "credentials.h"
#include "gitconfig.h"
#include "../base/io.h"
#include "../base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOKED_MOST = 1000, /* configurations that are read; those beyond are closed unread */
	ENTRIES_MOST = 20000,
	DEPTH = 16,
	FRESH_MS = 10,
	LOOKS = 5,
};

struct looking {
	const struct search *search;
	struct masks *masks;
	size_t looked, entries, texts;
};

static bool is_configuration(const char *name)
{
	return strcasecmp(name, "config") == 0 || strcasecmp(name, "config.worktree") == 0;
}

/* Asked for by its own name: then it is shown as it is. A rule about the directory is not that. */
static bool is_asked_for(const struct looking *looking, const char *path)
{
	const struct file_rules *rules = looking->search->rules;
	char real[PATH_MAX];

	for (size_t i = 0; i < rules->count; i++) {
		const struct file_rule *rule = &rules->items[i];

		if (rule->weight == WEIGHT_DEFAULT || rule->guard ||
		    (rule->access != ACCESS_READ && rule->access != ACCESS_WRITE) ||
		    !is_configuration(path_last(rule->pattern)))
			continue;
		if (rule->exact ? realpath(rule->pattern, real) && strcmp(real, path) == 0
				: path_matches(rule->pattern, path, NULL))
			return true;
	}
	return false;
}

/* What hides it already. */
static bool is_hidden(const struct masks *masks, const char *path)
{
	const struct mask *innermost = NULL;

	for (size_t i = 0; i < masks->count; i++)
		if (path_is_under(path, masks->items[i].path) &&
		    (!innermost || strlen(masks->items[i].path) >= strlen(innermost->path)))
			innermost = &masks->items[i];
	return innermost && mask_hides(innermost);
}

static bool is_in_trees(const struct masks *masks, const char *path)
{
	for (size_t i = 0; i < masks->trees.count; i++)
		if (path_is_under(path, masks->trees.items[i]))
			return true;
	return false;
}

static int add(struct looking *looking, const char *path, const struct stat *st, char *text,
	       struct error **ret_error)
{
	struct mask mask = {.path = strdup(path),
			    .kind = text		   ? MASK_TEXT
				    : S_ISDIR(st->st_mode) ? MASK_DIRECTORY
							   : MASK_FILE,
			    .device = st->st_dev,
			    .inode = st->st_ino,
			    .is_directory = S_ISDIR(st->st_mode),
			    .guard = true,
			    .text = text};

	looking->texts += text != NULL;
	return masks_add(looking->masks, mask, ret_error);
}

/* The supervisor of another run writes such a file in place: what was read may be neither the old
 * nor the new text. */
static bool is_being_written(const char *path)
{
	struct timespec now;
	struct stat st;
	int64_t age;

	if (stat(path, &st) < 0 || clock_gettime(CLOCK_REALTIME, &now) < 0)
		return true;
	age = (now.tv_sec - st.st_mtim.tv_sec) * 1000 +
	      (now.tv_nsec - st.st_mtim.tv_nsec) / 1000000;
	return age >= 0 && age < FRESH_MS;
}

/* 1: *ret_text is what may be seen, the caller frees it; 0: there is nothing to hide; -errno. The
 * text goes to init as one that ends with a NUL. */
static int read_redacted(struct looking *looking, const char *path, char **ret_text)
{
	_cleanup_free_ char *text = NULL, *redacted = NULL;
	size_t length, redacted_length;
	int r;

	if (looking->looked++ >= LOOKED_MOST)
		return -E2BIG;
	for (int look = 0;; look++) {
		r = read_file(AT_FDCWD, path, GIT_CONFIG_LIMIT, &text, &length);
		if (r == 0)
			r = git_config_redact(text, length, &redacted, &redacted_length);
		if (r == 1 || !is_being_written(path))
			break;
		if (look == LOOKS)
			return -EBUSY;
		free(STEAL(text));
		free(STEAL(redacted));
		usleep(FRESH_MS * 1000);
	}
	if (r == 1 && (looking->texts >= TEXTS_MOST || strlen(redacted) != redacted_length))
		return -E2BIG;
	if (r == 1)
		*ret_text = STEAL(redacted);
	return r;
}

static int look_at(struct looking *looking, const char *directory, const char *name,
		   struct error **ret_error)
{
	char path[PATH_MAX], real[PATH_MAX], *text = NULL;
	struct stat st;
	bool elsewhere;
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= (int)sizeof(path) ||
	    path_real(path, real, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (is_hidden(looking->masks, real) || is_asked_for(looking, real))
		return 0;
	elsewhere = !is_in_trees(looking->masks, real);
	r = read_redacted(looking, real, &text);
	/* Whoever made a link chose where it leads: only what is a configuration is covered
	 * there. */
	if (r == 0 || (r < 0 && elsewhere))
		return 0;
	return add(looking, real, &st, r == 1 ? text : NULL, ret_error);
}

static int look_into(struct looking *looking, const char *repository, unsigned depth,
		     struct error **ret_error);

/* A directory of other git directories: their names may have slashes in them, as submodules' do. */
static int walk(struct looking *looking, const char *directory, unsigned depth,
		struct error **ret_error)
{
	DIR *entries = opendir(directory);
	struct dirent *entry;
	char path[PATH_MAX], head[PATH_MAX + 8];
	struct stat st;
	int r = 0;

	if (!entries)
		return 0;
	while (r == 0 && (entry = readdir(entries))) {
		if (entry->d_name[0] == '.' &&
		    (!entry->d_name[1] || strcmp(entry->d_name, "..") == 0))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) >=
			    (int)sizeof(path) ||
		    lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		if (++looking->entries > ENTRIES_MOST || depth >= DEPTH) {
			r = add(looking, path, &st, NULL, ret_error);
			continue;
		}
		snprintf(head, sizeof(head), "%s/HEAD", path);
		r = lstat(head, &st) == 0 ? look_into(looking, path, depth + 1, ret_error)
					  : walk(looking, path, depth + 1, ret_error);
	}
	closedir(entries);
	return r;
}

static int look_into(struct looking *looking, const char *repository, unsigned depth,
		     struct error **ret_error)
{
	static const char *const more[] = {"modules", "worktrees"};
	char path[PATH_MAX];
	int r = look_at(looking, repository, "config", ret_error);

	if (r == 0)
		r = look_at(looking, repository, "config.worktree", ret_error);
	for (size_t i = 0; i < ELEMENTS(more) && r == 0; i++)
		if (snprintf(path, sizeof(path), "%s/%s", repository, more[i]) < (int)sizeof(path))
			r = walk(looking, path, depth + 1, ret_error);
	return r;
}

/* One without the name: known by what lies in it. */
static bool is_repository(const char *directory)
{
	static const char *const parts[] = {"HEAD", "objects", "refs"};
	char path[PATH_MAX + 16];
	struct stat st;

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, parts[i]);
		if (lstat(path, &st) < 0)
			return false;
	}
	return true;
}

int find_credentials(const struct search *search, struct masks *masks, struct error **ret_error)
{
	struct looking looking = {.search = search, .masks = masks};
	int r = 0;

	for (size_t i = 0; i < masks->repositories.count && r == 0; i++)
		r = look_into(&looking, masks->repositories.items[i], 0, ret_error);
	for (size_t i = 0; i < masks->trees.count && r == 0; i++)
		if (!list_has(&masks->repositories, masks->trees.items[i]) &&
		    is_repository(masks->trees.items[i]))
			r = look_into(&looking, masks->trees.items[i], 0, ret_error);
	return r;
}
