/* SPDX-License-Identifier: Apache-2.0 */
/* The growing run of bytes. */
#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void grow(struct buffer *buffer, size_t more)
{
	size_t need;

	if (more > SIZE_MAX / 4 || buffer->length > SIZE_MAX / 4)
		abort();
	need = buffer->length + more + 1;
	if (need <= buffer->room)
		return;
	need = MAX(need, MAX(buffer->room * 2, (size_t)64));
	buffer->data = realloc(buffer->data, need);
	if (!buffer->data)
		abort();
	buffer->room = need;
}

void buffer_add(struct buffer *buffer, const void *data, size_t length)
{
	grow(buffer, length);
	if (length)
		memcpy(buffer->data + buffer->length, data, length);
	buffer->length += length;
	buffer->data[buffer->length] = '\0';
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
	buffer_add(buffer, text, strlen(text));
}

void buffer_add_char(struct buffer *buffer, char c)
{
	buffer_add(buffer, &c, 1);
}

void buffer_printf(struct buffer *buffer, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		abort();
	buffer_add(buffer, text, (size_t)length);
}

const char *buffer_text(const struct buffer *buffer)
{
	return buffer->data ? buffer->data : "";
}

char *buffer_steal(struct buffer *buffer)
{
	char *text;

	if (!buffer->data)
		buffer_add(buffer, "", 0);
	text = buffer->data;
	*buffer = (struct buffer){0};
	return text;
}

void buffer_done(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){0};
}
