/* SPDX-License-Identifier: Apache-2.0 */
/* ward: runs what an AI agent wants to run, in a sandbox. */
/* clang-format off */
/* A map of the program:
 *
 *   cmd/ward/       one file per verb: words on the command line -> a request; a result -> words and an exit code
 *   src/flow.c      the flow of one request, top to bottom; every other room is one of its stages:
 *     request/      the request and the result, as values and as JSON
 *     parse/        the request taken apart into simple commands
 *     assess/       how dangerous they are
 *     decide/       what may be done: policy, approval, remembered answers -> a verdict with permissions
 *     escalate/     the question to a person, and what to say of a refusal
 *     sandbox/      permissions -> walls: namespaces, mounts, Landlock, seccomp; pid 1 of the sandbox
 *     run/          streams, terminal, signals, time
 *     observe/      the supervisor: what was refused, exactly
 *     token/        permissions that travel: the chain of caveats, keys, what was revoked
 *     record/       the audit log, the store, sessions
 *   src/base, sys   what every room uses; what the kernel offers
 */
/* clang-format on */
#include "../../src/decide/secrets.h"
#include "../../src/sandbox/sandbox.h"
#include "output.h"
#include "verbs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} verbs[] = {
	{"run", verb_run, "run a command or script in the sandbox"},
	{"check", verb_check, "say what would be decided, run nothing"},
	{"doctor", verb_doctor, "try to break out of the sandbox, and say what held"},
	{"log", verb_log, "list runs, newest first"},
	{"show", verb_show, "show one run: ward show RUN, ward show last"},
	{"events", verb_events, "what happens, as it happens: one JSON object a line"},
	{"audit", verb_audit, "verify or export the audit log"},
	{"pending", verb_pending, "list the questions that wait for an answer"},
	{"approve", verb_approve, "say yes to one of them"},
	{"deny", verb_deny, "say no to one of them"},
	{"defer", verb_defer, "put one of them off: its command then runs without its caller"},
	{"wait", verb_wait, "wait for such a command, and print what it wrote"},
	{"watch", verb_watch, "see questions and runs as they come, and answer"},
	{"top", verb_top, "see what runs under way use, and how near they are to their limits"},
	{"web", verb_web, "the same in a browser"},
	{"grants", verb_grants, "list the answers that still hold, or take one back"},
	{"token", verb_token, "make, narrow, check and revoke permissions that travel"},
	{"incidents", verb_incidents, "agents in safe mode: why, and the way out"},
	{"session", verb_session, "list sessions, or end one with its answers and its /tmp"},
	{"notify", verb_notify, "list what channels have not delivered, retry or drop it"},
	{"caches", verb_caches, "list what is kept of caches for each workspace, or remove it"},
	{"stats", verb_stats, "how often people are asked, and which rules would spare them most"},
	{"trust", verb_trust, "scores of agents, what they unlock, and what was learnt"},
	{"policy", verb_policy, "check, test, explain, format, show or trust policy files"},
	{"init", verb_init, "put ward into the settings of coding agents, or take it out"},
	{"hook", verb_hook, "answer the hook of a coding agent, on standard input"},
	{"mcp", verb_mcp, "be an MCP server for an agent, on standard input"},
	{"serve", verb_serve, "take requests as JSON-RPC, by sockets or on standard input"},
	{"complete", verb_complete, NULL},   /* for shells, not for people */
	{"inside", verb_inside, NULL},	     /* for ward mcp, not for people */
	{"feed", verb_feed, NULL},	     /* for runs whose events a program gets */
	{"contained", verb_contained, NULL}, /* pid 1 of a container */
	{"keep", verb_keep, NULL},	     /* for tickets, the same */
};

static void print_help(void)
{
	printf("ward runs what an AI agent wants to run, in a sandbox that tells exactly what it "
	       "refused.\n\n"
	       "usage: ward VERB [OPTION...]\n\n");
	for (size_t i = 0; i < ELEMENTS(verbs) && verbs[i].help; i++)
		printf("  %-9s %s\n", verbs[i].name, verbs[i].help);
	printf("\n`ward VERB --help` says more. Examples:\n\n"
	       "  ward run -- make\n"
	       "  ward run -c 'git status | head -3'\n"
	       "  ward run --allow-host registry:npm -- npm ci\n"
	       "  ward show last\n");
}

/* A stream that was closed would give its number to the next file ward opens, and what is meant for
 * the stream would go there. In its place comes one that can neither be written nor read, as a
 * closed one cannot. */
static void open_closed_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static int (*find_verb(const char *name))(int, char **)
{
	for (size_t i = 0; i < ELEMENTS(verbs); i++)
		if (strcmp(name, verbs[i].name) == 0)
			return verbs[i].run;
	return NULL;
}

static int no_such_verb(const char *name)
{
	fprintf(stderr, "ward: there is no verb '%s'\n", name);
	fprintf(stderr, "      `ward --help` lists them; to run a command: ward run -- COMMAND\n");
	return EXIT_WARD;
}

/* `ward help VERB`, as with git. */
static int help_about(char *verb)
{
	int (*run)(int, char **) = find_verb(verb);
	char help[] = "--help", *words[] = {verb, help, NULL};

	return run ? run(2, words) : no_such_verb(verb);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "--help";
	int (*run)(int, char **);

	sandbox_be_init(secrets_of_most);
	open_closed_streams();

	run = find_verb(verb);
	if (run)
		return run(argc - 1, argv + 1);
	if (strcmp(verb, "help") == 0 && argc > 2)
		return help_about(argv[2]);
	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 || strcmp(verb, "help") == 0) {
		print_help();
		return argc > 1 ? output_end("help", 0) : EXIT_WARD;
	}
	if (strcmp(verb, "--version") == 0) {
		printf("ward %s\n", WARD_VERSION);
		return output_end("version", 0);
	}
	return no_such_verb(verb);
}
