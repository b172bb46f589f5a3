/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Closes *fd after us, in a thread of the kernel's: where letting go of it last takes long, as of a
 * namespace with mounts, which all processors are waited for. Sets it to -1; does nothing where it
 * is negative. A process of our own would do as well, but somebody would have to reap it. */
void close_behind(int *fd);
