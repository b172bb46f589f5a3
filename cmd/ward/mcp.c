/* SPDX-License-Identifier: Apache-2.0 */
/* ward mcp: tools for agents that speak the Model Context Protocol. */
#include "output.h"
#include "verbs.h"
#include "../../src/record/session.h"
#include "../../src/serve/mcp.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward mcp [OPTION...]\n"
	"\n"
	"A server of the Model Context Protocol on standard input and output, for the settings of\n"
	"an agent: {\"mcpServers\": {\"ward\": {\"command\": \"ward\", \"args\": [\"mcp\"]}}}. Its "
	"tools\n"
	"are run, check, read_file, write_file, apply_patch and pending; all of them work in the\n"
	"sandbox and by the policy. What the policy does not give is put to the client's user\n"
	"where the client can ask, and refused otherwise. Ends at the end of its input, and ends\n"
	"what still runs.\n"
	"\n"
	"  --workspace DIR   the writable tree; default: the current directory\n"
	"  --profile NAME    a profile of the policy\n"
	"  --agent ID        who asks; default mcp\n"
	"  --session ID      default: that of the program that started it\n"
	"  --help            this text\n";

static int serve(struct mcp_settings *settings)
{
	_cleanup_error_ struct error *error = NULL;
	char workspace[PATH_MAX], program[PATH_MAX];
	_cleanup_free_ char *session = NULL;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	if (length < 0 || !realpath(settings->workspace, workspace)) {
		fail_errno(&error, E_USAGE, errno, "%s",
			   length < 0 ? "/proc/self/exe" : settings->workspace);
		return output_error("mcp", error);
	}
	program[length] = '\0';
	if (session_check_agent(settings->agent, &error) < 0)
		return output_error("mcp", error);
	session = settings->session ? strdup(settings->session) : session_default(settings->agent);
	if (!session_is_name(session))
		return output_usage("mcp", "'%s' cannot be the name of a session", session);
	settings->workspace = workspace;
	settings->program = program;
	settings->session = session;
	return mcp_serve(STDIN_FILENO, STDOUT_FILENO, settings, &error) < 0
		       ? output_error("mcp", error)
		       : 0;
}

int verb_mcp(int argc, char **argv)
{
	static const struct option options[] = {{"workspace", required_argument, NULL, 'w'},
						{"profile", required_argument, NULL, 'p'},
						{"agent", required_argument, NULL, 'a'},
						{"session", required_argument, NULL, 's'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	struct mcp_settings settings = {.workspace = ".", .agent = "mcp"};
	int c;

	while ((c = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (c) {
		case 'w':
			settings.workspace = optarg;
			break;
		case 'p':
			settings.profile = optarg;
			break;
		case 'a':
			settings.agent = optarg;
			break;
		case 's':
			settings.session = optarg;
			break;
		case 'h':
			printf("%s", help);
			return output_end("mcp", 0);
		default:
			return output_bad_option("mcp", argv, options, c);
		}
	}
	if (optind < argc)
		return output_usage("mcp", "'%s' is one word too many", argv[optind]);
	return serve(&settings);
}
