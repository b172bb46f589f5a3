/* SPDX-License-Identifier: Apache-2.0 */
/* Who has started ward, and so sends it requests on standard input. */
#pragma once

#include "../request/request.h"

/* The file that the parent process executes, and whose process it is. Left empty where that cannot
 * be known: it has ended, is another user's, or keeps itself from being looked at. */
void parent_identify(struct caller *ret_caller);
