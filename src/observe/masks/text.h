/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations of which a text without credentials is seen inside. It lies in the sandbox's store
 * under a mount over the file, and is replaced through an fd. The file itself is changed in place:
 * a rename over its name would make the mount fall off. */
#pragma once

#include "../../sandbox/sandbox.h"
#include <sys/stat.h>

/* The fd of what is seen, if that is one of the texts; else -1. inside: as the sandbox sees it. */
int text_find(const struct texts *texts, const struct stat *inside);
/* All of an open file, up to GIT_CONFIG_LIMIT. The caller frees it. 0, or -errno. */
int text_read(int fd, char **ret_text, size_t *ret_length);
/* Puts the credentials of the file, as it is now, back into what was made of the text that is seen;
 * *text becomes another. -EBUSY: the file was changed from outside meanwhile; what is seen is the
 * new one by now. */
int text_restore(int seen, const char *before, size_t before_length, char **text, size_t *length);
/* Writes the text into the file, and without its credentials into what is seen. Where that fails
 * the file is as before. */
int text_install(int seen, int parent, const char *name, const char *before, size_t before_length,
		 const char *text, size_t length);
/* After the file was replaced: what is seen is the new one without credentials; nothing, where that
 * cannot be said. */
void text_renew(int seen, const char *path);
