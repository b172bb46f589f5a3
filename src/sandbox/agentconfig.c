/* SPDX-License-Identifier: Apache-2.0 */
/* Two trees are walked side by side; a key of the table is taken from the old one, wherever it
 * stands. */
#include "agentconfig.h"
#include "../base/macro.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

/* What starts programs, says what is handed to them, or whom to believe without a question. */
static const char *const kept[] = {
	"mcpServers",
	"hooks",
	"apiKeyHelper",
	"awsAuthRefresh",
	"awsCredentialExport",
	"otelHeadersHelper",
	"statusLine",
	"env",
	"command",
	"args",
	"permissions",
	"allowedTools",
	"enableAllProjectMcpServers",
	"enabledMcpjsonServers",
	"enabledPlugins",
	"extraKnownMarketplaces",
	"hasTrustDialogAccepted",
	"hasTrustDialogHooksAccepted",
	"hasClaudeMdExternalIncludesApproved",
	"bypassPermissionsModeAccepted",
};

static void settle(json_t *before, json_t *after, const char **restored)
{
	const char *key;
	json_t *value;
	size_t index;

	if (json_is_array(after)) {
		json_array_foreach (after, index, value)
			settle(json_is_array(before) ? json_array_get(before, index) : NULL, value,
			       restored);
		return;
	}
	if (!json_is_object(after))
		return;
	for (size_t i = 0; i < ELEMENTS(kept); i++) {
		json_t *old = json_is_object(before) ? json_object_get(before, kept[i]) : NULL;
		json_t *new = json_object_get(after, kept[i]);

		if (old == new || (old && new &&json_equal(old, new)))
			continue;
		*restored = *restored ? *restored : kept[i];
		if (old)
			json_object_set(after, kept[i], old);
		else
			json_object_del(after, kept[i]);
	}
	json_object_foreach (after, key, value)
		settle(json_is_object(before) ? json_object_get(before, key) : NULL, value,
		       restored);
}

int agent_config_settle(const char *before, size_t before_length, const char *after,
			size_t after_length, char **ret_text, const char **ret_restored)
{
	json_t *old =
		before ? json_loadb(before, before_length, JSON_REJECT_DUPLICATES, NULL) : NULL;
	json_t *new = json_loadb(after, after_length, JSON_REJECT_DUPLICATES, NULL);
	int r = json_is_object(new) ? 0 : -EINVAL;

	*ret_restored = NULL;
	if (r == 0) {
		settle(old, new, ret_restored);
		*ret_text = json_dumps(new, JSON_INDENT(2));
		r = *ret_text ? 0 : -EINVAL;
	}
	json_decref(old);
	json_decref(new);
	return r;
}
