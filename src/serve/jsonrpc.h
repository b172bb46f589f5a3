/* SPDX-License-Identifier: Apache-2.0 */
/* The errors that JSON-RPC 2.0 itself names. */
#pragma once

enum jsonrpc_error {
	PARSE_ERROR = -32700,
	INVALID_REQUEST = -32600,
	NO_METHOD = -32601,
	INVALID_PARAMS = -32602,
	INTERNAL_ERROR = -32603,
};
