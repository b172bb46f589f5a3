/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, and bytes that grow. */
#include "lib.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ward_error no_memory = {"engine", (char *)"out of memory", NULL};

int out_of_memory(ward_error **ret_error)
{
	if (ret_error)
		*ret_error = &no_memory;
	return -1;
}

int give_error(ward_error **ret_error, const char *kind, const char *hint, const char *format, ...)
{
	ward_error *error;
	va_list arguments;
	int r;

	if (!ret_error)
		return -1;
	error = calloc(1, sizeof(*error));
	if (!error)
		return out_of_memory(ret_error);
	error->kind = kind;
	error->hint = hint ? strdup(hint) : NULL;
	va_start(arguments, format);
	r = vasprintf(&error->message, format, arguments);
	va_end(arguments);
	if (r < 0) {
		free(error->hint);
		free(error);
		return out_of_memory(ret_error);
	}
	*ret_error = error;
	return -1;
}

const char *ward_error_kind(const ward_error *error)
{
	return error ? error->kind : NULL;
}

const char *ward_error_message(const ward_error *error)
{
	return error ? error->message : NULL;
}

const char *ward_error_hint(const ward_error *error)
{
	return error ? error->hint : NULL;
}

void ward_error_free(ward_error *error)
{
	if (!error || error == &no_memory)
		return;
	free(error->message);
	free(error->hint);
	free(error);
}

const char *ward_version(void)
{
	return WARD_VERSION;
}

bool bytes_add(struct bytes *bytes, const void *data, size_t length)
{
	if (bytes->length + length > bytes->room) {
		size_t room = (bytes->length + length) * 2;
		char *grown = realloc(bytes->data, room);

		if (!grown)
			return false;
		bytes->data = grown;
		bytes->room = room;
	}
	if (length)
		memcpy(bytes->data + bytes->length, data, length);
	bytes->length += length;
	return true;
}

void bytes_drop(struct bytes *bytes, size_t length)
{
	bytes->length -= length;
	if (bytes->length)
		memmove(bytes->data, bytes->data + length, bytes->length);
	else
		bytes_done(bytes); /* one long line is not kept room for */
}

void bytes_done(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}
