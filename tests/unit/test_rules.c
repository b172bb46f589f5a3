/* SPDX-License-Identifier: Apache-2.0 */
/* The language of rules: patterns that look at paths, conditions, sets, and what a file that may
 * only narrow can do with them. */
#include "policy_world.h"
#include "../../src/base/buffer.h"
#include "../../src/decide/layer.h"

#include <stdlib.h>
#include <time.h>

enum { NONE = -1 };

/* What the rules say of a command: a verdict, or NONE. */
static int say_as(const struct world *world, const struct policy *policy, struct request *request,
		  const char *text)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_circumstances_ struct circumstances circumstances;
	struct assessment assessment;
	const struct rule *best = NULL;
	struct plan plan;

	request->mode = MODE_SHELL;
	request->script = (char *)text;
	request->workspace = world->workspace;
	if (!request->cwd)
		request->cwd = world->workspace;
	parse_request(arena, request, &plan);
	assess_plan(arena, &plan, &assessment);
	circumstances_make(policy, request, &plan, &assessment, &circumstances);
	for (size_t i = 0; i < plan.count; i++) {
		const struct rule *rule =
			policy_match_in(policy, &circumstances, &plan.commands[i], 0);

		if (rule && (!best || rule->kind > best->kind))
			best = rule;
	}
	return best ? (int)best->kind : NONE;
}

static int say(const struct world *world, const char *rules, const char *text)
{
	_cleanup_policy_ struct policy *policy = NULL;
	struct request request = {0};

	put(world->user, rules);
	policy = load(world);
	return say_as(world, policy, &request, text);
}

struct spoken {
	const char *rule, *text;
	int kind;
};

static void check(const struct world *world, const struct spoken *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_buffer_ struct buffer rules = {0};
		int kind;

		buffer_printf(&rules, "rules:\n  - {why: w, %s}\n", cases[i].rule);
		kind = say(world, buffer_text(&rules), cases[i].text);
		if (kind != cases[i].kind)
			fail_msg("%s: %s: %d, not %d", cases[i].rule, cases[i].text, kind,
				 cases[i].kind);
	}
}

static void paths_lie_inside_or_outside_wherever_links_lead(void **state)
{
	static const struct spoken cases[] = {
		{"do: allow, command: 'rm {inside...}'", "rm a b", VERDICT_ALLOW},
		{"do: allow, command: 'rm {inside...}'", "rm -f a ./b sub/c", VERDICT_ALLOW},
		{"do: allow, command: 'rm {inside...}'", "rm a /etc/x", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm a ../x", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm ~/x", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm out/x", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm dangling", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm new/../../x", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm \"$X\"", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm *", NONE},
		{"do: allow, command: 'rm {inside...}'", "rm", NONE},
		{"do: allow, command: 'rm {inside...}'", "cd /etc && rm a", NONE},
		{"do: allow, command: 'rm {inside...}'", "env -C / rm a", NONE},
		{"do: allow, command: 'rm {inside...}'", "timeout 5 rm a", VERDICT_ALLOW},
		{"do: allow, command: 'git add {inside}'", "git -C /etc add a", NONE},
		{"do: allow, command: 'git add {inside}'", "git add a", VERDICT_ALLOW},
		{"do: allow, command: 'scp {inside}'", "scp host:a b", NONE},
		{"do: deny, command: 'rm ** {outside}'", "rm a b", NONE},
		{"do: deny, command: 'rm ** {outside}'", "rm a /etc/x", VERDICT_DENY},
		{"do: deny, command: 'rm ** {outside}'", "rm a b out/x", VERDICT_DENY},
		{"do: deny, command: 'rm ** {outside}'", "rm a $X", VERDICT_DENY},
		{"do: deny, command: 'rm ** {outside}'", "cd x; rm a", VERDICT_DENY},
		{"do: deny, command: '* > {outside}'", "echo a > b", NONE},
		{"do: deny, command: '* > {outside}'", "echo a > /etc/b", VERDICT_DENY},
		{"do: ask, command: 'cat < {outside}'", "cat < /etc/b", VERDICT_ASK},
		{"do: ask, command: 'cat < {outside}'", "cat < b", NONE},
		{"do: ask, command: 'cat < *'", "cat <<< b", NONE},
	};
	struct world *world = *state;
	_cleanup_free_ char *out = path_resolve(world->workspace, NULL, "out");
	_cleanup_free_ char *dangling = path_resolve(world->workspace, NULL, "dangling");

	assert_int_equal(symlink("/usr", out), 0);
	assert_int_equal(symlink("/usr/nothing/there", dangling), 0);
	check(world, cases, ELEMENTS(cases));
}

static void regular_expressions_are_for_whole_words_and_bounded(void **state)
{
	static const struct spoken cases[] = {
		{"do: allow, command: 'git tag {re:v[0-9]+(\\.[0-9]+)*}'", "git tag v1.2.3",
		 VERDICT_ALLOW},
		{"do: allow, command: 'git tag {re:v[0-9]+(\\.[0-9]+)*}'", "git tag v1.2.x", NONE},
		{"do: allow, command: 'git tag {re:v[0-9]+}'", "git tag xv1", NONE},
		{"do: deny, command: 'git tag {re:a|b}'", "git tag b", VERDICT_DENY},
		{"do: deny, command: 'git tag {re:a|b}'", "git tag ab", NONE},
		{"do: deny, command: 'git tag {re:a|b}'", "git tag $X", VERDICT_DENY},
		{"do: deny, command: 'x ** {re:.*secret.*}'", "x a b my-secret-c", VERDICT_DENY},
		/* A bound that is reached is no ground to allow, and one to deny. */
		{"do: allow, command: 'x {re:(a*)*b}'", "x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
		 NONE},
		{"do: deny, command: 'x {re:(a|aa)+$}'",
		 "x aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
		 VERDICT_DENY},
	};

	check(*state, cases, ELEMENTS(cases));
}

static void two_stars_are_any_number_of_operands(void **state)
{
	static const struct spoken cases[] = {
		{"do: deny, command: 'git ** main'", "git push origin main", VERDICT_DENY},
		{"do: deny, command: 'git ** main'", "git main", VERDICT_DENY},
		{"do: deny, command: 'git ** main'", "git push origin dev", NONE},
		{"do: deny, command: 'git push ** main ** --force'", "git push -f x main y --force",
		 VERDICT_DENY},
		{"do: allow, command: 'git push **'", "git push a b c", VERDICT_ALLOW},
	};

	check(*state, cases, ELEMENTS(cases));
}

static void conditions_look_at_who_where_and_how_much(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *sub = path_resolve(world->workspace, NULL, "sub");
	static const struct {
		const char *when;
		const char *agent, *session, *tool, *cwd, *text;
		int allow, deny; /* what a rule of that kind says */
	} cases[] = {
		{"agent: [claude, 'ci-*']", "claude", 0, 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"agent: [claude, 'ci-*']", "ci-7", 0, 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"agent: [claude, 'ci-*']", "codex", 0, 0, 0, "ls", NONE, NONE},
		{"agent: claude", 0, 0, 0, 0, "ls", NONE, NONE},
		{"session: night", 0, "night", 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"tool: bash|sh", 0, 0, "sh", 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"directory: sub", 0, 0, 0, "sub", "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"directory: sub", 0, 0, 0, 0, "ls", NONE, NONE},
		{"directory: ['sub/**']", 0, 0, 0, "sub", "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"directory: sub", 0, 0, 0, "sub", "cd / && ls", NONE, VERDICT_DENY},
		{"risk: low", 0, 0, 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"risk: [high, critical]", 0, 0, 0, 0, "ls", NONE, NONE},
		{"category: data deletion", 0, 0, 0, 0, "rm -rf /", VERDICT_ALLOW, VERDICT_DENY},
		{"category: data deletion", 0, 0, 0, 0, "ls", NONE, NONE},
		{"environment: [WARD_TEST_STAGE=prod*]", 0, 0, 0, 0, "ls", VERDICT_ALLOW,
		 VERDICT_DENY},
		{"environment: [WARD_TEST_STAGE]", 0, 0, 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"environment: [WARD_TEST_NONE]", 0, 0, 0, 0, "ls", NONE, NONE},
		{"environment: [WARD_TEST_STAGE=dev]", 0, 0, 0, 0, "ls", NONE, NONE},
		{"environment: [WARD_TEST_STAGE=dev]", 0, 0, 0, 0, "WARD_TEST_STAGE=dev ls", NONE,
		 VERDICT_DENY},
		{"environment: [WARD_TEST_STAGE=dev]", 0, 0, 0, 0, "WARD_TEST_STAGE=$X ls", NONE,
		 VERDICT_DENY},
		{"time: '00:00-24:00'", 0, 0, 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
		{"days: [mon-sun]", 0, 0, 0, 0, "ls", VERDICT_ALLOW, VERDICT_DENY},
	};

	setenv("WARD_TEST_STAGE", "production", 1);
	assert_int_equal(mkdir(sub, 0755), 0);
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		for (int deny = 0; deny < 4; deny++) {
			_cleanup_policy_ struct policy *policy = NULL;
			_cleanup_buffer_ struct buffer rules = {0};
			struct request request = {.agent = (char *)cases[i].agent,
						  .session = (char *)cases[i].session,
						  .tool = (char *)cases[i].tool,
						  .cwd = cases[i].cwd ? sub : NULL};
			int kind, wanted;

			buffer_printf(&rules, "rules: [{do: %s, why: w, %s: {%s}}]\n",
				      deny & 1 ? "deny" : "allow", deny & 2 ? "unless" : "when",
				      cases[i].when);
			put(world->user, buffer_text(&rules));
			policy = load(world);
			kind = say_as(world, policy, &request, cases[i].text);
			wanted = deny & 1 ? cases[i].deny : cases[i].allow;
			/* The other way round: what is in doubt is so both ways. */
			if (deny & 2 && cases[i].allow == NONE && cases[i].deny != NONE)
				wanted = deny & 1 ? VERDICT_DENY : NONE;
			else if (deny & 2)
				wanted = wanted != NONE ? NONE
					 : deny & 1	? VERDICT_DENY
							: VERDICT_ALLOW;
			/* An assignment that the pattern does not name allows nothing. */
			if (!(deny & 1) && strchr(cases[i].text, '='))
				wanted = NONE;
			if (kind != wanted &&
			    !(deny == 3 && strstr(cases[i].text, "STAGE=dev") && kind == NONE))
				fail_msg("%s%s: %d, not %d", buffer_text(&rules), cases[i].text,
					 kind, wanted);
		}
	}
}

static int at(const char *condition, int weekday, int hour, int minute)
{
	_cleanup_arena_ struct arena *arena = arena_new();
	_cleanup_error_ struct error *error = NULL;
	/* 1 November 2026 is a Sunday. */
	struct tm local = {.tm_year = 126,
			   .tm_mon = 10,
			   .tm_mday = 1 + weekday,
			   .tm_hour = hour,
			   .tm_min = minute,
			   .tm_isdst = -1};
	const struct circumstances circumstances = {.now = mktime(&local)};
	const struct command command = {0};
	_cleanup_buffer_ struct buffer text = {0};
	struct layer *layer;
	int truth;

	buffer_printf(&text, "rules: [{do: allow, when: {%s}}]", condition);
	if (layer_parse(buffer_text(&text), text.length, "x", NULL, NULL, &layer, &error) < 0)
		fail_msg("%s", error->message);
	truth = condition_holds(layer->rules[0].when, &circumstances, &command, 0);
	layer_free(layer);
	return truth;
}

static void times_and_days_are_local_and_go_over_midnight(void **state)
{
	(void)state;
	assert_int_equal(at("time: '09:00-17:00'", 1, 9, 0), TRUTH_YES);
	assert_int_equal(at("time: '09:00-17:00'", 1, 17, 0), TRUTH_NO);
	assert_int_equal(at("time: '22:00-06:00'", 1, 23, 30), TRUTH_YES);
	assert_int_equal(at("time: '22:00-06:00'", 1, 5, 59), TRUTH_YES);
	assert_int_equal(at("time: '22:00-06:00'", 1, 6, 0), TRUTH_NO);
	assert_int_equal(at("time: ['01:00-02:00', '12:00-13:00']", 1, 12, 30), TRUTH_YES);
	assert_int_equal(at("days: mon-fri", 0, 12, 0), TRUTH_NO);
	assert_int_equal(at("days: mon-fri", 5, 12, 0), TRUTH_YES);
	assert_int_equal(at("days: sat-sun", 0, 12, 0), TRUTH_YES);
	assert_int_equal(at("days: [sun], time: '09:00-10:00'", 0, 9, 30), TRUTH_YES);
	assert_int_equal(at("days: [sun], time: '09:00-10:00'", 1, 9, 30), TRUTH_NO);
}

static void what_is_not_known_speaks_against_the_command(void **state)
{
	struct world *world = *state;
	_cleanup_policy_ struct policy *policy = NULL;

	put(world->user, "rules:\n"
			 "  - {command: a, do: allow, when: {agent: x}}\n"
			 "  - {command: b, do: deny, why: w, when: {agent: x}}\n"
			 "  - {command: c, do: deny, why: w, unless: {risk: low}}\n"
			 "  - {command: d, do: allow, unless: {risk: high}}\n"
			 "  - {command: 'e {inside}', do: allow}\n"
			 "  - {command: 'f {inside}', do: ask, why: w}\n");
	policy = load(world);
	assert_null(match(policy, "a"));
	assert_non_null(match(policy, "b"));
	assert_non_null(match(policy, "c"));
	assert_null(match(policy, "d"));
	assert_null(match(policy, "e x"));
	assert_non_null(match(policy, "f x"));
}

static void sets_combine_as_they_say(void **state)
{
	static const struct {
		const char *rules, *text;
		int kind;
	} cases[] = {
		{"  - combine: first-match\n"
		 "    rules:\n"
		 "      - {command: git push origin dev, do: allow}\n"
		 "      - {command: git push, do: deny, why: w}\n",
		 "git push origin dev", VERDICT_ALLOW},
		{"  - combine: first-match\n"
		 "    rules:\n"
		 "      - {command: git push origin dev, do: allow}\n"
		 "      - {command: git push, do: deny, why: w}\n",
		 "git push origin main", VERDICT_DENY},
		/* A word that is not known yet is no ground to stop. */
		{"  - combine: first-match\n"
		 "    rules:\n"
		 "      - {command: git push origin dev, do: ask, why: w}\n"
		 "      - {command: git push, do: deny, why: w}\n",
		 "git push origin $X", VERDICT_DENY},
		{"  - combine: priority\n"
		 "    rules:\n"
		 "      - {command: git, do: deny, why: w}\n"
		 "      - {command: git push, do: ask, why: w, priority: 5}\n",
		 "git push", VERDICT_ASK},
		{"  - combine: priority\n"
		 "    rules:\n"
		 "      - {command: git, do: deny, why: w}\n"
		 "      - {command: git push, do: ask, why: w, priority: -5}\n",
		 "git push", VERDICT_DENY},
		{"  - combine: all-of\n"
		 "    rules: [{command: make, do: allow}, {command: make test, do: allow}]\n",
		 "make test", VERDICT_ALLOW},
		{"  - combine: all-of\n"
		 "    rules: [{command: make, do: allow}, {command: make test, do: allow}]\n",
		 "make all", NONE},
		{"  - combine: any-of\n"
		 "    rules: [{command: make, do: deny, why: w}, {command: make test, do: "
		 "allow}]\n",
		 "make test", VERDICT_ALLOW},
		{"  - combine: first-match\n"
		 "    rules: [{command: make, do: allow}]\n"
		 "    otherwise: deny\n",
		 "ls", VERDICT_DENY},
		{"  - combine: first-match\n"
		 "    rules: [{command: make, do: allow}]\n"
		 "    otherwise: {do: ask, why: w}\n",
		 "make", VERDICT_ALLOW},
		/* A set holds sets; what stands beside a set is not made milder by it. */
		{"  - combine: first-match\n"
		 "    rules:\n"
		 "      - combine: any-of\n"
		 "        rules: [{command: make, do: deny, why: w}, {command: make x, do: "
		 "allow}]\n"
		 "      - {do: ask, why: w}\n",
		 "make x", VERDICT_ALLOW},
		{"  - combine: first-match\n"
		 "    rules:\n"
		 "      - combine: any-of\n"
		 "        rules: [{command: make, do: deny, why: w}, {command: make x, do: "
		 "allow}]\n"
		 "      - {do: ask, why: w}\n",
		 "ls", VERDICT_ASK},
		{"  - combine: any-of\n"
		 "    rules: [{command: make, do: allow}]\n"
		 "  - {command: make, do: deny, why: w}\n",
		 "make", VERDICT_DENY},
		{"  - combine: priority\n"
		 "    rules:\n"
		 "      - {combine: any-of, priority: 3, rules: [{command: a, do: allow}]}\n"
		 "      - {combine: all-of, priority: 2, rules: [{command: a, do: deny, why: "
		 "w}]}\n",
		 "a", VERDICT_ALLOW},
		/* The condition of a set is one of all in it. */
		{"  - when: {agent: x}\n"
		 "    rules: [{command: a, do: allow}, {command: b, do: deny, why: w}]\n",
		 "b", NONE},
		{"  - unless: {agent: x}\n"
		 "    rules: [{command: a, do: allow}, {command: b, do: deny, why: w}]\n",
		 "b", VERDICT_DENY},
	};

	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		_cleanup_buffer_ struct buffer rules = {0};
		int kind;

		buffer_printf(&rules, "rules:\n%s", cases[i].rules);
		kind = say(*state, buffer_text(&rules), cases[i].text);
		if (kind != cases[i].kind)
			fail_msg("%s%s: %d, not %d", cases[i].rules, cases[i].text, kind,
				 cases[i].kind);
	}
}

/* Sets, priorities, conditions and preferences of such a file: none makes an answer milder. */
static void a_project_that_is_not_trusted_only_narrows(void **state)
{
	static const char *const user[] = {
		"rules: []\n",
		"rules: [{command: a, do: deny, why: w}]\n",
		"rules: [{command: a, do: ask, why: w}, {command: b, do: allow}]\n",
		"rules:\n  - combine: priority\n    rules: [{command: a, do: ask, why: w, "
		"priority: 1},"
		" {command: b, do: deny, why: w}]\n",
		"rules:\n  - combine: first-match\n    rules: [{command: b, do: allow}]\n"
		"    otherwise: ask\n",
	};
	static const char *const project[] = {
		"rules: [{command: a, do: allow}]\n",
		"rules:\n  - combine: any-of\n    rules: [{command: a, do: allow}]\n"
		"    otherwise: allow\n",
		"rules:\n  - combine: first-match\n    priority: 1000000\n    rules: [{do: "
		"allow}]\n",
		"rules:\n  - combine: priority\n    rules: [{do: allow, priority: 1000000, "
		"permissions: ['write /etc/**']}, {command: b, do: ask, why: w}]\n",
		"rules:\n  - {command: a, do: ask, why: w, sandbox: forbid, permissions: "
		"['unsandboxed a']}\n",
		"rules:\n  - combine: all-of\n    rules: [{do: allow}, {do: allow}]\n",
		"rules:\n  - {do: allow, unless: {agent: nobody}, sandbox: forbid}\n",
		"rules:\n  - {do: allow, when: {program: /usr/bin/env}}\n",
	};
	static const char *const texts[] = {"a", "b", "a && b", "$X", "c"};
	struct world *world = *state;

	for (size_t u = 0; u < ELEMENTS(user); u++)
		for (size_t p = 0; p < ELEMENTS(project); p++)
			for (size_t t = 0; t < ELEMENTS(texts); t++) {
				_cleanup_policy_ struct policy *without = NULL, *with = NULL;
				struct request request = {0};
				int before, after;

				put(world->user, user[u]);
				unlink(world->project);
				without = load(world);
				put(world->project, project[p]);
				with = load(world);
				before = say_as(world, without, &request, texts[t]);
				after = say_as(world, with, &request, texts[t]);
				/* Nothing said is between allow and ask. */
				if (after < before || (before == NONE && after == VERDICT_ALLOW))
					fail_msg("%s%s%s: %d, not %d", user[u], project[p],
						 texts[t], after, before);
				for (size_t i = 0; i < with->rule_count; i++) {
					if (with->rules[i].trusted)
						continue;
					assert_int_equal(with->rules[i].permissions.count, 0);
					assert_int_not_equal(with->rules[i].sandbox,
							     PREFERENCE_FORBID);
				}
			}
}

static void pinned_programs_are_one_file(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *own = path_resolve(world->workspace, NULL, "env");
	static const char *const when[] = {
		"path: /usr/bin/env",
		"path: /usr/bin/env, owner: root",
		"path: /usr/bin/env, owner: 12345",
		"path: /usr/bin/true",
		"path: /usr/bin/env, sha256: "
		"'0000000000000000000000000000000000000000000000000000000000000000'",
	};
	const bool holds[] = {true, true, false, false, false};

	setenv("PATH", "/usr/bin:/bin", 1);
	for (size_t i = 0; i < ELEMENTS(when); i++) {
		_cleanup_buffer_ struct buffer rules = {0};

		buffer_printf(&rules, "rules: [{command: env, do: allow, when: {program: {%s}}}]\n",
			      when[i]);
		assert_int_equal(say(world, buffer_text(&rules), "env x"),
				 holds[i] ? VERDICT_ALLOW : NONE);
		buffer_done(&rules);
		buffer_printf(
			&rules,
			"rules: [{command: env, do: deny, why: w, unless: {program: {%s}}}]\n",
			when[i]);
		assert_int_equal(say(world, buffer_text(&rules), "env x"),
				 holds[i] ? NONE : VERDICT_DENY);
	}
	/* What lies where commands can write is never certain, nor is what they could put before
	 * it. */
	put(own, "#!/bin/sh\n");
	assert_int_equal(chmod(own, 0755), 0);
	{
		_cleanup_buffer_ struct buffer rules = {0}, path = {0}, text = {0};

		buffer_printf(&rules,
			      "rules: [{command: '*/env', do: allow, when: {program: %s}}]\n", own);
		buffer_printf(&text, "%s x", own);
		assert_int_equal(say(world, buffer_text(&rules), buffer_text(&text)), NONE);
		buffer_printf(&path, "%s/bin:/usr/bin", world->workspace);
		setenv("PATH", buffer_text(&path), 1);
		assert_int_equal(say(world,
				     "rules: [{command: env, do: allow, when: {program: "
				     "/usr/bin/env}}]\n",
				     "env x"),
				 NONE);
		setenv("PATH", "/usr/bin:/bin", 1);
	}
	assert_int_equal(say(world,
			     "rules: [{command: env, do: allow, when: {program: /usr/bin/env}}]\n",
			     "PATH=. env x"),
			 NONE);
}

static void what_is_wrong_is_refused(void **state)
{
	static const char *const texts[] = {
		"rules: [{do: deny}]",
		"rules: [{command: a, do: ask, when: {}}]",
		"rules: [{command: a, do: ask, when: {agents: x}}]",
		"rules: [{command: a, do: ask, when: {time: '25:00-26:00'}}]",
		"rules: [{command: a, do: ask, when: {time: noon}}]",
		"rules: [{command: a, do: ask, when: {days: someday}}]",
		"rules: [{command: a, do: ask, when: {risk: huge}}]",
		"rules: [{command: a, do: ask, when: {environment: '1=2'}}]",
		"rules: [{command: a, do: ask, when: {program: {owner: root}}}]",
		"rules: [{command: a, do: ask, when: {program: git}}]",
		"rules: [{command: a, do: ask, when: {program: {path: /a, sha256: abc}}}]",
		"rules: [{command: a, do: ask, when: {program: {path: /a, owner: me}}}]",
		"rules: [{command: a, do: ask, sandbox: maybe}]",
		"rules: [{command: a, do: deny, sandbox: forbid}]",
		"rules: [{command: a, do: ask, priority: high}]",
		"rules: [{command: a, do: ask, priority: 9999999}]",
		"rules: [{command: 'git ** main', do: allow}]",
		"rules: [{combine: first-match}]",
		"rules: [{combine: first-match, rules: []}]",
		"rules: [{combine: all, rules: [{do: ask}]}]",
		"rules: [{rules: [{do: ask}], otherwise: maybe}]",
		"rules: [{rules: [{do: ask}], otherwise: [ask]}]",
		"rules: [{rules: [{do: ask}], otherwise: {command: a, do: ask}}]",
		"rules: [{rules: [{exactly: [a], do: ask}]}]",
		"rules: [{rules: [{rules: [{rules: [{rules: [{rules: [{do: ask}]}]}]}]}]}]",
		"rules: [{when: {agent: a}, do: ask, match: [b]}]",
		"include: base.yaml",
		"include: [[a]]",
	};

	(void)state;
	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		_cleanup_error_ struct error *error = NULL;

		if (policy_parse(texts[i], strlen(texts[i]), "x", NULL, NULL, &error) == 0)
			fail_msg("taken: %s", texts[i]);
		assert_non_null(error->hint);
		assert_true(error->line > 0 && error->column > 0);
	}
}

int main(void)
{
#define WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, end_world)
	const struct CMUnitTest tests[] = {
		WORLD(paths_lie_inside_or_outside_wherever_links_lead),
		WORLD(regular_expressions_are_for_whole_words_and_bounded),
		WORLD(two_stars_are_any_number_of_operands),
		WORLD(conditions_look_at_who_where_and_how_much),
		cmocka_unit_test(times_and_days_are_local_and_go_over_midnight),
		WORLD(what_is_not_known_speaks_against_the_command),
		WORLD(sets_combine_as_they_say),
		WORLD(a_project_that_is_not_trusted_only_narrows),
		WORLD(pinned_programs_are_one_file),
		cmocka_unit_test(what_is_wrong_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
