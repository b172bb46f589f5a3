/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this room share: the observer itself, the table of trapped calls, and how to
 * answer. */
#pragma once

#include "files/below.h"
#include "caller.h"
#include "face.h"
#include "files/hold.h"
#include "ledger.h"
#include "network/nameserver.h"
#include "observe.h"
#include "files/permits.h"
#include "files/reads.h"
#include "masks/renew.h"
#include "programs/seal.h"
#include "terms.h"
#include "network/resolver.h"
#include "../sys/place.h"
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* A connect that the supervisor makes for a caller that waits, or the open of a pipe nobody reads
 * yet.
 */
struct waiting {
	struct waiting *next;
	uint64_t id;
	int socket; /* our copy; -1 for an open */
	bool again; /* AF_UNIX with a full queue, and opens: to be tried again, else waiting for the
		       handshake */
	struct sockaddr_storage address;
	socklen_t length;
	int target;	/* O_PATH of a unix socket's inode or of the pipe, -1 */
	uint64_t flags; /* of the open */
	pid_t tid;
	uint64_t begun, give_up; /* monotonic; 0: never */
	uint64_t next_look;	 /* for signals */
};

struct bound {
	int fd; /* O_PATH: holds the inode, and with it its number */
	dev_t device;
	ino_t inode;
};

struct observer;
/* What is let through, for whoever follows the run. */
void witness_tell(const struct observer *observer, pid_t tid, const char *operation,
		  const char *object);
/* What was refused, before its caller hears of it; NULL: the ledger had no room for it. True if it
 * may. */
bool warden_agrees(const struct observer *observer, const struct denial *denial);

/* A caller that is bound to our processor while it calls again and again, see insert.c. */
enum { REALM = 32 };
struct tie {
	pid_t tid;	/* 0: nobody */
	bool never;	/* somebody inside has said who may run where: all of it is theirs to say */
	cpu_set_t home; /* where everybody may run */
	cpu_set_t places;  /* what was ours since we look: nobody stays bound to one of them */
	char realm[REALM]; /* the user namespace of the sandbox */
	long born;	   /* up to whom everybody was looked at */
	unsigned looks;	   /* how often, since the last one was let go */
	int timer;	   /* for the next; -1 until it is needed */
};

struct observer {
	const struct observed *observed;
	int epoll, timer;
	struct resolver *resolver;
	struct nameserver *nameserver;
	int names[NAME_SOCKETS]; /* its sockets */
	bool furnished;		 /* the network was, by us, and they are ours */
	unsigned furnishings;	 /* how often it was tried */
	bool shared;		 /* the sandbox has its share of what is counted for a user */
	struct ledger ledger;
	struct bound *bound; /* path sockets made inside: the only ones that may be connected to
				unasked */
	size_t bound_count;
	struct waiting *waiting;
	size_t waiting_count;
	struct probe *probes; /* connects of datagrams that were refused */
	size_t probe_count;
	struct asking *asking; /* calls that wait for an answer, the oldest first */
	size_t asking_count;
	uint64_t wishes; /* how many there were */
	struct wanted {
		char *key;
		uint64_t last; /* monotonic */
		bool answered;
	} wanted[WISHES_MOST]; /* what was asked for so far, each once */
	size_t wanted_count;
	unsigned asked;			    /* how often a person could have been asked */
	uint64_t asked_at[WISHES_A_SECOND]; /* and the last times */
	const char *silenced;		    /* why nothing more is asked for; NULL */
	const char *settling;		    /* the answer that a call is served again with; NULL */
	struct terms terms;		    /* what answers gave; and from it: */
	struct host_rules permitted;
	struct list permitted_sockets;
	struct permits permits;		   /* of files */
	struct never_places *never_places; /* where what nobody can grant lies */
	struct lent *lent;		   /* connections that may have to be taken back */
	size_t lent_count;
	uint64_t lents;	      /* how many there were */
	int lent_epoll;	      /* -1 until there is one */
	struct list granted;  /* wishes that were */
	bool shells;	      /* masked directories that show some of what they hold */
	struct copies copies; /* of files that were granted to be read */
	struct rlimit files;  /* that may be open at once, as it was before */
	struct dial *dials;   /* connections that are made outside */
	size_t dial_count;
	uint64_t dialled;	/* how many there were */
	int dial_timer;		/* -1 until it is needed */
	bool ticks;		/* it is set */
	struct winner *winners; /* addresses that answered; NULL until there is one */
	struct named *named;	/* names of what was connected to; NULL until there is one */
	struct lookup *lookup;
	struct relay *relay;
	struct renewed renewed;
	struct renewal *renewal;
	struct holding holding;
	struct seals seals;
	uint32_t last_caller;
	unsigned streak; /* how often in a row it was the same */
	bool together;	 /* it is waited for, and may share our processor */
	unsigned apart;	 /* how often they are not met on one for now, see insert.c */
	struct pace {
		uint64_t last;	     /* when the last call was; 0: none of these */
		unsigned calls;	     /* of the round */
		uint64_t took;	     /* all of them */
		uint64_t tied, best; /* rounds of who was tied: the last, the quickest; 0: none */
		bool apart;	     /* for now that is better */
		unsigned rounds;     /* for how long it was */
	} pace;			     /* of callers that make files */
	struct stay place;	     /* where we stay to meet them */
	struct tie tie;		     /* who stays with us */
	uint64_t unread;	     /* calls whose paths could not be read */
	uint64_t set_aside;	     /* bytes that fallocate was let go on with */
	uint64_t own_network; /* the supervisor's own, as SO_NETNS_COOKIE says it; 0: not asked yet
			       */
};

enum trap_kind {
	TRAP_OPEN,
	TRAP_MAKE, /* a name that must not exist yet */
	TRAP_SYMLINK,
	TRAP_REMOVE, /* a name that goes away */
	TRAP_RENAME,
	TRAP_LINK,
	TRAP_CUT,	   /* a file's length */
	TRAP_CHANGE,	   /* an existing object's mode, owner, times, attributes */
	TRAP_CHANGE_BY_FD, /* the same of what an fd is open on */
	TRAP_ACCESS,	   /* a question whether it could be written */
	TRAP_ALLOCATE,	   /* space without a write */
	TRAP_UMASK,	   /* what is made for the caller must have it */
	TRAP_SHARE,	   /* of something that the kernel counts for a user */
	TRAP_PLACE,	   /* on which processors somebody may run */
	TRAP_GO,	   /* to another working directory */
	TRAP_CONNECT,
	TRAP_BIND,
	TRAP_SEND,
	TRAP_MESSAGE, /* a send whose address lies in memory; of several the first counts */
	TRAP_LISTEN,
	TRAP_INTERFACE, /* a question about the interfaces of a socket's network */
	TRAP_SOCKET,	/* of the Internet: there must be none, or it is the first */
	TRAP_EXEC,	/* the start of a program */
	TRAP_PROCESS,	/* something done to another process, where all of the user's can be reached
			 */
};

/* Which argument plays which part; -1: none (a directory of -1 is the working directory). */
struct trap {
	int number;
	const char *name;
	enum trap_kind kind;
	int8_t directory, path, directory2, path2;
	int8_t flags;	/* open: the open flags, else AT_ flags */
	int8_t mode;	/* chmod: the new mode; access: what is asked */
	bool no_follow; /* the call itself never follows a link at the end */
};

/* Answers: exactly one of them for each notification. */
void answer(struct observer *observer, uint64_t id, int error);
void answer_continue(struct observer *observer, uint64_t id);
/* True while the caller still waits: what was read of it before was then its own. */
bool still_waiting(struct observer *observer, uint64_t id);
/* Records a denial by the caller of the notification, and answers it. */
void refuse(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	    const char *operation, const char *object, const char *rule, int error);

/* files/apart.c: a call that a runtime makes for a command under a kernel of its own. */
void serve_apart(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap);
/* Serves a call: hands it to those who know its kind. */
void serve_call(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap);

/* wish.c: lets the call wait until somebody has answered; false where nobody can. The texts of the
 * wish are copied. rule: what refuses it as long as there is none. */
bool wish_add(struct observer *observer, const struct seccomp_notif *call, const struct trap *trap,
	      const struct wish *wish, const char *rule);
/* Those whose callers are gone go away. */
void wish_sweep(struct observer *observer);
void wish_done(struct observer *observer);

/* True where the walls let a name be written: a writable tree, the sandbox's own devices, its own
 * processes. *ret_rule: the rule that takes it from what surrounds it; unchanged where none does.
 */
bool may_write(const struct observer *observer, const char *path, const char **ret_rule);

/* Whether ward's user could do it without ward: whoever is asked is asked for nothing else. */
bool possible_outside(const struct observer *observer, enum trap_kind kind, bool exists,
		      const struct stat *st, const char *path);

/* Where a call stands once it was judged. */
enum judgement {
	JUDGED_FREE,	 /* the walls let it */
	JUDGED_GRANTED,	 /* they do not, and a person did: it is performed in the host's view */
	JUDGED_ANSWERED, /* neither: it was refused, or waits for an answer */
};
enum judgement judge(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap, enum trap_kind kind, uint64_t flags, bool exists,
		     const struct stat *st, const char *path);
/* Refuses what a person could grant: it waits for the answer where one can be had. tree: a
 * directory, and what lies in it is meant, too. */
void refuse_file(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap, const char *operation, const char *path, bool tree,
		 const char *rule, int error);
/* True if something in the directory, or below, is denied or read-only: it must keep its place, for
 * denied is what lies there. */
bool holds_denied(const struct observer *observer, const char *path);
/* That, or the first of it; NULL: there is none. */
const struct area *area_held(const struct observer *observer, const char *path);
/* Refuses a call below a masked directory, always with EACCES: how it would have failed tells what
 * lies there. It waits for an answer where it could be done at all. */
void judge_hidden(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, enum trap_kind kind, uint64_t flags,
		  const char *operation, const struct hidden *hidden);
/* Puts an fd of ours into the caller's table as the call's result. -errno where it has no room:
 * then nothing was answered. Takes ownership. */
int answer_with_fd(struct observer *observer, uint64_t id, int fd, uint64_t flags);
/* The same in one step, after which we hold the file for a moment longer than the caller waits: for
 * regular files that nobody can execute. Saves the caller two changes of processes. */
int answer_with_data(struct observer *observer, const struct seccomp_notif *call, int fd,
		     uint64_t flags);
/* insert.c: puts an fd of ours into the caller's table under the number, in the place of what it
 * has there. 0 or -errno. */
int insert_fd(struct observer *observer, const struct seccomp_notif *call, int fd, int number,
	      bool close_on_exec);
/* Puts an fd of ours into the table of the caller as the call's result, in one step: it goes on
 * before we do. 0 or -errno, and then nothing was answered. */
int insert_and_send(struct observer *observer, const struct seccomp_notif *call, int fd,
		    uint64_t flags);
/* We are free to run anywhere again, and so is who was tied to us: before anything is done that
 * could have children. */
void insert_leave(struct observer *observer);
/* Somebody asks, or says (moves), where somebody may run. */
void insert_tell(struct observer *observer, bool moves);
/* True if the fd is ours. */
bool insert_serve(struct observer *observer, int fd);
/* An argument as an fd; `otherwise` where the call has none. */
int argument(const struct seccomp_notif *call, int index, int otherwise);

/* The mask of the caller, for as long as something is made for it. */
mode_t take_umask(const struct seccomp_notif *call);
extern const char rule_guarded[], rule_index[], rule_native[];
/* Why no link may come to lie at the path, NULL: it may. target: what it says, NULL where it was
 * there. */
const char *link_rule(struct observer *observer, const char *path, const char *target);
/* Why what has this mode may not be moved, or get a second name: a link, or a directory that holds
 * one, or that says where the files of a repository lie. */
const char *moved_rule(struct observer *observer, mode_t mode, const char *from, const char *to);
/* What a rename may do where one of its ends is guarded. 0: go on; 1: by a checked copy; -1:
 * refused. */
int judge_move(const struct observer *observer, const struct spot *from, enum guard source,
	       const struct spot *to, enum guard target, unsigned flags);
/* The name, about to be made, is one of two that make a directory a repository, and the other is
 * there. True if that may not be, and the call is answered. */
bool may_not_become_repository(struct observer *observer, const struct seccomp_notif *call,
			       const struct trap *trap, const char *path);
/* True if a file (not a directory) of that holder's name is a file like any other. */
bool is_no_holder(const char *name);

/* Calls that make, move or remove names. */
void serve_names_of_files(struct observer *observer, const struct seccomp_notif *call,
			  const struct trap *trap);
/* An open that could write, of what was found, performed. guard: what the path is. */
void perform_open(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, uint64_t flags, const struct found *found,
		  enum guard guard);
/* The same of a file that says where a repository lies: its draft is handed in. */
void perform_draft(struct observer *observer, const struct seccomp_notif *call, uint64_t flags,
		   bool existed, struct pointer *pointer);
/* The mode of what an open makes, for its caller. */
mode_t creation_mode(const struct seccomp_notif *call, const struct trap *trap);
/* A new file at a plain path on ordinary ground, looked up and made in one step; false: nothing was
 * done. */
bool perform_new(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap, uint64_t flags, const char *path);
/* True for a file of /proc by which a process is set up, and nothing else is. */
bool is_own_setting(const char *name);
/* Opens such a file of a process of the sandbox where all of /proc is read-only there; 0: it is
 * none, -errno. path: as seen in the sandbox. */
int open_setting(pid_t tid, const char *path, uint64_t flags);
/* The same of one of the caller's own fds, by a path such as /dev/stderr. */
void perform_reopen(struct observer *observer, const struct seccomp_notif *call, uint64_t flags,
		    int fd);

void serve_access(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap);
void serve_files(struct observer *observer, const struct seccomp_notif *call,
		 const struct trap *trap);
/* Performs fchmod, where mounts stand and decide; false: nothing was answered. */
bool change_mode_by_fd(struct observer *observer, const struct seccomp_notif *call);
/* Performs a change of mode, owner, times or attributes on the object, where the walls do not
 * decide it or a person granted it; false: they do, and nothing was answered. */
bool serve_change(struct observer *observer, const struct seccomp_notif *call, int fd,
		  bool granted);
/* False for a change that is granted only by starting again. */
bool change_is_given_in_place(int number);
/* truncate() of what was found, by an fd of it: behind mounts Landlock leaves that to us, so it
 * never goes on. */
void perform_cut(struct observer *observer, const struct seccomp_notif *call,
		 const struct found *found, int fd);
void serve_sockets(struct observer *observer, const struct seccomp_notif *call,
		   const struct trap *trap);
/* True if the socket is of the host's network while the sandbox has one of its own: then it was
 * handed in. */
bool is_host_socket(struct observer *observer, int fd);
/* Listening, and questions about interfaces. */
void serve_own_network(struct observer *observer, const struct seccomp_notif *call,
		       const struct trap *trap);
/* exec.c: the start of a program, where a rule could be about it. */
void serve_exec(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap);
/* shares.c: somebody is about to have some of what the kernel counts for a user. False: the
 * sandbox's share could not be taken now. */
bool shares_need(struct observer *observer);
void serve_share(struct observer *observer, const struct seccomp_notif *call);
void serve_processes(struct observer *observer, const struct seccomp_notif *call,
		     const struct trap *trap);
/* Tries to open a pipe for writing; false while nobody reads it, and nothing was answered. */
bool open_pipe(struct observer *observer, uint64_t id, int fd, uint64_t flags);
/* To be tried again until somebody does. False where too many wait. */
bool wait_for_reader(struct observer *observer, const struct seccomp_notif *call, int fd,
		     uint64_t flags);
/* Connects that wait: the handshake of one has come to its end, or it is time to try again. */
void serve_waiting(struct observer *observer);
void drop_waiting(struct observer *observer);
