/* SPDX-License-Identifier: Apache-2.0 */
/* Answers from webhooks, as anybody on the network may send them: the signature first, in both
 * forms, then the body as if it had been right. The first byte chooses the form. */
#include "../../src/escalate/callback.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_error_ struct error *error = NULL;
	struct callback_words words = {0};
	char *header;

	if (size == 0)
		return 0;
	header = strndup((const char *)data + 1, size - 1);
	(void)signature_check("a secret of the fuzzer", header, 1000000, header, strlen(header));
	(void)signature_check_slack("a secret of the fuzzer", header, header, 1000000, header,
				    strlen(header));
	if (callback_read(data[0] & 1 ? SHAPE_SLACK : SHAPE_GENERIC, (const char *)data + 1,
			  size - 1, &words, &error) == 0 &&
	    (!words.ask || !words.nonce || !words.hash || !json_is_object(words.answer)))
		abort();
	callback_words_done(&words);
	free(header);
	return 0;
}
