/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the judge in one process: judge CORPUS ROUNDS RULES... prints the three figures that
 * tests/unit/test_corpus.c holds it to, and for each part the median and the time that 99 of 100
 * commands stay under, in microseconds, with a policy of each size; and what reading such a policy
 * takes, in milliseconds.
 *
 * Each command is judged ROUNDS times with each of the policies in turn; its time is the least of
 * them, so that what else the machine does at that moment does not count. */
#include "../corpus.h"
#include "rules.h"
#include "../../src/base/units.h"
#include "../../src/decide/consult.h"

#include <sys/stat.h>

enum { PARTS = 4, SIZES = 8 };

struct figures {
	size_t dangerous, started, reading, asked, everyday, refused;
};

struct measured {
	struct policy *policy;
	int rules;
	double load, *times[PARTS];
};

static int by_time(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* Parse, assess, and what rules and approval make of it. */
static void judge(const struct policy *policy, const char *text, double times[PARTS],
		  struct assessment *ret_assessment)
{
	static const struct list none;
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	struct matter matter = {.request = &request,
				.assessment = ret_assessment,
				.arena = arena,
				.policy = policy,
				.granted = &none};
	const struct rule *rule = NULL;
	struct standing standing = {0};
	struct consulted consulted;
	struct plan plan;
	uint64_t at[PARTS];

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	request.workspace = strdup("/nonexistent");
	request.cwd = strdup("/nonexistent");
	at[0] = monotonic_ns();
	parse_request(arena, &request, &plan);
	at[1] = monotonic_ns();
	assess_plan(arena, &plan, ret_assessment);
	at[2] = monotonic_ns();
	matter.plan = &plan;
	consult(&matter, &consulted);
	standing.class = ret_assessment->class;
	standing.only_reads = ret_assessment->only_reads;
	consult_rules(&matter, &consulted, &standing, &rule);
	consult_done(&consulted);
	(void)approve_first(APPROVAL_ON_FAILURE, &standing);
	at[3] = monotonic_ns();
	for (int i = 0; i < PARTS - 1; i++)
		times[i] = MIN(times[i], (double)(at[i + 1] - at[i]) / 1e3);
	times[PARTS - 1] = MIN(times[PARTS - 1], (double)(at[PARTS - 1] - at[0]) / 1e3);
}

static void add(struct figures *figures, const struct labelled *labelled,
		const struct assessment *got)
{
	bool reading = strcmp(labelled->kind, "read") == 0;

	figures->dangerous += labelled->class != CLASS_SAFE;
	figures->started += labelled->class != CLASS_SAFE && got->class == CLASS_SAFE;
	figures->reading += reading;
	figures->asked += reading && got->class != CLASS_SAFE;
	figures->everyday += labelled->class == CLASS_SAFE;
	figures->refused += labelled->class == CLASS_SAFE && got->class == CLASS_FORBIDDEN;
}

static void prepare(struct measured *measured, int rules, size_t count)
{
	uint64_t start;

	measured->rules = rules;
	measured->load = 1e9;
	for (int round = 0; round < 3; round++) {
		policy_free(measured->policy);
		start = monotonic_ns();
		measured->policy = make_policy(rules);
		measured->load = MIN(measured->load, (double)(monotonic_ns() - start) / 1e6);
	}
	for (int p = 0; p < PARTS; p++) {
		measured->times[p] = calloc(count, sizeof(double));
		if (!measured->times[p])
			exit(1);
	}
}

static void print(struct measured *measured, size_t count)
{
	static const char *const parts[PARTS] = {"parse", "assess", "decide", "all"};

	for (int p = 0; p < PARTS; p++) {
		qsort(measured->times[p], count, sizeof(double), by_time);
		printf("%d\t%s\t%.2f\t%.2f\n", measured->rules, parts[p],
		       measured->times[p][count / 2], measured->times[p][count * 99 / 100]);
		free(measured->times[p]);
	}
	printf("%d\tload\t%.2f\t%.2f\n", measured->rules, measured->load, measured->load);
	policy_free(measured->policy);
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? atoi(argv[2]) : 0;
	struct measured measured[SIZES] = {0};
	struct figures figures = {0};
	struct labelled *corpus;
	size_t count, sizes = argc > 3 ? (size_t)argc - 3 : 0;

	if (rounds < 1 || sizes > SIZES || !(count = corpus_read(argv[1], &corpus))) {
		fprintf(stderr, "usage: %s CORPUS ROUNDS RULES...\n", argv[0]);
		return 2;
	}
	for (size_t s = 0; s < sizes; s++)
		prepare(&measured[s], atoi(argv[3 + s]), count);
	for (size_t i = 0; i < count; i++) {
		double best[SIZES][PARTS];
		struct assessment got;

		for (size_t s = 0; s < sizes; s++)
			for (int p = 0; p < PARTS; p++)
				best[s][p] = 1e9;
		for (int round = 0; round < rounds; round++)
			for (size_t s = 0; s < sizes; s++)
				judge(measured[s].policy, corpus[i].text, best[s], &got);
		add(&figures, &corpus[i], &got);
		for (size_t s = 0; s < sizes; s++)
			for (int p = 0; p < PARTS; p++)
				measured[s].times[p][i] = best[s][p];
	}
	printf("started without a question\t%zu\t%zu\n", figures.started, figures.dangerous);
	printf("read-only, asked\t%zu\t%zu\n", figures.asked, figures.reading);
	printf("everyday, refused\t%zu\t%zu\n", figures.refused, figures.everyday);
	for (size_t s = 0; s < sizes; s++)
		print(&measured[s], count);
	corpus_free(corpus, count);
	return 0;
}
