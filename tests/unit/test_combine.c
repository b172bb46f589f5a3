/* SPDX-License-Identifier: Apache-2.0 */
/* The combinators: properties that hold for all words of up to five members. */
#include "../../src/decide/combine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { MEMBERS = 5, SILENT = -1 };

/* What a member may be: silent, or a word with its certainty and priority. */
static const struct {
	int kind;
	bool certain;
	int priority;
} forms[] = {
	{SILENT, true, 0},	   {VERDICT_ALLOW, true, 0}, {VERDICT_ASK, true, 0},
	{VERDICT_DENY, true, 0},   {VERDICT_ASK, false, 0},  {VERDICT_DENY, false, 0},
	{VERDICT_ALLOW, true, -7}, {VERDICT_DENY, true, 9},  {VERDICT_ASK, false, 9},
};

struct members {
	struct word_said words[MEMBERS];
	size_t count, members;
	bool all_certain;
};

static int kind_of(const struct word_said *word)
{
	return word ? (int)word->kind : SILENT;
}

static void make(size_t number, size_t members, struct members *ret)
{
	*ret = (struct members){.members = members, .all_certain = true};
	for (size_t i = 0; i < members; i++, number /= ELEMENTS(forms)) {
		size_t form = number % ELEMENTS(forms);

		if (forms[form].kind == SILENT)
			continue;
		ret->all_certain &= forms[form].certain;
		ret->words[ret->count++] =
			(struct word_said){.kind = (enum verdict_kind)forms[form].kind,
					   .certain = forms[form].certain,
					   .priority = forms[form].priority,
					   .position = i};
	}
}

static int strongest(const struct members *members)
{
	int kind = SILENT;

	for (size_t i = 0; i < members->count; i++)
		kind = MAX(kind, (int)members->words[i].kind);
	return kind;
}

static void each(void (*check)(const struct members *))
{
	struct members members;

	for (size_t count = 0, most = 1; count <= MEMBERS - 1; count++, most *= ELEMENTS(forms))
		for (size_t number = 0; number < most; number++) {
			make(number, count, &members);
			check(&members);
		}
}

static int say(enum combine how, const struct members *members)
{
	return kind_of(combine(how, members->words, members->count, members->members));
}

static void check_word(const struct members *members)
{
	for (enum combine how = COMBINE_DENY_OVERRIDES; how <= COMBINE_ANY_OF; how++) {
		const struct word_said *word =
			combine(how, members->words, members->count, members->members);

		if (members->count == 0)
			assert_null(word);
		else if (how != COMBINE_ALL_OF)
			assert_non_null(word);
		if (word)
			assert_true(word >= members->words &&
				    word < members->words + members->count);
	}
}

static void every_combinator_says_what_one_of_its_members_says(void **state)
{
	(void)state;
	each(check_word);
}

static void check_definitions(const struct members *members)
{
	int least = SILENT, top = 0, of_top = SILENT;
	bool all_allow = members->count == members->members && members->count > 0;

	for (size_t i = 0; i < members->count; i++) {
		const struct word_said *word = &members->words[i];

		least = least == SILENT ? (int)word->kind : MIN(least, (int)word->kind);
		all_allow &= word->kind == VERDICT_ALLOW;
		if (of_top == SILENT || word->priority > top) {
			top = word->priority;
			of_top = (int)word->kind;
		} else if (word->priority == top) {
			of_top = MAX(of_top, (int)word->kind);
		}
	}
	assert_int_equal(say(COMBINE_DENY_OVERRIDES, members), strongest(members));
	/* All-of never allows what one member does not. */
	assert_int_equal(say(COMBINE_ALL_OF, members) == VERDICT_ALLOW, all_allow);
	if (strongest(members) > VERDICT_ALLOW)
		assert_int_equal(say(COMBINE_ALL_OF, members), strongest(members));
	if (!members->all_certain)
		return;
	assert_int_equal(say(COMBINE_ANY_OF, members), least);
	assert_int_equal(say(COMBINE_FIRST_MATCH, members),
			 members->count ? (int)members->words[0].kind : SILENT);
	assert_int_equal(say(COMBINE_PRIORITY, members), of_top);
}

static void combinators_mean_what_they_are_called(void **state)
{
	(void)state;
	each(check_definitions);
}

/* The same members without one. */
static struct members without(const struct members *members, size_t index)
{
	struct members less = *members;

	memmove(&less.words[index], &less.words[index + 1],
		(less.count - index - 1) * sizeof(less.words[0]));
	less.count--;
	return less;
}

static void check_doubt(const struct members *members)
{
	for (size_t i = 0; i < members->count; i++) {
		struct members less = without(members, i);

		for (enum combine how = COMBINE_DENY_OVERRIDES;
		     !members->words[i].certain && how <= COMBINE_ANY_OF; how++)
			assert_true(say(how, members) >= say(how, &less));
	}
}

static void a_word_in_doubt_never_makes_the_answer_milder(void **state)
{
	(void)state;
	each(check_doubt);
}

static void check_order(const struct members *members)
{
	static const enum combine free[] = {COMBINE_DENY_OVERRIDES, COMBINE_PRIORITY,
					    COMBINE_ALL_OF, COMBINE_ANY_OF};
	struct members turned = *members;

	for (size_t i = 0; i < members->count; i++)
		turned.words[i] = members->words[members->count - 1 - i];
	for (size_t i = 0; i < ELEMENTS(free); i++)
		assert_int_equal(say(free[i], members), say(free[i], &turned));
}

static void only_first_match_depends_on_the_order(void **state)
{
	(void)state;
	each(check_order);
}

static void check_stronger(const struct members *members)
{
	static const enum combine monotone[] = {COMBINE_DENY_OVERRIDES, COMBINE_FIRST_MATCH,
						COMBINE_PRIORITY, COMBINE_ALL_OF, COMBINE_ANY_OF};

	for (size_t i = 0; i < members->count; i++) {
		struct members more = *members;

		if (!more.words[i].certain || more.words[i].kind == VERDICT_DENY)
			continue;
		more.words[i].kind++;
		for (size_t k = 0; k < ELEMENTS(monotone); k++)
			assert_true(say(monotone[k], &more) >= say(monotone[k], members));
	}
}

static void a_stronger_word_never_makes_the_answer_milder(void **state)
{
	(void)state;
	each(check_stronger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_combinator_says_what_one_of_its_members_says),
		cmocka_unit_test(combinators_mean_what_they_are_called),
		cmocka_unit_test(a_word_in_doubt_never_makes_the_answer_milder),
		cmocka_unit_test(only_first_match_depends_on_the_order),
		cmocka_unit_test(a_stronger_word_never_makes_the_answer_milder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
