/* SPDX-License-Identifier: Apache-2.0 */
/* From points to masks: they are put in order and judged from the root down. Between two of them
 * nothing changes, because no rule speaks there. */
#include "finding.h"
#include "../base/guard.h"
#include "../base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { MASKS = 5000, GUARDED_MOST = 1000, GUARDED_OPENED_MOST = 120 };

bool finding_is_ground(const struct search *search, const char *path)
{
	return path_is_under(search->workspace, path);
}

/* By name, whoever names it: /tmp as a whole is the sandbox's. */
bool finding_shows(const struct file_rule *rule)
{
	return (rule->access == ACCESS_READ || rule->access == ACCESS_READ_ONLY) && !rule->guard &&
	       !rule->hold && rule->weight != WEIGHT_DEFAULT && rule->weight != WEIGHT_ALWAYS &&
	       strncmp(rule->pattern, "/tmp/", 5) == 0;
}

const char *shown_path(const char *entry)
{
	return strchr(entry, '/'); /* before it there are numbers */
}

bool finding_is_hidden(const struct finding *finding, const struct list *shown, const char *path)
{
	if (path_is_under(path, "/run"))
		return true;
	if (!path_is_under(path, "/tmp"))
		return false;
	for (size_t i = 0; i < finding->trees.count; i++)
		if (path_is_under(path, finding->trees.items[i]))
			return false;
	if (!shown)
		return !finding->shows;
	for (size_t i = 0; i < shown->count; i++)
		if (path_is_under(path, shown_path(shown->items[i])))
			return false;
	return true;
}

/* The deeper a directory, the later; what lies in it follows it at once. */
static int compare_paths(const char *one, const char *other)
{
	for (; *one && *one == *other; one++, other++)
		;
	/* A slash comes before everything but the end. */
	return (*one == '/' ? 1 : (unsigned char)*one + (*one ? 1 : 0)) -
	       (*other == '/' ? 1 : (unsigned char)*other + (*other ? 1 : 0));
}

static int compare_points(const void *a, const void *b)
{
	const struct point *one = a, *other = b;

	return compare_paths(one->path, other->path);
}

static void describe(const struct file_rule *rule, enum state state, struct areas *areas,
		     const char *path)
{
	_cleanup_free_ char *text = NULL;

	if (rule && rule->said && state != STATE_WRITABLE &&
	    asprintf(&text, "%s: %s", state == STATE_DENIED ? "deny" : "read-only", rule->said) < 0)
		abort();
	if (!rule || !rule->guard) /* the supervisor knows these by name */
		areas_add(areas, path, state, text);
}

/* Where we are on the way down: the points above the present one. */
struct level {
	const char *path;
	size_t rules; /* how many rules speak here */
	enum state state;
	ssize_t mask; /* the mask that made it so; -1 none */
};

enum { LEVELS = PATH_MAX / 2 };

int masks_add(struct masks *masks, struct mask mask, struct error **ret_error)
{
	if (masks->count >= MASKS) {
		free(mask.path);
		free(mask.text);
		fail(ret_error, E_ENGINE, "there are more than %d paths to be masked", MASKS);
		return error_hint(
			ret_error,
			"choose a smaller --workspace, or let some be read: --read '**/.env.*'");
	}
	if (masks->count == masks->room) {
		masks->room = MAX(masks->room * 2, (size_t)16);
		masks->items = reallocarray(masks->items, masks->room, sizeof(*masks->items));
		if (!masks->items)
			abort();
	}
	masks->items[masks->count++] = mask;
	return 0;
}

/* What is done where the state changes from that of what lies above. */
static int change(struct finding *finding, const struct point *point, const struct level *above,
		  struct level *here, const struct file_rule *rule, struct masks *masks,
		  struct error **ret_error)
{
	enum mask_kind kind;

	if (here->state == STATE_DENIED && finding_is_ground(finding->search, point->path) &&
	    (strcmp(point->path, finding->search->workspace) == 0 ||
	     strcmp(point->path, "/") == 0 || rule->weight == WEIGHT_ALWAYS)) {
		fail(ret_error, E_USAGE, "%s holds the workspace and cannot be denied",
		     point->path);
		return error_hint(ret_error, "choose another --workspace, or deny what lies in it");
	}
	if (here->state == STATE_DENIED) {
		kind = point->is_directory ? MASK_DIRECTORY : MASK_FILE;
	} else if (above->state == STATE_DENIED) {
		masks->items[above->mask].kind = MASK_SHELL;
		kind = here->state == STATE_WRITABLE ? MASK_WRITE : MASK_OPEN;
	} else if (here->state == STATE_READ_ONLY) {
		kind = MASK_HOLD;
	} else if (above->mask < 0) {
		/* In the read-only tree itself: a writable tree of its own. */
		list_add(&masks->writable, point->path);
		describe(rule, here->state, &masks->areas, point->path);
		return 0;
	} else {
		kind = MASK_RELEASE;
	}
	/* What is not held, or not opened, by a mount the supervisor holds or opens call by call.
	 */
	if (rule && rule->guard &&
	    (finding->guarded++ >= GUARDED_MOST ||
	     (kind == MASK_RELEASE && finding->opened >= GUARDED_OPENED_MOST))) {
		masks->guarded &= kind == MASK_RELEASE;
		here->state = above->state;
		return 0;
	}
	if (mask_opens((char)kind) && finding->opened++ >= OPENED_MOST) {
		fail(ret_error, E_ENGINE,
		     "more than %d paths are opened in what is closed, %s among them", OPENED_MOST,
		     point->path);
		return error_hint(ret_error, "name the directories that they lie in");
	}
	if (here->state == STATE_WRITABLE) {
		bool inside = false;

		for (size_t i = 0; i < masks->writable.count; i++)
			inside |= path_is_under(point->path, masks->writable.items[i]);
		if (!inside)
			list_add(&masks->writable, point->path);
	}
	describe(rule, here->state, &masks->areas, point->path);
	here->mask = (ssize_t)masks->count;
	return masks_add(masks,
			 (struct mask){.path = strdup(point->path),
				       .kind = kind,
				       .device = point->device,
				       .inode = point->inode,
				       .is_directory = point->is_directory,
				       .guard = rule && rule->guard},
			 ret_error);
}

/* Whatever else is said of it. */
static bool is_repository(const struct point *point, const struct file_rule *const *rules,
			  size_t count)
{
	const struct guard_place plain = {.ground = GROUND_PLAIN};
	bool guarded = false;

	for (size_t i = 0; i < count; i++)
		guarded |= rules[i]->guard;
	return guarded && point->is_directory &&
	       guard_enter(&plain, path_last(point->path)).ground == GROUND_REPOSITORY;
}

static void show(const struct point *point, struct masks *masks)
{
	list_add_printf(&masks->shown, "%llu %llu %s", (unsigned long long)point->device,
			(unsigned long long)point->inode, point->path);
}

int finding_judge(struct finding *finding, struct masks *masks, struct error **ret_error)
{
	_cleanup_free_ struct level *levels = malloc((LEVELS + 1) * sizeof(*levels));
	_cleanup_free_ const struct file_rule **rules =
		calloc(finding->count + 1, sizeof(struct file_rule *));
	size_t depth = 0;
	int r = 0;

	if (!levels || !rules)
		abort();
	if (finding->count)
		qsort(finding->points, finding->count, sizeof(*finding->points), compare_points);
	levels[0] = (struct level){"/", 0, STATE_READ_ONLY, -1};
	for (size_t i = 0; i < finding->count && r == 0;) {
		const struct point *point = &finding->points[i];
		const struct file_rule *rule = NULL;
		struct level *here;

		while (depth > 0 && !path_is_under(point->path, levels[depth].path))
			depth--;
		here = &levels[depth + 1];
		*here = levels[depth];
		here->path = point->path;
		for (; i < finding->count && strcmp(finding->points[i].path, point->path) == 0; i++)
			rules[here->rules++] = finding->points[i].rule;
		if (is_repository(point, &rules[levels[depth].rules],
				  here->rules - levels[depth].rules))
			list_add(&masks->repositories, point->path);
		here->state = file_rules_decide(rules, here->rules, &rule);
		if (finding_is_hidden(finding, &masks->shown, point->path)) {
			bool shown = false;

			for (size_t n = levels[depth].rules; n < here->rules; n++)
				shown |= finding_shows(rules[n]);
			if (shown && here->state != STATE_DENIED)
				show(point, masks);
			here->state = levels[depth].state;
		} else if (here->state != levels[depth].state)
			r = change(finding, point, &levels[depth], here, rule, masks, ret_error);
		if (++depth >= LEVELS)
			return fail(ret_error, E_ENGINE, "%s is nested too deeply", point->path);
	}
	return r;
}
