/* SPDX-License-Identifier: Apache-2.0 */
/* ward grants: the answers that are remembered, what use was made of them, and taking them back. */
#include "output.h"
#include "verbs.h"
#include "../../src/base/buffer.h"
#include "../../src/base/escape.h"
#include "../../src/base/path.h"
#include "../../src/decide/grants.h"
#include "../../src/record/audit.h"
#include "../../src/record/holders.h"
#include "../../src/record/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char help[] =
	"usage: ward grants [--json] [SELECTION]\n"
	"       ward grants revoke [SELECTION] [ID...]\n"
	"\n"
	"Lists what people granted or refused for a session or a time, as long "
	"as it holds: what it\n"
	"covers, what it permits, who said so, how often it was used and until when.\n"
	"\n"
	"  --agent A      only those that were given to this agent\n"
	"  --session ID   only those of this session\n"
	"  --giver G      only those that this person gave, such as alice or alice@pts/3\n"
	"  --pattern P    only those whose permissions or command match: 'write /srv/*'\n"
	"  --json         one object a line, for programs\n"
	"  --help         this text\n"
	"\n"
	"revoke takes back all that are selected, or those of the ids, also from what runs "
	"already: its\n"
	"connections are cut, and where it has it in its walls it is ended. When it returns "
	"nobody holds\n"
	"any of them.\n"
	"\n"
	"example: ward grants, then ward grants revoke 01m7\n";

struct selection {
	const char *agent, *session, *giver, *pattern;
	struct list ids;
	bool json, revokes;
};

static bool matches(const char *pattern, const char *text)
{
	return text && path_component_matches(pattern, strlen(pattern), text, strlen(text));
}

/* alice means alice@pts/3, too. */
static bool is_giver(const char *giver, const char *by)
{
	size_t length = strlen(giver);

	return by && strncmp(by, giver, length) == 0 && (by[length] == '\0' || by[length] == '@');
}

static bool is_selected(const struct selection *selection, const struct grant *grant)
{
	bool fits = !selection->pattern || matches(selection->pattern, grant->covers) ||
		    matches(selection->pattern, grant->command);

	for (size_t i = 0; i < grant->permissions.count; i++)
		fits |= selection->pattern &&
			matches(selection->pattern, grant->permissions.items[i]);
	return fits &&
	       (!selection->agent ||
		(grant->agent && strcmp(selection->agent, grant->agent) == 0)) &&
	       (!selection->session || strcmp(selection->session, grant->session) == 0) &&
	       (!selection->giver || is_giver(selection->giver, grant->by));
}

static void cell(const char *label, const char *text)
{
	_cleanup_buffer_ struct buffer escaped = {0};

	if (!text)
		return;
	escape_for_terminal(&escaped, text, strlen(text));
	printf("  %-9s %s\n", label, buffer_text(&escaped));
}

static void show_use(const struct grant *grant)
{
	time_t last = (time_t)grant->last;
	char text[128], when[64] = "";

	if (last)
		strftime(when, sizeof(when), ", last %Y-%m-%d %H:%M:%S", localtime(&last));
	if (grant->uses)
		snprintf(text, sizeof(text), "%" PRIu64 " of %" PRIu64 " times%s", grant->used,
			 grant->uses, when);
	else
		snprintf(text, sizeof(text), "%" PRIu64 " time%s%s", grant->used,
			 grant->used == 1 ? "" : "s", when);
	cell("used", text);
}

static void show(const struct grant *grant)
{
	char until[64] = "the session ends";
	time_t expires = (time_t)grant->expires.wall;

	printf("%s  %s\n", grant->id, grant->refusal ? "no" : "yes");
	cell("to", grant->covers ? grant->covers : grant->command);
	if (!grant->refusal && grant->permissions.count == 0)
		cell("permits", "running in the sandbox");
	for (size_t i = 0; i < grant->permissions.count; i++)
		cell(i ? "" : "permits", grant->permissions.items[i]);
	cell("agent", grant->agent);
	cell("session", grant->session);
	cell("by", grant->by);
	cell("because", grant->reason);
	if (!grant->refusal)
		show_use(grant);
	if (expires)
		strftime(until, sizeof(until), "%Y-%m-%d %H:%M:%S", localtime(&expires));
	cell("until", until);
}

static void list(const struct grants *grants, bool json)
{
	for (size_t i = 0; i < grants->count; i++) {
		if (json) {
			json_t *object = grant_to_json(&grants->items[i]);

			output_json(object);
			json_decref(object);
		} else {
			show(&grants->items[i]);
		}
	}
}

/* The first that went wrong is told; the others are taken back all the same. */
static void keep_first(int failed, struct error *error, int *r, struct error **ret_error)
{
	if (failed == 0)
		return;
	if (*r == 0)
		*ret_error = error;
	else
		error_free(error);
	*r = *r == 0 ? failed : *r;
}

/* From all sessions before anybody is waited for; when this returns, nobody holds them. */
static int take_back_of(const char *state, const struct list *sessions, const struct grants *grants,
			struct error **ret_error)
{
	_cleanup_free_ uint64_t *lengths = calloc(sessions->count + 1, sizeof(*lengths));
	int r = 0;

	if (!lengths)
		abort();
	for (size_t i = 0; i < sessions->count; i++) {
		struct error *error = NULL;

		keep_first(grants_revoke(state, sessions->items[i], grants, &lengths[i], &error),
			   error, &r, ret_error);
	}
	for (size_t i = 0; i < sessions->count; i++) {
		_cleanup_free_ char *directory = NULL;
		struct error *error = NULL;

		if (asprintf(&directory, "%s/sessions/%s", state, sessions->items[i]) < 0)
			abort();
		keep_first(holders_wait(directory, lengths[i], &error), error, &r, ret_error);
	}
	return r;
}

/* On record before it takes effect. */
static int take_back(const char *state, const struct grants *grants, struct error **ret_error)
{
	_cleanup_list_ struct list sessions = {0};
	struct audit *audit = NULL;
	int r = audit_open(state, &audit, ret_error);

	for (size_t i = 0; i < grants->count && r == 0; i++) {
		json_t *body = json_pack("{s:o}", "grant", grant_to_json(&grants->items[i]));

		r = audit_append(audit, "grant.revoke", NULL, body, ret_error);
		json_decref(body);
		if (sessions.count == 0 ||
		    strcmp(sessions.items[sessions.count - 1], grants->items[i].session) != 0)
			list_add(&sessions, grants->items[i].session);
	}
	if (audit)
		audit_close(audit);
	if (r == 0)
		r = take_back_of(state, &sessions, grants, ret_error);
	for (size_t i = 0; i < grants->count && r == 0; i++)
		printf("%s is taken back\n", grants->items[i].id);
	return r;
}

/* Leaves those that are meant. */
static int select_grants(const struct selection *selection, struct grants *grants,
			 struct error **ret_error)
{
	_cleanup_free_ bool *meant = calloc(grants->count + 1, sizeof(*meant));
	bool any = selection->agent || selection->session || selection->giver ||
		   selection->pattern || !selection->revokes;
	size_t kept = 0, at = 0;
	int r = 0;

	if (!meant)
		abort();
	for (size_t i = 0; i < selection->ids.count && r == 0; i++) {
		r = grants_find(grants, selection->ids.items[i], &at, ret_error);
		if (r == 0)
			meant[at] = true;
	}
	for (size_t i = 0; i < grants->count; i++) {
		if (r == 0 && (meant[i] || (any && is_selected(selection, &grants->items[i]))))
			grants->items[kept++] = grants->items[i];
		else
			grant_done(&grants->items[i]);
	}
	grants->count = kept;
	return r;
}

/* 1: help is wanted; -1: said what is wrong. */
static int read_words(int argc, char **argv, struct selection *selection)
{
	const struct {
		const char *flag;
		const char **value;
	} flags[] = {{"--agent", &selection->agent},
		     {"--session", &selection->session},
		     {"--giver", &selection->giver},
		     {"--pattern", &selection->pattern}};

	for (int i = 1; i < argc; i++) {
		size_t flag = 0;

		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return 1;
		while (flag < ELEMENTS(flags) && strcmp(flags[flag].flag, argv[i]) != 0)
			flag++;
		if (flag < ELEMENTS(flags) && i + 1 < argc) {
			*flags[flag].value = argv[++i];
		} else if (strcmp(argv[i], "--json") == 0 && !selection->revokes) {
			selection->json = true;
		} else if (strcmp(argv[i], "revoke") == 0 && !selection->revokes) {
			selection->revokes = true;
		} else if (selection->revokes && argv[i][0] != '-') {
			list_add(&selection->ids, argv[i]);
		} else {
			(void)output_usage(
				"grants",
				"'%s' is not --json, --agent A, --session ID, --giver G, "
				"--pattern P or revoke",
				argv[i]);
			return -1;
		}
	}
	if (selection->revokes && selection->ids.count == 0 && !selection->agent &&
	    !selection->session && !selection->giver && !selection->pattern) {
		(void)output_usage("grants", "revoke needs an id, or says which");
		return -1;
	}
	return 0;
}

int verb_grants(int argc, char **argv)
{
	_cleanup_error_ struct error *error = NULL;
	_cleanup_free_ char *state = NULL;
	struct selection selection = {0};
	struct grants grants = {0};
	int r = read_words(argc, argv, &selection);

	if (r != 0) {
		list_done(&selection.ids);
		if (r < 0)
			return EXIT_WARD;
		printf("%s", help);
		return output_end("grants", 0);
	}
	output_begin();
	r = state_directory(&state, &error);
	if (r == 0)
		r = grants_load_all(state, /* spent= */ selection.revokes, &grants, &error);
	if (r == 0)
		r = select_grants(&selection, &grants, &error);
	if (r == 0 && grants.count == 0 && !selection.json)
		puts(selection.revokes ? "nothing of that is granted" : "nothing is granted");
	else if (r == 0 && selection.revokes)
		r = take_back(state, &grants, &error);
	else if (r == 0)
		list(&grants, selection.json);
	grants_done(&grants);
	list_done(&selection.ids);
	return r < 0 ? output_error("grants", error) : output_end("grants", 0);
}
