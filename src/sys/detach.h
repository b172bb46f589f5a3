/* SPDX-License-Identifier: Apache-2.0 */
/* What a process starts with that goes its own way: nothing of what its maker had set up. */
#pragma once

#include <stdbool.h>

/* No signal is ignored, caught or blocked. */
bool signals_reset(void);
/* The same, and a session of its own, standard streams that lead nowhere, and no directory in use.
 */
bool detach(void);
