/* SPDX-License-Identifier: Apache-2.0 */
/* What may come to lie where, by what it is and by the names on both sides: links, directories that
 * hold some, and what is guarded. Judged here, performed in names.c. */
#include "../observer.h"
#include "../../base/path.h"

#include <linux/fs.h>
#include <stdio.h>
#include <string.h>

static const char rule_inside[] = "protected: a link to where no name is guarded";
static const char rule_repository[] =
	"protected: a link in a repository, by which git would write elsewhere";
static const char rule_worktree[] = "protected: a repository says that its files lie there";

/* Git opens its own files, to write to them, without asking whether one is a link: what a person
 * commits, fetches or packs would be written to where it leads, in words that a command chose. So a
 * link in a repository leads to what lies below it there, and what was filled elsewhere stays
 * there. */
static bool brings_links(const struct observer *observer, const char *from, const char *to)
{
	return hold_is_in_repository(observer, to, /* itself= */ false) &&
	       !hold_is_in_repository(observer, from, /* itself= */ true);
}

const char *link_rule(struct observer *observer, const char *path, const char *target)
{
	if (permit_refuses_link(observer, path))
		return rule_guarded;
	if (!hold_guards(observer, path))
		return NULL;
	if (target && guard_leads_inside(target))
		return rule_inside;
	if (target && hold_leads_out(target) &&
	    hold_is_in_repository(observer, path, /* itself= */ false))
		return rule_repository;
	return worktrees_refuse(observer, path, NULL) ? rule_worktree : NULL;
}

/* A file of such a name holds nothing; one that is called .git or hooks says where something lies.
 */
bool is_no_holder(const char *name)
{
	return !guard_is(name, ".git") && !guard_is(name, "hooks");
}

const char *moved_rule(struct observer *observer, mode_t mode, const char *from, const char *to)
{
	if ((S_ISLNK(mode) || S_ISDIR(mode)) && brings_links(observer, from, to))
		return rule_repository;
	if (S_ISLNK(mode))
		return link_rule(observer, to, /* target= */ NULL);
	if (!S_ISDIR(mode))
		return NULL;
	return worktrees_are_said_in(observer, from) || worktrees_refuse(observer, to, from)
		       ? rule_worktree
		       : NULL;
}

int judge_move(const struct observer *observer, const struct spot *from, enum guard source,
	       const struct spot *to, enum guard target, unsigned flags)
{
	bool directory = S_ISDIR(from->st.st_mode);
	bool ours = hold_is_ours(observer, from->path);

	if (source <= GUARD_FREE && target <= GUARD_FREE)
		return 0;
	if (flags & RENAME_EXCHANGE) /* each end is the other's */
		return source <= GUARD_OPEN && source != GUARD_HOLDER && target <= GUARD_OPEN &&
				       target != GUARD_HOLDER
			       ? 0
			       : -1;
	if (target == GUARD_CONFIG || target == GUARD_INDEX) {
		char beside[PATH_MAX];

		strcpy(beside, to->path);
		strcpy(strrchr(beside, '/') + 1, from->name);
		return source == GUARD_KEPT || source == GUARD_FREE
			       ? (S_ISREG(from->st.st_mode) && strcmp(beside, from->path) == 0 ? 1
											       : -1)
			       : -1;
	}
	if (target == GUARD_CLOSED || target == GUARD_LATER)
		return -1;
	if (target == GUARD_HOLDER) { /* a repository of our own may get another place */
		if (!directory && !S_ISLNK(from->st.st_mode) && is_no_holder(to->name) &&
		    source != GUARD_HOLDER)
			return to->exists && S_ISDIR(to->st.st_mode) ? -1 : 0;
		/* A file that says where one lies is looked at where it was written. */
		return directory && source == GUARD_HOLDER && ours &&
				       hold_may_move(observer, from->path, to->path)
			       ? 0
			       : -1;
	}
	if (source == GUARD_HOLDER && !directory && is_no_holder(from->name))
		return 0;
	if (source == GUARD_CLOSED || source == GUARD_CONFIG || source == GUARD_LATER ||
	    source == GUARD_HOLDER)
		return ours && (!directory || target != GUARD_KEPT) ? 0 : -1;
	/* A directory that was filled elsewhere may hold anything. */
	if (directory && !hold_may_move(observer, from->path, to->path))
		return -1;
	return 0;
}
