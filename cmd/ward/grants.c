/* SPDX-License-Identifier: Apache-2.0 */
/* ward grants: the answers that are remembered, and taking one back. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/buffer.h"
#include "../../src/base/escape.h"
#include "../../src/decide/grants.h"
#include "../../src/record/audit.h"
#include "../../src/record/state.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
	"usage: ward grants [--json] [--session ID]\n"
	"       ward grants revoke ID\n"
	"\n"
	"Lists what people granted or refused for a session or a time, as long "
	"as it holds: what it\n"
	"covers, what it permits, who said so and until when.\n"
	"\n"
	"  --session ID   only those of this session\n"
	"  --json         one object a line, for programs\n"
	"  --help         this text\n"
	"\n"
	"revoke takes one back, by its id or the beginning of it, also from what "
	"runs already:\n"
	"its connections are cut, and where it has it in its walls it is ended.\n"
	"\n"
	"example: ward grants, then ward grants revoke 01m7\n";

static void cell(const char *label, const char *text)
{
	_cleanup_buffer_ struct buffer escaped = {0};

	if (!text)
		return;
	escape_for_terminal(&escaped, text, strlen(text));
	printf("  %-9s %s\n", label, buffer_text(&escaped));
}

static void show(const struct grant *grant)
{
	char until[64] = "the session ends";
	time_t expires = (time_t)grant->expires;

	printf("%s  %s\n", grant->id, grant->refusal ? "no" : "yes");
	cell("to", grant->covers ? grant->covers : grant->command);
	if (!grant->refusal && grant->permissions.count == 0)
		cell("permits", "running in the sandbox");
	for (size_t i = 0; i < grant->permissions.count; i++)
		cell(i ? "" : "permits", grant->permissions.items[i]);
	cell("session", grant->session);
	cell("by", grant->by);
	cell("because", grant->reason);
	if (expires)
		strftime(until, sizeof(until), "%Y-%m-%d %H:%M:%S", localtime(&expires));
	cell("until", until);
}

static int list(const char *state, const char *session, bool json, struct error **ret_error)
{
	struct grants grants;
	int r = grants_load_all(state, &grants, ret_error);

	if (r < 0)
		return r;
	for (size_t i = 0; i < grants.count; i++) {
		if (session && strcmp(session, grants.items[i].session) != 0)
			continue;
		if (json) {
			json_t *object = grant_to_json(&grants.items[i]);

			output_json(object);
			json_decref(object);
		} else {
			show(&grants.items[i]);
		}
	}
	grants_done(&grants);
	return 0;
}

/* On record before it takes effect. */
static int take_back(const char *state, const char *id, struct error **ret_error)
{
	struct audit *audit = NULL;
	struct grant grant = {0};
	json_t *body;
	int r = grants_find(state, id, &grant, ret_error);

	if (r == 0)
		r = audit_open(state, &audit, ret_error);
	if (r == 0) {
		body = json_pack("{s:o}", "grant", grant_to_json(&grant));
		r = audit_append(audit, "grant.revoke", NULL, body, ret_error);
		json_decref(body);
		audit_close(audit);
	}
	if (r == 0)
		r = grants_revoke(state, &grant, ret_error);
	if (r == 0)
		printf("%s is taken back\n", grant.id);
	grant_done(&grant);
	return r;
}

int verb_grants(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	const char *session = NULL, *id = NULL;
	bool json = false;
	int r;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			printf("%s", help);
			return output_end("grants", 0);
		}
		if (strcmp(argv[i], "--json") == 0)
			json = true;
		else if (strcmp(argv[i], "--session") == 0 && i + 1 < argc)
			session = argv[++i];
		else if (strcmp(argv[i], "revoke") == 0 && i + 2 == argc)
			id = argv[++i];
		else
			return output_usage(
				"grants", "'%s' is not --json, --session ID or revoke ID", argv[i]);
	}
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = id ? take_back(state, id, &error) : list(state, session, json, &error);
	return r < 0 ? output_error("grants", error) : output_end("grants", 0);
}
