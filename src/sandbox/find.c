/* SPDX-License-Identifier: Apache-2.0 */
/* The paths that the rules mean are collected; judge.c says what becomes of them. */
#include "finding.h"
#include "credentials.h"
#include "../base/guard.h"
#include "walk.h"
#include "../base/path.h"
#include "../base/units.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { POINTS = 200000 };
static const uint64_t walk_ns = 10ull * 1000 * 1000 * 1000;

/* Closed to us, but perhaps not to the command, if it is its owner. */
static const struct file_rule rule_closed = {
	.access = ACCESS_DENY, .weight = WEIGHT_ALWAYS, .pattern = (char *)""};

static int add_point(struct finding *finding, const char *path, const struct file_rule *rule,
		     const struct stat *st, struct error **ret_error)
{
	if (finding->count >= POINTS) {
		fail(ret_error, E_ENGINE, "the rules about files mean more than %d files", POINTS);
		return error_hint(ret_error, "name directories instead: %s",
				  rule->said ? rule->said : rule->pattern);
	}
	if (finding->count == finding->room) {
		finding->room = MAX(finding->room * 2, (size_t)64);
		finding->points =
			reallocarray(finding->points, finding->room, sizeof(*finding->points));
		if (!finding->points)
			abort();
	}
	finding->points[finding->count++] =
		(struct point){strdup(path), rule, st->st_dev, st->st_ino, S_ISDIR(st->st_mode)};
	if (rule >= finding->own_rules && rule < finding->own_rules + finding->rule_count)
		finding->found[rule - finding->own_rules] = true;
	return 0;
}

/* Where programs and the kernel live there are no secrets, and a mask would take the command its
 * tools. */
static bool is_system(const char *path)
{
	static const char *const places[] = {"/usr",  "/bin", "/sbin", "/lib", "/lib32", "/lib64",
					     "/proc", "/sys", "/dev",  "/run", "/boot"};

	for (size_t i = 0; i < ELEMENTS(places); i++)
		if (path_is_under(path, places[i]))
			return true;
	return false;
}

/* A directory on the way is closed to us. If it is ours, the command could open it again: then it
 * is masked as a whole. */
static int deny_closed(void *data, const char *path, struct error **ret_error)
{
	struct finding *finding = data;
	_cleanup_free_ char *parent = strdup(path);
	struct stat st = {0};
	char *slash;

	while (parent && lstat(parent, &st) < 0 && (slash = strrchr(parent, '/')) &&
	       slash != parent)
		*slash = '\0';
	if (!parent || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    finding_is_hidden(finding, /* shown= */ NULL, parent))
		return 0;
	if (finding_is_ground(finding->search, parent))
		return fail(ret_error, E_ENGINE, "%s cannot be looked into", parent);
	return add_point(finding, parent, &rule_closed, &st, ret_error);
}

/* Closed to this user anyway, and not theirs to open: the system's own permissions are the mask. */
static bool is_closed_natively(const char *path, const struct stat *st)
{
	return st->st_uid != geteuid() && faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0 &&
	       faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 &&
	       faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0;
}

/* Links are looked through, so that what is covered is the thing itself. Where a pattern speaks for
 * it, whoever filled the workspace chose the name: a link of such a name is followed to a file
 * only. */
static int deny_path(struct finding *finding, const struct file_rule *rule, const char *path,
		     struct error **ret_error)
{
	const struct search *search = finding->search;
	char real[PATH_MAX];
	struct stat st;

	if (path_real(path, real, &st) < 0) { /* most are not there, and one look tells */
		if (errno != EACCES)
			return 0;
		/* A link into what is closed: if it was named, the directory that it lies in. */
		if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
			return deny_closed(finding, path, ret_error);
		snprintf(real, sizeof(real), "%.*s", (int)(path_last(path) - path), path);
		return rule->exact ? deny_closed(finding, real, ret_error) : 0;
	}
	if (!rule->exact && strcmp(real, path) != 0 && !path_is_under(real, search->workspace) &&
	    (!S_ISREG(st.st_mode) || is_system(real)))
		return 0;
	/* By default nothing is hidden from whoever works there. */
	if (rule->weight == WEIGHT_DEFAULT && finding_is_ground(search, real))
		return 0;
	if (finding_is_hidden(finding, /* shown= */ NULL, real) || is_closed_natively(real, &st))
		return 0;
	if (rule->weight == WEIGHT_SAID && rule->exact &&
	    (path_is_under(real, "/proc") || path_is_under(real, "/dev"))) {
		fail(ret_error, E_USAGE, "%s cannot be denied: the sandbox has one of its own",
		     real);
		return error_hint(ret_error,
				  "leave it out; of devices only the harmless are there, of "
				  "processes only the command's own");
	}
	if (rule->weight == WEIGHT_ALWAYS && S_ISDIR(st.st_mode))
		list_add(&finding->covered, real);
	if (rule->weight == WEIGHT_SAID && rule->exact && S_ISDIR(st.st_mode) &&
	    !walk_may_be_reopened(&finding->reopened, real))
		list_add(&finding->covered, real);
	return add_point(finding, real, rule, &st, ret_error);
}

static bool has_both(const char *directory, const char *one, const char *other)
{
	const char *const parts[] = {one, other};
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ELEMENTS(parts); i++)
		if (snprintf(path, sizeof(path), "%s/%s", directory, parts[i]) >=
			    (int)sizeof(path) ||
		    lstat(path, &st) < 0)
			return false;
	return true;
}

static bool is_repository(const char *directory)
{
	return has_both(directory, "objects", "refs");
}

/* A repository by its content alone: its parts are known to the supervisor, who then performs every
 * open. */
static void look_for_repository(struct finding *finding, const char *sign)
{
	_cleanup_free_ char *directory = strndup(sign, (size_t)(path_last(sign) - 1 - sign));
	const char *tree = NULL;

	for (size_t i = 0; i < finding->trees.count; i++)
		if (path_is_under(directory, finding->trees.items[i]) &&
		    (!tree || strlen(finding->trees.items[i]) < strlen(tree)))
			tree = finding->trees.items[i];
	if (tree && guard_ground_of(tree, directory).ground != GROUND_REPOSITORY)
		finding->unheld |= is_repository(directory) ||
				   has_both(directory, "commondir", "config.worktree");
}

static bool lies_in_tree(const struct finding *finding, const char *path)
{
	for (size_t i = 0; i < finding->trees.count; i++)
		if (path_is_under(path, finding->trees.items[i]) &&
		    strcmp(path, finding->trees.items[i]) != 0)
			return true;
	return false;
}

/* A person keeps his settings elsewhere in the tree, and a link where programs look for them: then
 * those are what is read. No command makes such a link. A repository is known by what lies in it,
 * and has parts that stay open. */
static void remember_link(struct finding *finding, const char *path)
{
	char real[PATH_MAX];
	struct stat st;

	if (path_real(path, real, &st) < 0 || path_is_under(path, real) ||
	    (S_ISDIR(st.st_mode) && is_repository(real)) || !lies_in_tree(finding, real))
		return;
	for (size_t i = 0; i < finding->rule_count; i++)
		if (finding->own_rules[i].access == ACCESS_WRITE &&
		    strcmp(finding->own_rules[i].pattern, real) == 0) /* named itself */
			return;
	list_add(&finding->links, path);
	list_add(&finding->links, real);
}

/* By rules like a person's, of which what lies above keeps its place. */
static int hold_links(struct finding *finding, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < finding->links.count; i += 2) {
		_cleanup_free_ char *said = NULL;

		if (asprintf(&said, "%s leads there, which runs programs",
			     finding->links.items[i]) < 0)
			abort();
		file_rules_add(&finding->linked, ACCESS_READ_ONLY, WEIGHT_SAID,
			       finding->links.items[i + 1], said)
			->hold = true;
	}
	for (size_t i = 0; i < finding->linked.count && r == 0; i++) {
		const struct file_rule *rule = &finding->linked.items[i];
		struct stat st;

		if (lstat(rule->pattern, &st) == 0)
			r = add_point(finding, rule->pattern, rule, &st, ret_error);
	}
	return r;
}

static int found(void *data, const struct file_rule *rule, const char *path,
		 struct error **ret_error)
{
	struct finding *finding = data;
	struct stat st;

	if (rule->access == ACCESS_DENY)
		return deny_path(finding, rule, path, ret_error);
	if (rule->sign) {
		look_for_repository(finding, path);
		return 0;
	}
	/* A submodule that is called like a part is none. */
	if (rule->guard && rule->access == ACCESS_WRITE && is_repository(path))
		return 0;
	if (lstat(path, &st) < 0)
		return 0;
	if (S_ISLNK(st.st_mode) && rule->guard && rule->access == ACCESS_READ_ONLY)
		remember_link(finding, path);
	/* A link opens nothing: where it leads was not named. */
	if (S_ISLNK(st.st_mode))
		return 0;
	if (rule->access == ACCESS_WRITE && path_is_under(path, "/tmp"))
		list_add(&finding->trees, path);
	return add_point(finding, path, rule, &st, ret_error);
}

/* A rule without a glob: its path is simply looked at. What opens has had its links resolved
 * before, and must be what it was then. */
static int look_at(struct finding *finding, const struct file_rule *rule, struct error **ret_error)
{
	char real[PATH_MAX];
	struct stat st;

	if (rule->access == ACCESS_DENY)
		return deny_path(finding, rule, rule->pattern, ret_error);
	if (path_real(rule->pattern, real, &st) < 0 || strcmp(real, rule->pattern) != 0)
		return 0;
	return add_point(finding, real, rule, &st, ret_error);
}

/* The links on the way to a rule's fixed part were resolved: it means that from now on. */
static void set_top(struct finding *finding, struct file_rule *rule, const char *top)
{
	const char *rest = rule->pattern + (rule->fixed > 1 ? rule->fixed : 0);

	if (rule->exact && strcmp(top, rule->pattern) == 0)
		return;
	list_add_printf(&finding->texts, "%s%s", strcmp(top, "/") == 0 && *rest ? "" : top, rest);
	rule->pattern = finding->texts.items[finding->texts.count - 1];
	file_rule_measure(rule);
}

/* The directory in which a pattern is looked for, links in it resolved. */
static char *top_of(struct finding *finding, const struct file_rule *rule)
{
	_cleanup_free_ char *fixed = path_fixed_part(rule->pattern);
	char real[PATH_MAX];
	struct stat st;

	if (finding->plain && strcmp(finding->plain, fixed) == 0)
		return STEAL(fixed);
	return path_real(fixed, real, &st) == 0 && S_ISDIR(st.st_mode) ? strdup(real) : NULL;
}

/* One walk for all patterns below one top. */
static int walk(struct finding *finding, const char *top, const struct file_rule *const *rules,
		size_t count, struct error **ret_error)
{
	const struct walk_search search = {
		.top = top,
		.rules = rules,
		.rule_count = count,
		.not_names = finding->search->not_names,
		.covered = &finding->covered,
		.reopened = &finding->reopened,
		.cache = finding->search->cache,
		.deadline = finding->deadline,
		.data = finding,
		.found = found,
		.closed = deny_closed,
	};

	return walk_tree(&search, NULL, ret_error);
}

static int by_length(const void *a, const void *b)
{
	return (int)strlen(*(char *const *)a) - (int)strlen(*(char *const *)b);
}

static int walk_patterns(struct finding *finding, struct error **ret_error)
{
	_cleanup_free_ const struct file_rule **chosen =
		calloc(finding->rule_count + 1, sizeof(struct file_rule *));
	_cleanup_list_ struct list tops = {0}, walked = {0};
	int r = 0;

	if (!chosen)
		abort();
	for (size_t i = 0; i < finding->rule_count; i++) {
		struct file_rule *rule = &finding->own_rules[i];
		_cleanup_free_ char *top = rule->exact ? NULL : top_of(finding, rule);

		if (!top)
			continue;
		set_top(finding, rule, top);
		if (!list_has(&tops, top))
			list_take(&tops, STEAL(top));
	}
	if (tops.count)
		qsort(tops.items, tops.count, sizeof(char *), by_length);
	for (size_t t = 0; t < tops.count && r == 0; t++) {
		const char *top = tops.items[t];
		size_t count = 0;
		bool done = false;

		for (size_t i = 0; i < walked.count; i++)
			done |= path_is_under(top, walked.items[i]);
		if (done)
			continue;
		for (size_t i = 0; i < finding->rule_count; i++) {
			const struct file_rule *rule = &finding->own_rules[i];

			if (!rule->exact && path_is_under(rule->pattern, top))
				chosen[count++] = rule;
		}
		list_add(&walked, top);
		r = walk(finding, top, chosen, count, ret_error);
	}
	return r;
}

/* The parts of the path that lie in what commands can write must not be links: a command may have
 * put them there. 0, 1 where it is not there, or -1 where it leads elsewhere. */
static int resolve_opening(struct finding *finding, const char *path, char real[static PATH_MAX])
{
	_cleanup_free_ char *rest = strdup(path);
	char *next = rest, *part;
	struct stat whole;

	if (finding->plain && strcmp(finding->plain, path) == 0) {
		strcpy(real, path);
		return 0;
	}
	if (path_real(path, real, &whole) == 0 && strcmp(real, path) == 0) {
		if (S_ISDIR(whole.st_mode)) {
			free(finding->plain);
			finding->plain = strdup(path);
		}
		return 0; /* mostly there is no link at all */
	}
	strcpy(real, "");
	while ((part = strsep(&next, "/"))) {
		char joined[PATH_MAX];
		bool ours = false;
		struct stat st;

		if (!*part)
			continue;
		if (snprintf(joined, sizeof(joined), "%s/%s", real, part) >= (int)sizeof(joined) ||
		    lstat(joined, &st) < 0)
			return 1;
		for (size_t i = 0; i < finding->trees.count; i++)
			ours |= path_is_under(joined, finding->trees.items[i]) &&
				strcmp(joined, finding->trees.items[i]) != 0;
		if (S_ISLNK(st.st_mode) && ours)
			return -1;
		if (!S_ISLNK(st.st_mode))
			strcpy(real, joined);
		else if (!realpath(joined, real))
			return 1;
	}
	if (!*real)
		strcpy(real, "/");
	return 0;
}

/* Rules that open mean what their path is now, links outside the workspace resolved. */
static int resolve(struct finding *finding, struct file_rule *rule, struct error **ret_error)
{
	_cleanup_free_ char *fixed = path_fixed_part(rule->pattern);
	char real[PATH_MAX];
	int r = resolve_opening(finding, fixed, real);

	if (r == 1)
		return 0;
	if (r < 0) {
		rule->exact = true; /* and its pattern is a link, which look_at() passes over */
		if (!rule->must_exist)
			return 0;
		if (!realpath(fixed, real))
			strcpy(real, "nowhere");
		fail(ret_error, E_USAGE, "%s leads out of what was named, to %s", rule->said, real);
		return error_hint(ret_error, "if that is meant, name it: %s", real);
	}
	set_top(finding, rule, real);
	return 0;
}

/* In each tree that is writable the names that run programs are held, and what lies beside them in
 * a repository is opened again. What is asked for by its own name is more specific. */
static void add_guards(struct finding *finding, const char *tree)
{
	const struct guard_pattern *pattern = guard_patterns();

	for (; pattern->text; pattern++) {
		_cleanup_free_ char *path = NULL;
		struct file_rule *rule;

		if (asprintf(&path, "%s/**/%s", tree, pattern->text) < 0)
			abort();
		rule = file_rules_add(&finding->guards,
				      pattern->open ? ACCESS_WRITE : ACCESS_READ_ONLY, WEIGHT_SAID,
				      path, NULL);
		rule->hold = rule->guard = true;
		rule->sign = pattern->sign;
	}
}

/* By the workspace or a rule; patterns may mean anything. */
static bool may_be_written(const struct finding *finding, const char *path)
{
	const struct file_rules *rules = finding->search->rules;

	if (path_is_under(path, finding->search->workspace))
		return true;
	for (size_t i = 0; i < rules->count; i++)
		if (rules->items[i].access == ACCESS_WRITE &&
		    (!rules->items[i].exact || path_is_under(path, rules->items[i].pattern)))
			return true;
	return false;
}

/* ward's own program may lie in the workspace (a clone of its repository), and is executed outside
 * at the next call: it and its launcher are read-only. */
static void add_own_programs(struct finding *finding)
{
	char self[PATH_MAX], launcher[PATH_MAX + 16];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *const own[] = {self, launcher};
	struct stat st;

	if (length <= 0)
		return;
	self[length] = '\0';
	snprintf(launcher, sizeof(launcher), "%.*s/../ward", (int)(strrchr(self, '/') - self),
		 self);
	for (size_t i = 0; i < ELEMENTS(own); i++) {
		_cleanup_free_ char *path = path_normalise(own[i]);

		if (may_be_written(finding, path) && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			file_rules_add(&finding->guards, ACCESS_READ_ONLY, WEIGHT_SAID, path,
				       "ward itself")
				->hold = true;
	}
}

static void copy_rules(struct finding *finding)
{
	const struct file_rules *rules = finding->search->rules;
	size_t count;

	add_own_programs(finding);
	if (finding->search->guards)
		add_guards(finding, finding->search->workspace);
	for (size_t i = 0; i < rules->count && finding->search->guards; i++)
		if (rules->items[i].access == ACCESS_WRITE && rules->items[i].exact &&
		    strcmp(rules->items[i].pattern, finding->search->workspace) != 0)
			add_guards(finding, rules->items[i].pattern);
	count = rules->count + finding->guards.count;
	finding->rule_count = count;
	finding->own_rules = calloc(count + 1, sizeof(*finding->own_rules));
	finding->found = calloc(count + 1, sizeof(bool));
	if (!finding->own_rules || !finding->found)
		abort();
	if (rules->count)
		memcpy(finding->own_rules, rules->items,
		       rules->count * sizeof(*finding->own_rules));
	if (finding->guards.count)
		memcpy(finding->own_rules + rules->count, finding->guards.items,
		       finding->guards.count * sizeof(*finding->own_rules));
}

/* A guarded name that may be made lies in what is writable anyway. */
static bool is_guarded_name(const struct finding *finding, const struct file_rule *rule)
{
	if (rule->access != ACCESS_WRITE || !rule->exact || !finding->search->guards)
		return false;
	for (size_t i = 0; i < finding->trees.count; i++) {
		const char *tree = finding->trees.items[i];

		if (path_is_under(rule->pattern, tree) && strcmp(rule->pattern, tree) != 0 &&
		    guard_path(tree, rule->pattern, NULL) != GUARD_FREE)
			return true;
	}
	return false;
}

static int check_found(const struct finding *finding, struct error **ret_error)
{
	for (size_t i = 0; i < finding->rule_count; i++) {
		const struct file_rule *rule = &finding->own_rules[i];

		if (!rule->must_exist || finding->found[i] || is_guarded_name(finding, rule))
			continue;
		fail(ret_error, E_USAGE, "%s: there is nothing of that name",
		     rule->said ? rule->said : rule->pattern);
		return error_hint(
			ret_error,
			"it must exist: make it first, name the directory it will lie in, or let "
			"the command make it: --make");
	}
	return 0;
}

static int collect(struct finding *finding, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < finding->rule_count && r == 0; i++) {
		struct file_rule *rule = &finding->own_rules[i];

		if (rule->access == ACCESS_DENY)
			continue;
		r = resolve(finding, rule, ret_error);
		finding->shows |= finding_shows(rule);
		/* The workspace itself is less specific than whatever is denied in it. */
		if (!rule->hold && (rule->access == ACCESS_READ ||
				    strcmp(rule->pattern, finding->search->workspace) != 0))
			list_add(&finding->reopened, rule->pattern);
		if (rule->access == ACCESS_WRITE && rule->exact &&
		    !list_has(&finding->trees, rule->pattern))
			list_add(&finding->trees, rule->pattern);
	}
	for (size_t i = 0; i < finding->rule_count && r == 0; i++)
		if (finding->own_rules[i].exact)
			r = look_at(finding, &finding->own_rules[i], ret_error);
	if (r == 0)
		r = walk_patterns(finding, ret_error);
	if (r == 0)
		r = hold_links(finding, ret_error);
	return r == 0 ? check_found(finding, ret_error) : r;
}

void masks_number(struct masks *masks)
{
	unsigned number = 0;

	for (size_t i = 0; i < masks->count; i++)
		if (mask_hides(&masks->items[i]))
			masks->items[i].number = number++;
}

int find_masks(const struct search *search, struct masks *ret_masks, struct error **ret_error)
{
	struct finding finding = {.search = search, .deadline = monotonic_ns() + walk_ns};
	int r;

	list_add(&finding.trees, search->workspace);
	copy_rules(&finding);
	ret_masks->guarded = true;
	r = collect(&finding, ret_error);
	if (r == 0)
		r = finding_judge(&finding, ret_masks, ret_error);
	if (finding.unheld)
		ret_masks->guarded = false;
	for (size_t i = 0; i < finding.count; i++)
		free(finding.points[i].path);
	free(finding.points);
	free(finding.found);
	free(finding.own_rules);
	free(finding.plain);
	list_done(&finding.texts);
	list_done(&finding.covered);
	list_done(&finding.reopened);
	list_done(&finding.links);
	file_rules_done(&finding.linked);
	list_done(&ret_masks->trees);
	ret_masks->trees = finding.trees;
	file_rules_done(&finding.guards);
	return r == 0 && search->guards ? find_credentials(search, ret_masks, ret_error) : r;
}

void masks_done(struct masks *masks)
{
	for (size_t i = 0; i < masks->count; i++) {
		free(masks->items[i].path);
		free(masks->items[i].text);
	}
	free(masks->items);
	list_done(&masks->repositories);
	list_done(&masks->writable);
	list_done(&masks->shown);
	list_done(&masks->trees);
	areas_done(&masks->areas);
	*masks = (struct masks){0};
}
