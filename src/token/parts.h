/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room. */
#pragma once

#include "token.h"

#define TOKEN_LOCATION	  "ward"
#define APPROVER_LOCATION "ward approver"

/* base64url without padding, and nothing else: libsodium takes bytes above 127 for some of its
 * letters. *ret_count: of what was written, at most room. */
bool base64_read(const char *text, size_t length, unsigned char *bytes, size_t room,
		 size_t *ret_count);

/* One caveat's text into the powers. mark: of the chain behind it; "" in an approval, which counts
 * no uses. */
int caveat_take(const struct bytes *text, const char *mark, struct powers *powers,
		struct error **ret_error);
/* Adds them to the chain, in their order. */
int caveats_write(struct macaroon *macaroon, const struct caveats *caveats,
		  struct error **ret_error);
/* A time as a caveat has it. */
enum { CAVEAT_TIME = 24 };
void caveat_time(int64_t time, char ret_text[CAVEAT_TIME]);
int caveat_read_time(const char *text, int64_t *ret_time);

/* One caveat that wants an approver: "approval by ed25519:KEY SEALED". */
int approval_write(struct macaroon *macaroon, const char *approver, struct error **ret_error);
/* Finds its discharge and takes what that says into the powers. walk stands before the caveat. */
int approval_check(const struct token *token, const struct macaroon_walk *walk, bool believed,
		   bool *used, struct powers *powers, struct error **ret_error);
