/* SPDX-License-Identifier: Apache-2.0 */
/* Signing, and looking at signatures. Whose is wrong learns nothing of how wrong it is, and whether
 * it is too old only if it is right. */
#include "sign.h"
#include "macro.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX = 64, SIGNATURES = 4, TIME_DIGITS = 12 };

void sign_parts(const char *secret, const struct sign_part *parts, size_t count,
		char ret_text[static SIGN_TEXT])
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, (const unsigned char *)secret, strlen(secret));
	for (size_t i = 0; i < count; i++)
		crypto_auth_hmacsha256_update(&state, parts[i].data, parts[i].length);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_bin2hex(ret_text, SIGN_TEXT, mac, sizeof(mac));
}

static void sign_timed(const char *secret, const char *time, size_t time_length, const char *body,
		       size_t length, char ret_text[static SIGN_TEXT])
{
	const struct sign_part parts[] = {{time, time_length}, {".", 1}, {body, length}};

	sign_parts(secret, parts, ELEMENTS(parts), ret_text);
}

void signature_make(const char *secret, int64_t time, const char *body, size_t length,
		    char ret_text[static SIGNATURE_TEXT])
{
	char stamp[24], text[SIGN_TEXT];

	snprintf(stamp, sizeof(stamp), "%" PRId64, time);
	sign_timed(secret, stamp, strlen(stamp), body, length, text);
	snprintf(ret_text, SIGNATURE_TEXT, "t=%s,v1=%s", stamp, text);
}

static bool is_equal(const char *one, const char *other)
{
	return sodium_memcmp(one, other, HEX) == 0;
}

/* Digits and nothing else, few enough to be a number. */
static bool read_time(const char *text, size_t length, int64_t *ret_time)
{
	char digits[TIME_DIGITS + 1];

	if (length == 0 || length > TIME_DIGITS)
		return false;
	memcpy(digits, text, length);
	digits[length] = '\0';
	if (strspn(digits, "0123456789") != length)
		return false;
	*ret_time = strtoll(digits, NULL, 10);
	return true;
}

static enum signature_verdict judge_time(int64_t time, int64_t now)
{
	return time > now - SIGNATURE_SECONDS && time < now + SIGNATURE_SECONDS ? SIGNATURE_GOOD
										: SIGNATURE_OLD;
}

enum signature_verdict signature_check(const char *secret, const char *header, int64_t now,
				       const char *body, size_t length)
{
	const char *stamp = NULL, *given[SIGNATURES];
	size_t stamp_length = 0, count = 0;
	char right[SIGN_TEXT];
	bool good = false;
	int64_t time = 0;

	for (const char *at = header; *at;) {
		size_t word = strcspn(at, ",");

		if (strncmp(at, "t=", 2) == 0 && word > 2 && !stamp) {
			stamp = at + 2;
			stamp_length = word - 2;
		} else if (strncmp(at, "v1=", 3) == 0 && word == 3 + HEX && count < SIGNATURES) {
			given[count++] = at + 3;
		} else {
			return SIGNATURE_BAD;
		}
		at += word;
		at += *at == ',';
	}
	if (!stamp || !read_time(stamp, stamp_length, &time))
		return SIGNATURE_BAD;
	sign_timed(secret, stamp, stamp_length, body, length, right);
	for (size_t i = 0; i < count; i++)
		good |= is_equal(given[i], right);
	return good ? judge_time(time, now) : SIGNATURE_BAD;
}

enum signature_verdict signature_check_slack(const char *secret, const char *header,
					     const char *time, int64_t now, const char *body,
					     size_t length)
{
	const struct sign_part parts[] = {
		{"v0:", 3}, {time, strlen(time)}, {":", 1}, {body, length}};
	char right[SIGN_TEXT];
	int64_t stamp;

	if (strncmp(header, "v0=", 3) != 0 || strlen(header) != 3 + HEX ||
	    !read_time(time, strlen(time), &stamp))
		return SIGNATURE_BAD;
	sign_parts(secret, parts, ELEMENTS(parts), right);
	return is_equal(header + 3, right) ? judge_time(stamp, now) : SIGNATURE_BAD;
}
