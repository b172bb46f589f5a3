/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two halves of the search: find.c collects what the rules mean, judge.c says what
 * becomes of it. */
#pragma once

#include "find.h"
#include <stdint.h>

/* A path that a rule means. */
struct point {
	char *path;
	const struct file_rule *rule;
	dev_t device;
	ino_t inode;
	bool is_directory;
};

struct finding {
	const struct search *search;
	uint64_t deadline;
	struct point *points;
	size_t count, room;
	struct list covered;	     /* directories in which nothing needs to be looked for */
	struct list reopened;	     /* patterns of rules that open something */
	struct list trees;	     /* that are to be writable */
	bool *found;		     /* for each rule: it means something that exists */
	struct file_rule *own_rules; /* the rules, links resolved */
	size_t rule_count;
	struct file_rules guards; /* of our own: names that run programs, ward itself */
	struct list links;	  /* of guarded names, each followed by where it leads */
	struct file_rules linked; /* what is said of that */
	struct list texts;	  /* of resolved patterns */
	size_t opened, guarded;
	char *plain; /* the last directory that was found to be a real path: many rules begin alike
		      */
	bool shows;  /* something of the host's /tmp may be seen */
	bool unheld; /* there is a repository that no mount holds */
};

/* A mask would cover the ground the command stands on. */
bool finding_is_ground(const struct search *search, const char *path);
/* The rule opens something in the host's /tmp, which is not there inside unless it is named. */
bool finding_shows(const struct file_rule *rule);
/* The host's /run is not there inside, nor its /tmp, but for what is writable in it, and what is
 * shown; NULL: nobody knows yet what that is, and whatever could be is not hidden. */
bool finding_is_hidden(const struct finding *finding, const struct list *shown, const char *path);
/* Sorts the points. */
int finding_judge(struct finding *finding, struct masks *masks, struct error **ret_error);
