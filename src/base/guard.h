/* SPDX-License-Identifier: Apache-2.0 */
/* Names that make other programs run something: a repository's hooks and configuration, shells'
 * start-up files, editors' and agents' settings, ward's own policy. What a path means is decided
 * component by component, so that a walk and a look at one path share the same rules.
 *
 * A directory that holds such names is a *holder*: it is read-only for the command, and what may
 * change in it all the same is changed by the supervisor. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum guard {
	GUARD_FREE,   /* an ordinary name */
	GUARD_HOLDER, /* the name of a holder: .git, .claude ... */
	GUARD_OPEN,   /* a part of a repository with traffic of its own, which runs nothing */
	GUARD_KEPT,   /* in a holder, and harmless: the supervisor changes it */
	GUARD_INDEX,  /* a repository's index: as its configuration, but it may go away */
	GUARD_CONFIG, /* a repository's configuration: replaced only by a checked copy */
	GUARD_LATER,  /* says where a repository lies: its content is looked at when it is there */
	GUARD_CLOSED, /* not without being asked for by name */
};

/* Where a directory stands. */
enum guard_ground {
	GROUND_PLAIN,
	GROUND_REPOSITORY, /* .git, a bare repository, and what lies in them but for: */
	GROUND_OPEN,	   /* objects, refs and the like */
	GROUND_HOOKS,
	GROUND_SETTINGS, /* a directory of settings; `closed` tells which names in it */
	GROUND_HARMLESS, /* below a directory of settings, beside the closed names */
	GROUND_CLOSED,
};

struct guard_place {
	enum guard_ground ground;
	bool worktree; /* .git/worktrees, or below */
	bool names;    /* .git/modules or .git/worktrees: what lies in it is named freely */
	const char *const *closed; /* NULL: all names */
};

/* What directories of ward's own are called that commands fill: their /tmp, and the layers over
 * caches. No name is guarded in them, since nobody works there; so nothing that a command leaves
 * behind may lead there. Whatever did, by however many links, would have to say this name. */
#define GUARD_INSIDE	   ".ward-inside"
#define GUARD_INSIDE_TMP   GUARD_INSIDE "-tmp"
#define GUARD_INSIDE_LAYER GUARD_INSIDE "-layer"
/* How the name begins of a copy that was looked at and is not installed yet. */
#define GUARD_NEW ".ward-new-"
/* The files whose conflicts git remembers, to copy what they hold in the end into the repository.
 */
#define GUARD_CONFLICTS "merge_rr"
/* True if the text says where ward's own directories lie. */
bool guard_says_inside(const char *text);
/* True if a link of that text says it, or may lead to what another process sees (/proc/PID/root).
 * No way leads there, by however many links and however directories are moved, but by a text that
 * leads to /proc itself, or on from there: one that says `proc`, or `..` after a name, at its end
 * or before a number. */
bool guard_leads_inside(const char *text);
/* The name as the most generous file system takes it: some fold letters, leave out characters that
 * nobody sees, or a dot at the end. */
void guard_fold(const char *name, char folded[static NAME_MAX + 1]);
/* Whether it is that name, which is written in small letters. */
bool guard_is(const char *name, const char *that);

/* path_is_under() as such a file system takes it. */
bool guard_is_under(const char *path, const char *directory);

/* What the name is in a directory that stands there. */
enum guard guard_of(const struct guard_place *place, const char *name);
/* Where the directory of that name in it stands. */
struct guard_place guard_enter(const struct guard_place *place, const char *name);
/* Whether a directory that stands on one ground may come to stand on the other: only where nothing
 * that could be made in it there is guarded here. */
bool guard_may_move(const struct guard_place *from, const struct guard_place *to);
/* The whole path below the directory `top`, which stands on plain ground. *ret_parent (may be NULL)
 * is where its parent stands. */
enum guard guard_path(const char *top, const char *path, struct guard_place *ret_parent);
/* Where the directory at the path itself stands. */
struct guard_place guard_ground_of(const char *top, const char *path);
/* What is held in every writable tree, at any depth, as patterns; open: parts of a repository that
 * are writable all the same. Ends with a text of NULL. */
struct guard_pattern {
	const char *text;
	bool open;
	bool sign; /* not held itself: lies in every repository, also in one without the name */
};
const struct guard_pattern *guard_patterns(void);
