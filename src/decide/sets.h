/* SPDX-License-Identifier: Apache-2.0 */
/* Named sets of hosts (`registry:python`, `forge:git`, `model:anthropic`): what belongs together,
 * so that one word or one yes covers it. Their hosts come from data/sets.yaml, which is built in,
 * from /etc/ward/sets.yaml and the user's own file, and from the configuration of the tools.
 *
 * There are two kinds of hosts. Those of a set are named by files that no command can write. What
 * lies in the workspace, or anywhere else that commands can write, only suggests: its hosts are
 * never part of a set by name. They may be shown in a question, each by its own name, and a yes is
 * kept as exactly those hosts.
 *
 * Nothing is read before one of these functions is called. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include <stdint.h>
#include <sys/types.h>

/* Where to look. Borrowed. All but uid may be NULL. */
struct sets_places {
	const char *workspace;	     /* absolute */
	const char *home;	     /* of whoever called ward: whose word counts */
	const char *config_home;     /* XDG_CONFIG_HOME of the same */
	const char *tools_home;	     /* where the tools look; NULL: home */
	const char *state;	     /* ward's own: the private /tmp of a session lies there */
	const char *system;	     /* NULL: /etc */
	char *const *environment;    /* of whoever called ward; ended by NULL */
	const struct list *writable; /* paths and patterns that commands can write besides */
	uid_t uid;		     /* whose word counts */
};

/* One of registry:, forge: or model: and a word. `registry:5000` is a host and its port. */
bool sets_is_name(const char *text);
/* Begins like a name of a set, whether or not it is one. */
bool sets_is_meant(const char *text);
/* That it is one, for what is meant as one; whether there is such a set is another question. */
int sets_check(const char *name, enum error_code code, struct error **ret_error);
/* Whether there is such a set; a faulty file says no. places NULL: what is built in. */
bool sets_is_known(const char *name, const struct sets_places *places);

/* The hosts of a set, as patterns of base/hosts.h, each once. An unknown name is E_USAGE and lists
 * the known ones, a faulty file E_POLICY with its place. */
int sets_expand(const char *name, const struct sets_places *places, struct list *hosts,
		struct error **ret_error);

/* The set that a target belongs to, or NULL; caller frees. program (a name or a path; may be NULL)
 * prefers a set that names it. hosts: those of the set; a yes to them may be kept as the set's
 * name. They stay empty where only the workspace says that the target belongs to it. suggested:
 * what the workspace adds, the target first; a question shows each, and a yes is kept as those
 * hosts. */
char *sets_of(const char *host, uint16_t port, const char *program,
	      const struct sets_places *places, struct list *hosts, struct list *suggested);

/* For showing: everything, with where it comes from. */
struct set_host {
	char *pattern;
	char *origin;	 /* "built in", "FILE:LINE", "FILE", "$VARIABLE" */
	bool configured; /* by a tool, not by a file about sets */
	bool suggested;
};
struct set {
	char *name, *description; /* the latter may be NULL */
	struct list programs;
	struct set_host *hosts;
	size_t count;
};
struct sets {
	struct set *items;
	size_t count;
};
/* The tools' configuration is read for the set `only`, or for all where that is NULL. */
int sets_load(const struct sets_places *places, const char *only, struct sets *ret_sets,
	      struct error **ret_error);
void sets_done(struct sets *sets);
#define _cleanup_sets_ _cleanup_(sets_done)

/* Whether the files of the machine and the user are fit for use; those that are are added to files.
 */
int sets_check_files(const struct sets_places *places, struct list *files,
		     struct error **ret_error);
/* One file by itself, whoever it belongs to. */
int sets_check_file(const char *path, struct error **ret_error);
/* The same as text; the file system is not touched. */
int sets_parse(const char *text, size_t length, const char *name, struct error **ret_error);
