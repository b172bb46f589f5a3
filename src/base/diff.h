/* SPDX-License-Identifier: Apache-2.0 */
/* What a change does to a text, for people to read. */
#pragma once

/* A unified diff with three lines around each change; "" where the texts are the same. NULL is a
 * file that is not there. Texts that differ in very many lines are shown as one replaced by the
 * other. The text is as it is in the files: whoever shows it on a terminal escapes it, line by
 * line. Caller frees. */
char *diff_unified(const char *name, const char *before, const char *after);
