/* SPDX-License-Identifier: Apache-2.0 */
/* Where ward keeps its state, and whether that place can be trusted. */
#pragma once

#include "../base/error.h"
#include <sys/types.h>

/* $XDG_STATE_HOME/ward if that is absolute, else ward's place below the home directory. Makes
 * nothing. Caller frees. */
int state_directory(char **ret_path, struct error **ret_error);
/* Makes it and what is missing above it, for the caller alone; nothing happens if it exists. */
int state_directory_make(const char *path, struct error **ret_error);
/* Opens it, refusing one that belongs to somebody else or that others may write to: whoever can
 * change names in it can swap the log for another. */
int state_directory_open(const char *path, int *ret_fd, struct error **ret_error);
/* The account of that user in /etc/passwd: 0 or -ENOENT. ret_gid may be NULL. Caller frees. */
int account_find(uid_t uid, gid_t *ret_gid, char **ret_home);
