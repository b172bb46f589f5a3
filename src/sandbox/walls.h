/* SPDX-License-Identifier: Apache-2.0 */
/* The walls a sandbox is made of, by name. */
#pragma once

#include "../base/list.h"

enum wall {
	WALL_USER_NAMESPACE,
	WALL_MOUNT_NAMESPACE,
	WALL_PID_NAMESPACE,
	WALL_IPC_NAMESPACE,
	WALL_UTS_NAMESPACE,
	WALL_NET_NAMESPACE,
	WALL_CGROUP_NAMESPACE,
	WALL_READ_ONLY, /* everything outside the writable paths */
	WALL_MASKS,	/* denied paths */
	WALL_DEVICES,	/* a minimal /dev */
	WALL_PROC,	/* a /proc of its own, its switches read-only */
	WALL_TMP,	/* a private /tmp */
	WALL_RUN,	/* /run and its sockets hidden */
	WALL_LANDLOCK,
	WALL_SECCOMP,
	WALL_NOTIFY, /* the supervisor sees calls that would leave the permissions */
	WALL_NO_NEW_PRIVILEGES,
	WALL_CAPABILITIES, /* all five sets empty */
	WALL_ENVIRONMENT,  /* scrubbed */
	WALL_DESCRIPTORS,  /* no stray fds, no host terminal, no fd on a host mount */
	WALL_INIT_HIDDEN,  /* pid 1 cannot be read or traced */
	WALL_GUARD,	   /* names that run programs outside cannot be made or changed */
	WALL_SEAL,	   /* a program that a rule could mean is checked once it is loaded */
	WALL_APPARMOR,	   /* the command is under a profile, where one was loaded; never lost */
	WALL_SELINUX,	   /* the same by a label, of a container that was given one */
	WALL_GVISOR, /* the command runs under a kernel that is a program: of runsc; never lost */
	WALL_COUNT,
};

#define WALL_BIT(wall) (1u << (wall))

const char *wall_name(enum wall wall);
/* Adds the names of the set to the list, in order. */
#define WALLS_ALL ((1u << WALL_COUNT) - 1)
void wall_names(unsigned set, struct list *names);
/* The set of those in the list that are names of walls. */
unsigned walls_named(const struct list *names);
/* The walls that may not be built in this process: none, except in the test program that shows that
 * an attack is real. */
unsigned walls_switched_off(void);

/* What the supervisor looks at before it does what was granted. No walls: nothing stands behind
 * them. */
enum check {
	CHECK_PERFORM, /* a granted call is done on what was looked at, and never goes on */
	CHECK_OBJECT,  /* the host has the same object at that name */
	CHECK_MOVES,   /* nothing is moved or linked to where more may be done to it */
	CHECK_NEVER,   /* what nobody can grant */
	CHECK_KINDS,   /* only files are handed in */
	CHECK_NAMES,   /* a name is no pattern */
	CHECK_HELD,    /* names that run programs are guarded in a granted tree, too */
	CHECK_PLACE,   /* the workspace is the directory that was asked about */
	CHECK_MODE,    /* an agent in safe mode is in it, whatever session it comes from */
	CHECK_FREEZE,  /* a run stands still as a whole */
	CHECK_REVOKE,  /* what an agent was granted ends when safe mode begins */
	CHECK_ONCE,    /* the same raises a score once */
	CHECK_WORDS,   /* tests are those of the policy, to the word */
	CHECK_BEARER,  /* a token is of one agent, workspace and command */
	CHECK_USES,    /* and for so many runs */
	CHECK_CLOCK,   /* a clock that is set back makes no time */
	CHECK_RECALL,  /* what was taken back is let go of */
	CHECK_EACH,    /* what a killed init does not get to is ended one by one */
	CHECK_SHARE,   /* of what the kernel counts for a user a run has a share */
	CHECK_COUNT,
};
#define CHECK_BIT(check) (1u << (check))
/* Those that are not made in this process: all are, with the same exception. */
unsigned checks_switched_off(void);
