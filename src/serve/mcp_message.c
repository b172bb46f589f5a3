/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_message.h"
#include "../base/macro.h"

#include <stdlib.h>
#include <string.h>

#define META "io.modelcontextprotocol/"

static const char *const names[MCP_VERSIONS] = {
	[MCP_2024_11_05] = "2024-11-05", [MCP_2025_03_26] = "2025-03-26",
	[MCP_2025_06_18] = "2025-06-18", [MCP_2025_11_25] = "2025-11-25",
	[MCP_2026_07_28] = "2026-07-28",
};

const char *mcp_version_name(enum mcp_version version)
{
	return names[version];
}

enum mcp_version mcp_version_from_name(const char *name)
{
	for (int i = 0; name && i < MCP_VERSIONS; i++)
		if (strcmp(names[i], name) == 0)
			return (enum mcp_version)i;
	return MCP_NONE;
}

enum mcp_version mcp_negotiate(const char *wanted)
{
	enum mcp_version version = mcp_version_from_name(wanted);

	return version == MCP_NONE || version > MCP_2025_11_25 ? MCP_2025_11_25 : version;
}

json_t *mcp_version_list(void)
{
	json_t *array = json_array();

	for (int i = MCP_VERSIONS - 1; i >= 0; i--)
		json_array_append_new(array, json_string(names[i]));
	return array;
}

static const char *text_of(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	/* A C string would end at a NUL and be another. */
	return json_is_string(value) &&
			       strlen(json_string_value(value)) == json_string_length(value)
		       ? json_string_value(value)
		       : NULL;
}

static json_t *object_of(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	return json_is_object(value) ? value : NULL;
}

static const char *find_fault(json_t *object, const struct mcp_message *message)
{
	const char *version = text_of(object, "jsonrpc");
	json_t *id = json_object_get(object, "id"), *params = json_object_get(object, "params");

	if (!json_is_object(object))
		return "a message is an object";
	if (!version || strcmp(version, "2.0") != 0)
		return "jsonrpc is \"2.0\"";
	if (id && !message->id)
		return "an id is a string or a whole number";
	if (json_object_get(object, "method") && !message->method)
		return "a method is a string";
	if (params && !message->params)
		return "params is an object";
	if (message->params && json_object_get(message->params, "_meta") && !message->meta)
		return "_meta is an object";
	if (!message->method && !(message->id && (json_object_get(object, "result") ||
						  json_object_get(object, "error"))))
		return "it is no request, no notification and no response";
	return NULL;
}

void mcp_read(json_t *object, struct mcp_message *ret_message)
{
	json_t *id = json_object_get(object, "id");
	struct mcp_message message = {
		.id = json_is_string(id) || json_is_integer(id) ? id : NULL,
		.method = text_of(object, "method"),
		.params = object_of(object, "params"),
		.result = json_object_get(object, "error") ? NULL : object_of(object, "result"),
	};

	message.meta = object_of(message.params, "_meta");
	message.fault = find_fault(object, &message);
	if (!message.fault)
		message.kind = !message.method ? MCP_RESPONSE
			       : message.id    ? MCP_REQUEST
					       : MCP_NOTIFICATION;
	*ret_message = message;
}

bool mcp_read_era(const struct mcp_message *message, enum mcp_version *ret_version,
		  json_t **ret_capabilities, json_t **ret_error)
{
	json_t *version = json_object_get(message->meta, META "protocolVersion");
	json_t *capabilities = json_object_get(message->meta, META "clientCapabilities");
	enum mcp_version known = mcp_version_from_name(json_string_value(version));

	*ret_version = MCP_NONE;
	*ret_capabilities = NULL;
	if (!version && !capabilities && strcmp(message->method, "server/discover") != 0)
		return true;
	if (json_is_string(version) && known != MCP_2026_07_28) {
		*ret_error = mcp_error(message->id, MCP_UNSUPPORTED_VERSION,
				       "this version of the protocol is not spoken here",
				       json_pack("{s:o, s:O}", "supported", mcp_version_list(),
						 "requested", version));
		return false;
	}
	if (!json_is_string(version) || !json_is_object(capabilities)) {
		*ret_error = mcp_error(message->id, INVALID_PARAMS,
				       "_meta has " META "protocolVersion, a string, and " META
				       "clientCapabilities, an object",
				       NULL);
		return false;
	}
	*ret_version = known;
	*ret_capabilities = capabilities;
	return true;
}

/* {} says form; where modes are named, form must be among them. */
bool mcp_can_elicit(enum mcp_version version, json_t *capabilities)
{
	json_t *elicitation = json_object_get(capabilities, "elicitation");

	return version >= MCP_2025_06_18 && json_is_object(elicitation) &&
	       (json_object_size(elicitation) == 0 ||
		json_is_object(json_object_get(elicitation, "form")));
}

json_t *mcp_server_info(void)
{
	return json_pack("{s:s, s:s, s:s}", "name", "ward", "title", "ward: commands in a sandbox",
			 "version", WARD_VERSION);
}

static json_t *message_with(json_t *id, const char *key, json_t *value)
{
	json_t *message = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id",
				    id ? id : json_null(), key, value);

	if (!message)
		abort();
	return message;
}

json_t *mcp_result(enum mcp_version version, json_t *id, json_t *result)
{
	if (version == MCP_2026_07_28) {
		json_t *meta = json_pack("{s:o}", META "serverInfo", mcp_server_info());

		if (!json_object_get(result, "resultType"))
			json_object_set_new(result, "resultType", json_string("complete"));
		json_object_set_new(result, "_meta", meta);
	}
	return message_with(id, "result", result);
}

json_t *mcp_error(json_t *id, int code, const char *message, json_t *data)
{
	json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);

	if (data)
		json_object_set_new(error, "data", data);
	return message_with(id, "error", error);
}

json_t *mcp_request(json_t *id, const char *method, json_t *params)
{
	json_t *message = message_with(id, "params", params);

	json_object_set_new(message, "method", json_string(method));
	return message;
}

json_t *mcp_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params);
}
