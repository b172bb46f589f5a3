/* SPDX-License-Identifier: Apache-2.0 */
/* What to say of a refusal, and the way on: exactly the permission that was missing, as the flag
 * that would give it. */
#pragma once

#include "../base/buffer.h"
#include "../request/result.h"

/* "write /etc/motd (openat by sh)", escaped. */
void hint_describe(const struct denial *denial, struct buffer *text);
/* True if no flag and no answer opens it. */
bool hint_is_final(const struct denial *denial);
/* The flag that would have permitted it, escaped for a shell; false where none would. */
bool hint_flag(const struct denial *denial, const char *workspace, struct buffer *text);
/* Of what was to be moved, and holds what must keep its place: that, where it is masked, and would
 * go along if it were not; else NULL. Caller frees. */
char *hint_held(const struct denial *denial);
/* The permission that was missing, as "OPERATION RESOURCE"; NULL where none would do. Caller frees.
 * *ret_broad: one would, but it would give away a home directory or more, which nobody should be
 * asked for. */
char *hint_permission(const struct denial *denial, bool *ret_broad);
/* A home, a whole part of the system, or what holds one. */
bool hint_is_broad(const char *path);
