/* SPDX-License-Identifier: Apache-2.0 */
/* libward's policies and answers, without a program behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 6, ROUNDS = 2000 };

static const ward_ask no_ask;

/* Says a word, and who said it. */
struct voice {
	int word;
	char reason[8];
};

static int speak(const ward_ask *ask, ward_answer *answer, void *data)
{
	struct voice *voice = data;

	(void)ask;
	assert_int_equal(ward_answer_set(answer, "reason", voice->reason, NULL), 0);
	return voice->word;
}

static const char *said(const ward_answer *answer)
{
	const char *reason = json_string_value(json_object_get(answer->object, "reason"));

	return reason ? reason : "";
}

/* The place of the first with that word, -1: none. */
static int first(const struct voice *voices, size_t count, int word)
{
	for (size_t i = 0; i < count; i++)
		if (voices[i].word == word)
			return (int)i;
	return -1;
}

static int first_no(const struct voice *voices, size_t count)
{
	int deny = first(voices, count, WARD_DENY), abort = first(voices, count, WARD_ABORT);

	return deny < 0 ? abort : abort < 0 || deny < abort ? deny : abort;
}

/* What the header promises, said another way: who speaks for all of them; -1: nobody does. */
static int expected(enum ward_combination how, const struct voice *voices, size_t count,
		    int *ret_word)
{
	int no = first_no(voices, count), yes = first(voices, count, WARD_APPROVE);
	int later = first(voices, count, WARD_LATER), speaker = -1;
	size_t agree = 0;

	for (size_t i = 0; i < count; i++)
		agree += voices[i].word == WARD_APPROVE;
	for (size_t i = 0; i < count && how == WARD_FIRST && speaker < 0; i++)
		if (voices[i].word != WARD_PASS)
			speaker = (int)i;
	if (how == WARD_ALL)
		speaker = no >= 0 ? no : later >= 0 ? later : yes;
	if (how == WARD_ANY)
		speaker = yes >= 0 ? yes : later >= 0 ? later : no;
	*ret_word = speaker < 0 ? WARD_PASS : voices[speaker].word;
	if (how == WARD_ALL && *ret_word == WARD_APPROVE && agree > 1)
		return -1;
	return how != WARD_FIRST && *ret_word == WARD_LATER ? -1 : speaker;
}

static void test_combinations_decide_as_the_header_says(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		enum ward_combination how = (enum ward_combination)(rand_r(&seed) % 3);
		size_t count = 1 + (size_t)rand_r(&seed) % MOST;
		struct voice voices[MOST];
		ward_policy *parts[MOST], *whole;
		ward_answer *answer = ward_answer_new();
		int word, speaker;

		for (size_t i = 0; i < count; i++) {
			voices[i] = (struct voice){rand_r(&seed) % 5, {(char)('a' + i)}};
			parts[i] = ward_policy_new(speak, &voices[i], NULL, NULL);
		}
		whole = ward_policy_combine(how, parts, count, NULL);
		for (size_t i = 0; i < count; i++)
			ward_policy_free(parts[i]); /* the whole has them */
		speaker = expected(how, voices, count, &word);
		assert_int_equal(policy_decide(whole, &no_ask, answer), word);
		assert_string_equal(said(answer), speaker < 0 ? "" : voices[speaker].reason);
		ward_answer_free(answer);
		ward_policy_free(whole);
	}
}

static void test_combinations_nest_and_fall_back(void **state)
{
	struct voice pass = {WARD_PASS, "p"};
	ward_policy *passes = ward_policy_new(speak, &pass, NULL, NULL);
	ward_policy *deny = ward_policy_deny("fallback"), *allow = ward_policy_allow();
	ward_policy *any =
		ward_policy_combine(WARD_ANY, (ward_policy *[]){passes, passes}, 2, NULL);
	ward_policy *whole =
		ward_policy_combine(WARD_FIRST, (ward_policy *[]){any, deny, allow}, 3, NULL);
	ward_answer *answer = ward_answer_new();

	(void)state;
	assert_int_equal(policy_decide(whole, &no_ask, answer), WARD_DENY);
	assert_string_equal(said(answer), "fallback");
	ward_policy_free(passes);
	ward_policy_free(deny);
	ward_policy_free(allow);
	ward_policy_free(any);
	assert_int_equal(policy_decide(whole, &no_ask, answer), WARD_DENY);
	ward_policy_free(whole);
	ward_answer_free(answer);
}

static void test_what_is_no_word_is_no(void **state)
{
	const int words[] = {-1, 5, 77, INT32_MIN};
	ward_answer *answer = ward_answer_new();

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct voice voice = {words[i], "x"};
		ward_policy *policy = ward_policy_new(speak, &voice, NULL, NULL);

		assert_int_equal(policy_decide(policy, &no_ask, answer), WARD_DENY);
		ward_policy_free(policy);
	}
	ward_answer_free(answer);
}

static void test_nothing_to_combine_is_said(void **state)
{
	ward_policy *allow = ward_policy_allow(), *with_none[] = {allow, NULL};
	ward_error *error = NULL;

	(void)state;
	assert_null(ward_policy_combine(WARD_ANY, NULL, 0, NULL));
	assert_null(ward_policy_combine((enum ward_combination)9, &allow, 1, NULL));
	assert_null(ward_policy_combine(WARD_ALL, with_none, 2, &error));
	assert_string_equal(ward_error_kind(error), "usage");
	assert_string_equal(ward_error_message(error), "policy 1 is none");
	ward_error_free(error);
	ward_policy_free(allow);
}

static int freed;

static void count_free(void *data)
{
	(void)data;
	freed++;
}

static void test_the_registry_keeps_what_it_has(void **state)
{
	struct voice voice = {WARD_PASS, "x"};
	ward_policy *policy = ward_policy_new(speak, &voice, count_free, NULL);
	ward_policy *other = ward_policy_allow();

	(void)state;
	assert_int_equal(ward_policy_register("", policy, NULL), -1);
	assert_int_equal(ward_policy_register(NULL, policy, NULL), -1);
	assert_int_equal(ward_policy_register("a", policy, NULL), 0);
	assert_int_equal(ward_policy_register("b", policy, NULL), 0);
	ward_policy_free(policy);
	assert_int_equal(freed, 0);
	assert_int_equal(ward_policy_register("a", other, NULL), 0);
	assert_int_equal(freed, 0);
	assert_int_equal(ward_policy_register("b", NULL, NULL), 0);
	assert_int_equal(freed, 1);
	assert_int_equal(ward_policy_register("never there", NULL, NULL), 0);
	assert_int_equal(ward_policy_register("a", NULL, NULL), 0);
	ward_policy_free(other);
}

static bool offered(const char *choice, int word, const char *key, const char *value)
{
	json_t *ask = json_pack("{s:[s]}", "choices", choice), *object;
	ward_answer *answer = ward_answer_new();
	bool is;

	if (key)
		assert_int_equal(ward_answer_set(answer, key, value, NULL), 0);
	object = answer_object(word, answer);
	is = answer_is_offered(ask, object);
	json_decref(object);
	json_decref(ask);
	ward_answer_free(answer);
	return is;
}

static void test_an_answer_is_held_against_the_choices(void **state)
{
	char scope[100];

	(void)state;
	memset(scope, 'x', sizeof(scope));
	scope[99] = '\0';
	assert_true(offered("approve once", WARD_APPROVE, NULL, NULL));
	assert_true(offered("approve session", WARD_APPROVE, "scope", "session"));
	assert_true(offered("approve unsandboxed", WARD_APPROVE, "unsandboxed", "true"));
	assert_true(offered("approve once", WARD_APPROVE, "unsandboxed", "false"));
	assert_true(offered("abort", WARD_ABORT, "scope", "once"));
	assert_true(offered("deny always", WARD_DENY, "scope", "always"));
	assert_false(offered("approve once", WARD_APPROVE, "unsandboxed", "true"));
	assert_false(offered("approve once", WARD_APPROVE, "scope", "session"));
	assert_false(offered("approve once", WARD_DENY, NULL, NULL));
	assert_false(offered("approve once", WARD_ABORT, NULL, NULL));
	assert_false(offered("approve once", WARD_APPROVE, "scope", scope));
	assert_false(offered("approve once", WARD_LATER, NULL, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_combinations_decide_as_the_header_says),
		cmocka_unit_test(test_combinations_nest_and_fall_back),
		cmocka_unit_test(test_what_is_no_word_is_no),
		cmocka_unit_test(test_nothing_to_combine_is_said),
		cmocka_unit_test(test_the_registry_keeps_what_it_has),
		cmocka_unit_test(test_an_answer_is_held_against_the_choices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
