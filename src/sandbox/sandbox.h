/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions turned into walls, and a command started behind them.
 *
 * sandbox_begin makes init (pid 1 of the sandbox), which builds what is the same for every command.
 * The caller meanwhile judges the request, finds out which paths must be masked, and tells init the
 * rest (sandbox_tell). Init finishes the walls and reports, while the caller records the run and
 * lets it go (sandbox_release); only then init starts the command. From there on init and the
 * caller talk over entry.control. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include "../request/request.h"
#include "../sys/place.h"
#include "filter.h"
#include "find.h"
#include "ladder.h"
#include "walls.h"
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <termios.h>

enum stdio_kind {
	STDIO_FD,	/* the fd given, an end of a pipe that ward made or an anonymous pipe */
	STDIO_TERMINAL, /* the sandbox's own pty */
	STDIO_NULL,	/* /dev/null as it is inside; for reading */
	STDIO_FILE,	/* a file opened anew inside, so that it lies on a read-only mount */
};

/* How much of a file may be copied for standard input where it cannot be opened anew. */
enum { INPUT_MOST = 256 << 20 };

/* Layers over caches in one sandbox. */
enum { CACHES_MOST = 32 };

struct stdio {
	enum stdio_kind kind;
	int fd;		  /* STDIO_FD; STDIO_FILE: the host's fd, to compare with */
	const char *path; /* STDIO_FILE */
};

/* What must be known before anything else is. */
struct ground {
	enum level level;
	enum network network;
	uid_t uid; /* the same inside and outside */
	gid_t gid;
	bool whole; /* with a user namespace or not at all: nothing is given up to do without */
	const char *runtime;	   /* of a container, where it is known; borrowed, may be NULL */
	const char *const *likely; /* paths that are probably to be hidden, with NULL at their end;
				      they live as long as init. NULL: nothing is known */
};

/* Everything is borrowed and must live until sandbox_release has returned. */
struct sandbox {
	const char *cwd;
	const char *workspace;	     /* seen in the sandbox's own /tmp, too; may be NULL */
	const struct list *writable; /* absolute, real paths, parents before children */
	const struct list *shown;    /* see struct masks */
	const char *tmp;	     /* the directory that becomes /tmp */
	const struct list *caches;   /* absolute, real paths that get a layer of their own */
	const char *cache_home;	     /* the directory that they lie in */
	const char *cache_slot;	     /* the directory that the layers are kept in */
	bool caches_read_only;	     /* the layers are seen, but nothing is written */
	int cache_lock;		     /* held by init as long as it lives, so that nobody else uses
					them; -1 none */
	const char *users, *groups;  /* /etc/passwd and /etc/group inside; "" or NULL: the host's */
	char *const *argv;
	char *const *environment;
	const struct list *candidates; /* the paths to try to execute, in order */
	struct stdio stdio[3];
	bool terminal;	      /* make a pty and let it be the controlling terminal */
	struct termios modes; /* the pty's, before anybody can set others */
	struct winsize window;
	bool foreground;      /* the command starts with the terminal, else it gets it on demand */
	sigset_t signal_mask; /* what the command starts with */
	bool ignores_pipe, ignores_child; /* SIGPIPE, SIGCHLD were ignored when ward was started */
	uint64_t time_ns;		  /* after which everything is ended; 0: never */
	uint64_t processes;		  /* RLIMIT_NPROC; 0: as it is */
	uint64_t own_processes; /* the same where the kernel counts those of the sandbox only */
	uint64_t file_size;	/* RLIMIT_FSIZE; 0: as it is */
	uint64_t cpu_seconds;	/* RLIMIT_CPU; 0: as it is */
	uint64_t files;		/* RLIMIT_NOFILE of the command; 0: as it is */
	uint64_t memory_files;	/* bytes that /dev/shm may hold; 0: as it is */
	bool trap_allocation;	/* fallocate is shown to the supervisor */
	bool trap_messages;	/* and sendmsg: datagrams may be allowed somewhere */
	bool trap_reads;	/* and opens for reading */
	bool trap_wishes;	/* and what else can wait for an answer: somebody can be asked */
	bool trap_programs;	/* and execve: a rule is about programs */
	unsigned require;	/* walls without which nothing is started */
	struct filter_changes filter;

	/* Of a container: */
	const char *runtime; /* the file of the OCI runtime */
	const char *bundle;  /* the text of its config.json */
	const char *apparmor,
		*selinux;   /* profile and label that it stands under; "" or NULL: none */
	const char *rootfs; /* a directory that becomes its root; "" or NULL: the host's tree */
	const struct list *mounts; /* TARGET=SOURCE, seen there read-only */
	uid_t returning_uid; /* who pid 1 becomes where the runtime made it root; 0: it is already
			      */
	gid_t returning_gid;
	bool apart; /* the runtime has a kernel of its own, in which nothing of ward's can stand */
	struct rung rung; /* for pid 1, filled by the engine; so are the layers that stand */
	uint64_t layers;
};

/* Files of the sandbox's store, open for writing: what is written to one is seen inside where its
 * mask lies. In the order of the masks of that kind. */
struct texts {
	size_t count;
	int fds[TEXTS_MOST];
};

/* Addresses of the loopback interface inside beside 127.0.0.1 and ::1, of the range that the
 * resolver gives its names from. For getaddrinfo with AI_ADDRCONFIG a machine that has no others
 * has none, and it finds no name. */
#define INNER_IPV4                \
	{                         \
		198, 19, 255, 254 \
	}
#define INNER_IPV6                                                                  \
	{                                                                           \
		0xfd, 0x77, 0x61, 0x72, 0x64, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0, 1 \
	}

/* The name server's sockets at port 53 of the inner loopback. The last two are not there where IPv6
 * is off. */
enum { NAMES_BY_UDP, NAMES_BY_TCP, NAMES_BY_UDP6, NAMES_BY_TCP6, NAME_SOCKETS };

/* Of the network that the caller is in, and has all capabilities over: loopback up with the inner
 * addresses, and these sockets. NULL, or what could not be started, with errno. */
const char *network_furnish(int ret_names[static NAME_SOCKETS]);
/* In the user namespace that the caller is in, and has all capabilities over: a ceiling for what
 * the kernel counts for a user, at a share of what all have. 0 or -errno. */
int shares_take(void);

/* What stands after set-up. All fds are the caller's, -1 for what was not made. */
struct entry {
	bool coming; /* init is being born: see sandbox_born */
	pid_t init;  /* our child: pid 1 of the sandbox, or a container's runtime as long as that is
			needed */
	int pidfd;
	pid_t leader;	  /* pid 1 of the sandbox, whoever made it */
	int leader_pidfd; /* of a container's; else -1 */
	int errors;	  /* what a container's runtime wrote */
	int worker;	  /* a pidfd of who builds a container beside its runtime */
	int runtime;	  /* a pidfd of a runtime that is needed no more, until it is reaped */
	int control;	  /* messages from and to init; its end of file ends the sandbox */
	int listener;	  /* seccomp notifications */
	int terminal;	  /* the pty's master */
	int names[NAME_SOCKETS];
	int network;	  /* its namespace, where that is still to be furnished */
	int mounts;	  /* its namespace of mounts, -1 where init holds it alone; an engine's */
	int inner_mounts; /* that of its container */
	int root;	  /* the sandbox's root directory, O_PATH */
	int input; /* the reopened standard input, to learn how far it was read; not of a pipe */
	int init_control;  /* init's end of control, until it has a table of fds of its own */
	bool told;	   /* init was, and has not been released */
	int letter;	   /* what it was told, where that is a file */
	struct stay place; /* where the supervisor stays while a command starts; see run.h */
	int self; /* a pidfd of the supervisor, for init to see whether it lives; until then as well
		   */
	unsigned walls;
	unsigned lost; /* walls that were wanted and that this machine does not give */
	int abi;       /* Landlock's; 0: none */
	struct texts texts;
	uint64_t caches; /* bit i: the layer over the sandbox's caches[i] stands */
};

/* First of all in a program that begins sandboxes. Where we are init of one that was begun before
 * (ahead.h) it does not return. likely: see struct ground. */
void sandbox_be_init(const char *const *likely);
int sandbox_begin(const struct ground *ground, struct entry *ret_entry, struct error **ret_error);
/* Init is there when this returns. Fails with ERESTART where it could not be born as it was begun:
 * begin again. */
int sandbox_born(struct entry *entry, struct error **ret_error);
/* Init is told what is wanted, and builds it. The command does not run before it is released. */
int sandbox_tell(const struct sandbox *sandbox, struct entry *entry, const struct masks *masks,
		 struct error **ret_error);
/* Fails with the stage and object that failed; init is gone then. An error whose errnum is ESTALE
 * means that something to be masked was moved between the search and the mask: search again; one
 * with ERESTART that this machine refuses a wall: begin again, and it is left out. */
int sandbox_release(const struct sandbox *sandbox, struct entry *entry, struct error **ret_error);
/* What a start kept is given up: our place, and who bore init. */
void entry_settle(struct entry *entry);
/* Whether this machine gives a layer over a cache, by making one of what lies in the directory:
 * lower, upper and work. 0 or -errno. */
int sandbox_try_layer(const char *directory);
/* When entry->runtime can be read: it has ended. */
void entry_reap_runtime(struct entry *entry);
/* Closes all of it, which ends whatever is left of the sandbox, and waits for that. */
void entry_done(struct entry *entry);
#define ENTRY_NONE                         \
	((struct entry){                   \
		.init = -1,                \
		.pidfd = -1,               \
		.leader = -1,              \
		.leader_pidfd = -1,        \
		.worker = -1,              \
		.runtime = -1,             \
		.errors = -1,              \
		.control = -1,             \
		.listener = -1,            \
		.terminal = -1,            \
		.names = {-1, -1, -1, -1}, \
		.network = -1,             \
		.mounts = -1,              \
		.inner_mounts = -1,        \
		.root = -1,                \
		.input = -1,               \
		.init_control = -1,        \
		.letter = -1,              \
		.self = -1,                \
	})

/* What init sends on entry.control, one datagram each: the command was stopped, or it has ended, or
 * what was asked for. */
struct init_event {
	bool held;	/* it runs, and from here on stops are the supervisor's: INIT_PAUSE */
	bool interim;	/* it runs, and this is what those that were reaped have used so far */
	int stopped;	/* the signal that stopped it; 0: it has ended, and the rest holds */
	bool alone;	/* nothing that it started is left */
	int exec_error; /* errno where the command could not be executed */
	bool unmade;	/* its runtime did not get as far as starting it */
	int status;	/* as wait gives it */
	double cpu_ms;	/* of all that were reaped; so are the others */
	uint64_t max_rss_kb, read_bytes, written_bytes;
	uint64_t tasks; /* processes and threads that were started */
};

/* How init says which of the candidates it is about to execute, in the fourth argument of execve:
 * its place in the list; where it has no first line of its own, by the shell, as "sh CANDIDATE
 * ...". */
#define SHELL_OF_SCRIPTS "/bin/sh"
enum { INIT_BY_SHELL = 1 << 16, INIT_CANDIDATE = INIT_BY_SHELL - 1 };

enum init_order_kind {
	INIT_SIGNAL = 1, /* value: a signal for the command's process group */
	INIT_FOREGROUND, /* give the command the terminal and let it go on */
	INIT_BACKGROUND, /* take the terminal from it */
	INIT_CONTINUE,	 /* let it go on as it is */
	INIT_COUNT,	 /* tell what was used so far */
	INIT_PAUSE,	 /* the time stands still until; value 1: who stops meanwhile was stopped by
			    the supervisor, which waits to hear that we know */
	INIT_RESUME,
	INIT_START, /* before all others: nothing stands in the way of the command */
};

struct init_order {
	enum init_order_kind kind;
	int value;
};
