/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the answer of a model's server, and as what a model says in a sound one: what is
 * taken is one line that can be shown, of a known level and category. The same bytes as a command
 * that a model is told of. */
#include "../../src/base/escape.h"
#include "../../src/decide/mask.h"
#include "../../src/escalate/opinion.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *body)
{
	struct opinion opinion = {0};
	size_t length, step;

	if (opinion_read(body, &opinion, NULL) < 0) {
		if (opinion.summary)
			abort();
		return;
	}
	if (!opinion.summary || !opinion.category || opinion.level > RISK_HIGH)
		abort();
	length = strlen(opinion.summary);
	for (size_t i = 0; i < length; i += step) {
		unsigned code;

		step = utf8_decode(opinion.summary + i, length - i, &code);
		if (step == 0 || code < 0x20 || escape_is_hidden(code))
			abort();
	}
	opinion_done(&opinion);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	_cleanup_free_ char *request = NULL, *body = NULL;
	bool lossy;
	_cleanup_free_ char *valid = escape_to_utf8(text, strlen(text), &lossy);
	_cleanup_buffer_ struct buffer clean = {0};
	json_t *object;

	check(text);
	object = json_pack("{s:[{s:{s:s}}]}", "choices", "message", "content", valid);
	body = json_dumps(object, 0);
	json_decref(object);
	check(body);
	mask_secrets(&clean, text);
	request = opinion_request("judge", &(struct ask){.command = text, .cwd = "/", .why = text},
				  true, true);
	return 0;
}
