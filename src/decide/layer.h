/* SPDX-License-Identifier: Apache-2.0 */
/* One policy file, checked and taken apart into single settings that know their place: laying files
 * over each other then is a walk over settings, and what is refused can be named. */
#pragma once

#include "pattern.h"
#include "policy.h"
#include "sets.h"

enum setting_kind {
	SET_APPROVAL,
	SET_WAIT,
	SET_LEVEL,
	SET_NETWORK,
	SET_CACHES,
	SET_ESCALATION,
	SET_READ,
	SET_WRITE,
	SET_READ_ONLY,
	SET_MAKE,
	SET_DENY,
	SET_ALLOW_HOST,
	SET_DENY_HOST,
	SET_PUBLISH,
	SET_SOCKET,
	SET_KEEP_ENV,
	SET_SET_ENV,
	SET_CONTAINER,
	SET_REQUIRE,
	SET_TRACE_READS,
	SET_ALLOW_CALL,
	SET_DENY_CALL,
	SET_MEMORY,
	SET_CPU,
	SET_CPU_TIME,
	SET_PROCESSES,
	SET_DISK,
	SET_OUTPUT,
	SET_TIME,
	SET_IDLE,
	SET_FILES,
	SET_PROFILE,	  /* there is a profile of that name */
	SET_ON_VIOLATION, /* no flag says it: it is about agents, and these have no flags */
	SET_TRUST_AGENT,
	SET_TIER_LOW, /* in the order of enum tier */
	SET_TIER_MEDIUM,
	SET_TIER_HIGH,
	SET_TIER_CRITICAL,
	SET_OBJECTION,
	SET_ANSWER,
	WHEN_AGENT, /* no settings: lists of conditions */
	WHEN_SESSION,
	WHEN_TOOL,
	WHEN_DIRECTORY,
	WHEN_ENVIRONMENT,
	WHEN_CATEGORY,
	ROUTE_APPROVERS, /* names with lists */
	ROUTE_PEOPLE,
	ROUTE_OWNERS,
	ROUTE_ENVIRONMENTS,
	ROUTE_FROM, /* groups of a step */
	ROUTE_THEN,
	POINT_TASK, /* in the order of enum trust_kind */
	POINT_TESTS,
	POINT_ASKED,
	POINT_VIOLATION,
	POINT_OVERRIDE,
};

enum { INCLUDE_LIMIT = 32 };

struct setting {
	enum setting_kind kind;
	char *profile; /* NULL: the section `sandbox` */
	char *text;
	uint64_t number; /* what text means, where it means a number or one of a few words */
	int line, column;
};

struct layer {
	char *file;
	bool trusted;
	bool built_in; /* no file of anybody's */
	struct setting *settings;
	size_t count, room;
	struct rule *rules;
	size_t rule_count, rule_room;
	struct caller_rule *callers;
	size_t caller_count;
	struct listener_rule *listeners;
	size_t listener_count;
	struct routing routing;
	struct assessor assessor;
	struct notify notify;
	struct trust_rules trust;
	int notify_line;    /* 0: it says nothing of that */
	bool names_callers; /* the system's file, or the user's */
	bool of_system;	    /* the system's */
	struct rule_set *sets;
	size_t set_count;
	struct list includes; /* as they are written */
	int include_lines[INCLUDE_LIMIT];
	struct list warnings;
};

/* home stands for ~ in the rules' examples; may be NULL. */
int layer_parse(const char *text, size_t length, const char *name, const struct list *walls,
		const char *home, struct layer **ret_layer, struct error **ret_error);
void layer_free(struct layer *layer);
void rule_done(struct rule *rule);
void rule_set_done(struct rule_set *set);
void caller_rule_done(struct caller_rule *rule);
void listener_rule_done(struct listener_rule *rule);
void assessor_done(struct assessor *assessor);
/* Whether the rule matches, as strictly as its kind wants. */
bool rule_matches(const struct rule *rule, const struct command *command, size_t first,
		  const char *home);

/* Checks one value; *ret_number is set for kinds that have one. Errors have no place yet. */
int value_check(enum setting_kind kind, const char *text, const struct list *walls,
		uint64_t *ret_number, struct error **ret_error);
int value_check_permission(const char *text, struct error **ret_error);
bool value_is_variable(const char *name);
/* "sandbox.limits.memory" as people write it; for profiles without the "sandbox.". */
const char *setting_name(enum setting_kind kind);

/* Names of sets of hosts that there are not: a warning, or where one is denied an error. places
 * NULL: what is built in. */
int lint_sets(struct layer *layer, const struct sets_places *places, struct error **ret_error);
/* What is odd about the rules as they came to lie together; the index is made. */
void lint_rules(struct policy *policy);
/* Permissions of a rule that the sandbox denies. */
void lint_permissions(struct policy *policy, const struct rule *rule);

/* A look at a place in the file system, kept to notice that it changed. */
struct stamp {
	char *path;
	bool follow; /* symbolic links */
	bool exists;
	bool is_trust; /* the list of what is trusted, no policy file */
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

enum place { PLACE_SYSTEM, PLACE_USER, PLACE_PROJECT, PLACE_EXTRA, PLACE_SESSION };
/* 1 with the text, 0 where there is no file, or an error. *ret_stamp is filled in the first two
 * cases. *ret_trusted says whether the file's word counts in full by what it is and where it lies;
 * for the project it is always false. */
int place_read(const struct policy_places *places, enum place place, bool included,
	       const char *path, struct stamp *ret_stamp, bool *ret_trusted, char **ret_text,
	       size_t *ret_length, struct error **ret_error);
bool stamp_is_same(const struct stamp *one, const struct stamp *other);
bool stamp_is_current(const struct stamp *stamp);

/* The hashes of the project files that are believed, with their directories. */
int trust_look(const char *state, uid_t uid, const char *directory, const char *text, size_t length,
	       struct stamp *ret_stamp, bool *ret_trusted, struct error **ret_error);

#define PROJECT_FILE ".ward.yaml"
