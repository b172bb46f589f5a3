/* SPDX-License-Identifier: Apache-2.0 */
/* Macaroons: a chain of HMACs in which each caveat is signed with the signature before it, so that
 * whoever holds one can add a caveat and nobody can take one off. Version 2 of the binary format,
 * and the keys as libmacaroons derives them. Nothing here knows what a caveat means. */
#pragma once

#include "../base/buffer.h"
#include "../base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum {
	MACAROON_KEY = 32,	   /* of a key and of a signature */
	MACAROON_FIELD = 8192,	   /* bytes of one field at most */
	MACAROON_CAVEATS = 128,	   /* at most */
	MACAROON_SEALED = 24 + 48, /* a nonce, and a key in a secret box */
};

struct bytes {
	unsigned char *data; /* NULL where there are none */
	size_t length;
};

struct macaroon_caveat {
	struct bytes location, id;
	struct bytes sealed; /* of a third party: the key of its discharge; else empty */
};

struct macaroon {
	struct bytes location, id;
	struct macaroon_caveat *caveats;
	size_t count;
	unsigned char signature[MACAROON_KEY];
};

/* The key of a chain from a secret of any length. */
void macaroon_derive_key(const void *secret, size_t length, unsigned char ret_key[MACAROON_KEY]);
/* A new one without caveats. */
void macaroon_make(const unsigned char key[MACAROON_KEY], const char *location, const void *id,
		   size_t length, struct macaroon *ret_macaroon);
/* A caveat of the holder's own. False where there are too many, or it is too long. */
bool macaroon_add(struct macaroon *macaroon, const void *id, size_t length);
/* One that a third party discharges by a macaroon with this id and this key. */
bool macaroon_add_third_party(struct macaroon *macaroon, const char *location, const void *id,
			      size_t length, const unsigned char key[MACAROON_KEY]);
/* A discharge as it is sent along: it is good for this macaroon as it is now, and no other. */
void macaroon_bind(struct macaroon *discharge, const struct macaroon *to);

/* The chain once more, step by step: before the first caveat, over one, and what a bound discharge
 * must have at its end. */
struct macaroon_walk {
	const struct macaroon *macaroon;
	size_t next; /* caveat */
	unsigned char signature[MACAROON_KEY];
};
void macaroon_walk_begin(struct macaroon_walk *walk, const struct macaroon *macaroon,
			 const unsigned char key[MACAROON_KEY]);
void macaroon_walk_on(struct macaroon_walk *walk);
/* The key of the discharge of the caveat that is next. False where it was not sealed by whoever
 * made the chain. */
bool macaroon_walk_open(const struct macaroon_walk *walk, unsigned char ret_key[MACAROON_KEY]);
/* At the end: true if the signature is the one. bound: to what it was bound, or NULL. */
bool macaroon_walk_agrees(const struct macaroon_walk *walk, const struct macaroon *bound);

/* One from the beginning of the bytes; *ret_used: how many of them it took. Only the one way of
 * writing it is read. */
int macaroon_read(const unsigned char *data, size_t length, size_t *ret_used,
		  struct macaroon *ret_macaroon, struct error **ret_error);
void macaroon_write(const struct macaroon *macaroon, struct buffer *to);
void macaroon_done(struct macaroon *macaroon);
