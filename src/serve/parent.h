/* SPDX-License-Identifier: Apache-2.0 */
/* Who has started ward, and so sends it requests on standard input; or sends them by a socket. */
#pragma once

#include "../request/request.h"

/* The file that the parent process executes, and whose process it is. Left empty where that cannot
 * be known: it has ended, is another user's, or keeps itself from being looked at. */
void parent_identify(struct caller *ret_caller);
/* The same for the process at the other end of a socket, which pidfd stands for. */
void peer_identify(int pid, int pidfd, struct caller *ret_caller);
