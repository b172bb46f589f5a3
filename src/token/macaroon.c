/* SPDX-License-Identifier: Apache-2.0 */
/* The chain: keys, signatures, caveats. */
#include "macaroon.h"

#include <sodium.h>
#include <string.h>

static void copy_bytes(const void *data, size_t length, struct bytes *ret_bytes)
{
	*ret_bytes = (struct bytes){.length = length};
	if (length == 0)
		return;
	ret_bytes->data = malloc(length);
	if (!ret_bytes->data)
		abort();
	memcpy(ret_bytes->data, data, length);
}

static void hash(const unsigned char key[MACAROON_KEY], const void *data, size_t length,
		 unsigned char ret_hash[MACAROON_KEY])
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, MACAROON_KEY);
	crypto_auth_hmacsha256_update(&state, data, length);
	crypto_auth_hmacsha256_final(&state, ret_hash);
}

/* Of two things at once: each is hashed by itself, so that none can pass for part of the other. */
static void hash_both(const unsigned char key[MACAROON_KEY], const void *one, size_t one_length,
		      const void *other, size_t other_length, unsigned char ret_hash[MACAROON_KEY])
{
	unsigned char both[2 * MACAROON_KEY];

	hash(key, one, one_length, both);
	hash(key, other, other_length, both + MACAROON_KEY);
	hash(key, both, sizeof(both), ret_hash);
}

void macaroon_derive_key(const void *secret, size_t length, unsigned char ret_key[MACAROON_KEY])
{
	static const unsigned char generator[MACAROON_KEY] = "macaroons-key-generator";

	hash(generator, secret, length, ret_key);
}

void macaroon_make(const unsigned char key[MACAROON_KEY], const char *location, const void *id,
		   size_t length, struct macaroon *ret_macaroon)
{
	*ret_macaroon = (struct macaroon){0};
	copy_bytes(location, strlen(location), &ret_macaroon->location);
	copy_bytes(id, length, &ret_macaroon->id);
	hash(key, id, length, ret_macaroon->signature);
}

/* The signature over one more caveat. */
static void sign(unsigned char signature[MACAROON_KEY], const struct macaroon_caveat *caveat)
{
	unsigned char before[MACAROON_KEY];

	memcpy(before, signature, sizeof(before));
	if (caveat->sealed.length)
		hash_both(before, caveat->sealed.data, caveat->sealed.length, caveat->id.data,
			  caveat->id.length, signature);
	else
		hash(before, caveat->id.data, caveat->id.length, signature);
}

static struct macaroon_caveat *add(struct macaroon *macaroon, const void *id, size_t length)
{
	struct macaroon_caveat *caveat;

	if (length == 0 || length > MACAROON_FIELD || macaroon->count == MACAROON_CAVEATS)
		return NULL;
	macaroon->caveats = reallocarray(macaroon->caveats, macaroon->count + 1, sizeof(*caveat));
	if (!macaroon->caveats)
		abort();
	caveat = &macaroon->caveats[macaroon->count++];
	*caveat = (struct macaroon_caveat){0};
	copy_bytes(id, length, &caveat->id);
	return caveat;
}

bool macaroon_add(struct macaroon *macaroon, const void *id, size_t length)
{
	const struct macaroon_caveat *caveat = add(macaroon, id, length);

	if (caveat)
		sign(macaroon->signature, caveat);
	return caveat;
}

bool macaroon_add_third_party(struct macaroon *macaroon, const char *location, const void *id,
			      size_t length, const unsigned char key[MACAROON_KEY])
{
	unsigned char sealed[MACAROON_SEALED];
	struct macaroon_caveat *caveat = add(macaroon, id, length);

	if (!caveat)
		return false;
	randombytes_buf(sealed, crypto_secretbox_NONCEBYTES);
	(void)crypto_secretbox_easy(sealed + crypto_secretbox_NONCEBYTES, key, MACAROON_KEY, sealed,
				    macaroon->signature);
	copy_bytes(location, strlen(location), &caveat->location);
	copy_bytes(sealed, sizeof(sealed), &caveat->sealed);
	sign(macaroon->signature, caveat);
	return true;
}

static void bound_signature(const unsigned char discharge[MACAROON_KEY],
			    const unsigned char to[MACAROON_KEY],
			    unsigned char ret_signature[MACAROON_KEY])
{
	static const unsigned char zeros[MACAROON_KEY];
	unsigned char before[MACAROON_KEY];

	memcpy(before, discharge, sizeof(before));
	hash_both(zeros, to, MACAROON_KEY, before, sizeof(before), ret_signature);
}

void macaroon_bind(struct macaroon *discharge, const struct macaroon *to)
{
	bound_signature(discharge->signature, to->signature, discharge->signature);
}

void macaroon_walk_begin(struct macaroon_walk *walk, const struct macaroon *macaroon,
			 const unsigned char key[MACAROON_KEY])
{
	*walk = (struct macaroon_walk){.macaroon = macaroon};
	hash(key, macaroon->id.data, macaroon->id.length, walk->signature);
}

void macaroon_walk_on(struct macaroon_walk *walk)
{
	sign(walk->signature, &walk->macaroon->caveats[walk->next++]);
}

bool macaroon_walk_open(const struct macaroon_walk *walk, unsigned char ret_key[MACAROON_KEY])
{
	const struct bytes *sealed = &walk->macaroon->caveats[walk->next].sealed;

	return sealed->length == MACAROON_SEALED &&
	       crypto_secretbox_open_easy(ret_key, sealed->data + crypto_secretbox_NONCEBYTES,
					  sealed->length - crypto_secretbox_NONCEBYTES,
					  sealed->data, walk->signature) == 0;
}

bool macaroon_walk_agrees(const struct macaroon_walk *walk, const struct macaroon *bound)
{
	unsigned char expected[MACAROON_KEY];

	memcpy(expected, walk->signature, sizeof(expected));
	if (bound)
		bound_signature(expected, bound->signature, expected);
	return sodium_memcmp(expected, walk->macaroon->signature, sizeof(expected)) == 0;
}

void macaroon_done(struct macaroon *macaroon)
{
	for (size_t i = 0; i < macaroon->count; i++) {
		free(macaroon->caveats[i].location.data);
		free(macaroon->caveats[i].id.data);
		free(macaroon->caveats[i].sealed.data);
	}
	free(macaroon->caveats);
	free(macaroon->location.data);
	free(macaroon->id.data);
	sodium_memzero(macaroon, sizeof(*macaroon));
}
