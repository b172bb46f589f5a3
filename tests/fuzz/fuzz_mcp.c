/* SPDX-License-Identifier: Apache-2.0 */
/* What an MCP client sends, line by line, and the patches that agents write. */
#include "../../src/serve/mcp_ask.h"
#include "../../src/serve/mcp_server.h"
#include "../../src/serve/patch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void read_message(json_t *object)
{
	static const struct mcp_settings settings = {"/tmp", NULL, "mcp", "s", "/usr/bin/ward"};
	struct mcp_message message;
	enum mcp_version version;
	json_t *capabilities, *error = NULL;

	mcp_read(object, &message);
	if (message.kind == MCP_REQUEST &&
	    mcp_read_era(&message, &version, &capabilities, &error)) {
		json_t *arguments = json_object_get(message.params, "arguments");
		enum mcp_tool tool = mcp_tool_from_name(
			json_string_value(json_object_get(message.params, "name")));

		(void)mcp_can_elicit(MCP_2025_11_25, capabilities);
		if (tool != TOOL_NONE && tool != TOOL_PENDING && json_is_object(arguments)) {
			struct request request;
			int input = -1;

			request_init(&request);
			(void)mcp_arguments(&settings, tool, arguments, &request, &input, NULL);
			close_fd(&input);
			request_done(&request);
		}
	}
	json_decref(error);
	/* The same object as a question, and as an answer to it. */
	json_decref(mcp_ask_form(object, MCP_2025_06_18));
	json_decref(mcp_ask_form(object, MCP_2026_07_28));
	json_decref(mcp_ask_answer(object, json_object_get(object, "result")));
}

/* The first line is the file, the rest the patch. */
static void read_patch(const char *text, size_t length)
{
	const char *end = memchr(text, '\0', length);
	_cleanup_patch_ struct patch patch = {0};
	size_t file = end ? (size_t)(end - text) : 0;

	if (!end || patch_parse(end + 1, length - file - 1, &patch, NULL) < 0)
		return;
	for (size_t i = 0; i < patch.count; i++) {
		_cleanup_buffer_ struct buffer after = {0};

		if (patch_apply(&patch.steps[i], text, file, &after, NULL) == 0 &&
		    after.length > file + length * 3 + 2)
			abort(); /* it brings no more than what it says, and the ends of lines */
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *object =
		json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	mcp_key key = {0};
	char *text = strndup((const char *)data, size);
	struct mcp_ticket ticket;

	if (object)
		read_message(object);
	json_decref(object);
	read_patch((const char *)data, size);
	if (mcp_ticket_open(key, text, &ticket))
		abort();
	free(text);
	return 0;
}
