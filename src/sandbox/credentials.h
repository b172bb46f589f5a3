/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of repositories that hold credentials: inside, a text without them lies over
 * each. */
#pragma once

#include "find.h"

/* Adds a mask for each configuration with credentials in the repositories that were found
 * (masks->repositories, and trees that are one themselves). What cannot be read as git would read
 * it, and what is too much, is masked as a whole. A rule that lets the very file be read or written
 * lifts it. */
int find_credentials(const struct search *search, struct masks *masks, struct error **ret_error);
