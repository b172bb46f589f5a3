/* SPDX-License-Identifier: Apache-2.0 */
/* An answer for good: a rule in the user's own policy file. */
#pragma once

#include "approve.h"
#include "../base/error.h"
#include "../base/list.h"

/* The user's file: XDG_CONFIG_HOME/ward/ward.yaml, else HOME/.config/ward/ward.yaml; NULL where
 * neither is known. Caller frees. */
char *remember_file(void);
/* The rule as it would be written, for the person to see before. Caller frees. */
char *remember_rule(enum verdict_kind kind, const char *covers, const struct list *permissions,
		    const char *why);
/* Adds it at the top of the file's rules, which it makes if there is none. The file must hold with
 * it, and is replaced as a whole or not at all. */
int remember_write(const char *file, const char *rule, struct error **ret_error);
