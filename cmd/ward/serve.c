/* SPDX-License-Identifier: Apache-2.0 */
/* ward serve: requests from other programs, on standard input or by sockets. */
#include "output.h"
#include "verbs.h"
#include "../../src/record/state.h"
#include "../../src/serve/daemon.h"
#include "../../src/serve/rpc.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward serve [--system]\n"
	"       ward serve --stdio [--events]\n"
	"\n"
	"Takes JSON-RPC 2.0 requests, one object a line (docs/protocol.md).\n"
	"\n"
	"Without --stdio it is a daemon with two sockets in $XDG_RUNTIME_DIR/ward: agent.sock, "
	"where "
	"agents have\n"
	"commands run and checked, wait for them and read their output; and approver.sock, where "
	"questions are\n"
	"seen and answered, and policies registered for a session. Runs are tickets: they go on "
	"when the daemon\n"
	"ends. As long as it serves, runs without a terminal wait for answers. Commands in a "
	"sandbox reach\n"
	"neither socket.\n"
	"\n"
	"  --system  for all users, in /run/ward, as root: each peer is served as himself\n"
	"\n"
	"With --stdio it reads requests and answers each with one line, in order:\n"
	"\n"
	"  {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"run\", \"params\": {\"argv\": "
	"[\"make\"]}}\n"
	"\n"
	"methods: run (a request as in docs/request.schema.json -> a result as in "
	"docs/result.schema.json),\n"
	"cancel, ping. Ends with its input, when what was begun has ended. The command's own "
	"standard input\n"
	"is empty. A request can only narrow what the policy gives to this directory; what it "
	"wants beyond\n"
	"that is asked about. `approved` in it counts only from a program that the policy names "
	"under\n"
	"`callers`.\n"
	"\n"
	"  --events  tells of output and notices as they come, and puts questions to whoever sends "
	"the\n"
	"            requests instead of to the terminal; requests are then served beside each "
	"other, and\n"
	"            each is answered when it has ended (docs/protocol.md)\n";

static int serve_sockets(bool system)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	struct daemon_options options = {.system = system};
	struct door door;
	int r;

	if (system && geteuid() != 0)
		return output_usage("serve", "--system is for root");
	r = state_directory(&state, &error);
	if (r == 0)
		r = state_directory_make(state, &error);
	if (r == 0)
		r = door_open(system, state, &door, &error);
	if (r < 0)
		return output_error("serve", error);
	options.state = state;
	fprintf(stderr, "ward serve: listening in %s\n", door.directory);
	r = daemon_serve(&door, &options, &error);
	door_close(&door);
	return r < 0 ? output_error("serve", error) : 0;
}

int verb_serve(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	struct rpc_options options = {0};
	bool stdio = false, system = false;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return output_end("serve", 0);
	}
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--stdio") == 0)
			stdio = true;
		else if (strcmp(argv[i], "--events") == 0)
			options.events = true;
		else if (strcmp(argv[i], "--system") == 0)
			system = true;
		else
			return output_usage("serve", "it takes --stdio, --events and --system");
	}
	if (stdio ? system : options.events)
		return output_usage("serve", "--events goes with --stdio, --system does not");
	if (!stdio)
		return serve_sockets(system);
	return rpc_serve(STDIN_FILENO, STDOUT_FILENO, &options, &error) < 0
		       ? output_error("serve", error)
		       : 0;
}
