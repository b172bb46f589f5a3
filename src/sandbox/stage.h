/* SPDX-License-Identifier: Apache-2.0 */
/* The stages in which init builds the sandbox, in the order in which they happen. They run in a
 * child that must not allocate; a failure comes back as a fixed-size value. */
#pragma once

#include "ladder.h"
#include "sandbox.h"
#include <limits.h>

/* Where the sandbox keeps what ward makes for it: devices, masks, names. Nobody can enter it. */
#define STORE "/run/.ward"

struct failure {
	int errnum;
	unsigned missing; /* the walls that this machine refuses, where that is why */
	char stage[32];
	char object[256];
};

/* Fills *failure from errno and returns -1, so that a stage can return it in one line. */
int stage_fail(struct failure *failure, const char *stage, const char *object);

/* The command will stand under AppArmor's profile for it, which is loaded and enforced; false where
 * there is none, which is no loss: the administrator has not asked for it. */
#define APPARMOR_PROFILE "ward-restricted"
bool stage_apparmor(void);
/* We stand under that profile from here on, and cannot leave it. */
int stage_enter_profile(const char *profile, struct failure *failure);
/* Whether we stand under exactly that profile, enforced, or label; attribute: the file in
 * /proc/self/attr that says it. */
bool stage_stands_under(const char *attribute, const char *label);
/* One number of a user namespace, and what it is in the one around it. */
struct map {
	unsigned inside, outside;
};
/* In a user namespace that has no maps yet. */
int stage_maps(struct map user, struct map group, struct failure *failure);
/* Who the command is, or the engine of a container. */
int stage_identity(const struct ground *ground, struct failure *failure);
/* Gives a mount these attributes, read-only among them. Our table of fds is the supervisor's as
 * well: whoever that forks has copies of what is in it, of a file that is being written here, too
 * (in /proc, or of ours), and until they are closed its mount cannot be. That is waited for. */
int stage_close(const char *path, unsigned how, uint64_t attributes);
/* The tree read-only; /run, /dev and /proc the sandbox's own. Walls that could not be built but are
 * not vital are taken from *rung. */
int stage_tree(const struct ground *ground, struct rung *rung, struct failure *failure);
/* The sandbox's own names of hosts, users and groups; where /run is its own. */
int stage_names(unsigned walls, struct failure *failure);
/* What is probably to be hidden is hidden. Where that fails it has to be done later. */
void stage_foresee(const struct ground *ground, unsigned walls);
/* Of that: what lies there is meant; what was not meant is uncovered; the mask of this path stands.
 */
void foreseen_mean(const char *path, bool is_directory, dev_t device, ino_t inode);
int foreseen_settle(struct failure *failure);
bool foreseen_stands(const char *path);
/* Where in the store such a mask lies, which has no number. */
enum { FORESEEN_SOURCE = sizeof(STORE) + NAME_MAX + 1 };
void foreseen_source(const char *path, char source[static FORESEEN_SOURCE]);
/* Mounts what lies at source, in the store, while more is made there. target: an fd, and path: "";
 * or AT_FDCWD and a path whose links are followed. */
int stage_cover_early(const char *source, int target, const char *path);

/* True where the supervisor can enter the sandbox later: the network is furnished when somebody
 * first makes a socket of it, shares are taken when somebody first wants some. */
bool stage_enters_later(unsigned walls);

enum { WRITABLE_MOST = 256 };

/* A writable path, held by fd from the moment it was looked at. */
struct writable_tree {
	int target; /* the path itself, O_PATH */
	int tree;   /* the root of the mount over it */
};

/* The workspace's own layers over caches. */
struct cache_trees {
	uint64_t standing;	/* bit i: that over sandbox->caches[i] */
	int trees[CACHES_MOST]; /* the root of each, -1 where there is none */
};

/* Of what was foreseen only those masks are left that are among these, as stage_masks takes them.
 */
int stage_settle(unsigned walls, const char *text, size_t length, struct failure *failure);
/* A directory of this user's, where no link leads: ward's own, made for the sandbox. */
int stage_open_own(const char *path);
/* What stays writable, /tmp, and the layers. trees: one for each of sandbox->writable, filled. */
int stage_writable(const struct sandbox *sandbox, unsigned walls, struct writable_tree *trees,
		   struct cache_trees *caches, struct failure *failure);
/* Puts as many layers in place as the kernel gives; those that stand. */
uint64_t stage_caches(const struct sandbox *sandbox, unsigned walls, int trees[static CACHES_MOST]);
/* /run hidden, names of its own, and the masks: text holds NUL-terminated records "Kd DEVICE INODE
 * PATH", in the order in which they are done. K: one of enum mask_kind, or P for a directory that
 * must not be renamed; d: d for a directory, - otherwise. The text of a MASK_TEXT follows its
 * record, with a NUL at its end. caches: the layers that stand. *texts: filled with what the texts
 * can be replaced by. */
int stage_masks(const struct sandbox *sandbox, unsigned walls, uint64_t caches, const char *text,
		size_t length, struct texts *texts, struct failure *failure);
/* Which Landlock there is; the wall is lost where there is none. */
void stage_ask_landlock(struct rung *rung);
/* Landlock from inside the finished tree, behind the filter. */
struct landlock_ground {
	const struct sandbox *sandbox;
	const struct rung *rung;
	const struct writable_tree *trees;
	const struct cache_trees *caches;
	const char *records, *records_end; /* where no mounts stand: what is allowed, see allow.h */
	int terminal;			   /* the pty's master, -1 none */
	bool no_network;		   /* TCP is refused */
};
int stage_landlock(const struct landlock_ground *ground, struct failure *failure);
/* In the command, where there is no pid namespace: a domain below init's, from which init cannot be
 * signalled or traced. 0, or -1 with errno. */
int landlock_leave_init(int abi);
/* Resource limits of the command. */
int stage_limits(const struct sandbox *sandbox, unsigned walls, struct failure *failure);
/* No capability can come back by exec. Takes nothing from init itself, and so comes while it has to
 * wait anyway. */
int stage_bounding_set(unsigned walls, struct failure *failure);
/* no_new_privs, empty capability sets, locked securebits. */
int stage_privileges(unsigned walls, struct failure *failure);
/* What it reads of its children later; -1 where there is nothing. */
int stage_open_tasks(const struct rung *rung);
/* The filter as most commands have it, to be taken where nothing else turns out to be wanted. */
void stage_prepare_filter(const struct rung *rung, bool no_network);
/* The filter. pass: what init shows to be let signal; see filter.h. Where there is no
 * notification to be had it is taken from *rung. */
int stage_filter(const struct sandbox *sandbox, struct rung *rung, bool no_network,
		 const uint32_t pass[static 4], int *ret_listener, struct failure *failure);

/* Stages that are not calls: nothing is left to stand on; the policy wants more than there is. */
#define FAILED_FLOOR   "without a floor"
#define FAILED_REQUIRE "standing without"

/* What init says when the walls stand, or which stage failed. */
struct build_report {
	struct failure failure; /* errnum 0: none */
	struct rung rung;
	int listener, terminal, names[NAME_SOCKETS], network, mounts, input, root, tasks;
	struct texts texts;
	uint64_t caches;
	int program, errors; /* an engine's own */
};

/* What is the same whoever made the namespaces and the tree: terminal, input, limits, Landlock,
 * privileges, filter. Fills *report. */
struct finish {
	const struct sandbox *sandbox;
	struct writable_tree *trees; /* closed when they are known to Landlock, as are the caches */
	struct cache_trees *caches;
	const char *records, *records_end;
	const uint32_t *pass; /* four words, see filter.h */
	bool no_network;
};
int stage_finish(const struct finish *finish, struct build_report *report);
/* Of these the terminal and the input alone: into report->terminal and report->input. */
int stage_streams(const struct sandbox *sandbox, unsigned walls, struct build_report *report);
/* From here on the table of fds is our own. Closes every fd but these (-1 entries are skipped);
 * what the supervisor needs is in its table already. */
int stage_leave_table(unsigned walls, int *fds, size_t count, struct failure *failure);

/* Of a command that runs under a kernel of its own: what is started here is the runtime, which
 * takes no signal for it and says little of its end. */
struct keeper {
	char *const *deliver; /* the runtime's words to send a signal; the last is its number */
	char *number;	      /* in them, room for three characters */
	int end;	      /* what was told from inside: struct apart_end */
};

/* Pid 1 from here on: starts the command and serves it until it ends. */
struct init_fds {
	int control;		     /* to the supervisor */
	int master, input;	     /* the pty's, the reopened standard input; -1 none */
	int tasks;		     /* what /proc says of its children; -1 none */
	const struct keeper *keeper; /* NULL: the command is our own child */
};
/* Executes the first of the candidates that can be; the errno of the attempt that says most. */
int init_execute(const struct sandbox *sandbox);
_Noreturn void init_main(const struct sandbox *sandbox, const struct rung *rung,
			 const uint32_t pass[static 4], const struct init_fds *fds);

/* What init is told when the request is judged: the sandbox and its masks, behind this. */
enum { LETTER_SHORT = 16 << 10 };
struct note {
	int fd, init; /* the letter, where it is a file of memory; and a pidfd of its reader */
	uint64_t length;
};

/* *ret_fd: the file, which the caller closes; -1 where there is none. lost: where there are no
 * mounts, what Landlock is to allow stands in the letter instead of the masks, and TMPDIR is set.
 */
int letter_send(int control, int init, const struct sandbox *sandbox, const struct masks *masks,
		unsigned lost, int *ret_fd, struct error **ret_error);
/* In a container's engine, for pid 1: what stands, and the layers over caches. 0 or -1. */
int letter_note(int fd, const struct rung *rung, uint64_t layers);
/* In init: what *ret_sandbox points to lives as long as it. *ret_masks: as stage_masks takes it.
 * Does not return where no letter comes. */
int letter_receive(int control, struct note *ret_note, struct sandbox *ret_sandbox,
		   const char **ret_masks, size_t *ret_masks_length);
/* In pid 1 of a container, from the file. */
int letter_read(int fd, uint64_t length, struct sandbox *ret_sandbox, const char **ret_masks,
		size_t *ret_masks_length);
