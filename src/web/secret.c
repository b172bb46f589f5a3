/* SPDX-License-Identifier: Apache-2.0 */
#include "secret.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SECRET_BYTES = 32 };

void secret_make(char text[static SECRET_TEXT])
{
	unsigned char bytes[SECRET_BYTES];
	size_t got = 0;

	while (got < sizeof(bytes)) {
		ssize_t more = getrandom(bytes + got, sizeof(bytes) - got, 0);

		if (more < 0 && errno != EINTR)
			abort();
		got += more > 0 ? (size_t)more : 0;
	}
	sodium_bin2base64(text, SECRET_TEXT, bytes, sizeof(bytes),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(bytes, sizeof(bytes));
}

bool secret_is_one(const char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	return text && strlen(text) == SECRET_TEXT - 1 && strspn(text, letters) == SECRET_TEXT - 1;
}

void secret_hash(const char *purpose, const char *secret, char hash[static SECRET_HASH_TEXT])
{
	unsigned char bytes[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	crypto_hash_sha256_update(&state, (const unsigned char *)purpose, strlen(purpose) + 1);
	crypto_hash_sha256_update(&state, (const unsigned char *)secret, strlen(secret));
	crypto_hash_sha256_final(&state, bytes);
	sodium_bin2hex(hash, SECRET_HASH_TEXT, bytes, sizeof(bytes));
}

bool secret_equal(const char *a, const char *b)
{
	return a && b && strlen(a) == strlen(b) && sodium_memcmp(a, b, strlen(a)) == 0;
}
