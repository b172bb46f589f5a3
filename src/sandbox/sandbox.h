/* SPDX-License-Identifier: Apache-2.0 */
/* Permissions turned into walls, and a command started behind them.
 *
 * sandbox_start makes init (pid 1 of the sandbox), which builds what it can alone. The caller
 * meanwhile finds out which paths must be masked and records the run; sandbox_release hands the
 * masks over. Init finishes the walls, reports, and only then starts the command. From there on
 * init and the caller talk over entry.control. */
#pragma once

#include "../base/error.h"
#include "../base/list.h"
#include "../request/request.h"
#include "walls.h"
#include <signal.h>
#include <sys/types.h>

enum stdio_kind {
	STDIO_FD,	/* the fd given, an end of a pipe that ward made or an anonymous pipe */
	STDIO_TERMINAL, /* the sandbox's own pty */
	STDIO_NULL,	/* /dev/null as it is inside */
	STDIO_FILE,	/* a file opened anew inside, so that it lies on a read-only mount */
};

struct stdio {
	enum stdio_kind kind;
	int fd;		  /* STDIO_FD; STDIO_FILE: the host's fd, to compare with */
	const char *path; /* STDIO_FILE */
};

/* Everything is borrowed and must live until sandbox_release has returned. */
struct sandbox {
	enum level level; /* none or restricted */
	enum network network;
	uid_t uid; /* the same inside and outside */
	gid_t gid;
	const char *cwd;
	const struct list *writable; /* absolute, real paths, parents before children */
	const char *tmp;	     /* the directory that becomes /tmp */
	char *const *argv;
	char *const *environment;
	const struct list *candidates; /* the paths to try to execute, in order */
	struct stdio stdio[3];
	bool terminal;	 /* make a pty and let it be the controlling terminal */
	bool foreground; /* the command starts with the terminal, else it gets it on demand */
	const sigset_t *signal_mask; /* what the command starts with */
	bool ignores_pipe;	     /* SIGPIPE was ignored when ward was started */
	uint64_t processes;	     /* RLIMIT_NPROC; 0: as it is */
	uint64_t file_size;	     /* RLIMIT_FSIZE; 0: as it is */
	uint64_t cpu_seconds;	     /* RLIMIT_CPU; 0: as it is */
};

/* What stands after set-up. All fds are the caller's, -1 for what was not made. */
struct entry {
	pid_t init;
	int pidfd;
	int control;  /* orders to init, and what it has to say meanwhile; its end of file ends the
			 sandbox */
	int end;      /* init's last word, to be read when it is gone */
	int listener; /* seccomp notifications */
	int terminal; /* the pty's master */
	int names;    /* the resolver's UDP socket, bound to port 53 of the inner loopback */
	int root;     /* the sandbox's root directory, O_PATH */
	int input; /* the reopened standard input, to learn how far it was read; STDIO_FILE only */
	int inits[2]; /* init's ends of control and end, until it has a table of fds of its own */
	unsigned walls;
};

int sandbox_start(const struct sandbox *sandbox, struct entry *ret_entry, struct error **ret_error);
/* masks: absolute, real paths of files and directories. Fails with the stage and object that
 * failed; init is gone then. */
int sandbox_release(struct entry *entry, const struct list *masks, struct error **ret_error);
void entry_done(struct entry *entry);

/* What init sends on entry.control: the signal that stopped the command, as an int. And its last
 * word on entry.end. The latter is a pipe of its own that nobody waits on, so that the end of a
 * command wakes the supervisor once, not twice. */
struct init_end {
	int exec_error;		    /* errno where the command could not be executed */
	int status;		    /* as wait gives it */
	uint64_t io_read, io_write; /* bytes */
	uint64_t tasks;		    /* processes and threads that were started */
};

enum init_order_kind {
	INIT_SIGNAL = 1, /* value: a signal for the command's process group */
	INIT_FOREGROUND, /* give the command the terminal and let it go on */
	INIT_BACKGROUND, /* take the terminal from it */
	INIT_CONTINUE,	 /* let it go on as it is */
};

struct init_order {
	enum init_order_kind kind;
	int value;
};
