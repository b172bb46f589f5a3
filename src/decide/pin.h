/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are one file and no other. */
#pragma once

#include "condition.h"

/* Whether the program at argv[first] is that file. Yes only where nothing that runs in a sandbox
 * can make it another one between this look and the start. */
enum truth pin_holds(const struct pin *pin, const struct circumstances *circumstances,
		     const struct command *command, size_t first);
