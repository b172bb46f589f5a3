/* SPDX-License-Identifier: Apache-2.0 */
/* Which existing paths the rules about files mean, and what becomes of each: the most specific rule
 * that speaks of it or of something above it counts. */
#pragma once

#include "../base/access.h"
#include "../base/error.h"
#include "../base/list.h"
#include <sys/types.h>

struct search {
	const char *workspace;
	const struct file_rules *rules;
	const struct list *not_names; /* last components that no default rule means */
	const char *cache;	      /* where walks are remembered; NULL: nowhere */
	bool guards;		      /* names that run programs are held */
};

/* What is done to a path, in init. The letters stand in the letter. */
enum mask_kind {
	MASK_FILE = 'F',
	MASK_DIRECTORY = 'D',
	MASK_SHELL =
		'S',	 /* a denied directory in which something may be seen: only that is there */
	MASK_HOLD = 'R', /* read-only in what is writable */
	MASK_OPEN = 'O', /* readable, in a shell */
	MASK_WRITE = 'W',   /* writable, in a shell */
	MASK_RELEASE = 'L', /* writable, in what is held read-only */
	MASK_TEXT = 'T',    /* a file of which another text is seen */
};

/* A path as it really is (no symlink in it), and what lay there when it was found: init covers
 * that, or nothing. */
struct mask {
	char *path;
	enum mask_kind kind;
	dev_t device;
	ino_t inode;
	bool is_directory;
	bool layered;	 /* lies in a layer over a cache, which has inodes of its own */
	bool guard;	 /* holds names that run programs, or opens what lies beside them */
	char *text;	 /* MASK_TEXT: what is seen */
	unsigned number; /* of one that hides: under which it lies in the sandbox's store */
};

struct masks {
	struct mask *items; /* parents before what lies in them */
	size_t count, room;
	struct list writable;	  /* real paths that are writable; none lies below another */
	struct list shown;	  /* "DEVICE INODE PATH" of what of the host's /tmp is seen */
	struct areas areas;	  /* the same for whoever explains a refusal */
	struct list trees;	  /* what was named to be writable, one may lie below another */
	struct list repositories; /* git directories in them */
	bool guarded;		  /* all guarded names that are there are held */
};

/* Each of those that are opened in what is closed costs an fd while the sandbox is built. */
enum { OPENED_MOST = 400 };
/* Each text can be replaced while the command runs, and costs an fd as long. */
enum { TEXTS_MOST = 16 };

/* The path of an entry of masks.shown. */
const char *shown_path(const char *entry);

static inline bool mask_opens(char kind)
{
	return kind == MASK_OPEN || kind == MASK_WRITE || kind == MASK_RELEASE;
}

/* Those that lie in the store, numbered in their order. */
static inline bool mask_hides(const struct mask *mask)
{
	return mask->kind == MASK_FILE || mask->kind == MASK_DIRECTORY ||
	       mask->kind == MASK_SHELL || mask->kind == MASK_TEXT;
}

/* After the last of them was found, and before one is left out. */
void masks_number(struct masks *masks);

/* A workspace that cannot be walked in time is an error, not a hole. */
int find_masks(const struct search *search, struct masks *ret_masks, struct error **ret_error);
/* Takes ownership of the mask's texts. */
int masks_add(struct masks *masks, struct mask mask, struct error **ret_error);
void masks_done(struct masks *masks);
