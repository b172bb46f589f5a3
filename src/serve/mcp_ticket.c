/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_ticket.h"

#include <stdlib.h>
#include <string.h>

enum { VARIANT = sodium_base64_VARIANT_URLSAFE_NO_PADDING };

struct sealed {
	struct mcp_ticket ticket; /* of this process, so its own layout will do */
	unsigned char mac[crypto_auth_BYTES];
};

void mcp_ticket_hash(json_t *params, unsigned char ret_hash[static crypto_generichash_BYTES])
{
	json_t *name = json_object_get(params, "name"),
	       *arguments = json_object_get(params, "arguments");
	json_t *both =
		json_pack("[O, O]", name ? name : json_null(), arguments ? arguments : json_null());
	char *text = json_dumps(both, JSON_COMPACT | JSON_SORT_KEYS);

	if (!text)
		abort();
	crypto_generichash(ret_hash, crypto_generichash_BYTES, (const unsigned char *)text,
			   strlen(text), NULL, 0);
	free(text);
	json_decref(both);
}

char *mcp_ticket_seal(const mcp_key key, const struct mcp_ticket *ticket)
{
	const size_t room = sodium_base64_ENCODED_LEN(sizeof(struct sealed), VARIANT);
	char *text = malloc(room);
	struct sealed sealed;

	if (!text)
		abort();
	memset(&sealed, 0, sizeof(sealed));
	sealed.ticket = *ticket;
	crypto_auth(sealed.mac, (const unsigned char *)&sealed.ticket, sizeof(sealed.ticket), key);
	return sodium_bin2base64(text, room, (const unsigned char *)&sealed, sizeof(sealed),
				 VARIANT);
}

bool mcp_ticket_open(const mcp_key key, const char *text, struct mcp_ticket *ret_ticket)
{
	struct sealed sealed;
	size_t length = 0;

	if (sodium_base642bin((unsigned char *)&sealed, sizeof(sealed), text, strlen(text), NULL,
			      &length, NULL, VARIANT) < 0 ||
	    length != sizeof(sealed) ||
	    crypto_auth_verify(sealed.mac, (const unsigned char *)&sealed.ticket,
			       sizeof(sealed.ticket), key) < 0)
		return false;
	*ret_ticket = sealed.ticket;
	return true;
}
