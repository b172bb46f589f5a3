/* SPDX-License-Identifier: Apache-2.0 */
/* Small files in STATE/web that hold one object each. */
#pragma once

#include "../base/error.h"
#include <jansson.h>
#include <sys/stat.h>

enum { WEB_FILES_MOST = 1024 };

/* STATE/web/NAME, made where it is not there. */
int web_file_directory(const char *state, const char *name, int *ret_fd, struct error **ret_error);
/* Whole or not at all; -EEXIST where there is one of that name. 0 or -errno. */
int web_file_put(int directory, const char *name, json_t *object);
/* NULL where there is none, or nothing that can be read. Caller frees. */
json_t *web_file_read(int directory, const char *name, struct stat *ret_st);
