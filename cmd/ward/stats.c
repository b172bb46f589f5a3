/* SPDX-License-Identifier: Apache-2.0 */
/* ward stats: how often people are asked, what they say, and which rules would spare them most. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/units.h"
#include "../../src/record/state.h"
#include "../../src/record/stats.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: ward stats [--days N] [--agent ID] [--json]\n"
	"\n"
	"How often people were asked, what they said and how long they took, for each agent and\n"
	"each person; and the rules that would have spared most of these questions, ready for\n"
	"~/.config/ward/ward.yaml, with what else each would admit. Says so when somebody says\n"
	"yes to nearly everything within two seconds.\n"
	"\n"
	"  --days N     of the last N days, today (UTC) included; 30 unless told\n"
	"  --agent ID   of this agent alone\n"
	"  --json       one object, with a series by day, for programs\n"
	"  --help       this text\n"
	"\n"
	"What a tier has answered, and what was put off, is no question here.\n";

static long long number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

/* "-" where there is nothing to be said. */
static void print_share(const json_t *object, const char *key, double scale, const char *unit)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_number(value))
		printf("%7.1f%s", scale * json_number_value(value), unit);
	else
		printf("%7s%*s", "-", (int)strlen(unit), "");
}

static void print_median(const json_t *object)
{
	const json_t *median = json_object_get(object, "median_ms");
	char took[WORDS_TEXT] = "-";

	if (json_is_integer(median))
		output_duration((double)json_integer_value(median), took);
	printf("  %8s", took);
}

static void print_total(const json_t *stats)
{
	printf("since %s: %lld commands, %lld questions", text_of(stats, "from"),
	       number(stats, "commands"), number(stats, "asks"));
	if (json_is_number(json_object_get(stats, "asks_per_100")))
		printf(" (%.1f for 100 commands)",
		       json_number_value(json_object_get(stats, "asks_per_100")));
	printf("\nyes %lld, no %lld, unanswered %lld", number(stats, "approved"),
	       number(stats, "denied"), number(stats, "unanswered"));
	if (json_is_number(json_object_get(stats, "approved_share")))
		printf("; of those answered %.0f %% yes, half of them within",
		       100 * json_number_value(json_object_get(stats, "approved_share")));
	if (json_is_integer(json_object_get(stats, "median_ms"))) {
		char took[WORDS_TEXT];

		output_duration((double)number(stats, "median_ms"), took);
		printf(" %s", took);
	}
	puts("");
}

static void print_agents(const json_t *stats)
{
	const json_t *agents = json_object_get(stats, "by_agent");
	json_t *agent;
	size_t i;

	if (json_array_size(agents) == 0)
		return;
	printf("\nCOMMANDS  QUESTIONS  PER 100      YES    MEDIAN  AGENT\n");
	json_array_foreach (agents, i, agent) {
		printf("%8lld  %9lld  ", number(agent, "commands"), number(agent, "asks"));
		print_share(agent, "asks_per_100", 1, "");
		print_share(agent, "approved_share", 100, " %");
		print_median(agent);
		printf("  ");
		output_text(COLOUR_NONE, text_of(agent, "agent") ? text_of(agent, "agent") : "-");
		puts("");
	}
}

static void print_approvers(const json_t *stats)
{
	const json_t *approvers = json_object_get(stats, "by_approver");
	json_t *approver;
	size_t i;

	if (json_array_size(approvers) == 0)
		return;
	printf("\n ANSWERS      YES    MEDIAN  YES IN 2 S  WHO\n");
	json_array_foreach (approvers, i, approver) {
		printf("%8lld", number(approver, "answers"));
		print_share(approver, "approved_share", 100, " %");
		print_median(approver);
		printf("  %10lld  ", number(approver, "approved_in_haste"));
		output_text(json_is_true(json_object_get(approver, "hasty")) ? COLOUR_YELLOW
									     : COLOUR_NONE,
			    text_of(approver, "by"));
		puts("");
	}
}

static void print_rules(const json_t *stats)
{
	const json_t *rules = json_object_get(stats, "rules");
	json_t *rule;
	size_t i;

	json_array_foreach (rules, i, rule) {
		if (i == 0)
			puts("\nrules that would have spared most questions:");
		printf("\n%4lld questions, %lld different commands, all answered %s\n",
		       number(rule, "asks"), number(rule, "commands"),
		       strcmp(text_of(rule, "do"), "deny") == 0 ? "no" : "yes");
		printf("     ");
		output_text(COLOUR_BOLD, text_of(rule, "rule"));
		printf("\n     means: ");
		output_text(COLOUR_NONE, text_of(rule, "admits"));
		puts("");
	}
}

static void print_warnings(const json_t *stats)
{
	json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(stats, "warnings"), i, warning) {
		printf("\nbeware: ");
		output_text(COLOUR_YELLOW, json_string_value(warning));
		puts("");
	}
}

static int show(unsigned days, const char *agent, bool json, struct error **ret_error)
{
	_cleanup_free_ char *directory = NULL;
	struct store *store = NULL;
	json_t *stats = NULL;
	int r = state_directory(&directory, ret_error);

	if (r == 0)
		r = state_directory_make(directory, ret_error);
	if (r == 0)
		r = store_open(directory, &store, ret_error);
	if (r == 0)
		r = stats_json(store, days, agent, &stats, ret_error);
	store_close(store);
	if (r < 0)
		return r;
	if (json) {
		output_json(stats);
	} else {
		print_total(stats);
		print_agents(stats);
		print_approvers(stats);
		print_rules(stats);
		print_warnings(stats);
	}
	json_decref(stats);
	return 0;
}

int verb_stats(int argc, char **argv)
{
	static const struct option options[] = {{"days", required_argument, NULL, 'd'},
						{"agent", required_argument, NULL, 'a'},
						{"json", no_argument, NULL, 'j'},
						{"help", no_argument, NULL, 'h'},
						{0}};
	_cleanup_error_ struct error *error = NULL;
	uint64_t days = STATS_DAYS;
	const char *agent = NULL;
	bool json = false;
	int option;

	output_begin();
	optind = 0;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
		switch (option) {
		case 'd':
			if (parse_count(optarg, &days, NULL) < 0 || days < 1 ||
			    days > STATS_DAYS_MOST)
				return output_usage("stats", "--days is a number from 1 to %d",
						    STATS_DAYS_MOST);
			break;
		case 'a':
			agent = optarg;
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(help, stdout);
			return output_end("stats", 0);
		default:
			return output_bad_option("stats", argv, options, option);
		}
	}
	if (optind < argc)
		return output_usage("stats", "unexpected word '%s'", argv[optind]);
	if (show((unsigned)days, agent, json, &error) < 0)
		return output_error("stats", error);
	return output_end("stats", 0);
}
