/* SPDX-License-Identifier: Apache-2.0 */
/* A score, drawn and in words: where it stands, how it came there, what it unlocks, what is next.
 */
#include "trust.h"
#include "output.h"
#include "../../src/record/incidents.h"
#include "../../src/request/text_json.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PLOT_WIDTH = 48, CHANGES_SHOWN = 8, PLOT_LEVELS = 8 };

static bool shows_blocks(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* The last changes, one mark each, from 0 to the highest that there can be. */
static void print_plot(const struct trust_rules *rules, const struct trust_history *history,
		       double now)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char marks[] = "_.-:=+*#";
	bool fine = shows_blocks();
	size_t first = history->count > PLOT_WIDTH - 1 ? history->count - (PLOT_WIDTH - 1) : 0;

	fputs("  history   ", stdout);
	for (size_t i = first; i <= history->count; i++) {
		double score = i < history->count ? history->items[i].score : now;
		int level = (int)(score * PLOT_LEVELS / (TRUST_MOST + 1));

		level = MAX(0, MIN(level, PLOT_LEVELS - 1));
		if (fine)
			fputs(blocks[level], stdout);
		else
			putchar(marks[level]);
	}

	printf("  %d to %d\n",
	       history->count ? trust_points(history->items[first].score) : rules->start,
	       trust_points(now));
}

static void print_changes(const struct trust_history *history)
{
	size_t first = history->count > CHANGES_SHOWN ? history->count - CHANGES_SHOWN : 0;

	for (size_t i = history->count; i > first; i--) {
		const struct trust_change *change = &history->items[i - 1];
		time_t moment = (time_t)change->time;
		struct tm local;
		char when[32] = "";

		if (localtime_r(&moment, &local))
			strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &local);
		printf("    %s  %+4.0f  %-9s ", when, change->delta, change->kind);
		output_text(COLOUR_NONE, change->why ? change->why : "");
		if (change->by && strcmp(change->by, "ward") != 0) {
			fputs(" (", stdout);
			output_text(COLOUR_NONE, change->by);
			putchar(')');
		}
		putchar('\n');
	}
}

static void print_list(const char *label, const struct list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		printf("    %-9s ", i ? "" : label);
		output_text(COLOUR_NONE, list->items[i]);
		putchar('\n');
	}
}

static void print_threshold(const struct trust_threshold *threshold)
{
	print_list("may", &threshold->unlocks);
	print_list("runs", &threshold->commands);
	print_list("asks for", &threshold->requests);
}

static void print_thresholds(const struct trust_rules *rules, double score)
{
	const struct trust_threshold *next = NULL;

	puts("  unlocked");
	for (size_t i = 0; i < rules->threshold_count; i++) {
		const struct trust_threshold *threshold = &rules->thresholds[i];

		if (trust_points(score) >= threshold->at)
			print_threshold(threshold);
		else if (!next)
			next = threshold;
	}
	if (rules->threshold_count == 0 || (next && next == rules->thresholds))
		puts("    nothing beyond what every agent may");
	if (!next)
		return;
	printf("  at %d, %d to go\n", next->at, next->at - trust_points(score));
	print_threshold(next);
}

static json_t *lists_of(const struct trust_threshold *threshold)
{
	json_t *object = json_pack("{s:i}", "at", threshold->at);

	json_put_list(object, "unlocks", &threshold->unlocks);
	json_put_list(object, "commands", &threshold->commands);
	json_put_list(object, "requests", &threshold->requests);
	return object;
}

static json_t *object_of(const struct trust_call *call, const char *agent, double score,
			 const struct trust_history *history)
{
	const struct trust_rules *rules = &call->policy->trust;
	json_t *object = json_object(), *changes = json_array(), *unlocked = json_array(),
	       *next = NULL;

	json_put_text(object, "agent", agent);
	json_put(object, "score", json_integer(trust_points(score)));
	for (size_t i = 0; i < history->count; i++) {
		const struct trust_change *change = &history->items[i];
		json_t *entry = json_object();

		json_put(entry, "at", json_integer(change->time));
		json_put_text(entry, "kind", change->kind);
		json_put(entry, "delta", json_real(change->delta));
		json_put(entry, "score", json_real(change->score));
		json_put_text(entry, "why", change->why);
		json_put_text(entry, "by", change->by);
		json_array_append_new(changes, entry);
	}
	json_put(object, "history", changes);
	for (size_t i = 0; i < rules->threshold_count; i++)
		if (trust_points(score) >= rules->thresholds[i].at)
			json_array_append_new(unlocked, lists_of(&rules->thresholds[i]));
		else if (!next)
			next = lists_of(&rules->thresholds[i]);
	json_put(object, "unlocked", unlocked);
	json_put(object, "next", next ? next : json_null());
	return object;
}

int trust_show_agent(const struct trust_call *call, const char *agent, struct error **ret_error)
{
	_cleanup_trust_history_ struct trust_history history = {0};
	struct agent_mode mode;
	double score;
	int r = trust_read(call->state, agent, &history, ret_error);

	if (r == 0)
		r = mode_read(call->state, agent, &mode, ret_error);
	if (r < 0)
		return r;
	score = trust_score_at(&call->policy->trust, &history, time(NULL));
	if (call->json) {
		json_t *object = object_of(call, agent, score, &history);

		if (mode.safe)
			json_put_text(object, "safe_mode", mode.incident);
		output_json(object);
		json_decref(object);
		return 0;
	}
	output_text(COLOUR_BOLD, agent);
	printf("\n  score     %d of %d\n", trust_points(score), TRUST_MOST);
	if (mode.safe)
		printf("  mode      safe, whatever its score: ward incidents show %s\n",
		       mode.incident);
	print_plot(&call->policy->trust, &history, score);
	print_changes(&history);
	print_thresholds(&call->policy->trust, score);
	return 0;
}

/* Those of which something is kept, and those that the policy names outright. */
int trust_show_all(const struct trust_call *call, struct error **ret_error)
{
	const struct list *bound = &call->policy->tiers.agents;
	_cleanup_list_ struct list agents = {0};
	int r = trust_agents(call->state, &agents, ret_error);
	_cleanup_error_ struct error *failed = NULL;
	size_t shown = 0, unknown = 0;

	for (size_t i = 0; r == 0 && i < bound->count; i++)
		if (!strpbrk(bound->items[i], "*?[]|\\") && !list_has(&agents, bound->items[i]))
			list_add(&agents, bound->items[i]);
	for (size_t i = 0; r == 0 && i < agents.count && !output_is_closed(); i++) {
		if (!trust_binds(call->policy, agents.items[i]))
			continue;
		if (shown++ && !call->json)
			putchar('\n');
		/* One that cannot be read hides no other. */
		if (trust_show_agent(call, agents.items[i], failed ? NULL : &failed) < 0)
			unknown++;
	}
	if (r == 0 && unknown) {
		*ret_error = STEAL(failed);
		return error_wrap(ret_error, "%zu of them not known", unknown);
	}
	if (r == 0 && !shown && !call->json)
		puts(bound->count ? "no agent has a score yet"
				  : "the policy puts no agent under trust: see docs/trust.md");
	return r;
}
