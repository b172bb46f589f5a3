/* SPDX-License-Identifier: Apache-2.0 */
/* The network as the supervisor serves it: a target is judged by its name before anything is looked
 * up, then by its address; what is allowed is connected outside and handed in, what is not waits as
 * a wish where somebody can be asked. For this room alone. */
#pragma once

#include "lookup.h"
#include "relay.h"
#include "sockets.h"
#include "target.h"

#include <errno.h>

/* What a program is told of a connection, or a message, that it may not make. EACCES would be as
 * true, but programs know it from files: wget tries again for minutes, and npm advises to run it as
 * root. */
enum { NOT_REACHED = ECONNREFUSED };

/* network.c: a connect or an addressed send of a socket of the Internet, where the sandbox has a
 * network of its own. Takes ownership of fd, our copy of the caller's. */
void serve_internet(struct observer *observer, const struct seccomp_notif *call,
		    const struct trap *trap, int fd, const struct sockaddr *address,
		    socklen_t length);
/* furnish.c: somebody is about to have a socket of the sandbox's network, which from now on is
 * there. */
void network_need(struct observer *observer);
/* The relay, started when it is first needed. */
struct relay *network_relay(struct observer *observer);
/* What the list and the answers so far say. named: the rules allowed a name, and it led here. */
enum host_access network_judge(const struct observer *observer, const struct target *target);
enum host_access network_judge_address(const struct observer *observer,
				       const struct in6_addr *address, uint16_t port, bool named);
/* True if it may be connected to that address, which it leads to: by the list, or by answers. */
bool network_may_reach(const struct observer *observer, const struct target *target,
		       const struct in6_addr *address);
/* Lets it wait for an answer, or refuses it. warning: why the address that the name leads to is
 * refused; NULL: the target itself is not listed. final: whatever anybody answers. */
void network_refuse(struct observer *observer, const struct seccomp_notif *call,
		    const struct trap *trap, const struct target *target, const char *warning,
		    bool final);

/* probe.c: true if nothing can be meant by it. */
bool probe_is_one(const struct target *target);
/* Answers a connect of datagrams that is refused: it may have been meant, or not. */
void probe_refuse(struct observer *observer, const struct seccomp_notif *call,
		  const struct trap *trap, const struct target *target, const char *rule);
/* It was not: a stream to that target followed. NULL: all. */
void probe_forget(struct observer *observer, const struct target *target);
/* What is left at the end was meant. */
void probe_note(struct observer *observer);

/* inbox.c: true of the port that ward's own inbox listens on, by an address that leads there.
 * Whoever reached it could try to answer his own questions, so nobody can permit that. */
bool network_is_inbox(const struct observer *observer, const struct in6_addr *address,
		      uint16_t port);
/* The same for an address as a caller wrote it. */
bool network_leads_to_inbox(const struct observer *observer, const struct sockaddr *address,
			    socklen_t length);
/* A connect in the host's network, where that is the sandbox's own: to all but the inbox. Takes
 * ownership of fd. */
void network_connect_host(struct observer *observer, const struct seccomp_notif *call, int fd,
			  const struct sockaddr *address, socklen_t length);

/* dial.c: true for an address of this host, however public (loopback aside, which has rules of its
 * own). */
bool address_is_own(const struct in6_addr *address);
/* The target was allowed; it is looked up, connected to and handed in as the caller's fd.
 * Or, with datagrams, relayed. asked: as the caller wrote the address. Takes ownership of fd. */
void dial_start(struct observer *observer, const struct seccomp_notif *call,
		const struct trap *trap, int fd, const struct target *target,
		const struct sockaddr *asked, socklen_t length);
/* To the host's own loopback, for a caller that found nobody on its own. Takes ownership of fd. */
void dial_loopback(struct observer *observer, const struct seccomp_notif *call,
		   const struct trap *trap, int fd, const struct target *target,
		   const struct sockaddr *asked, socklen_t length);
/* True if the fd is one of theirs, and was served. */
bool dial_serve(struct observer *observer, int fd);
/* Those end that may not be made any more. */
void dial_recall(struct observer *observer);
void dial_done(struct observer *observer);

/* lent.c: what may have to be taken back is noted, before it is given: a connection of ours, a
 * socket of AF_UNIX about to be connected; 0 or -errno. */
int lent_stream(struct observer *observer, const struct target *target,
		const struct in6_addr *address, int fd);
int lent_socket(struct observer *observer, const char *path, int fd);
/* What the relay carries: the number by which it is told to end it; 0: nobody will. */
uint64_t lent_joined(struct observer *observer, const struct target *target,
		     const struct in6_addr *address);
void lent_datagrams(struct observer *observer, const struct target *target,
		    const struct in6_addr *address, const struct sockaddr_storage *inside);
/* Closes all that nothing permits any more. False where that could not be done. */
bool lent_recall(struct observer *observer);
void lent_done(struct observer *observer);

/* named.c: the name that led to this address is kept for whoever looks at the run. */
void named_note(struct observer *observer, const struct target *target,
		const struct in6_addr *address);

/* handin.c: options that were set on the caller's socket, on ours. */
void copy_options(int from, int to, int family);
/* True if the caller's parent or a child of it holds its socket under the same number, as forking
 * leaves it: then no other can take its place. Nobody else is looked at. */
bool is_shared(pid_t tid, pid_t init, int number, int copy);
/* Puts the socket in the place of the caller's, which copy is one of: under its number and those of
 * its duplicates, with its flags, and where it was waited for with epoll. Closes the copy. 0 or
 * -errno. */
int hand_in(struct observer *observer, const struct seccomp_notif *call, int number, int *copy,
	    int socket);
