/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of agents that run as the command: data/profiles, built in, and read as any policy file
 * is. Only the one that is wanted is read, because most runs want none. */
#include "merge.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name; /* of the profile, and of the agent's program */
	const char *text;
} agents[] = {
	{
		"claude",
#include <profile-claude.h>
	},
	{
		"codex",
#include <profile-codex.h>
	},
	{
		"gemini",
#include <profile-gemini.h>
	},
	{
		"opencode",
#include <profile-opencode.h>
	},
};

const char *policy_profile_of(const char *program)
{
	for (size_t i = 0; i < ELEMENTS(agents); i++)
		if (strcmp(agents[i].name, program) == 0)
			return agents[i].name;
	return NULL;
}

int profiles_merge(const char *wanted, struct policy *policy, struct error **ret_error)
{
	int r = 0;

	for (size_t i = 0; i < ELEMENTS(agents) && r == 0; i++) {
		struct layer *layer = NULL;
		char name[64];

		merge_name_profile(policy, agents[i].name);
		if (!wanted || (strcmp(wanted, "*") != 0 && strcmp(wanted, agents[i].name) != 0))
			continue;
		snprintf(name, sizeof(name), "profile %s, built in", agents[i].name);
		r = layer_parse(agents[i].text, strlen(agents[i].text), name, /* walls= */ NULL,
				/* home= */ NULL, &layer, ret_error);
		if (r < 0)
			break;
		layer->trusted = layer->built_in = true;
		merge_settings(policy, layer);
		layer_free(layer);
	}
	return r;
}
