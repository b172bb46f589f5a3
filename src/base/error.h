/* SPDX-License-Identifier: Apache-2.0 */
/* The one error value: a code, an errno, a message that names the object, a hint that names the way
 * on. */
#pragma once

#include "macro.h"

enum error_code {
	E_ENGINE = 1, /* ward itself could not do its work */
	E_USAGE,      /* the call's words are off */
	E_POLICY,     /* a configuration or policy that cannot be read */
	E_REJECTED,   /* refused by policy or person */
	E_SANDBOX,    /* the sandbox refused */
	E_TIMEOUT,    /* the time given ran out */
	E_NOT_FOUND,  /* the command, run or record does not exist */
	E_NOT_EXECUTABLE,
	E_INPUT,    /* bad input: oversized, truncated, not UTF-8, not JSON */
	E_DEFERRED, /* a person answers later: see the ticket */
};

struct error {
	enum error_code code;
	int errnum;    /* 0 where no system call failed */
	char *message; /* names the object */
	char *hint;    /* names the way on, or NULL */
	char *file;    /* where in a file the fault lies, or NULL */
	int line, column;
};

/* Makes an error and returns the negative code, so that a caller can return it in one line.
 * ret_error may be NULL. */
int fail(struct error **ret_error, enum error_code code, const char *format, ...) _printf_(3, 4);
/* The same for a failed system call: ": strerror" is appended. errnum is given, not read from
 * errno. */
int fail_errno(struct error **ret_error, enum error_code code, int errnum, const char *format, ...)
	_printf_(4, 5);
/* Sets the hint of an error just made; returns -code, so that it can end a return statement. */
int error_hint(struct error **ret_error, const char *format, ...) _printf_(2, 3);
/* Says where in a file the fault of an error just made lies; lines and columns count from 1, 0
 * where there is none. Returns -code. */
int error_place(struct error **ret_error, const char *file, int line, int column);
/* Puts context in front of the message: "context: message". Returns -code. */
int error_wrap(struct error **ret_error, const char *format, ...) _printf_(2, 3);
void error_free(struct error *error);

static inline void error_freep(struct error **error)
{
	error_free(*error);
}
#define _cleanup_error_ _cleanup_(error_freep)
