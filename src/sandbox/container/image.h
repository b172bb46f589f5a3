/* SPDX-License-Identifier: Apache-2.0 */
/* Images: an OCI layout, as a directory or as an archive, or an archive of a tree; unpacked once
 * and kept in ward's state. */
#pragma once

#include "../../base/error.h"
#include "../../base/list.h"

enum { IMAGE_LAYERS_MOST = 256, IMAGE_TEXT_MOST = 4 << 20 };

/* The directory of the unpacked image, below store; made where it is not there yet. Caller frees.
 */
int image_open(const char *path, const char *store, char **ret_root, struct error **ret_error);
/* The same by a reference, which podman or docker of this machine knows; home: whose they are. */
int image_fetch(const char *reference, const char *home, const char *store, char **ret_root,
		struct error **ret_error);
/* What its configuration has as variables, NAME=VALUE each, every name once. root: as image_open()
 * or image_fetch() gave it. */
int image_environment(const char *root, struct list *ret_environment, struct error **ret_error);
/* The image that was made of what has this name, which is one of few words of ward's own; NULL: it
 * is not known, or no longer there. Caller frees. */
char *image_known(const char *store, const char *name);
void image_remember(const char *store, const char *name, const char *root);
/* A directory of the store for what is not finished, gone with whoever makes it. */
struct image_room {
	int store;
	char name[32]; /* of the new directory; "": none is being made */
	int directory; /* itself, locked */
};
int image_room_make(const char *store, struct image_room *ret_room, struct error **ret_error);
void image_room_done(struct image_room *room);
/* Removes what was begun and never finished, by whoever was killed. */
void image_sweep(const char *store);

/* A file of an image that is not unpacked yet, by its path in there, from which no link leads out:
 * whoever made it says what is opened. -1 and errno. */
int image_open_part(int image, const char *path);
/* All of a text; 0 or -errno. The caller frees. */
int image_read_part(int image, const char *path, char **ret_text, size_t *ret_length);

/* What an index or a manifest says: the digest (sha256, in hex) of the manifest for this machine,
 * or of each layer in order; whichever it is of. Reads any text. */
struct image_manifest {
	char manifest[65]; /* of an index; "": it is a manifest */
	char config[65];   /* of a manifest; "": it names none */
	struct list layers;
};
/* Of an archive as `docker save` makes it, unpacked there: the layers' files, and their digests;
 * and its configuration, which the caller frees. */
bool image_is_saved(int saved);
int image_read_saved(int saved, struct list *ret_files, struct image_manifest *ret_manifest,
		     char **ret_config, struct error **ret_error);
/* The variables of a configuration, see image_environment(). Reads any text. */
int image_read_config(const char *text, size_t length, struct list *ret_environment,
		      struct error **ret_error);
int image_read_manifest(const char *text, size_t length, struct image_manifest *ret_manifest,
			struct error **ret_error);
