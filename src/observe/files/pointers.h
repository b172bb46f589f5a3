/* SPDX-License-Identifier: Apache-2.0 */
/* Files that say where a repository lies: `.git` where that is a file, and `commondir`.
 *
 * Whoever uses git there goes where they say, and runs what is named there. What they say comes by
 * writes that nobody shows us, after the file was made. So a command that makes one writes a
 * *draft*: a file in memory that is mounted over the name in the sandbox. The file itself stays
 * empty, and gets what the draft says by our hand once that was found to lead to a repository that
 * is guarded: when somebody inside has closed the draft, and in the end. So it is with one that was
 * there and is written again.
 *
 * Where nobody can go into the sandbox to mount anything the command has the file itself, which is
 * looked at in the end only. */
#pragma once

#include "../../base/list.h"
#include "../masks/cover.h"
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

struct observer;
struct found;

struct pointer {
	bool was_there; /* before the command wrote it */
	int parent;
	char name[NAME_MAX + 1];
	char *path;	    /* as it was when it was made: for a person */
	struct thing file;  /* itself */
	int draft;	    /* for reading; -1: there is none */
	struct thing shown; /* the draft */
	int watch;	    /* on it; -1: none */
	mode_t mode;	    /* that was asked for */
	char *text;	    /* that was put into the file */
	size_t length;
};

struct pointers {
	struct pointer *items;
	size_t count;
	int watch;	     /* on the drafts; -1 where there is none yet */
	bool none;	     /* nobody can go in: there are no drafts */
	struct covering way; /* in; its namespaces are -1 as long as it is not known */
};

void pointers_begin(struct pointers *pointers);
void pointers_done(struct pointers *pointers);
/* What was found is one of these, the file itself or what is shown in its place; else NULL. Lent
 * until the next one is made. */
struct pointer *pointer_find(const struct observer *observer, const struct stat *st);
/* Remembers one that is about to be made in this directory. With a draft it is made by then, and
 * the draft stands over it. 0 or -errno. */
int pointer_make(struct observer *observer, const struct found *found, int parent, mode_t mode,
		 struct pointer **ret_pointer);
/* The same for one that is there: the draft says what it says. -EACCES where there are no drafts.
 */
int pointer_adopt(struct observer *observer, const struct found *found, int parent,
		  struct pointer **ret_pointer);
bool pointers_have_drafts(const struct observer *observer);
/* Removes one that was just made with a draft. */
void pointer_unmake(struct observer *observer, struct pointer *pointer);
/* True if the fd is ours: drafts were closed, and are looked at. */
bool pointers_serve(struct observer *observer, int fd);
/* After the command has ended: what leads elsewhere goes to quarantine. */
void pointers_end(struct observer *observer);
