/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that are proposed, shown with what else they would admit, and a person's yes to one. */
#include "trust.h"
#include "output.h"
#include "../../src/escalate/approver.h"
#include "../../src/record/audit.h"
#include "../../src/request/text_json.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void print_text(const char *label, const char *text)
{
	printf("  %-9s ", label);
	output_text(COLOUR_NONE, text ? text : "");
	putchar('\n');
}

/* Line by line: it is YAML that a person is to read. */
static void print_rule(const char *rule)
{
	_cleanup_free_ char *copy = strdup(rule);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			print_text("", line);
}

static const char *state_of(const struct trust_shape *shape, int64_t now)
{
	return shape->proposed			   ? "proposed"
	       : shape->rule && shape->until > now ? "accepted"
	       : shape->rule			   ? "expired"
						   : "counting";
}

static void show(const struct trust_call *call, const char *agent, const struct trust_shape *shape)
{
	_cleanup_free_ char *admits = trust_learn_admits(call->policy, agent, shape),
			    *rule = shape->proposed ? trust_learn_rule(call->policy, agent, shape,
								       time(NULL))
						    : NULL;
	const char *text = rule ? rule : shape->rule;

	if (call->json) {
		json_t *object = json_object();

		json_put_text(object, "id", shape->id);
		json_put_text(object, "agent", agent);
		json_put_text(object, "state", state_of(shape, time(NULL)));
		json_put(object, "approvals", json_integer((json_int_t)shape->runs.count));
		json_put_text(object, "command", shape->command);
		json_put_text(object, "covers", shape->covers);
		json_put_list(object, "grants", &shape->grants);
		json_put_text(object, "admits", admits);
		json_put_text(object, "rule", text);
		json_put(object, "until", shape->rule ? json_integer(shape->until) : json_null());
		output_json(object);
		json_decref(object);
		return;
	}
	printf("%s  %s\n", shape->id, state_of(shape, time(NULL)));
	print_text("agent", agent);
	if (shape->command)
		print_text("command", shape->command);
	printf("  %-9s %zu times without incident\n", "approved", shape->runs.count);
	print_text("admits", admits);
	if (text)
		print_rule(text);
	if (shape->proposed)
		printf("  yes:      ward trust learn accept %s\n", shape->id);
}

/* Every shape of every agent that begins so; those that are only counted where one is named. */
static int each(const struct trust_call *call, const char *id,
		int (*act)(const struct trust_call *call, const char *agent,
			   const struct trust_shape *shape, struct error **ret_error),
		size_t *ret_count, struct error **ret_error)
{
	_cleanup_list_ struct list agents = {0};
	int r = trust_agents(call->state, &agents, ret_error);

	*ret_count = 0;
	for (size_t i = 0; r == 0 && i < agents.count; i++) {
		_cleanup_trust_shapes_ struct trust_shapes shapes = {0};

		if (!trust_binds(call->policy, agents.items[i]))
			continue;
		r = trust_learn_read(call->state, call->policy, agents.items[i], &shapes,
				     ret_error);
		for (size_t k = 0; r == 0 && k < shapes.count; k++) {
			const struct trust_shape *shape = &shapes.items[k];

			if (id ? strncmp(shape->id, id, strlen(id)) != 0
			       : !shape->proposed && !shape->rule)
				continue;
			++*ret_count;
			r = act(call, agents.items[i], shape, ret_error);
		}
	}
	return r;
}

static int show_one(const struct trust_call *call, const char *agent,
		    const struct trust_shape *shape, struct error **ret_error)
{
	(void)ret_error;
	show(call, agent, shape);
	return 0;
}

int trust_list_proposals(const struct trust_call *call, const char *id, struct error **ret_error)
{
	size_t count;
	int r = each(call, id, show_one, &count, ret_error);

	if (r == 0 && count == 0 && id) {
		fail(ret_error, E_NOT_FOUND, "nothing is proposed under '%s'", id);
		return error_hint(ret_error, "`ward trust learn` lists what is");
	}
	if (r == 0 && count == 0 && !call->json)
		puts("nothing is proposed");
	return r;
}

static int count_one(const struct trust_call *call, const char *agent,
		     const struct trust_shape *shape, struct error **ret_error)
{
	(void)call;
	(void)agent;
	if (shape->proposed)
		return 0;
	fail(ret_error, E_USAGE, "%s is not proposed", shape->id);
	return error_hint(ret_error, "`ward trust learn` lists what is");
}

static int accept_one(const struct trust_call *call, const char *agent,
		      const struct trust_shape *shape, struct error **ret_error)
{
	_cleanup_free_ char *by = approver_name();
	struct audit *audit = NULL;
	json_t *body = json_object();
	int r;

	show(call, agent, shape);
	json_put_text(body, "agent", agent);
	json_put_text(body, "change", "learn");
	json_put_text(body, "id", shape->id);
	json_put_text(body, "by", by);
	r = audit_open(call->state, &audit, ret_error);
	if (r < 0) {
		json_decref(body);
		return r;
	}
	r = audit_append(audit, "trust", NULL, body, ret_error);
	json_decref(body);
	audit_close(audit);
	if (r == 0)
		r = trust_learn_accept(call->state, call->policy, agent, shape, by, ret_error);
	if (r == 0 && !call->json)
		puts("written into your policy");
	return r;
}

int trust_accept_proposal(const struct trust_call *call, const char *id, struct error **ret_error)
{
	size_t count;
	int r = each(call, id, count_one, &count, ret_error);

	if (r < 0)
		return r;
	if (count != 1) {
		fail(ret_error, E_NOT_FOUND,
		     count ? "'%s' is the beginning of several" : "nothing is proposed under '%s'",
		     id);
		return error_hint(ret_error, "`ward trust learn` lists what is");
	}
	return each(call, id, accept_one, &count, ret_error);
}
