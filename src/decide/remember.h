/* SPDX-License-Identifier: Apache-2.0 */
/* An answer for good: a rule in the user's own policy file. */
#pragma once

#include "policy.h"
#include "../base/buffer.h"

/* The user's file: XDG_CONFIG_HOME/ward/ward.yaml, else HOME/.config/ward/ward.yaml; NULL where
 * neither is known. Caller frees. */
char *remember_file(void);
/* The rule as it would be written, for the person to see before; what counts is what it is about,
 * what it does and why, its permissions, and of its
 * conditions the agents and until when. NULL where a text in it is not UTF-8: YAML cannot hold
 * that. Caller frees. */
char *remember_rule(const struct rule *rule);
/* Takes a rule out of the file again, as it was written. 1: it was there; 0: it is no longer so,
 * and nothing changes. */
int remember_strike(const char *file, const char *rule, struct error **ret_error);
/* The text in double quotes, on one line and with all that cannot be seen as escapes, so that it is
 * YAML whatever it holds; false where it is not UTF-8. */
bool remember_quote(struct buffer *text, const char *value);
/* Adds it at the top of the file's rules, which it makes if there is none. The file must hold with
 * it, and is replaced as a whole or not at all. */
int remember_write(const char *file, const char *rule, struct error **ret_error);
