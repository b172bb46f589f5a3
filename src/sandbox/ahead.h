/* SPDX-License-Identifier: Apache-2.0 */
/* Init, begun before the program itself is. The kernel takes as long for the sandbox's namespaces
 * as the C library for its start, and neither needs the other.
 *
 *     ward_entry      where the program begins, before _start: `ward run` starts the maker, which
 *                     makes the namespaces
 *     ahead_bear      the first thing in main: starts the midwife, which bears init into them
 *     ahead_take      it is wanted, and becomes the caller's
 *     ahead_wait      who it is
 *     ahead_tidy      the others are not needed any more
 *     ahead_dismiss   it is not wanted
 *
 * It only saves time. Where nothing was begun, or it got nowhere, each of these says so, and
 * everything is made later, as by programs that begin at _start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What was begun with. */
struct ahead_begun {
	uid_t uid; /* whom it was begun for */
	gid_t gid;
	int control[2]; /* a pair of sockets: ward's, and init's */
	int supervisor; /* a pidfd of ward */
};

/* The namespaces that were made, as flags of clone. */
uint64_t ahead_namespaces(void);
/* Returns twice: true as init. */
bool ahead_bear(struct ahead_begun *ret_begun);
/* As init: where it runs is the kernel's again. Until then it stays beside ward, which works on
 * while init is woken: the kernel likes to wake whoever is written to where the writer is. */
void ahead_settle(void);
/* As init: a pidfd of ours. */
int ahead_self(void);
/* False: nothing was begun, or not for these. */
bool ahead_take(uid_t uid, gid_t gid, struct ahead_begun *ret_begun);
/* Once after it was taken. Its pid, or -1 where it never came to be. */
pid_t ahead_wait(int *ret_pidfd);
/* Ends those by whom it came to be, once it is known who it is; waits for nobody. More than once:
 * to see whether they are gone. */
void ahead_tidy(void);
/* Ends what was not taken, and waits for that. More than once does no harm. */
void ahead_dismiss(void);
