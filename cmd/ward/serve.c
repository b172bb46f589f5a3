/* SPDX-License-Identifier: Apache-2.0 */
/* ward serve: requests from another program. */
#include "output.h"
#include "verbs.h"
#include "../../src/serve/rpc.h"

#include <stdio.h>
#include <string.h>

int verb_serve(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	struct rpc_options options = {0};
	bool stdio = false;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("usage: ward serve --stdio [--events]\n\n"
		       "Reads JSON-RPC 2.0 requests, one object a line, and answers each with one "
		       "line, in order:\n\n"
		       "  {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"run\", \"params\": "
		       "{\"argv\": [\"make\"]}}\n\n"
		       "methods: run (a request as in docs/request.schema.json -> a result as in "
		       "docs/result.schema.json),\n"
		       "cancel, ping. Ends with its input, when what was begun has ended. The "
		       "command's own standard input\n"
		       "is empty. A request can only narrow what the policy gives to this "
		       "directory; what it wants beyond\n"
		       "that is asked about. `approved` in it counts only from a program that the "
		       "policy names under\n"
		       "`callers`.\n\n"
		       "  --events  tells of output and notices as they come, and puts questions "
		       "to whoever sends the\n"
		       "            requests instead of to the terminal; requests are then served "
		       "beside each other, and\n"
		       "            each is answered when it has ended (docs/protocol.md)\n");
		return output_end("serve", 0);
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--stdio") == 0)
			stdio = true;
		else if (strcmp(argv[i], "--events") == 0)
			options.events = true;
		else
			return output_usage("serve", "it takes --stdio and --events");
	}
	if (!stdio)
		return output_usage("serve", "it needs --stdio");
	return rpc_serve(STDIN_FILENO, STDOUT_FILENO, &options, &error) < 0
		       ? output_error("serve", error)
		       : 0;
}
