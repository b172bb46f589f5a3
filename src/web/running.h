/* SPDX-License-Identifier: Apache-2.0 */
/* The one server of a user: STATE/web/server says where it is, and is locked as long as it lives.
 */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>

/* Fails where another one serves. The fd is the lock; last_port is where the one before listened, 0
 * where that is not known: links and bookmarks go on when the next one listens there. */
int web_running_take(const char *state, int *ret_lock, uint16_t *ret_last_port,
		     struct error **ret_error);
/* From now on others find it. */
int web_running_publish(int lock, const char *url, uint16_t port, struct error **ret_error);
/* 1: one serves at *ret_url, which the caller frees; 0: none does. Waits a little for one that is
 * just starting. */
int web_running_find(const char *state, char **ret_url, struct error **ret_error);
