/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text: joining, normalising, containment, globs with double stars. */
#pragma once

#include "macro.h"
#include <limits.h>
#include <sys/stat.h>
#include <stdbool.h>

/* Lexical: "//", "/./" and "x/.." are folded away; the result is absolute if path is. Caller frees.
 */
char *path_normalise(const char *path);
/* path if it is absolute, else base/path; normalised; "~" and "~/x" are home's. Caller frees. */
char *path_resolve(const char *base, const char *home, const char *path);
/* $NAME and ${NAME} replaced by the variables' values, ${NAME:-PATH} by the path where there is no
 * value; a $ before anything else is itself. Caller frees. NULL with *ret_fault: what is wrong, for
 * a sentence that begins with the variable's name, which is put into name (at most its size). */
char *path_expand(const char *path, char *name, size_t size, const char **ret_fault);
/* True if path is directory itself or lies below it; both absolute and normalised. */
bool path_is_under(const char *path, const char *directory);
/* True for what no grant can open: the kernel's own file systems, and /run, which is hidden as a
 * whole. */
bool path_is_beyond(const char *path);
/* True if one of the patterns means the path, or something above it that has no glob. */
struct list;
bool path_is_among(const char *path, const struct list *patterns);
bool path_has_glob(const char *path);
/* `*`, `?` and `[...]` stay within one component, a component of two stars spans any number of
 * them, none included. Linear in practice and bounded always: a pattern that would take too long
 * does not match and *ret_overrun (may be NULL) is set. */
bool path_matches(const char *pattern, const char *path, bool *ret_overrun);
/* One component against one: at most as many steps as the product of their lengths, whatever the
 * pattern is. Knows *, ?, [a-z], [!a-z] and [[:alpha:]]; there is no escape but a class. */
bool path_component_matches(const char *pattern, size_t pattern_length, const char *text,
			    size_t length);
/* A path as the pattern that means it and nothing else: what is special in patterns, and $, becomes
 * a class of one. Caller frees. */
char *path_escape(const char *path);
/* The one path that such a pattern means; NULL for any other pattern. Caller frees. */
char *path_unescape(const char *pattern);
/* The part of a pattern before its first component with a glob: "/a/b" of "/a/b/x*". Caller frees.
 */
char *path_fixed_part(const char *pattern);
/* True if no component but the last has a glob, the component of two stars at its end aside. */
bool path_names_one_place(const char *pattern);
const char *path_last(const char *path);

/* realpath() that asks first whether there is a link on the way at all: mostly there is none, and
 * one call tells. *ret_st is what lies there. errno on failure. */
int path_real(const char *path, char ret_real[static PATH_MAX], struct stat *ret_st);
/* The repository around a directory, which is resolved; the directory itself where there is none
 * below `home` (may be NULL) or the root. Caller frees. */
char *path_repository(const char *directory, const char *home);
