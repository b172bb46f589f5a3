/* SPDX-License-Identifier: Apache-2.0 */
/* The rungs below the full set of walls: what a machine may refuse, what must stand all the same,
 * and what is lost.
 *
 * Nothing is probed beforehand. The full set is tried; where the kernel refuses a part of it, that
 * part is noted as lost, and what depends on it is left out. Parts that init can do without it
 * leaves out where it stands; for the others the sandbox is begun again. */
#pragma once

#include "../request/request.h"
#include "walls.h"
#include <stdbool.h>

/* True for the ways in which a kernel, a filter around us or a security module says that something
 * is not to be had. Anything else (no memory, too many files) is a fault and not a rung. */
bool ladder_is_refusal(int errnum);
/* The same for making namespaces: as many as user.max_*_namespaces lets be, or a kernel built
 * without them. */
bool ladder_is_shortage(int errnum);
/* The set without those that cannot stand where the lost ones are missing. privileged: namespaces
 * can be had without a user namespace. */
unsigned ladder_settle(unsigned walls, unsigned lost, bool privileged);
/* What is left is enough to keep files and other processes from the command; else what is missing,
 * in words. */
const char *ladder_no_floor(unsigned lost);
/* The oldest Landlock that has all that ward uses. */
enum { LANDLOCK_WHOLE = 6, LANDLOCK_REFERS = 2, LANDLOCK_TRUNCATES = 3, LANDLOCK_SIGNALS = 6 };

/* What was lost with these walls, in one line that a user understands, NULL where nothing was. abi:
 * Landlock's, where it stood. Caller frees. */
char *ladder_explain(unsigned lost, int abi, enum network network);
/* The wall whose loss took this one with it; itself where that is the cause. */
enum wall ladder_cause(enum wall wall, unsigned lost);
/* Why a wall is not to be had on most machines that lack it, and how to get it; never NULL. */
const char *ladder_remedy(enum wall wall);

/* AppArmor is on; it keeps user namespaces from plain users whose program has no profile, as Ubuntu
 * has it. */
bool ladder_has_apparmor(void);
bool ladder_apparmor_keeps_namespaces(void);

/* What this process has learnt so far; sandboxes that it begins later do not try it again. */
unsigned ladder_lost(void);
void ladder_lose(unsigned walls);
/* What the last sandbox stood on, for `ward doctor`. */
struct rung {
	unsigned walls, lost;
	int abi;
};
struct rung ladder_last(void);
void ladder_stood(struct rung rung);
