/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a token, as bytes and as text: what is read is written as the same bytes, what is
 * not signed is refused, and the bounds of what it says never grow with another caveat. */
#include "../../src/decide/bounds.h"
#include "../../src/token/token.h"

#include <sodium.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char key[MACAROON_KEY] = "a key that no input knows";

static void check_bounds(const struct powers *powers)
{
	_cleanup_list_ struct list before = {0};

	for (size_t i = 1; i <= powers->allow_count; i++) {
		struct list bounds = {0};

		if (bounds_make(powers->allows, i, "/ws", "/home/u", &bounds, NULL) < 0)
			return;
		for (size_t b = 0; i > 1 && b < bounds.count; b++)
			if (!bounds_allow(&before, bounds.items[b]))
				abort();
		list_done(&before);
		before = bounds;
	}
}

static void check(const char *text)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_token_ struct token token = {0};
	_cleanup_powers_ struct powers powers = {0}, none = {0};
	_cleanup_free_ char *again = NULL;

	if (token_read(text, &token, &error) < 0)
		return;
	again = token_write(&token);
	if (strcmp(again, text) != 0 || token_check(&token, key, &none, NULL) == 0)
		abort();
	if (token_check(&token, NULL, &powers, NULL) == 0)
		check_bounds(&powers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *plain = strndup((const char *)data, size), *encoded = NULL;
	size_t room = sodium_base64_encoded_len(size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);

	encoded = malloc(room);
	sodium_bin2base64(encoded, room, data, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	check(plain);
	check(encoded);
	return 0;
}
