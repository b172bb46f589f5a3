/* SPDX-License-Identifier: Apache-2.0 */
/* Messages signed with a secret that both sides know (HMAC-SHA256), as webhooks do it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SIGN_TEXT = 65,		    /* 64 hexadecimal digits */
	SIGNATURE_TEXT = 128,	    /* of a whole header */
	SIGNATURE_SECONDS = 5 * 60, /* that one is good for, before and after its time */
};

struct sign_part {
	const void *data;
	size_t length;
};

/* Of the parts one behind the other. */
void sign_parts(const char *secret, const struct sign_part *parts, size_t count,
		char ret_text[static SIGN_TEXT]);

/* "t=TIME,v1=HEX" over TIME "." BODY. */
void signature_make(const char *secret, int64_t time, const char *body, size_t length,
		    char ret_text[static SIGNATURE_TEXT]);

enum signature_verdict { SIGNATURE_GOOD, SIGNATURE_BAD, SIGNATURE_OLD };
/* Of such a header, with any number of v1 up to 4, so that a secret can be changed. */
enum signature_verdict signature_check(const char *secret, const char *header, int64_t now,
				       const char *body, size_t length);
/* Of Slack's two headers: "v0=HEX" over "v0:" TIME ":" BODY. */
enum signature_verdict signature_check_slack(const char *secret, const char *header,
					     const char *time, int64_t now, const char *body,
					     size_t length);
