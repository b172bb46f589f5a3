/* SPDX-License-Identifier: Apache-2.0 */
/* ward log: the runs on record, newest first. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/escape.h"
#include "../../src/base/units.h"
#include "../../src/record/lost.h"
#include "../../src/record/state.h"
#include "../../src/record/store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static const char help[] =
	"usage: ward log [--json] [-n N] [--agent ID] [--session ID] [--denied]\n"
	"\n"
	"Lists the runs on record, newest first.\n"
	"\n"
	"  -n N           at most N runs; 20 unless told, 0 for all\n"
	"  --agent ID     only runs of this agent\n"
	"  --session ID   only runs of this session\n"
	"  --denied       only runs in which something was refused\n"
	"  --json         one object a line, for programs\n"
	"  --help         this text\n"
	"\n"
	"EXIT is the exit code, the signal or the limit that ended the run, or why it did not "
	"start; "
	"'-' means that\n"
	"it has not ended, killed that ward itself was. DENIED counts what was refused.\n"
	"\n"
	"example: ward log -n 5 --denied, then ward show RUN\n";

struct listing {
	bool json, denied;
	const char *agent, *session;
	unsigned left; /* how many more to show */
	unsigned shown;
	int id_width;
	size_t width; /* of the terminal; 0 where nothing is to be shortened */
};

static size_t terminal_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

static bool is_wanted(const struct listing *listing, const json_t *run)
{
	const char *agent = text_of(run, "agent"), *session = text_of(run, "session");

	if (listing->agent && (!agent || strcmp(agent, listing->agent) != 0))
		return false;
	if (listing->session && (!session || strcmp(session, listing->session) != 0))
		return false;
	return !listing->denied || json_integer_value(json_object_get(run, "denials")) > 0;
}

/* Padding counts what is seen, which escapes and colours would hide from printf(). */
static void cell(enum colour colour, const char *text, int width)
{
	output_text(colour, text);
	printf("%*s", MAX(1, width - (int)strlen(text) + 2), "");
}

static void show_row(struct listing *listing, const json_t *run)
{
	char when[WORDS_TEXT], took[WORDS_TEXT] = "-", outcome[WORDS_TEXT], denials[WORDS_TEXT];
	const char *id = text_of(run, "id"), *command = text_of(run, "command");
	json_int_t denied = json_integer_value(json_object_get(run, "denials"));
	enum colour colour = output_outcome(run, outcome);
	_cleanup_buffer_ struct buffer text = {0};
	size_t before;

	if (listing->shown == 0) {
		/* Ids are of one length, so the first tells the column's width. */
		listing->id_width = MAX((int)strlen(id), 3);
		printf("%-14s  %-*s  %-8s  %-8s  %-6s  %s\n", "TIME", listing->id_width, "RUN",
		       "EXIT", "TOOK", "DENIED", "COMMAND");
	}
	output_time(text_of(run, "time"), "%m-%d %H:%M:%S", when);
	if (json_is_number(json_object_get(run, "duration_ms")))
		output_duration(json_number_value(json_object_get(run, "duration_ms")), took);
	snprintf(denials, sizeof(denials), "%lld", (long long)denied);
	cell(COLOUR_NONE, when, 14);
	cell(COLOUR_BOLD, id, listing->id_width);
	cell(colour, outcome, 8);
	cell(COLOUR_NONE, took, 8);
	cell(denied > 0 ? COLOUR_YELLOW : COLOUR_NONE, denials, 6);
	if (command)
		escape_for_terminal(&text, command, strlen(command));
	before = (size_t)(14 + listing->id_width + 8 + 8 + 6 + 5 * 2);
	if (listing->width > 0)
		output_shorten(&text, listing->width > before + 20 ? listing->width - before : 20);
	printf("%s\n", buffer_text(&text));
}

static int show_run(json_t *run, void *data)
{
	struct listing *listing = data;

	if (!is_wanted(listing, run))
		return 0;
	if (listing->left == 0 || output_is_closed())
		return 1;
	if (listing->json)
		output_json(run);
	else
		show_row(listing, run);
	listing->shown++;
	listing->left--;
	return 0;
}

static int list_runs(struct listing *listing, struct error **ret_error)
{
	_cleanup_free_ char *directory = NULL;
	struct store *store;
	int r;

	r = state_directory(&directory, ret_error);
	if (r == 0)
		r = state_directory_make(directory, ret_error);
	if (r == 0)
		/* What cannot be settled can still be listed. */
		(void)runs_settle(directory, /* alive= */ NULL, NULL, /* ret_error= */ NULL);
	if (r == 0)
		r = store_open(directory, &store, ret_error);
	if (r < 0)
		return r;
	r = store_runs(store, UINT_MAX, show_run, listing, ret_error);
	store_close(store);
	return MIN(r, 0);
}

int verb_log(int argc, char **argv)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},	   {"agent", required_argument, NULL, 'a'},
		{"session", required_argument, NULL, 's'}, {"denied", no_argument, NULL, 'd'},
		{"help", no_argument, NULL, 'h'},	   {NULL},
	};
	struct listing listing = {.left = 20, .width = terminal_width()};
	_cleanup_error_ struct error *error = NULL;
	uint64_t count;
	int option;

	output_begin();
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":n:h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			listing.json = true;
			break;
		case 'n':
			if (parse_count(optarg, &count, &error) < 0) {
				error_wrap(&error, "-n");
				return output_error("log", error);
			}
			listing.left = count == 0 || count > UINT_MAX ? UINT_MAX : (unsigned)count;
			break;
		case 'a':
			listing.agent = optarg;
			break;
		case 's':
			listing.session = optarg;
			break;
		case 'd':
			listing.denied = true;
			break;
		case 'h':
			fputs(help, stdout);
			return output_end("log", 0);
		default:
			return output_bad_option("log", argv, options, option);
		}
	}
	if (optind < argc)
		return output_usage("log", "unexpected word '%s'", argv[optind]);
	if (list_runs(&listing, &error) < 0)
		return output_error("log", error);
	if (!listing.json && listing.shown == 0)
		puts(listing.agent || listing.session || listing.denied
			     ? "No run on record is like that."
			     : "No run is on record yet.");
	return output_end("log", 0);
}
