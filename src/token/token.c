/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: reading, making, narrowing, checking. */
#include "parts.h"
#include "../base/path.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

/* What every token of ward's begins with, in this order: so that a chain that says nothing about
 * one of them is not everything, and cannot become something by what its holder adds. */
static const char *const beginning[] = {"allow ", "agent ", "expires "};

bool base64_read(const char *text, size_t length, unsigned char *bytes, size_t room,
		 size_t *ret_count)
{
	const char *end;

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] > 127)
			return false;
	return sodium_base642bin(bytes, room, text, length, NULL, ret_count, &end, BASE64) == 0 &&
	       end == text + length;
}

static int read_parts(const unsigned char *data, size_t length, struct token *token,
		      struct error **ret_error)
{
	size_t used = 0;
	int r = macaroon_read(data, length, &used, &token->root, ret_error);

	token->discharges = calloc(TOKEN_DISCHARGES, sizeof(*token->discharges));
	if (!token->discharges)
		abort();
	while (r == 0 && used < length) {
		size_t more;

		if (token->count == TOKEN_DISCHARGES)
			return fail(ret_error, E_INPUT, "the token has more than %d approvals",
				    TOKEN_DISCHARGES);
		r = macaroon_read(data + used, length - used, &more,
				  &token->discharges[token->count], ret_error);
		if (r == 0) {
			token->count++;
			used += more;
		}
	}
	return r;
}

int token_read(const char *text, struct token *ret_token, struct error **ret_error)
{
	_cleanup_free_ unsigned char *data = NULL;
	size_t length = strlen(text), count;
	struct token token = {0};
	int r;

	if (length == 0 || length > TOKEN_TEXT)
		return fail(ret_error, E_INPUT, "a token has 1 to %d characters", TOKEN_TEXT);
	data = malloc(length);
	if (!data)
		abort();
	if (!base64_read(text, length, data, length, &count))
		return fail(ret_error, E_INPUT,
			    "the token is not base64url: something is missing or was changed");
	r = read_parts(data, count, &token, ret_error);
	if (r < 0) {
		token_done(&token);
		return r;
	}
	*ret_token = token;
	return 0;
}

char *token_write(const struct token *token)
{
	_cleanup_buffer_ struct buffer bytes = {0};
	char *text;
	size_t room;

	macaroon_write(&token->root, &bytes);
	for (size_t i = 0; i < token->count; i++)
		macaroon_write(&token->discharges[i], &bytes);
	room = sodium_base64_encoded_len(bytes.length, BASE64);
	text = malloc(room);
	if (!text)
		abort();
	return sodium_bin2base64(text, room, (const unsigned char *)bytes.data, bytes.length,
				 BASE64);
}

static void drop_discharges(struct token *token)
{
	for (size_t i = 0; i < token->count; i++)
		macaroon_done(&token->discharges[i]);
	free(token->discharges);
	token->discharges = NULL;
	token->count = 0;
}

void token_done(struct token *token)
{
	macaroon_done(&token->root);
	drop_discharges(token);
}

/* "ward 1 KEY ID ISSUED" */
static int read_id(const struct token *token, struct powers *powers, struct error **ret_error)
{
	const struct bytes *id = &token->root.id, *location = &token->root.location;
	_cleanup_free_ char *text = strndup((const char *)id->data, id->length);
	_cleanup_buffer_ struct buffer again = {0};
	char when[CAVEAT_TIME];

	if (location->length == strlen(TOKEN_LOCATION) &&
	    memcmp(location->data, TOKEN_LOCATION, location->length) == 0 &&
	    sscanf(text, "ward 1 %16s %26s %20s", powers->key, powers->id, when) == 3) {
		buffer_printf(&again, "ward 1 %s %s %s", powers->key, powers->id, when);
		if (again.length == id->length && memcmp(again.data, id->data, id->length) == 0 &&
		    id_is_one(powers->id) &&
		    strspn(powers->key, "0123456789abcdef") == TOKEN_KEY_NAME - 1 &&
		    caveat_read_time(when, &powers->issued) == 0)
			return 0;
	}
	return fail(ret_error, E_REJECTED, "the token is none of ward's");
}

int token_key_name(const struct token *token, char ret_name[TOKEN_KEY_NAME],
		   struct error **ret_error)
{
	struct powers powers = {0};
	int r = read_id(token, &powers, ret_error);

	if (r == 0)
		memcpy(ret_name, powers.key, TOKEN_KEY_NAME);
	return r;
}

/* A name for the chain as it stands, from which nobody can go on. */
static void make_mark(const unsigned char signature[MACAROON_KEY], char ret_mark[TOKEN_MARK])
{
	static const unsigned char purpose[] = "ward token mark";
	unsigned char bytes[MACAROON_KEY + sizeof(purpose)], hash[crypto_hash_sha256_BYTES];

	memcpy(bytes, signature, MACAROON_KEY);
	memcpy(bytes + MACAROON_KEY, purpose, sizeof(purpose));
	crypto_hash_sha256(hash, bytes, sizeof(bytes));
	sodium_bin2hex(ret_mark, TOKEN_MARK, hash, (TOKEN_MARK - 1) / 2);
}

void token_mark(const struct token *token, char ret_mark[TOKEN_MARK])
{
	make_mark(token->root.signature, ret_mark);
}

static bool begins_well(const struct macaroon *root)
{
	if (root->count < ELEMENTS(beginning))
		return false;
	for (size_t i = 0; i < ELEMENTS(beginning); i++) {
		const struct bytes *id = &root->caveats[i].id;

		if (root->caveats[i].sealed.length || id->length <= strlen(beginning[i]) ||
		    memcmp(id->data, beginning[i], strlen(beginning[i])) != 0)
			return false;
	}
	return true;
}

/* steps: the signature before each caveat, and behind the last. */
static int take_caveats(const struct token *token, bool believed,
			const unsigned char (*steps)[MACAROON_KEY], struct powers *powers,
			struct error **ret_error)
{
	const struct macaroon *root = &token->root;
	bool used[TOKEN_DISCHARGES] = {false};
	char mark[TOKEN_MARK];
	int r = 0;

	for (size_t i = 0; i < root->count && r == 0; i++) {
		const struct macaroon_caveat *caveat = &root->caveats[i];

		struct macaroon_walk walk = {.macaroon = root, .next = i};

		memcpy(walk.signature, steps[i], MACAROON_KEY);
		if (caveat->sealed.length)
			r = approval_check(token, &walk, believed, used, powers, ret_error);
		else if (caveat->location.length)
			r = fail(ret_error, E_REJECTED,
				 "the token has a caveat that this ward does not know");
		make_mark(steps[i + 1], mark);
		list_add(&powers->marks, mark);
		if (r == 0 && !caveat->sealed.length)
			r = caveat_take(&caveat->id, mark, powers, ret_error);
	}
	for (size_t i = 0; i < token->count && r == 0; i++)
		if (!used[i])
			r = fail(ret_error, E_REJECTED,
				 "the token comes with an approval that it did not need");
	return r;
}

int token_check(const struct token *token, const unsigned char *key, struct powers *ret_powers,
		struct error **ret_error)
{
	static const unsigned char none[MACAROON_KEY];
	unsigned char steps[MACAROON_CAVEATS + 1][MACAROON_KEY];
	struct macaroon_walk walk;
	struct powers powers = {0};
	int r = read_id(token, &powers, ret_error);

	macaroon_walk_begin(&walk, &token->root, key ? key : none);
	memcpy(steps[0], walk.signature, MACAROON_KEY);
	while (walk.next < token->root.count) {
		macaroon_walk_on(&walk);
		memcpy(steps[walk.next], walk.signature, MACAROON_KEY);
	}
	/* The chain first: nothing that it does not vouch for is looked at more closely. */
	if (r == 0 && key && !macaroon_walk_agrees(&walk, NULL))
		r = fail(ret_error, E_REJECTED,
			 "the token's signature does not agree: it was changed, or made elsewhere");
	if (r == 0 && !begins_well(&token->root))
		r = fail(ret_error, E_REJECTED, "the token is none of ward's");
	if (r == 0)
		r = take_caveats(token, key, steps, &powers, ret_error);
	if (r < 0) {
		powers_done(&powers);
		return r;
	}
	*ret_powers = powers;
	return 0;
}

void powers_done(struct powers *powers)
{
	free(powers->agent);
	list_done(&powers->workspaces);
	for (size_t i = 0; i < powers->allow_count; i++)
		list_done(&powers->allows[i]);
	free(powers->allows);
	free(powers->uses);
	list_done(&powers->marks);
	list_done(&powers->approvers);
	*powers = (struct powers){0};
}

int token_admits(const struct powers *powers, const struct bearer *bearer, struct error **ret_error)
{
	if (!bearer->agent || strcmp(bearer->agent, powers->agent) != 0) {
		fail(ret_error, E_REJECTED, "the token is not for %s%s",
		     bearer->agent ? "the agent " : "a run without an agent",
		     bearer->agent ? bearer->agent : "");
		return error_hint(ret_error, "it is for --agent %s", powers->agent);
	}
	for (size_t i = 0; i < powers->workspaces.count; i++)
		if (!bearer->workspace ||
		    !path_is_under(bearer->workspace, powers->workspaces.items[i])) {
			fail(ret_error, E_REJECTED, "the token is not for the workspace %s",
			     bearer->workspace ? bearer->workspace : "of nobody");
			return error_hint(ret_error, "it is for %s", powers->workspaces.items[i]);
		}
	if (powers->command[0] &&
	    (!bearer->command || strcmp(bearer->command, powers->command) != 0)) {
		fail(ret_error, E_REJECTED, "the token is for another command");
		return error_hint(
			ret_error,
			"it is for one command alone, without --env, --shell and --login");
	}
	return 0;
}

int token_mint(const unsigned char key[MACAROON_KEY], const char *key_name, int64_t now,
	       const struct caveats *caveats, struct token *ret_token, struct error **ret_error)
{
	_cleanup_buffer_ struct buffer text = {0};
	struct token token = {0};
	char id[ID_TEXT], when[CAVEAT_TIME];
	int r;

	id_make(id);
	caveat_time(now, when);
	buffer_printf(&text, "ward 1 %s %s %s", key_name, id, when);
	macaroon_make(key, TOKEN_LOCATION, text.data, text.length, &token.root);
	r = token_narrow(&token, caveats, ret_error);
	if (r == 0 && !begins_well(&token.root))
		r = fail(ret_error, E_USAGE,
			 "a token needs an agent, an end and something that it allows");
	if (r < 0)
		token_done(&token);
	else
		*ret_token = token;
	return r;
}

int token_narrow(struct token *token, const struct caveats *caveats, struct error **ret_error)
{
	int r = caveats_write(&token->root, caveats, ret_error);

	if (r == 0 && caveats->approver)
		r = approval_write(&token->root, caveats->approver, ret_error);
	drop_discharges(token);
	return r;
}

void token_command_hash(const struct list *argv, const char *script, char ret_hash[TOKEN_COMMAND])
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state state;

	crypto_hash_sha256_init(&state);
	if (script)
		crypto_hash_sha256_update(&state, (const unsigned char *)"shell", sizeof("shell"));
	else
		crypto_hash_sha256_update(&state, (const unsigned char *)"exec", sizeof("exec"));
	if (script)
		crypto_hash_sha256_update(&state, (const unsigned char *)script,
					  strlen(script) + 1);
	for (size_t i = 0; !script && i < argv->count; i++)
		crypto_hash_sha256_update(&state, (const unsigned char *)argv->items[i],
					  strlen(argv->items[i]) + 1);
	crypto_hash_sha256_final(&state, hash);
	sodium_bin2hex(ret_hash, TOKEN_COMMAND, hash, sizeof(hash));
}
