/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's namespaces, made while the C library still starts. The kernel takes as long for
 * them as a program for its first line, and neither needs the other.
 *
 *     ward_entry      where the program begins, before _start: `ward run` starts the maker
 *     ahead_bear      the maker bears init into what it has made
 *     ahead_wait      who that is
 *     ahead_dismiss   nobody wants the maker
 *
 * It only saves time. Where there is no maker, or it got nowhere, each of these says so, and
 * everything is made later, as by programs that begin at _start. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What the maker makes, as flags of clone. */
uint64_t ahead_namespaces(void);
/* A child of ours, as by fork, is to begin at the function: with these flags of clone, in the
 * maker's namespaces, with what our memory holds until ahead_wait returns. Shares the table of fds.
 * False: there is no maker. */
bool ahead_bear(uint64_t flags, void (*begin)(void));
/* Waits for its birth: its pid, or -1 where there was none. */
pid_t ahead_wait(int *ret_pidfd);
/* The maker goes, and is waited for. More than once does no harm. */
void ahead_dismiss(void);
