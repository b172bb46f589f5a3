/* SPDX-License-Identifier: Apache-2.0 */
/* How much would be gone: the files that a plan names for deletion, counted within bounds. */
#include "call.h"
#include "facts.h"
#include "index.h"
#include "radius.h"
#include "../base/buffer.h"
#include "../base/path.h"
#include "../base/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MOST_FILES = 100000,
	MOST_DEPTH = 48, /* each level holds a descriptor */
	MOST_MS = 100,
};

struct counting {
	struct damage *damage;
	struct index *index;
	const char *workspace, *cwd;
	dev_t device; /* what is mounted elsewhere may be slow, or never answer */
	struct timespec start;
	size_t seen;
};

static bool is_enough(struct counting *counting)
{
	struct timespec now;

	if (counting->damage->files >= MOST_FILES)
		counting->damage->more = true;
	if (++counting->seen % 64 == 0) {
		clock_gettime(CLOCK_MONOTONIC, &now);
		if ((now.tv_sec - counting->start.tv_sec) * 1000 +
			    (now.tv_nsec - counting->start.tv_nsec) / 1000000 >
		    MOST_MS)
			counting->damage->more = true;
	}
	return counting->damage->more;
}

static void count_file(struct counting *counting, const char *path, const struct stat *st)
{
	struct damage *damage = counting->damage;

	damage->files++;
	if (S_ISREG(st->st_mode))
		damage->bytes += (uint64_t)st->st_size;
	if (counting->index && index_has_copy(counting->index, path, st))
		damage->restorable++;
}

static void count(struct counting *counting, int parent, const char *name, const char *path,
		  const char *pattern, unsigned depth);

/* The entries of a directory, or those of them that a pattern names. */
static void count_entries(struct counting *counting, int fd, const char *path, const char *pattern,
			  unsigned depth)
{
	DIR *directory = fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		close(fd);
		return;
	}
	while (!is_enough(counting) && (entry = readdir(directory))) {
		_cleanup_free_ char *inner = NULL;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (pattern && ((entry->d_name[0] == '.' && pattern[0] != '.') ||
				!path_component_matches(pattern, strlen(pattern), entry->d_name,
							strlen(entry->d_name))))
			continue;
		if (asprintf(&inner, "%s/%s", path, entry->d_name) < 0)
			abort();
		count(counting, dirfd(directory), entry->d_name, inner, NULL, depth + 1);
	}
	closedir(directory);
}

static void count(struct counting *counting, int parent, const char *name, const char *path,
		  const char *pattern, unsigned depth)
{
	struct stat st;
	int fd;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		if (!pattern)
			count_file(counting, path, &st);
		return;
	}
	if (st.st_dev != counting->device || depth > MOST_DEPTH) {
		counting->damage->more = true;
		return;
	}
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		count_entries(counting, fd, path, pattern, depth);
}

/* A target as it stands among the words: literal, or with a pattern as its last part. What is known
 * only when it runs, or lies outside, is not counted. */
static void count_target(struct counting *counting, const char *word)
{
	_cleanup_free_ char *path = NULL;
	const char *pattern = NULL;
	char *slash;

	if (strpbrk(word, "$`~")) {
		counting->damage->more = true;
		return;
	}
	path = path_resolve(counting->cwd, NULL, word);
	if (!path_is_under(path, counting->workspace)) {
		counting->damage->more = true;
		return;
	}
	slash = strrchr(path, '/');
	if (slash && slash != path && path_has_glob(slash + 1)) {
		*slash = '\0';
		pattern = slash + 1;
	}
	if (path_has_glob(path)) {
		counting->damage->more = true;
		return;
	}
	count(counting, AT_FDCWD, path, path, pattern, 0);
}

static void count_call(struct counting *counting, const struct command *command)
{
	struct call call;
	struct cursor cursor = {0};
	struct word word;

	call_read(command, command->program, command->argc, &call);
	if (call.depth == 0 || call_node(&call)->rest != ROLE_DELETES)
		return;
	counting->damage->measured = true;
	if (!counting->index)
		counting->index = index_open(counting->workspace);
	while (call_next(&call, &cursor, &word) && !counting->damage->more)
		if (!word.is_option)
			count_target(counting, word.text);
}

/* The commands whose words mean files here: behind a cd, or on another machine, they mean others.
 */
static void count_plan(struct counting *counting, const struct plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct command *command = &plan->commands[i];
		const char *name =
			command->program < command->argc ? command->argv[command->program] : "";

		if (strcmp(name, "cd") == 0 || strcmp(name, "pushd") == 0)
			return;
		if (*name && !command->remote)
			count_call(counting, command);
	}
}

void assess_damage(const struct plan *plan, const char *workspace, const char *cwd,
		   struct assessment *assessment)
{
	struct damage *damage = &assessment->damage;
	struct counting counting = {.damage = damage, .workspace = workspace, .cwd = cwd};
	struct stat st;

	*damage = (struct damage){0};
	if (lstat(workspace, &st) < 0)
		return;
	counting.device = st.st_dev;
	clock_gettime(CLOCK_MONOTONIC, &counting.start);
	count_plan(&counting, plan);
	index_free(counting.index);
	if (plan->count == 1 && damage->files && damage->restorable == damage->files &&
	    !damage->more) {
		assessment->reversible = true;
		assessment->way_back = "git restore brings it back";
	}
}

/* Nothing but work that git has as it is would go: that is no loss. */
static bool is_only_deletion(const struct plan *plan, const struct assessment *assessment)
{
	return assessment->class == CLASS_ASK && plan->count == 1 && !plan->opaque &&
	       assessment->reasons[0] && !assessment->reasons[1] && assessment->rules[0] &&
	       match_one("delete-directories delete-all-files", assessment->rules[0]);
}

bool assess_is_kept(const struct plan *plan, const char *workspace, const char *cwd,
		    struct assessment *assessment)
{
	if (!is_only_deletion(plan, assessment))
		return false;
	assess_damage(plan, workspace, cwd, assessment);
	if (!assessment->reversible)
		return false;
	assessment->class = CLASS_SAFE;
	assessment->risk = RISK_LOW;
	return true;
}

bool measure_tree(const char *path, struct damage *ret_damage)
{
	struct counting counting = {.damage = ret_damage};
	struct stat st;

	*ret_damage = (struct damage){0};
	if (lstat(path, &st) < 0)
		return false;
	counting.device = st.st_dev;
	clock_gettime(CLOCK_MONOTONIC, &counting.start);
	count(&counting, AT_FDCWD, path, path, /* pattern= */ NULL, 0);
	return true;
}

static void add_measure(const struct damage *damage, struct buffer *text)
{
	char size[SIZE_TEXT];

	if (damage->files == 0 && damage->more) {
		buffer_add_text(text, "files, how many is unknown");
		return;
	}
	size_text(damage->bytes, size);
	buffer_printf(text, "%s%zu file%s, %s", damage->more ? "at least " : "", damage->files,
		      damage->files == 1 ? "" : "s", size);
}

char *measure_text(const struct damage *damage)
{
	_cleanup_buffer_ struct buffer text = {0};

	add_measure(damage, &text);
	return buffer_steal(&text);
}

char *damage_text(const struct damage *damage)
{
	_cleanup_buffer_ struct buffer text = {0};

	add_measure(damage, &text);
	if (damage->files && damage->restorable == damage->files && !damage->more)
		buffer_add_text(&text, "; git has a copy of all of it");
	else if (damage->files)
		buffer_printf(&text, "; git has a copy of %zu of them", damage->restorable);
	return strdup(buffer_text(&text));
}
