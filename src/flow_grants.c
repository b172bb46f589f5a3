/* SPDX-License-Identifier: Apache-2.0 */
/* The session's answers while a command runs: somebody may take one back from another terminal, or
 * from another run. Their file is only ever appended to, so that one look tells. Who holds what can
 * be taken back says so in a file beside it (record/holders.h), and whoever takes it back waits. */
#include "flow_state.h"
#include "base/path.h"

#include <string.h>

static void look(const struct flow *flow, struct stat *ret_st)
{
	_cleanup_free_ char *path = grants_file(flow->own_state, flow->session.id);

	if (stat(path, ret_st) < 0)
		memset(ret_st, 0, sizeof(*ret_st));
}

static bool is_same(const struct stat *one, const struct stat *other)
{
	return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
	       one->st_size == other->st_size && one->st_ctim.tv_sec == other->st_ctim.tv_sec &&
	       one->st_ctim.tv_nsec == other->st_ctim.tv_nsec;
}

/* Before the file is read, so that nothing is taken back in between unseen. */
static int take_part(struct flow *flow, struct error **ret_error)
{
	_cleanup_free_ char *file = NULL, *directory = NULL;

	if (flow->holder.fd >= 0)
		return 0;
	file = grants_file(flow->own_state, flow->session.id);
	directory = strndup(file, (size_t)(path_last(file) - file) - 1);
	return holder_begin(directory, flow->result->run, &flow->holder, ret_error);
}

static int load(struct flow *flow, struct error **ret_error)
{
	unsigned unchecked = checks_switched_off();
	const struct grants_wanted wanted = {flow->key.text,
					     flow->key.exact,
					     flow->result->run,
					     flow->request->agent,
					     unchecked & CHECK_BIT(CHECK_CLOCK),
					     unchecked & CHECK_BIT(CHECK_RECALL)};

	grants_done(&flow->grants);
	return grants_load(flow->own_state, flow->session.id, &wanted, &flow->grants, ret_error);
}

int flow_load_grants(struct flow *flow, struct error **ret_error)
{
	int r;

	if (!flow->session.id)
		return 0;
	look(flow, &flow->answers);
	if (flow->answers.st_size == 0) /* what comes later is recalled */
		return 0;
	/* `ward check` runs nothing that somebody would wait for. */
	if (flow->result->run && (r = take_part(flow, ret_error)) < 0)
		return r;
	look(flow, &flow->answers);
	return load(flow, ret_error);
}

void flow_recall(struct flow *flow)
{
	struct stat now;

	if (!flow->session.id)
		return;
	look(flow, &now); /* before it is read: what is written meanwhile is seen next time */
	if (is_same(&now, &flow->answers))
		return;
	flow->answers_changed = true;
	grants_done(&flow->grants);
	if (take_part(flow, /* ret_error= */ NULL) < 0)
		return;
	look(flow, &flow->answers);
	(void)load(flow, /* ret_error= */ NULL);
}

bool flow_answers_changed(void *data)
{
	struct flow *flow = data;
	bool changed;

	/* What was known when this was asked last has been acted upon by now; but what is being
	 * ended has let go when it has ended. */
	if (!flow->observer || !observer_is_ending(flow->observer))
		holder_tell(&flow->holder, (uint64_t)flow->answers.st_size);
	flow_recall(flow);
	changed = flow_token_changed(flow) || flow->answers_changed;
	flow->answers_changed = false;
	return changed;
}

bool flow_answer_holds(void *data, const char *grant)
{
	const struct flow *flow = data;
	bool holds;

	if (flow_token_holds(flow, grant, &holds))
		return holds;
	if (flow->safety.voided)
		return false;
	for (size_t i = 0; i < flow->grants.count; i++)
		if (strcmp(flow->grants.items[i].id, grant) == 0)
			return true;
	return false;
}

void flow_hold(struct flow *flow)
{
	holder_run(&flow->holder);
}

static bool holds_any(const struct flow *flow, const struct givens *givens)
{
	for (size_t i = 0; i < givens->count; i++)
		if (givens->items[i].grant &&
		    (!flow->token || strcmp(givens->items[i].grant, flow->token) != 0))
			return true;
	return false;
}

/* Whether it was part of the decision: it gives something, or is the yes itself. */
static bool is_used(const struct flow *flow, const struct grant *grant)
{
	bool altered = flow_is_altered(flow->request);

	if (grant->refusal || list_has(&flow->spent, grant->id) ||
	    (!grant_covers(grant, flow->key.exact, &flow->assessment) &&
	     (altered || !grant_covers(grant, flow->key.text, &flow->assessment))))
		return false;
	return grant->permissions.count || strcmp(flow->verdict.source, "cache") == 0;
}

int flow_spend_grant(struct flow *flow, const char *id, struct error **ret_error)
{
	for (size_t i = 0; i < flow->grants.count; i++) {
		if (strcmp(flow->grants.items[i].id, id) != 0)
			continue;
		list_add(&flow->spent, id);
		return grants_use(flow->own_state, &flow->grants.items[i], flow->result->run,
				  ret_error);
	}
	return 0;
}

/* 1: one of them is used up, by others who were faster. */
static int spend(struct flow *flow, struct error **ret_error)
{
	_cleanup_list_ struct list ids = {0};
	int r = 0;

	for (size_t i = 0; i < flow->grants.count && !flow->token; i++)
		if (is_used(flow, &flow->grants.items[i]))
			list_add(&ids, flow->grants.items[i].id);
	for (size_t i = 0; i < ids.count && r == 0; i++)
		r = flow_spend_grant(flow, ids.items[i], ret_error);
	return r;
}

static int refuse(struct error **ret_error)
{
	fail(ret_error, E_REJECTED, "refused: what it was granted has ended before it began");
	return error_hint(ret_error, "`ward grants` lists what holds; run it again to be asked");
}

int flow_begin_grants(struct flow *flow, struct error **ret_error)
{
	const char *source = flow->result->source;
	enum level level = flow->verdict.level;
	int r;

	if (!flow->session.id || flow->holder.fd < 0)
		return 0;
	if (holds_any(flow, &flow->verdict.permissions.given) ||
	    holds_any(flow, &flow->verdict.permissions.fixed))
		flow_hold(flow);
	flow_recall(flow);
	r = spend(flow, ret_error);
	if (r < 0)
		return r;
	flow_recall(flow);
	if (!flow->answers_changed)
		return 0;
	flow->answers_changed = false;
	if ((r = flow_judge(flow, ret_error)) < 0)
		return r;
	flow->result->source = source;
	return flow->verdict.kind == VERDICT_ALLOW && flow->verdict.level == level
		       ? 0
		       : refuse(ret_error);
}

void flow_end_grants(struct flow *flow)
{
	holder_rest(&flow->holder);
}
