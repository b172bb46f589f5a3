/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds something that can be revoked. Each run that does has a file of its own beside the list
 * that it reads, locked as long as the run lives, with how far of the list it has let go of. So
 * whoever appends to the list can wait until nobody holds any more what he has taken back. */
#pragma once

#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct holder {
	int fd; /* -1: none */
	char *path;
};
#define HOLDER_NONE ((struct holder){.fd = -1})

/* In DIRECTORY/holders. Before the list is read. */
int holder_begin(const char *directory, const char *run, struct holder *ret_holder,
		 struct error **ret_error);
/* A command begins: from now on its holder is waited for. The list is looked at behind this, and
 * not before. Without one, nobody waits. */
void holder_run(const struct holder *holder);
void holder_rest(const struct holder *holder);
/* All that stands in the first so many bytes of the list is let go of. */
void holder_tell(const struct holder *holder, uint64_t seen);
void holder_end(struct holder *holder);

/* True if somebody holds something there, or that cannot be told. */
bool holders_any(const char *directory);
/* Until all have let go of that much. Whoever has not by then is ended, and so is what it runs. */
enum { HOLDERS_PATIENCE_MS = 5000 };
int holders_wait(const char *directory, uint64_t length, struct error **ret_error);

/* Tells all others of them: sends the signal, which whoever holds one has blocked, and hears later.
 * own: the name of our own, which is left alone. each, where there is one, hears of every one that
 * was told. 0, or -1 where one could not be. */
int holders_signal(const char *directory, const char *own, int signal,
		   void (*each)(void *data, const char *run, pid_t supervisor), void *data);
