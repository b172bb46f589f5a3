/* SPDX-License-Identifier: Apache-2.0 */
/* Which routes mean a question, and what they come to together: all that any of them wants. */
#include "routes.h"
#include "pattern.h"
#include "policy.h"
#include "../base/path.h"
#include "../request/text_json.h"

#include <stdio.h>
#include <string.h>

static const struct named *find_name(const struct names *names, const char *name, bool trusted)
{
	for (size_t i = 0; i < names->count; i++)
		if (strcmp(names->items[i].name, name) == 0 &&
		    (names->items[i].trusted || !trusted))
			return &names->items[i];
	return NULL;
}

/* Whether it holds. */

static enum truth either(enum truth one, enum truth other)
{
	return MAX(one, other);
}

/* Of any command that it runs. */
static enum truth condition_is(const struct condition *when, const struct route_subject *subject,
			       const struct circumstances *circumstances)
{
	static const struct command nothing;
	enum truth truth = TRUTH_NO;

	if (!when)
		return TRUTH_YES;
	if (!subject->plan || subject->plan->count == 0)
		return condition_holds(when, circumstances, &nothing, 0);
	for (size_t i = 0; i < subject->plan->count; i++)
		truth = either(truth,
			       condition_holds(when, circumstances, &subject->plan->commands[i],
					       subject->plan->commands[i].program));
	return truth;
}

/* Each word that the question is made of: those of the commands, what they are redirected to, and
 * the permissions that a yes would give. */
struct search {
	const struct route_subject *subject;
	bool (*means)(const struct search *search, const char *word);
	const struct list *patterns;
	const char *home, *workspace;
};

static bool any_of_command(const struct search *search, const struct command *command)
{
	for (size_t i = 0; i < command->argc; i++)
		if (search->means(search, command->argv[i]))
			return true;
	for (size_t i = 0; i < command->assignment_count; i++)
		if (search->means(search, command->assignments[i]))
			return true;
	for (size_t i = 0; i < command->redirect_count; i++)
		if (command->redirects[i].target &&
		    search->means(search, command->redirects[i].target))
			return true;
	return false;
}

static enum truth any_word(const struct search *search)
{
	const struct plan *plan = search->subject->plan;
	const struct list *grants = search->subject->grants;
	bool unknown = !plan || plan->opaque;

	for (size_t i = 0; grants && i < grants->count; i++) {
		const char *object = strchr(grants->items[i], ' ');

		if (object && search->means(search, object + 1))
			return TRUTH_YES;
		unknown |= strcmp(grants->items[i], "unsandboxed") == 0;
	}
	for (size_t i = 0; plan && i < plan->count; i++) {
		if (any_of_command(search, &plan->commands[i]))
			return TRUTH_YES;
		unknown |= plan->commands[i].dynamic || plan->commands[i].unseen;
	}
	return unknown ? TRUTH_UNKNOWN : TRUTH_NO;
}

/* The path itself, what lies in it, and what it lies in: whoever removes a directory removes all
 * that is there. A word that is a pattern may mean anything behind its beginning. */
static bool path_means(const struct search *search, const char *word)
{
	const char *value = strchr(word, '=');
	_cleanup_free_ char *path = path_resolve(search->subject->cwd ? search->subject->cwd : "/",
						 search->home, value ? value + 1 : word);
	_cleanup_free_ char *own = path_fixed_part(path);

	for (size_t i = 0; i < search->patterns->count; i++) {
		_cleanup_free_ char *pattern =
			path_resolve(search->workspace ? search->workspace : "/", search->home,
				     search->patterns->items[i]);
		_cleanup_free_ char *fixed = path_fixed_part(pattern);

		if (path_matches(pattern, path, NULL) || path_is_under(fixed, own) ||
		    ((!path_has_glob(pattern) || path_has_glob(path)) && path_is_under(own, fixed)))
			return true;
	}
	return false;
}

/* Whole words, and the parts of words that are names: of hosts, users@hosts, options' values. */
static bool target_means(const struct search *search, const char *word)
{
	static const char between[] = "=:/@,";
	size_t length;

	for (size_t i = 0; i < search->patterns->count; i++)
		if (glob_matches(search->patterns->items[i], word))
			return true;
	for (const char *at = word; *at; at += length + (at[length] != '\0')) {
		length = strcspn(at, between);
		for (size_t i = 0; length && i < search->patterns->count; i++)
			if (glob_matches_part(search->patterns->items[i],
					      strlen(search->patterns->items[i]), at, length))
				return true;
	}
	return false;
}

static enum truth paths_are(const struct policy *policy, const struct route_rule *rule,
			    const struct route_subject *subject)
{
	const struct request *request = subject->circumstances->request;
	const struct search search = {.subject = subject,
				      .means = path_means,
				      .patterns = &rule->paths,
				      .home = policy->home,
				      .workspace = request ? request->workspace : NULL};

	return rule->paths.count ? any_word(&search) : TRUTH_YES;
}

static enum truth targets_are(const struct policy *policy, const struct route_rule *rule,
			      const struct route_subject *subject)
{
	enum truth truth = rule->targets.count ? TRUTH_NO : TRUTH_YES;

	for (size_t i = 0; i < rule->targets.count; i++) {
		const struct named *named = find_name(&policy->routing.environments,
						      rule->targets.items[i], rule->trusted);
		const struct search search = {.subject = subject,
					      .means = target_means,
					      .patterns = named ? &named->items : NULL};

		truth = either(truth, named ? any_word(&search) : TRUTH_UNKNOWN);
	}
	return truth;
}

static bool rule_means(const struct policy *policy, const struct route_rule *rule,
		       const struct route_subject *subject)
{
	enum truth truth = condition_is(rule->when, subject, subject->circumstances);

	if (truth == TRUTH_NO && subject->raised)
		truth = condition_is(rule->when, subject, subject->raised);
	return truth != TRUTH_NO && paths_are(policy, rule, subject) != TRUTH_NO &&
	       targets_are(policy, rule, subject) != TRUTH_NO;
}

/* What they come to. */

static json_t *texts(const struct list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(array, json_text(list->items[i]));
	return array;
}

/* "alice=user:alice,web:alice" */
static json_t *member_json(const char *member)
{
	size_t length = strcspn(member, "=");
	_cleanup_free_ char *ways = strdup(member + length + 1), *person = strndup(member, length);
	json_t *as = json_array(), *object;
	char *rest = ways, *way;

	while ((way = strsep(&rest, ",")))
		json_array_append_new(as, json_text(way)); /* a login may be any bytes */
	object = json_pack("{s:o, s:o}", "person", json_text(person), "as", as);
	if (!object)
		abort();
	return object;
}

static json_t *group_json(const struct policy *policy, const struct route_rule *rule,
			  const struct list *names)
{
	json_t *who = json_array();
	_cleanup_list_ struct list known = {0};

	for (size_t i = 0; i < names->count; i++) {
		const struct named *named =
			find_name(&policy->routing.groups, names->items[i], rule->trusted);

		for (size_t k = 0; named && k < named->items.count; k++) {
			if (list_has(&known, named->items.items[k]))
				continue;
			list_add(&known, named->items.items[k]);
			json_array_append_new(who, member_json(named->items.items[k]));
		}
	}
	return json_pack("{s:o, s:o}", "from", texts(names), "who", who);
}

/* Whoever started it, and whom a file names as the one who answers for the agent: any caller may
 * name any agent, so the one does not take the other's place. */
static json_t *owners_json(const struct policy *policy, const struct route_subject *subject)
{
	const struct request *request = subject->circumstances->request;
	const struct names *owners = &policy->routing.owners, *people = &policy->routing.people;
	_cleanup_free_ char *way = NULL, *member = NULL;
	const char *person = subject->login;
	json_t *all = json_array();

	if (asprintf(&way, "user:%s", subject->login) < 0)
		abort();
	/* The first file that says it, as for members of groups: else a later one could give
	 * whoever started it another name, and he would be somebody else at his other doors. */
	for (size_t i = people->count; i > 0; i--)
		if (list_has(&people->items[i - 1].items, way))
			person = people->items[i - 1].name;
	if (asprintf(&member, "%s=%s", person, way) < 0)
		abort();
	json_array_append_new(all, member_json(member));
	for (size_t i = 0; request && request->agent && i < owners->count; i++)
		if (glob_matches(owners->items[i].name, request->agent))
			json_array_append_new(all, member_json(owners->items[i].items.items[0]));
	return all;
}

static bool shares_a_way(json_t *one, json_t *other)
{
	json_t *way, *same;
	size_t i, k;

	json_array_foreach (json_object_get(one, "as"), i, way)
		json_array_foreach (json_object_get(other, "as"), k, same)
			if (json_equal(way, same))
				return true;
	return false;
}

static bool is_owner(json_t *owners, json_t *member)
{
	json_t *owner;
	size_t i;

	json_array_foreach (owners, i, owner)
		if (json_equal(json_object_get(owner, "person"),
			       json_object_get(member, "person")) ||
		    shares_a_way(owner, member))
			return true;
	return false;
}

/* Somebody could answer who does not own the agent. */
static bool has_others(json_t *groups, json_t *owners)
{
	json_t *group, *member;
	size_t i, k;

	json_array_foreach (groups, i, group)
		json_array_foreach (json_object_get(group, "who"), k, member)
			if (!is_owner(owners, member))
				return true;
	return false;
}

static json_t *step_json(const struct policy *policy, const struct route_rule *rule,
			 const struct route_step *step, json_t *owners)
{
	json_t *groups = json_array();
	bool not_own;

	json_array_append_new(groups, group_json(policy, rule, &step->from));
	for (size_t i = 0; i < step->then.count; i++) {
		char *one[] = {step->then.items[i], NULL};
		const struct list alone = {.items = one, .count = 1};

		json_array_append_new(groups, group_json(policy, rule, &alone));
	}
	/* Nobody approves what his own agent asks, where there is anybody else; who is alone asks
	 * himself for a second thought. */
	not_own = rule->own == OWN_NOT ||
		  (rule->own == OWN_UNSAID && (step->need > 1 || has_others(groups, owners)));
	return json_pack("{s:i, s:b, s:b, s:I, s:o}", "need", (int)step->need, "reason",
			 step->reason, "not_own", not_own, "within_seconds",
			 (json_int_t)(step->within_ns / 1000000000), "groups", groups);
}

static json_t *same_groups(json_t *steps, size_t count, json_t *step)
{
	json_t *from = json_object_get(json_array_get(json_object_get(step, "groups"), 0), "from");

	for (size_t i = 0; i < count; i++) {
		json_t *other = json_array_get(steps, i);

		if (json_equal(json_object_get(json_array_get(json_object_get(other, "groups"), 0),
					       "from"),
			       from))
			return other;
	}
	return NULL;
}

/* A step for the same groups as one of another route is that one: what is stricter of the two
 * counts, and the time of the first, which a later file cannot change. */
static void join_step(json_t *into, json_t *step)
{
	static const char *const flags[] = {"reason", "not_own"};
	json_int_t need = json_integer_value(json_object_get(into, "need")),
		   more = json_integer_value(json_object_get(step, "need"));

	json_object_set_new(into, "need", json_integer(MAX(need, more)));
	for (size_t i = 0; i < ELEMENTS(flags); i++)
		if (json_is_true(json_object_get(step, flags[i])))
			json_object_set_new(into, flags[i], json_true());
}

static void join_rule(const struct policy *policy, const struct route_rule *rule, json_t *route)
{
	json_t *steps = json_object_get(route, "steps");
	json_int_t most = json_integer_value(json_object_get(route, "grant_seconds"));
	json_int_t own = (json_int_t)(rule->for_ns / 1000000000);
	size_t before = json_array_size(steps);
	char place[4096];

	snprintf(place, sizeof(place), "%s%s%s:%d", rule->name ? rule->name : "",
		 rule->name ? ", " : "", rule->file, rule->line);
	json_array_append_new(json_object_get(route, "names"), json_text(place));
	for (size_t i = 0; i < rule->step_count; i++) {
		json_t *step =
			step_json(policy, rule, &rule->steps[i], json_object_get(route, "owners"));
		json_t *same = same_groups(steps, before, step);

		if (same)
			join_step(same, step);
		else
			json_array_append(steps, step);
		json_decref(step);
	}
	if (own && (!most || own < most))
		json_object_set_new(route, "grant_seconds", json_integer(own));
}

json_t *routes_for(const struct policy *policy, const struct route_subject *subject)
{
	const struct routing *routing = &policy->routing;
	json_t *route = NULL;

	for (size_t i = 0; i < routing->rule_count; i++) {
		if (!rule_means(policy, &routing->rules[i], subject))
			continue;
		if (!route)
			route = json_pack("{s:[], s:o, s:[]}", "names", "owners",
					  owners_json(policy, subject), "steps");
		if (!route) /* without it whoever it reaches would answer */
			abort();
		join_rule(policy, &routing->rules[i], route);
	}
	return route;
}

bool routes_wait(const struct policy *policy)
{
	for (size_t i = 0; i < policy->routing.rule_count; i++) {
		const struct route_rule *rule = &policy->routing.rules[i];
		bool ends = true;

		for (size_t k = 0; k < rule->step_count; k++)
			ends &= rule->steps[k].within_ns > 0;
		if (ends)
			return true;
	}
	return false;
}
