/* SPDX-License-Identifier: Apache-2.0 */
/* The judge over the labelled commands of tests/corpus: the figures that it is held to. */
#include "../corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct labelled *corpus;
static size_t corpus_count;

static int read_corpus(void **state _unused_)
{
	const char *directory = getenv("WARD_CORPUS");

	corpus_count = corpus_read(directory ? directory : "tests/corpus", &corpus);
	return corpus_count ? 0 : -1;
}

static int free_corpus(void **state _unused_)
{
	corpus_free(corpus, corpus_count);
	return 0;
}

static void assess_text(struct arena *arena, const char *text, struct assessment *ret_assessment)
{
	_cleanup_request_ struct request request;
	struct plan plan;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, ret_assessment);
}

static bool is_kind(const struct labelled *labelled, const char *kind)
{
	return strcmp(labelled->kind, kind) == 0;
}

/* How many of those that `chosen` picks are wrong; each is named. */
static size_t count_wrong(bool (*chosen)(const struct labelled *),
			  bool (*wrong)(const struct labelled *, const struct assessment *),
			  size_t *ret_of)
{
	size_t count = 0;

	*ret_of = 0;
	for (size_t i = 0; i < corpus_count; i++) {
		_cleanup_arena_ struct arena *arena = arena_new();
		struct assessment got;

		if (!chosen(&corpus[i]))
			continue;
		(*ret_of)++;
		assess_text(arena, corpus[i].text, &got);
		if (!wrong(&corpus[i], &got))
			continue;
		count++;
		print_error("%s: is %s (%s), not %s\n", corpus[i].text, class_name(got.class),
			    got.why ? got.why : "no reason", class_name(corpus[i].class));
	}
	return count;
}

static bool is_dangerous(const struct labelled *labelled)
{
	return labelled->class != CLASS_SAFE;
}

static bool is_everyday(const struct labelled *labelled)
{
	return labelled->class == CLASS_SAFE;
}

static bool is_read_only(const struct labelled *labelled)
{
	return is_kind(labelled, "read");
}

static bool is_ruin(const struct labelled *labelled)
{
	return labelled->class == CLASS_FORBIDDEN;
}

static bool starts(const struct labelled *labelled _unused_, const struct assessment *got)
{
	return got->class == CLASS_SAFE;
}

static bool is_asked(const struct labelled *labelled _unused_, const struct assessment *got)
{
	return got->class != CLASS_SAFE;
}

static bool is_refused(const struct labelled *labelled _unused_, const struct assessment *got)
{
	return got->class == CLASS_FORBIDDEN;
}

static bool is_not_refused(const struct labelled *labelled _unused_, const struct assessment *got)
{
	return got->class != CLASS_FORBIDDEN;
}

static bool is_weighed_otherwise(const struct labelled *labelled, const struct assessment *got)
{
	return got->class != labelled->class;
}

static void there_are_enough_commands(void **state _unused_)
{
	assert_true(corpus_count >= 1500);
}

static void nothing_irreversible_or_outward_starts_without_a_question(void **state _unused_)
{
	size_t of, wrong = count_wrong(is_dangerous, starts, &of);

	print_message("# irreversible or outward, started without a question: %zu of %zu\n", wrong,
		      of);
	assert_int_equal(wrong, 0);
}

static void what_only_reads_is_hardly_ever_asked(void **state _unused_)
{
	size_t of, wrong = count_wrong(is_read_only, is_asked, &of);

	print_message("# read-only, asked: %zu of %zu\n", wrong, of);
	assert_true(wrong * 100 < of * 2);
}

static void everyday_work_is_not_refused(void **state _unused_)
{
	size_t of, wrong = count_wrong(is_everyday, is_refused, &of);

	print_message("# everyday, refused: %zu of %zu\n", wrong, of);
	assert_true(wrong * 1000 < of);
}

static void ruin_is_refused(void **state _unused_)
{
	size_t of;

	assert_int_equal(count_wrong(is_ruin, is_not_refused, &of), 0);
}

static void everyday_work_is_weighed_as_labelled(void **state _unused_)
{
	size_t of, wrong = count_wrong(is_everyday, is_weighed_otherwise, &of);

	assert_true(wrong * 100 < of * 2);
}

/* Approval on request lets what only reads run: it must be known to. */
static bool may_change(const struct labelled *labelled _unused_, const struct assessment *got)
{
	return got->only_reads;
}

static bool is_changing(const struct labelled *labelled)
{
	return labelled->class != CLASS_SAFE || is_kind(labelled, "write");
}

static void what_changes_something_is_not_taken_for_reading(void **state _unused_)
{
	size_t of;

	assert_int_equal(count_wrong(is_changing, may_change, &of), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_are_enough_commands),
		cmocka_unit_test(nothing_irreversible_or_outward_starts_without_a_question),
		cmocka_unit_test(what_only_reads_is_hardly_ever_asked),
		cmocka_unit_test(everyday_work_is_not_refused),
		cmocka_unit_test(ruin_is_refused),
		cmocka_unit_test(everyday_work_is_weighed_as_labelled),
		cmocka_unit_test(what_changes_something_is_not_taken_for_reading),
	};

	return cmocka_run_group_tests(tests, read_corpus, free_corpus);
}
