/* SPDX-License-Identifier: Apache-2.0 */
/* The combinators. */
#include "combine.h"

/* Of two of one kind the first stays. */
static const struct word_said *stronger(const struct word_said *one, const struct word_said *other)
{
	return !one || (other && other->kind > one->kind) ? other : one;
}

static const struct word_said *strongest(const struct word_said *words, size_t count)
{
	const struct word_said *best = NULL;

	for (size_t i = 0; i < count; i++)
		best = stronger(best, &words[i]);
	return best;
}

/* A word that may not hold does not keep those behind it from being heard. */
static const struct word_said *first_match(const struct word_said *words, size_t count)
{
	const struct word_said *best = NULL;

	for (size_t i = 0; i < count; i++) {
		best = stronger(best, &words[i]);
		if (words[i].certain)
			break;
	}
	return best;
}

/* The strongest word of the highest priority that says something for certain. */
static const struct word_said *by_priority(const struct word_said *words, size_t count)
{
	const struct word_said *best = NULL;
	bool certain = false, any = true;
	int below = 0;

	for (bool first = true; any && !certain; first = false) {
		int top = 0;

		any = false;
		for (size_t i = 0; i < count; i++)
			if ((first || words[i].priority < below) &&
			    (!any || words[i].priority > top)) {
				top = words[i].priority;
				any = true;
			}
		for (size_t i = 0; any && i < count; i++)
			if (words[i].priority == top) {
				best = stronger(best, &words[i]);
				certain |= words[i].certain;
			}
		below = top;
	}
	return best;
}

/* Allow only where every member does. */
static const struct word_said *all_of(const struct word_said *words, size_t count,
				      size_t member_count)
{
	const struct word_said *best = strongest(words, count);

	return best && best->kind == VERDICT_ALLOW && count < member_count ? NULL : best;
}

/* The mildest word that is certain; where none is, the strongest. */
static const struct word_said *any_of(const struct word_said *words, size_t count)
{
	const struct word_said *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (words[i].certain && (!best || words[i].kind < best->kind))
			best = &words[i];
	return best ? best : strongest(words, count);
}

const struct word_said *combine(enum combine how, const struct word_said *words, size_t count,
				size_t member_count)
{
	switch (how) {
	case COMBINE_FIRST_MATCH:
		return first_match(words, count);
	case COMBINE_PRIORITY:
		return by_priority(words, count);
	case COMBINE_ALL_OF:
		return all_of(words, count, member_count);
	case COMBINE_ANY_OF:
		return any_of(words, count);
	default:
		return strongest(words, count);
	}
}
