/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of trust: no file, no clock. */
#include "trust.h"
#include "pattern.h"
#include "policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t day = 86400;

bool trust_binds(const struct policy *policy, const char *agent)
{
	const struct request named = {.agent = (char *)agent};

	return policy && tiers_bind(&policy->tiers, &named);
}

void trust_history_done(struct trust_history *history)
{
	for (size_t i = 0; i < history->count; i++) {
		struct trust_change *change = &history->items[i];

		free(change->kind);
		free(change->why);
		free(change->by);
		free(change->key);
	}
	free(history->items);
	*history = (struct trust_history){0};
}

/* Not a number is nothing. */
static double bounded(double score)
{
	return score >= TRUST_MOST ? TRUST_MOST : score > 0 ? score : 0;
}

/* What any one change leaves at least; a reset is one, too. */
static double after_worst(const struct trust_rules *rules, double score)
{
	double worst = MIN(score, bounded(rules->start));

	for (enum trust_kind kind = 0; kind < TRUST_KINDS; kind++)
		worst = MIN(worst, bounded(score + rules->points[kind]));
	return worst;
}

double trust_score_at(const struct trust_rules *rules, const struct trust_history *history,
		      int64_t now)
{
	const struct trust_change *last =
		history->count ? &history->items[history->count - 1] : NULL;
	double days, score = bounded(rules->start);

	if (last) {
		days = now > last->time ? (double)(now - last->time) / (double)day : 0;
		score = bounded(bounded(last->score) * pow(rules->decay, days));
	}
	return history->torn ? after_worst(rules, score) : score;
}

int trust_points(double score)
{
	return (int)lround(bounded(score));
}

double trust_score_after(const struct trust_rules *rules, const struct trust_history *history,
			 double delta, int64_t now)
{
	return bounded(trust_score_at(rules, history, now) + delta);
}

bool trust_may_count(const struct trust_history *history, enum trust_kind kind, const char *key,
		     int64_t now)
{
	const char *name = trust_kind_name(kind);
	unsigned today = 0;

	if (kind != TRUST_TESTS && kind != TRUST_ASKED)
		return true;
	for (size_t i = 0; i < history->count; i++) {
		const struct trust_change *change = &history->items[i];
		bool recent = change->time > now - day;

		if (strcmp(change->kind, name) != 0)
			continue;
		today += recent;
		if (key && change->key && strcmp(change->key, key) == 0 &&
		    (kind == TRUST_TESTS || recent))
			return false;
	}
	return today < TRUST_A_DAY;
}
