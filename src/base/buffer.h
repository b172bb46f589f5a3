/* SPDX-License-Identifier: Apache-2.0 */
/* A growing run of bytes that is always NUL-terminated. */
#pragma once

#include "macro.h"

struct buffer {
	char *data; /* NULL while empty */
	size_t length, room;
};

void buffer_add(struct buffer *buffer, const void *data, size_t length);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_char(struct buffer *buffer, char c);
void buffer_printf(struct buffer *buffer, const char *format, ...) _printf_(2, 3);
/* The text so far, "" while empty; owned by the buffer. */
const char *buffer_text(const struct buffer *buffer);
/* Hands the text over (never NULL) and empties the buffer. */
char *buffer_steal(struct buffer *buffer);
void buffer_done(struct buffer *buffer);
#define _cleanup_buffer_ _cleanup_(buffer_done)
