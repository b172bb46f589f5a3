/* SPDX-License-Identifier: Apache-2.0 */
/* Files read, written and patched for an agent by a program inside the sandbox, so that the kernel
 * and the supervisor decide what may be touched, as for any command. Each returns what there is to
 * tell as an object, NULL with an error. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <stdint.h>

enum {
	INSIDE_READ_MOST = 1 << 20,  /* bytes that are given out at once */
	INSIDE_WRITE_MOST = 8 << 20, /* and that are taken */
};

/* Lines from `first` (from 1) on, at most `count` of them (0: all), as far as there is room. What
 * is not text is given as base64, from its beginning. */
json_t *inside_read(const char *path, uint64_t first, uint64_t count, struct error **ret_error);
/* The whole file becomes this; one of the workspace at once or not at all. */
json_t *inside_write(const char *path, const char *data, size_t length, struct error **ret_error);
/* Nothing is changed before all of the patch has been found to fit. */
json_t *inside_patch(const char *text, size_t length, struct error **ret_error);
