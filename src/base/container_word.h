/* SPDX-License-Identifier: Apache-2.0 */
/* What a container is made of, as KEY=VALUE: runtime, rootfs, image, tmpfs_size, apparmor, selinux,
 * and mount:/TARGET=SOURCE, any number of them. */
#pragma once

#include "error.h"
#include "list.h"

/* Runtimes that have a name here. */
#define CONTAINER_RUNTIMES "crun, runc, runsc or kata"

int container_check_word(const char *word, enum error_code code, struct error **ret_error);
/* The value of the last word with that key, or NULL. */
const char *container_value(const struct list *words, const char *key);
