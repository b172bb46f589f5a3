/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the judge in one process: judge CORPUS RULES ROUNDS prints the three figures that
 * tests/unit/test_corpus.c holds it to, and for each part the best, the median and the time that
 * 99 of 100 commands stay under, in microseconds.
 *
 * Each command is judged ROUNDS times; its time is the least of them, so that what else the machine
 * does at that moment does not count. */
#include "../corpus.h"
#include "../../src/base/units.h"
#include "../../src/decide/policy.h"

#include <sys/stat.h>
#include <unistd.h>

enum { PARTS = 4 };

struct figures {
	size_t dangerous, started, reading, asked, everyday, refused;
};

static int by_time(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* Rules of the kind that people write, each for another program. */
static struct policy *make_policy(int rules)
{
	char path[] = "/tmp/ward-judge-XXXXXX";
	const struct policy_places places = {
		.workspace = "/", .extra = path, .system = "/nonexistent", .uid = geteuid()};
	struct policy *policy;
	struct error *error = NULL;
	int fd = mkstemp(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

	if (!file)
		exit(1);
	fputs(rules ? "version: 1\nrules:\n" : "version: 1\n", file);
	for (int i = 0; i < rules; i++)
		fprintf(file,
			"  - command: tool%d deploy --stage=*\n    do: %s\n    why: measured\n", i,
			i % 3 ? "ask" : "deny");
	fclose(file);
	if (policy_load(&places, &policy, &error) < 0) {
		fprintf(stderr, "%s\n", error->message);
		exit(1);
	}
	unlink(path);
	return policy;
}

/* Parse, assess, rules. */
static void judge(const struct policy *policy, const char *text, double times[PARTS],
		  struct assessment *ret_assessment)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	uint64_t at[PARTS];
	struct plan plan;

	request_init(&request);
	request.mode = MODE_SHELL;
	request.script = strdup(text);
	at[0] = monotonic_ns();
	parse_request(arena, &request, &plan);
	at[1] = monotonic_ns();
	assess_plan(arena, &plan, ret_assessment);
	at[2] = monotonic_ns();
	for (size_t i = 0; i < plan.count; i++)
		(void)policy_match(policy, &plan.commands[i], 0);
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

int main(int argc, char **argv)
{
	static const char *const parts[PARTS] = {"parse", "assess", "rules", "all"};
	int rules = argc == 4 ? atoi(argv[2]) : -1, rounds = argc == 4 ? atoi(argv[3]) : 0;
	struct figures figures = {0};
	struct labelled *corpus;
	struct policy *policy;
	size_t count;
	double *times[PARTS];

	if (rules < 0 || rounds < 1 || !(count = corpus_read(argv[1], &corpus))) {
		fprintf(stderr, "usage: %s CORPUS RULES ROUNDS\n", argv[0]);
		return 2;
	}
	policy = make_policy(rules);
	for (int p = 0; p < PARTS; p++)
		times[p] = calloc(count, sizeof(double));
	for (size_t i = 0; i < count; i++) {
		double best[PARTS] = {1e9, 1e9, 1e9, 1e9};
		struct assessment got;

		for (int round = 0; round < rounds; round++)
			judge(policy, corpus[i].text, best, &got);
		add(&figures, &corpus[i], &got);
		for (int p = 0; p < PARTS; p++)
			times[p][i] = best[p];
	}
	printf("started without a question\t%zu\t%zu\n", figures.started, figures.dangerous);
	printf("read-only, asked\t%zu\t%zu\n", figures.asked, figures.reading);
	printf("everyday, refused\t%zu\t%zu\n", figures.refused, figures.everyday);
	for (int p = 0; p < PARTS; p++) {
		qsort(times[p], count, sizeof(double), by_time);
		printf("%s\t%.1f\t%.1f\t%.1f\n", parts[p], times[p][0], times[p][count / 2],
		       times[p][count * 99 / 100]);
		free(times[p]);
	}
	policy_free(policy);
	corpus_free(corpus, count);
	return 0;
}
