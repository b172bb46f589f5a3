/* SPDX-License-Identifier: Apache-2.0 */
/* A yes to less than was asked for. */
#include "../decide/within.h"
#include "question.h"

#include <string.h>

/* What is given by a rule, or as a whole (no sandbox, a profile), cannot be cut: a yes to part of
 * it would mean all of it. */
bool ask_is_editable(const struct ask *ask)
{
	if (ask->kind == ASK_BEFORE || ask->domains || !ask->grants || ask->grants->count == 0)
		return false;
	for (size_t i = 0; i < ask->grants->count; i++)
		if (!strchr(ask->grants->items[i], ' ') ||
		    strncmp(ask->grants->items[i], "profile ", 8) == 0)
			return false;
	return true;
}

static bool is_enough(const struct list *grants, const char *needed)
{
	for (size_t i = 0; i < grants->count; i++)
		if (permission_within(needed, grants->items[i]))
			return true;
	return false;
}

int answer_edit(const struct list *texts, const char *workspace, const struct list *asked,
		const char *needed, struct list *ret_grants, struct error **ret_error)
{
	_cleanup_list_ struct list grants = {0};

	for (size_t i = 0; i < texts->count; i++) {
		_cleanup_free_ char *grant = NULL;
		int r = permission_narrow(texts->items[i], workspace, asked, &grant, ret_error);

		if (r < 0)
			return r;
		if (!list_has(&grants, grant))
			list_add(&grants, grant);
	}
	if (grants.count == 0)
		return fail(ret_error, E_INPUT, "nothing would be given: that is a no");
	/* Else the call would wait again, and the same be asked. */
	if (needed && !is_enough(&grants, needed))
		return fail(ret_error, E_INPUT, "the call that waits needs '%s'", needed);
	*ret_grants = grants;
	grants = (struct list){0};
	return 0;
}
