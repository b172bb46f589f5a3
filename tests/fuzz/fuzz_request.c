/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a request: refused with a message, or taken, written out and taken again. */
#include "../../src/request/request.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_request_ struct request request, again;
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *line = NULL, *text = NULL;
	json_t *object;

	request_init(&request);
	request_init(&again);
	if (request_from_json((const char *)data, size, &request, &error) < 0) {
		if (!error || !error->message || request.argv.count || request.script)
			abort();
		return 0;
	}
	if ((request.mode == MODE_SHELL) != (request.script != NULL))
		abort();
	line = request_command_text(&request);
	if (strchr(line, '\n'))
		abort();
	object = request_to_json(&request);
	text = json_dumps(object, 0);
	json_decref(object);
	if (!text || (strlen(text) <= REQUEST_LIMIT &&
		      request_from_json(text, strlen(text), &again, NULL) < 0))
		abort();
	return 0;
}
