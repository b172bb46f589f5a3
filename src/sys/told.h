/* SPDX-License-Identifier: Apache-2.0 */
/* Whether somebody wants us to end, while signals wait for their turn. */
#pragma once

#include <stdbool.h>

/* HUP, INT, QUIT or TERM is pending: the caller has blocked these and takes them when it is its
 * turn again. */
bool told_to_stop(void);
