/* SPDX-License-Identifier: Apache-2.0 */
/* What a token says of itself. Nothing of it is believed here: whoever holds one may have made it.
 */
#include "output.h"
#include "token_words.h"
#include "../../src/base/escape.h"
#include "../../src/base/units.h"
#include "../../src/request/text_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void when(int64_t seconds, char ret_text[static TIME_TEXT])
{
	time_text_of(&(struct timespec){.tv_sec = (time_t)seconds}, ret_text);
}

static json_t *to_json(const struct powers *powers)
{
	json_t *object = json_object(), *allows = json_array(), *uses = json_array();
	char issued[TIME_TEXT], expires[TIME_TEXT];

	when(powers->issued, issued);
	when(powers->expires, expires);
	for (size_t i = 0; i < powers->allow_count; i++) {
		json_t *one = json_object();

		json_put_list(one, "any_of", &powers->allows[i]);
		json_array_append_new(allows, one);
	}
	for (size_t i = 0; i < powers->use_count; i++)
		json_array_append_new(uses, json_integer((json_int_t)powers->uses[i].most));
	json_put_text(object, "id", powers->id);
	json_put_text(object, "key", powers->key);
	json_put_text(object, "issued", issued);
	json_put_text(object, "expires", expires);
	json_put_text(object, "agent", powers->agent);
	json_put(object, "allow", allows);
	json_put_list(object, "workspaces", &powers->workspaces);
	json_put_text(object, "command", powers->command[0] ? powers->command : NULL);
	json_put(object, "uses", uses);
	json_put_list(object, "approvers", &powers->approvers);
	json_put_count(object, "approved", powers->approved);
	return object;
}

static void line(const char *label, const char *text)
{
	_cleanup_buffer_ struct buffer escaped = {0};

	escape_for_terminal(&escaped, text, strlen(text));
	printf("%-10s %s\n", label, buffer_text(&escaped));
}

void token_show(const struct token *token, const struct powers *powers, bool json)
{
	char text[TIME_TEXT];

	if (json) {
		json_t *object = to_json(powers);

		output_json(object);
		json_decref(object);
		return;
	}
	line("token", powers->id);
	line("key", powers->key);
	when(powers->issued, text);
	line("issued", text);
	when(powers->expires, text);
	line("expires", text);
	/* The caveats as they stand: each narrows what is above it. */
	for (size_t i = 0; i < token->root.count; i++) {
		const struct macaroon_caveat *caveat = &token->root.caveats[i];
		_cleanup_free_ char *copy =
			strndup((const char *)caveat->id.data, caveat->id.length);
		const char *label = "caveat";

		if (caveat->sealed.length) /* what is sealed in it says nothing to people */
			*strrchr(copy, ' ') = '\0';
		for (char *rest = copy, *part; (part = strsep(&rest, "\n")); label = "  or")
			line(label, part);
	}
	if (powers->approvers.count)
		printf("%-10s %zu of %zu\n", "approved", powers->approved, powers->approvers.count);
}
