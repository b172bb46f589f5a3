/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's eye: every call that would leave the permissions is shown to it by the kernel,
 * and it knows exactly what was refused. It lets a call go on only where the walls alone decide;
 * what it grants it performs itself, on its own copy of the arguments, because the caller can
 * rewrite its memory after the check. */
#pragma once

#include "../base/access.h"
#include "../base/error.h"
#include "../base/given.h"
#include "../base/hosts.h"
#include "../base/list.h"
#include "network/publish.h"
#include "files/permits.h"
#include "../request/result.h"
#include "../sandbox/sandbox.h"
#include <stdbool.h>

struct observer;

/* A program that is being started. */
struct started {
	const char *path;	 /* as the call names it */
	const char *real;	 /* the file itself, as it is seen in the sandbox */
	const struct list *argv; /* at least one word */
	const char *text;	 /* all of it as shell text, the file first: what a yes is to */
	const char *directory;	 /* that it is started in; NULL: not known */
};

enum program_word {
	PROGRAM_FREE,  /* no rule is about it */
	PROGRAM_GIVEN, /* a rule is, and somebody has said yes */
	PROGRAM_ASK,
	PROGRAM_DENY,
};

/* Rules about programs: what judges them, and what init will start, whose memory nobody reads. */
struct programs {
	/* *ret_rule: the rule in words; unchanged where there is none. */
	enum program_word (*judge)(void *data, const struct started *started,
				   const char **ret_rule);
	void *data;
	const struct list *candidates, *argv;
	const char *directory; /* that init starts it in */
	bool sealed;	       /* what is loaded is checked */
};

/* The answers that are remembered, and that somebody may take back while the command runs. */
struct answers {
	bool (*changed)(void *data); /* since it was asked last; NULL: they never do */
	bool (*holds)(void *data, const char *grant);
	void *data;
};

/* Who is told of what is let through: files that are opened or changed, by their real paths,
 * targets that are connected to, programs that are started; as far as calls are shown to the
 * observer. */
struct witness {
	void (*saw)(void *data, const char *program, pid_t pid, const char *operation,
		    const char *object);
	void *data;
};

/* Who is told of a refusal before its caller is: what is to stand still then does not get one more
 * step. False: its caller is not to hear of it, because it is being ended. */
struct warden {
	bool (*refused)(void *data, const struct denial *denial);
	void *data;
};

/* Borrowed; must outlive the observer. */
struct observed {
	const struct warden *warden;   /* NULL: nobody */
	const struct witness *witness; /* NULL: nobody; may be set while it runs */
	int listener;		       /* seccomp notifications */
	const int *names;	       /* the name server's sockets, NAME_SOCKETS of them */
	int network;		       /* the sandbox's, where that is still to be furnished; -1 */
	int root;		       /* the sandbox's root, O_PATH */
	uid_t uid;
	pid_t init;	/* whose children are the sandbox's processes, where no namespace says so */
	bool among_all; /* none does: every process of the user can be named inside */
	bool own_network; /* the sandbox has a network namespace of its own, and nothing beyond it
			     may be reached */
	bool no_network;  /* it has none, and the host's must not be reached */
	bool alone;	  /* no mounts: Landlock is the only wall around files */
	const int *outputs[3]; /* where the command's output comes from: no streak of calls keeps it
				* waiting; NULL, or -1 in it, for none */
	bool closed_proc; /* all of /proc is read-only: its files are root's, and so is the command
			   */
	const char *tmp;  /* the session's temporary files where they are not at /tmp, else NULL */
	const struct areas *areas;  /* what may be written, /tmp included where it is private, and
				       what is masked or held read-only in it */
	const struct list *guarded; /* trees in which names that run programs are guarded; NULL:
				       none */
	bool covers;		    /* names can be covered from outside */
	bool own_mounts;	    /* guarded names that were there are held by mounts */
	const char *company;	    /* a file that all runs of this user share */
	const char *quarantine;	    /* a directory to be made for what must not stay */
	const struct host_rules *hosts; /* targets of the network that may be reached */
	struct published *published;	/* ports inside that the host can reach: taken over */
	bool apart;	    /* calls are those of a runtime for the command: see files/apart.c */
	bool restricted;    /* there is a list, and hosts is it; else none may be reached */
	bool asks;	    /* somebody can be asked: what is missing waits as a wish */
	unsigned unchecked; /* CHECK_BIT()s: see sandbox/walls.h */
	struct answers answers;
	const struct givens *given; /* what earlier answers gave, for the observer to carry out */
	const struct givens *fixed; /* and what of it the walls were built with: the run ends when
				       one of these does */
	const struct list *never;   /* files that nobody can grant: paths and patterns */
	const struct list *by_products; /* patterns of files that nobody is asked about, and
					   "PROGRAM PATH" */
	const struct list *sockets; /* host sockets that may be connected to: absolute real paths */
	const struct masks *masks;  /* what is hidden, by mounts or without */
	const struct masks *covered;	 /* the masks that are renewed when they fall; NULL: none */
	const struct texts *texts;	 /* of those of its masks that show one; none: NULL */
	int pidfd;			 /* of init: what ends the run; -1: */
	int control;			 /* the end of this does */
	const struct programs *programs; /* NULL: starts of programs are not shown */
	uint64_t disk;	    /* how much of it fallocate may set aside; 0: fallocate is not shown */
	struct stay *place; /* left before the first that is served; NULL: nowhere */
};

int observer_new(const struct observed *observed, struct observer **ret_observer,
		 struct error **ret_error);
void observer_free(struct observer *observer);

/* What a person could permit while the call that needs it waits. Valid until it is answered. */
struct wish {
	uint64_t number;       /* tells it from all others of this run */
	const char *operation; /* "connect", "unix"; "write", "delete", "read"; "exec" */
	const char *object;    /* "packages.example:443", "[2001:db8::1]:80"; a real path */
	const char *command;   /* exec: all of it as shell text; else NULL */
	bool tree;	       /* a directory: what lies in it is meant, too */
	const char *host;      /* connect: the name or the address alone; else NULL */
	const char *address;   /* connect: the address where it is known, else NULL */
	const char *protocol;  /* "tcp", "udp", "unix"; else NULL */
	uint16_t port;
	const char *program; /* who wants it; may be "" */
	pid_t pid;
	const char *rule;    /* what refuses it as long as nobody answers */
	const char *warning; /* why it would be refused even so ("private address"), or NULL */
};
/* A program must not be able to wear a person down: what it wants beyond these is refused, and so
 * is all that it wants from then on. */
enum { WISHES_MOST = 50, WISHES_A_SECOND = 10 };
/* Why, in words, or NULL. */
const char *observer_silenced(const struct observer *observer);
/* The first that waits for an answer, or NULL. */
const struct wish *observer_wish(struct observer *observer);
/* The next behind the one of that number, or NULL; they stand in the order of their numbers. */
const struct wish *observer_wish_after(const struct observer *observer, uint64_t number);
/* One more permission for the rest of the run: "connect HOST[:PORT]" (a pattern; no set),
 * "host-loopback PORT", "unix PATH", and those of files. term: NULL for the rest of the run. */
void observer_permit(struct observer *observer, const char *permission, const struct term *term);
/* True if what was permitted so far covers it. */
bool observer_permits(const struct observer *observer, const struct wish *wish);
/* Answers the wish of that number: it is judged once more with what was permitted since; where that
 * is not enough it is refused, and the answer ("denied", "none"; a constant) is noted with the
 * denial. Nothing happens where its caller is gone. */
void observer_settle(struct observer *observer, uint64_t number, const char *answer);

/* Readable when there is something to do. */
int observer_fd(const struct observer *observer);
/* Does what is to be done now, a bounded amount; waits only for the next call of a program that
 * makes many, some milliseconds. */
void observer_serve(struct observer *observer);
/* True once it ends the run. */
bool observer_is_ending(const struct observer *observer);
/* Why the run was ended by the observer, or NULL. */
struct error *observer_take_failure(struct observer *observer);
/* What the caller of the run should know. */
void observer_warn(const struct observer *observer, struct list *warnings);
/* After the command has ended: what must not stay where it is goes away. Adds lines for a person.
 */
void observer_end(struct observer *observer, struct list *lines);
/* How much of the disk was set aside so far; more than may be, where that was tried. */
uint64_t observer_set_aside(const struct observer *observer);
/* Moves what was refused so far into the attempt, each object once. */
void observer_take_denials(struct observer *observer, struct attempt *attempt);
/* The same while the command runs: how many there are so far, lent until the next call. Entries
 * only ever come behind others. */
size_t observer_denials(const struct observer *observer, const struct denial **ret_denials);
/* The names that led to addresses that were connected to; the latest of each. */
void observer_named(const struct observer *observer,
		    void (*each)(void *data, const char *name, const char *address), void *data);
/* Grants that have ended since the last time; without a time: somebody took it back. Caller frees.
 */
bool observer_has_ended(const struct observer *observer);
void observer_take_ended(struct observer *observer, struct givens *ret_ended);
/* How many refused objects more there were than are listed, and how many calls could not be looked
 * at, because their program kept its memory from being read: those met the walls unseen. */
void observer_unlisted(const struct observer *observer, uint64_t *ret_beyond, uint64_t *ret_unread);
