/* SPDX-License-Identifier: Apache-2.0 */
/* Untrusted bytes made fit to be shown: on a terminal, in JSON, as a shell word. */
#pragma once

#include "buffer.h"
#include <stdbool.h>

/* Terminal-safe: control, bidi, zero-width and invalid bytes become \xNN or \u{NNNN}; never
 * shortens. */
void escape_for_terminal(struct buffer *buffer, const char *text, size_t length);
/* The text as one shell word that bash and sh read back byte for byte; plain words stay plain. */
void escape_for_shell(struct buffer *buffer, const char *text);
/* The same for bash alone, and fit for a terminal: a word with anything but printable ASCII in it
 * takes the form $'...'. */
void escape_for_bash(struct buffer *buffer, const char *text);
/* Valid UTF-8 with U+FFFD for each broken sequence and for NUL; *ret_lossy says whether any stood
 * in. Caller frees. */
char *escape_to_utf8(const char *text, size_t length, bool *ret_lossy);
/* It cannot be seen, or changes how the text around it looks. */
bool escape_is_hidden(unsigned code);
/* The length of the valid UTF-8 sequence at text, and its code point; 0 where there is none. */
size_t utf8_decode(const char *text, size_t length, unsigned *ret_code);
