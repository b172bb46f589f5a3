/* SPDX-License-Identifier: Apache-2.0 */
/* ward policy: check the policy files, show what is in force, believe a project's file. */
#include "options.h"
#include "output.h"
#include "policy_flags.h"
#include "policy_fmt.h"
#include "policy_help.h"
#include "policy_sets.h"
#include "policy_show.h"
#include "policy_try.h"
#include "verbs.h"
#include "../../src/base/path.h"
#include "../../src/decide/sets.h"
#include "../../src/record/state.h"
#include "../../src/sandbox/walls.h"

#include <stdio.h>
#include <string.h>

enum { EXIT_FAULT = 1 };

struct words {
	struct policy_places places;
	bool json;
	const char *script; /* explain -c */
	enum fmt_mode mode;
	char **rest; /* ended by NULL */
	size_t count;
	char **flags; /* show --flags: the name of the act and flags of ward run; NULL otherwise */
	int flag_count;
};

static void print_place(const struct error *error)
{
	_cleanup_buffer_ struct buffer text = {0};

	if (error->file)
		buffer_add_text(&text, error->file);
	if (error->file && error->line > 0)
		buffer_printf(&text, ":%d:%d", error->line, error->column);
	buffer_printf(&text, "%s%s", error->file ? ": " : "", error->message);
	output_text(COLOUR_RED, buffer_text(&text));
	if (error->hint) {
		printf("\n  hint: ");
		output_text(COLOUR_NONE, error->hint);
	}
	putchar('\n');
}

static void print_list(const char *before, const struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		fputs(before, stdout);
		output_text(COLOUR_YELLOW, list->items[i]);
		putchar('\n');
	}
}

static void print_ok(const char *file)
{
	output_text(COLOUR_NONE, file);
	fputs(": ", stdout);
	output_text(COLOUR_GREEN, "ok");
	putchar('\n');
}

/* Where one file is at fault: how the others are by themselves. */
static void check_others(const struct words *words, const char *file)
{
	_cleanup_list_ struct list paths = {0};

	policy_paths(&words->places, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		_cleanup_error_ struct error *fault = NULL;

		if ((file && strcmp(file, paths.items[i]) == 0) || access(paths.items[i], F_OK) < 0)
			continue;
		if (policy_check_file(paths.items[i], words->places.walls, NULL, &fault) < 0)
			print_place(fault);
		else
			print_ok(paths.items[i]);
	}
}

/* A file about sets is known by its name. */
static int check_one(const struct words *words, const char *path, struct list *warnings,
		     struct error **ret_error)
{
	return strcmp(path_last(path), "sets.yaml") == 0
		       ? sets_check_file(path, ret_error)
		       : policy_check_file(path, words->places.walls, warnings, ret_error);
}

static int check_sets(const struct words *words)
{
	_cleanup_list_ struct list files = {0};
	_cleanup_error_ struct error *error = NULL;
	int r = policy_sets_check(&words->places, &files, &error);

	for (size_t i = 0; i < files.count; i++)
		print_ok(files.items[i]);
	if (r < 0)
		print_place(error);
	return r < 0 ? EXIT_FAULT : 0;
}

static int check(const struct words *words, struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_error_ struct error *error = NULL;
	int status = 0;

	(void)ret_error;
	for (size_t i = 0; i < words->count; i++) {
		_cleanup_list_ struct list warnings = {0};
		_cleanup_error_ struct error *fault = NULL;

		if (check_one(words, words->rest[i], &warnings, &fault) < 0) {
			print_place(fault);
			status = EXIT_FAULT;
		} else {
			print_ok(words->rest[i]);
		}
		print_list("warning: ", &warnings);
	}
	if (words->count > 0)
		return status;
	status = check_sets(words);
	if (policy_load(&words->places, &policy, &error) < 0) {
		check_others(words, error->file);
		print_place(error);
		return EXIT_FAULT;
	}
	for (size_t i = 0; i < policy->files.count; i++)
		print_ok(policy->files.items[i]);
	if (!policy->configured)
		printf("no policy file here: what is built in holds\n");
	print_list("warning: ", &policy->warnings);
	return status;
}

/* The flags, and back: read again they give the same sandbox, and the same flags. */
static int show_flags(const struct words *words, struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL;
	_cleanup_request_ struct request flags, whole = {0};
	_cleanup_buffer_ struct buffer line = {0};
	struct policy_places places = words->places;
	int r;

	request_init(&flags);
	r = options_parse_flags(words->flag_count, words->flags, &flags, ret_error);
	if (r == 0 && (flags.script || flags.json)) {
		fail(ret_error, E_USAGE, "--flags is about sandboxes: no -c, no --json");
		r = error_hint(ret_error, "`ward policy --help` lists what there is");
	}
	if (r != 0) {
		if (r == 1)
			fputs(policy_help, stdout);
		return r == 1 ? 0 : r;
	}
	places.extra = flags.policy;
	places.profile = flags.profile;
	if (flags.workspace)
		places.workspace = flags.workspace;
	r = policy_load(&places, &policy, ret_error);
	if (r == 0)
		r = policy_to_request(policy, &flags, &whole, ret_error);
	if (r < 0)
		return r;
	buffer_add_text(&line, "ward run");
	options_print(&whole, &line);
	puts(buffer_text(&line));
	return 0;
}

static int show(const struct words *words, struct error **ret_error)
{
	struct policy_places places = words->places;
	_cleanup_policy_ struct policy *policy = NULL;
	int r;

	if (words->flags)
		return show_flags(words, ret_error);
	if (words->count > 0) {
		fail(ret_error, E_USAGE, "show takes no word such as '%s'", words->rest[0]);
		return error_hint(ret_error, "`ward policy --help` lists what there is");
	}
	places.profile = "*";
	r = policy_load(&places, &policy, ret_error);
	if (r < 0)
		return r;
	if (words->json) {
		json_t *object = policy_object(policy);

		output_json(object);
		json_decref(object);
	} else {
		policy_print(policy);
	}
	return 0;
}

static int test(const struct words *words, struct error **ret_error)
{
	return policy_test(&words->places, words->rest, words->count, words->json, ret_error);
}

static int fmt(const struct words *words, struct error **ret_error)
{
	return policy_fmt(&words->places, words->rest, words->count, words->mode, ret_error);
}

static int explain(const struct words *words, struct error **ret_error)
{
	return policy_explain(&words->places, words->script, words->rest, words->count, words->json,
			      ret_error);
}

static int sets(const struct words *words, struct error **ret_error)
{
	if (words->count > 1) {
		fail(ret_error, E_USAGE, "one set at a time");
		return error_hint(ret_error, "`ward policy --help` lists what there is");
	}
	return policy_sets(&words->places, words->count ? words->rest[0] : NULL, words->json,
			   ret_error);
}

/* The directory that is meant, absolute. Caller frees. */
static int directory_of(const struct words *words, char **ret_directory, struct error **ret_error)
{
	if (words->count > 1) {
		fail(ret_error, E_USAGE, "one directory at a time");
		return error_hint(ret_error, "`ward policy --help` lists what there is");
	}
	*ret_directory =
		path_resolve(words->places.workspace, NULL, words->count ? words->rest[0] : ".");
	return 0;
}

static int trust(const struct words *words, struct error **ret_error)
{
	_cleanup_policy_ struct policy *policy = NULL, *after = NULL;
	_cleanup_free_ char *directory = NULL;
	struct policy_places places = words->places;
	int r = directory_of(words, &directory, ret_error);

	if (r < 0)
		return r;
	places.workspace = directory;
	places.extra = NULL;
	r = policy_load(&places, &policy, ret_error);
	if (r < 0)
		return r;
	if (policy->ignored.count == 0)
		printf("there is nothing in it that widens and is not believed already\n");
	else
		printf("this is believed from now on:\n");
	print_list("  ", &policy->ignored);
	fflush(stdout);
	r = policy_trust(places.state, directory, ret_error);
	if (r < 0)
		return r;
	/* What was shown must be what was trusted: a command that runs in the project could have
	 * written the file in between. Now nothing may be ignored, and nothing else be different.
	 */
	r = policy_load(&places, &after, ret_error);
	if (r == 0 && !policy_same_files(policy, after)) {
		policy_untrust(places.state, directory, NULL);
		fail(ret_error, E_POLICY, "a policy file changed meanwhile; nothing is trusted");
		return error_hint(ret_error, "look at it and say so again");
	}
	if (r == 0) {
		output_text(COLOUR_NONE, directory);
		printf("/.ward.yaml is trusted until it changes\n");
	}
	return r;
}

static int untrust(const struct words *words, struct error **ret_error)
{
	_cleanup_free_ char *directory = NULL;
	int r = directory_of(words, &directory, ret_error);

	if (r == 0)
		r = policy_untrust(words->places.state, directory, ret_error);
	if (r == 0) {
		output_text(COLOUR_NONE, directory);
		printf("/.ward.yaml can only narrow from now on\n");
	}
	return r;
}

static const struct {
	const char *name;
	int (*act)(const struct words *words, struct error **ret_error);
} acts[] = {
	{"check", check},     {"show", show}, {"test", test},	{"fmt", fmt},
	{"explain", explain}, {"sets", sets}, {"trust", trust}, {"untrust", untrust},
};

static int act_on(const char *name, struct words *words, struct error **ret_error)
{
	_cleanup_free_ char *state = NULL, *cwd = getcwd(NULL, 0), *workspace = NULL;
	_cleanup_list_ struct list walls = {0};
	int r = state_directory(&state, ret_error);

	if (r < 0)
		return r;
	if (!cwd)
		return fail(ret_error, E_USAGE, "the current directory is gone");
	workspace =
		path_resolve(cwd, NULL, words->places.workspace ? words->places.workspace : ".");
	wall_names(~0u, &walls);
	words->places.workspace = workspace;
	words->places.home = getenv("HOME");
	words->places.config_home = getenv("XDG_CONFIG_HOME");
	words->places.state = state;
	words->places.uid = geteuid();
	words->places.walls = &walls;
	for (size_t i = 0; i < ELEMENTS(acts); i++)
		if (strcmp(acts[i].name, name) == 0)
			return acts[i].act(words, ret_error);
	fail(ret_error, E_USAGE, "there is no '%s'", name);
	return error_hint(ret_error, "`ward policy --help` lists what there is");
}

int verb_policy(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"effective", no_argument, NULL, 'e'},
		{"check", no_argument, NULL, 'C'},
		{"diff", no_argument, NULL, 'D'},
		{"policy", required_argument, NULL, 'p'},
		{"workspace", required_argument, NULL, 'w'},
		{"help", no_argument, NULL, 'h'},
		{NULL},
	};
	_cleanup_error_ struct error *error = NULL;
	struct words words = {0};
	int option, r;

	output_begin();
	/* The flags behind it are not this verb's own. */
	for (int i = 2; i < argc && strcmp(argv[1], "show") == 0; i++)
		if (strcmp(argv[i], "--flags") == 0) {
			memmove(&argv[i], &argv[i + 1], (size_t)(argc - i) * sizeof(*argv));
			words.flags = argv + 1;
			argv[1] = (char *)"run"; /* whose help is named in errors */
			words.flag_count = argc - 2;
			r = act_on("show", &words, &error);
			return r < 0 ? output_error("policy", error) : output_end("policy", r);
		}
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":hc:", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			words.json = true;
			break;
		case 'e':
			break;
		case 'C':
			words.mode = FMT_CHECK;
			break;
		case 'D':
			words.mode = FMT_DIFF;
			break;
		case 'c':
			words.script = optarg;
			break;
		case 'p':
			words.places.extra = optarg;
			break;
		case 'w':
			words.places.workspace = optarg;
			break;
		case 'h':
			fputs(policy_help, stdout);
			return output_end("policy", 0);
		default:
			return output_bad_option("policy", argv, options, option);
		}
	}
	if (optind == argc)
		return output_usage(
			"policy", "what? check, show, test, fmt, explain, sets, trust or untrust");
	words.rest = argv + optind + 1;
	words.count = (size_t)(argc - optind - 1);
	r = act_on(argv[optind], &words, &error);
	return r < 0 ? output_error("policy", error) : output_end("policy", r);
}
