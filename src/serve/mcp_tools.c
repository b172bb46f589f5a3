/* SPDX-License-Identifier: Apache-2.0 */
/* The tools as clients are told of them: data/mcp.json, less what older clients do not know. */
#include "mcp_server.h"

#include <string.h>

static const char data[] =
#include <mcp-data.h> /* made by the build from data/mcp.json */
	;

static const char *const names[] = {
	[TOOL_RUN] = "run",	     [TOOL_CHECK] = "check",	   [TOOL_READ] = "read_file",
	[TOOL_WRITE] = "write_file", [TOOL_PATCH] = "apply_patch", [TOOL_PENDING] = "pending",
};

enum mcp_tool mcp_tool_from_name(const char *name)
{
	for (int i = 0; name && i < (int)ELEMENTS(names); i++)
		if (strcmp(names[i], name) == 0)
			return (enum mcp_tool)i;
	return TOOL_NONE;
}

const char *mcp_tool_name(enum mcp_tool tool)
{
	return names[tool];
}

static json_t *known(void)
{
	static json_t *object;

	if (!object)
		object = json_loads(data, JSON_REJECT_DUPLICATES, NULL);
	if (!object)
		abort();
	return object;
}

const char *mcp_instructions(void)
{
	return json_string_value(json_object_get(known(), "instructions"));
}

json_t *mcp_tools(enum mcp_version version)
{
	json_t *tools = json_deep_copy(json_object_get(known(), "tools")), *tool;
	size_t i;

	json_array_foreach (tools, i, tool) {
		if (version < MCP_2025_06_18) {
			json_object_del(tool, "title");
			json_object_del(tool, "outputSchema");
		}
		if (version < MCP_2025_03_26)
			json_object_del(tool, "annotations");
	}
	return tools;
}

json_t *mcp_tool_result(enum mcp_version version, json_t *structured, const char *text,
			bool is_error)
{
	char *dumped = structured ? json_dumps(structured, JSON_COMPACT) : NULL;
	json_t *result = json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text", "text",
				   dumped ? dumped : text, "isError", is_error);

	if (structured && version >= MCP_2025_06_18)
		json_object_set(result, "structuredContent", structured);
	free(dumped);
	json_decref(structured);
	return result;
}
