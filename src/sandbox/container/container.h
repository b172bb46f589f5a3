/* SPDX-License-Identifier: Apache-2.0 */
/* The container level: the same permissions, carried out by an OCI runtime.
 *
 *   ward (supervisor)
 *     +-- engine: ward's own child, in a user and a mount namespace of its own. It makes the tree
 *     |   as for the restricted level, masks and writable parts included, makes the container's
 *     |   root of it, writes the bundle, and becomes the runtime; one that starts early it becomes
 *     |   before, and a child of its does the rest: see engine_split
 *     +---- runtime (crun, runc): namespaces, /proc, /dev, capabilities, seccomp
 *             +-- pid 1: ward again, which adds limits, Landlock and the filter that tells, hands
 *                 the supervisor what it needs, and starts the command
 *
 * All that the engine makes lies in memory that only its mount namespace has: when the last process
 * of a container is gone, however it went, nothing of it is left. */
#pragma once

#include "../sandbox.h"
#include "../stage.h"

/* The fds that the runtime hands on to pid 1, from the third on. All else comes by the first. */
enum contained_fd {
	CONTAINED_CONTROL = 3,
	CONTAINED_PROGRAM, /* ward itself */
	CONTAINED_END,
};

/* Where the engine keeps what the runtime works with. */
#define CONTAINER_ROOT	 "/run/rootfs"
#define CONTAINER_BUNDLE "/run/bundle"
#define CONTAINER_STATE	 "/run/state"

/* The file of a runtime by its name, as the system has it; NULL: there is none. Caller frees. */
char *container_find_runtime(const char *name);

/* Whether it is started before there is anything to run. */
bool runtime_starts_early(const char *runtime);
/* Whether it has nothing more to do when the container stands. */
bool runtime_is_done_early(const char *runtime);
/* Whether it takes the filter as a program beside the names of calls. */
bool runtime_takes_program(const char *runtime);
/* Whether it must be root inside. A plain user has one number, which is root's then: pid 1 makes
 * one more user namespace, in which it is its own again. */
bool runtime_is_root(const char *runtime);
/* Whether it has a kernel of its own. */
bool runtime_is_apart(const char *runtime);

/* The walls that the runtime builds, of those that are wanted. */
unsigned container_walls(const struct ground *ground);

/* Who the bundle says it is for, besides what the sandbox says. Borrowed, each may be NULL. */
struct bundle_labels {
	const char *run, *agent, *session;
	const char *apparmor, *selinux; /* asked for by name */
};
/* Whether this machine has what was asked for by name. */
int bundle_check(const struct bundle_labels *labels, struct error **ret_error);
/* The text of config.json; the caller frees. */
char *bundle_write(const struct ground *ground, const struct sandbox *sandbox,
		   const struct bundle_labels *labels);
/* The same for a runtime that has a kernel of its own; NULL where a word is no UTF-8, for which
 * JSON has no place. */
char *bundle_write_apart(const struct sandbox *sandbox, const struct bundle_labels *labels);

/* In the engine, before anything is masked: the directory that becomes the root, -1 where that is
 * the tree itself, -2 on failure. */
int engine_open_root(const struct sandbox *sandbox, struct failure *failure);
/* When tree and masks stand: the container's root, bundle and state. Closes root. */
int engine_prepare(const struct sandbox *sandbox, int root, struct failure *failure);
/* Tells the runtime that waits what to make. Closes config. */
int engine_tell(const struct sandbox *sandbox, int config, struct failure *failure);
/* The container's root out of a directory: a layer in memory over it, which alone is written for
 * places to mount on; and in it what the permissions show of the host, masks included. */
int root_assemble(const struct sandbox *sandbox, int root, struct failure *failure);
/* Clones what is mounted there later, before /run is covered. */
int root_collect(const struct sandbox *sandbox, bool whole, struct failure *failure);
/* Puts it in place below CONTAINER_ROOT. */
int root_attach(struct failure *failure);
/* The engine becomes the runtime. config: where that reads what to make, -1 for the bundle. Returns
 * only on failure. */
int engine_become(const char *runtime, int control, int program, int errors, int config,
		  struct failure *failure);

/* Where the runtime starts early, because a start is waited for: the engine becomes the runtime at
 * once, beside the supervisor's judgement, and waits for its configuration at the end of a pipe. A
 * child, which shares the table of fds with the supervisor, goes on building: the worker. Each of
 * the two ends with the other's failure: the supervisor watches both. */
struct engine_note {
	int worker; /* a pidfd */
	int program, errors, config;
};
/* Returns in the worker, which writes the configuration by *ret_config and closes it. Fills
 * report->errors. */
int engine_split(const char *runtime, int control, int *ret_config, struct build_report *report);
/* The same where the runtime has a kernel of its own (runsc): namespaces around it, and in them the
 * process that starts it, sees to its end and takes orders, as pid 1 does elsewhere. Returns only
 * on failure. */
int apart_become(const struct sandbox *sandbox, int control, int program, int errors,
		 struct failure *failure);
/* The walls that can stand then. */
unsigned apart_walls(void);
/* What the bundle has the runtime start: ward again, by a file of its own, which starts the command
 * inside and tells how it ended. */
#define APART_PLACE   "/run/.ward"
#define APART_PROGRAM APART_PLACE "/ward"
#define APART_TOLD    APART_PLACE "/told"
#define APART_END     APART_TOLD "/end"
struct apart_end {
	uint32_t begun, ended; /* inside; how the command did is known */
	int32_t exec_error, status;
};
/* Its words, before the candidates and the command. */
enum apart_word {
	APART_UID, /* of the command; 0: as the runtime made it */
	APART_GID,
	APART_SIGNALS,	  /* the mask that it starts with, in hexadecimal */
	APART_IGNORES,	  /* 1: SIGPIPE, 2: SIGCHLD */
	APART_KEYBOARD,	  /* 1: it has the terminal */
	APART_CANDIDATES, /* how many there are */
	APART_DIRECTORY,
	APART_WORDS,
};
_Noreturn void apart_inside(int count, char **words);
/* ward's own file, as it is seen in the tree that was made: read-only. */
int engine_open_program(void);

/* What pid 1 of a container needs besides: the letter, and the sandbox's fds. */
int container_send(int control, int letter, const struct sandbox *sandbox);
/* The other side of parcel_send. Fills *ret_report, whose fds are ours then, and who pid 1 is to
 * us, where it says so; 0 where it is gone. -1 where nothing came. */
int container_receive(int control, struct build_report *ret_report, int *ret_pidfd,
		      pid_t *ret_leader);
/* Pid 1 of a container has said who it is. ret_takes: we may take its fds, and have told it so. */
int container_meet(int control, int *ret_pidfd, pid_t *ret_leader, bool *ret_takes);
/* Its report then: the fds in it become ours. */
int container_take(int control, int pidfd, struct build_report *ret_report);
/* Hands it over. leader: a pidfd of who is pid 1. */
void parcel_send(int control, const struct build_report *report, int leader);
/* Pid 1 of a container, as it was started by the runtime. */
_Noreturn void container_inside(void);
