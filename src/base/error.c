/* SPDX-License-Identifier: Apache-2.0 */
/* Making, wrapping and freeing errors. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int set(struct error **ret_error, enum error_code code, int errnum, char *message)
{
	struct error *error;

	if (!ret_error) {
		free(message);
		return -(int)code;
	}
	error = calloc(1, sizeof(*error));
	if (!error)
		abort();
	*error = (struct error){.code = code, .errnum = errnum, .message = message};
	error_free(*ret_error);
	*ret_error = error;
	return -(int)code;
}

int fail(struct error **ret_error, enum error_code code, const char *format, ...)
{
	char *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		abort();
	va_end(args);
	return set(ret_error, code, 0, message);
}

int fail_errno(struct error **ret_error, enum error_code code, int errnum, const char *format, ...)
{
	_cleanup_free_ char *what = NULL;
	char *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&what, format, args) < 0)
		abort();
	va_end(args);
	if (asprintf(&message, "%s: %s", what, strerror(errnum)) < 0)
		abort();
	return set(ret_error, code, errnum, message);
}

int error_hint(struct error **ret_error, const char *format, ...)
{
	va_list args;

	if (!ret_error || !*ret_error)
		return -E_ENGINE;
	free((*ret_error)->hint);
	va_start(args, format);
	if (vasprintf(&(*ret_error)->hint, format, args) < 0)
		abort();
	va_end(args);
	return -(int)(*ret_error)->code;
}

int error_place(struct error **ret_error, const char *file, int line, int column)
{
	if (!ret_error || !*ret_error)
		return -E_ENGINE;
	free((*ret_error)->file);
	(*ret_error)->file = strdup(file);
	if (!(*ret_error)->file)
		abort();
	(*ret_error)->line = line;
	(*ret_error)->column = column;
	return -(int)(*ret_error)->code;
}

int error_wrap(struct error **ret_error, const char *format, ...)
{
	_cleanup_free_ char *context = NULL;
	char *message;
	va_list args;

	if (!ret_error || !*ret_error)
		return -E_ENGINE;
	va_start(args, format);
	if (vasprintf(&context, format, args) < 0)
		abort();
	va_end(args);
	if (asprintf(&message, "%s: %s", context, (*ret_error)->message) < 0)
		abort();
	free((*ret_error)->message);
	(*ret_error)->message = message;
	return -(int)(*ret_error)->code;
}

void error_free(struct error *error)
{
	if (!error)
		return;
	free(error->message);
	free(error->hint);
	free(error->file);
	free(error);
}
