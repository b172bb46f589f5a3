/* SPDX-License-Identifier: Apache-2.0 */
/* A tar archive, read from the beginning to the end, whoever made it. */
#pragma once

#include "../../base/error.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What one archive may hold at most, once unpacked. */
enum { ARCHIVE_ENTRIES_MOST = 1000000 };
#define ARCHIVE_BYTES_MOST (UINT64_C(16) << 30)
#define ARCHIVE_TOO_MANY   "it has more than a million entries"

struct archive_entry {
	char path[PATH_MAX], link[PATH_MAX]; /* as they are written */
	char kind;			     /* as tar says it: '0' a file, '5' a directory ... */
	mode_t mode;
	uint64_t size; /* of a file */
};

struct archive;
/* Of the file from its beginning, packed by gzip or not; borrows fd. */
struct archive *archive_open(int fd);
/* 1: an entry, 0: the end, or an error. What of a file was not read is passed over. */
int archive_next(struct archive *archive, struct archive_entry *ret_entry,
		 struct error **ret_error);
/* Of the file that was last told of: the count, 0 at its end, or an error. */
ssize_t archive_read(struct archive *archive, void *data, size_t length, struct error **ret_error);
/* Reads what is left of the file, and gives the SHA-256 of all of it as it lies there, in hex. */
int archive_end(struct archive *archive, char ret_digest[static 65], struct error **ret_error);
void archive_free(struct archive *archive);

/* Unpacks the archive below root, as one layer of an image; a name that leads out is an error, and
 * devices are left out. digest: what the file's must be, in hex; NULL: any. */
int layer_unpack(int fd, int root, bool whiteouts, const char *digest, struct error **ret_error);
