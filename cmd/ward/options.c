/* SPDX-License-Identifier: Apache-2.0 */
/* One table of flags. */
#include "options_table.h"
#include "../../src/base/container_word.h"
#include "../../src/base/path.h"
#include "../../src/base/units.h"
#include "../../src/decide/network.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char options_help[] =
	"where it may work\n"
	"  --workspace DIR        the writable tree; default: the current directory\n"
	"  --cwd DIR              where the command starts; default: the current directory\n"
	"  --read P               let it read P although P is masked by default\n"
	"  --write P              let it write P as well: a file, a directory, a glob\n"
	"  --read-only P          let it read P, but not write it\n"
	"  --make P               let it make, replace and remove what P names, also before it is "
	"there\n"
	"  --deny P               mask P: a path or a glob such as '**/*.pem'\n"
	"  --net none|restricted|full  the network: none (default), the hosts named, the host's\n"
	"  --allow-host H         let it reach H: example.org:443, '*.example.org', 192.0.2.0/24,\n"
	"                         registry:npm; localhost:5432 is a port of this machine\n"
	"  --deny-host H          never let it reach H, whatever else is allowed\n"
	"  --publish PORT[:INSIDE]  a port of the sandbox on this machine's loopback\n"
	"  --container KEY=VALUE  what level container is made of: runtime, rootfs, image,\n"
	"                         tmpfs_size, apparmor, selinux, mount:/TARGET\n"
	"  --allow-socket S       a unix socket of the host: docker (equal to root), x11 ... or a "
	"path\n"
	"  --caches private|off   the workspace's own layer over caches in the home directory "
	"(default),\n"
	"                         or none: they cannot be written then\n"
	"  --allow-syscall NAME   a system call that commands do not have otherwise\n"
	"  --deny-syscall NAME    a system call that this command is not to have\n"
	"  --require WALL         run only if this wall stands\n"
	"  --trace-reads          know exactly which masked files it wants to read, and ask for "
	"them\n"
	"  --level HOW            restricted (default) | container | none: without a sandbox\n"
	"\n"
	"when a person is asked\n"
	"  --approval WHEN        never | on-failure (default) | on-request | unless-trusted\n"
	"  --sandbox auto|require|forbid  what the caller's tool wants of the sandbox\n"
	"  --escalated            start without the sandbox, if a person says so\n"
	"  --escalation HOW       how far a yes may take it: none | container | unsandboxed\n"
	"  --profile NAME         a profile that the policy names: agent, code ...\n"
	"  --policy FILE          a policy file besides those in force\n"
	"\n"
	"how it runs\n"
	"  -c SCRIPT              shell text instead of a command\n"
	"  --shell PATH           the shell for -c; default: bash, else sh\n"
	"  --login                let that shell load the user's profile\n"
	"  --env K=V              set a variable\n"
	"  --keep-env NAME        pass a variable on although its name looks secret\n"
	"  --no-pty               no terminal for the command, even if ward has one\n"
	"  --unattended           no question at the terminal: an agent holds it\n"
	"  --wait 10m             where nobody sits at a terminal: questions wait so long for "
	"`ward "
	"approve`\n"
	"\n"
	"limits: past one of them everything it started is ended, and the result names it\n"
	"  --timeout 30s          time\n"
	"  --idle 10s             time without output, without reading or writing, and under 1 % "
	"of a "
	"CPU\n"
	"  --memory 512M          memory of all its processes; default: 80 % of the machine\n"
	"  --processes 20         processes at once, not threads; default: 8192\n"
	"  --cpu-time 60s         CPU time of all its processes\n"
	"  --disk 1G              bytes written to disk\n"
	"  --output 10M           bytes of output\n"
	"  --cpu 50%|1.5          not an end but a bound: that much of the machine, or so many "
	"CPUs\n"
	"  --files 256            not an end but a bound: files open at once in a process\n"
	"\n"
	"who asks, for the record\n"
	"  --agent ID  --session ID  --tool NAME  --call-id ID  --turn ID  --reason TEXT\n"
	"  --token T              it gets what the token permits (ward token), and nothing else\n"
	"\n"
	"what is printed\n"
	"  --json                 one result object on standard output, and nothing else there\n"
	"  --quiet                no notices of ward's own\n";

const struct option options_table[] = {
	{"-c", WORD, offsetof(struct request, script)},
	{"--workspace", PLACE, offsetof(struct request, workspace)},
	{"--cwd", PLACE, offsetof(struct request, cwd)},
	{"--level", LEVEL, offsetof(struct request, level)},
	{"--net", NETWORK, offsetof(struct request, network)},
	{"--approval", APPROVAL, offsetof(struct request, approval)},
	{"--caches", CACHES, offsetof(struct request, caches)},
	{"--sandbox", PREFERENCE, offsetof(struct request, sandbox)},
	{"--escalated", FLAG, offsetof(struct request, escalated)},
	{"--escalation", ESCALATION, offsetof(struct request, escalation)},
	{"--policy", PLACE, offsetof(struct request, policy)},
	{"--profile", WORD, offsetof(struct request, profile)},
	{"--shell", WORD, offsetof(struct request, shell)},
	{"--login", FLAG, offsetof(struct request, login)},
	{"--read", LIST, offsetof(struct request, read)},
	{"--write", LIST, offsetof(struct request, write)},
	{"--read-only", LIST, offsetof(struct request, read_only)},
	{"--make", LIST, offsetof(struct request, make)},
	{"--deny", LIST, offsetof(struct request, deny)},
	{"--allow-socket", LIST, offsetof(struct request, sockets)},
	{"--allow-host", HOST, offsetof(struct request, allow_hosts)},
	{"--deny-host", HOST, offsetof(struct request, deny_hosts)},
	{"--publish", PUBLISH, offsetof(struct request, publish)},
	{"--container", CONTAINER, offsetof(struct request, container)},
	{"--allow-syscall", LIST, offsetof(struct request, allow_calls)},
	{"--deny-syscall", LIST, offsetof(struct request, deny_calls)},
	{"--require", LIST, offsetof(struct request, require)},
	{"--trace-reads", FLAG, offsetof(struct request, trace_reads)},
	{"--memory", SIZE, offsetof(struct request, limits.memory)},
	{"--cpu", CPU, offsetof(struct request, limits.millicpus)},
	{"--cpu-time", DURATION, offsetof(struct request, limits.cpu_ns)},
	{"--processes", COUNT, offsetof(struct request, limits.processes)},
	{"--disk", SIZE, offsetof(struct request, limits.disk)},
	{"--output", SIZE, offsetof(struct request, limits.output)},
	{"--wait", DURATION, offsetof(struct request, wait_ns)},
	{"--timeout", DURATION, offsetof(struct request, limits.time_ns)},
	{"--idle", DURATION, offsetof(struct request, limits.idle_ns)},
	{"--files", COUNT, offsetof(struct request, limits.files)},
	{"--env", VARIABLE, offsetof(struct request, environment)},
	{"--keep-env", LIST, offsetof(struct request, keep_environment)},
	{"--agent", WORD, offsetof(struct request, agent)},
	{"--session", WORD, offsetof(struct request, session)},
	{"--tool", WORD, offsetof(struct request, tool)},
	{"--call-id", WORD, offsetof(struct request, call_id)},
	{"--turn", WORD, offsetof(struct request, turn)},
	{"--reason", WORD, offsetof(struct request, reason)},
	{"--token", WORD, offsetof(struct request, token)},
	{"--asked", WORD, offsetof(struct request, asked)},
	{"--json", FLAG, offsetof(struct request, json)},
	{"--quiet", FLAG, offsetof(struct request, quiet)},
	{"-q", FLAG, offsetof(struct request, quiet)},
	{"--no-pty", FLAG, offsetof(struct request, no_pty)},
	{"--unattended", FLAG, offsetof(struct request, unattended)},
	{"--help", HELP, 0},
	{"-h", HELP, 0},
	{NULL, HELP, 0},
};

static int set_word(char **word, const char *value)
{
	free(*word);
	*word = strdup(value);
	if (!*word)
		abort();
	return 0;
}

static int set_place(char **word, const char *value, struct error **ret_error)
{
	char real[PATH_MAX];

	if (!realpath(value, real))
		return fail_errno(ret_error, E_USAGE, errno, "%s", value);
	return set_word(word, real);
}

static int set(const struct option *option, const char *value, struct request *request,
	       struct error **ret_error)
{
	void *field = (char *)request + option->offset;
	int found;

	switch (option->kind) {
	case WORD:
		return set_word(field, value);
	case PLACE:
		return set_place(field, value, ret_error);
	case LIST:
		if (!*value)
			return fail(ret_error, E_USAGE, "it is empty");
		list_add(field, value);
		return 0;
	case VARIABLE:
		if (!strchr(value, '=') || value[0] == '=') {
			fail(ret_error, E_USAGE, "'%s' is not NAME=VALUE", value);
			return error_hint(ret_error,
					  "to pass on a variable as it is: --keep-env NAME");
		}
		list_add(field, value);
		return 0;
	case HOST:
	case PUBLISH:
		found = option->kind == HOST ? network_check_host(value, ret_error)
					     : network_check_publish(value, ret_error);
		if (found == 0)
			list_add(field, value);
		return found;
	case CONTAINER:
		found = container_check_word(value, E_USAGE, ret_error);
		if (found == 0)
			list_add(field, value);
		return found;
	case SIZE:
		return parse_size(value, field, ret_error);
	case DURATION:
		return parse_duration(value, field, ret_error);
	case CPU:
		return parse_cpu(value, field, ret_error);
	case COUNT:
		return parse_count(value, field, ret_error);
	case LEVEL:
		found = level_from_name(value);
		if (found < 0)
			return fail(ret_error, E_USAGE, "'%s' is not none, restricted or container",
				    value);
		*(enum level *)field = (enum level)found;
		request->has_level = true;
		return 0;
	case NETWORK:
		found = network_from_name(value);
		if (found < 0)
			return fail(ret_error, E_USAGE, "'%s' is not none, restricted or full",
				    value);
		*(enum network *)field = (enum network)found;
		request->has_network = true;
		return 0;
	case APPROVAL:
		found = approval_from_name(value);
		if (found < 0)
			return fail(ret_error, E_USAGE,
				    "'%s' is not never, on-failure, on-request or unless-trusted",
				    value);
		*(enum approval *)field = (enum approval)found;
		request->has_approval = true;
		return 0;
	case CACHES:
		found = caches_from_name(value);
		if (found < 0)
			return fail(ret_error, E_USAGE, "'%s' is not private or off", value);
		*(enum caches *)field = (enum caches)found;
		request->has_caches = true;
		return 0;
	case PREFERENCE:
		found = preference_from_name(value);
		if (found < 0)
			return fail(ret_error, E_USAGE, "'%s' is not auto, require or forbid",
				    value);
		*(enum preference *)field = (enum preference)found;
		return 0;
	case ESCALATION:
		found = escalation_from_name(value);
		if (found < 0)
			return fail(ret_error, E_USAGE,
				    "'%s' is not none, container or unsandboxed", value);
		*(enum escalation *)field = (enum escalation)found;
		return 0;
	case FLAG:
	case HELP:
		break;
	}
	return 0;
}

/* The flag that a word names, and its value where it is written as --flag=value. */
static const struct option *look_up(const char *word, const char **ret_value)
{
	size_t length = word[0] == '-' && word[1] == '-' ? strcspn(word, "=") : strlen(word);

	for (const struct option *option = options_table; option->name; option++)
		if (strncmp(option->name, word, length) == 0 && option->name[length] == '\0') {
			*ret_value = word[length] == '=' ? word + length + 1 : NULL;
			return option;
		}
	return NULL;
}

static int finish(int argc, char **argv, int at, struct request *request, struct error **ret_error)
{
	for (; at < argc; at++)
		list_add(&request->argv, argv[at]);
	if (request->script && request->argv.count > 0) {
		fail(ret_error, E_USAGE, "there is both -c and a command: %s",
		     request->argv.items[0]);
		return error_hint(ret_error, "give one of them");
	}
	if (!request->script && request->argv.count == 0) {
		fail(ret_error, E_USAGE, "there is no command to run");
		return error_hint(ret_error,
				  "ward %s -- COMMAND ARGUMENT..., or ward %s -c 'SCRIPT'", argv[0],
				  argv[0]);
	}
	if (request->sandbox == PREFERENCE_REQUIRE &&
	    (request->escalated || request->level == LEVEL_NONE))
		return fail(ret_error, E_USAGE, "--sandbox require contradicts %s",
			    request->escalated ? "--escalated" : "--level none");
	request->mode = request->script ? MODE_SHELL : MODE_EXEC;
	if (!request->cwd && set_place(&request->cwd, ".", ret_error) < 0) {
		error_wrap(ret_error, "the current directory");
		return error_hint(ret_error, "name one with --cwd");
	}
	if (!request->workspace) {
		char here[PATH_MAX];

		set_word(&request->workspace, getcwd(here, sizeof(here)) ? here : request->cwd);
	}
	return 0;
}

/* Returns the place of the first word that is no flag, 0 where help was asked for. */
static int parse_flags(int argc, char **argv, struct request *request, struct error **ret_error)
{
	int at = 1;

	for (; at < argc; at++) {
		const struct option *option;
		const char *value;
		int r;

		if (strcmp(argv[at], "--") == 0) {
			at++;
			break;
		}
		if (argv[at][0] != '-' || argv[at][1] == '\0')
			break;
		option = look_up(argv[at], &value);
		if (!option) {
			fail(ret_error, E_USAGE, "unknown option %s", argv[at]);
			return error_hint(
				ret_error,
				"`ward %s --help` lists them; a command that starts with - "
				"goes behind --",
				argv[0]);
		}
		if (option->kind == HELP)
			return 0;
		if (option->kind == FLAG) {
			if (value)
				return fail(ret_error, E_USAGE, "%s takes no value", option->name);
			*(bool *)((char *)request + option->offset) = true;
			continue;
		}
		if (!value && ++at < argc)
			value = argv[at];
		if (!value)
			return fail(ret_error, E_USAGE, "%s needs a value", option->name);
		r = set(option, value, request, ret_error);
		if (r < 0)
			return error_wrap(ret_error, "%s", option->name);
	}
	return at;
}

/* Who reads an object wants one where a flag is wrong, too, wherever --json stands. What a flag
 * that is not known takes is not known either: one word. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			return true;
		if (argv[i][0] != '-' && argv[i - 1][0] != '-')
			break;
	}
	return false;
}

int options_parse(int argc, char **argv, struct request *request, struct error **ret_error)
{
	int at = parse_flags(argc, argv, request, ret_error);

	if (at < 0)
		request->json = wants_json(argc, argv);
	if (at <= 0)
		return at < 0 ? at : 1;
	return finish(argc, argv, at, request, ret_error);
}

int options_parse_flags(int argc, char **argv, struct request *request, struct error **ret_error)
{
	int at = parse_flags(argc, argv, request, ret_error);

	if (at <= 0)
		return at < 0 ? at : 1;
	if (at < argc) {
		fail(ret_error, E_USAGE, "'%s' is no flag of ward run", argv[at]);
		return error_hint(ret_error, "`ward run --help` lists them");
	}
	return 0;
}
