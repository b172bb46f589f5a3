/* SPDX-License-Identifier: Apache-2.0 */
/* Measures tokens and grants in one process: powers ROUNDS GRANTS... prints, in microseconds, the
 * median and the time that 99 of 100 stay under of verifying a token (read, signature, caveats,
 * bounds), and of deciding about a command with so many remembered answers. */
#include "../../src/base/io.h"
#include "../../src/base/units.h"
#include "../../src/decide/bounds.h"
#include "../../src/decide/decide.h"
#include "../../src/parse/plan.h"
#include "../../src/token/token.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPIRES = 1900000000 };

static int by_time(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

static void print(const char *what, double *times, size_t count)
{
	qsort(times, count, sizeof(*times), by_time);
	printf("%s\t%.2f\t%.2f\n", what, times[count / 2], times[count * 99 / 100]);
}

/* One as people make them: four permissions, once narrowed, with uses and a workspace. */
static char *make_token(const unsigned char key[MACAROON_KEY])
{
	_cleanup_list_ struct list allow = {0}, less = {0};
	_cleanup_token_ struct token token = {0};
	const struct caveats caveats = {
		.allow = &allow, .agent = "builder", .expires = EXPIRES, .workspace = "/srv/site"};
	const struct caveats narrow = {.allow = &less, .uses = 5};

	list_add(&allow, "read src/**");
	list_add(&allow, "write out/**");
	list_add(&allow, "connect packages.example:443");
	list_add(&allow, "exec build.sh");
	list_add(&less, "write out/docs/**");
	if (token_mint(key, "0123456789abcdef", 1800000000, &caveats, &token, NULL) < 0 ||
	    token_narrow(&token, &narrow, NULL) < 0)
		exit(1);
	return token_write(&token);
}

static void verify(size_t rounds, double *times)
{
	static const unsigned char secret[MACAROON_KEY] = "secret";
	unsigned char key[MACAROON_KEY];
	_cleanup_free_ char *text = NULL;

	macaroon_derive_key(secret, sizeof(secret), key);
	text = make_token(key);
	for (size_t i = 0; i < rounds; i++) {
		const struct bearer bearer = {"builder", "/srv/site", NULL};
		struct list bounds = {0};
		struct powers powers;
		struct token token;
		uint64_t start = monotonic_ns();

		macaroon_derive_key(secret, sizeof(secret), key);
		if (token_read(text, &token, NULL) < 0 ||
		    token_check(&token, key, &powers, NULL) < 0 ||
		    token_admits(&powers, &bearer, NULL) < 0 ||
		    bounds_make(powers.allows, powers.allow_count, bearer.workspace, "/home/u",
				&bounds, NULL) < 0)
			exit(1);
		times[i] = (double)(monotonic_ns() - start) / 1e3;
		list_done(&bounds);
		powers_done(&powers);
		token_done(&token);
	}
	print("verify", times, rounds);
}

/* Each about a command of its own, as answers for the session are. */
static void grant_many(const char *state, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct grant grant = {.session = strdup("s")};

		if (asprintf(&grant.key, "command %zu", i) < 0)
			exit(1);
		list_add_printf(&grant.permissions, "write /srv/%zu/**", i);
		if (grants_add(state, &grant, NULL) < 0)
			exit(1);
		grant_done(&grant);
	}
}

/* One command: what was answered about it is looked up, and it is decided. */
static void decide_once(const char *state, const struct matter *common, const char *key)
{
	const struct grants_wanted wanted = {key, "nothing", "run"};
	struct matter matter = *common;
	struct verdict verdict;
	struct grants grants;

	if (grants_load(state, "s", &wanted, &grants, NULL) < 0 || grants.count != 1)
		exit(1);
	matter.grants = &grants;
	matter.key = key;
	matter.exact_key = "nothing";
	if (decide(&matter, &verdict, NULL) < 0)
		exit(1);
	verdict_done(&verdict);
	grants_done(&grants);
}

static void decide_many(size_t count, size_t rounds, double *times)
{
	static const struct list none;
	static char *environment[] = {NULL};
	char state[] = "/tmp/ward-bench-XXXXXX", path[64], what[64];
	struct surroundings surroundings = {.environment = environment};
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_request_ struct request request;
	struct assessment assessment;
	struct plan plan;
	struct matter matter = {.request = &request,
				.plan = &plan,
				.assessment = &assessment,
				.arena = arena,
				.surroundings = &surroundings,
				.granted = &none};

	if (!mkdtemp(state))
		exit(1);
	surroundings.state = surroundings.home = state;
	snprintf(path, sizeof(path), "%s/sessions/s", state);
	if (make_directories(path, 0700) < 0)
		exit(1);
	request_init(&request);
	list_add(&request.argv, "true");
	request.workspace = strdup(path);
	request.cwd = strdup(path);
	parse_request(arena, &request, &plan);
	assess_plan(arena, &plan, &assessment);
	grant_many(state, count);
	for (size_t i = 0; i < rounds; i++) {
		char key[32];
		uint64_t start;

		snprintf(key, sizeof(key), "command %zu", i * 7919 % count);
		start = monotonic_ns();
		decide_once(state, &matter, key);
		times[i] = (double)(monotonic_ns() - start) / 1e3;
	}
	snprintf(what, sizeof(what), "decide with %zu grants", count);
	print(what, times, rounds);
	(void)remove_tree(AT_FDCWD, state);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	double *times = calloc(rounds, sizeof(*times));

	if (!times || rounds == 0)
		return 1;
	verify(rounds, times);
	for (int i = 2; i < argc; i++)
		decide_many(strtoul(argv[i], NULL, 10), rounds, times);
	free(times);
	return 0;
}
