/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a file is open for writing, anywhere. */
#pragma once

#include <stdbool.h>

/* False only where nobody has it open for writing, by a descriptor, in a message that nobody has
 * received or in memory. True in doubt: it cannot be looked at, or is not there any more. */
bool file_is_written(const char *path);
