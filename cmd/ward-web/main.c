/* SPDX-License-Identifier: Apache-2.0 */
/* ward-web: the inbox in a browser. `ward web` starts it; it is a program of its own because what
 * serves HTTP cannot be linked into ward, and would cost its start. */
#include "../../src/base/units.h"
#include "../../src/record/state.h"
#include "server.h"
#include "../../src/web/sessions.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static int say(const struct error *error)
{
	fprintf(stderr, "ward web: %s\n", error ? error->message : "it failed");
	if (error && error->hint)
		fprintf(stderr, "          %s\n", error->hint);
	return 125;
}

static int serve(struct server_options *options, const char *name, struct error **ret_error)
{
	_cleanup_free_ char *state = NULL, *usual = NULL;
	char code[SECRET_TEXT];
	struct server *server = NULL;
	int r = state_directory(&state, ret_error);

	if (r == 0)
		r = state_directory_make(state, ret_error);
	if (r < 0)
		return r;
	if (!name)
		name = usual = web_default_name();
	options->state = state;
	r = server_open(options, &server, ret_error);
	if (r == 0)
		r = web_link_make(state, name, code, ret_error);
	if (r == 0) {
		if (options->anywhere)
			fprintf(stderr, "ward web: what is sent over the network can be read and "
					"changed on the way, log-ins too; ssh -L cannot\n");
		printf("%s#login=%s\n", server_url(server), code);
		fflush(stdout);
		fprintf(stderr,
			"ward web: open this link in a browser; it lets %s in once, within "
			"ten minutes. Ctrl-C ends the server\n",
			name);
		r = server_serve(server, ret_error);
	}
	server_close(server);
	return r;
}

int main(int argc, char **argv)
{
	static const struct option words[] = {
		{"port", required_argument, NULL, 'p'},
		{"listen", required_argument, NULL, 'l'},
		{"host", required_argument, NULL, 'h'},
		{"as", required_argument, NULL, 'n'},
		{"anywhere", no_argument, NULL, 'a'},
		{"program", required_argument, NULL, 'w'},
		{NULL},
	};
	_cleanup_error_ struct error *error = NULL;
	_cleanup_list_ struct list names = {0};
	struct server_options options = {.names = &names};
	const char *name = NULL;
	uint64_t port;
	int option;

	while ((option = getopt_long(argc, argv, "", words, NULL)) != -1) {
		switch (option) {
		case 'p':
			if (parse_count(optarg, &port, &error) < 0 || port > UINT16_MAX) {
				fail(&error, E_USAGE, "--port: '%s' is not a port", optarg);
				return say(error);
			}
			options.port = (uint16_t)port;
			break;
		case 'l':
			options.address = optarg;
			break;
		case 'h':
			list_add(&names, optarg);
			break;
		case 'n':
			name = optarg;
			break;
		case 'w':
			options.program = optarg;
			break;
		case 'a':
			options.anywhere = true;
			break;
		default:
			return 125;
		}
	}
	if (!options.program || optind < argc) {
		fail(&error, E_USAGE, "`ward web` starts this program");
		return say(error);
	}
	return serve(&options, name, &error) < 0 ? say(error) : 0;
}
