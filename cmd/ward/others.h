/* SPDX-License-Identifier: Apache-2.0 */
/* Root looks at, and answers, what waits for other users: as they, in processes that are theirs. */
#pragma once

#include "../../src/base/error.h"
#include <stdbool.h>
#include <sys/types.h>

/* From now on this process is that user's, named or by number; for root only. */
int others_become(const char *user, struct error **ret_error);
/* Calls show in a process of each user's that is in /etc/passwd, root aside; none may take long.
 * Returns how many said that they had something to show. */
size_t others_each(bool (*show)(const char *name, uid_t uid));
/* A daemon serves all users here. */
bool others_are_served(void);
