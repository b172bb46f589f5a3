/* SPDX-License-Identifier: Apache-2.0 */
/* Places that the flow sees to before a command starts: ward's own, the accounts that are seen
 * inside, the sandbox's /tmp. */
#include "flow_state.h"
#include "base/io.h"
#include "base/path.h"

#include <string.h>
#include <sys/stat.h>

/* A command must not be able to make ward's own directories, a policy in them and all, where they
 * are not yet there: what is there can be masked. */
int flow_make_own_places(const struct permissions *permissions, struct error **ret_error)
{
	for (size_t i = 0; i < permissions->own.count; i++) {
		const char *path = permissions->own.items[i];
		bool writable = false;
		struct stat st;
		int r;

		for (size_t w = 0; w < permissions->rules.count; w++)
			writable |= permissions->rules.items[w].access == ACCESS_WRITE &&
				    path_is_under(path, permissions->rules.items[w].pattern);
		if (!writable || lstat(path, &st) == 0)
			continue;
		r = make_directories(path, 0700);
		if (r < 0) {
			fail_errno(ret_error, E_ENGINE, -r, "making %s", path);
			return error_hint(ret_error,
					  "it lies in what the command may write, and must be "
					  "there to be kept from it");
		}
	}
	return 0;
}

/* The list of everybody on the machine is nobody's business, unless it was asked for by name. */
void flow_write_accounts(struct flow *flow)
{
	const struct file_rules *rules = &flow->verdict.permissions.rules;
	struct accounts accounts = {.uid = flow->identity.uid,
				    .gid = flow->identity.gid,
				    .name = flow->identity.name ? flow->identity.name
								: getenv("USER"),
				    .home = flow->identity.home};
	struct stat st;

	buffer_done(&flow->users);
	buffer_done(&flow->groups);
	if (flow->verdict.level == LEVEL_NONE || stat(flow->request->workspace, &st) < 0)
		return;
	accounts.owner = st.st_uid;
	accounts.owner_group = st.st_gid;
	accounts_texts(&accounts, &flow->users, &flow->groups);
	for (size_t i = 0; i < rules->count; i++) {
		if (rules->items[i].weight != WEIGHT_DEFAULT &&
		    strcmp(rules->items[i].pattern, "/etc/passwd") == 0)
			buffer_done(&flow->users);
		if (rules->items[i].weight != WEIGHT_DEFAULT &&
		    strcmp(rules->items[i].pattern, "/etc/group") == 0)
			buffer_done(&flow->groups);
	}
}

/* The sandbox's own /tmp may be written, but not a workspace in it that was put there read-only. */
void flow_note_tmp(struct flow *flow)
{
	const char *workspace = flow->verdict.permissions.workspace;
	const struct file_rules *rules = &flow->verdict.permissions.rules;
	const struct list *writable = &flow->masks.writable;
	bool held = workspace && path_is_under(workspace, "/tmp");

	if (!(flow->entry.walls & WALL_BIT(WALL_TMP)) || list_has(writable, "/tmp"))
		return;
	areas_add(&flow->masks.areas, "/tmp", STATE_WRITABLE, AREA_PRIVATE);
	for (size_t i = 0; i < rules->count; i++)
		if ((rules->items[i].access == ACCESS_READ ||
		     rules->items[i].access == ACCESS_READ_ONLY) &&
		    rules->items[i].weight == WEIGHT_SAID &&
		    strcmp(rules->items[i].pattern, "/tmp") == 0) {
			list_add(&flow->result->warnings,
				 "the host's /tmp is not seen: the sandbox has a /tmp of its own; "
				 "what of it is to be seen is named itself: --read /tmp/NAME");
			break;
		}
	for (size_t i = 0; i < flow->masks.shown.count; i++)
		areas_add(&flow->masks.areas, shown_path(flow->masks.shown.items[i]),
			  STATE_READ_ONLY, "read-only");
	for (size_t i = 0; i < writable->count && held; i++)
		held = !path_is_under(workspace, writable->items[i]);
	if (held)
		areas_add(&flow->masks.areas, workspace, STATE_READ_ONLY, "read-only");
}
