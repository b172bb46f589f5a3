/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about control groups share. */
#pragma once

#include "cgroup.h"
#include "../base/buffer.h"
#include "../base/error.h"
#include <stdio.h>

/* cgroup_find.c: where our own groups lie. */
enum { HIERARCHIES = 24, GROUP_FILE = 4096 };

struct hierarchy {
	bool unified;	      /* version 2 */
	unsigned controllers; /* powers; of version 2 none are known before its files are read */
	char *mount, *path;   /* where it is mounted; the directory of the group we are in */
};

struct hierarchies {
	struct hierarchy items[HIERARCHIES];
	size_t count;
};

/* From the texts of /proc/self/mountinfo and /proc/self/cgroup. Lines that do not fit are passed
 * over: what is not found is not used. */
void hierarchies_parse(const char *mounts, const char *groups, struct hierarchies *ret);
void hierarchies_done(struct hierarchies *hierarchies);
/* The power behind a controller's name of that length; 0: none of ours. */
unsigned controller_named(const char *name, size_t length);

/* The group's directory in one hierarchy. */
struct part {
	bool unified;
	unsigned powers;
	int parent;    /* the directory it lies in; -1: somebody else removes it */
	int directory; /* itself */
	int procs;     /* cgroup.procs, open for writing */
	int freezer;   /* freezer.state or cgroup.freeze, open for both */
};
#define PART_NONE                         \
	(struct part)                     \
	{                                 \
		false, 0, -1, -1, -1, -1, \
	}

/* cgroup_files.c: single files of a group. All return 0 or -errno. */
int group_write(int directory, const char *file, const char *format, ...) _printf_(3, 4);
/* Into text, NUL-terminated. */
int group_read(int directory, const char *file, char text[static GROUP_FILE]);
/* Sets the limits that the part has powers for; a power whose file refuses is taken from it. */
void part_limit(struct part *part, const struct limits *limits);
void part_usage(const struct part *part, struct cgroup_usage *usage);
uint64_t part_memory(const struct part *part, uint64_t from);
uint64_t part_turned_away(const struct part *part);
int part_freeze(const struct part *part, bool frozen, uint64_t patience);
/* Sends SIGKILL to everything in it. name: the group's. */
void part_kill(int directory, const char *name);
void part_close(struct part *part);
/* Of a run whose share is bounded, where that of others is 100: what it may use it uses up in
 * bursts, on all CPUs, and others must not wait for that. */
enum { WEIGHT = 25 };
/* How many processes and threads may be there for so many processes. */
uint64_t tasks_for(uint64_t processes);
/* Of the share: a period of microseconds, and how much of it may be used. */
void quota_for(uint64_t millicpus, uint64_t *ret_quota, uint64_t *ret_period);

/* cgroup_sweep.c: names, and removing. */
enum { NAME_ROOM = 160 };
int group_name(const char *run, char ret_name[static NAME_ROOM]);
/* Thaws and ends what is inside, then removes it. 0 or -errno. */
int group_remove(int parent, const char *name);
/* Removes what killed runs left beside the group of this name. */
void groups_sweep(int parent, const char *own);

/* cgroup_scope.c: a scope of the user's systemd. */
/* The bus of this user, or NULL. Caller frees. */
char *scope_bus(void);
/* Asks for a scope with the process in it, and waits until it is there; *ret_path: of the group
 * below the hierarchy's mount, as /proc/PID/cgroup has it. 0 or -errno. */
int scope_start(const char *bus, const char *name, pid_t pid, const struct limits *limits,
		char **ret_path);
/* The message that asks; for tests. */
void scope_message(struct buffer *message, const char *name, pid_t pid,
		   const struct limits *limits);
/* What a message from the bus is: 1 the answer to the serial, 0 another message, -errno a refusal
 * or nonsense. *ret_length: how long it is, 0 where length is too short to know. */
int scope_answer(const uint8_t *data, size_t length, uint32_t serial, size_t *ret_length);
