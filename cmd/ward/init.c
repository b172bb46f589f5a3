/* SPDX-License-Identifier: Apache-2.0 */
/* ward init: puts ward into the settings of the coding agents on this machine, or takes it out.
 * Each file is shown as it would change, and written on a yes. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/diff.h"
#include "../../src/base/path.h"
#include "../../src/serve/setup.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>

enum { NOT_WRITTEN = 1 };

static const char help[] =
	"usage: ward init [--agent NAME]... [--project | --user] [--write | --dry-run] "
	"[--no-policy]\n"
	"       ward init --remove [--agent NAME]... [--project | --user] [--write | --dry-run]\n"
	"\n"
	"Makes the coding agents on this machine ask ward before they use a tool (`ward hook`), "
	"and gives\n"
	"the project a .ward.yaml to begin with. Shows what would change in each file, and asks "
	"before it\n"
	"writes. What a file was is kept beside it as FILE.ward-backup. Doing it again changes "
	"nothing.\n"
	"\n"
	"  --agent NAME   this one, found or not: claude, codex, gemini, cursor, windsurf, "
	"opencode\n"
	"  --project      in this project's settings (the default)\n"
	"  --user         in your own settings, for all projects (the default in the home "
	"directory)\n"
	"  --remove       take out what ward put in, and nothing else\n"
	"  --no-policy    no .ward.yaml\n"
	"  --dry-run      show what would change, and write nothing\n"
	"  --write        write without asking\n"
	"  --help         this text\n"
	"\n"
	"The status is 0, 1 where something was not written, or 125 where something failed.\n";

struct init {
	struct setup_place place;
	struct list names;
	bool removes, scoped, no_policy, writes, dry;
	unsigned changes, written, left, failed;
};

/* --- showing ---------------------------------------------------------------------------------- */

/* As a person would write it. */
static char *shown(const struct init *init, const char *path)
{
	const char *home = init->place.home;
	char *text;

	if (!path_is_under(path, home) || strcmp(home, "/") == 0)
		return strdup(path);
	if (asprintf(&text, "~%s", path + strlen(home)) < 0)
		abort();
	return text;
}

/* Tabs are how many people indent; everything else that is no text is escaped. */
static void show_line(enum colour colour, char *line)
{
	for (char *tab; (tab = strchr(line, '\t')); line = tab + 1) {
		*tab = '\0';
		output_text(colour, line);
		putchar('\t');
	}
	output_text(colour, line);
	putchar('\n');
}

static void show_diff(const struct init *init, const struct setup_change *change)
{
	_cleanup_free_ char *name = shown(init, change->target);
	_cleanup_free_ char *diff = diff_unified(name, change->before, change->after);

	for (char *line = diff, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (end > line && end[-1] == '\r')
			end[-1] = '\0';
		show_line(line[0] == '+'   ? COLOUR_GREEN
			  : line[0] == '-' ? COLOUR_RED
			  : line[0] == '@' ? COLOUR_BOLD
					   : COLOUR_NONE,
			  line);
	}
}

static void say(const struct init *init, const char *title, const char *what, const char *path)
{
	_cleanup_free_ char *name = shown(init, path);

	output_text(COLOUR_BOLD, title);
	printf(": %s", what);
	output_text(COLOUR_NONE, name);
	putchar('\n');
}

static void say_failed(struct init *init, const char *title, struct error **error)
{
	init->failed++;
	if (title)
		error_wrap(error, "%s", title);
	output_error("init", *error);
	error_free(STEAL(*error));
}

/* --- writing ---------------------------------------------------------------------------------- */

/* What was typed before the question is no answer to it. */
static bool says_yes(const char *question)
{
	char line[256];
	ssize_t got;

	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	printf("%s [y/N] ", question);
	fflush(stdout);
	do
		got = read(STDIN_FILENO, line, sizeof(line) - 1);
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		putchar('\n');
		return false;
	}
	line[got] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

static bool may_write(const struct init *init, const struct setup_change *change)
{
	if (init->writes || init->dry)
		return init->writes;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	return says_yes(change->after ? "Write it?" : "Remove it?");
}

static void carry_out(struct init *init, const char *title, const struct setup_change *change,
		      const char *note)
{
	_cleanup_error_ struct error *error = NULL;

	init->changes++;
	say(init, title,
	    change->after ? "" : "to be removed, since only ward's part is in it: ", change->path);
	if (strcmp(change->path, change->target) != 0)
		say(init, title,
		    "this is a link, and what it leads to is changed: ", change->target);
	if (change->after)
		show_diff(init, change);
	if (!may_write(init, change)) {
		init->left++;
	} else if (setup_write(&init->place, change, &error) < 0) {
		say_failed(init, title, &error);
	} else {
		init->written++;
		puts(change->after ? "Written." : "Removed.");
		if (change->backup && !change->restored)
			say(init, "As it was before ward", "", change->backup);
		if (note)
			puts(note);
	}
	putchar('\n');
}

/* --- one agent after the other ---------------------------------------------------------------- */

/* Whether the user's own settings have it for every project. */
static bool is_there_for_all(struct init *init, const struct setup_agent *agent)
{
	_cleanup_(setup_change_done) struct setup_change change = {0};
	bool there;

	init->place.user = true;
	there = setup_plan(agent, &init->place, false, &change, NULL) == 0 && change.own;
	init->place.user = false;
	if (there)
		say(init, agent->title,
		    init->removes ? "still asks ward in all projects (--user): "
				  : "already asks ward in all projects: ",
		    change.path);
	return there;
}

static void do_agent(struct init *init, const struct setup_agent *agent)
{
	_cleanup_(setup_change_done) struct setup_change change = {0};
	_cleanup_error_ struct error *error = NULL;
	bool elsewhere = !init->scoped && !init->place.user;

	if (!init->removes && elsewhere && is_there_for_all(init, agent))
		return;
	if (setup_plan(agent, &init->place, init->removes, &change, &error) < 0) {
		say_failed(init, agent->title, &error);
		return;
	}
	if (setup_changes(&change))
		carry_out(init, agent->title, &change, init->removes ? NULL : agent->note);
	else if (!init->removes)
		say(init, agent->title, "already there: ", change.path);
	else if (elsewhere)
		(void)is_there_for_all(init, agent);
	if (change.switched)
		printf("but %s does not run hooks there: %s\n", agent->title, change.switched);
}

static void do_policy(struct init *init)
{
	_cleanup_(setup_change_done) struct setup_change change = {0};
	_cleanup_error_ struct error *error = NULL;

	if (setup_plan_policy(&init->place, init->removes, &change, &error) < 0)
		say_failed(init, "the policy", &error);
	else if (setup_changes(&change))
		carry_out(init, "a policy to begin with", &change,
			  init->removes
				  ? NULL
				  : "It can only take away until you run `ward policy trust`.");
	else if (init->removes && change.before)
		say(init, "the policy", "changed since, and left as it is: ", change.path);
}

/* Says which agents are here, and picks them. */
static void find_agents(struct init *init)
{
	const char *between = "found: ";

	for (size_t i = 0; i < setup_agent_count; i++) {
		_cleanup_free_ char *by = setup_find_agent(&setup_agents[i], &init->place);
		_cleanup_free_ char *name = by ? shown(init, by) : NULL;

		if (!by)
			continue;
		list_add(&init->names, setup_agents[i].name);
		printf("%s%s (", between, setup_agents[i].title);
		output_text(COLOUR_NONE, name);
		putchar(')');
		between = ", ";
	}
	if (init->names.count)
		putchar('\n');
	between = "not found: ";
	for (size_t i = 0; i < setup_agent_count; i++)
		if (!list_has(&init->names, setup_agents[i].name)) {
			printf("%s%s", between, setup_agents[i].title);
			between = ", ";
		}
	puts(init->names.count == setup_agent_count ? "" : "\n");
	if (init->names.count == 0)
		puts("One that is not found can be named: ward init --agent NAME\n");
}

static void say_what_now(const struct init *init)
{
	puts("Agents that are running take it up when they are started again.");
	if (!init->place.user)
		puts("Commit these settings only if everybody here has ward: without it, agents "
		     "are "
		     "refused.");
	printf("To take it out again: ward init --remove%s\n", init->place.user ? " --user" : "");
}

static int carry_out_all(struct init *init)
{
	if (init->names.count == 0 && !init->removes)
		find_agents(init);
	for (size_t i = 0; i < setup_agent_count; i++)
		if (init->removes && init->names.count == 0)
			do_agent(init, &setup_agents[i]);
		else if (list_has(&init->names, setup_agents[i].name))
			do_agent(init, &setup_agents[i]);
	if (!init->place.user && !init->no_policy && !(init->removes && init->names.count))
		do_policy(init);
	if (init->changes == 0 && init->failed == 0)
		puts(init->removes ? "There is nothing of ward's to take out."
				   : "There is nothing to do.");
	else if (init->left && !init->dry && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		puts("Nothing was written: run it at a terminal, or with --write.");
	else if (init->written && !init->removes)
		say_what_now(init);
	if (init->failed)
		return output_end("init", EXIT_WARD);
	return output_end("init", init->left && !init->dry ? NOT_WRITTEN : 0);
}

/* --- the words -------------------------------------------------------------------------------- */

enum {
	OPTION_AGENT = 1,
	OPTION_PROJECT,
	OPTION_USER,
	OPTION_REMOVE,
	OPTION_NO_POLICY,
	OPTION_DRY,
	OPTION_WRITE
};

static const struct option options[] = {
	{"agent", required_argument, NULL, OPTION_AGENT},
	{"project", no_argument, NULL, OPTION_PROJECT},
	{"user", no_argument, NULL, OPTION_USER},
	{"remove", no_argument, NULL, OPTION_REMOVE},
	{"no-policy", no_argument, NULL, OPTION_NO_POLICY},
	{"dry-run", no_argument, NULL, OPTION_DRY},
	{"write", no_argument, NULL, OPTION_WRITE},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int no_agent(const char *name)
{
	_cleanup_buffer_ struct buffer names = {0};

	for (size_t i = 0; i < setup_agent_count; i++)
		buffer_printf(&names, "%s%s", i ? ", " : "", setup_agents[i].name);
	return output_usage("init", "'%s' is none of the agents that ward knows: %s", name,
			    buffer_text(&names));
}

/* 0, or the status to end with plus one. */
static int read_words(int argc, char **argv, struct init *init, bool *ret_user)
{
	bool project = false, user = false;
	int option;

	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case OPTION_AGENT:
			if (!setup_agent_named(optarg))
				return 1 + no_agent(optarg);
			list_add(&init->names, optarg);
			break;
		case OPTION_PROJECT:
			project = true;
			break;
		case OPTION_USER:
			user = true;
			break;
		case OPTION_REMOVE:
			init->removes = true;
			break;
		case OPTION_NO_POLICY:
			init->no_policy = true;
			break;
		case OPTION_DRY:
			init->dry = true;
			break;
		case OPTION_WRITE:
			init->writes = true;
			break;
		case 'h':
			printf("%s", help);
			return 1 + output_end("init", 0);
		default:
			return 1 + output_bad_option("init", argv, options, option);
		}
	}
	if (optind < argc)
		return 1 + output_usage("init", "'%s' is one word too many", argv[optind]);
	if ((project && user) || (init->dry && init->writes))
		return 1 + output_usage("init", "--%s and --%s exclude each other",
					init->dry && init->writes ? "dry-run" : "project",
					init->dry && init->writes ? "write" : "user");
	init->scoped = project || user;
	*ret_user = user;
	return 0;
}

static void init_done(struct init *init)
{
	setup_place_done(&init->place);
	list_done(&init->names);
}

int verb_init(int argc, char **argv)
{
	_cleanup_(init_done) struct init init = {0};
	_cleanup_error_ struct error *error = NULL;
	bool user = false;
	int status = read_words(argc, argv, &init, &user);

	if (status)
		return status - 1;
	output_begin();
	signal(SIGXFSZ, SIG_IGN); /* the write fails, and that is said */
	if (setup_find_place(&init.place, &error) < 0)
		return output_error("init", error);
	/* What lies in the home directory itself is the user's, and is no project's. */
	init.place.user =
		user || (!init.scoped && (strcmp(init.place.project, init.place.home) == 0 ||
					  strcmp(init.place.project, "/") == 0));
	return carry_out_all(&init);
}
