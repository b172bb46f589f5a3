/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what a browser, or somebody who is none, has sent: parameters, cookies, cursors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { QUERY_VALUE_MOST = 1024 };

/* The value of a parameter of "a=1&b=two%20words", as UTF-8 that the caller frees; the first one
 * counts. *ret_value stays NULL where there is none. False: it is too long, not UTF-8, or has a NUL
 * in it. */
bool query_value(const char *query, const char *name, char **ret_value);
/* A whole number in a parameter, from least to most; missing where it is not there. False: it is
 * none. */
bool query_number(const char *query, const char *name, uint64_t least, uint64_t most,
		  uint64_t missing, uint64_t *ret_number);
/* The value of a cookie in the header's "a=1; b=2", copied; false where there is none that fits. */
bool cookie_value(const char *header, const char *name, char *value, size_t room);
/* True if the media type of "application/json; charset=utf-8" is that one, in whatever case. */
bool media_type_is(const char *header, const char *type);
