/* SPDX-License-Identifier: Apache-2.0 */
/* The session's answers while a command runs: somebody may take one back from another terminal, or
 * from another run. Their file is only ever appended to, so that one look tells. */
#include "flow_state.h"

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

void flow_recall(struct flow *flow)
{
	struct stat now;

	if (!flow->session.id)
		return;
	look(flow, &now); /* before it is read: what is written meanwhile is seen next time */
	if (is_same(&now, &flow->answers))
		return;
	flow->answers = now;
	flow->answers_changed = true;
	grants_done(&flow->grants);
	(void)grants_load(flow->own_state, flow->session.id, &flow->grants, /* ret_error= */ NULL);
}

bool flow_answers_changed(void *data)
{
	struct flow *flow = data;
	bool changed;

	flow_recall(flow);
	changed = flow->answers_changed;
	flow->answers_changed = false;
	return changed;
}

bool flow_answer_holds(void *data, const char *grant)
{
	const struct flow *flow = data;

	for (size_t i = 0; i < flow->grants.count; i++)
		if (strcmp(flow->grants.items[i].id, grant) == 0)
			return true;
	return false;
}
