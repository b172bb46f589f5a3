/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the Model Context Protocol: JSON-RPC, in two eras. In the old one a client says
 * once (initialize) who it is and what it can do; from 2026-07-28 on each request says so. */
#pragma once

#include "jsonrpc.h"
#include <jansson.h>
#include <stdbool.h>

enum mcp_version {
	MCP_NONE = -1, /* not yet agreed on, or not known */
	MCP_2024_11_05,
	MCP_2025_03_26, /* batches, annotations, text with progress */
	MCP_2025_06_18, /* elicitation, structured results; no batches */
	MCP_2025_11_25, /* choices with titles */
	MCP_2026_07_28, /* no handshake, no requests by the server */
	MCP_VERSIONS,
};

const char *mcp_version_name(enum mcp_version version);
enum mcp_version mcp_version_from_name(const char *name);
/* What is answered to initialize. */
enum mcp_version mcp_negotiate(const char *wanted);
json_t *mcp_version_list(void);

enum {
	MCP_UNSUPPORTED_VERSION = -32022,
};

enum mcp_kind { MCP_INVALID, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* Borrowed from the object it was read from. */
struct mcp_message {
	enum mcp_kind kind;
	json_t *id; /* a string or a whole number; NULL where there is none */
	const char *method;
	json_t *params, *meta; /* objects, or NULL */
	json_t *result;	       /* of a response; NULL: it is an error */
	const char *fault;     /* why it is none of the three */
};

void mcp_read(json_t *object, struct mcp_message *ret_message);
/* What a request says of itself: MCP_NONE and NULL in the old era. False with the error to answer
 * with, where it cannot be served. */
bool mcp_read_era(const struct mcp_message *message, enum mcp_version *ret_version,
		  json_t **ret_capabilities, json_t **ret_error);
/* The client can put a form to its user. */
bool mcp_can_elicit(enum mcp_version version, json_t *capabilities);

/* Whole messages. They take result, data and params over; id is borrowed and may be NULL. */
json_t *mcp_result(enum mcp_version version, json_t *id, json_t *result);
json_t *mcp_error(json_t *id, int code, const char *message, json_t *data);
json_t *mcp_request(json_t *id, const char *method, json_t *params);
json_t *mcp_notification(const char *method, json_t *params);
/* {"name": ..., "version": ...} of this server. */
json_t *mcp_server_info(void);
