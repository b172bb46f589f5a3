/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of ward's own that are too heavy to be part of it: they lie beside it, and are started
 * when they are needed. */
#pragma once

#include "../base/error.h"

/* Opens the program of that name (O_PATH, close-on-exec): in the directory of ward's own file, else
 * in the one that `make install` uses. It is taken only from an owner whom this process obeys
 * anyway (root, its own user, the owner of ward's file), and where nobody else can write to it.
 * ret_path: for messages and /proc; caller frees; may be NULL. The fd, or a negative code. */
int beside_open(const char *name, char **ret_path, struct error **ret_error);
