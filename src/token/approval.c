/* SPDX-License-Identifier: Apache-2.0 */
/* "Needs approval by": a caveat of a third party. Its id holds the approver's public key and,
 * sealed for it, the key that a discharge is made with; the discharge ends with the approver's
 * signature, which not even ward can make. So an approval is both a macaroon as others know it and
 * a paper that anyone can check who has the public key. */
#include "parts.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define KIND	 "ed25519:"
#define NEEDS	 "approval by " KIND
#define APPROVED "approved "

enum {
	BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
	PUBLIC = crypto_sign_PUBLICKEYBYTES,
	PUBLIC_TEXT = 43,
	SEALED = crypto_box_SEALBYTES + MACAROON_KEY,
	SIGNATURE_TEXT = 86,
};

static bool decode(const char *text, size_t length, unsigned char *ret_bytes, size_t wanted)
{
	size_t count;

	return base64_read(text, length, ret_bytes, wanted, &count) && count == wanted;
}

static void write_public(const unsigned char key[PUBLIC], char ret_public[TOKEN_APPROVER])
{
	char text[PUBLIC_TEXT + 1];

	sodium_bin2base64(text, sizeof(text), key, PUBLIC, BASE64);
	snprintf(ret_public, TOKEN_APPROVER, KIND "%s", text);
}

void approver_make(unsigned char ret_seed[32], char ret_public[TOKEN_APPROVER])
{
	unsigned char public[PUBLIC], secret[crypto_sign_SECRETKEYBYTES];

	randombytes_buf(ret_seed, crypto_sign_SEEDBYTES);
	crypto_sign_seed_keypair(public, secret, ret_seed);
	sodium_memzero(secret, sizeof(secret));
	write_public(public, ret_public);
}

int approval_write(struct macaroon *macaroon, const char *approver, struct error **ret_error)
{
	unsigned char public[PUBLIC], box[crypto_box_PUBLICKEYBYTES], secret[MACAROON_KEY];
	unsigned char key[MACAROON_KEY], sealed[SEALED];
	char text[2 * SEALED];
	_cleanup_buffer_ struct buffer id = {0};
	const char *name = approver + strlen(KIND);

	if (strncmp(approver, KIND, strlen(KIND)) != 0 ||
	    !decode(name, strlen(name), public, sizeof(public)) ||
	    crypto_sign_ed25519_pk_to_curve25519(box, public) < 0) {
		fail(ret_error, E_USAGE, "'%s' is no public key of an approver", approver);
		return error_hint(ret_error, "`ward token key FILE` makes one and prints it");
	}
	randombytes_buf(secret, sizeof(secret));
	macaroon_derive_key(secret, sizeof(secret), key);
	(void)crypto_box_seal(sealed, secret, sizeof(secret), box);
	sodium_bin2base64(text, sizeof(text), sealed, sizeof(sealed), BASE64);
	buffer_printf(&id, NEEDS "%s %s", name, text);
	if (!macaroon_add_third_party(macaroon, APPROVER_LOCATION, id.data, id.length, key))
		return fail(ret_error, E_USAGE, "a token has at most %d caveats", MACAROON_CAVEATS);
	return 0;
}

/* The two parts of such an id. */
static bool read_id(const struct bytes *id, unsigned char ret_public[PUBLIC],
		    unsigned char ret_sealed[SEALED])
{
	size_t head = strlen(NEEDS) + PUBLIC_TEXT + 1;

	return id->length > head && memcmp(id->data, NEEDS, strlen(NEEDS)) == 0 &&
	       id->data[head - 1] == ' ' &&
	       decode((const char *)id->data + strlen(NEEDS), PUBLIC_TEXT, ret_public, PUBLIC) &&
	       decode((const char *)id->data + head, id->length - head, ret_sealed, SEALED);
}

/* What the approver signs: all that the discharge says before the signature, and what for. The
 * token as a whole is in it: an approver cannot check ward's signature, and what he was shown may
 * have been another token with the signature of this one. */
static void write_statement(const struct macaroon *root, const struct macaroon *discharge,
			    size_t count, struct buffer *ret_statement)
{
	_cleanup_buffer_ struct buffer token = {0};
	unsigned char hash[crypto_hash_sha256_BYTES];
	char hex[2 * sizeof(hash) + 1];

	macaroon_write(root, &token);
	crypto_hash_sha256(hash, (const unsigned char *)token.data, token.length);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	buffer_printf(ret_statement, "ward approval 1\ntoken sha256:%s\n", hex);
	for (size_t i = 0; i < count; i++) {
		buffer_add(ret_statement, discharge->caveats[i].id.data,
			   discharge->caveats[i].id.length);
		buffer_add_char(ret_statement, '\n');
	}
	buffer_add(ret_statement, discharge->id.data, discharge->id.length);
}

static void make_discharge(const struct macaroon *root, const struct bytes *id,
			   const unsigned char secret[MACAROON_KEY],
			   const unsigned char signing[crypto_sign_SECRETKEYBYTES], int64_t expires,
			   struct macaroon *ret_discharge)
{
	unsigned char key[MACAROON_KEY], signature[crypto_sign_BYTES];
	char when[CAVEAT_TIME], text[SIGNATURE_TEXT + 1];
	_cleanup_buffer_ struct buffer statement = {0}, line = {0};

	macaroon_derive_key(secret, MACAROON_KEY, key);
	macaroon_make(key, APPROVER_LOCATION, id->data, id->length, ret_discharge);
	caveat_time(expires, when);
	buffer_printf(&line, "expires %s", when);
	(void)macaroon_add(ret_discharge, line.data, line.length);
	write_statement(root, ret_discharge, ret_discharge->count, &statement);
	crypto_sign_detached(signature, NULL, (const unsigned char *)statement.data,
			     statement.length, signing);
	sodium_bin2base64(text, sizeof(text), signature, sizeof(signature), BASE64);
	buffer_done(&line);
	buffer_printf(&line, APPROVED "%s", text);
	(void)macaroon_add(ret_discharge, line.data, line.length);
	sodium_memzero(key, sizeof(key));
}

static bool is_discharged(const struct token *token, const struct bytes *id)
{
	for (size_t i = 0; i < token->count; i++)
		if (token->discharges[i].id.length == id->length &&
		    memcmp(token->discharges[i].id.data, id->data, id->length) == 0)
			return true;
	return false;
}

static void add_discharge(struct token *token, struct macaroon *discharge)
{
	macaroon_bind(discharge, &token->root);
	token->discharges =
		reallocarray(token->discharges, token->count + 1, sizeof(*token->discharges));
	if (!token->discharges)
		abort();
	token->discharges[token->count++] = *discharge;
}

int token_approve(struct token *token, const unsigned char seed[32], int64_t expires,
		  struct error **ret_error)
{
	unsigned char public[PUBLIC], signing[crypto_sign_SECRETKEYBYTES];
	unsigned char box[crypto_box_PUBLICKEYBYTES], box_secret[crypto_box_SECRETKEYBYTES];
	unsigned char named[PUBLIC], sealed[SEALED], secret[MACAROON_KEY];
	size_t given = 0;

	crypto_sign_seed_keypair(public, signing, seed);
	(void)!crypto_sign_ed25519_pk_to_curve25519(box, public);
	(void)!crypto_sign_ed25519_sk_to_curve25519(box_secret, signing);
	for (size_t i = 0; i < token->root.count && token->count < TOKEN_DISCHARGES; i++) {
		const struct macaroon_caveat *caveat = &token->root.caveats[i];
		struct macaroon discharge;

		if (!caveat->sealed.length || !read_id(&caveat->id, named, sealed) ||
		    sodium_memcmp(named, public, sizeof(named)) != 0 ||
		    is_discharged(token, &caveat->id) ||
		    crypto_box_seal_open(secret, sealed, sizeof(sealed), box, box_secret) < 0)
			continue;
		make_discharge(&token->root, &caveat->id, secret, signing, expires, &discharge);
		add_discharge(token, &discharge);
		given++;
	}
	sodium_memzero(signing, sizeof(signing));
	sodium_memzero(box_secret, sizeof(box_secret));
	sodium_memzero(secret, sizeof(secret));
	if (given)
		return 0;
	fail(ret_error, E_REJECTED, "the token does not need an approval by this key");
	return error_hint(ret_error, "`ward token show` says whose it needs");
}

/* The last caveat of a discharge: the approver's word for all before it. */
static bool is_signed(const struct macaroon *root, const struct macaroon *discharge,
		      const unsigned char public[PUBLIC])
{
	const struct bytes *last =
		discharge->count ? &discharge->caveats[discharge->count - 1].id : NULL;
	_cleanup_buffer_ struct buffer statement = {0};
	unsigned char signature[crypto_sign_BYTES];

	if (!last || last->length != strlen(APPROVED) + SIGNATURE_TEXT ||
	    memcmp(last->data, APPROVED, strlen(APPROVED)) != 0 ||
	    !decode((const char *)last->data + strlen(APPROVED), SIGNATURE_TEXT, signature,
		    sizeof(signature)))
		return false;
	write_statement(root, discharge, discharge->count - 1, &statement);
	return crypto_sign_verify_detached(signature, (const unsigned char *)statement.data,
					   statement.length, public) == 0;
}

/* What stands in it narrows like what stands in the token. */
static int check_discharge(const struct macaroon *discharge, const struct macaroon *root,
			   const unsigned char *key, struct powers *powers,
			   struct error **ret_error)
{
	struct macaroon_walk walk;
	int r = 0;

	if (key) {
		macaroon_walk_begin(&walk, discharge, key);
		for (size_t i = 0; i < discharge->count; i++)
			macaroon_walk_on(&walk);
		if (!macaroon_walk_agrees(&walk, root))
			return fail(ret_error, E_REJECTED,
				    "the approval is not one for this token");
	}
	for (size_t i = 0; i + 1 < discharge->count && r == 0; i++)
		r = discharge->caveats[i].sealed.length || discharge->caveats[i].location.length
			    ? fail(ret_error, E_REJECTED,
				   "the approval has a caveat that this ward does not know")
			    : caveat_take(&discharge->caveats[i].id, "", powers, ret_error);
	return r;
}

int approval_check(const struct token *token, const struct macaroon_walk *walk, bool believed,
		   bool *used, struct powers *powers, struct error **ret_error)
{
	const struct macaroon_caveat *caveat = &walk->macaroon->caveats[walk->next];
	unsigned char public[PUBLIC], sealed[SEALED], key[MACAROON_KEY];
	char name[TOKEN_APPROVER];

	if (caveat->location.length != strlen(APPROVER_LOCATION) ||
	    memcmp(caveat->location.data, APPROVER_LOCATION, strlen(APPROVER_LOCATION)) != 0 ||
	    !read_id(&caveat->id, public, sealed) || (believed && !macaroon_walk_open(walk, key)))
		return fail(ret_error, E_REJECTED,
			    "the token has a caveat that this ward does not know");
	write_public(public, name);
	list_add(&powers->approvers, name);
	for (size_t i = 0; i < token->count; i++) {
		const struct macaroon *discharge = &token->discharges[i];
		int r;

		if (used[i] || discharge->id.length != caveat->id.length ||
		    memcmp(discharge->id.data, caveat->id.data, caveat->id.length) != 0)
			continue;
		used[i] = true;
		r = check_discharge(discharge, &token->root, believed ? key : NULL, powers,
				    ret_error);
		if (r < 0)
			return r;
		if (!is_signed(&token->root, discharge, public) ||
		    discharge->location.length != strlen(APPROVER_LOCATION) ||
		    memcmp(discharge->location.data, APPROVER_LOCATION,
			   strlen(APPROVER_LOCATION)) != 0)
			return fail(ret_error, E_REJECTED, "the approval is not signed by %s",
				    name);
		powers->approved++;
		return 0;
	}
	if (!believed)
		return 0;
	fail(ret_error, E_REJECTED, "the token needs the approval of %s", name);
	return error_hint(ret_error, "`ward token approve TOKEN --key FILE` gives it");
}
