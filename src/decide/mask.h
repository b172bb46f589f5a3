/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets in a text put out of sight, before the text goes to somebody who is to judge it. */
#pragma once

#include "../base/buffer.h"

#define MASKED "[masked]"

/* Adds the text with all that looks like a secret replaced: values of variables, options and
 * headers whose names say so, passwords in URLs, keys of known shapes, long words of mixed
 * characters, and every value that a secret variable of ward's own environment holds. More is
 * masked than must be: a hash looks like a key. */
void mask_secrets(struct buffer *buffer, const char *text);
