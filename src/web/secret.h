/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets of 256 random bits as text, and what is kept of them: a hash. */
#pragma once

#include <stdbool.h>

enum { SECRET_TEXT = 44, SECRET_HASH_TEXT = 65 };

void secret_make(char text[static SECRET_TEXT]);
/* True if the text has the form of one. */
bool secret_is_one(const char *text);
/* purpose: what it is for, so that the hash of one kind is never that of another. */
void secret_hash(const char *purpose, const char *secret, char hash[static SECRET_HASH_TEXT]);
/* Takes as long whatever the two say; only their lengths may be learned. NULL equals nothing. */
bool secret_equal(const char *a, const char *b);
