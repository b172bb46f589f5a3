/* SPDX-License-Identifier: Apache-2.0 */
/* All that runs in a sandbox ended one by one, where its init has been killed and does not get to
 * it. */
#pragma once

/* proc: the sandbox's own /proc, which numbers nobody else. */
void ends_each(int proc);
