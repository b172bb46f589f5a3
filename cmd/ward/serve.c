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

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("usage: ward serve --stdio\n\n"
		       "Reads JSON-RPC 2.0 requests, one object a line, and answers each with one "
		       "line:\n\n"
		       "  {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"run\", \"params\": "
		       "{\"argv\": [\"make\"]}}\n\n"
		       "methods: run (a request as in docs/request.schema.json -> a result as in "
		       "docs/result.schema.json),\n"
		       "ping. Ends at the end of its input. The command's own standard input is "
		       "empty. A request can\n"
		       "only narrow what the policy gives to this directory; what it wants beyond "
		       "that is asked about. `approved`\n"
		       "in it counts only from a program that the policy names under `callers`.\n");
		return output_end("serve", 0);
	}
	if (argc != 2 || strcmp(argv[1], "--stdio") != 0)
		return output_usage("serve", "it needs --stdio");
	return rpc_serve(STDIN_FILENO, STDOUT_FILENO, &error) < 0 ? output_error("serve", error)
								  : 0;
}
