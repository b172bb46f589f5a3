/* SPDX-License-Identifier: Apache-2.0 */
/* Putting ward into the settings of coding agents, and taking it out again: find the agents,
 * compute what a file would be, show that, write it. Each agent is a row of one table. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdbool.h>
#include <sys/types.h>

enum { SETUP_LIMIT = 1 << 20 }; /* bytes of a file of settings */

/* How an agent's hooks stand in its settings: "hooks", below it each event, below that a list. */
struct setup_shape {
	const char *const *events;
	const char *entry; /* JSON, with the command left empty */
	bool in_groups;	   /* an entry is a group with a matcher and a list of hooks */
	bool has_version;  /* "version": 1 belongs to the file */
	/* Switches of the agent that would keep its hooks from running: a path of keys, and "true"
	 * or "false"; the last is NULL. */
	const char *const (*off)[3];
};

struct setup_agent {
	const char *name, *title;
	const char *const *programs;	 /* by which it is known to be installed */
	const char *project;		 /* the file, below the project */
	const char *settings, *user;	 /* its directory below the home, and the file below that */
	const char *variable;		 /* that names another directory; or NULL */
	const char *instead;		 /* `settings` below that one: "" for itself */
	const struct setup_shape *shape; /* NULL: the file is a program of ward's */
	const char *note;		 /* what else a person has to know, or NULL */
};

extern const struct setup_agent setup_agents[];
extern const size_t setup_agent_count;

/* Where to look. All are absolute and resolved. */
struct setup_place {
	char *home, *project; /* owned */
	bool user;	      /* the user's settings, else the project's */
	char *command;	      /* owned; of a hook, for a shell */
	char *program;	      /* owned; ward, by its path or as "ward" */
	struct list bases;    /* what may be written lies below one of these */
};

/* From the environment, the current directory and the running program. */
int setup_find_place(struct setup_place *ret_place, struct error **ret_error);
void setup_place_done(struct setup_place *place);
const struct setup_agent *setup_agent_named(const char *name);
/* By what it was found: "claude in PATH", "~/.claude"; NULL where it is not there. Caller frees. */
char *setup_find_agent(const struct setup_agent *agent, const struct setup_place *place);
/* The file of its settings that is meant. Caller frees. */
char *setup_path(const struct setup_agent *agent, const struct setup_place *place);

/* What a file is to become. */
struct setup_change {
	char *path;	/* as it is called */
	char *target;	/* where it lies once links are followed */
	char *before;	/* NULL: it is not there */
	char *after;	/* NULL: it goes away */
	char *backup;	/* where what it was before ward is kept, or will be; or NULL */
	char *switched; /* what keeps hooks from running in it, for a sentence; or NULL */
	bool keeps;	/* what it was is kept as a backup */
	bool restored;	/* the backup goes, because the file is as it was */
	bool own;	/* ward's entry stands in it now */
};

/* Computes, writes nothing. before and after are the same where nothing is to be done. */
int setup_plan(const struct setup_agent *agent, const struct setup_place *place, bool removes,
	       struct setup_change *ret_change, struct error **ret_error);
/* The same for the project's policy: made where there is none, removed where it is as it was made.
 */
int setup_plan_policy(const struct setup_place *place, bool removes,
		      struct setup_change *ret_change, struct error **ret_error);
bool setup_changes(const struct setup_change *change);
/* Fails where the file is no longer what it was when the change was computed. */
int setup_write(const struct setup_place *place, const struct setup_change *change,
		struct error **ret_error);
void setup_change_done(struct setup_change *change);

/* --- setup_merge.c: settings as text ---------------------------------------------------------- */

/* Fails, with the place of the fault, where it is not JSON that could be changed. */
int setup_check(const char *text, size_t length, const char *file, struct error **ret_error);
/* The text with ward's entries; the same text where they are there. */
int setup_add(const struct setup_shape *shape, const char *text, const char *command,
	      char **ret_text, struct error **ret_error);
/* The text without them. What is empty then goes too, unless `original`, which may be NULL, had it;
 * *ret_text is NULL where nothing is left. */
int setup_remove(const struct setup_shape *shape, const char *text, const char *original,
		 char **ret_text, struct error **ret_error);
/* By its name: ward, or ward-1.2. */
bool setup_is_ward(const char *program);
bool setup_is_there(const struct setup_shape *shape, const char *text);
/* Both are JSON and mean the same. */
bool setup_same(const char *one, const char *other);
/* The name of a switch that is off, or NULL. Caller frees. */
char *setup_switched_off(const struct setup_shape *shape, const char *text);

/* --- setup_files.c: files of settings, safely ------------------------------------------------- */

struct setup_file {
	int directory;	     /* owned; -1 where it is not there */
	char *base, *target; /* owned; the target lies below the base, with links followed */
	char *text, *backup; /* owned; NULL where there is none */
	char *backup_name;   /* owned */
	mode_t mode;	     /* of the file */
	gid_t group;
};

/* makes: directories that are missing. */
int setup_open(const struct setup_place *place, const char *path, bool makes,
	       struct setup_file *ret_file, struct error **ret_error);
void setup_file_done(struct setup_file *file);
